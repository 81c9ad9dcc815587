//! Attacks on the files of a SQLite ledger: the database, its write-ahead log and the lock file
//! with the pin.

use std::path::Path;

use piton_sqlite::SqliteStore;
use piton_store::{CheckpointStore, SealedEvent};
use piton_testkit::history::nth;
use piton_testkit::observe::{append_all, tail_of};
use piton_testkit::tamper::Specimen;

use super::{DATABASE, LOCK, LOG, SqliteEngine, connect};
use crate::attack::{self, Attack, EARLIER, Guard};
use crate::engine::Scene;

/// What is done to files.
#[derive(Clone, Copy)]
pub(crate) enum Deed {
    DeleteLog,
    CutLog,
    DeleteDatabase,
    DeleteDatabaseUnderLog,
    RestoreDatabase,
    RestoreDirectory,
    DeleteLock,
    DamagePin,
    DamageNewestSlot,
    SetLayoutBack,
}

pub(super) fn all() -> Vec<Attack<SqliteEngine>> {
    [
        (
            "the write-ahead log deleted before its checkpoint",
            Guard::Pin,
            Deed::DeleteLog,
        ),
        (
            "the write-ahead log cut before its checkpoint",
            Guard::Pin,
            Deed::CutLog,
        ),
        (
            "the database file deleted, the lock file left",
            Guard::Pin,
            Deed::DeleteDatabase,
        ),
        (
            "the database file deleted, its write-ahead log left",
            Guard::Chain,
            Deed::DeleteDatabaseUnderLog,
        ),
        (
            "an older copy of the rows restored",
            Guard::Pin,
            Deed::RestoreDatabase,
        ),
        (
            "an older copy of the rows and the pin restored",
            Guard::ExpectedHead,
            Deed::RestoreDirectory,
        ),
        ("the pin deleted", Guard::Pin, Deed::DeleteLock),
        ("the pin damaged", Guard::Pin, Deed::DamagePin),
        (
            "the newer slot of the pin damaged, and the last row deleted",
            Guard::ExpectedHead,
            Deed::DamageNewestSlot,
        ),
        (
            "the last rows deleted, the layout version set to 0 and the lock file emptied",
            Guard::ExpectedHead,
            Deed::SetLayoutBack,
        ),
    ]
    .map(|(name, caught_by, deed)| Attack {
        name,
        caught_by,
        deed: attack::Deed::Handle(deed),
    })
    .into()
}

pub(super) async fn handle(specimen: &Specimen<SqliteEngine>, deed: Deed) -> Scene<SqliteStore> {
    let engine = specimen.harness();
    let home = engine.home(&specimen.workflow);
    let whole = specimen.events.as_slice();
    match deed {
        Deed::DeleteLog => interrupted(specimen, 2, |home| remove(home, LOG)).await,
        Deed::CutLog => interrupted(specimen, 1, cut_log).await,
        Deed::DeleteDatabase => {
            remove(&home, DATABASE);
            scene(specimen, &[])
        }
        Deed::DeleteDatabaseUnderLog => {
            let all = whole.len() + 2;
            interrupted(specimen, all, |home| remove(home, DATABASE)).await
        }
        Deed::RestoreDatabase => restored(specimen, &[DATABASE]).await,
        Deed::RestoreDirectory => restored(specimen, &[DATABASE, LOCK]).await,
        Deed::DeleteLock => {
            remove(&home, LOCK);
            scene(specimen, whole)
        }
        Deed::DamagePin => {
            change(&home.join(LOCK), |bytes| {
                for slot in SLOTS {
                    bytes[slot + HEAD] ^= 1;
                }
            });
            scene(specimen, whole)
        }
        Deed::DamageNewestSlot => {
            let kept = whole.len() - 1;
            change(&home.join(LOCK), |bytes| {
                let newest = SLOTS
                    .into_iter()
                    .max_by_key(|slot| generation(bytes, *slot));
                bytes[newest.expect("two slots") + HEAD] ^= 1;
            });
            delete_rows(&home, kept);
            scene(specimen, &whole[..kept])
        }
        Deed::SetLayoutBack => {
            delete_rows(&home, EARLIER);
            connect(&home)
                .pragma_update(None, "user_version", 0)
                .expect("a pragma");
            std::fs::write(home.join(LOCK), []).expect("writable");
            scene(specimen, &whole[..EARLIER])
        }
    }
}

