//! Attacks on whole rows: which there are, in what order, and where they came from.

use piton_store::PersistedRow;
use piton_testkit::tamper::{Specimen, insert_forged, relink, renumber, shift_sequences};

use super::{AT, attack};
use crate::attack::{Attack, Guard, Left};
use crate::engine::Engine;

pub(super) fn all<E: Engine>() -> Vec<Attack<E>> {
    vec![
        attack("two rows swapped", Guard::Chain, |specimen| {
            with_rows(specimen, |rows| {
                rows.swap(AT, AT + 1);
                renumber(rows);
            })
        }),
        attack("a row deleted from the middle", Guard::Chain, |specimen| {
            with_rows(specimen, |rows| {
                rows.remove(AT);
            })
        }),
        attack(
            "a row deleted from the middle, the rest renumbered",
            Guard::Chain,
            |specimen| {
                with_rows(specimen, |rows| {
                    rows.remove(AT);
                    renumber(rows);
                })
            },
        ),
        attack(
            "a row deleted from the middle, the rest linked anew",
            Guard::Pin,
            |specimen| {
                with_rows(specimen, |rows| {
                    rows.remove(AT);
                    relink(rows, AT);
                })
            },
        ),
        attack(
            "a row inserted, the rest renumbered",
            Guard::Chain,
            |specimen| {
                with_rows(specimen, |rows| {
                    insert_forged(rows, &specimen.workflow, AT);
                    renumber(rows);
                })
            },
        ),
        attack(
            "a row inserted, the rest linked anew",
            Guard::Pin,
            |specimen| {
                with_rows(specimen, |rows| {
                    insert_forged(rows, &specimen.workflow, AT);
                    relink(rows, AT);
                })
            },
        ),
        attack("a gap in the sequence", Guard::Chain, |specimen| {
            with_rows(specimen, |rows| shift_sequences(rows, AT, 1))
        }),
        attack("a sequence given twice", Guard::Chain, |specimen| {
            with_rows(specimen, |rows| shift_sequences(rows, AT, -1))
        }),
        attack("a row repeated", Guard::Chain, |specimen| {
            with_rows(specimen, |rows| {
                rows.insert(AT, rows[AT].clone());
                renumber(rows);
            })
        }),
        attack(
            "a row moved in from another workflow",
            Guard::Chain,
            |specimen| with_rows(specimen, |rows| rows[AT] = specimen.other_rows[AT].clone()),
        ),
        attack(
            "a row moved in from another workflow, heads and pin made to fit",
            Guard::Chain,
            |specimen| {
                let mut rows = specimen.rows.clone();
                rows[AT] = specimen.other_rows[AT].clone();
                relink(&mut rows, AT);
                Left::pinned(rows)
            },
        ),
        attack(
            "the rows and the pin of another workflow",
            Guard::Chain,
            |specimen| Left::pinned(specimen.other_rows.clone()),
        ),
    ]
}

fn with_rows<E: Engine>(
    specimen: &Specimen<E>,
    change: impl FnOnce(&mut Vec<PersistedRow>),
) -> Left {
    let mut rows = specimen.rows.clone();
    change(&mut rows);
    Left::rows(rows)
}
