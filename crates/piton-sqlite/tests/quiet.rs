//! Owns the promise that reading leaves no trace and needs no permission to write.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use piton_ledger::{ChainHead, WorkflowId};
use piton_sqlite::SqliteStore;
use piton_store::{CheckpointStore, PersistedChain, WorkflowCatalog};
use support::{Place, append, assert_linked, copy_files, files, rows, run, workflow};

const ALL: [&str; 4] = [
    "checkpoints.sqlite",
    "checkpoints.lock",
    "checkpoints.sqlite-wal",
    "checkpoints.sqlite-shm",
];

/// Reads in every way, and finds so many rows.
async fn read_everything(store: &SqliteStore, id: &WorkflowId, count: usize) {
    let read = rows(store, id).await;
    assert_eq!(read.len(), count);
    assert_linked(id, &read);
    let head = read.last().and_then(|row| row.next_head.to_head());
    assert_eq!(
        store.tail_chain_head(id).await.expect("readable"),
        head.unwrap_or(ChainHead::GENESIS)
    );
    store.pinned_tail(id).await.expect("readable");
    let stats = store.stats(id).await.expect("readable");
    assert_eq!(stats.rows, u64::try_from(count).expect("small"));
    assert_eq!(stats.last_row.as_ref(), read.last());
    store.list().await.expect("readable");
    // A read that is given up in its midst.
    let mut chain = store.iter_persisted_chain(id).await.expect("readable");
    chain.next_rows().await.expect("readable");
}

#[test]
fn an_unknown_workflow_is_empty_and_stays_unknown() {
    let place = Place::new();
    run(async {
        let store = place.store();
        read_everything(&store, &workflow("unknown"), 0).await;
        assert!(!place.root().exists());
        std::fs::create_dir(place.root()).expect("writable");
        read_everything(&store, &workflow("unknown"), 0).await;
        assert!(files(&place.root()).is_empty());
    });
}

#[test]
fn a_cold_ledger_is_left_as_it_is() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 3).await;
        let before = files(place.directory.path());
        for _ in 0..3 {
            read_everything(&place.store(), &id, 3).await;
            assert_eq!(files(place.directory.path()), before);
        }
    });
}

/// A copy of some of the files that a live writer has, with rows in the log alone.
fn check_copy(names: &[&str], spoil: impl Fn(&Path), count: usize) {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let writer = place.store();
        for number in 1..=3 {
            append(&writer, &id, number).await;
        }
        let copy = Place::new();
        copy_files(&place.home(&id), &copy.home(&id), names);
        spoil(&copy.wal(&id));
        let before = files(copy.directory.path());
        for _ in 0..2 {
            let store = copy.store();
            let read = rows(&store, &id).await;
            assert_eq!(read.len(), count);
            assert_linked(&id, &read);
            store.tail_chain_head(&id).await.expect("readable");
            store.stats(&id).await.expect("readable");
            assert_eq!(files(copy.directory.path()), before);
        }
        writer.close().await.expect("the store closes");
    });
}

#[test]
fn a_copy_without_its_log_is_left_as_it_is() {
    check_copy(&ALL[..2], |_| {}, 0);
    check_copy(&ALL[..1], |_| {}, 0);
}

#[test]
fn a_copy_with_its_log_is_left_as_it_is() {
    check_copy(&ALL[..3], |_| {}, 3);
    check_copy(&[ALL[0], ALL[2]], |_| {}, 3);
}

/// SQLite itself would delete a log in which nothing counts, and with it the evidence.
#[test]
fn a_damaged_log_is_left_as_it_is() {
    let edit = |path: &Path, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = std::fs::read(path).expect("readable");
        change(&mut bytes);
        std::fs::write(path, bytes).expect("writable");
    };
    check_copy(&ALL[..3], |wal| edit(wal, &|bytes| bytes.clear()), 0);
    check_copy(&ALL[..3], |wal| edit(wal, &|bytes| bytes.truncate(32)), 0);
    check_copy(&ALL[..3], |wal| edit(wal, &|bytes| bytes.truncate(100)), 0);
    for at in [0, 9, 17, 25, 33, 41, 49, 57, 2000] {
        check_copy(&ALL[..3], |wal| edit(wal, &|bytes| bytes[at] ^= 1), 0);
    }
    check_copy(
        &ALL[..3],
        |wal| {
            edit(wal, &|bytes| {
                let last = bytes.len() - 1;
                bytes[last] ^= 1;
            })
        },
        2,
    );
}

#[test]
fn a_shared_memory_without_a_log_is_left_as_it_is() {
    check_copy(&[ALL[0], ALL[3]], |_| {}, 0);
}

