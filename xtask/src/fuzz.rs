//! `cargo xtask fuzz`: runs the fuzz targets for a number of executions or minutes.
//!
//! It owns how the fuzzer is built and fed. It must not be needed by the tests: those run the
//! committed corpora through the same laws without a fuzzer.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use xshell::{Cmd, cmd};

use crate::process;
use crate::workspace::Workspace;

/// The version that the flags below are right for.
const FUZZER: &str = "0.13.2";

/// How long each target runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Runs(u64),
    Minutes(u64),
}

impl Length {
    /// What a developer waits for.
    const DEFAULT: Self = Self::Minutes(1);

    /// The fuzzer's own flag.
    fn flag(self) -> String {
        match self {
            Self::Runs(runs) => format!("-runs={runs}"),
            Self::Minutes(minutes) => format!("-max_total_time={}", minutes.saturating_mul(60)),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Arguments {
    target: Option<String>,
    length: Length,
}

impl Arguments {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut parsed = Self {
            target: None,
            length: Length::DEFAULT,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut number = || {
                let number = rest.next().and_then(|text| text.parse().ok());
                number.with_context(|| format!("`{argument}` needs a number"))
            };
            match argument.as_str() {
                "--runs" => parsed.length = Length::Runs(number()?),
                "--minutes" => parsed.length = Length::Minutes(number()?),
                option if option.starts_with('-') => bail!("`{option}` is not an option"),
                target if parsed.target.is_none() => parsed.target = Some(target.to_owned()),
                more => bail!("one target at a time, or all; `{more}` is one more"),
            }
        }
        Ok(parsed)
    }
}

/// Runs one target, or each in turn, up to the first broken law.
///
/// # Errors
///
/// A law that is broken, with the input in `fuzz/artifacts`; a fuzzer that is not installed; an
/// unknown target.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let Arguments { target, length } = Arguments::parse(arguments)?;
    let all = targets(workspace)?;
    let chosen = match target {
        None => all,
        Some(target) if all.contains(&target) => vec![target],
        Some(target) => bail!("`{target}` is not a target; they are {}", all.join(", ")),
    };
    let fuzzer = fuzzer(workspace)?;
    let scratch = Scratch::new()?;
    for target in chosen {
        let found = workspace.root.join("target/fuzz").join(&target);
        std::fs::create_dir_all(&found)?;
        process::run(command(workspace, &fuzzer, &target, length).env("TMPDIR", &scratch.0))
            .with_context(|| {
                format!("the law `{target}` is broken, or its target does not build")
            })?;
    }
    Ok(())
}

fn command<'a>(workspace: &'a Workspace, fuzzer: &str, target: &str, length: Length) -> Cmd<'a> {
    let shell = &workspace.shell;
    let length = length.flag();
    // What is found goes to the first corpus; the committed one is only read.
    let (found, corpus) = (
        format!("target/fuzz/{target}"),
        format!("fuzz/corpus/{target}"),
    );
    let dictionary = format!("-dict=fuzz/dictionaries/{target}.dict");
    // Coverage counters need flags that only a nightly compiler admits to having. The product has
    // no unsafe code, so an address sanitizer would watch other people's and cost half the speed.
    cmd!(
        shell,
        "{fuzzer} run --sanitizer none {target} {found} {corpus} -- {length} {dictionary} -timeout=20 -print_final_stats=1"
    )
    .env("RUSTC_BOOTSTRAP", "1")
}

/// Names every target in order.
fn targets(workspace: &Workspace) -> Result<Vec<String>> {
    let directory = workspace.root.join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).context("there are no fuzz targets")? {
        let path = entry?.path();
        names.extend(
            path.file_stem()
                .and_then(|stem| stem.to_str())
                .map(str::to_owned),
        );
    }
    names.sort();
    Ok(names)
}

/// Finds the fuzzer where this workspace installs tools, or on the path.
fn fuzzer(workspace: &Workspace) -> Result<String> {
    let own = workspace.root.join("target/tools/bin/cargo-fuzz");
    if own.exists() {
        return Ok(own.display().to_string());
    }
    let shell = &workspace.shell;
    let on_path = cmd!(shell, "cargo-fuzz --version").quiet().ignore_stderr();
    if on_path.read().is_ok() {
        return Ok("cargo-fuzz".to_owned());
    }
    bail!(
        "the fuzzer is not installed; `cargo install cargo-fuzz --version {FUZZER} --locked --root \
         target/tools` installs it (it needs a C++ compiler)"
    )
}

/// A place for the files of laws that need some, in memory where the system has one.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        };
        let path = parent.join(format!("piton-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover in a temporary place is no reason to fail.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments> {
        let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
        Arguments::parse(&arguments)
    }

    #[track_caller]
    fn check(arguments: &[&str], target: Option<&str>, flag: &str) {
        let parsed = parse(arguments).expect("well-formed");
        assert_eq!(parsed.target.as_deref(), target);
        assert_eq!(parsed.length.flag(), flag);
    }

    #[test]
    fn a_target_and_a_length_may_be_chosen() {
        check(&[], None, "-max_total_time=60");
        check(&["rows"], Some("rows"), "-max_total_time=60");
        check(&["--runs", "500", "pin"], Some("pin"), "-runs=500");
        check(&["--minutes", "3"], None, "-max_total_time=180");
    }

    #[test]
    fn nonsense_is_refused() {
        for arguments in [
            &["--runs"][..],
            &["--runs", "many"],
            &["--fast"],
            &["a", "b"],
        ] {
            assert!(parse(arguments).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn an_unknown_target_is_refused_with_the_names_of_all() {
        let workspace = Workspace::open().expect("the workspace opens");
        let arguments = ["no-such-target".to_owned()];
        let message = run(&workspace, &arguments)
            .expect_err("it is none")
            .to_string();
        for target in targets(&workspace).expect("there are targets") {
            assert!(message.contains(&target), "{message}");
        }
    }
}
