//! `piton verify` of a three-row ledger as a whole process, against a process that does nothing;
//! and the size of the command, which is held to a limit.

use std::path::Path;
use std::process::{Command, Stdio};

use piton_benches::{Size, alternate, bulk_ledger, command, print_table, workflow};

/// The most bytes that the command may have in a release build: 8 MiB.
const LARGEST: u64 = 8 << 20;

fn main() {
    let directory = tempfile::tempdir().expect("a directory");
    bulk_ledger(directory.path(), 3);
    let store = format!("sqlite:{}", directory.path().display());
    let piton = command();
    let size = std::fs::metadata(&piton).expect("the command").len();
    println!("\nThe command has {size} bytes; it may have {LARGEST}.");
    assert!(
        size <= LARGEST,
        "the command has grown beyond {LARGEST} bytes: `nm --size-sort` on a build with \
         CARGO_PROFILE_RELEASE_STRIP=none tells what is large"
    );
    let workflow = workflow();
    let figures = alternate(
        Size::from_args().pick(200, 2),
        &mut [
            ("piton --version", &mut || run(&piton, &["--version"])),
            ("piton verify, three rows", &mut || {
                run(&piton, &["verify", "--store", &store, workflow.as_str()])
            }),
        ],
    );
    print_table("Whole processes", &figures, 1, "process");
}

fn run(program: &Path, arguments: &[&str]) {
    let status = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .status()
        .expect("the command runs");
    assert!(status.success(), "{arguments:?} failed: {status}");
}
