//! Owns the layout: the table, its index and their version. It runs no statement.

/// The statements that make the layout, each with its `;`, and a newline at the very end.
///
/// It is also the original's layout, so that its ledgers need no migration.
pub const SCHEMA: &str = "\
CREATE TABLE IF NOT EXISTS checkpoint_chain (
    sequence       INTEGER PRIMARY KEY AUTOINCREMENT,
    transition_id  TEXT    NOT NULL UNIQUE,
    prior_head     TEXT    NOT NULL,
    next_head      TEXT    NOT NULL,
    event_bytes    BLOB    NOT NULL,
    written_at     TEXT    NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS ix_chain_next_head ON checkpoint_chain(next_head);
";

/// The layout that this version writes, as `PRAGMA user_version`; 0 is the original's.
pub const LAYOUT_VERSION: i64 = 1;

/// What of the layout a database has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    /// There is no table.
    Absent,
    /// There is a table whose rows have an id of their own.
    WithRowid,
    /// There is a table without such ids, or a view.
    WithoutRowid,
}

/// Whether the constraints that an append leans on are there; copies may lack them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constraints {
    /// `transition_id` is unique, `prior_head` is not null and `sequence` is the key.
    Present,
    /// At least one is missing.
    Missing,
}
