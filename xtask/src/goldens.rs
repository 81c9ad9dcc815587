//! `cargo xtask goldens`: the only command that writes `goldens/`, and the table of attacks in
//! `docs/threat-model.md`.

use anyhow::{Result, bail};
use xshell::cmd;

use crate::postgres::Servers;
use crate::process;
use crate::workspace::Workspace;

/// The test that every file of the folder is compared by some test.
const LISTING: &str = "every_golden_is_compared";

/// Runs the golden tests in the mode that writes what they see.
///
/// # Errors
///
/// Refuses in continuous integration: a golden is a promise, and only a person may change one.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    if is_continuous_integration(std::env::var("CI").ok().as_deref()) {
        bail!("CI is set, and continuous integration never writes goldens: run this locally");
    }
    // Every attack is carried out in every adapter.
    let _servers = Servers::provide(workspace)?;
    let shell = &workspace.shell;
    // The comparison of the folder with the table comes last: a new golden is not there before.
    for arguments in [
        &["--test", "contract", "--", "contract"][..],
        &[
            "--test",
            "goldens",
            "--no-fail-fast",
            "--",
            "--skip",
            LISTING,
        ],
        &["--test", "goldens", "--", LISTING],
        &["--test", "threat_model"],
    ] {
        process::run(
            cmd!(shell, "cargo test --package piton-contracts {arguments...}")
                .env("INSTA_UPDATE", "always")
                .env_remove("INSTA_FORCE_PASS"),
        )?;
    }
    process::run(cmd!(
        shell,
        "git status --short -- goldens docs/threat-model.md"
    ))?;
    eprintln!(
        "a golden change is a commit of its own, with a line in CHANGELOG.md and, if somebody \
         must change something because of it, a record in docs/decisions/"
    );
    Ok(())
}

/// Whether this runs where nothing that is promised may be written.
pub(crate) fn is_continuous_integration(variable: Option<&str>) -> bool {
    !matches!(variable, None | Some("" | "0" | "false"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continuous_integration_is_recognised() {
        let check = |variable, expected| {
            assert_eq!(
                is_continuous_integration(variable),
                expected,
                "CI={variable:?}"
            );
        };
        check(None, false);
        check(Some(""), false);
        check(Some("0"), false);
        check(Some("false"), false);
        check(Some("true"), true);
        check(Some("1"), true);
        check(Some("yes"), true);
    }
}
