//! A power loss after an acknowledgement, on a disk that keeps nothing but what was synced: with
//! syncs that failed before, and with processes that were killed before.
#![cfg(target_os = "linux")]

mod support;

use piton_faultfs::{
    Call, Disk, Failure, Filler, Honesty, Image, Keep, Loss, Op, Outcome, Remark, Watch,
};
use piton_sqlite::SqliteStore;
use piton_store::{CheckpointStore, ExpectedHead};
use support::{assert_linked, event, rows, run, workflow};

/// `EIO`
const INPUT_OUTPUT_ERROR: Outcome = Outcome::Errno(5);

/// In memory where there is such a place: the disk is played, so none needs to be waited for.
fn place() -> tempfile::TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    in_memory
        .or_else(|_| tempfile::tempdir())
        .expect("a temporary directory")
}

fn open(watch: &Watch) -> SqliteStore {
    SqliteStore::open(watch.root().join("ledgers")).expect("the store opens")
}

/// What is left when only what is certain, or everything, is kept.
fn after(disk: &Disk, keep: Keep) -> Image {
    disk.lose_power(&Loss {
        files: keep,
        names: keep,
        filler: Filler::OldLength,
        seed: 1,
    })
}

fn play(disk: &mut Disk, record: &[Op]) {
    record.iter().for_each(|op| disk.apply(op));
}

/// The rows that are left when only what is certain is kept; they link, and a pin is there.
fn rows_left(disk: &Disk, context: &str) -> usize {
    let place = place();
    after(disk, Keep::Nothing)
        .write_to(place.path())
        .expect("a written image");
    let id = workflow("w");
    let store = SqliteStore::open(place.path().join("ledgers")).expect("the store opens");
    let (rows, pin) = run(async {
        let rows = rows(&store, &id).await;
        (rows, store.pinned_tail(&id).await)
    });
    assert_linked(&id, &rows);
    assert!(matches!(pin, Ok(Some(_))), "{context}: {pin:?}");
    rows.len()
}

/// Appends until it is acknowledged; gives how often it was refused.
async fn insist(store: &SqliteStore, number: u128) -> usize {
    let id = workflow("w");
    for refused in 0..5 {
        if store
            .append(&event(&id, number), ExpectedHead::Any)
            .await
            .is_ok()
        {
            return refused;
        }
    }
    panic!("event {number} is never acknowledged");
}

#[test]
fn whatever_sync_has_failed_an_acknowledged_row_is_on_the_disk() {
    for call in [Call::Sync, Call::SyncDirectory] {
        let mut failed = 0;
        for nth in 1.. {
            let place = place();
            let watch = Watch::begin(place.path(), Honesty::Honest).expect("a watch");
            watch.fail(Failure::once(call, nth, INPUT_OUTPUT_ERROR));
            let store = open(&watch);
            let mut disk = Disk::new();
            for number in 1..=3u8 {
                run(insist(&store, number.into()));
                play(&mut disk, &watch.take_record());
                let context = format!("{call:?} {nth}");
                assert_eq!(rows_left(&disk, &context), usize::from(number), "{context}");
            }
            if watch.heal() == 0 {
                break;
            }
            failed += 1;
        }
        assert!(failed > 3, "{call:?}: {failed}");
    }
}

/// The kernel keeps what a killed process has written, and a retry finds it: it is no more durable
/// for that.
#[test]
fn what_a_killed_process_left_is_durable_before_it_is_acknowledged() {
    // No failure, a failed sync of the log at the second append, and one before.
    for failing in [None, Some(1), Some(2)] {
        let first = place();
        let watch = Watch::begin(first.path(), Honesty::Honest).expect("a watch");
        let store = open(&watch);
        run(async {
            insist(&store, 1).await;
            watch.remark(Remark::Acknowledged(1));
            if let Some(nth) = failing {
                watch.fail(Failure::once(Call::Sync, nth, INPUT_OUTPUT_ERROR));
            }
            for number in 2..=3 {
                insist(&store, number).await;
            }
        });
        let record = watch.take_record();
        drop(watch);
        for killed in 0..=record.len() {
            let mut disk = Disk::new();
            play(&mut disk, &record[..killed]);
            let is_begun = record[..killed].contains(&Op::Remark(Remark::Acknowledged(1)));
            let second = place();
            after(&disk, Keep::Everything)
                .write_to(second.path())
                .expect("a written image");
            let watch = Watch::begin(second.path(), Honesty::Honest).expect("a watch");
            let store = open(&watch);
            let next = if is_begun { 2 } else { 1 };
            run(insist(&store, next));
            play(&mut disk, &watch.take_record());
            let context =
                format!("killed after {killed} operations, sync {failing:?} failed before");
            assert!(
                rows_left(&disk, &context) > usize::from(is_begun),
                "{context}"
            );
        }
    }
}

/// A disk that is full in the midst of the first pin refuses the append, and no more than that.
#[test]
fn a_first_pin_that_did_not_fit_is_written_anew() {
    const NO_SPACE: Outcome = Outcome::Errno(28);
    let mut failed = 0;
    for nth in 1.. {
        let place = place();
        let watch = Watch::begin(place.path(), Honesty::Honest).expect("a watch");
        let on_pin =
            |nth, outcome| Failure::once(Call::Write, nth, outcome).only("checkpoints.lock");
        watch.fail(on_pin(nth, Outcome::Short));
        watch.fail(on_pin(nth + 1, NO_SPACE));
        let store = open(&watch);
        let refused = run(insist(&store, 1));
        if watch.heal() == 0 {
            break;
        }
        assert!(refused <= 1, "write {nth}: refused {refused} times");
        failed += refused;
        assert_eq!(run(rows(&store, &workflow("w"))).len(), 1);
    }
    assert!(failed > 2, "{failed}");
}

/// A torn pin can't be told from a damaged one, so none may come of a workflow's making.
#[test]
fn a_making_that_is_cut_anywhere_leaves_no_damaged_pin() {
    let first = place();
    let watch = Watch::begin(first.path(), Honesty::Honest).expect("a watch");
    run(insist(&open(&watch), 1));
    let record = watch.take_record();
    let mut disk = Disk::new();
    for op in &record {
        disk.apply(op);
        for seed in 0..8 {
            let image = disk.lose_power(&Loss {
                files: Keep::Sectors,
                names: Keep::Everything,
                filler: Filler::OldLength,
                seed,
            });
            let second = place();
            image.write_to(second.path()).expect("a written image");
            let store = SqliteStore::open(second.path().join("ledgers")).expect("the store opens");
            let pin = run(store.pinned_tail(&workflow("w")));
            assert!(pin.is_ok(), "after {op:?}: {pin:?}");
        }
    }
}

/// One slot can be lost at any time, and a pin is there all the same.
#[test]
fn both_slots_of_a_pin_are_valid_before_the_first_row() {
    let place = place();
    let watch = Watch::begin(place.path(), Honesty::Honest).expect("a watch");
    let store = open(&watch);
    run(insist(&store, 1));
    let mut disk = Disk::new();
    play(&mut disk, &watch.take_record());
    let image = after(&disk, Keep::Nothing);
    let lock = image.file("ledgers/w/checkpoints.lock").expect("a pin");
    assert_eq!(lock.len(), 8192);
    for slot in [0, 4096] {
        assert_eq!(&lock[slot..slot + 8], b"PITONPIN", "slot at {slot}");
    }
}
