//! Owns the choice of what the libraries are compared with, and its documentation. It compares
//! nothing, asks no server, and changes nothing in the repository.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use xshell::{Cmd, Shell, cmd};

use super::library;
use crate::process;
use crate::workspace::Workspace;

/// A commit to compare with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Baseline {
    commit: String,
    /// The tag, or none while there has been no release.
    release: Option<String>,
}

/// Finds the last release; before the first one, the last commit.
///
/// # Errors
///
/// There is no history here, or a release whose tag is not in this clone.
pub(super) fn find(workspace: &Workspace) -> Result<Baseline> {
    let changelog = fs::read_to_string(workspace.root.join("CHANGELOG.md"))
        .context("CHANGELOG.md tells whether there has been a release")?;
    find_in(&workspace.shell, &workspace.root, &changelog)
}

fn find_in(shell: &Shell, root: &Path, changelog: &str) -> Result<Baseline> {
    let inside = read(git(shell, root).args(["rev-parse", "--show-prefix"])).context(
        "git finds no history here, and without one there is nothing to compare with: run this \
         in a clone of the repository (`git clone`), not in an unpacked archive",
    )?;
    if !inside.is_empty() {
        bail!(
            "{} is not the root of a repository of its own: run this in a clone",
            root.display()
        );
    }
    let head = commit_of(shell, root, "HEAD")
        .context("there is no commit yet: commit first, then compare")?;
    let describe = ["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"];
    if let Ok(tag) = read(git(shell, root).args(describe)) {
        let commit = commit_of(shell, root, &format!("refs/tags/{tag}"))?;
        return Ok(Baseline {
            commit,
            release: Some(tag),
        });
    }
    // A shallow clone ends before the tag, or has none: the change log knows all the same.
    let Some(version) = last_release(changelog) else {
        return Ok(Baseline {
            commit: head,
            release: None,
        });
    };
    let tag = format!("v{version}");
    let commit = commit_of(shell, root, &format!("refs/tags/{tag}")).with_context(|| {
        format!(
            "CHANGELOG.md names the release {version}, and this clone has no tag {tag}: fetch it \
             with `git fetch --depth=1 origin tag {tag}`"
        )
    })?;
    Ok(Baseline {
        commit,
        release: Some(tag),
    })
}

impl Baseline {
    /// Says in one line what the comparison is worth.
    pub(super) fn announcement(&self) -> String {
        let short: String = self.commit.chars().take(12).collect();
        match &self.release {
            Some(tag) => format!("comparing with the last release, {tag} ({short})"),
            None => format!(
                "no release exists yet: comparing with the last commit ({short}), which finds a \
                 break only until it is committed"
            ),
        }
    }

    /// Documents the libraries as they were, once for each commit, and gives the folder.
    pub(super) fn document(&self, workspace: &Workspace) -> Result<PathBuf> {
        let shell = &workspace.shell;
        let folder = workspace.root.join("target/semver");
        let compiler = read(cmd!(shell, "rustc --version"))?.replace([' ', '(', ')'], "");
        let kept = folder.join("json");
        let documented = kept.join(format!("{}-{compiler}", self.commit));
        if documented.exists() {
            return Ok(documented);
        }
        let source = folder.join("source");
        check_out(shell, &workspace.root, &self.commit, &source)?;
        let present: Vec<&str> = library::PUBLISHED
            .into_iter()
            .filter(|name| source.join("crates").join(name).join("Cargo.toml").exists())
            .collect();
        if present.is_empty() {
            bail!("{} has none of the libraries", self.commit);
        }
        // Not the folder of the current state: cargo tells members of two checkouts apart by
        // their place in the workspace alone, and would take one for the other.
        let written = library::document(workspace, &source, &folder.join("target"), &present)?;
        remove(&kept)?;
        let unfinished = folder.join("unfinished");
        remove(&unfinished)?;
        fs::create_dir_all(&unfinished)?;
        for name in present {
            let from = library::json(&written, name);
            fs::copy(&from, library::json(&unfinished, name))
                .with_context(|| format!("{} can't be kept", from.display()))?;
        }
        fs::create_dir_all(&kept)?;
        fs::rename(&unfinished, &documented)?;
        Ok(documented)
    }
}

/// Writes the files of a commit, through an index of their own, so that the one of the repository
/// stays as it is.
fn check_out(shell: &Shell, root: &Path, commit: &str, folder: &Path) -> Result<()> {
    remove(folder)?;
    fs::create_dir_all(folder)?;
    let index = folder.with_extension("index");
    remove(&index)?;
    let prefix = format!("--prefix={}/", folder.display());
    for arguments in [
        &["read-tree", commit][..],
        &["checkout-index", "--all", &prefix],
    ] {
        process::run(
            git(shell, root)
                .args(arguments)
                .env("GIT_INDEX_FILE", &index),
        )?;
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() {
        fs::remove_dir_all(path)
    } else if path.exists() {
        fs::remove_file(path)
    } else {
        Ok(())
    };
    removed.with_context(|| format!("{} can't be removed", path.display()))
}

/// Gives git at the root, whoever owns the files: the build has trusted them already.
fn git<'s>(shell: &'s Shell, root: &Path) -> Cmd<'s> {
    let safe = format!("safe.directory={}", root.display());
    cmd!(shell, "git -C {root} -c {safe}")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
}

fn commit_of(shell: &Shell, root: &Path, revision: &str) -> Result<String> {
    let commit = format!("{revision}^{{commit}}");
    read(git(shell, root).args(["rev-parse", "--quiet", "--verify", &commit]))
        .with_context(|| format!("git knows no {revision}"))
}

