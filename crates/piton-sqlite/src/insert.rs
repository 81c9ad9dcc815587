//! Owns the one statement that inserts, compares the tail and commits. It hashes nothing: a sealed
//! event links itself.

use piton_ledger::Sequence;
use piton_store::{SealedEvent, StoreError, Stored, Tail};
use sqlx::AssertSqlSafe;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteQueryResult};

use crate::connection::Lease;
use crate::error::{Call, InsertFailure, classify};
use crate::row::StoredTail;
use crate::schema::Constraints;

/// Begins every statement here. `OR ABORT` overrules whatever a copied table says about conflicts.
macro_rules! insert_into {
    ($rest:literal) => {
        concat!(
            "INSERT OR ABORT INTO checkpoint_chain \
             (sequence, transition_id, prior_head, next_head, event_bytes, written_at) ",
            $rest
        )
    };
}

/// One statement that commits by itself. Parameters 7 and 8 are the tail as it was seen: when the
/// tail is another, `prior_head` is null, which the table refuses. An empty chain's tail is
/// `(NULL, NULL)`.
const ONE: &str = insert_into!(
    "VALUES (?1, ?2, CASE WHEN \
         (SELECT sequence, next_head FROM checkpoint_chain ORDER BY sequence DESC LIMIT 1) \
         IS (?7, ?8) THEN ?3 END, ?4, ?5, ?6)"
);

/// The same for tables without the constraints that the first one leans on: it inserts no row when
/// the tail is another or the transition is there.
const ONE_UNCONSTRAINED: &str = insert_into!(
    "SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE \
         (SELECT sequence, next_head FROM checkpoint_chain ORDER BY sequence DESC LIMIT 1) \
         IS (?7, ?8) \
         AND NOT EXISTS (SELECT 1 FROM checkpoint_chain WHERE transition_id = ?2)"
);

/// What became of one insert.
pub(crate) enum Insertion {
    /// The rows are committed, and these are their positions.
    Done(Vec<StoredTail>),
    /// Nothing was written, most likely because the tail has moved.
    Stale,
    /// A transition id or a head is taken.
    Taken,
}

/// Inserts events after a tail by one statement: all of them, or none if the tail has moved.
pub(crate) async fn insert(
    lease: &mut Lease,
    events: &[&SealedEvent],
    tail: &StoredTail,
    written_at: &str,
    call: &Call<'_>,
) -> Result<Insertion, StoreError> {
    let rows = link(events, tail, call)?;
    let inserted = rows.iter().map(|row| row.stored.clone()).collect();
    let constraints = lease.writer().constraints;
    let connection = &mut lease.writer().connection;
    let outcome = match (rows.as_slice(), constraints) {
        ([row], Constraints::Present) => one(ONE, row, tail, written_at).execute(connection).await,
        ([row], Constraints::Missing) => {
            let query = one(ONE_UNCONSTRAINED, row, tail, written_at);
            query.execute(connection).await
        }
        (_, _) => {
            let query = many(&rows, tail, written_at, constraints);
            query.execute(connection).await
        }
    };
    judge(outcome, inserted, call)
}

/// An event with its place in the chain.
struct Row<'a> {
    event: &'a SealedEvent,
    sequence: Sequence,
    prior: String,
    stored: StoredTail,
    head: String,
}

fn link<'a>(
    events: &[&'a SealedEvent],
    tail: &StoredTail,
    call: &Call<'_>,
) -> Result<Vec<Row<'a>>, StoreError> {
    let mut tail = tail.tail;
    let mut rows = Vec::with_capacity(events.len());
    for event in events {
        let sequence = tail.next_sequence().ok_or_else(|| StoreError::ChainFull {
            workflow: call.workflow.clone(),
        })?;
        let prior = tail.head();
        let head = event.link(&prior);
        tail = Tail::At { sequence, head };
        let text = head.to_string();
        rows.push(Row {
            event,
            sequence,
            prior: prior.to_string(),
            stored: StoredTail {
                tail,
                head: Stored::from(text.clone()),
            },
            head: text,
        });
    }
    Ok(rows)
}

fn judge(
    outcome: Result<SqliteQueryResult, sqlx::Error>,
    inserted: Vec<StoredTail>,
    call: &Call<'_>,
) -> Result<Insertion, StoreError> {
    match outcome {
        Ok(done) => match usize::try_from(done.rows_affected()) {
            Ok(count) if count == inserted.len() => Ok(Insertion::Done(inserted)),
            // The caller finds out whether there was a reason.
            Ok(0) => Ok(Insertion::Stale),
            Ok(_) | Err(_) => Err(call.unexpected("the insert did not insert its rows")),
        },
        Err(error) => match classify(&error) {
            InsertFailure::Stale => Ok(Insertion::Stale),
            InsertFailure::Taken => Ok(Insertion::Taken),
            InsertFailure::Engine => Err(call.sql(error)),
        },
    }
}

type Insert<'q> = Query<'q, Sqlite, SqliteArguments>;

fn one(
    statement: &'static str,
    row: &Row<'_>,
    tail: &StoredTail,
    written_at: &str,
) -> Insert<'static> {
    bind_tail(bind_row(sqlx::query(statement), row, written_at), tail)
}

/// Makes the statement for several rows: it inserts none when the tail is another, or, in tables
/// without the constraints that tell, when one of the transitions is there.
fn many(
    rows: &[Row<'_>],
    tail: &StoredTail,
    written_at: &str,
    constraints: Constraints,
) -> Insert<'static> {
    let mut text = String::from(insert_into!("SELECT * FROM (VALUES "));
    for position in 0..rows.len() {
        text.push_str(if position == 0 {
            "(?, ?, ?, ?, ?, ?)"
        } else {
            ", (?, ?, ?, ?, ?, ?)"
        });
    }
    text.push_str(
        ") WHERE (SELECT sequence, next_head FROM checkpoint_chain ORDER BY sequence DESC LIMIT 1) \
         IS (?, ?)",
    );
    if constraints == Constraints::Missing {
        text.push_str(" AND NOT EXISTS (SELECT 1 FROM checkpoint_chain WHERE transition_id IN (");
        for position in 0..rows.len() {
            text.push_str(if position == 0 { "?" } else { ", ?" });
        }
        text.push_str("))");
    }
    // Nothing but placeholders was put into the text. It is not kept: batches differ in length.
    let mut query = sqlx::query(AssertSqlSafe(text)).persistent(false);
    for row in rows {
        query = bind_row(query, row, written_at);
    }
    query = bind_tail(query, tail);
    if constraints == Constraints::Missing {
        for row in rows {
            query = query.bind(row.event.transition_id().to_string());
        }
    }
    query
}

fn bind_row<'q>(query: Insert<'q>, row: &Row<'_>, written_at: &str) -> Insert<'q> {
    query
        .bind(row.sequence.to_i64())
        .bind(row.event.transition_id().to_string())
        .bind(row.prior.clone())
        .bind(row.head.clone())
        .bind(row.event.bytes().to_vec())
        .bind(written_at.to_owned())
}

fn bind_tail<'q>(query: Insert<'q>, tail: &StoredTail) -> Insert<'q> {
    let query = query.bind(tail.tail.sequence().map(Sequence::to_i64));
    match &tail.head {
        Stored::Text(text) => query.bind(text.to_string()),
        Stored::Bytes(bytes) => query.bind(bytes.to_vec()),
        Stored::Null => query.bind(None::<String>),
    }
}
