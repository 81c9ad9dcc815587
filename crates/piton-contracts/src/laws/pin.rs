//! The law of the pin in a lock file: whatever bytes it holds, the store reads what the reference
//! decodes, and a tail that an operator accepts over them is there to stay.
//!
//! The decoder has no public name, so files stand beside no database and the store is asked.

use std::path::PathBuf;

use piton_ledger::{ChainHead, WorkflowId};
use piton_sqlite::SqliteStore;
use piton_store::{AppendLock as _, CheckpointStore as _, Repin as _, StoreError, Tail};
use piton_testkit::history::workflow;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::reader::Reader;
use super::reference::pin::{Pin, checksum, decode};

const RECORD: usize = 64;
const SLOTS: [usize; 2] = [0, 4096];
const LENGTH: usize = 8192;

/// A root with one workflow that has a lock file and nothing else.
pub struct Ledger {
    runtime: Runtime,
    store: SqliteStore,
    workflow: WorkflowId,
    file: PathBuf,
    _root: TempDir,
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}

impl Ledger {
    /// Makes the root in the directory for temporary files.
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory");
        let workflow = workflow("pin");
        let directory = root.path().join(workflow.as_str());
        std::fs::create_dir(&directory).expect("a directory");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        Self {
            runtime: runtime.expect("a runtime"),
            store: SqliteStore::open(root.path()).expect("a root"),
            workflow,
            file: directory.join("checkpoints.lock"),
            _root: root,
        }
    }

    /// Checks the law on one lock file.
    pub fn check(&mut self, input: &[u8]) {
        let mut reader = Reader::new(input);
        let manner = reader.byte();
        let bytes = lock_file(manner, reader);
        std::fs::write(&self.file, &bytes).expect("writable");
        assert_eq!(self.read(), decode(&bytes));
        if manner & 0x80 != 0 {
            self.check_repin(manner);
        }
    }

    fn read(&self) -> Pin {
        let read = self
            .runtime
            .block_on(self.store.pinned_tail(&self.workflow));
        match read {
            Ok(None) => Pin::None,
            Ok(Some(tail)) => Pin::Noted(
                tail.sequence().map_or(0, |sequence| sequence.to_u64()),
                *tail.head().as_bytes(),
            ),
            Err(StoreError::PinDamaged { .. }) => Pin::Damaged,
            Err(error) => panic!("{error}"),
        }
    }

    /// An accepted tail is noted twice, so damage to one slot brings nothing older back.
    fn check_repin(&self, manner: u8) {
        let head = [manner; 32];
        let accepted = Tail::At {
            sequence: u64::from(manner).try_into().expect("from 128"),
            head: ChainHead::from_bytes(head),
        };
        let repinned = self.runtime.block_on(async {
            let mut lock = self.store.lock(&self.workflow).await?;
            lock.repin(accepted).await?;
            lock.release().await
        });
        repinned.expect("a lock file can be written");
        let noted = Pin::Noted(u64::from(manner), head);
        let bytes = std::fs::read(&self.file).expect("readable");
        assert_eq!(decode(&bytes), noted);
        assert_eq!(self.read(), noted);
        for slot in SLOTS {
            let mut damaged = bytes.clone();
            damaged[slot + 30] ^= 1;
            std::fs::write(&self.file, &damaged).expect("writable");
            assert_eq!(self.read(), noted, "with the slot at {slot} damaged");
        }
    }
}

/// Makes a lock file of an input: as it is, or with records whose checksums are right.
fn lock_file(manner: u8, mut reader: Reader<'_>) -> Vec<u8> {
    if manner & 1 == 0 {
        return reader.rest().to_vec();
    }
    let mut file = vec![0; LENGTH];
    for (slot, is_sealed) in [(SLOTS[0], manner & 2 == 0), (SLOTS[1], manner & 4 == 0)] {
        let mut record = [0; RECORD];
        record[..12].copy_from_slice(b"PITONPIN\0\0\0\x01");
        let fields = reader.run();
        for (at, byte) in fields.iter().take(RECORD).enumerate() {
            // Fields first, for a short run to reach them; the magic and version only at its end.
            record[(at + 12) % RECORD] ^= byte;
        }
        if is_sealed {
            let sum = checksum(&record[..RECORD - 4]);
            record[RECORD - 4..].copy_from_slice(&sum.to_be_bytes());
        }
        file[slot..slot + RECORD].copy_from_slice(&record);
    }
    match reader.byte() {
        0 => {}
        change if change & 1 == 0 => file.truncate(usize::from(change) * 33),
        change => file.extend(std::iter::repeat_n(change, usize::from(change))),
    }
    file
}
