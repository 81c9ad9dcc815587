//! The process that holds the servers, so that they end however their command ends.
//!
//! It is this program again, out of reach of the terminal's interrupt. It works while the other
//! end of its input is open: a command that is done closes it, and one that is interrupted,
//! panics or is killed can't help closing it.

use std::io::{self, BufRead, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::account::Account;
use super::cluster::Cluster;
use super::directory::Directory;
use super::parent::Parent;
use super::pooler::Pooler;
use super::programs::Programs;

/// The command of this program that becomes the keeper; only this program calls it.
const COMMAND: &str = "keep-postgres";

/// Running servers, from the side of the command that uses them.
pub(super) struct Keeper {
    child: Child,
    url: String,
    pooler_url: String,
}

impl Keeper {
    /// Starts the servers, and waits until both take connections.
    ///
    /// # Errors
    ///
    /// When either doesn't; the keeper itself prints why.
    pub(super) fn start(programs: &Programs) -> Result<Self> {
        let this = std::env::current_exe().context("this program can't find itself")?;
        let mut child = Command::new(this)
            .arg(COMMAND)
            .arg(&programs.directory)
            .arg(&programs.pooler)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("this program could not be started again")?;
        let output = child.stdout.take();
        let mut keeper = Self {
            child,
            url: String::new(),
            pooler_url: String::new(),
        };
        let mut lines = BufReader::new(output.context("the keeper's output is a pipe")?);
        keeper.url = read_line(&mut lines)?;
        keeper.pooler_url = read_line(&mut lines)?;
        Ok(keeper)
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn pooler_url(&self) -> &str {
        &self.pooler_url
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Waiting closes the keeper's input first, and that is its signal.
        if let Err(error) = self.child.wait() {
            eprintln!("warning: the servers may run on: {error}");
        }
    }
}

fn read_line(lines: &mut BufReader<ChildStdout>) -> Result<String> {
    let mut line = String::new();
    lines.read_line(&mut line)?;
    match line.strip_suffix('\n') {
        Some(line) => Ok(line.to_owned()),
        None => bail!("the servers for the tests did not start"),
    }
}

/// Is the keeper: starts the servers, tells their addresses, and stops them with its input.
///
/// # Errors
///
/// When a server doesn't start. Whatever was started is stopped before this returns.
pub(crate) fn keep(programs: &Path, pooler: &Path) -> Result<()> {
    let parent = Parent::watch(io::stdin());
    let account = Account::choose()?;
    // Dropped from the last to the first: the directory goes when nothing runs in it.
    let directory = Directory::create(account)?;
    let cluster = Cluster::start(programs, &directory, account, &parent)?;
    let pooler = Pooler::start(pooler, &cluster, &directory, account, &parent)?;
    let mut output = io::stdout().lock();
    writeln!(output, "{}", cluster.url(cluster.port()))?;
    writeln!(output, "{}", cluster.url(pooler.port()))?;
    output.flush()?;
    parent.wait();
    Ok(())
}
