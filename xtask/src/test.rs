//! `cargo xtask test`: the whole test suite, and nothing left out in silence.
//!
//! The doc tests come first so that the suite's own closing line ends the output.

use anyhow::Result;
use xshell::cmd;

use crate::workspace::Workspace;
use crate::{postgres, process, python};

/// Who reads the output.
#[derive(Clone, Copy)]
pub(crate) enum Profile {
    /// A developer, who wants the first failure at once.
    Local,
    /// Continuous integration, which wants every failure.
    ContinuousIntegration,
}

/// Runs all doc tests, then unit and integration tests; `arguments` go to the latter's runner.
///
/// # Errors
///
/// Both parts always run, and the first failure of the two is the error. Neither runs when the
/// servers and the Python that they need can't be had.
pub(crate) fn run(workspace: &Workspace, profile: Profile, arguments: &[String]) -> Result<()> {
    forbid_golden_writes(workspace);
    python::for_tests(workspace, arguments)?;
    let _servers = postgres::for_tests(workspace, arguments)?;
    let documentation = documentation_tests(workspace);
    let suite = suite(workspace, profile, arguments);
    documentation.and(suite)
}

/// Makes a snapshot test that differs fail and write nothing, whatever the caller's environment
/// says: only `cargo xtask goldens` writes.
fn forbid_golden_writes(workspace: &Workspace) {
    workspace.shell.set_var("INSTA_UPDATE", "no");
    workspace.shell.set_var("INSTA_FORCE_PASS", "0");
}

fn documentation_tests(workspace: &Workspace) -> Result<()> {
    let shell = &workspace.shell;
    process::run(cmd!(shell, "cargo test --workspace --doc"))
}

fn suite(workspace: &Workspace, profile: Profile, arguments: &[String]) -> Result<()> {
    let shell = &workspace.shell;
    let scope = scope(arguments);
    if !has_nextest(workspace) {
        eprintln!("cargo-nextest is not installed; `cargo test` runs the same tests");
        // The targets are named because the benches must not run here, and with
        // `--all-targets` they would.
        return process::run(cmd!(
            shell,
            "cargo test {scope...} --lib --bins --tests --examples --no-fail-fast {arguments...}"
        ));
    }
    let profile = match profile {
        Profile::Local => "default",
        Profile::ContinuousIntegration => "ci",
    };
    process::run(cmd!(
        shell,
        "cargo nextest run {scope...} --profile {profile} {arguments...}"
    ))
}

/// Every member, unless the arguments choose: beside `--workspace` cargo ignores `--package`.
fn scope(arguments: &[String]) -> Option<&'static str> {
    let chosen = arguments
        .iter()
        .any(|argument| argument.starts_with("-p") || argument.starts_with("--package"));
    (!chosen).then_some("--workspace")
}

fn has_nextest(workspace: &Workspace) -> bool {
    let shell = &workspace.shell;
    cmd!(shell, "cargo nextest --version")
        .quiet()
        .ignore_stderr()
        .read()
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_scope(arguments: &[&str], expected: Option<&str>) {
        let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
        assert_eq!(scope(&arguments), expected, "{arguments:?}");
    }

    #[test]
    fn no_run_of_the_tests_writes_a_golden() {
        let workspace = Workspace::open().expect("the workspace opens");
        workspace.shell.set_var("INSTA_UPDATE", "always");
        workspace.shell.set_var("INSTA_FORCE_PASS", "1");
        forbid_golden_writes(&workspace);
        let seen = |name: &str| workspace.shell.var(name).expect("it is set");
        assert_eq!(seen("INSTA_UPDATE"), "no");
        assert_eq!(seen("INSTA_FORCE_PASS"), "0");
    }

    #[test]
    fn a_chosen_package_narrows_the_run() {
        check_scope(&[], Some("--workspace"));
        check_scope(&["a_test_name", "--no-capture"], Some("--workspace"));
        check_scope(&["-p", "piton-chain"], None);
        check_scope(&["--package=piton-chain"], None);
    }
}
