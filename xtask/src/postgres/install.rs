//! Installs packages that tests need on Debian and its kin, without starting what they bring along.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::account;

/// Held as shell because its traps undo the temporary settings also when it is interrupted.
const SCRIPT: &str = include_str!("install.sh");

/// Installs packages; does nothing where that isn't possible, for the next look will say so.
///
/// # Errors
///
/// When the installation fails.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    if packages.is_empty() || !account::is_root()? || !Path::new("/usr/bin/apt-get").exists() {
        return Ok(());
    }
    eprintln!("installing {}", packages.join(" and "));
    let status = Command::new("sh")
        .args(["-c", SCRIPT, "install"])
        .args(packages)
        .stdin(Stdio::null())
        .status()
        .context("`sh` could not be started")?;
    if !status.success() {
        bail!(
            "the installation of {} ended with {status}",
            packages.join(" and ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_a_script() {
        let status = Command::new("sh")
            .args(["-n", "-c", SCRIPT])
            .status()
            .expect("sh starts");
        assert!(status.success());
    }

    #[test]
    fn nothing_to_install_is_done_at_once() {
        install(&[]).expect("there is nothing that could fail");
    }
}
