//! Proof that the pure crates link without std.
//!
//! Built with `--cfg piton_no_std_proof` this library is `no_std` and owns the panic handler. A
//! second one, which std would bring, is error E0152, and the compiler names the crate that
//! brought it. Without that cfg the library is empty, so a workspace build may include it.
//!
//! The proof holds only for this package checked alone (`cargo xtask ci no-std`): a build of
//! the whole workspace unifies features and turns std on in shared dependencies.
//!
//! It must not depend on anything but the crates it proves, and has no API.

#![cfg_attr(piton_no_std_proof, no_std)]

#[cfg(piton_no_std_proof)]
mod proof {
    // An unused dependency is never loaded, and what isn't loaded proves nothing.
    use piton_chain as _;
    use piton_ledger as _;

    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
        loop {}
    }
}
