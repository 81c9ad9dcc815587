//! Owns the list of what every engine can have done to it.

mod columns;
mod events;
mod history;
mod rows;

use piton_store::PersistedRow;
use piton_testkit::tamper::Specimen;

use crate::attack::{Attack, Deed, Guard, Left};
use crate::engine::Engine;

pub(crate) use history::older_copies;

/// The row that an attack on one row is done to, from 0: it has neighbours on both sides.
const AT: usize = 2;

/// Lists every attack that replaces rows and pin.
pub(crate) fn all<E: Engine>() -> Vec<Attack<E>> {
    let mut attacks = events::all();
    attacks.extend(columns::all());
    attacks.extend(rows::all());
    attacks.extend(history::all());
    attacks
}

fn attack<E: Engine>(
    name: &'static str,
    caught_by: Guard,
    leaves: fn(&Specimen<E>) -> Left,
) -> Attack<E> {
    Attack {
        name,
        caught_by,
        deed: Deed::Replace(leaves),
    }
}

/// Changes one row and leaves all else.
fn with_row<E: Engine>(specimen: &Specimen<E>, change: impl FnOnce(&mut PersistedRow)) -> Left {
    let mut rows = specimen.rows.clone();
    change(&mut rows[AT]);
    Left::rows(rows)
}
