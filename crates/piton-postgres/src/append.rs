//! Owns one append: guess the tail, compare and insert in one statement, and on any doubt look
//! again and judge. It hashes nothing itself and keeps nobody out.

use std::time::Duration;

use futures_util::future;
use piton_ledger::{ChainHead, Sequence, WorkflowId};
use piton_store::{AppendStatus, Appended, ExpectedHead, SealedEvent, StoreError};
use tokio::time::timeout;
use tokio_postgres::Statement;
use tokio_postgres::types::Type;

use crate::backoff::Backoff;
use crate::connection::{Connection, Parameter};
use crate::error::{Call, Fault, Kind};
use crate::inspect::{self, Judgement};
use crate::options::Mode;
use crate::queue::Guess;
use crate::sql::COMMIT_AND_CHAIN;
use crate::store::{Inner, Route};

pub(crate) const ACTION: &str = "append";

/// How long an answer may take beyond the busy time-out, before the server is taken for gone. A
/// commit may wait for a synchronous standby.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);

/// How a statement becomes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Session {
    /// Each statement commits by itself.
    Autocommit,
    /// The statement stands in the transaction that holds the lock.
    Locked,
}

/// Why a round did not append.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The event may not be appended; nothing was written.
    Refused(StoreError),
    /// Something failed.
    Fault(Fault),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// One append in progress.
pub(crate) struct Append<'a> {
    pub(crate) inner: &'a Inner,
    pub(crate) event: &'a SealedEvent,
    pub(crate) expected: ExpectedHead,
    transition: String,
    written_at: String,
}

/// Appends one event on any connection, in the turn that the caller has.
pub(crate) async fn append(
    inner: &Inner,
    event: &SealedEvent,
    expected: ExpectedHead,
    guess: &mut Guess,
) -> Result<Appended, StoreError> {
    let append = Append::new(inner, event, expected);
    let call = append.call();
    let mut backoff = Backoff::new(inner.options().busy_timeout);
    loop {
        let lost = match append.leased_round(guess, &mut backoff).await {
            Ok(Some(appended)) => return Ok(appended),
            Ok(None) => None,
            Err(Trouble::Refused(refusal)) => return Err(refusal),
            Err(Trouble::Fault(fault)) if inner.pool.may_recover(&fault) => Some(fault),
            Err(Trouble::Fault(fault)) => return Err(call.fault(fault)),
        };
        // What was sent before a connection was lost may have been done: look before going on.
        *guess = None;
        if let Err(waited) = backoff.wait().await {
            return Err(match lost {
                Some(fault) => call.fault(fault),
                None => StoreError::Busy {
                    workflow: event.workflow_id().clone(),
                    waited,
                },
            });
        }
    }
}

impl<'a> Append<'a> {
    pub(crate) fn new(inner: &'a Inner, event: &'a SealedEvent, expected: ExpectedHead) -> Self {
        Self {
            inner,
            event,
            expected,
            transition: event.transition_id().to_string(),
            written_at: (inner.options().clock)().to_string(),
        }
    }

