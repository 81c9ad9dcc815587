//! Owns the promises about the pin: damage, loss, contradiction, and what an append refuses.

mod support;

use std::path::Path;

use piton_ledger::{ChainHead, FailedUnrecoverableReason, Sequence, VulnState};
use piton_sqlite::SqliteStore;
use piton_store::{
    AppendLock, AppendStatus, CheckpointStore, ExpectedHead, PinFinding, Repin, Retry, StoreError,
    Tail, WorkflowCatalog,
};
use piton_verify::{HydrationResult, ReplayVerdict, ReplayVerifier, TornReason, TornWrite};
use support::{Place, append, assert_linked, event, files, raw, rows, run, workflow};

const SLOTS: [usize; 2] = [0, 4096];

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).expect("readable");
    change(&mut bytes);
    std::fs::write(path, bytes).expect("writable");
}

async fn pin_sequence(store: &SqliteStore, id: &piton_ledger::WorkflowId) -> Option<u64> {
    let tail = store.pinned_tail(id).await.expect("the pin can be read")?;
    Some(tail.sequence().map_or(0, Sequence::to_u64))
}

async fn assert_damaged(store: &SqliteStore, id: &piton_ledger::WorkflowId) {
    let error = store.pinned_tail(id).await.expect_err("damaged");
    assert!(matches!(error, StoreError::PinDamaged { .. }), "{error}");
    assert_eq!(error.retry(), Retry::IsUseless);
    let count = rows(store, id).await.len();
    let error = store
        .append(&event(id, 999), ExpectedHead::Any)
        .await
        .expect_err("damaged");
    assert!(matches!(error, StoreError::PinDamaged { .. }), "{error}");
    assert_eq!(rows(store, id).await.len(), count, "nothing was written");
}

#[test]
fn the_pin_is_the_last_acknowledged_row() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        assert_eq!(store.pinned_tail(&id).await.expect("readable"), None);
        for number in 1..=5 {
            let appended = append(&store, &id, number).await;
            let pin = Tail::At {
                sequence: appended.sequence,
                head: appended.head,
            };
            assert_eq!(store.pinned_tail(&id).await.expect("readable"), Some(pin));
        }
    });
}

/// One valid slot of the two suffices; the older one lags by one row, which is allowed.
#[test]
fn either_slot_suffices() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 4).await;
        let whole = std::fs::read(place.lock_file(&id)).expect("readable");
        let mut seen = Vec::new();
        for slot in SLOTS {
            for byte in 0..64 {
                change(&place.lock_file(&id), |bytes| bytes[slot + byte] ^= 0x10);
                seen.push(pin_sequence(&place.store(), &id).await.expect("a pin"));
                std::fs::write(place.lock_file(&id), &whole).expect("writable");
            }
        }
        seen.dedup();
        seen.sort_unstable();
        assert_eq!(seen, [3, 4]);

        for slot in SLOTS {
            change(&place.lock_file(&id), |bytes| {
                bytes[slot..slot + 64].fill(0)
            });
            let store = place.store();
            let before = rows(&store, &id).await.len();
            append(&store, &id, 100 + u128::try_from(slot).expect("small")).await;
            append(&store, &id, 101 + u128::try_from(slot).expect("small")).await;
            store.close().await.expect("the store closes");
            assert_eq!(
                pin_sequence(&place.store(), &id).await,
                u64::try_from(before + 2).ok()
            );
        }
        assert_linked(&id, &rows(&place.store(), &id).await);
    });
}

/// A file that ends after the first slot: the second was never written.
#[test]
fn a_cut_lock_file_is_damage() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 2).await;
        // Three writes: the empty chain, row 1, row 2; the newest stands in the first slot.
        for length in [1, 64, 4096, 4159, 4160, 8191] {
            change(&place.lock_file(&id), |bytes| bytes.truncate(length));
            assert_damaged(&place.store(), &id).await;
            change(&place.lock_file(&id), |bytes| bytes.resize(8192, 0));
        }
    });
}