/// Where the slots of a pin stand, and what in them; see `piton-sqlite`, `pin.rs`.
const SLOTS: [usize; 2] = [0, 4096];
const GENERATION: std::ops::Range<usize> = 12..20;
const HEAD: usize = 28;

fn generation(bytes: &[u8], slot: usize) -> Vec<u8> {
    bytes[slot..][GENERATION].to_vec()
}

/// Opens the ledger again, of which the owner had noted the specimen's tail.
fn scene(specimen: &Specimen<SqliteEngine>, believed: &[SealedEvent]) -> Scene<SqliteStore> {
    Scene {
        store: specimen.harness().store(),
        believed: bytes(believed),
        noted: specimen.tail,
    }
}

fn bytes(events: &[SealedEvent]) -> Vec<Vec<u8>> {
    events.iter().map(|event| event.bytes().to_vec()).collect()
}

/// The specimen's events and two more.
fn longer(specimen: &Specimen<SqliteEngine>) -> Vec<SealedEvent> {
    let more = [61, 62].map(|n| nth(&specimen.workflow, n));
    specimen.events.iter().cloned().chain(more).collect()
}

/// Two more appends stand in the log when the writer dies. Then files are handled, which must lose
/// so many of the rows.
async fn interrupted(
    specimen: &Specimen<SqliteEngine>,
    lost: usize,
    handle: impl FnOnce(&Path),
) -> Scene<SqliteStore> {
    let engine = specimen.harness();
    let events = longer(specimen);
    let writer = engine.store();
    append_all(&writer, &events[specimen.events.len()..]).await;
    let root = engine.0.path().join("interrupted");
    let home = root.join(specimen.workflow.as_str());
    std::fs::create_dir_all(&home).expect("a directory");
    copy(
        &engine.home(&specimen.workflow),
        &home,
        &[DATABASE, LOG, LOCK],
    );
    writer.close().await.expect("a store can be closed");
    handle(&home);
    Scene {
        store: SqliteStore::open(root).expect("a store opens"),
        believed: bytes(&events[..events.len() - lost]),
        noted: tail_of(&events),
    }
}

/// Copies of the files are put back after two more appends.
async fn restored(specimen: &Specimen<SqliteEngine>, files: &[&str]) -> Scene<SqliteStore> {
    let engine = specimen.harness();
    let home = engine.home(&specimen.workflow);
    let backup = engine.0.path().join("backup");
    std::fs::create_dir_all(&backup).expect("a directory");
    copy(&home, &backup, files);
    let events = longer(specimen);
    let writer = engine.store();
    append_all(&writer, &events[specimen.events.len()..]).await;
    writer.close().await.expect("a store can be closed");
    copy(&backup, &home, files);
    Scene {
        noted: tail_of(&events),
        ..scene(specimen, &specimen.events)
    }
}

fn copy(from: &Path, to: &Path, files: &[&str]) {
    for file in files {
        std::fs::copy(from.join(file), to.join(file)).expect("a readable file");
    }
}

fn remove(home: &Path, file: &str) {
    std::fs::remove_file(home.join(file)).expect("the file is there");
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).expect("readable");
    change(&mut bytes);
    std::fs::write(path, bytes).expect("writable");
}

/// An append is one transaction, which the log loses with its last byte.
fn cut_log(home: &Path) {
    change(&home.join(LOG), |bytes| {
        bytes.pop();
    });
}

fn delete_rows(home: &Path, kept: usize) {
    connect(home)
        .execute(
            "DELETE FROM checkpoint_chain WHERE sequence > ?",
            [i64::try_from(kept).expect("few rows")],
        )
        .expect("rows can be deleted");
}