    pub(crate) fn workflow(&self) -> &'a WorkflowId {
        self.event.workflow_id()
    }

    pub(crate) fn call(&self) -> Call<'a> {
        Call {
            action: ACTION,
            workflow: Some(self.workflow()),
        }
    }

    /// Makes one round on a shared connection, which is kept unless it may be unsound.
    async fn leased_round(
        &self,
        guess: &mut Guess,
        backoff: &mut Backoff,
    ) -> Result<Option<Appended>, Trouble> {
        let leased = self.inner.pool.lease().await;
        backoff.start();
        let lease = leased?;
        let round = self.round(&lease, Session::Autocommit, guess).await;
        let is_sound = match &round {
            Ok(_) | Err(Trouble::Refused(_)) => true,
            Err(Trouble::Fault(fault)) => fault.kind() == Kind::Undone,
        };
        if is_sound {
            lease.finish();
        }
        round
    }

    /// Tries the guess and then, if it was wrong, what it sees; none when others were faster.
    pub(crate) async fn round(
        &self,
        connection: &Connection,
        session: Session,
        guess: &mut Guess,
    ) -> Result<Option<Appended>, Trouble> {
        with_patience(self.inner, self.unbounded_round(connection, session, guess)).await
    }

    async fn unbounded_round(
        &self,
        connection: &Connection,
        session: Session,
        guess: &mut Guess,
    ) -> Result<Option<Appended>, Trouble> {
        // Taken before anything is sent: a call that is cut short leaves no guess behind.
        let prior = match (self.expected, guess.take()) {
            (ExpectedHead::Exactly(head), _) => Some(head),
            (ExpectedHead::Any, guess) => guess,
        };
        if let Some(prior) = prior
            && let Some(appended) = self.insert(connection, session, prior, guess).await?
        {
            return Ok(Some(appended));
        }
        let judgement = inspect::judge(connection, self).await?;
        let (tail, pin) = match judgement {
            Judgement::Present(appended) => return Ok(Some(appended)),
            Judgement::Follows { tail, pin } => (tail, pin),
        };
        if let Some(pin) = pin {
            self.catch_up(connection, session, &pin, &tail).await?;
        }
        self.insert(connection, session, tail.head(), guess).await
    }

    /// Compares and inserts; none when the pin does not stand at the prior head, when a key is
    /// taken, or when somebody else holds the lock.
    async fn insert(
        &self,
        connection: &Connection,
        session: Session,
        prior: ChainHead,
        guess: &mut Guess,
    ) -> Result<Option<Appended>, Trouble> {
        let head = self.event.link(&prior);
        let route = self.inner.route();
        let answer = self.send_insert(connection, session, prior, head).await;
        let sequence = match answer {
            Ok(sequence) => sequence,
            Err(fault) => match fault.kind() {
                Kind::Taken => None,
                Kind::Denied if self.inner.has_another_route(route) => {
                    self.send_insert(connection, session, prior, head).await?
                }
                Kind::Undone | Kind::Lost | Kind::Denied | Kind::LockTimeout | Kind::Other => {
                    return Err(fault.into());
                }
            },
        };
        let Some(sequence) = sequence else {
            return Ok(None);
        };
        *guess = Some(head);
        appended(sequence, head).map(Some)
    }

    async fn send_insert(
        &self,
        connection: &Connection,
        session: Session,
        prior: ChainHead,
        head: ChainHead,
    ) -> Result<Option<i64>, Fault> {
        match session {
            Session::Autocommit => self.statement(connection, prior, head).await,
            Session::Locked => {
                // Prepared before, so that both are on their way before an answer is awaited: one
                // flight. After a failed statement the commit is a rollback.
                self.prepared(connection, prior).await?;
                let (inserted, committed) = future::join(
                    self.statement(connection, prior, head),
                    connection.run(COMMIT_AND_CHAIN),
                )
                .await;
                let sequence = inserted?;
                committed.map_err(Fault::Statement)?;
                Ok(sequence)
            }
        }
    }

    /// Gives the session's prepared statement; none where a pooler may change the session.
    pub(crate) async fn prepared<'c>(
        &self,
        connection: &'c Connection,
        prior: ChainHead,
    ) -> Result<Option<&'c Statement>, Fault> {
        if self.inner.options().mode == Mode::TransactionPooler {
            return Ok(None);
        }
        let sql = &self.inner.opener.sql;
        let prepared = &connection.prepared;
        let (cell, text) = match self.inner.route() {
            Route::Function => (&prepared.call, &sql.call),
            Route::Statement if prior == ChainHead::GENESIS => (&prepared.first, &sql.first),
            Route::Statement => (&prepared.next, &sql.next),
        };
        cell.get_or_try_init(|| connection.client.prepare(text))
            .await
            .map(Some)
            .map_err(Fault::Statement)
    }

    /// Sends the statement that compares and inserts.
    pub(crate) async fn statement(
        &self,
        connection: &Connection,
        prior: ChainHead,
        head: ChainHead,
    ) -> Result<Option<i64>, Fault> {
        let (workflow, bytes) = (self.workflow().as_str(), self.event.bytes());
        let (prior_bytes, head_bytes) = (prior.as_bytes().as_slice(), head.as_bytes().as_slice());
        let parameters: [Parameter<'_>; 6] = [
            (&workflow, Type::TEXT),
            (&self.transition, Type::TEXT),
            (&prior_bytes, Type::BYTEA),
            (&head_bytes, Type::BYTEA),
            (&bytes, Type::BYTEA),
            (&self.written_at, Type::TEXT),
        ];
        let row = match self.prepared(connection, prior).await? {
            Some(statement) => {
                let parameters = parameters.map(|(parameter, _)| parameter);
                connection.client.query_opt(statement, &parameters).await
            }
            None => {
                let sql = &self.inner.opener.sql.call;
                connection.optional(sql, &parameters).await
            }
        };
        let Some(row) = row.map_err(Fault::Statement)? else {
            return Ok(None);
        };
        row.try_get(0).map_err(Fault::Statement)
    }
}

/// Waits for a round as long as a server may take that is still there.
pub(crate) async fn with_patience<T>(
    inner: &Inner,
    round: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    let patience = inner.options().busy_timeout.saturating_add(ANSWER_PATIENCE);
    timeout(patience, round)
        .await
        .map_err(|_| Fault::NoAnswer(patience))?
}

/// The answer of a row that has been written.
pub(crate) fn appended(sequence: i64, head: ChainHead) -> Result<Appended, Trouble> {
    let sequence = Sequence::try_from(sequence)
        .map_err(|_| Fault::Unexpected("an appended row has no position"))?;
    Ok(Appended {
        sequence,
        head,
        status: AppendStatus::Appended,
    })
}
