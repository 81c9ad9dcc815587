//! Owns the tampers, one module a subject; each demands the exact verdict of a verifier at every
//! position where the tamper makes sense.

mod columns;
mod events;
mod outside;
mod rows;
mod served;

pub use columns::*;
pub use events::*;
pub use outside::*;
pub use rows::*;
pub use served::*;

use piton_store::PersistedRow;

use super::specimen::{Damage, Expected, ROWS, Specimen};
use super::verifier::Verify;
use crate::harness::TamperHarness;

/// Damages the chain at every position and checks each.
async fn at_every_position<H: TamperHarness, V: Verify>(
    damage: impl Fn(&Specimen<H>, Vec<PersistedRow>, usize) -> Vec<Damage>,
) {
    let specimen = Specimen::<H>::make().await;
    for position in 0..ROWS {
        for damage in damage(&specimen, specimen.rows.clone(), position) {
            specimen.check::<V>(damage).await;
        }
    }
}

/// The stored sequence of the row at a position.
fn sequence(position: usize) -> i64 {
    i64::try_from(position + 1).expect("few rows")
}

fn mismatch(
    index: usize,
    transition_id: piton_ledger::TransitionId,
    cause: piton_verify::MismatchCause,
) -> Expected {
    Expected::Mismatch {
        index,
        transition_id,
        cause,
    }
}

fn torn(reason: piton_verify::TornReason, position: usize) -> Expected {
    Expected::Torn {
        reason,
        sequence: sequence(position),
    }
}
