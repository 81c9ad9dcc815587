//! Attacks on the bytes of one event.

use piton_store::PersistedRow;
use piton_testkit::history::nth;
use piton_testkit::tamper::{Specimen, along_an_illegal_edge, forged_bytes, relink};

use super::{AT, attack, with_row};
use crate::attack::{Attack, Guard, Left};
use crate::engine::Engine;

pub(super) fn all<E: Engine>() -> Vec<Attack<E>> {
    vec![
        attack(
            "one bit of an event altered, so that it still reads",
            Guard::Chain,
            |specimen| {
                with_bytes(specimen, |bytes| {
                    let digit = position(bytes, br#""step":"#);
                    bytes[digit] ^= 1;
                })
            },
        ),
        attack(
            "one bit of an event altered, so that it no longer reads",
            Guard::Chain,
            |specimen| with_bytes(specimen, |bytes| bytes[0] ^= 1),
        ),
        attack("white space added to an event", Guard::Chain, |specimen| {
            with_bytes(specimen, |bytes| bytes.insert(1, b' '))
        }),
        attack(
            "an event replaced by another valid one, with its transition id",
            Guard::Chain,
            |specimen| {
                with_bytes(specimen, |bytes| {
                    *bytes = forged_bytes(&specimen.workflow, AT);
                })
            },
        ),
        attack(
            "an event replaced by another valid one, with another transition id",
            Guard::Chain,
            |specimen| {
                with_bytes(specimen, |bytes| {
                    *bytes = nth(&specimen.workflow, 60).bytes().to_vec();
                })
            },
        ),
        attack("event bytes set to NULL", Guard::Chain, |specimen| {
            with_row(specimen, |row| row.event_bytes = None)
        }),
        attack("the JSON of an event cut short", Guard::Chain, |specimen| {
            with_bytes(specimen, |bytes| bytes.truncate(bytes.len() / 2))
        }),
        attack(
            "an event replaced by other JSON, heads and pin made to fit",
            Guard::Chain,
            |specimen| fitted(specimen, |row| row.event_bytes = Some(b"{}".to_vec())),
        ),
        attack(
            "an event moved to an illegal edge, heads and pin made to fit",
            Guard::Chain,
            |specimen| fitted(specimen, along_an_illegal_edge),
        ),
    ]
}

fn with_bytes<E: Engine>(specimen: &Specimen<E>, change: impl FnOnce(&mut Vec<u8>)) -> Left {
    with_row(specimen, |row| {
        change(row.event_bytes.as_mut().expect("an intact row has bytes"));
    })
}

fn fitted<E: Engine>(specimen: &Specimen<E>, change: impl FnOnce(&mut PersistedRow)) -> Left {
    let mut rows = with_row(specimen, change).rows;
    relink(&mut rows, AT);
    Left::pinned(rows)
}

/// Gives the position after a part of the bytes.
fn position(bytes: &[u8], part: &[u8]) -> usize {
    let start = bytes.windows(part.len()).position(|window| window == part);
    start.expect("the part is there") + part.len()
}
