//! Owns the append: its checks, its one statement and its pin. It hashes nothing: the sealed event
//! links itself.

use std::sync::Arc;

use piton_ledger::{ChainHead, Sequence};
use piton_store::{
    AppendStatus, Appended, ExpectedHead, PersistedRow, PinFinding, SealedEvent, StoreError,
    Stored, Tail,
};
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments};

use crate::connection::Lease;
use crate::create;
use crate::error::{Call, InsertFailure, classify};
use crate::lock::Locked;
use crate::pin::{self, Pin};
use crate::row::{self, StoredTail};
use crate::schema::{Constraints, Table};
use crate::store::Inner;

/// How often the tail may move under an append before it gives up; under the append lock only
/// writers that ignore it can move a tail.
const ATTEMPTS: usize = 100;

/// One statement that commits by itself. Parameters 7 and 8 are the tail as it was seen: when the
/// tail is another, `prior_head` is null, which the table refuses. An empty chain's tail is
/// `(NULL, NULL)`. `OR ABORT` overrules whatever a copied table says about conflicts.
const INSERT: &str = "INSERT OR ABORT INTO checkpoint_chain \
     (sequence, transition_id, prior_head, next_head, event_bytes, written_at) \
     VALUES (?1, ?2, CASE WHEN \
         (SELECT sequence, next_head FROM checkpoint_chain ORDER BY sequence DESC LIMIT 1) \
         IS (?7, ?8) THEN ?3 END, ?4, ?5, ?6)";

/// The same for tables without the constraints that the first one leans on: it inserts no row when
/// the tail is another or the transition is there.
const INSERT_UNCONSTRAINED: &str = "INSERT OR ABORT INTO checkpoint_chain \
     (sequence, transition_id, prior_head, next_head, event_bytes, written_at) \
     SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE \
         (SELECT sequence, next_head FROM checkpoint_chain ORDER BY sequence DESC LIMIT 1) \
         IS (?7, ?8) \
         AND NOT EXISTS (SELECT 1 FROM checkpoint_chain WHERE transition_id = ?2)";

/// What became of one insert.
enum Insertion {
    Done(StoredTail),
    /// The tail has moved.
    Stale,
    /// The transition id or the head is taken.
    Taken,
}

/// Appends one event under the workflow's lock.
pub(crate) async fn append(
    inner: &Arc<Inner>,
    locked: &Arc<Locked>,
    event: &SealedEvent,
    expected: ExpectedHead,
) -> Result<Appended, StoreError> {
    let call = inner.call("append", &locked.workflow);
    if event.workflow_id() != call.workflow {
        return Err(StoreError::WrongWorkflow {
            workflow: call.workflow.clone(),
            event_workflow: event.workflow_id().clone(),
        });
    }
    inner.refuse_when_closed()?;
    let mut pin = pin::read(&locked.file).map_err(|error| call.io(error))?;
    if pin == Pin::Damaged {
        return Err(damaged(&call));
    }
    let mut lease = match inner.lease(locked, &call).await? {
        Some(lease) => lease,
        None => {
            check_blank(&pin, expected, &call)?;
            pin = create::create_database(inner, locked, &pin, &call).await?;
            inner
                .lease(locked, &call)
                .await?
                .ok_or_else(|| call.unexpected("the new database is not there"))?
        }
    };
    let mut append = Append {
        lease: &mut lease,
        locked,
        pin,
        event,
        expected,
        call,
        written_at: inner.now(),
    };
    let outcome = append.run().await;
    if outcome.as_ref().map_or_else(is_refusal, |_| true) {
        lease.finish();
    } else {
        // A connection on which something failed is never used again.
        lease.close().await;
    }
    outcome
}

/// Reads the last row's position, or that there is none.
pub(crate) async fn read_tail(
    lease: &mut Lease,
    call: &Call<'_>,
) -> Result<StoredTail, StoreError> {
    let writer = lease.writer();
    let Some(statements) = row::statements(writer.table) else {
        return Ok(StoredTail::EMPTY);
    };
    let last = row::one(&mut writer.connection, statements.last)
        .await
        .map_err(|error| call.sql(error))?;
    match last {
        Some(row) => StoredTail::of(&row, call),
        None => Ok(StoredTail::EMPTY),
    }
}

/// One append in progress.
struct Append<'a> {
    lease: &'a mut Lease,
    locked: &'a Locked,
    pin: Pin,
    event: &'a SealedEvent,
    expected: ExpectedHead,
    call: Call<'a>,
    written_at: String,
}

