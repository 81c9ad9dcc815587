//! Damage and planted objects inside a database: neither may pass for a shorter chain, and neither
//! may change what an append writes.

mod support;

use piton_store::{
    AppendStatus, CheckpointStore, ExpectedHead, Repin, StoreError, Tail, WorkflowCatalog,
};
use support::{Place, append, assert_linked, event, raw, rows, run, workflow};

fn change(path: &std::path::Path, from: &[u8], to: &[u8]) {
    let mut bytes = std::fs::read(path).expect("readable");
    let at = bytes
        .windows(from.len())
        .position(|window| window == from)
        .expect("it is there");
    bytes[at..at + from.len()].copy_from_slice(to);
    std::fs::write(path, bytes).expect("writable");
}

async fn assert_unfit(place: &Place, id: &piton_ledger::WorkflowId) {
    let unfit = |error: StoreError| assert!(matches!(error, StoreError::Unfit { .. }), "{error}");
    unfit(
        place
            .store()
            .append(&event(id, 99), ExpectedHead::Any)
            .await
            .expect_err("refused"),
    );
    unfit(
        place
            .store()
            .iter_persisted_chain(id)
            .await
            .expect_err("refused"),
    );
    unfit(
        place
            .store()
            .tail_chain_head(id)
            .await
            .expect_err("refused"),
    );
    unfit(place.store().stats(id).await.expect_err("refused"));
    let store = place.store();
    let mut lock = store.lock(id).await.expect("the lock is free");
    unfit(
        piton_store::AppendLock::tail(&mut lock)
            .await
            .expect_err("refused"),
    );
    lock.repin(Tail::Empty)
        .await
        .expect("a pin can always be replaced");
}

/// The driver's thread dies of such a type, and its silence looked like the end of the rows.
#[test]
fn a_schema_that_is_no_text_is_not_an_empty_chain() {
    for (from, to) in [
        (
            &b"TEXT    NOT NULL UNIQUE"[..],
            &b"T\xc5XT    NOT NULL UNIQUE"[..],
        ),
        (b"next_head      TEXT", b"next_head      TE\xd8T"),
    ] {
        let place = Place::new();
        let id = workflow("w");
        run(async {
            support::cold_ledger(&place, &id, 3).await;
            change(&place.database(&id), from, to);
            assert_unfit(&place, &id).await;
        });
    }
}

#[test]
fn a_view_in_place_of_the_table_is_refused() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 3).await;
        raw(&place.database(&id))
            .execute_batch(
                "ALTER TABLE checkpoint_chain RENAME TO hidden; \
                 CREATE VIEW checkpoint_chain AS SELECT * FROM hidden WHERE sequence < 3;",
            )
            .expect("a view");
        assert_unfit(&place, &id).await;
    });
}

#[test]
fn a_trigger_keeps_writers_out_and_lets_readers_in() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 3).await;
        raw(&place.database(&id))
            .execute_batch(
                "CREATE TRIGGER vanish AFTER INSERT ON checkpoint_chain \
                 BEGIN DELETE FROM checkpoint_chain WHERE sequence = new.sequence; END;",
            )
            .expect("a trigger");
        let error = place
            .store()
            .append(&event(&id, 99), ExpectedHead::Any)
            .await
            .expect_err("refused");
        assert!(matches!(error, StoreError::Unfit { .. }), "{error}");
        let rows = rows(&place.store(), &id).await;
        assert_linked(&id, &rows);
        assert_eq!(rows.len(), 3);
    });
}

/// One flipped bit in the index, and a retry would be recorded as a new transition.
#[test]
fn an_index_that_does_not_find_every_row_keeps_writers_out() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 3).await;
        let retry = place
            .store()
            .append(&event(&id, 1), ExpectedHead::Any)
            .await
            .expect("a retry");
        assert_eq!(retry.status, AppendStatus::AlreadyPresent);
        let before = rows(&place.store(), &id).await;
        let transition = before[0].transition_id.as_text().expect("text").to_owned();
        // The index holds each id without its column's other values, so it is the occurrence that
        // is followed by no head.
        let mut bytes = std::fs::read(place.database(&id)).expect("readable");
        let places: Vec<usize> = bytes
            .windows(transition.len())
            .enumerate()
            .filter(|(at, window)| {
                let behind = &bytes[at + transition.len()..];
                *window == transition.as_bytes()
                    && !behind.starts_with(b"blake3:")
                    && !behind.starts_with(b"\"")
            })
            .map(|(at, _)| at)
            .collect();
        assert_eq!(places.len(), 1, "one entry of the index");
        bytes[places[0] + 25] ^= 1;
        std::fs::write(place.database(&id), bytes).expect("writable");
        let error = place
            .store()
            .append(&event(&id, 1), ExpectedHead::Any)
            .await
            .expect_err("refused");
        assert!(matches!(error, StoreError::Unfit { .. }), "{error}");
        assert_eq!(rows(&place.store(), &id).await, before);
    });
}

#[test]
fn a_journal_of_another_program_is_neither_ignored_nor_played_back() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 3).await;
        let journal = place.home(&id).join("checkpoints.sqlite-journal");
        let database = std::fs::read(place.database(&id)).expect("readable");
        std::fs::write(&journal, b"half a transaction").expect("writable");
        assert_unfit(&place, &id).await;
        assert!(journal.exists(), "what the other program left is gone");
        assert_eq!(
            std::fs::read(place.database(&id)).expect("readable"),
            database
        );
        std::fs::remove_file(&journal).expect("writable");
        std::os::unix::fs::symlink("nowhere", &journal).expect("writable");
        let error = place
            .store()
            .iter_persisted_chain(&id)
            .await
            .expect_err("refused");
        assert!(matches!(error, StoreError::Unfit { .. }), "{error}");
    });
}

/// A reader between the pin and the rows of a workflow that is being deleted must not miss rows.
#[test]
fn a_deletion_notes_an_empty_chain_before_it_removes_anything() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        append(&place.store(), &id, 1).await;
        // A second name keeps the lock file's bytes to be looked at afterwards.
        let kept = place.root().join("kept");
        std::fs::hard_link(place.lock_file(&id), &kept).expect("writable");
        place.store().delete(&id).await.expect("deleted");
        std::fs::create_dir(place.home(&id)).expect("writable");
        std::fs::rename(&kept, place.lock_file(&id)).expect("writable");
        assert_eq!(
            place.store().pinned_tail(&id).await.expect("readable"),
            Some(Tail::Empty)
        );
    });
}

#[test]
fn a_directory_that_holds_no_ledger_is_not_deleted() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        std::fs::create_dir_all(place.home(&id)).expect("writable");
        let error = place
            .store()
            .delete(&id)
            .await
            .expect_err("nothing is recorded");
        assert!(
            matches!(error, StoreError::UnknownWorkflow { .. }),
            "{error}"
        );
        assert!(place.home(&id).exists());
    });
}

#[test]
fn a_root_that_leads_nowhere_is_refused() {
    let place = Place::new();
    let link = place.directory.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).expect("writable");
    let error = piton_sqlite::SqliteStore::open(link).expect_err("refused");
    assert!(matches!(error, StoreError::Unfit { .. }), "{error}");
}
