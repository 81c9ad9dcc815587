//! Swaps rows within a ledger and between ledgers, and removes them, through SQL.

use std::path::Path;

use anyhow::{Result, ensure};
use rusqlite::{Connection, params};

use super::{ROWS, Specimens};
use crate::evidence::Evidence;
use crate::ledger::{self, DATABASE, Finding, Known};
use crate::scratch;

const SWAPPED: &str = "two rows swapped within a workflow";
const BETWEEN: &str = "row of another workflow in place of one";
const REMOVED: &str = "rows removed from the end";
const REMOVED_FIRST: &str = "rows removed from the front";

/// Everything of a row but its place.
const CONTENTS: &str = "transition_id, prior_head, next_head, event_bytes, written_at";

pub(super) fn run(evidence: &mut Evidence, specimens: &Specimens) -> Result<()> {
    evidence.announce(&[SWAPPED, BETWEEN, REMOVED, REMOVED_FIRST]);
    let rows = i64::from(ROWS);
    let other = scratch::in_memory()?;
    let other_home = scratch::home(other.path(), &specimens.other_workflow);
    specimens.other.write(&other_home)?;
    let other_database = other_home.join(DATABASE);
    let runtime = ledger::runtime()?;
    let mut damage = |kind, damage: &dyn Fn(&Connection) -> Result<usize>| -> Result<()> {
        let place = scratch::in_memory()?;
        let home = scratch::home(place.path(), &specimens.workflow);
        specimens.merged.write(&home)?;
        ensure!(
            alter(&home.join(DATABASE), damage)? > 0,
            "{kind}: nothing was changed"
        );
        let known = Known::exactly(&specimens.events);
        let judged = ledger::judge(place.path(), &specimens.workflow, known, None);
        let finding = runtime.block_on(judged)?;
        ensure!(finding != Finding::Same, "{kind}: {}", finding.label());
        evidence.count(kind, finding.label(), 1);
        Ok(())
    };
    for first in 1..=rows {
        for second in first + 1..=rows {
            damage(SWAPPED, &|connection| swap(connection, first, second))?;
        }
        for theirs in 1..=rows {
            damage(BETWEEN, &|connection| {
                let path = other_database.to_string_lossy();
                connection.execute("ATTACH ?1 AS other", [path.as_ref()])?;
                Ok(connection.execute(
                    &format!(
                        "UPDATE main.checkpoint_chain SET ({CONTENTS}) = \
                         (SELECT {CONTENTS} FROM other.checkpoint_chain WHERE sequence = ?2) \
                         WHERE sequence = ?1"
                    ),
                    params![first, theirs],
                )?)
            })?;
        }
        damage(REMOVED, &|connection| {
            Ok(connection.execute("DELETE FROM checkpoint_chain WHERE sequence >= ?1", [first])?)
        })?;
        damage(REMOVED_FIRST, &|connection| {
            Ok(connection.execute("DELETE FROM checkpoint_chain WHERE sequence <= ?1", [first])?)
        })?;
    }
    Ok(())
}

fn alter(database: &Path, damage: &dyn Fn(&Connection) -> Result<usize>) -> Result<usize> {
    let connection = Connection::open(database)?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    damage(&connection)
}

/// The sequences change places by way of one that no row has.
fn swap(connection: &Connection, first: i64, second: i64) -> Result<usize> {
    let mut changed = 0;
    for (from, to) in [(first, -1), (second, first), (-1, second)] {
        changed += connection.execute(
            "UPDATE checkpoint_chain SET sequence = ?2 WHERE sequence = ?1",
            params![from, to],
        )?;
    }
    Ok(changed)
}