impl Append<'_> {
    async fn run(&mut self) -> Result<Appended, StoreError> {
        self.prepare_table().await?;
        let mut guess = self.likely_tail();
        for _ in 0..ATTEMPTS {
            let tail = match guess.take() {
                Some(tail) => tail,
                None => match self.check().await? {
                    Checked::Fresh(tail) => tail,
                    Checked::Present(appended) => return Ok(appended),
                },
            };
            match self.insert(&tail).await? {
                Insertion::Done(tail) => return self.acknowledge(tail),
                Insertion::Stale => {}
                Insertion::Taken => return self.taken().await,
            }
        }
        Err(self.call.busy())
    }

    /// Makes a missing table, if the pin allows that there are no rows.
    async fn prepare_table(&mut self) -> Result<(), StoreError> {
        let writer = self.lease.writer();
        // Only the original's layout comes without a pin.
        if self.pin == Pin::Absent && writer.layout_version > 0 {
            return Err(damaged(&self.call));
        }
        if writer.table == Table::Absent {
            check_blank(&self.pin, self.expected, &self.call)?;
            self.pin = create::create_table(self.lease, self.locked, &self.pin, &self.call).await?;
        }
        Ok(())
    }

    /// The tail without a read, when this connection's last one is what the pin says and what the
    /// caller expects. The insert proves it.
    fn likely_tail(&mut self) -> Option<StoredTail> {
        let cached = self.lease.writer().tail.take()?;
        let is_pinned = match &self.pin {
            Pin::Noted(note) => note.tail() == cached.tail,
            Pin::Absent | Pin::Damaged => false,
        };
        let is_expected = match self.expected {
            ExpectedHead::Any => true,
            ExpectedHead::Exactly(head) => head == cached.tail.head(),
        };
        (is_pinned && is_expected).then_some(cached)
    }

    /// Reads the tail and makes every check in its order: the pin, the transition, the
    /// expectation.
    async fn check(&mut self) -> Result<Checked, StoreError> {
        let last = self.last_row().await?;
        self.check_pin(last.as_ref()).await?;
        if let Some(row) = self.find().await? {
            return self.repeated(&row).map(Checked::Present);
        }
        let tail = match &last {
            Some(row) => StoredTail::of(row, &self.call)?,
            None => StoredTail::EMPTY,
        };
        check_expected(self.expected, tail.tail.head(), &self.call)?;
        Ok(Checked::Fresh(tail))
    }

    async fn last_row(&mut self) -> Result<Option<PersistedRow>, StoreError> {
        let call = self.call;
        let writer = self.lease.writer();
        match row::statements(writer.table) {
            Some(statements) => row::one(&mut writer.connection, statements.last)
                .await
                .map_err(|error| call.sql(error)),
            None => Ok(None),
        }
    }

    async fn find(&mut self) -> Result<Option<PersistedRow>, StoreError> {
        let call = self.call;
        row::find(self.lease, self.event.transition_id())
            .await
            .map_err(|error| call.sql(error))
    }

    async fn check_pin(&mut self, last: Option<&PersistedRow>) -> Result<(), StoreError> {
        let Some((sequence, head)) = pinned(&self.pin) else {
            return Ok(());
        };
        let call = self.call;
        let at_pin = match last {
            Some(row) if row.sequence == sequence.to_i64() => Some(row.clone()),
            Some(_) => row::at(&mut self.lease.writer().connection, sequence)
                .await
                .map_err(|error| call.sql(error))?,
            None => None,
        };
        match at_pin {
            None => Err(contradicted(&self.pin, PinFinding::TooShort, &call)),
            Some(row) if row.next_head.to_head() == Some(head) => Ok(()),
            Some(_) => Err(contradicted(&self.pin, PinFinding::DifferentHead, &call)),
        }
    }

    async fn insert(&mut self, tail: &StoredTail) -> Result<Insertion, StoreError> {
        let call = self.call;
        let Some(sequence) = tail.tail.next_sequence() else {
            return Err(StoreError::ChainFull {
                workflow: call.workflow.clone(),
            });
        };
        let prior = tail.tail.head();
        let head = self.event.link(&prior);
        let text = head.to_string();
        let writer = self.lease.writer();
        let statement = match writer.constraints {
            Constraints::Present => INSERT,
            Constraints::Missing => INSERT_UNCONSTRAINED,
        };
        let query = sqlx::query(statement)
            .bind(sequence.to_i64())
            .bind(self.event.transition_id().to_string())
            .bind(prior.to_string())
            .bind(text.clone())
            .bind(self.event.bytes().to_vec())
            .bind(self.written_at.clone())
            .bind(tail.tail.sequence().map(Sequence::to_i64));
        let outcome = bind_stored(query, &tail.head)
            .execute(&mut writer.connection)
            .await;
        match outcome {
            Ok(done) => match (done.rows_affected(), writer.constraints) {
                (1, _) => Ok(Insertion::Done(StoredTail {
                    tail: Tail::At { sequence, head },
                    head: Stored::from(text),
                })),
                (0, Constraints::Missing) => Ok(Insertion::Stale),
                (_, _) => Err(call.unexpected("the insert did not insert one row")),
            },
            Err(error) => match classify(&error) {
                InsertFailure::Stale => Ok(Insertion::Stale),
                InsertFailure::Taken => Ok(Insertion::Taken),
                InsertFailure::Engine => Err(call.sql(error)),
            },
        }
    }

    /// Notes the committed row outside the rows, and only then says that it is there.
    fn acknowledge(&mut self, tail: StoredTail) -> Result<Appended, StoreError> {
        let Tail::At { sequence, head } = tail.tail else {
            return Err(self.call.unexpected("an appended row has no position"));
        };
        self.note(tail.tail)?;
        let writer = self.lease.writer();
        writer
            .refresh_log(&self.locked.paths)
            .map_err(|error| self.call.io(error))?;
        writer.tail = Some(tail);
        Ok(Appended {
            sequence,
            head,
            status: AppendStatus::Appended,
        })
    }

    /// The row was refused because its transition or its head is there already.
    async fn taken(&mut self) -> Result<Appended, StoreError> {
        match self.find().await? {
            Some(row) => self.repeated(&row),
            None => Err(self.call.unexpected("the next head stands in another row")),
        }
    }

    /// The transition is there: with these bytes that is an answer, with others a conflict.
    fn repeated(&mut self, row: &PersistedRow) -> Result<Appended, StoreError> {
        if row.event_bytes.as_deref() != Some(self.event.bytes()) {
            return Err(StoreError::TransitionConflict {
                workflow: self.call.workflow.clone(),
                transition_id: self.event.transition_id(),
            });
        }
        let stored = StoredTail::of(row, &self.call)?;
        let Tail::At { sequence, head } = stored.tail else {
            return Err(self.call.unexpected("a stored row has no position"));
        };
        // An earlier call may have been cut off between its commit and its pin.
        if pinned(&self.pin).is_none_or(|(pinned, _)| pinned < sequence) {
            self.note(stored.tail)?;
        }
        Ok(Appended {
            sequence,
            head,
            status: AppendStatus::AlreadyPresent,
        })
    }

    fn note(&mut self, tail: Tail) -> Result<(), StoreError> {
        let file = &self.locked.file;
        let noted = match &self.pin {
            Pin::Absent => pin::write_first(file, tail),
            Pin::Damaged | Pin::Noted(_) => pin::write(file, &self.pin, tail),
        };
        self.pin = noted.map_err(|error| self.call.engine(piton_store::Retry::Helps, error))?;
        Ok(())
    }
}

