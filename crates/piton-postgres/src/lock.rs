//! Owns the append lock of one workflow: a transaction that never ends while the lock is held, and
//! what may be done in it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future;
use piton_ledger::{ChainHead, TransitionId, WorkflowId};
use piton_store::{
    AppendBatch, AppendLock, Appended, Batch, ExpectedHead, PersistedRow, Repin, SealedEvent,
    StoreError, Tail,
};
use tokio_postgres::types::Type;

use crate::append::{self, Append, Session, Trouble};
use crate::backoff::Backoff;
use crate::batch;
use crate::connection::{Connection, Parameter};
use crate::error::{Call, Fault, Kind};
use crate::queue::Turn;
use crate::row::{self, StoredTail};
use crate::sql::{BEGIN_LOCKED, COMMIT_AND_CHAIN, ROLLBACK_AND_CHAIN};
use crate::store::Inner;

const ACTION: &str = "locking";

/// Exclusive append ownership of one workflow, across machines.
///
/// The lock lives as long as the connection that this guard holds. Dropping the guard closes the
/// connection, and the server frees the lock as soon as it notices; a release waits until it is
/// free. When the connection is lost, so is the lock, and every method fails.
pub struct PostgresLock {
    inner: Arc<Inner>,
    workflow: WorkflowId,
    connection: Connection,
    turn: Turn,
    progress: Progress,
}

/// Whether a call on the lock's transaction came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Complete,
    Begun,
}

impl PostgresLock {
    /// Takes the lock, waiting no longer than this.
    pub(crate) async fn acquire(
        inner: &Arc<Inner>,
        workflow: &WorkflowId,
        turn: Turn,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let call = Call {
            action: ACTION,
            workflow: Some(workflow),
        };
        let begun = Instant::now();
        let mut backoff = Backoff::new(inner.options().busy_timeout);
        loop {
            let fault = match attempt(inner, workflow, patience).await {
                Ok(Some(connection)) => {
                    return Ok(Self {
                        inner: Arc::clone(inner),
                        workflow: workflow.clone(),
                        connection,
                        turn,
                        progress: Progress::Complete,
                    });
                }
                Ok(None) => {
                    return Err(StoreError::Busy {
                        workflow: workflow.clone(),
                        waited: begun.elapsed(),
                    });
                }
                Err(fault) => fault,
            };
            if !inner.pool.may_recover(&fault) {
                return Err(call.fault(fault));
            }
            backoff.start();
            if backoff.wait().await.is_err() {
                return Err(call.fault(fault));
            }
        }
    }

    /// Begins a call; undoes first what an earlier call that was cut short may have left.
    async fn begin(&mut self) -> Result<(), Fault> {
        if self.inner.pool.is_closed() {
            return Err(Fault::Closed);
        }
        if self.progress == Progress::Begun {
            *self.turn = None;
            self.connection
                .run(ROLLBACK_AND_CHAIN)
                .await
                .map_err(Fault::Statement)?;
        }
        self.progress = Progress::Begun;
        Ok(())
    }

    fn complete(&mut self) {
        self.progress = Progress::Complete;
    }

