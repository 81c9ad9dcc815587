//! Attacks that leave a chain that links: only something outside the rows can tell of them.

use piton_testkit::history::nth;
use piton_testkit::tamper::{relink, rewrite};

use super::{AT, attack};
use crate::attack::{Attack, EARLIER, Guard, Left, Noted, PinLeft, tail};
use crate::engine::Engine;

pub(super) fn all<E: Engine>() -> Vec<Attack<E>> {
    let mut attacks = lost();
    attacks.extend(rewritten());
    attacks
}

/// Lists what becomes of an engine without files of its own when a backup is restored.
pub(crate) fn older_copies<E: Engine>() -> Vec<Attack<E>> {
    vec![
        attack(
            "an older copy of the rows restored",
            Guard::Pin,
            |specimen| Left::rows(specimen.rows[..EARLIER].to_vec()),
        ),
        attack(
            "an older copy of the rows and the pin restored",
            Guard::ExpectedHead,
            |specimen| Left::pinned(specimen.rows[..EARLIER].to_vec()),
        ),
    ]
}

fn lost<E: Engine>() -> Vec<Attack<E>> {
    vec![
        attack("the last rows deleted", Guard::Pin, |specimen| {
            Left::rows(specimen.rows[..EARLIER].to_vec())
        }),
        attack("every row deleted", Guard::Pin, |_| Left::rows(Vec::new())),
        attack(
            "the last rows deleted, the pin set back",
            Guard::ExpectedHead,
            |specimen| Left::pinned(specimen.rows[..EARLIER].to_vec()),
        ),
        attack(
            "every row deleted, the pin set back",
            Guard::ExpectedHead,
            |_| Left::pinned(Vec::new()),
        ),
        attack(
            "the whole workflow deleted, with its pin",
            Guard::ExpectedHead,
            |_| Left {
                pin: PinLeft::Gone,
                ..Left::rows(Vec::new())
            },
        ),
        attack(
            "the pin set back, the rows left",
            Guard::Nothing,
            |specimen| Left::rows(specimen.rows.clone()).with_pin(specimen.tail_after(EARLIER)),
        ),
        attack("the pin of another workflow", Guard::Pin, |specimen| {
            Left::rows(specimen.rows.clone()).with_pin(tail(&specimen.other_rows))
        }),
    ]
}

fn rewritten<E: Engine>() -> Vec<Attack<E>> {
    vec![
        attack(
            "history rewritten from some row on, heads made to fit",
            Guard::Pin,
            |specimen| {
                let mut rows = specimen.rows.clone();
                rewrite(&mut rows, &specimen.workflow, AT);
                Left::rows(rows)
            },
        ),
        attack(
            "history rewritten from some row on, heads and pin made to fit",
            Guard::ExpectedHead,
            |specimen| {
                let mut rows = specimen.rows.clone();
                rewrite(&mut rows, &specimen.workflow, AT);
                Left::pinned(rows)
            },
        ),
        attack(
            "history rewritten after the expected head, heads and pin made to fit",
            Guard::Nothing,
            |specimen| {
                let mut rows = specimen.rows.clone();
                rewrite(&mut rows, &specimen.workflow, EARLIER);
                Left {
                    noted: Noted::Earlier,
                    ..Left::pinned(rows)
                }
            },
        ),
        attack(
            "rows deleted after the expected head, the pin set back",
            Guard::Nothing,
            |specimen| Left {
                noted: Noted::Earlier,
                ..Left::pinned(specimen.rows[..EARLIER].to_vec())
            },
        ),
        attack(
            "a row added at the end, its heads made to fit",
            Guard::Nothing,
            |specimen| {
                let mut rows = specimen.rows.clone();
                let end = rows.len();
                rows.extend(specimen.rows.last().cloned());
                let forged = nth(&specimen.workflow, 50);
                rows[end].event_bytes = Some(forged.bytes().to_vec());
                rows[end].transition_id = forged.transition_id().to_string().into();
                relink(&mut rows, end);
                Left::rows(rows)
            },
        ),
    ]
}