enum Checked {
    /// The event is new and follows this tail.
    Fresh(StoredTail),
    /// The event is there already.
    Present(Appended),
}

/// Judges an append to a chain without rows before anything is made for it.
fn check_blank(pin: &Pin, expected: ExpectedHead, call: &Call<'_>) -> Result<(), StoreError> {
    if pinned(pin).is_some() {
        return Err(contradicted(pin, PinFinding::TooShort, call));
    }
    check_expected(expected, ChainHead::GENESIS, call)
}

fn check_expected(
    expected: ExpectedHead,
    actual: ChainHead,
    call: &Call<'_>,
) -> Result<(), StoreError> {
    match expected {
        ExpectedHead::Exactly(expected) if expected != actual => Err(StoreError::StaleHead {
            workflow: call.workflow.clone(),
            expected,
            actual,
        }),
        ExpectedHead::Exactly(_) | ExpectedHead::Any => Ok(()),
    }
}

/// The row that a pin points at.
fn pinned(pin: &Pin) -> Option<(Sequence, ChainHead)> {
    match pin {
        Pin::Noted(note) => match note.tail() {
            Tail::At { sequence, head } => Some((sequence, head)),
            Tail::Empty => None,
        },
        Pin::Absent | Pin::Damaged => None,
    }
}

fn contradicted(pin: &Pin, finding: PinFinding, call: &Call<'_>) -> StoreError {
    let pin = match pin {
        Pin::Noted(note) => note.tail(),
        Pin::Absent | Pin::Damaged => Tail::Empty,
    };
    StoreError::PinContradicted {
        workflow: call.workflow.clone(),
        pin,
        finding,
    }
}

fn damaged(call: &Call<'_>) -> StoreError {
    StoreError::PinDamaged {
        workflow: call.workflow.clone(),
    }
}

/// Whether an append failed for a reason that says nothing against its connection.
fn is_refusal(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::StaleHead { .. }
            | StoreError::TransitionConflict { .. }
            | StoreError::PinContradicted { .. }
            | StoreError::PinDamaged { .. }
            | StoreError::UnreadableColumn { .. }
            | StoreError::ChainFull { .. }
    )
}

fn bind_stored<'q>(
    query: Query<'q, Sqlite, SqliteArguments>,
    stored: &Stored,
) -> Query<'q, Sqlite, SqliteArguments> {
    match stored {
        Stored::Text(text) => query.bind(text.to_string()),
        Stored::Bytes(bytes) => query.bind(bytes.to_vec()),
        Stored::Null => query.bind(None::<String>),
    }
}
