//! `cargo xtask instructions`: counts what the hot paths execute and compares it with what is
//! recorded in `benches/instructions.json`.
//!
//! Owns the counting, under callgrind, and the file. Times drift with the machine; instructions
//! are the same whenever the same program does the same work. What is not, must not be counted:
//! start-up is the same in a short run and a long one, so the difference of both is the work's own.

mod recorded;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use xshell::cmd;

use self::recorded::{Counts, Recorded};
use crate::workspace::Workspace;
use crate::{goldens, postgres, process};

const PACKAGE: &str = "piton-benches";
const PROGRAM: &str = "instructions";

/// What is counted; the program of that name in the benches knows how each is done.
const WORKS: &[&str] = &["link", "parse", "seal", "walk"];

/// How often the work is done in the short run and in the long one.
const SHORT: u64 = 400;
const LONG: u64 = 2_400;

/// Counts, and compares or records.
///
/// # Errors
///
/// Counts that differ from the recorded ones by more than the tolerance; no record for this
/// platform; no valgrind; a processor whose counts would not compare.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let is_recording = match arguments {
        [] => false,
        [flag] if flag == "--record" => true,
        _ => bail!("usage: cargo xtask instructions [--record]"),
    };
    if is_recording && goldens::is_continuous_integration(std::env::var("CI").ok().as_deref()) {
        bail!("CI is set, and continuous integration never records: run this locally");
    }
    refuse_narrow_processor()?;
    find_or_install_valgrind(workspace)?;
    let shell = &workspace.shell;
    process::run(cmd!(
        shell,
        "cargo build --release --package {PACKAGE} --example {PROGRAM}"
    ))?;
    let target = workspace.metadata()?.target_directory.into_std_path_buf();
    let program = target.join("release/examples").join(PROGRAM);
    let mut counts = Counts::new();
    for work in WORKS {
        let [short, long] = [SHORT, LONG].map(|times| count(workspace, &program, work, times));
        let each = long?
            .checked_sub(short?)
            .context("the longer run executed less than the shorter one")?
            / (LONG - SHORT);
        counts.insert((*work).to_owned(), each);
    }
    let path = workspace.root.join("benches/instructions.json");
    let platform = std::env::consts::ARCH;
    let compiler = compiler(workspace)?;
    let recorded = Recorded::read(&path)?;
    if is_recording {
        return recorded.with(platform, &compiler, &counts).write(&path);
    }
    recorded.compare(platform, &compiler, &counts)
}

/// BLAKE3, memchr and the C library choose their code by the processor, and callgrind shows the
/// program the processor that it runs on, though never AVX-512. So with AVX2 or better all choose
/// alike, and without it they would choose otherwise.
fn refuse_narrow_processor() -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    if !std::arch::is_x86_feature_detected!("avx2") {
        bail!(
            "this processor has no AVX2, so its counts can't be compared with the recorded ones; \
             run this on a newer one"
        );
    }
    Ok(())
}

const MISSING: &str = "valgrind was not found: install it (on Debian `apt-get install valgrind`); \
                       as root on Debian this is done for you";

fn find_or_install_valgrind(workspace: &Workspace) -> Result<()> {
    if has_valgrind(workspace) {
        return Ok(());
    }
    postgres::install::install(&["valgrind"]).context(MISSING)?;
    if !has_valgrind(workspace) {
        bail!(MISSING);
    }
    Ok(())
}

fn has_valgrind(workspace: &Workspace) -> bool {
    let shell = &workspace.shell;
    // One that can't be asked is one to install: the reason makes no difference.
    cmd!(shell, "valgrind --tool=callgrind --version")
        .quiet()
        .ignore_stderr()
        .read()
        .is_ok()
}

fn compiler(workspace: &Workspace) -> Result<String> {
    let shell = &workspace.shell;
    let answer = cmd!(shell, "rustc --version").quiet().read()?;
    let version = answer.split_whitespace().nth(1);
    Ok(version.context("rustc has no version")?.to_owned())
}

/// Counts the instructions of one run from its start to its end.
fn count(workspace: &Workspace, program: &Path, work: &str, times: u64) -> Result<u64> {
    let output: PathBuf = program.with_extension(format!("{work}.callgrind"));
    let times = times.to_string();
    let shell = &workspace.shell;
    process::run(cmd!(
        shell,
        "valgrind --tool=callgrind --quiet --callgrind-out-file={output} {program} {work} {times}"
    ))?;
    let text = std::fs::read_to_string(&output)
        .with_context(|| format!("callgrind left nothing in {}", output.display()))?;
    total(&text).with_context(|| format!("{} has no total", output.display()))
}

/// Reads the total from what callgrind writes.
fn total(text: &str) -> Option<u64> {
    let lines = text.lines();
    let total = lines.rev().find_map(|line| line.strip_prefix("totals:"))?;
    total.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_the_last_line_of_its_name() {
        assert_eq!(
            total("events: Ir\nfn=(1)\n1 12\ntotals: 4711\n"),
            Some(4711)
        );
        assert_eq!(total("events: Ir\n"), None);
        assert_eq!(total("totals: many\n"), None);
    }

    #[test]
    fn each_work_is_recorded() {
        let workspace = Workspace::open().expect("the workspace opens");
        let path = workspace.root.join("benches/instructions.json");
        let recorded = Recorded::read(&path).expect("it reads");
        for counts in recorded.counts() {
            assert!(counts.keys().eq(WORKS));
        }
    }
}
