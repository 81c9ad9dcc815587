//! The Python that the independent verifier runs on in tests: the caller's own, or one made here.
//!
//! Owns how a Python with the package `blake3` is found or made, and how tests learn of it. What
//! it makes stays below `target/`; no Python of the caller's is ever changed.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use xshell::{Shell, cmd};

use crate::postgres::{install, variable};
use crate::workspace::Workspace;
use crate::{chosen, process};

/// Where tests find the interpreter.
const VARIABLE: &str = "PITON_TEST_PYTHON";

/// The release that is installed, which has wheels from Python 3.9 on; any that is there already
/// gives the same digests.
const BLAKE3: &str = "blake3==1.0.8";

/// The members whose tests run Python.
const USERS: &[&str] = &["piton-contracts"];

/// What can be done when no Python can be had.
const WAYS: &str = "the tests of docs/verify_chain.py need Python 3.9 or newer with the package \
    `blake3`: install python3 and python3-venv, so that one is made below target/, or name an \
    interpreter that has both in PITON_TEST_PYTHON";

/// Names a Python to every later command, if the tests that `arguments` choose need one.
///
/// # Errors
///
/// When there is none and none can be made, with the ways to get one.
pub(crate) fn for_tests(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    if !chosen::any(arguments, USERS) {
        return Ok(());
    }
    let shell = &workspace.shell;
    let made = workspace.root.join("target/tools/python");
    if let Some(given) = variable(VARIABLE) {
        if !is_fit(shell, given.as_ref()) {
            bail!("{VARIABLE} names `{given}`, which does not serve; {WAYS}");
        }
        return Ok(());
    }
    let own = made.join("bin/python");
    for program in [OsStr::new("python3"), own.as_os_str()] {
        if is_fit(shell, program) {
            shell.set_var(VARIABLE, program);
            return Ok(());
        }
    }
    make(shell, &made).context(WAYS)?;
    if !is_fit(shell, own.as_os_str()) {
        bail!("`{}` was made and does not serve; {WAYS}", own.display());
    }
    shell.set_var(VARIABLE, &own);
    Ok(())
}

/// Whether a program is a Python of a fit version that has all it needs.
fn is_fit(shell: &Shell, program: &OsStr) -> bool {
    let question = "import sys, sqlite3, blake3; sys.exit(sys.version_info < (3, 9))";
    cmd!(shell, "{program} -c {question}")
        .quiet()
        .ignore_stdout()
        .ignore_stderr()
        .run()
        .is_ok()
}

fn make(shell: &Shell, place: &Path) -> Result<()> {
    let make = || process::run(cmd!(shell, "python3 -m venv --clear {place}"));
    if make().is_err() {
        install::install(&["python3-venv"])?;
        make()?;
    }
    let python = place.join("bin/python");
    process::run(cmd!(
        shell,
        "{python} -m pip install --quiet --disable-pip-version-check {BLAKE3}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_python_is_not_fit() {
        let shell = Shell::new().expect("the working directory is readable");
        assert!(!is_fit(&shell, OsStr::new("piton-no-such-program")));
        assert!(!is_fit(&shell, OsStr::new("false")));
    }

    #[test]
    fn a_run_of_other_members_needs_no_python() {
        let workspace = Workspace::open().expect("the workspace opens");
        let arguments = ["-p", "piton-chain"].map(str::to_owned);
        for_tests(&workspace, &arguments).expect("nothing is looked for");
        let inherited = std::env::var(VARIABLE).ok();
        assert_eq!(workspace.shell.var(VARIABLE).ok(), inherited);
    }
}
