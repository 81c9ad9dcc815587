//! Owns appends to one workflow that meet in this store: one leads, and carries by its commit
//! those that came while it waited. It judges no event.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use piton_ledger::WorkflowId;
use piton_store::{AppendLock, Appended, ExpectedHead, MAX_BATCH_EVENTS, SealedEvent, StoreError};
use tokio::sync::oneshot;

use crate::append;
use crate::error::Call;
use crate::lock::SqliteLock;
use crate::store::Inner;
use crate::sync::{Mutex, MutexGuard};

/// One commit carries at most this many bytes of events, or one event.
const GROUP_BYTES: usize = 4 * 1024 * 1024;

type Answer = Result<Appended, StoreError>;

/// The appends of a store that wait for others of their workflow. A workflow is here for as long
/// as there is a [`Turn`] of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Groups(Arc<Mutex<HashMap<WorkflowId, Waiting>>>);

#[derive(Debug, Default)]
struct Waiting {
    followers: VecDeque<Follower>,
    tickets: u64,
}

/// An append that waits.
#[derive(Debug)]
pub(crate) struct Follower {
    event: SealedEvent,
    expected: ExpectedHead,
    ticket: u64,
    sender: oneshot::Sender<Word>,
}

/// What one that waits is told.
#[derive(Debug)]
pub(crate) enum Word {
    /// It was carried, and this is its answer.
    Answer(Answer),
    /// It leads.
    Lead(Turn),
}

/// The right to append to a workflow through this store. When it is dropped the next one leads.
#[derive(Debug)]
pub(crate) struct Turn {
    groups: Groups,
    workflow: WorkflowId,
}

/// Where a call stands among those of its workflow.
#[derive(Debug)]
pub(crate) enum Joined {
    First(Turn),
    Behind(Place),
}

/// A place behind others.
#[derive(Debug)]
pub(crate) struct Place {
    groups: Groups,
    workflow: WorkflowId,
    ticket: u64,
    receiver: oneshot::Receiver<Word>,
}

/// Appends one event, by a commit of its own or by one that it shares.
pub(crate) async fn append(
    inner: &Arc<Inner>,
    event: &SealedEvent,
    expected: ExpectedHead,
) -> Answer {
    let call = inner.call("append", event.workflow_id());
    let start = Instant::now();
    let turn = match inner.groups.join(event, expected) {
        Joined::First(turn) => turn,
        Joined::Behind(place) => match place.wait(&call).await? {
            Word::Lead(turn) => turn,
            Word::Answer(answer) => return answer,
        },
    };
    let patience = call.busy_timeout.saturating_sub(start.elapsed());
    let mut lock = SqliteLock::acquire(inner, event.workflow_id(), patience).await?;
    let followers = match expected {
        ExpectedHead::Any => turn.carry(event),
        // What is expected holds at one place, and nobody else is appended there.
        ExpectedHead::Exactly(_) => Vec::new(),
    };
    if followers.is_empty() {
        return lock.append(event, expected).await;
    }
    let group = Group {
        inner: Arc::clone(inner),
        lock,
        turn,
        leader: event.clone(),
        followers,
    };
    // A call that is dropped takes nobody with it.
    match tokio::spawn(group.commit()).await {
        Ok(answer) => answer,
        Err(_) => Err(cut_off(&call)),
    }
}

fn cut_off(call: &Call<'_>) -> StoreError {
    call.unexpected("the task that carried the append has died")
}

impl Groups {
    /// Joins the calls of a workflow.
    pub(crate) fn join(&self, event: &SealedEvent, expected: ExpectedHead) -> Joined {
        let workflow = event.workflow_id().clone();
        let mut all = self.all();
        let Some(waiting) = all.get_mut(&workflow) else {
            all.insert(workflow.clone(), Waiting::default());
            return Joined::First(Turn {
                groups: self.clone(),
                workflow,
            });
        };
        let (sender, receiver) = oneshot::channel();
        let ticket = waiting.tickets;
        waiting.tickets = ticket.wrapping_add(1);
        waiting.followers.push_back(Follower {
            event: event.clone(),
            expected,
            ticket,
            sender,
        });
        Joined::Behind(Place {
            groups: self.clone(),
            workflow,
            ticket,
            receiver,
        })
    }

    /// Takes the first that still waits; when nobody does, the workflow is forgotten.
    fn next(&self, workflow: &WorkflowId) -> Option<Follower> {
        let mut all = self.all();
        let waiting = all.get_mut(workflow)?;
        while let Some(follower) = waiting.followers.pop_front() {
            if !follower.sender.is_closed() {
                return Some(follower);
            }
        }
        all.remove(workflow);
        None
    }