/// The file gets its whole length, as zeros, before its first note.
#[test]
fn a_lock_file_whose_making_was_interrupted_is_no_pin() {
    let place = Place::new();
    run(async {
        for (number, length) in [0, 1, 4096, 8192].into_iter().enumerate() {
            let id = workflow(&format!("w{number}"));
            std::fs::create_dir_all(place.home(&id)).expect("writable");
            std::fs::write(place.lock_file(&id), vec![0; length]).expect("writable");
            assert_eq!(pin_sequence(&place.store(), &id).await, None, "{length}");
            append(&place.store(), &id, 1).await;
            assert_eq!(pin_sequence(&place.store(), &id).await, Some(1), "{length}");
            assert_eq!(
                std::fs::read(place.lock_file(&id)).expect("readable").len(),
                8192
            );
        }
    });
}

#[test]
fn without_a_valid_slot_nothing_can_be_checked() {
    let damage: [fn(&mut Vec<u8>); 5] = [
        |bytes| SLOTS.into_iter().for_each(|slot| bytes[slot + 30] ^= 1),
        |bytes| bytes.fill(0),
        |bytes| bytes.truncate(63),
        |bytes| bytes.truncate(0),
        |bytes| *bytes = b"x".to_vec(),
    ];
    let place = Place::new();
    for (index, damage) in damage.into_iter().enumerate() {
        let id = workflow(&format!("w{index}"));
        run(async {
            support::cold_ledger(&place, &id, 2).await;
            change(&place.lock_file(&id), damage);
            assert_damaged(&place.store(), &id).await;
        });
    }
}

#[test]
fn a_missing_lock_file_is_damage_in_our_own_layout() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 2).await;
        std::fs::remove_file(place.lock_file(&id)).expect("writable");
        assert_damaged(&place.store(), &id).await;
        // The attempt to append has made an empty one, which says no more.
        assert_damaged(&place.store(), &id).await;
    });
}

/// Refuses an append for a lost tail and leaves every file as it is.
async fn assert_contradicted(place: &Place, id: &piton_ledger::WorkflowId, finding: PinFinding) {
    let before = files(&place.root());
    let store = place.store();
    for number in [1, 999] {
        // Even a repeated transition is refused: the pin comes first.
        let error = store
            .append(&event(id, number), ExpectedHead::Any)
            .await
            .expect_err("refused");
        assert!(
            matches!(&error, StoreError::PinContradicted { finding: found, .. } if *found == finding),
            "{error}"
        );
        assert_eq!(error.retry(), Retry::IsUseless);
    }
    store.close().await.expect("the store closes");
    assert_eq!(files(&place.root()), before, "nothing was written");
}

#[test]
fn lost_rows_contradict_the_pin() {
    let place = Place::new();
    for lost in 1..=3u64 {
        let id = workflow(&format!("w{lost}"));
        run(async {
            support::cold_ledger(&place, &id, 3).await;
            raw(&place.database(&id))
                .execute(
                    "DELETE FROM checkpoint_chain WHERE sequence > ?",
                    [3 - i64::try_from(lost).expect("small")],
                )
                .expect("a deletion");
            assert_contradicted(&place, &id, PinFinding::TooShort).await;
        });
    }
}

#[test]
fn a_lost_or_emptied_database_contradicts_the_pin() {
    let remove = |path: &Path| std::fs::remove_file(path).expect("writable");
    let empty = |path: &Path| std::fs::write(path, b"").expect("writable");
    let drop_table = |path: &Path| {
        raw(path)
            .execute_batch("DROP TABLE checkpoint_chain; VACUUM")
            .expect("a change of schema");
    };
    let ways: [&dyn Fn(&Path); 3] = [&remove, &empty, &drop_table];
    let place = Place::new();
    for (index, lose) in ways.into_iter().enumerate() {
        let id = workflow(&format!("w{index}"));
        run(async {
            support::cold_ledger(&place, &id, 2).await;
            lose(&place.database(&id));
            assert!(rows(&place.store(), &id).await.is_empty());
            assert_eq!(pin_sequence(&place.store(), &id).await, Some(2));
            assert_truncated(&place.store(), &id, 0).await;
            assert_contradicted(&place, &id, PinFinding::TooShort).await;
        });
    }
}

