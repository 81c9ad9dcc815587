//! Owns batches: many appends in the transaction of a lock, and one commit. It keeps nobody out.

use futures_util::future;
use piton_ledger::ChainHead;
use piton_store::{Appended, ExpectedHead, SealedEvent, StoreError};

use crate::append::{Append, Session, Trouble, appended};
use crate::connection::Connection;
use crate::error::{Fault, Kind};
use crate::inspect::{self, Judgement};
use crate::queue::Guess;
use crate::sql::{COMMIT_AND_CHAIN, ROLLBACK_AND_CHAIN};
use crate::store::Inner;

/// Tries the guess and then, if it was wrong, what it sees; none when somebody writes past the
/// lock. Two flights when nothing is in the way: the rows, and the commit.
pub(crate) async fn round(
    inner: &Inner,
    events: &[SealedEvent],
    expected: ExpectedHead,
    connection: &Connection,
    guess: &mut Guess,
) -> Result<Option<Vec<Appended>>, Trouble> {
    // The expected head is judged here, after every transition.
    let appends: Vec<_> = events
        .iter()
        .map(|event| Append::new(inner, event, ExpectedHead::Any))
        .collect();
    let all: Vec<_> = appends.iter().collect();
    // Taken before anything is sent: a call that is cut short leaves no guess behind.
    let prior = match (expected, guess.take()) {
        (ExpectedHead::Exactly(head), _) => Some(head),
        (ExpectedHead::Any, guess) => guess,
    };
    if let Some(prior) = prior
        && let Some(appended) = write(inner, &all, prior, connection, guess).await?
    {
        return Ok(Some(appended));
    }
    let mut answers = Vec::with_capacity(appends.len());
    let mut follows = None;
    for append in &appends {
        answers.push(match inspect::judge(connection, append).await? {
            Judgement::Present(appended) => Some(appended),
            Judgement::Follows { tail, pin } => {
                follows = Some((append, tail, pin));
                None
            }
        });
    }
    let Some((append, tail, pin)) = follows else {
        return Ok(Some(answers.into_iter().flatten().collect()));
    };
    match expected {
        ExpectedHead::Exactly(expected) if expected != tail.head() => {
            return Err(Trouble::Refused(StoreError::StaleHead {
                workflow: append.workflow().clone(),
                expected,
                actual: tail.head(),
            }));
        }
        ExpectedHead::Exactly(_) | ExpectedHead::Any => {}
    }
    if let Some(pin) = pin {
        append
            .catch_up(connection, Session::Locked, &pin, &tail)
            .await?;
    }
    let new: Vec<_> = appends
        .iter()
        .zip(&answers)
        .filter_map(|(append, answer)| answer.is_none().then_some(append))
        .collect();
    let Some(appended) = write(inner, &new, tail.head(), connection, guess).await? else {
        return Ok(None);
    };
    let mut appended = appended.into_iter();
    let answers = answers
        .into_iter()
        .filter_map(|present| present.or_else(|| appended.next()));
    Ok(Some(answers.collect()))
}

/// Appends all or none after a head; none when the pin does not stand there, or when a key is
/// taken.
async fn write(
    inner: &Inner,
    appends: &[&Append<'_>],
    prior: ChainHead,
    connection: &Connection,
    guess: &mut Guess,
) -> Result<Option<Vec<Appended>>, Trouble> {
    let mut tail = prior;
    let mut heads = Vec::with_capacity(appends.len());
    for append in appends {
        let head = append.event.link(&tail);
        heads.push((tail, head));
        tail = head;
    }
    // Prepared before, so that all rows are on their way before an answer is awaited. Were one to
    // overtake another, the comparison of heads would refuse both.
    if let Some(append) = appends.first() {
        append.prepared(connection, prior).await?;
        append.prepared(connection, tail).await?;
    }
    let route = inner.route();
    let rows = appends.iter().zip(&heads);
    let rows = rows.map(|(append, (prior, head))| append.statement(connection, *prior, *head));
    let mut sequences = Vec::with_capacity(appends.len());
    let mut trouble = None;
    for answer in future::join_all(rows).await {
        match answer {
            Ok(Some(sequence)) => sequences.push(sequence),
            Ok(None) => {}
            // What follows the first failure only says that there was one.
            Err(fault) => trouble = trouble.or(Some(fault)),
        }
    }
    if sequences.len() == appends.len() {
        let committed = connection.run(COMMIT_AND_CHAIN).await;
        committed.map_err(Fault::Statement)?;
        *guess = Some(tail);
        return answers(&sequences, &heads).map(Some);
    }
    match trouble {
        Some(fault) if fault.kind() == Kind::Denied && inner.has_another_route(route) => {}
        Some(fault) if fault.kind() != Kind::Taken => return Err(fault.into()),
        Some(_) | None => {}
    }
    let undone = connection.run(ROLLBACK_AND_CHAIN).await;
    undone.map_err(Fault::Statement)?;
    Ok(None)
}

fn answers(sequences: &[i64], heads: &[(ChainHead, ChainHead)]) -> Result<Vec<Appended>, Trouble> {
    let rows = sequences.iter().zip(heads);
    rows.map(|(sequence, (_, head))| appended(*sequence, *head))
        .collect()
}
