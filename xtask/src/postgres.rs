//! The Postgres and the pgbouncer that tests run against: given by the caller, or started here.
//!
//! Owns when servers are needed and how tests learn of them. Nothing here ever stops, alters or
//! configures a server that it didn't start.

mod account;
mod cluster;
mod directory;
mod install;
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
use crate::process;
use crate::workspace::Workspace;

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
    if !is_member(&workspace.metadata()?, ADAPTER) || !choose_a_user(arguments) {
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
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn is_member(metadata: &Metadata, name: &str) -> bool {
    let mut members = metadata.workspace_packages().into_iter();
    members.any(|member| member.name.as_str() == name)
}

/// Whether the arguments of a test run leave in any member that needs a server.
fn choose_a_user(arguments: &[String]) -> bool {
    let mut chosen = Vec::new();
    // What follows `--` is for the tests, not for cargo.
    let mut rest = arguments.iter().take_while(|argument| *argument != "--");
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            // Beside these, cargo ignores a chosen package.
            "--workspace" | "--all" => return true,
            "-p" | "--package" => chosen.extend(rest.next().map(String::as_str)),
            other => {
                let joined = other
                    .strip_prefix("--package=")
                    .or_else(|| other.strip_prefix("-p"));
                chosen.extend(joined.map(|name| name.trim_start_matches('=')));
            }
        }
    }
    chosen.is_empty() || chosen.into_iter().any(may_be_user)
}

/// Whether a package id names a user; a pattern or an address may name any package.
fn may_be_user(id: &str) -> bool {
    let name = id.split('@').next().unwrap_or(id);
    let is_plain = name
        .chars()
        .all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '_'));
    !is_plain || USERS.contains(&name)
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

    #[track_caller]
    fn check_choice(arguments: &[&str], expected: bool) {
        let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
        assert_eq!(choose_a_user(&arguments), expected, "{arguments:?}");
    }

    #[test]
    fn a_run_that_chooses_no_package_needs_servers() {
        check_choice(&[], true);
        check_choice(&["a_test_name", "--no-capture"], true);
        check_choice(&["--workspace", "-p", "piton-chain"], true);
        check_choice(&["-p", "piton-chain", "--all"], true);
        check_choice(&["--", "-p", "piton-chain"], true);
    }

    #[test]
    fn a_run_of_other_packages_needs_none() {
        check_choice(&["-p", "piton-chain"], false);
        check_choice(&["-ppiton-chain"], false);
        check_choice(&["-p=piton-chain", "some_test"], false);
        check_choice(&["--package", "piton-sqlite", "-p", "piton-chain"], false);
        check_choice(&["--package=piton-postgres-extra"], false);
        check_choice(&["-p", "piton-chain", "piton-postgres"], false);
        check_choice(&["-p", "piton-chain", "--", "--workspace"], false);
    }

    #[test]
    fn a_run_of_any_user_needs_servers() {
        for user in USERS {
            check_choice(&["-p", user], true);
            check_choice(&[&format!("--package={user}")], true);
            check_choice(&["-p", "piton-chain", &format!("-p{user}")], true);
        }
        check_choice(&["-p", "piton-postgres@0.1.0"], true);
        check_choice(&["-p", "piton-chain@0.1.0"], false);
        check_choice(&["-p", "piton-*"], true);
        check_choice(&["-p", "path+file:///piton#piton-postgres"], true);
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