/// The verdict names the first missing row, and nothing is hydrated.
async fn assert_truncated(store: &SqliteStore, id: &piton_ledger::WorkflowId, remaining: usize) {
    let verdict = ReplayVerifier::new(store)
        .verify::<VulnState>(id)
        .await
        .expect("the chain can be checked");
    let offending_sequence = i64::try_from(remaining).expect("small") + 1;
    let reason = TornReason::TruncatedTail;
    assert_eq!(
        verdict,
        ReplayVerdict::TornWrite(TornWrite {
            reason,
            offending_sequence
        })
    );
    match HydrationResult::from(verdict) {
        HydrationResult::FailedUnrecoverable(failure) => {
            assert_eq!(
                failure.reason,
                FailedUnrecoverableReason::CheckpointIntegrity
            );
        }
        HydrationResult::Hydrated(_) => panic!("a shorter history was handed over"),
    }
}

#[test]
fn another_head_at_the_pin_contradicts_it() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 3).await;
        raw(&place.database(&id))
            .execute(
                "UPDATE checkpoint_chain SET next_head = ? WHERE sequence = 3",
                [ChainHead::from_bytes([3; 32]).to_string()],
            )
            .expect("an update");
        assert_contradicted(&place, &id, PinFinding::DifferentHead).await;
    });
}

/// Rows that were acknowledged and stand in a log that is cut or deleted.
#[test]
fn a_cut_log_contradicts_the_pin() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        for number in 1..=3 {
            append(&store, &id, number).await;
        }
        let names = [
            "checkpoints.sqlite",
            "checkpoints.lock",
            "checkpoints.sqlite-wal",
        ];
        let check = async |name: &str, change: &dyn Fn(&Path), remaining: usize| {
            let copy = Place::new();
            support::copy_files(&place.home(&id), &copy.home(&id), &names);
            change(&copy.wal(&id));
            assert_eq!(rows(&copy.store(), &id).await.len(), remaining, "{name}");
            assert_truncated(&copy.store(), &id, remaining).await;
            let error = copy
                .store()
                .append(&event(&id, 4), ExpectedHead::Any)
                .await
                .expect_err("refused");
            assert!(
                matches!(
                    error,
                    StoreError::PinContradicted {
                        finding: PinFinding::TooShort,
                        ..
                    }
                ),
                "{error}"
            );
            assert_eq!(
                rows(&copy.store(), &id).await.len(),
                remaining,
                "nothing was written"
            );
            assert_eq!(
                pin_sequence(&copy.store(), &id).await,
                Some(3),
                "the pin is left alone"
            );
        };
        let length = std::fs::metadata(place.wal(&id)).expect("a log").len();
        check(
            "cut by a byte",
            &|wal| change(wal, |bytes| bytes.truncate(bytes.len() - 1)),
            2,
        )
        .await;
        check(
            "flipped at its begin",
            &|wal| change(wal, |bytes| bytes[0] ^= 1),
            0,
        )
        .await;
        check(
            "flipped in its first frame",
            &|wal| change(wal, |bytes| bytes[60] ^= 1),
            0,
        )
        .await;
        check(
            "flipped near its end",
            &|wal| {
                change(wal, |bytes| {
                    let last = bytes.len() - 1;
                    bytes[last] ^= 1;
                })
            },
            2,
        )
        .await;
        check("emptied", &|wal| change(wal, |bytes| bytes.clear()), 0).await;
        check(
            "deleted",
            &|wal| std::fs::remove_file(wal).expect("writable"),
            0,
        )
        .await;
        assert!(length > 0);
    });
}

/// The writer's own connection notices that its log is no longer the one at the path.
#[test]
fn a_log_that_is_cut_under_an_open_connection_takes_no_row() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        for number in 1..=3 {
            append(&store, &id, number).await;
        }
        let log = std::fs::OpenOptions::new()
            .write(true)
            .open(place.wal(&id))
            .expect("writable");
        log.set_len(0).expect("writable");
        let error = store
            .append(&event(&id, 4), ExpectedHead::Any)
            .await
            .expect_err("refused");
        assert!(
            matches!(
                error,
                StoreError::PinContradicted { .. } | StoreError::Engine { .. }
            ),
            "{error}"
        );
        store.close().await.expect("the store closes");
        assert!(rows(&place.store(), &id).await.len() < 3);
        assert_eq!(pin_sequence(&place.store(), &id).await, Some(3));
    });
}

