//! Proves that the tamper matrix notices: each blind verifier fails a named tamper that the true
//! one passes. A second, plain verifier passes the whole matrix.

use std::panic::{AssertUnwindSafe, catch_unwind};

use piton_testkit::tamper::{self, BlindVerifier, Blindness, Sees, TrueVerifier, Verify};
use piton_testkit::{Case, MemoryHarness, TAMPERS, run, tampers};

/// The plain verifier of the kit agrees with the rules on every tamper.
mod plain {
    piton_testkit::tamper_matrix!(
        piton_testkit::MemoryHarness,
        piton_testkit::tamper::BlindVerifier<()>
    );
}

fn named<V: Verify>(name: &str) -> Case {
    tampers::<MemoryHarness, V>()
        .into_iter()
        .find(|case| case.name == name)
        .expect("the tamper is in the list")
}

fn passes(case: Case) -> bool {
    catch_unwind(AssertUnwindSafe(|| run((case.start)()))).is_ok()
}

fn check<B: Sees>(name: &str) {
    assert!(passes(named::<TrueVerifier>(name)), "the verifier passes");
    assert!(
        !passes(named::<BlindVerifier<B>>(name)),
        "{name} does not notice {:?}",
        B::BLINDNESS
    );
}

macro_rules! noticed {
    ($($test:ident: $blind:ident => $($tamper:ident),+;)*) => {
        $(
            #[test]
            fn $test() {
                $(check::<tamper::$blind>(stringify!($tamper));)+
            }
        )*

        /// A blindness that is missing here does not compile.
        #[test]
        fn every_blindness_is_noticed() {
            let noticed = |blindness: Blindness| match blindness {
                Blindness::None => false,
                $(Blindness::$blind => true,)*
            };
            assert!(!noticed(Blindness::None));
        }
    };
}

noticed! {
    always_verified: AlwaysVerified => altered_next_head, tail_lost, null_event_bytes, two_rows_with_one_next_head;
    nothing_but_the_tail: NothingButTheTail => altered_prior_head, middle_row_deleted, truncated_json;
    first_only: FirstOnly => altered_next_head, contents_of_two_rows_swapped;
    last_divergence: LastDivergence => first_of_two_divergences_is_named;
    swallows_parse_errors: SwallowsParseErrors => truncated_json, unknown_state, illegal_edge, null_event_bytes, unreadable_transition_id;
    ignores_the_pin: IgnoresThePin => tail_lost, every_row_lost, rewritten_chain_differs_at_the_pin, row_inserted_and_relinked;
    ignores_sequence: IgnoresSequence => gap_in_the_sequence, sequence_repeated, sequence_shifted_from_the_start;
    trusts_prior_heads: TrustsPriorHeads => altered_prior_and_next_head, contents_of_two_rows_swapped;
    misses_duplicates: MissesDuplicates => two_rows_with_one_next_head, row_repeated;
}

/// The list is what is bound, in the same order.
#[test]
fn the_list_is_complete() {
    let bound: Vec<_> = tampers::<MemoryHarness, TrueVerifier>()
        .iter()
        .map(|case| case.name)
        .collect();
    assert_eq!(bound, TAMPERS);
}