    fn call(&self, action: &'static str) -> Call<'_> {
        Call {
            action,
            workflow: Some(&self.workflow),
        }
    }

    async fn read_tail(&mut self) -> Result<Option<StoredTail>, Fault> {
        self.begin().await?;
        let sql = &self.inner.opener.sql.tail;
        let row = self
            .connection
            .one(sql, &[(&self.workflow.as_str(), Type::TEXT)])
            .await
            .map_err(Fault::Statement)?;
        self.complete();
        StoredTail::decode(&row, 1).map_err(Fault::Statement)
    }

    async fn read_row(&mut self, transition: &str) -> Result<Option<PersistedRow>, Fault> {
        self.begin().await?;
        let found = self
            .connection
            .optional(
                &self.inner.opener.sql.find,
                &[
                    (&self.workflow.as_str(), Type::TEXT),
                    (&transition, Type::TEXT),
                ],
            )
            .await
            .map_err(Fault::Statement)?;
        self.complete();
        found
            .map(|row| row::decode(&row))
            .transpose()
            .map_err(Fault::Statement)
    }

    /// Runs one statement that changes something, and commits it.
    async fn change(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<tokio_postgres::Row>, Fault> {
        self.begin().await?;
        *self.turn = None;
        let (changed, committed) = future::join(
            self.connection.all(sql, parameters),
            self.connection.run(COMMIT_AND_CHAIN),
        )
        .await;
        let changed = changed.map_err(Fault::Statement)?;
        committed.map_err(Fault::Statement)?;
        self.complete();
        Ok(changed)
    }

    /// Deletes the rows and the pin; says whether there were any.
    pub(crate) async fn delete(&mut self) -> Result<bool, Fault> {
        let inner = Arc::clone(&self.inner);
        let workflow = self.workflow.clone();
        let rows = self
            .change(
                &inner.opener.sql.delete,
                &[(&workflow.as_str(), Type::TEXT)],
            )
            .await?;
        let row = rows
            .first()
            .ok_or(Fault::Unexpected("a deletion gave no answer"))?;
        row.try_get(0).map_err(Fault::Statement)
    }

    /// Appends all events or none, however often others get in between.
    #[cfg_attr(
        feature = "tracing",
        tracing::instrument(
            name = "append",
            level = "debug",
            skip_all,
            fields(workflow = %self.workflow, events = events.len()),
            err(level = "debug")
        )
    )]
    async fn append_all(
        &mut self,
        events: &[SealedEvent],
        expected: ExpectedHead,
    ) -> Result<Vec<Appended>, StoreError> {
        let is_foreign = |event: &&SealedEvent| event.workflow_id() != &self.workflow;
        if let Some(foreign) = events.iter().find(is_foreign) {
            return Err(StoreError::WrongWorkflow {
                workflow: self.workflow.clone(),
                event_workflow: foreign.workflow_id().clone(),
            });
        }
        let inner = Arc::clone(&self.inner);
        let workflow = self.workflow.clone();
        let call = Call {
            action: append::ACTION,
            workflow: Some(&workflow),
        };
        let mut backoff = Backoff::new(inner.options().busy_timeout);
        backoff.start();
        loop {
            self.begin().await.map_err(|fault| call.fault(fault))?;
            let round = match events {
                [event] => Append::new(&inner, event, expected)
                    .round(&self.connection, Session::Locked, &mut self.turn)
                    .await
                    .map(|appended| appended.map(|appended| vec![appended])),
                _ => {
                    let (connection, guess) = (&self.connection, &mut *self.turn);
                    let round = batch::round(&inner, events, expected, connection, guess);
                    append::with_patience(&inner, round).await
                }
            };
            match round {
                Ok(Some(appended)) => {
                    self.complete();
                    return Ok(appended);
                }
                // Somebody writes past the lock.
                Ok(None) => {}
                Err(Trouble::Refused(refusal)) => {
                    self.complete();
                    return Err(refusal);
                }
                Err(Trouble::Fault(fault)) if fault.kind() == Kind::Undone => {}
                Err(Trouble::Fault(fault)) => return Err(call.fault(fault)),
            }
            *self.turn = None;
            if let Err(waited) = backoff.wait().await {
                return Err(StoreError::Busy { workflow, waited });
            }
        }
    }

    async fn unlock(mut self) -> Result<(), Fault> {
        self.begin().await?;
        let unlocked = self
            .connection
            .one(
                &self.inner.opener.sql.unlock,
                &[(&self.workflow.as_str(), Type::TEXT)],
            )
            .await
            .map_err(Fault::Statement)?;
        self.connection
            .run("COMMIT")
            .await
            .map_err(Fault::Statement)?;
        let was_held = |column: usize| unlocked.try_get::<_, bool>(column);
        let was_held = was_held(0).and_then(|exclusive| Ok(exclusive && was_held(1)?));
        if !was_held.map_err(Fault::Statement)? {
            return Err(Fault::Unexpected("the lock was not held by its holder"));
        }
        self.inner.pool.keep(self.connection);
        Ok(())
    }
}

