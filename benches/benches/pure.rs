//! The work that touches no engine: seal, link, parse, redact.

use std::hint::black_box;

use piton_benches::{OUTCOME, Size, alternate, event, print_table, runtime};
use piton_chain::link;
use piton_ledger::{CanonicalJson, ChainHead, TransitionEvent, VulnState};
use piton_memory::MemoryStore;
use piton_store::{CheckpointStore, ExpectedHead, seal};

const REPEATS: u32 = 200;

fn main() {
    let rounds = Size::from_args().pick(200, 1);
    let small = event(0, &CanonicalJson::parse(OUTCOME.as_bytes()).expect("JSON"));
    let words = "the plan raises one package and runs its tests again ".repeat(1_225);
    let large = event(
        0,
        &CanonicalJson::parse(format!("{words:?}").as_bytes()).expect("JSON"),
    );
    let text = small.to_canonical_json();
    let plain = "ordinary words, a path/to/file.rs and some numbers 12345\n".repeat(1_150);
    let plain = &plain[..65_536];
    let repeat = |work: &dyn Fn()| (0..REPEATS).for_each(|_| work());

    let runtime = runtime();
    let memory = MemoryStore::new();
    let mut number = 0;
    let outcome = small.triggering_outcome().clone();
    let figures = alternate(
        rounds,
        &mut [
            ("link (BLAKE3 over the event)", &mut || {
                repeat(&|| {
                    black_box(link(&ChainHead::GENESIS, black_box(text.as_bytes())));
                });
            }),
            ("parse an event", &mut || {
                repeat(&|| {
                    black_box(
                        TransitionEvent::<VulnState>::parse(black_box(text.as_bytes()))
                            .expect("an event"),
                    );
                });
            }),
            ("seal an event", &mut || {
                repeat(&|| {
                    black_box(seal(black_box(&small)).expect("sealable"));
                });
            }),
            (
                "make an event, seal it and append it in memory",
                &mut || {
                    runtime.block_on(async {
                        for _ in 0..REPEATS {
                            number += 1;
                            let sealed = seal(&event(number, &outcome)).expect("sealable");
                            memory
                                .append(&sealed, ExpectedHead::Any)
                                .await
                                .expect("an append");
                        }
                    });
                },
            ),
        ],
    );
    print_table(
        &format!("Pure work on a {}-byte event", text.len()),
        &figures,
        REPEATS,
        "call",
    );

    let size = large.to_canonical_json().len();
    let figures = alternate(
        rounds,
        &mut [
            ("BLAKE3 over 64 KiB", &mut || {
                black_box(link(&ChainHead::GENESIS, black_box(plain.as_bytes())));
            }),
            ("look for secrets in 64 KiB of plain text", &mut || {
                black_box(piton_redact::redact_text(black_box(plain), &mut |_| ()));
            }),
            ("seal an event of 64 KiB", &mut || {
                black_box(seal(black_box(&large)).expect("sealable"));
            }),
        ],
    );
    print_table(
        &format!("Pure work on 64 KiB (the event has {size} bytes)"),
        &figures,
        1,
        "call",
    );
}
