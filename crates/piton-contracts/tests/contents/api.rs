//! Owns the public API of each published library as text, listed from rustdoc's JSON.
//!
//! Rustdoc writes JSON with an unstable flag, which `RUSTC_BOOTSTRAP` allows on the pinned
//! toolchain. The variable changes how dependencies are built, so they have a target folder of
//! their own; it is kept, and a run in which nothing changed takes a second.
//! One run documents all libraries, because each on its own would build the drivers once more, with
//! other features.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The libraries that others build on.
pub(crate) const LIBRARIES: [&str; 9] = [
    "piton-ledger",
    "piton-chain",
    "piton-redact",
    "piton-store",
    "piton-memory",
    "piton-sqlite",
    "piton-postgres",
    "piton-verify",
    "piton-cli",
];

/// The crates that nobody outside builds on.
const UNPUBLISHED: [&str; 4] = [
    "piton-contracts",
    "piton-faultfs",
    "piton-no-std-proof",
    "piton-testkit",
];

/// Gives every public item of a library with all its features, one a line. Implementations that
/// every type has are left out; `Send`, `Sync` and the like are promises and stay.
pub(crate) fn of(library: &str) -> String {
    let path = documented().join(format!("{}.json", library.replace('-', "_")));
    let api = public_api::Builder::from_rustdoc_json(path)
        .omit_blanket_impls(true)
        .build()
        .expect("rustdoc's JSON has the format that public-api reads");
    api.to_string()
}

/// Has rustdoc write the JSON of all libraries, and gives its folder.
fn documented() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        every_crate_is_listed();
        let root = super::root();
        let target = root.join("target/rustdoc-json");
        let mut command = Command::new(env!("CARGO"));
        command
            .args(["doc", "--quiet", "--no-deps", "--lib", "--all-features"])
            // Nobody runs this SQLite, and it takes a minute to optimise.
            .args(["--config", "profile.dev.package.libsqlite3-sys.opt-level=0"])
            .args(LIBRARIES.iter().flat_map(|library| ["--package", library]))
            .current_dir(root)
            .env("CARGO_TARGET_DIR", &target)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json")
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTDOCFLAGS");
        // What cargo told this test about itself: a build script that asks for it (ring's) would
        // run again whenever another program documents the libraries.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        let status = command.status().expect("cargo starts");
        assert!(status.success(), "rustdoc failed");
        let folder = target.join("doc");
        // Cargo looks for HTML to tell whether a library must be documented again, and there is
        // none. Without these files every run would begin anew.
        for library in LIBRARIES {
            let page = folder.join(library.replace('-', "_")).join("index.html");
            std::fs::create_dir_all(page.parent().expect("a folder")).expect("a folder");
            std::fs::write(page, "").expect("a file");
        }
        folder
    })
}

/// A new crate is either a library with a golden of its own, or listed as unpublished.
fn every_crate_is_listed() {
    let folders: BTreeSet<String> = std::fs::read_dir(super::root().join("crates"))
        .expect("the crates")
        .map(|entry| {
            let name = entry.expect("an entry").file_name();
            name.to_string_lossy().into_owned()
        })
        .collect();
    let listed = LIBRARIES.iter().chain(&UNPUBLISHED);
    assert_eq!(folders, listed.map(|name| (*name).to_owned()).collect());
}
