//! Attacks on the columns beside an event.

use piton_testkit::history::transition_id;
use piton_testkit::tamper::{altered_head, unreadable_heads};

use super::{attack, with_row};
use crate::attack::{Attack, Guard};
use crate::engine::Engine;

pub(super) fn all<E: Engine>() -> Vec<Attack<E>> {
    vec![
        attack("a prior head altered", Guard::Chain, |specimen| {
            with_row(specimen, |row| {
                row.prior_head = altered_head(&row.prior_head);
            })
        }),
        attack("a next head altered", Guard::Chain, |specimen| {
            with_row(specimen, |row| row.next_head = altered_head(&row.next_head))
        }),
        attack("a head made unreadable", Guard::Chain, |specimen| {
            with_row(specimen, |row| {
                let unreadable = unreadable_heads(&row.next_head).into_iter().next();
                row.next_head = unreadable.expect("some text or bytes are no head");
            })
        }),
        attack(
            "a transition id beside its event altered",
            Guard::Chain,
            |specimen| {
                with_row(specimen, |row| {
                    row.transition_id = transition_id(77).to_string().into();
                })
            },
        ),
        attack(
            "a transition id beside its event made unreadable",
            Guard::Chain,
            |specimen| with_row(specimen, |row| row.transition_id = "".into()),
        ),
        attack("`written_at` altered", Guard::Nothing, |specimen| {
            with_row(specimen, |row| {
                row.written_at = "1999-12-31T23:59:59Z".into();
            })
        }),
    ]
}