/// Where nothing may be written, by a user who may write nothing: root is above permissions, so
/// the test then goes on as another user in a process of its own.
#[test]
fn an_unwritable_directory_suffices() {
    const CHILD: &str = "PITON_TEST_UNWRITABLE";
    let id = workflow("w");
    if let Ok(roots) = std::env::var(CHILD) {
        for part in roots.split(',') {
            let (root, count) = part.split_once('=').expect("a root and a count");
            let count = count.parse().expect("a count");
            let probe = Path::new(root).join("w").join("probe");
            std::fs::write(&probe, b"").expect_err("the directory can't be written to");
            run(read_everything(
                &SqliteStore::open(root).expect("a store"),
                &id,
                count,
            ));
        }
        return;
    }
    let place = Place::new();
    run(async {
        let writer = place.store();
        for number in 1..=3 {
            append(&writer, &id, number).await;
        }
        let variants: [(&[&str], usize); 4] = [
            (&ALL[..2], 0),
            (&ALL[..3], 3),
            (&ALL, 3),
            (&[ALL[0], ALL[1], ALL[3]], 0),
        ];
        let copies: Vec<(Place, usize)> = variants
            .into_iter()
            .map(|(names, count)| {
                let copy = Place::new();
                copy_files(&place.home(&id), &copy.home(&id), names);
                set_modes(copy.directory.path(), 0o555, 0o444);
                (copy, count)
            })
            .collect();
        writer.close().await.expect("the store closes");
        let cold = Place::new();
        copy_files(&place.home(&id), &cold.home(&id), &ALL[..2]);
        set_modes(cold.directory.path(), 0o555, 0o444);
        let before: Vec<_> = copies
            .iter()
            .map(|(copy, _)| files(copy.directory.path()))
            .collect();
        let roots: Vec<String> = copies
            .iter()
            .map(|(copy, count)| format!("{}={count}", copy.root().display()))
            .chain([format!("{}=3", cold.root().display())])
            .collect();
        // The binary may stand where only root can go.
        let program = Place::new();
        let binary = program.directory.path().join("test");
        std::fs::copy(std::env::current_exe().expect("this binary"), &binary).expect("a copy");
        set_modes(program.directory.path(), 0o755, 0o755);
        let mut child = Command::new(binary);
        child
            .args(["--exact", "an_unwritable_directory_suffices", "--nocapture"])
            .current_dir("/")
            .env(CHILD, roots.join(","));
        if is_root() {
            child.uid(65534).gid(65534);
        }
        let output = child.output().expect("the child runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let after: Vec<_> = copies
            .iter()
            .map(|(copy, _)| files(copy.directory.path()))
            .collect();
        assert_eq!(after, before);
        for (copy, _) in &copies {
            set_modes(copy.directory.path(), 0o755, 0o644);
        }
        set_modes(cold.directory.path(), 0o755, 0o644);
    });
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn set_modes(directory: &Path, for_directories: u32, for_files: u32) {
    let mut paths: Vec<_> = files(directory).into_keys().collect();
    paths.push(directory.to_owned());
    for path in paths {
        let mode = if path.is_dir() {
            for_directories
        } else {
            for_files
        };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))
            .expect("our own file");
    }
}

#[test]
fn a_read_sees_one_snapshot() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        for number in 1..=600 {
            append(&store, &id, number).await;
        }
        let mut chain = store.iter_persisted_chain(&id).await.expect("readable");
        append(&store, &id, 601).await;
        let mut seen = chain.next_rows().await.expect("readable");
        append(&store, &id, 602).await;
        loop {
            let rows = chain.next_rows().await.expect("readable");
            if rows.is_empty() {
                break;
            }
            seen.extend(rows);
        }
        assert_eq!(seen.len(), 600);
        assert_linked(&id, &seen);
        assert!(
            chain.next_rows().await.expect("readable").is_empty(),
            "the end stays the end"
        );
        append(&store, &id, 603).await;
        let counted = chain
            .count_next_head(&seen[599].next_head)
            .await
            .expect("readable");
        assert_eq!(counted, 1);
        let later = rows(&store, &id).await[602].next_head.clone();
        assert_eq!(
            chain.count_next_head(&later).await.expect("readable"),
            0,
            "the same snapshot"
        );
    });
}

#[test]
fn a_read_does_not_keep_a_writer_from_opening() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 2).await;
        let reader = place.store();
        let mut chain = reader.iter_persisted_chain(&id).await.expect("readable");
        let writer = place.impatient_store();
        append(&writer, &id, 3).await;
        assert_eq!(chain.next_rows().await.expect("readable").len(), 2);
        drop(chain);
        assert_eq!(rows(&reader, &id).await.len(), 3);
    });
}
