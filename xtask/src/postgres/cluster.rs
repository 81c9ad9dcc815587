//! A temporary Postgres cluster: made, started, and gone when dropped.
//!
//! It keeps the promises that tests are about: durable writes, and passwords over TCP.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context as _, Result, bail};

use super::account::Account;
use super::directory::Directory;
use super::parent::Parent;
use super::{text, wait};

/// The superuser of the cluster.
pub(super) const USER: &str = "piton_test";
const PASSWORD_FILE: &str = "password";

/// A running server.
pub(super) struct Cluster {
    child: Child,
    control: PathBuf,
    data: PathBuf,
    account: Account,
    port: u16,
    password: String,
}

impl Cluster {
    /// Makes and starts a cluster in `directory`, and waits until it takes connections.
    pub(super) fn start(
        programs: &Path,
        directory: &Directory,
        account: Account,
        parent: &Parent,
    ) -> Result<Self> {
        let password = random_password()?;
        let data = directory.path().join("data");
        initialise(programs, directory, account, &data, &password)?;
        configure(directory, &data)?;
        let log = directory.path().join("postgres.log");
        wait::on_free_port(|port| {
            let output = File::create(&log)?;
            let child = account
                .command(programs.join("postgres"))
                .arg("-D")
                .arg(&data)
                .args(["-p", &port.to_string()])
                .current_dir(directory.path())
                .stdin(Stdio::null())
                .stdout(output.try_clone()?)
                .stderr(output)
                .spawn()
                .context("`postgres` could not be started")?;
            // A guard from the first moment on: a server that never gets ready is stopped too.
            let mut cluster = Self {
                child,
                control: programs.join("pg_ctl"),
                data: data.clone(),
                account,
                port,
                password: password.clone(),
            };
            let status = data.join("postmaster.pid");
            wait::until_ready(parent, &mut cluster.child, |child| {
                let text = fs::read_to_string(&status).unwrap_or_default();
                says_ready(&text, child.id())
            })
            .map_err(|error| wait::with_log(&error, "postgres", &log))?;
            Ok(cluster)
        })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn password(&self) -> &str {
        &self.password
    }

    /// The address for tests, of this server or of a pooler in front of it.
    pub(super) fn url(&self, port: u16) -> String {
        format!(
            "postgres://{USER}:{}@127.0.0.1:{port}/postgres",
            self.password
        )
    }

    fn stop(&mut self) -> Result<()> {
        // Not a plain kill, which leaves the server's own children and shared memory behind.
        let stopped = self
            .account
            .command(&self.control)
            .args(["stop", "-m", "immediate", "-w", "-t", "30", "-D"])
            .arg(&self.data)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !stopped.is_ok_and(|status| status.success()) {
            self.child.kill()?;
        }
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A server that ended by itself needs no stopping, and its number may be another's now.
        if let Ok(Some(_)) = self.child.try_wait() {
            return;
        }
        if let Err(error) = self.stop() {
            eprintln!("warning: postgres {} may run on: {error}", self.child.id());
        }
    }
}

fn initialise(
    programs: &Path,
    directory: &Directory,
    account: Account,
    data: &Path,
    password: &str,
) -> Result<()> {
    // A file, since everybody can read a command line.
    let password_file = directory.write(PASSWORD_FILE, password)?;
    let output = account
        .command(programs.join("initdb"))
        .args([
            "--no-instructions",
            // The files need not outlive a power cut that nobody's tests outlive either.
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
            "--auth=scram-sha-256",
            "--username",
            USER,
            "--pwfile",
        ])
        .arg(&password_file)
        .arg("-D")
        .arg(data)
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .output()
        .context("`initdb` could not be started")?;
    directory.remove(PASSWORD_FILE)?;
    if !output.status.success() {
        bail!(
            "`initdb` ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}

fn configure(directory: &Directory, data: &Path) -> Result<()> {
    let mut file = OpenOptions::new()
        .append(true)
        .open(data.join("postgresql.conf"))
        .context("initdb left no postgresql.conf")?;
    file.write_all(settings(text(directory.path())?).as_bytes())?;
    Ok(())
}

fn settings(sockets: &str) -> String {
    format!(
        "\n\
         listen_addresses = '127.0.0.1'\n\
         unix_socket_directories = '{sockets}'\n\
         max_connections = 300\n\
         shared_buffers = 64MB\n\
         fsync = on\n\
         synchronous_commit = on\n\
         logging_collector = off\n"
    )
}

/// 128 bits from the system, as digits that need no quoting anywhere.
fn random_password() -> Result<String> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("/dev/urandom is unreadable")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether the server's status file is this server's, and says that it takes connections.
fn says_ready(status: &str, process: u32) -> bool {
    let mut lines = status.lines();
    lines.next().and_then(|line| line.trim().parse().ok()) == Some(process)
        && lines.nth(6).is_some_and(|line| line.trim() == "ready")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_status_of_its_own_makes_a_server_ready() {
        let status = |state: &str| {
            format!("42\n/data\n1700000000\n5432\n/sockets\n127.0.0.1\n  1 2\n{state}\n")
        };
        assert!(says_ready(&status("ready   "), 42));
        assert!(!says_ready(&status("ready   "), 43));
        assert!(!says_ready(&status("starting"), 42));
        assert!(!says_ready(&status("stopping"), 42));
        assert!(!says_ready("42\n/data\n", 42));
        assert!(!says_ready("", 42));
    }

    #[test]
    fn passwords_are_long_and_new_each_time() {
        let first = random_password().expect("the system has random bytes");
        let second = random_password().expect("the system has random bytes");
        assert_ne!(first, second);
        assert_eq!(first.len(), 32);
        assert!(first.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }

    #[test]
    fn writes_are_durable_and_the_door_is_local() {
        let settings = settings("/somewhere");
        for line in [
            "fsync = on",
            "synchronous_commit = on",
            "listen_addresses = '127.0.0.1'",
            "unix_socket_directories = '/somewhere'",
            "max_connections = 300",
        ] {
            assert!(settings.lines().any(|found| found == line), "{line}");
        }
    }
}
