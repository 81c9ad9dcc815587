//! Owns the plain model of one ledger: a list of events, a note of how far it reached, and who
//! holds the lock. It knows no engine and hashes by the one formula alone.

use piton_ledger::{ChainHead, Sequence, WorkflowId};
use piton_store::{SealedEvent, Tail};
use piton_testkit::history;

use super::operation::{Expect, Handle};

/// One row.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) event: SealedEvent,
    /// Whether its bytes were replaced past the store.
    pub(crate) integrity: Integrity,
}

/// Whether a row holds what was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integrity {
    Intact,
    Altered,
}

/// What a call gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Appended(Tail),
    Present(Tail),
    Done,
    Busy,
    Stale,
    Conflict,
    PinContradicted,
    NotIntact,
    NotTheTail,
    Unknown,
}

/// When a call waits for another's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Before it looks at anything.
    Always,
    /// Only when it has something to write: what is known without that is answered at once.
    ToWrite,
}

/// What a verifier says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Intact,
    Empty,
    /// The bytes of the row at this position link no more.
    Mismatch(u64),
    /// Rows are missing from this sequence on.
    Truncated(i64),
}

/// One ledger.
#[derive(Debug, Clone)]
pub(crate) struct Plain {
    pub(crate) workflow: WorkflowId,
    pub(crate) rows: Vec<Row>,
    /// Every event that was ever acknowledged, also those that were taken away.
    pub(crate) acknowledged: Vec<SealedEvent>,
    pub(crate) pin: Tail,
    pub(crate) holder: Option<Handle>,
    next: u32,
}

impl Plain {
    pub(crate) fn new(workflow: WorkflowId) -> Self {
        Self {
            workflow,
            rows: Vec::new(),
            acknowledged: Vec::new(),
            pin: Tail::Empty,
            holder: None,
            next: 1,
        }
    }

    /// Makes an event that was never sent.
    pub(crate) fn fresh(&mut self) -> SealedEvent {
        let event = history::nth(&self.workflow, self.next);
        self.next += 1;
        event
    }

    /// Makes an event with an id that was used, and other bytes.
    pub(crate) fn conflicting(&self, event: &SealedEvent) -> SealedEvent {
        let number = (1..self.next)
            .find(|n| history::transition_id(*n) == event.transition_id())
            .expect("every event bears a number");
        history::nth_with(&self.workflow, number, r#"{"other":true}"#)
    }

    /// The tail after so many rows.
    pub(crate) fn tail_after(&self, rows: usize) -> Tail {
        self.rows[..rows].iter().fold(Tail::Empty, |tail, row| {
            let sequence = tail.next_sequence().expect("a short chain");
            let head = row.event.link(&tail.head());
            Tail::At { sequence, head }
        })
    }

    pub(crate) fn tail(&self) -> Tail {
        self.tail_after(self.rows.len())
    }

    pub(crate) fn expected(&self, expect: Expect) -> Option<ChainHead> {
        match expect {
            Expect::Any => None,
            Expect::Tail => Some(self.tail().head()),
            Expect::Earlier(row) => Some(self.tail_after(row % (self.rows.len() + 1)).head()),
            Expect::Foreign => Some(ChainHead::from_bytes([0x5a; 32])),
        }
    }

    fn is_locked_against(&self, handle: Handle) -> bool {
        self.holder.is_some_and(|holder| holder != handle)
    }

    fn contradicts_its_pin(&self) -> bool {
        let pinned = self.pin.sequence().map_or(0, row_count);
        pinned > self.rows.len() || self.tail_after(pinned) != self.pin
    }

    pub(crate) fn append(
        &mut self,
        handle: Handle,
        event: &SealedEvent,
        expected: Option<ChainHead>,
        waits: Waits,
    ) -> Answer {
        let is_locked = self.is_locked_against(handle);
        match self.judge(event, expected) {
            _ if is_locked && waits == Waits::Always => Answer::Busy,
            Some(answer) => answer,
            None if is_locked => Answer::Busy,
            None => {
                self.rows.push(Row {
                    event: event.clone(),
                    integrity: Integrity::Intact,
                });
                self.acknowledged.push(event.clone());
                self.pin = self.tail();
                Answer::Appended(self.pin)
            }
        }
    }

    /// Gives the answer to an append that writes nothing. The order of the checks is the
    /// contract's: the pin, the retry, the expectation.
    fn judge(&self, event: &SealedEvent, expected: Option<ChainHead>) -> Option<Answer> {
        if self.contradicts_its_pin() {
            return Some(Answer::PinContradicted);
        }
        let is_same = |row: &Row| row.event.transition_id() == event.transition_id();
        if let Some(at) = self.rows.iter().position(is_same) {
            let row = &self.rows[at];
            if row.integrity == Integrity::Altered || row.event.bytes() != event.bytes() {
                return Some(Answer::Conflict);
            }
            return Some(Answer::Present(self.tail_after(at + 1)));
        }
        expected
            .is_some_and(|expected| expected != self.tail().head())
            .then_some(Answer::Stale)
    }

    pub(crate) fn lock(&mut self, handle: Handle) -> Answer {
        if self.is_locked_against(handle) {
            return Answer::Busy;
        }
        self.holder = Some(handle);
        Answer::Done
    }

    pub(crate) fn release(&mut self, handle: Handle) {
        if self.holder == Some(handle) {
            self.holder = None;
        }
    }

    /// A repin takes the lock for itself, so that a holder refuses it too.
    pub(crate) fn repin(&mut self, accept: Tail) -> Answer {
        if self.holder.is_some() {
            return Answer::Busy;
        }
        if self.first_altered().is_some() {
            return Answer::NotIntact;
        }
        if accept != self.tail() {
            return Answer::NotTheTail;
        }
        self.pin = accept;
        Answer::Done
    }

    pub(crate) fn delete(&mut self) -> Answer {
        if self.holder.is_some() {
            return Answer::Busy;
        }
        let answer = if self.rows.is_empty() && self.pin == Tail::Empty {
            Answer::Unknown
        } else {
            Answer::Done
        };
        self.rows.clear();
        self.acknowledged.clear();
        self.pin = Tail::Empty;
        answer
    }

    fn first_altered(&self) -> Option<usize> {
        let is_altered = |row: &Row| row.integrity == Integrity::Altered;
        self.rows.iter().position(is_altered)
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let missing = i64::try_from(self.rows.len() + 1).expect("a short chain");
        match self.first_altered() {
            Some(at) => Verdict::Mismatch(u64::try_from(at).expect("a short chain")),
            None if self.contradicts_its_pin() => Verdict::Truncated(missing),
            None if self.rows.is_empty() => Verdict::Empty,
            None => Verdict::Intact,
        }
    }
}

fn row_count(sequence: Sequence) -> usize {
    usize::try_from(sequence.to_u64()).expect("a short chain")
}