    #[cfg(test)]
    pub(crate) fn has_nobody(&self) -> bool {
        self.all().is_empty()
    }

    /// No code panics while it holds the map, so a poisoned one is whole.
    fn all(&self) -> MutexGuard<'_, HashMap<WorkflowId, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Waits to be carried or to lead, for at most the busy time-out.
    pub(crate) async fn wait(mut self, call: &Call<'_>) -> Result<Word, StoreError> {
        let word = tokio::time::timeout(call.busy_timeout, &mut self.receiver).await;
        let word = match word {
            Ok(word) => word,
            Err(_) if self.leave() => return Err(call.busy()),
            // It is being carried, and may be written already; or it has just been told to lead.
            Err(_) => self.receiver.await,
        };
        word.map_err(|_| cut_off(call))
    }

    /// Steps back, unless somebody has taken it along or it leads.
    pub(crate) fn leave(&self) -> bool {
        let mut all = self.groups.all();
        let Some(waiting) = all.get_mut(&self.workflow) else {
            return false;
        };
        let before = waiting.followers.len();
        waiting
            .followers
            .retain(|follower| follower.ticket != self.ticket);
        waiting.followers.len() < before
    }
}

impl Turn {
    /// Takes along those that wait, up to the first that must go alone.
    pub(crate) fn carry(&self, leader: &SealedEvent) -> Vec<Follower> {
        let mut transitions = BTreeSet::from([leader.transition_id()]);
        let mut bytes = leader.bytes().len();
        let mut carried = Vec::new();
        let mut all = self.groups.all();
        let Some(waiting) = all.get_mut(&self.workflow) else {
            return carried;
        };
        while let Some(follower) = waiting.followers.front() {
            bytes = bytes.saturating_add(follower.event.bytes().len());
            let fits = transitions.len() < MAX_BATCH_EVENTS
                && bytes <= GROUP_BYTES
                && follower.expected == ExpectedHead::Any
                && transitions.insert(follower.event.transition_id());
            if !fits {
                break;
            }
            let follower = waiting.followers.pop_front();
            // One that was dropped while it waited is not appended.
            carried.extend(follower.filter(|follower| !follower.sender.is_closed()));
        }
        carried
    }
}

impl Follower {
    pub(crate) fn event(&self) -> &SealedEvent {
        &self.event
    }

    pub(crate) fn tell(self, answer: Answer) {
        self.sender.send(Word::Answer(answer)).ok();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(next) = self.groups.next(&self.workflow) {
            let turn = Self {
                groups: self.groups.clone(),
                workflow: self.workflow.clone(),
            };
            // One that has gone just now drops the turn, and so passes it on.
            next.sender.send(Word::Lead(turn)).ok();
        }
    }
}

/// Appends that share a commit.
struct Group {
    inner: Arc<Inner>,
    lock: SqliteLock,
    turn: Turn,
    leader: SealedEvent,
    followers: Vec<Follower>,
}

impl Group {
    /// Appends all of them, and gives the leader's answer.
    async fn commit(self) -> Answer {
        let Self {
            inner,
            mut lock,
            turn,
            leader,
            followers,
        } = self;
        let carried = followers.iter().map(Follower::event);
        let events: Vec<_> = std::iter::once(&leader).chain(carried).cloned().collect();
        let mut answers = answer_all(&inner, &mut lock, &events).await.into_iter();
        // Whoever is answered finds the lock free.
        drop(lock);
        drop(turn);
        let first = answers.next();
        for (follower, answer) in followers.into_iter().zip(answers) {
            follower.tell(answer);
        }
        let call = inner.call("append", leader.workflow_id());
        first.unwrap_or_else(|| Err(cut_off(&call)))
    }
}

/// Appends events by one commit or, when one of them stands in the way of the others, each by its
/// own.
async fn answer_all(
    inner: &Arc<Inner>,
    lock: &mut SqliteLock,
    events: &[SealedEvent],
) -> Vec<Answer> {
    let refusal = match append::append(inner, lock.locked(), events, ExpectedHead::Any).await {
        Ok(answers) => return answers.into_iter().map(Ok).collect(),
        Err(refusal) => refusal,
    };
    let is_busy = |error: &StoreError| matches!(error, StoreError::Busy { .. });
    let mut has_waited = is_busy(&refusal);
    let mut answers = Vec::with_capacity(events.len());
    for event in events {
        answers.push(if has_waited {
            // All have waited together.
            Err(inner.call("append", event.workflow_id()).busy())
        } else {
            lock.append(event, ExpectedHead::Any).await
        });
        has_waited = answers
            .last()
            .is_some_and(|answer| answer.as_ref().is_err_and(is_busy));
    }
    answers
}
