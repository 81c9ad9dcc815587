//! Owns the promises of appends that meet: they share commits, and each gets its own answer.

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use jiff::Timestamp;
use piton_ledger::{ChainHead, WorkflowId};
use piton_sqlite::{SqliteOptions, SqliteStore};
use piton_store::{
    AppendLock, AppendStatus, Appended, CheckpointStore, ExpectedHead, SealedEvent, StoreError,
};
use support::{Place, append, assert_linked, event, event_with, rows, run, workflow};

/// A store whose clock goes on by a second whenever it is asked: one commit asks once.
fn ticking_store(place: &Place) -> SqliteStore {
    let ticks = AtomicI64::new(0);
    let tick = move || {
        let second = ticks.fetch_add(1, Ordering::Relaxed);
        Timestamp::from_second(second).expect("a time")
    };
    let options = SqliteOptions {
        clock: Arc::new(tick),
        ..SqliteOptions::default()
    };
    SqliteStore::with_options(place.root(), options).expect("a store")
}

/// Appends all events at once, in their order.
async fn append_all(
    store: &SqliteStore,
    events: &[SealedEvent],
) -> Vec<Result<Appended, StoreError>> {
    join_all(
        events
            .iter()
            .map(|event| store.append(event, ExpectedHead::Any)),
    )
    .await
}

/// How many commits wrote the rows of a workflow of a [`ticking_store`].
async fn commits(store: &SqliteStore, id: &WorkflowId) -> usize {
    let rows = rows(store, id).await;
    let times = rows.iter().map(|row| row.written_at.as_text());
    times.collect::<BTreeSet<_>>().len()
}

/// The chain is whole, of so many rows, and pinned at its end.
async fn assert_whole(store: &SqliteStore, id: &WorkflowId, count: usize) {
    let rows = rows(store, id).await;
    assert_eq!(rows.len(), count);
    assert_linked(id, &rows);
    let pin = store.pinned_tail(id).await.expect("readable");
    let pinned = pin.and_then(|tail| tail.sequence());
    assert_eq!(
        pinned.map(|pinned| pinned.to_u64()),
        u64::try_from(count).ok()
    );
}

#[test]
fn appends_that_meet_share_a_commit() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = ticking_store(&place);
        append(&store, &id, 1).await;
        let events: Vec<_> = (2..66).map(|number| event(&id, number)).collect();
        let answers = append_all(&store, &events).await;
        for (position, answer) in (2u64..).zip(answers) {
            let answer = answer.expect("appended");
            assert_eq!(answer.sequence.to_u64(), position, "in the order of calls");
            assert_eq!(answer.status, AppendStatus::Appended);
        }
        assert_whole(&store, &id, 65).await;
        // The first one had begun alone; all others came while it worked.
        assert_eq!(commits(&store, &id).await, 3);
    });
}

#[test]
fn a_commit_of_many_has_its_limits() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = ticking_store(&place);
        append(&store, &id, 1).await;
        let long = format!("\"{}\"", "a".repeat(60_000));
        let events: Vec<_> = (2..202)
            .map(|number| event_with(&id, number, &long))
            .collect();
        for answer in append_all(&store, &events).await {
            answer.expect("appended");
        }
        assert_whole(&store, &id, 201).await;
        // 12 MB, no more than 4 MiB at once.
        assert!((4..=6).contains(&commits(&store, &id).await));
        let events: Vec<_> = (300..2_400).map(|number| event(&id, number)).collect();
        for answer in append_all(&store, &events).await {
            answer.expect("appended");
        }
        assert_whole(&store, &id, 2_301).await;
    });
}

/// What is wrong with one append is no concern of those that it meets.
#[test]
fn each_append_gets_its_own_answer() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        let first = append(&store, &id, 1).await;
        let events = [
            event(&id, 2),
            event(&id, 3),
            event_with(&id, 1, r#"{"number": "another"}"#),
            event(&id, 1),
            event(&id, 4),
            event(&id, 3),
            event_with(&id, 4, r#"{"number": "another"}"#),
            event(&id, 5),
        ];
        let answers = append_all(&store, &events).await;
        let told: Vec<_> = answers
            .iter()
            .map(|answer| match answer {
                Ok(answer) => format!("{} {}", answer.status.slug(), answer.sequence.to_u64()),
                Err(StoreError::TransitionConflict { transition_id, .. }) => {
                    format!("conflict {}", transition_id.to_bits())
                }
                Err(error) => panic!("{error}"),
            })
            .collect();
        assert_eq!(
            told,
            [
                "appended 2",
                "appended 3",
                "conflict 1",
                "already_present 1",
                "appended 4",
                "already_present 3",
                "conflict 4",
                "appended 5",
            ]
        );
        let heads: Vec<_> = answers.iter().flatten().map(|answer| answer.head).collect();
        assert_eq!(heads[2], first.head);
        assert_eq!(heads[1], heads[4], "one transition has one head");
        assert_whole(&store, &id, 5).await;
    });
}

