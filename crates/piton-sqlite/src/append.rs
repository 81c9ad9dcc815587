//! Owns the append: the order of its checks, and its pin. The statement is made elsewhere.

use std::sync::Arc;

use piton_ledger::{ChainHead, Sequence};
use piton_store::{
    AppendStatus, Appended, ExpectedHead, PersistedRow, PinFinding, SealedEvent, StoreError, Tail,
};

use crate::connection::{self, Lease};
use crate::create;
use crate::error::Call;
use crate::insert::{self, Insertion};
use crate::lock::Locked;
use crate::pin::{self, Pin};
use crate::row::{self, StoredTail};
use crate::schema::Table;
use crate::store::Inner;

/// How often the tail may move under an append before it gives up; under the append lock only
/// writers that ignore it can move a tail.
const ATTEMPTS: usize = 100;

/// Appends events of one workflow, no transition twice, under the workflow's lock: all or none.
/// Gives one answer for each.
#[cfg_attr(
    feature = "tracing",
    tracing::instrument(
        name = "append",
        level = "debug",
        skip_all,
        fields(workflow = %locked.workflow, events = events.len()),
        err(level = "debug")
    )
)]
pub(crate) async fn append(
    inner: &Arc<Inner>,
    locked: &Arc<Locked>,
    events: &[SealedEvent],
    expected: ExpectedHead,
) -> Result<Vec<Appended>, StoreError> {
    let call = inner.call("append", &locked.workflow);
    if let Some(foreign) = events
        .iter()
        .find(|event| event.workflow_id() != call.workflow)
    {
        return Err(StoreError::WrongWorkflow {
            workflow: call.workflow.clone(),
            event_workflow: foreign.workflow_id().clone(),
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
        events,
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
    events: &'a [SealedEvent],
    expected: ExpectedHead,
    call: Call<'a>,
    written_at: String,
}

/// The answers of events that are there already, and none for each new one.
type Answers = Vec<Option<Appended>>;

impl Append<'_> {
    async fn run(&mut self) -> Result<Vec<Appended>, StoreError> {
        self.prepare_table().await?;
        let mut guess = self.likely_tail();
        let mut refused = None;
        for _ in 0..ATTEMPTS {
            let (tail, answers) = match guess.take() {
                Some(tail) => (tail, vec![None; self.events.len()]),
                None => self.check().await?,
            };
            let missing = self.events.iter().zip(&answers);
            let new: Vec<_> = missing
                .filter_map(|(event, answer)| answer.is_none().then_some(event))
                .collect();
            if new.is_empty() {
                return self.repeat(answers);
            }
            let attempt = (tail, new.len());
            if let Some((before, why)) = refused
                && before == attempt
            {
                // What was refused is what there is: nobody was faster.
                return Err(self.call.unexpected(why));
            }
            let (tail, _) = &attempt;
            let written_at = &self.written_at;
            match insert::insert(self.lease, &new, tail, written_at, &self.call).await? {
                Insertion::Done(rows) => return self.acknowledge(rows, answers),
                Insertion::Stale => {
                    refused = Some((attempt, "the insert did not insert its rows"));
                }
                Insertion::Taken => {
                    refused = Some((attempt, "the next head stands in another row"));
                }
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

    /// Reads the tail and makes every check in its order: the pin, the transitions, the
    /// expectation.
    async fn check(&mut self) -> Result<(StoredTail, Answers), StoreError> {
        let last = self.last_row().await?;
        self.check_pin(last.as_ref()).await?;
        if let Some(row) = &last {
            self.settle(row).await?;
        }
        let tail = match &last {
            Some(row) => StoredTail::of(row, &self.call),
            None => Ok(StoredTail::EMPTY),
        };
        let mut answers = Answers::with_capacity(self.events.len());
        for event in self.events {
            answers.push(match self.find(event).await? {
                Some(row) => Some(self.repeated(event, &row)?),
                None => None,
            });
        }
        if answers.iter().all(Option::is_some) {
            // The tail is not needed, and may be unreadable.
            return Ok((StoredTail::EMPTY, answers));
        }
        let tail = tail?;
        check_expected(self.expected, tail.tail.head(), &self.call)?;
        Ok((tail, answers))
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

    async fn find(&mut self, event: &SealedEvent) -> Result<Option<PersistedRow>, StoreError> {
        let call = self.call;
        row::find(self.lease, event.transition_id())
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

    /// Makes a row durable of which no pin says that it is: whoever wrote it was cut off, and
    /// neither it nor what follows it may be acknowledged before.
    async fn settle(&mut self, row: &PersistedRow) -> Result<(), StoreError> {
        let is_known = pinned(&self.pin).is_some_and(|(pinned, _)| pinned.to_i64() >= row.sequence);
        if is_known {
            return Ok(());
        }
        let connection = &mut self.lease.writer().connection;
        connection::settle(connection, &self.locked.paths, &self.call).await
    }

    /// Notes the last committed row outside the rows, and only then says that they are there.
    fn acknowledge(
        &mut self,
        rows: Vec<StoredTail>,
        answers: Answers,
    ) -> Result<Vec<Appended>, StoreError> {
        let Some(tail) = rows.last().cloned() else {
            return Err(self.call.unexpected("an insert wrote no row"));
        };
        self.note(tail.tail)?;
        let writer = self.lease.writer();
        writer
            .refresh_log(&self.locked.paths)
            .map_err(|error| self.call.io(error))?;
        writer.tail = Some(tail);
        let mut appended = rows.iter().map(|row| match row.tail {
            Tail::At { sequence, head } => Some(Appended {
                sequence,
                head,
                status: AppendStatus::Appended,
            }),
            Tail::Empty => None,
        });
        answers
            .into_iter()
            .map(|present| present.or_else(|| appended.next().flatten()))
            .collect::<Option<_>>()
            .ok_or_else(|| self.call.unexpected("an appended row has no position"))
    }

    /// Answers with what is there already, and moves a pin that lags behind it: an earlier call may
    /// have been cut off between its commit and its pin.
    fn repeat(&mut self, answers: Answers) -> Result<Vec<Appended>, StoreError> {
        let answers: Vec<_> = answers.into_iter().flatten().collect();
        let furthest = answers.iter().max_by_key(|answer| answer.sequence);
        if let Some(&Appended { sequence, head, .. }) = furthest
            && pinned(&self.pin).is_none_or(|(pinned, _)| pinned < sequence)
        {
            self.note(Tail::At { sequence, head })?;
        }
        Ok(answers)
    }

    /// The transition is there: with these bytes that is an answer, with others a conflict.
    fn repeated(&self, event: &SealedEvent, row: &PersistedRow) -> Result<Appended, StoreError> {
        if row.event_bytes.as_deref() != Some(event.bytes()) {
            return Err(StoreError::TransitionConflict {
                workflow: self.call.workflow.clone(),
                transition_id: event.transition_id(),
            });
        }
        let stored = StoredTail::of(row, &self.call)?;
        let Tail::At { sequence, head } = stored.tail else {
            return Err(self.call.unexpected("a stored row has no position"));
        };
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
