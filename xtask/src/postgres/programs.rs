//! Where the programs of Postgres and pgbouncer are, and whether they are recent enough.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::{PROGRAMS, URL, install, variable};

/// The oldest major version that the adapter is made for.
const OLDEST: u32 = 15;
/// What must be in a directory for it to count.
const SERVER_PROGRAMS: &[&str] = &["initdb", "postgres", "pg_ctl"];
/// Debian keeps one directory for each major version here, outside PATH.
const DEBIAN_ROOT: &str = "/usr/lib/postgresql";

/// The programs of a Postgres server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerPrograms {
    pub(super) directory: PathBuf,
    major: u32,
}

impl fmt::Display for ServerPrograms {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let directory = self.directory.display();
        write!(formatter, "Postgres {} of {directory}", self.major)
    }
}

/// Everything that has to be installed.
pub(super) struct Programs {
    pub(super) directory: PathBuf,
    pub(super) pooler: PathBuf,
    server: ServerPrograms,
}

impl fmt::Display for Programs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} and {}", self.server, self.pooler.display())
    }
}

impl Programs {
    /// Finds the programs, after installing them where that is possible.
    ///
    /// # Errors
    ///
    /// When they can be neither found nor installed, with the ways to get them.
    pub(super) fn find_or_install() -> Result<Self> {
        let missing = match Self::find() {
            Ok(programs) => return Ok(programs),
            Err(missing) => missing,
        };
        let mut packages = Vec::new();
        // A directory that the caller names is not made right by a package.
        if variable(PROGRAMS).is_none() && find_server().is_err() {
            packages.push("postgresql");
        }
        if find_pooler().is_err() {
            packages.push("pgbouncer");
        }
        install::install(&packages).context(format!("{missing:#}"))?;
        Self::find()
    }

    fn find() -> Result<Self> {
        let server = find_server()?;
        Ok(Self {
            directory: server.directory.clone(),
            pooler: find_pooler()?,
            server,
        })
    }
}

/// Finds the server's programs where the caller says, or in the usual places.
pub(super) fn find_server() -> Result<ServerPrograms> {
    if let Some(given) = variable(PROGRAMS) {
        let directory = PathBuf::from(given);
        return server_in(&directory).with_context(|| {
            format!(
                "{PROGRAMS} is {}, which doesn't have {} of Postgres {OLDEST} or newer",
                directory.display(),
                SERVER_PROGRAMS.join(", ")
            )
        });
    }
    let mut others = vec![PathBuf::from("/usr/local/bin")];
    others.extend(search_path());
    search_server(Path::new(DEBIAN_ROOT), &others).with_context(|| {
        format!(
            "no Postgres {OLDEST} or newer was found in {DEBIAN_ROOT}/*/bin, /usr/local/bin or \
             PATH: install it (on Debian `apt-get install postgresql`), or name the directory \
             of its programs in {PROGRAMS}, or a running server in {URL}"
        )
    })
}

fn find_pooler() -> Result<PathBuf> {
    let mut places = search_path();
    // Debian's place, which isn't in every user's PATH.
    places.push(PathBuf::from("/usr/sbin"));
    search_pooler(&places).context(
        "no pgbouncer was found in PATH or /usr/sbin: install it (on Debian `apt-get install \
         pgbouncer`; its service need not run)",
    )
}

fn search_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect()
}

/// The highest version below the root wins; only without any, the first other directory.
fn search_server(debian_root: &Path, others: &[PathBuf]) -> Option<ServerPrograms> {
    let entries = fs::read_dir(debian_root).into_iter().flatten().flatten();
    let newest = entries
        .filter_map(|entry| server_in(&entry.path().join("bin")))
        .max_by_key(|server| server.major);
    newest.or_else(|| others.iter().find_map(|directory| server_in(directory)))
}

fn search_pooler(places: &[PathBuf]) -> Option<PathBuf> {
    let mut candidates = places.iter().map(|place| place.join("pgbouncer"));
    candidates.find(|program| program.is_file())
}

/// The programs in a directory, if all are there and recent enough.
fn server_in(directory: &Path) -> Option<ServerPrograms> {
    // A link in PATH points to the directory that has the other programs too.
    let program = fs::canonicalize(directory.join("postgres")).ok()?;
    let directory = program.parent()?.to_path_buf();
    let is_complete = SERVER_PROGRAMS
        .iter()
        .all(|program| directory.join(program).is_file());
    if !is_complete {
        return None;
    }
    let answer = Command::new(&program).arg("--version").output().ok()?;
    let major = major_version(&String::from_utf8_lossy(&answer.stdout))?;
    (major >= OLDEST).then_some(ServerPrograms { directory, major })
}

/// Reads `postgres (PostgreSQL) 15.18 (some distribution)`, also before a release: `18beta1`.
fn major_version(answer: &str) -> Option<u32> {
    let version = answer.split_whitespace().nth(2)?;
    leading_number(version)
}

/// Whether pgbouncer is of a release that can track prepared statements, and so has the option.
pub(super) fn tracks_prepared_statements(pooler: &Path) -> Result<bool> {
    let output = Command::new(pooler)
        .arg("--version")
        .output()
        .with_context(|| format!("`{}` could not be started", pooler.display()))?;
    let answer = String::from_utf8_lossy(&output.stdout);
    match pooler_version(&answer) {
        Some(version) => Ok(version >= (1, 21)),
        None => bail!("`{} --version` answered `{answer}`", pooler.display()),
    }
}

