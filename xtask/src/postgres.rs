//! The Postgres and the pgbouncer that tests run against: given by the caller, or started here.
//!
//! Owns when servers are needed and how tests learn of them. Nothing here ever stops, alters or
//! configures a server that it didn't start.

mod account;
mod cluster;
mod directory;
pub(crate) mod install;
mod keeper;
mod parent;
mod pooler;
mod programs;
mod wait;

use std::path::Path;

use anyhow::{Result, bail};
use cargo_metadata::Metadata;

use self::keeper::Keeper;
use self::programs::Programs;
use crate::workspace::Workspace;
use crate::{chosen, process};

pub(crate) use self::keeper::keep;

/// Where tests find the server.
const URL: &str = "PITON_TEST_POSTGRES_URL";
/// Where tests find the transaction-mode pooler in front of the same server.
const POOLER_URL: &str = "PITON_TEST_PGBOUNCER_URL";
/// The directory of `initdb`, `postgres` and `pg_ctl`, for tests that kill servers of their own.
const PROGRAMS: &str = "PITON_TEST_POSTGRES_BIN";

/// The member that makes a server necessary at all.
const ADAPTER: &str = "piton-postgres";

/// The members whose tests reach for a server.
const USERS: &[&str] = &[ADAPTER, "piton-cli", "piton-contracts", "piton-ledger"];

/// Servers that tests may use, until this is dropped.
pub(crate) struct Servers {
    /// `None` when the caller's own servers are used.
    _keeper: Option<Keeper>,
}

impl Servers {
    /// Finds or starts the servers, and names them to every later command of the workspace.
    ///
    /// # Errors
    ///
    /// When there is no Postgres and none can be installed, with the ways to get one; when a
    /// server doesn't start, with the end of its log.
    pub(crate) fn provide(workspace: &Workspace) -> Result<Self> {
        match plan(variable(URL).as_deref(), variable(POOLER_URL).as_deref())? {
            Plan::Use(given) => {
                use_given(workspace, &given);
                Ok(Self { _keeper: None })
            }
            Plan::Start => {
                let programs = Programs::find_or_install()?;
                let keeper = Keeper::start(&programs)?;
                let shell = &workspace.shell;
                shell.set_var(URL, keeper.url());
                shell.set_var(POOLER_URL, keeper.pooler_url());
                shell.set_var(PROGRAMS, &programs.directory);
                eprintln!("postgres: started {programs}, until this command ends");
                Ok(Self {
                    _keeper: Some(keeper),
                })
            }
        }
    }
}

/// Provides servers if the tests that `arguments` choose need any.
pub(crate) fn for_tests(workspace: &Workspace, arguments: &[String]) -> Result<Option<Servers>> {
    if !is_member(&workspace.metadata()?, ADAPTER) || !chosen::any(arguments, USERS) {
        return Ok(None);
    }
    Servers::provide(workspace).map(Some)
}

/// Runs one command with servers, with the caller's own input.
///
/// # Errors
///
/// What [`Servers::provide`] says, and a command that fails.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let command = match arguments {
        [separator, command @ ..] if separator == "--" => command,
        command => command,
    };
    let Some((program, rest)) = command.split_first() else {
        bail!("no command given: `cargo xtask postgres -- COMMAND [ARGS]`");
    };
    let _servers = Servers::provide(workspace)?;
    process::run_with_input(workspace.shell.cmd(program).args(rest))
}

#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Use(Given),
    Start,
}

#[derive(Debug, PartialEq, Eq)]
enum Given {
    ServerAlone,
    ServerAndPooler,
}

/// Both servers are the caller's or both are ours: a pooler is of use only before its own server.
fn plan(url: Option<&str>, pooler_url: Option<&str>) -> Result<Plan> {
    match (url, pooler_url) {
        (Some(_), Some(_)) => Ok(Plan::Use(Given::ServerAndPooler)),
        (Some(_), None) => Ok(Plan::Use(Given::ServerAlone)),
        (None, Some(_)) => {
            bail!("{POOLER_URL} is set and {URL} is not: set both, or neither to have both started")
        }
        (None, None) => Ok(Plan::Start),
    }
}

fn use_given(workspace: &Workspace, given: &Given) {
    let mut found = format!("postgres: using the server that {URL} names");
    match given {
        Given::ServerAndPooler => found.push_str(&format!(", with {POOLER_URL}")),
        Given::ServerAlone => found.push_str(&format!(
            "; tests through a pooler will fail, because {POOLER_URL} is not set"
        )),
    }
    // Nothing is installed for the programs alone: the caller brought a server on purpose.
    match programs::find_server() {
        Ok(server) => {
            workspace.shell.set_var(PROGRAMS, &server.directory);
            found.push_str(&format!(", and {server}"));
        }
        Err(_) => found.push_str(&format!(
            "; tests that start servers will fail, because {PROGRAMS} is not set"
        )),
    }
    eprintln!("{found}");
}

/// A variable of this process, where an empty one counts as absent.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn is_member(metadata: &Metadata, name: &str) -> bool {
    let mut members = metadata.workspace_packages().into_iter();
    members.any(|member| member.name.as_str() == name)
}

/// A path as the text that a configuration or a command line takes.
fn text(path: &Path) -> Result<&str> {
    match path.to_str() {
        Some(text) => Ok(text),
        None => bail!("the path {} is not UTF-8", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_are_the_callers_or_ours_but_never_mixed() {
        let check = |url, pooler, expected| {
            assert_eq!(plan(url, pooler).ok(), expected, "{url:?} {pooler:?}");
        };
        check(None, None, Some(Plan::Start));
        check(Some("a"), None, Some(Plan::Use(Given::ServerAlone)));
        check(
            Some("a"),
            Some("b"),
            Some(Plan::Use(Given::ServerAndPooler)),
        );
        check(None, Some("b"), None);
    }

    #[test]
    fn members_are_told_from_dependencies() {
        let workspace = Workspace::open().expect("the workspace opens");
        let metadata = workspace.metadata().expect("cargo reads the manifests");
        assert!(is_member(&metadata, "piton-ledger"));
        assert!(!is_member(&metadata, "anyhow"));
        assert!(!is_member(&metadata, "piton"));
    }

    #[test]
    fn a_command_is_required() {
        let workspace = Workspace::open().expect("the workspace opens");
        for arguments in [Vec::new(), vec!["--".to_owned()]] {
            let error = run(&workspace, &arguments).expect_err("there is nothing to run");
            assert!(error.to_string().contains("COMMAND"), "{error}");
        }
    }
}