fn read(command: Cmd<'_>) -> Result<String> {
    Ok(command.quiet().ignore_stderr().read()?)
}

/// Finds the newest version in the headings of a change log; `Unreleased` is none.
fn last_release(changelog: &str) -> Option<&str> {
    changelog.lines().find_map(|line| {
        let heading = line.strip_prefix("## ")?;
        let version = heading.split_whitespace().next()?.trim_matches(['[', ']']);
        let version = version.strip_prefix('v').unwrap_or(version);
        version
            .starts_with(|letter: char| letter.is_ascii_digit())
            .then_some(version)
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const UNRELEASED: &str = "# Changelog\n\n## Unreleased\n\n- All.\n";
    const RELEASED: &str = "# Changelog\n\n## Unreleased\n\n## [0.1.0] - 2026-01-01\n\n## 0.0.9\n";

    struct Repository {
        shell: Shell,
        folder: TempDir,
    }

    impl Repository {
        fn empty() -> Self {
            Self {
                shell: Shell::new().expect("the working directory is readable"),
                folder: tempfile::tempdir().expect("a temporary directory"),
            }
        }

        fn with_commits(count: usize) -> Self {
            let repository = Self::empty();
            repository.git(&["init", "--quiet"]);
            for number in 0..count {
                fs::write(repository.root().join("number"), number.to_string())
                    .expect("the folder is writable");
                repository.git(&["add", "number"]);
                repository.git(&["commit", "--quiet", "--message", "a commit"]);
            }
            repository
        }

        fn root(&self) -> &Path {
            self.folder.path()
        }

        fn git(&self, arguments: &[&str]) -> String {
            let identity = [
                "-c",
                "user.name=Nobody",
                "-c",
                "user.email=nobody@localhost",
            ];
            git(&self.shell, self.root())
                .args(identity)
                .args(arguments)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .quiet()
                .ignore_stderr()
                .read()
                .expect("git does as told")
        }

        fn find(&self, changelog: &str) -> Result<Baseline> {
            find_in(&self.shell, self.root(), changelog)
        }

        #[track_caller]
        fn check(&self, changelog: &str, revision: &str, release: Option<&str>) {
            let expected = Baseline {
                commit: self.git(&["rev-parse", &format!("{revision}^{{commit}}")]),
                release: release.map(str::to_owned),
            };
            assert_eq!(self.find(changelog).expect("a baseline"), expected);
        }

        #[track_caller]
        fn check_refused(&self, changelog: &str, advice: &str) {
            let error = self.find(changelog).expect_err("there is no baseline");
            assert!(format!("{error:#}").contains(advice), "{error:#}");
        }
    }

    #[test]
    fn the_last_release_tag_is_the_baseline() {
        let repository = Repository::with_commits(1);
        repository.git(&["tag", "v0.1.0"]);
        repository.git(&["commit", "--quiet", "--allow-empty", "--message", "later"]);
        repository.git(&["tag", "--annotate", "--message", "second", "v0.2.0"]);
        repository.git(&["commit", "--quiet", "--allow-empty", "--message", "last"]);
        repository.git(&["tag", "vendored"]);
        repository.check(RELEASED, "v0.2.0", Some("v0.2.0"));
    }

    #[test]
    fn before_the_first_release_it_is_the_last_commit() {
        let repository = Repository::with_commits(2);
        repository.check(UNRELEASED, "HEAD", None);
        let baseline = repository.find(UNRELEASED).expect("a baseline");
        assert!(baseline.announcement().starts_with("no release exists yet"));
    }

    #[test]
    fn a_shallow_clone_needs_the_tag_of_a_release_and_no_more() {
        let origin = Repository::with_commits(1);
        origin.git(&["tag", "v0.1.0"]);
        origin.git(&["commit", "--quiet", "--allow-empty", "--message", "later"]);
        let clone = Repository::empty();
        let from = format!("file://{}", origin.root().display());
        clone.git(&["clone", "--quiet", "--depth=1", "--no-tags", &from, "."]);
        clone.check(UNRELEASED, "HEAD", None);
        clone.check_refused(RELEASED, "git fetch --depth=1 origin tag v0.1.0");
        clone.git(&["fetch", "--quiet", "--depth=1", "origin", "tag", "v0.1.0"]);
        clone.check(RELEASED, "v0.1.0", Some("v0.1.0"));
    }

    #[test]
    fn without_history_the_advice_is_to_clone() {
        Repository::empty().check_refused(UNRELEASED, "in a clone of the repository");
        Repository::with_commits(0).check_refused(UNRELEASED, "commit first");
        let outer = Repository::with_commits(1);
        let unpacked = outer.root().join("unpacked");
        fs::create_dir(&unpacked).expect("the folder is writable");
        let error = find_in(&outer.shell, &unpacked, UNRELEASED).expect_err("it is another's");
        assert!(
            error.to_string().contains("run this in a clone"),
            "{error:#}"
        );
    }

    #[test]
    fn a_commit_is_written_beside_the_repository() {
        let repository = Repository::with_commits(2);
        let target = tempfile::tempdir().expect("a temporary directory");
        let folder = target.path().join("source");
        for (revision, content) in [("HEAD~1", "0"), ("HEAD", "1")] {
            check_out(&repository.shell, repository.root(), revision, &folder)
                .expect("the commit is there");
            let written = fs::read_to_string(folder.join("number")).expect("the file is there");
            assert_eq!(written, content);
        }
        assert_eq!(repository.git(&["status", "--porcelain"]), "");
    }
}