/// Reads `PgBouncer 1.18.0`.
fn pooler_version(answer: &str) -> Option<(u32, u32)> {
    let mut parts = answer.split_whitespace().nth(1)?.split('.');
    Some((
        leading_number(parts.next()?)?,
        leading_number(parts.next()?)?,
    ))
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text
        .find(|one: char| !one.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn put_script(directory: &Path, name: &str, script: &str) {
        fs::create_dir_all(directory).expect("the directory is writable");
        // Written by another process: while this one has a script open for writing, a child that
        // another test starts inherits that for a moment, and the script can't be run.
        let status = Command::new("sh")
            .args([
                "-c",
                "printf '#!/bin/sh\\n%s\\n' \"$1\" >\"$0\" && chmod 755 \"$0\"",
            ])
            .arg(directory.join(name))
            .arg(script)
            .status()
            .expect("sh starts");
        assert!(status.success());
    }

    fn put_server(directory: &Path, version: &str) {
        for program in SERVER_PROGRAMS {
            put_script(
                directory,
                program,
                &format!("echo '{program} (PostgreSQL) {version}'"),
            );
        }
    }

    /// A root with versions as Debian has them, and one other directory.
    #[track_caller]
    fn check_search(versions: &[&str], other: Option<&str>, expected: Option<&str>) {
        let folder = tempfile::tempdir().expect("a temporary directory is made");
        let root = fs::canonicalize(folder.path()).expect("it exists");
        for version in versions {
            put_server(&root.join("debian").join(version).join("bin"), version);
        }
        let place = root.join("other");
        if let Some(version) = other {
            put_server(&place, version);
        }
        let found = search_server(&root.join("debian"), &[root.join("absent"), place]);
        let found = found.map(|server| {
            let relative = server.directory.strip_prefix(&root).expect("it is inside");
            relative.display().to_string()
        });
        assert_eq!(found.as_deref(), expected, "{versions:?} {other:?}");
    }

    #[test]
    fn the_highest_version_wins() {
        check_search(&["15", "9", "17", "16"], None, Some("debian/17/bin"));
        check_search(&["15"], Some("18.1"), Some("debian/15/bin"));
    }

    #[test]
    fn an_old_version_does_not_count() {
        check_search(&["14"], None, None);
        check_search(&["9", "14"], Some("16.2"), Some("other"));
        check_search(&[], Some("14.9"), None);
        check_search(&[], Some("15.0"), Some("other"));
        check_search(&[], None, None);
    }

    #[test]
    fn every_program_must_be_there() {
        for missing in SERVER_PROGRAMS {
            let folder = tempfile::tempdir().expect("a temporary directory is made");
            put_server(folder.path(), "16.1");
            assert!(server_in(folder.path()).is_some());
            fs::remove_file(folder.path().join(missing)).expect("it is there");
            assert_eq!(server_in(folder.path()), None, "{missing}");
        }
    }

    #[test]
    fn a_link_leads_to_the_directory_of_all_programs() {
        let folder = tempfile::tempdir().expect("a temporary directory is made");
        let real = folder.path().join("real");
        let linked = folder.path().join("linked");
        put_server(&real, "16.1");
        fs::create_dir(&linked).expect("the directory is writable");
        symlink(real.join("postgres"), linked.join("postgres")).expect("a link is made");
        let found = server_in(&linked).expect("the programs are found");
        assert_eq!(
            found.directory,
            fs::canonicalize(&real).expect("it is there")
        );
        assert_eq!(found.major, 16);
    }

    #[test]
    fn versions_are_read() {
        let check = |answer, expected| assert_eq!(major_version(answer), expected, "{answer}");
        check("postgres (PostgreSQL) 15.18 (Debian 15.18-0)\n", Some(15));
        check("postgres (PostgreSQL) 18beta1\n", Some(18));
        check("postgres (PostgreSQL) devel\n", None);
        check("", None);
        let check = |answer, expected| assert_eq!(pooler_version(answer), expected, "{answer}");
        check("PgBouncer 1.18.0\nlibevent 2.1.12\n", Some((1, 18)));
        check("PgBouncer 1.21.0", Some((1, 21)));
        check("PgBouncer 2.0rc1", Some((2, 0)));
        check("PgBouncer", None);
    }

    #[test]
    fn prepared_statements_are_known_from_one_twenty_one_on() {
        let folder = tempfile::tempdir().expect("a temporary directory is made");
        let check = |version: &str, expected: Option<bool>| {
            put_script(folder.path(), "pgbouncer", &format!("echo '{version}'"));
            let pooler = search_pooler(&[folder.path().join("no"), folder.path().to_path_buf()])
                .expect("the program is there");
            let answer = tracks_prepared_statements(&pooler).ok();
            assert_eq!(answer, expected, "{version}");
        };
        check("PgBouncer 1.18.0", Some(false));
        check("PgBouncer 1.20.1", Some(false));
        check("PgBouncer 1.21.0", Some(true));
        check("PgBouncer 2.0.0", Some(true));
        check("PgBouncer of unknown age", None);
    }

    #[test]
    fn a_place_without_pgbouncer_is_passed_over() {
        let folder = tempfile::tempdir().expect("a temporary directory is made");
        assert_eq!(search_pooler(&[folder.path().to_path_buf()]), None);
    }
}