/// Tries once; none when the lock was not free in time.
async fn attempt(
    inner: &Inner,
    workflow: &WorkflowId,
    patience: Duration,
) -> Result<Option<Connection>, Fault> {
    let connection = inner.pool.own().await?;
    // Without a transaction a pooler would leave the lock on a session that others use.
    connection
        .run(BEGIN_LOCKED)
        .await
        .map_err(Fault::Statement)?;
    // Zero would mean to wait for ever.
    let patience = format!("{}ms", patience.as_millis().max(1));
    let locked = connection
        .one(
            &inner.opener.sql.lock,
            &[(&workflow.as_str(), Type::TEXT), (&patience, Type::TEXT)],
        )
        .await
        .map_err(Fault::Statement);
    match locked {
        Ok(_) => Ok(Some(connection)),
        Err(fault) if fault.kind() == Kind::LockTimeout => {
            if connection.run("ROLLBACK").await.is_ok() {
                inner.pool.keep(connection);
            }
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

impl fmt::Debug for PostgresLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresLock({})", self.workflow)
    }
}

impl AppendLock for PostgresLock {
    fn workflow_id(&self) -> &WorkflowId {
        &self.workflow
    }

    async fn tail(&mut self) -> Result<Tail, StoreError> {
        let stored = self.read_tail().await;
        match stored.map_err(|fault| self.call("reading the tail").fault(fault))? {
            None => Ok(Tail::Empty),
            Some(tail) => tail
                .to_tail()
                .map_err(|column| StoreError::UnreadableColumn {
                    workflow: self.workflow.clone(),
                    column,
                }),
        }
    }

    async fn find(
        &mut self,
        transition_id: TransitionId,
    ) -> Result<Option<PersistedRow>, StoreError> {
        let found = self.read_row(&transition_id.to_string()).await;
        found.map_err(|fault| self.call("looking up a transition").fault(fault))
    }

    async fn append(
        &mut self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> Result<Appended, StoreError> {
        let events = std::slice::from_ref(event);
        let appended = self.append_all(events, expected).await?;
        appended.into_iter().next().ok_or_else(|| {
            let none = Fault::Unexpected("an append gave no answer");
            self.call(append::ACTION).fault(none)
        })
    }

    async fn release(self) -> Result<(), StoreError> {
        let workflow = self.workflow.clone();
        let call = Call {
            action: "releasing the lock",
            workflow: Some(&workflow),
        };
        if self.inner.pool.is_closed() {
            // The connection ends here, and the lock with it.
            return Ok(());
        }
        self.unlock().await.map_err(|fault| call.fault(fault))
    }
}

impl AppendBatch for PostgresLock {
    async fn append_batch(
        &mut self,
        batch: &Batch,
        expected: ExpectedHead,
    ) -> Result<Vec<Appended>, StoreError> {
        self.append_all(batch.events(), expected).await
    }
}

impl Repin for PostgresLock {
    async fn repin(&mut self, tail: Tail) -> Result<(), StoreError> {
        let inner = Arc::clone(&self.inner);
        let workflow = self.workflow.clone();
        let sequence = tail.sequence().map_or(0, piton_ledger::Sequence::to_i64);
        let head: ChainHead = tail.head();
        let changed = self
            .change(
                &inner.opener.sql.repin,
                &[
                    (&workflow.as_str(), Type::TEXT),
                    (&sequence, Type::INT8),
                    (&head.as_bytes().as_slice(), Type::BYTEA),
                ],
            )
            .await;
        changed
            .map(drop)
            .map_err(|fault| self.call("repin").fault(fault))
    }
}