#[test]
fn a_replaced_database_is_seen_by_an_open_connection() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let other = Place::new();
        support::cold_ledger(&other, &id, 1).await;
        let store = place.store();
        append(&store, &id, 1).await;
        append(&store, &id, 2).await;
        std::fs::rename(other.database(&id), place.database(&id)).expect("one file system");
        std::fs::remove_file(place.wal(&id)).expect("writable");
        let error = store
            .append(&event(&id, 3), ExpectedHead::Any)
            .await
            .expect_err("refused");
        assert!(
            matches!(
                error,
                StoreError::PinContradicted {
                    finding: PinFinding::TooShort,
                    ..
                }
            ),
            "{error}"
        );
    });
}

/// A crash between commit and pin: the pin lags, the row counts, and a retry pins it.
#[test]
fn a_lagging_pin_is_caught_up_by_the_retry() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 3).await;
        // Row 3 is noted in the first slot; without it the pin says 2.
        change(&place.lock_file(&id), |bytes| bytes[..64].fill(0));
        let store = place.store();
        assert_eq!(pin_sequence(&store, &id).await, Some(2));
        let again = append(&store, &id, 3).await;
        assert_eq!(
            (again.sequence.to_u64(), again.status),
            (3, AppendStatus::AlreadyPresent)
        );
        assert_eq!(
            pin_sequence(&store, &id).await,
            Some(3),
            "what is acknowledged is pinned"
        );
        let older = append(&store, &id, 1).await;
        assert_eq!(older.sequence.to_u64(), 1);
        assert_eq!(
            pin_sequence(&store, &id).await,
            Some(3),
            "the pin never goes back"
        );
        assert_eq!(append(&store, &id, 4).await.sequence.to_u64(), 4);
    });
}

#[test]
fn repin_replaces_both_slots() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 3).await;
        raw(&place.database(&id))
            .execute("DELETE FROM checkpoint_chain WHERE sequence > 1", ())
            .expect("a deletion");
        let store = place.store();
        let mut lock = store.lock(&id).await.expect("free");
        let tail = lock.tail().await.expect("readable");
        lock.repin(tail).await.expect("writable");
        lock.release().await.expect("released");
        for slot in SLOTS {
            let whole = std::fs::read(place.lock_file(&id)).expect("readable");
            change(&place.lock_file(&id), |bytes| {
                bytes[slot..slot + 64].fill(0)
            });
            assert_eq!(
                pin_sequence(&store, &id).await,
                Some(1),
                "the old pin does not come back"
            );
            std::fs::write(place.lock_file(&id), whole).expect("writable");
        }
        // The counter of the table has seen row 3, and the sequence is dense all the same.
        assert_eq!(append(&store, &id, 7).await.sequence.to_u64(), 2);
        assert_linked(&id, &rows(&store, &id).await);
    });
}

#[test]
fn repin_heals_a_damaged_pin() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 2).await;
        std::fs::remove_file(place.lock_file(&id)).expect("writable");
        let store = place.store();
        let mut lock = store.lock(&id).await.expect("free");
        let tail = lock.tail().await.expect("readable");
        lock.repin(tail).await.expect("writable");
        lock.release().await.expect("released");
        assert_eq!(append(&store, &id, 3).await.sequence.to_u64(), 3);
    });
}

#[test]
fn a_log_without_its_database_is_not_replayed_onto_a_new_one() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        std::fs::create_dir_all(place.home(&id)).expect("writable");
        std::fs::write(place.wal(&id), b"rows, perhaps").expect("writable");
        let store = place.store();
        let refused =
            |error: StoreError| assert!(matches!(error, StoreError::Unfit { .. }), "{error}");
        refused(
            store
                .append(&event(&id, 1), ExpectedHead::Any)
                .await
                .expect_err("refused"),
        );
        // It may hold rows, so a reader must not say that there are none.
        refused(store.iter_persisted_chain(&id).await.expect_err("refused"));
        refused(store.tail_chain_head(&id).await.expect_err("refused"));
        refused(store.stats(&id).await.expect_err("refused"));
        assert_eq!(
            store.list().await.expect("readable"),
            std::slice::from_ref(&id)
        );
        assert_eq!(
            std::fs::read(place.wal(&id)).expect("still there"),
            b"rows, perhaps"
        );
    });
}
