//! Which user the servers run as: both refuse to run as root.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// The users that root hands servers to, the better one first.
const UNPRIVILEGED: &[&str] = &["postgres", "nobody"];

/// The user of the servers and of their files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Account {
    /// Whoever runs this.
    Own,
    /// Another user, because this is root.
    Other { user: u32, group: u32 },
}

impl Account {
    /// Chooses the user.
    ///
    /// # Errors
    ///
    /// When this is root and the system has no user to hand servers to.
    pub(super) fn choose() -> Result<Self> {
        if !is_root()? {
            return Ok(Self::Own);
        }
        for name in UNPRIVILEGED {
            if let (Ok(user), Ok(group)) = (ask_id(&["-u", name]), ask_id(&["-g", name]))
                && user != 0
            {
                return Ok(Self::Other { user, group });
            }
        }
        bail!(
            "Postgres refuses to run as root, and there is no user {} to run it as",
            UNPRIVILEGED.join(" or ")
        )
    }

    /// A command that runs as this user.
    pub(super) fn command(self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        if let Self::Other { user, group } = self {
            command.uid(user).gid(group);
        }
        command
    }

    /// Makes a file this user's.
    pub(super) fn own(self, path: &Path) -> Result<()> {
        if let Self::Other { user, group } = self {
            chown(path, Some(user), Some(group))
                .with_context(|| format!("{} can't change hands", path.display()))?;
        }
        Ok(())
    }
}

pub(super) fn is_root() -> Result<bool> {
    Ok(ask_id(&["-u"])? == 0)
}

fn ask_id(arguments: &[&str]) -> Result<u32> {
    let output = Command::new("id")
        .args(arguments)
        .output()
        .context("`id` could not be started")?;
    if !output.status.success() {
        bail!("`id {}` failed", arguments.join(" "));
    }
    let answer = String::from_utf8_lossy(&output.stdout);
    answer
        .trim()
        .parse()
        .with_context(|| format!("`id` answered `{}`", answer.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_never_run_as_root() {
        let account = Account::choose().expect("there is a user for servers");
        let output = account
            .command("id")
            .arg("-u")
            .output()
            .expect("id runs as that user");
        assert!(output.status.success());
        assert_ne!(String::from_utf8_lossy(&output.stdout).trim(), "0");
    }

    #[test]
    fn an_unknown_user_has_no_number() {
        assert!(ask_id(&["-u", "piton-no-such-user"]).is_err());
    }
}
