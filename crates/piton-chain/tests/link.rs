//! The chain formula from outside: known heads, and the laws that a chain must keep.

use piton_chain::{fold, link};
use piton_ledger::ChainHead;
use proptest::prelude::*;

/// Rows of the original implementation: declaration order, compact, bare-hex head.
fn original(id: &str, prior: &str, next: &str) -> String {
    format!(
        "{{\"transition_id\":\"{id}\",\"prior_state_id\":\"{prior}\",\"next_state_id\":\"{next}\",\
         \"triggering_outcome\":{{\"scenario\":\"golden\"}},\"evidence_digest\":\"blake3:{}\",\
         \"chain_head\":\"{}\",\"workflow_id\":\"01HZZZZZZZZZZZZZZZZZZSCN001\"}}",
        "a".repeat(64),
        "0".repeat(64),
    )
}

#[test]
fn ledgers_of_the_original_have_their_heads() {
    let events = [
        original("01HZZZZZZZZZZZZZSCN001A001", "needs_plan", "plan_ready"),
        original("01HZZZZZZZZZZZZZSCN001A002", "plan_ready", "patch_applied"),
        original("01HZZZZZZZZZZZZZSCN001A003", "patch_applied", "completed"),
    ];
    let expected = [
        "7893aece15da05844a38f25119b462486f50de5a8b528fc4d248959c494f681e",
        "133fd2c842882224b23fe138847ae74da12564b8257b925b93714664ce78ac3c",
        "0ef5e8322954069ec62965596f8a0620a5edb064fe4b197cf69a709f3153e6ca",
    ];
    let mut head = ChainHead::GENESIS;
    for (event, expected) in events.iter().zip(expected) {
        head = link(&head, event.as_bytes());
        assert_eq!(head, expected.parse().expect("a head"));
    }
    assert_eq!(fold(ChainHead::GENESIS, &events), head);
}

#[test]
fn the_formula_is_hex_separator_bytes() {
    let mut input = "0".repeat(64).into_bytes();
    input.push(0x1e);
    input.extend_from_slice(b"{}");
    assert_eq!(
        link(&ChainHead::GENESIS, b"{}").as_bytes(),
        blake3::hash(&input).as_bytes()
    );
}

#[test]
fn an_empty_fold_is_where_it_began() {
    let head = link(&ChainHead::GENESIS, b"x");
    assert_eq!(fold(head, std::iter::empty::<&[u8]>()), head);
}

proptest! {
    #[test]
    fn any_flipped_bit_changes_every_later_head(
        events in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..64), 1..8),
        row in any::<prop::sample::Index>(),
        byte in any::<prop::sample::Index>(),
        bit in 0..8u32,
    ) {
        let mut changed = events.clone();
        let row = row.index(events.len());
        let byte = byte.index(events[row].len());
        changed[row][byte] ^= 1 << bit;
        for end in 0..=events.len() {
            let same = fold(ChainHead::GENESIS, &events[..end]) == fold(ChainHead::GENESIS, &changed[..end]);
            prop_assert_eq!(same, end <= row);
        }
    }

    #[test]
    fn a_fold_can_be_split_anywhere(
        events in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..8),
        at in any::<prop::sample::Index>(),
    ) {
        let at = at.index(events.len() + 1);
        let halfway = fold(ChainHead::GENESIS, &events[..at]);
        prop_assert_eq!(fold(halfway, &events[at..]), fold(ChainHead::GENESIS, &events));
    }
}
