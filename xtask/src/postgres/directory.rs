//! The temporary directory that holds everything of the servers, and is removed with them.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::account::Account;

/// Not the caller's TMPDIR: another user must be able to walk there, and the path of a socket
/// must not exceed about a hundred bytes.
const TEMPLATE: &str = "/tmp/piton-postgres.XXXXXXXX";

/// A directory that only the servers' user may enter.
pub(super) struct Directory {
    path: PathBuf,
    account: Account,
}

impl Directory {
    pub(super) fn create(account: Account) -> Result<Self> {
        let output = account
            .command("mktemp")
            .args(["-d", TEMPLATE])
            .output()
            .context("`mktemp` could not be started")?;
        let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if !output.status.success() || path.is_empty() {
            bail!(
                "`mktemp -d {TEMPLATE}` failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(Self {
            path: PathBuf::from(path),
            account,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a new file that only the servers' user may read.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("{} can't be written", path.display()))?;
        file.write_all(text.as_bytes())?;
        self.account.own(&path)?;
        Ok(path)
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        let path = self.path.join(name);
        fs::remove_file(&path).with_context(|| format!("{} can't be removed", path.display()))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            eprintln!("warning: {} was left behind: {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        let metadata = fs::metadata(path).expect("the path exists");
        metadata.permissions().mode() & 0o777
    }

    #[test]
    fn only_the_servers_user_may_look_and_nothing_stays() {
        let account = Account::choose().expect("there is a user for servers");
        let directory = Directory::create(account).expect("a directory is made");
        let path = directory.path().to_path_buf();
        let file = directory.write("secret", "text").expect("a file is made");
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&file), 0o600);
        let read = account.command("cat").arg(&file).output();
        assert_eq!(read.expect("cat runs").stdout, b"text");
        assert!(
            directory.write("secret", "other").is_err(),
            "a file is made once"
        );
        directory.remove("secret").expect("the file is there");
        assert!(!file.exists());
        drop(directory);
        assert!(!path.exists());
    }
}
