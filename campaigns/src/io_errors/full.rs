//! Owns real file systems that are full. It orders no failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use piton_store::{CheckpointStore, ExpectedHead, StoreError};
use piton_testkit::history;
use tempfile::TempDir;

use crate::evidence::Evidence;
use crate::ledger::{self, Finding, Known};
use crate::scratch;

const KIND: &str = "a real file system is full";
/// The size of the file system.
const SIZE: usize = 512 * 1024;
/// The most that is left free.
const MOST_FREE: usize = 256 * 1024;
const BLOCK: usize = 4096;

/// A small file system in memory, unmounted on drop.
struct Mounted {
    place: TempDir,
}

impl Mounted {
    fn mount() -> Result<Self> {
        let place = scratch::in_memory()?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={SIZE}"), "piton-full"])
            .arg(place.path())
            .output()
            .context("running mount")?;
        if !mounted.status.success() {
            bail!(
                "a small file system can't be mounted, so a full disk can't be had: {}; run as \
                 root, or in a container with CAP_SYS_ADMIN",
                String::from_utf8_lossy(&mounted.stderr).trim()
            );
        }
        Ok(Self { place })
    }

    fn path(&self) -> &Path {
        self.place.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        Command::new("umount")
            .args(["-l".as_ref(), self.path().as_os_str()])
            .status()
            .ok();
    }
}

/// Fills a file system up to some free bytes, for all amounts that `step` divides.
pub(super) fn run(step: usize, evidence: &mut Evidence) -> Result<()> {
    evidence.announce(&[KIND]);
    let mounted = Mounted::mount()?;
    for free in (0..=MOST_FREE).step_by(step.max(BLOCK)) {
        let label = ledger::runtime()?
            .block_on(fill(mounted.path(), free))
            .with_context(|| format!("with {free} free bytes"))?;
        evidence.count(KIND, label, 1);
    }
    Ok(())
}

/// Appends until the disk is full, makes room, and goes on.
async fn fill(place: &Path, free: usize) -> Result<String> {
    let workflow = ledger::workflow("full")?;
    let events = history::first(&workflow, 600);
    let root = place.join("ledgers");
    let ballast = Ballast::leave(place, free)?;
    let store = ledger::open(&root)?;
    let mut acknowledged = 0;
    let error = loop {
        let event = events.get(acknowledged).context("the disk is never full")?;
        match store.append(event, ExpectedHead::Any).await {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    let text = error.to_string();
    ensure!(
        text.contains("workflow full"),
        "the error names no workflow: {text}"
    );
    ensure!(
        matches!(error, StoreError::Engine { .. } | StoreError::Unfit { .. }),
        "the error is of another kind: {text}"
    );
    let known = Known {
        attempted: &events[..=acknowledged],
        acknowledged,
    };
    // A reader may need room too, and then says that it could not check.
    let found = ledger::judge(&root, &workflow, known, None).await?;
    let could_check = match &found {
        Finding::Same => "verified on the full disk",
        Finding::Unreadable(_) => "could not be checked on the full disk",
        Finding::Refused(_) | Finding::Older => bail!("on the full disk: {}", found.label()),
    };
    drop(ballast);
    let found = ledger::judge(&root, &workflow, known, None).await?;
    ensure!(found == Finding::Same, "with room again: {}", found.label());
    for event in &events[acknowledged..acknowledged + 2] {
        store
            .append(event, ExpectedHead::Any)
            .await
            .context("with room again")?;
    }
    store.close().await?;
    let known = Known::exactly(&events[..acknowledged + 2]);
    let found = ledger::judge(&root, &workflow, known, None).await?;
    ensure!(found == Finding::Same, "having gone on: {}", found.label());
    fs::remove_dir_all(&root).context("clearing the file system")?;
    let when = if acknowledged == 0 {
        "while the workflow was being made"
    } else {
        "later"
    };
    Ok(format!("refused {when}, {could_check}, went on with room"))
}

/// A file that takes all room but some, removed on drop.
struct Ballast(PathBuf);

impl Ballast {
    fn leave(place: &Path, free: usize) -> Result<Self> {
        let path = place.join("ballast");
        let ballast = Self(path.clone());
        // As much as there is, and then less by what is to be free.
        let mut length = SIZE;
        while fs::write(&path, vec![1; length]).is_err() {
            length = length
                .checked_sub(BLOCK)
                .context("the file system takes nothing")?;
        }
        let length = length.saturating_sub(free);
        fs::OpenOptions::new()
            .write(true)
            .open(&path)?
            .set_len(u64::try_from(length)?)?;
        Ok(ballast)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}