#[test]
fn an_expected_head_is_held_against_the_tail_before_its_own_event() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        let first = append(&store, &id, 1).await;
        let (two, three, four, five) = (event(&id, 2), event(&id, 3), event(&id, 4), event(&id, 5));
        let after_two = two.link(&first.head);
        let after_three = three.link(&after_two);
        let answers = join_all([
            store.append(&two, ExpectedHead::Any),
            store.append(&three, ExpectedHead::Exactly(after_two)),
            store.append(&four, ExpectedHead::Exactly(after_two)),
            store.append(&five, ExpectedHead::Any),
        ])
        .await;
        assert_eq!(
            answers[1].as_ref().map(|answer| answer.head).ok(),
            Some(after_three)
        );
        assert!(
            matches!(&answers[2], Err(StoreError::StaleHead { expected, actual, .. })
                if *expected == after_two && *actual == after_three),
            "{:?}",
            answers[2]
        );
        assert_eq!(
            answers[3].as_ref().map(|answer| answer.head).ok(),
            Some(five.link(&after_three))
        );
        assert_whole(&store, &id, 4).await;
    });
}

#[test]
fn the_first_appends_of_all_make_one_workflow() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        let events: Vec<_> = (1..30).map(|number| event(&id, number)).collect();
        let wrong = ExpectedHead::Exactly(ChainHead::from_bytes([1; 32]));
        let (refused, answers) =
            tokio::join!(store.append(&events[0], wrong), append_all(&store, &events));
        assert!(matches!(refused, Err(StoreError::StaleHead { .. })));
        for answer in answers {
            answer.expect("appended");
        }
        assert_whole(&store, &id, 29).await;
    });
}

/// Waits for the lock are no longer for many than for one, and nothing is written after them.
#[test]
fn many_give_up_together() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        append(&store, &id, 1).await;
        let other = place.store();
        let held = other.lock(&id).await.expect("free");
        let impatient = place.impatient_store();
        let events: Vec<_> = (2..40).map(|number| event(&id, number)).collect();
        let start = Instant::now();
        for answer in append_all(&impatient, &events).await {
            let error = answer.expect_err("the lock is held");
            assert!(matches!(error, StoreError::Busy { .. }), "{error}");
        }
        let waited = start.elapsed();
        assert!(waited >= Duration::from_millis(50), "{waited:?}");
        // Each one after the other would be 1.9 s.
        assert!(waited < Duration::from_millis(1_500), "{waited:?}");
        held.release().await.expect("released");
        assert_whole(&store, &id, 1).await;
        for answer in append_all(&impatient, &events).await {
            answer.expect("appended");
        }
        assert_whole(&store, &id, 39).await;
    });
}

/// One that waits for the lock does not overtake a guard that waited before it.
#[test]
fn a_waiting_guard_gets_its_turn() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        append(&store, &id, 1).await;
        let endless = async {
            for number in 2.. {
                let pair = [event(&id, number * 2), event(&id, number * 2 + 1)];
                for answer in append_all(&store, &pair).await {
                    answer.expect("appended");
                }
            }
        };
        let guards = async {
            for _ in 0..20 {
                let guard = store.lock(&id).await.expect("its turn comes");
                guard.release().await.expect("released");
            }
        };
        tokio::select! {
            biased;
            () = endless => panic!("it never ends"),
            () = guards => {}
        }
    });
}

#[test]
fn a_closed_store_refuses_all() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        append(&store, &id, 1).await;
        store.close().await.expect("closed");
        let events: Vec<_> = (2..10).map(|number| event(&id, number)).collect();
        for answer in append_all(&store, &events).await {
            assert!(matches!(answer, Err(StoreError::Closed)));
        }
    });
}

/// Whatever is wrong with the workflow is told to each.
#[test]
fn a_damaged_pin_is_told_to_all() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        append(&store, &id, 1).await;
        store.close().await.expect("closed");
        std::fs::write(place.lock_file(&id), [7; 300]).expect("writable");
        let store = place.store();
        let events: Vec<_> = (2..10).map(|number| event(&id, number)).collect();
        for answer in append_all(&store, &events).await {
            let error = answer.expect_err("damaged");
            assert!(matches!(error, StoreError::PinDamaged { .. }), "{error}");
        }
        assert_eq!(rows(&store, &id).await.len(), 1);
    });
}

/// The futures of appends, in their order, of which some are dropped after some polls.
async fn drop_some(mut appends: Vec<BoxFuture<'_, Result<Appended, StoreError>>>, seed: u64) {
    let mut state = seed;
    let mut next = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("small") % bound
    };
    while !appends.is_empty() {
        for _ in 0..next(6) {
            let mut done = Vec::new();
            for (index, append) in appends.iter_mut().enumerate() {
                if let Some(answer) = append.now_or_never() {
                    answer.expect("appended");
                    done.push(index);
                }
            }
            for index in done.into_iter().rev() {
                drop(appends.remove(index));
            }
            tokio::task::yield_now().await;
        }
        if !appends.is_empty() {
            drop(appends.remove(next(appends.len())));
        }
    }
}

/// Whether it leads or is carried: one that is dropped takes nobody with it.
#[test]
fn one_that_is_dropped_harms_no_other() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        for round in 0..150u32 {
            let base = u128::from(round) * 100;
            let dropped: Vec<_> = (1..9).map(|number| event(&id, base + number)).collect();
            let kept: Vec<_> = (20..26).map(|number| event(&id, base + number)).collect();
            let appends = dropped
                .iter()
                .map(|event| store.append(event, ExpectedHead::Any).boxed());
            let ((), answers) = tokio::join!(
                drop_some(appends.collect(), u64::from(round)),
                append_all(&store, &kept)
            );
            for answer in answers {
                let answer = answer.expect("appended");
                assert_eq!(answer.status, AppendStatus::Appended);
            }
        }
        let rows = rows(&store, &id).await;
        assert_linked(&id, &rows);
        assert!((900..=2_100).contains(&rows.len()), "{}", rows.len());
    });
}
