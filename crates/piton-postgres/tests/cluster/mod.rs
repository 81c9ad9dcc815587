//! Owns servers that a test may kill: made, started, killed and promoted by the test itself, on
//! loopback, from the binaries that `PITON_TEST_POSTGRES_BIN` names.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// A user and a group, by number.
#[derive(Clone, Copy)]
struct Account {
    user: u32,
    group: u32,
}

/// One server with a directory of its own.
pub(crate) struct Server {
    bin: PathBuf,
    directory: TempDir,
    account: Option<Account>,
    port: u16,
    postmaster: Option<Child>,
}

impl Server {
    /// Makes a server that follows nobody, and starts it.
    pub(crate) fn start() -> Self {
        let mut server = Self::place();
        let data = server.data();
        server.finish(
            server
                .command("initdb")
                .args([
                    "--auth=trust",
                    "--username=piton_test",
                    "--encoding=UTF8",
                    "-D",
                ])
                .arg(data),
        );
        server.restart();
        server
    }

    /// Makes a server that speaks TLS as `localhost`, and starts it; the authority is this
    /// certificate in PEM.
    pub(crate) fn start_with_tls(certificate: &str, key: &str) -> Self {
        let mut server = Self::start();
        server.kill();
        for (name, content) in [("server.crt", certificate), ("server.key", key)] {
            let path = server.data().join(name);
            fs::write(&path, content).expect("the data directory can be written to");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
            if let Some(account) = server.account {
                chown(&path, Some(account.user), Some(account.group))
                    .expect("root may give a file away");
            }
        }
        let settings = server.data().join("postgresql.auto.conf");
        fs::write(settings, "ssl = on\n").expect("the data directory can be written to");
        server.restart();
        server
    }

    /// Makes a server that follows this one, starts it, and has commits wait for it from now on.
    pub(crate) fn start_synchronous_standby(&self) -> Self {
        let mut standby = Self::place();
        let data = standby.data();
        let port = self.port.to_string();
        standby.finish(
            standby
                .command("pg_basebackup")
                .args([
                    "-h",
                    "127.0.0.1",
                    "-p",
                    &port,
                    "-U",
                    "piton_test",
                    "-R",
                    "-X",
                    "stream",
                    "-c",
                    "fast",
                    "-D",
                ])
                .arg(data),
        );
        standby.restart();
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.sql("SELECT pg_reload_conf()");
        let begin = Instant::now();
        while self
            .sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
            .trim()
            != "1"
        {
            assert!(
                begin.elapsed() < PATIENCE,
                "the standby does not follow: {}",
                standby.log()
            );
            std::thread::yield_now();
        }
        standby
    }

    /// Starts the server where it was, after a kill as well.
    pub(crate) fn restart(&mut self) {
        let begin = Instant::now();
        // What a killed server leaves behind may need a moment to go.
        while !self.try_start() {
            assert!(
                begin.elapsed() < PATIENCE,
                "the server does not start: {}",
                self.log()
            );
        }
    }

    fn try_start(&mut self) -> bool {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.directory.path().join("log"))
            .expect("a log file");
        let port = self.port.to_string();
        let mut postmaster = self
            .command("postgres")
            .arg("-D")
            .arg(self.data())
            .args([
                "-p",
                &port,
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                "unix_socket_directories=",
            ])
            .stderr(log)
            .spawn()
            .expect("postgres runs");
        let begin = Instant::now();
        loop {
            if self
                .command("pg_isready")
                .args(["-q", "-h", "127.0.0.1", "-U", "piton_test", "-p", &port])
                .status()
                .expect("pg_isready runs")
                .success()
            {
                self.postmaster = Some(postmaster);
                return true;
            }
            if postmaster.try_wait().expect("a child").is_some() {
                return false;
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "the server is not ready: {}",
                self.log()
            );
        }
    }

    /// Ends the server as a power cut of its process would: by SIGKILL.
    pub(crate) fn kill(&mut self) {
        let mut postmaster = self.postmaster.take().expect("the server runs");
        postmaster.kill().expect("a child can be killed");
        postmaster.wait().expect("a child ends");
    }

    /// Makes a standby a primary.
    pub(crate) fn promote(&self) {
        self.finish(
            self.command("pg_ctl")
                .args(["promote", "-w", "-D"])
                .arg(self.data()),
        );
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://piton_test@127.0.0.1:{}/postgres", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn sql(&self, statement: &str) -> String {
        let output = self
            .command("psql")
            .args(["-qtAX", "-c", statement])
            .arg(self.url())
            .stdout(Stdio::piped())
            .output()
            .expect("psql runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("text")
    }

    fn place() -> Self {
        let variable = "PITON_TEST_POSTGRES_BIN";
        let bin = std::env::var_os(variable).unwrap_or_else(|| {
            panic!("{variable} names no programs; run the tests by `cargo xtask test`, which finds them")
        });
        let directory = TempDir::new().expect("a directory");
        let account = unprivileged();
        if let Some(account) = account {
            chown(directory.path(), Some(account.user), Some(account.group))
                .expect("root may give a directory away");
        }
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|socket| socket.local_addr())
            .expect("a free port")
            .port();
        Self {
            bin: bin.into(),
            directory,
            account,
            port,
            postmaster: None,
        }
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        if let Some(Account { user, group }) = self.account {
            command.uid(user).gid(group);
        }
        command
    }

    fn finish(&self, command: &mut Command) {
        let output = command.output().expect("the program runs");
        assert!(
            output.status.success(),
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut postmaster) = self.postmaster.take() {
            let _ = postmaster.kill();
            let _ = postmaster.wait();
        }
    }
}

/// Postgres refuses root, so a test that runs as root gives its servers to somebody else.
fn unprivileged() -> Option<Account> {
    let is_root =
        fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    is_root.then(|| {
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| account(name))
            .expect("a user to drop to")
    })
}

fn account(name: &str) -> Option<Account> {
    let users = fs::read_to_string(Path::new("/etc/passwd")).ok()?;
    let line = users
        .lines()
        .find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2).map(str::parse);
    Some(Account {
        user: fields.next()?.ok()?,
        group: fields.next()?.ok()?,
    })
}
