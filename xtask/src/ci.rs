//! `cargo xtask ci`: every check of the repository, in order, up to the first failure.
//!
//! Owns the list of steps. A step that has a command of its own lives in that command's file.

use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::TargetKind;
use xshell::cmd;

use crate::workspace::Workspace;
use crate::{bench, campaign, contract, deny, fence, instructions, no_std, process, semver, test};

/// One check, callable on its own as `cargo xtask ci NAME`.
struct Step {
    name: &'static str,
    run: fn(&Workspace) -> Result<()>,
}

/// Cheap checks first; the tests last, so that their closing line ends the output.
const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        run: fmt,
    },
    Step {
        name: "deny",
        run: deny::run,
    },
    Step {
        name: "clippy",
        run: clippy,
    },
    Step {
        name: "doc",
        run: doc,
    },
    Step {
        name: "no-std",
        run: no_std::run,
    },
    Step {
        name: "fence",
        run: fence::run,
    },
    Step {
        name: "contract",
        run: contract::check,
    },
    Step {
        name: "examples",
        run: examples,
    },
    Step {
        name: "demo",
        run: demo,
    },
    Step {
        name: "bench",
        run: bench_smoke,
    },
    Step {
        name: "instructions",
        run: count_instructions,
    },
    Step {
        name: "semver",
        run: semver::run,
    },
    Step {
        name: "campaign",
        run: campaigns,
    },
    Step {
        name: "test",
        run: tests,
    },
];

/// Runs every step.
///
/// # Errors
///
/// The first failure, with the name of its step and how to run that alone.
pub(crate) fn run_all(workspace: &Workspace) -> Result<()> {
    for (index, step) in STEPS.iter().enumerate() {
        if index > 0 {
            eprintln!();
        }
        eprintln!("== {} of {}: {}", index + 1, STEPS.len(), step.name);
        let start = Instant::now();
        (step.run)(workspace).with_context(|| {
            format!(
                "step `{name}` failed after {seconds:.1} s; run it alone with `cargo xtask ci {name}`",
                name = step.name,
                seconds = start.elapsed().as_secs_f64(),
            )
        })?;
        // The last step's own closing line tells its time, and must stay the last line.
        if index + 1 < STEPS.len() {
            eprintln!("-- {}: {:.1} s", step.name, start.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

/// Runs the one step of that name.
pub(crate) fn run_one(workspace: &Workspace, name: &str) -> Result<()> {
    match STEPS.iter().find(|step| step.name == name) {
        Some(step) => (step.run)(workspace),
        None => {
            let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
            bail!("`{name}` is not a step; the steps are {}", names.join(", "))
        }
    }
}

fn fmt(workspace: &Workspace) -> Result<()> {
    let shell = &workspace.shell;
    process::run(cmd!(shell, "cargo fmt --all --check")).context("mend it with `cargo fmt --all`")
}

fn clippy(workspace: &Workspace) -> Result<()> {
    let shell = &workspace.shell;
    process::run(cmd!(
        shell,
        "cargo clippy --workspace --all-targets -- -D warnings"
    ))
}

fn doc(workspace: &Workspace) -> Result<()> {
    let shell = &workspace.shell;
    process::run(cmd!(shell, "cargo doc --workspace --no-deps").env("RUSTDOCFLAGS", "-D warnings"))
}

/// An example that doesn't run to its end is documentation that lies.
fn examples(workspace: &Workspace) -> Result<()> {
    let targets = workspace.targets("piton-examples", &TargetKind::Example)?;
    if targets.is_empty() {
        bail!("piton-examples has no example targets");
    }
    let shell = &workspace.shell;
    for target in targets {
        process::run(cmd!(
            shell,
            "cargo run --package piton-examples --example {target}"
        ))?;
    }
    Ok(())
}

fn demo(workspace: &Workspace) -> Result<()> {
    let shell = &workspace.shell;
    process::run(cmd!(shell, "cargo run -- demo"))
}

fn bench_smoke(workspace: &Workspace) -> Result<()> {
    if !bench::has_targets(workspace)? {
        eprintln!("skipped: piton-benches has no bench targets");
        return Ok(());
    }
    bench::run(workspace, &["--smoke".to_owned()])
}

fn count_instructions(workspace: &Workspace) -> Result<()> {
    instructions::run(workspace, &[])
}

fn campaigns(workspace: &Workspace) -> Result<()> {
    campaign::run(workspace, &["--short".to_owned()])
}

fn tests(workspace: &Workspace) -> Result<()> {
    test::run(workspace, test::Profile::ContinuousIntegration, &[])
}

#[cfg(test)]
mod steps_tests {
    use super::*;

    #[test]
    fn step_names_are_unique_and_the_tests_come_last() {
        let mut names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.last(), Some(&"test"));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), STEPS.len());
    }

    #[test]
    fn an_unknown_step_is_refused_with_the_names_of_all() {
        let workspace = Workspace::open().expect("the workspace opens");
        let message = run_one(&workspace, "no-such-step")
            .expect_err("it is no step")
            .to_string();
        assert!(message.contains("no-such-step"));
        for step in STEPS {
            assert!(message.contains(step.name), "{message}");
        }
    }
}
