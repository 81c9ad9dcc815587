//! A pgbouncer in transaction mode in front of the cluster, gone when dropped.

use std::fs::File;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context as _, Result};

use super::account::Account;
use super::cluster::{Cluster, USER};
use super::directory::Directory;
use super::parent::Parent;
use super::programs::tracks_prepared_statements;
use super::{text, wait};

/// A running pooler.
pub(super) struct Pooler {
    child: Child,
    port: u16,
}

impl Pooler {
    /// Starts the pooler, and waits until it takes connections.
    pub(super) fn start(
        program: &Path,
        cluster: &Cluster,
        directory: &Directory,
        account: Account,
        parent: &Parent,
    ) -> Result<Self> {
        let users = format!("\"{USER}\" \"{}\"\n", cluster.password());
        let users = directory.write("pgbouncer-users.txt", &users)?;
        let prepared = if tracks_prepared_statements(program)? {
            PreparedStatements::TurnOff
        } else {
            PreparedStatements::Unknown
        };
        let log = directory.path().join("pgbouncer.log");
        wait::on_free_port(|port| {
            let settings = settings(port, cluster.port(), text(&users)?, prepared);
            let settings = directory.write(&format!("pgbouncer-{port}.ini"), &settings)?;
            let child = account
                .command(program)
                .arg(&settings)
                .current_dir(directory.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(File::create(&log)?)
                .spawn()
                .with_context(|| format!("`{}` could not be started", program.display()))?;
            let mut pooler = Self { child, port };
            wait::until_ready(parent, &mut pooler.child, |_| {
                TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
            })
            .map_err(|error| wait::with_log(&error, "pgbouncer", &log))?;
            Ok(pooler)
        })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // One process without state: there is nothing that a gentler end would save.
        let ended = self.child.kill().and_then(|()| self.child.wait());
        if let Err(error) = ended {
            eprintln!("warning: pgbouncer {} may run on: {error}", self.child.id());
        }
    }
}

#[derive(Clone, Copy)]
enum PreparedStatements {
    /// The release has no option for them: they fail, as they must.
    Unknown,
    TurnOff,
}

fn settings(port: u16, server_port: u16, users: &str, prepared: PreparedStatements) -> String {
    let prepared = match prepared {
        PreparedStatements::Unknown => "",
        PreparedStatements::TurnOff => "max_prepared_statements = 0\n",
    };
    // Several server connections: with one, a client always meets its own session again, and a
    // test could not tell a transaction-mode pooler from none.
    format!(
        "[databases]\n\
         * = host=127.0.0.1 port={server_port}\n\
         [pgbouncer]\n\
         listen_addr = 127.0.0.1\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         auth_type = scram-sha-256\n\
         auth_file = {users}\n\
         pool_mode = transaction\n\
         default_pool_size = 60\n\
         max_client_conn = 300\n\
         ignore_startup_parameters = extra_float_digits\n\
         {prepared}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pooler_is_local_and_shares_several_sessions_by_transaction() {
        let settings = settings(7001, 7002, "/users", PreparedStatements::Unknown);
        for line in [
            "* = host=127.0.0.1 port=7002",
            "listen_addr = 127.0.0.1",
            "listen_port = 7001",
            "unix_socket_dir =",
            "auth_file = /users",
            "pool_mode = transaction",
            "default_pool_size = 60",
        ] {
            assert!(settings.lines().any(|found| found == line), "{line}");
        }
    }

    #[test]
    fn prepared_statements_are_turned_off_where_the_option_exists() {
        let option = "max_prepared_statements = 0";
        let known = settings(1, 2, "/users", PreparedStatements::TurnOff);
        assert!(known.lines().any(|found| found == option));
        // An option that a release doesn't know keeps it from starting.
        let unknown = settings(1, 2, "/users", PreparedStatements::Unknown);
        assert!(!unknown.contains("max_prepared_statements"));
    }
}
