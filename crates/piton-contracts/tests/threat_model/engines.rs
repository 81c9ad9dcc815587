//! Owns the engines, one module each.

mod memory;
mod postgres;
mod sqlite;

pub(crate) use postgres::PostgresEngine;
pub(crate) use sqlite::SqliteEngine;
