//! `piton verify` of a three-row ledger as a whole process, against a process that does nothing.

use std::path::Path;
use std::process::{Command, Stdio};

use piton_benches::{Size, alternate, bulk_ledger, print_table, workflow};

fn main() {
    let directory = tempfile::tempdir().expect("a directory");
    bulk_ledger(directory.path(), 3);
    let store = format!("sqlite:{}", directory.path().display());
    // This program stands in target/<profile>/deps, the command one level above.
    let here = std::env::current_exe().expect("this program");
    let piton = here
        .ancestors()
        .nth(2)
        .map(|profile| profile.join("piton"))
        .expect("a target directory");
    if !piton.exists() {
        build();
    }
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

fn build() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "-p", "piton-cli"])
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the command does not build");
}

fn run(program: &Path, arguments: &[&str]) {
    let status = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .status()
        .expect("the command runs");
    assert!(status.success(), "{arguments:?} failed: {status}");
}
