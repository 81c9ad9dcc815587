//! Carries out every attack of `docs/threat-model.md` in every engine, and writes down what
//! detects it: the table of that document is made here.
//!
//! The attacks are data in `attacks`, the ways to carry them out in `engines`. What nothing
//! detects is carried out and asserted like the rest.

mod attack;
mod attacks;
mod document;
mod engine;
mod engines;
mod judge;
mod table;

use piton_testkit::{MemoryHarness, run};

use crate::engines::{PostgresEngine, SqliteEngine};
use crate::table::Table;

#[test]
fn the_table_tells_what_becomes_of_every_attack() {
    run(async {
        let mut table = Table::default();
        judge::engine::<MemoryHarness>(&mut table).await;
        judge::engine::<SqliteEngine>(&mut table).await;
        judge::engine::<PostgresEngine>(&mut table).await;
        document::compare(&table.to_string());
    });
}
