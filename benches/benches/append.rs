//! One durable append, sealed, locked and pinned, against a bare insert of the same row.

use piton_benches::{OUTCOME, Size, alternate, event, open_bare, print_table, runtime};
use piton_ledger::CanonicalJson;
use piton_sqlite::SqliteStore;
use piton_store::{CheckpointStore, ExpectedHead, Tail, seal};
use rusqlite::params;

fn main() {
    let rounds = Size::from_args().pick(3_000, 5);
    let runtime = runtime();
    let outcome = CanonicalJson::parse(OUTCOME.as_bytes()).expect("JSON");
    let directory = tempfile::tempdir().expect("a directory");

    let bare = open_bare(&directory.path().join("bare.sqlite"));
    let mut insert = bare
        .prepare(
            "INSERT INTO checkpoint_chain (transition_id, prior_head, next_head, event_bytes, written_at) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )
        .expect("a statement");
    let mut bare_number = 0;
    let mut bare_tail = Tail::Empty;
    let mut bare_append = || {
        // The floor is the insert alone: its row is made beforehand as far as the chain allows.
        let sealed = seal(&event(bare_number, &outcome)).expect("sealable");
        let prior = bare_tail.head();
        let head = sealed.link(&prior);
        bare_number += 1;
        bare_tail = Tail::At {
            sequence: bare_tail.next_sequence().expect("not full"),
            head,
        };
        (sealed, prior, head)
    };
    let mut prepared: Vec<_> = (0..=rounds).map(|_| bare_append()).collect();
    prepared.reverse();

    let store = SqliteStore::open(directory.path().join("piton"));
    let store = store.expect("a store");
    let mut number = 0;
    let mut events: Vec<_> = (0..=rounds)
        .map(|_| {
            number += 1;
            event(number, &outcome)
        })
        .collect();

    let figures = alternate(
        rounds,
        &mut [
            ("bare rusqlite insert", &mut || {
                let (sealed, prior, head) = prepared.pop().expect("a row a round");
                insert
                    .execute(params![
                        sealed.transition_id().to_string(),
                        prior.to_string(),
                        head.to_string(),
                        sealed.bytes(),
                        "2026-01-01T00:00:00Z"
                    ])
                    .expect("a row");
            }),
            ("piton-sqlite: seal, lock, append, pin", &mut || {
                let sealed = seal(&events.pop().expect("an event a round")).expect("sealable");
                runtime
                    .block_on(store.append(&sealed, ExpectedHead::Any))
                    .expect("an append");
            }),
        ],
    );
    print_table("Durable append of a 533-byte event", &figures, 1, "append");
}
