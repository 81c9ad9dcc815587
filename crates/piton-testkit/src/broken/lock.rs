//! Owns append ownership in the plain store, and the lies that a guard tells.

use std::fmt;
use std::sync::Arc;

use piton_ledger::{TransitionId, WorkflowId};
use piton_store::{
    AppendBatch, AppendLock, AppendStatus, Appended, Batch, ExpectedHead, PersistedRow, Repin,
    SealedEvent, StoreError, Tail,
};
use tokio::sync::OwnedMutexGuard;

use super::clay::{Clay, Ledger, stored_tail};
use super::judge::{Judgement, judge, row_after};
use super::lie::Lie;
use crate::harness::Clock;

/// Exclusive append ownership of one workflow, more or less.
pub struct ClayLock {
    lie: Lie,
    workflow: WorkflowId,
    ledger: Arc<Ledger>,
    clock: Clock,
    guard: Option<OwnedMutexGuard<()>>,
    kept: bool,
}

impl ClayLock {
    pub(super) fn new(
        store: &Clay,
        workflow: WorkflowId,
        ledger: Arc<Ledger>,
        guard: OwnedMutexGuard<()>,
    ) -> Self {
        let clock: Clock = match store.lie {
            Lie::AsksTheSystemClock => Arc::new(jiff::Timestamp::now),
            _ => Arc::clone(&store.settings.clock),
        };
        Self {
            lie: store.lie,
            workflow,
            ledger,
            clock,
            guard: Some(guard),
            kept: store.lie == Lie::DropKeepsTheLock,
        }
    }

    pub(super) fn keep_when_dropped(&mut self) {
        self.kept = true;
    }

    pub(super) fn free_when_dropped(&mut self) {
        self.kept = false;
    }

    /// Lets go as a store's own append does.
    pub(super) fn let_go(mut self) {
        self.kept = false;
    }
}

impl Drop for ClayLock {
    fn drop(&mut self) {
        if self.kept {
            std::mem::forget(self.guard.take());
        }
    }
}

impl fmt::Debug for ClayLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClayLock({})", self.workflow)
    }
}

impl AppendLock for ClayLock {
    fn workflow_id(&self) -> &WorkflowId {
        &self.workflow
    }

    async fn tail(&mut self) -> Result<Tail, StoreError> {
        stored_tail(&self.workflow, &self.ledger.state().rows)
    }

    async fn find(
        &mut self,
        transition_id: TransitionId,
    ) -> Result<Option<PersistedRow>, StoreError> {
        let state = self.ledger.state();
        let found = state
            .rows
            .iter()
            .find(|row| row.transition_id.to_transition_id() == Some(transition_id));
        Ok(found.cloned())
    }

    async fn append(
        &mut self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> Result<Appended, StoreError> {
        let written_at = (self.clock)().to_string();
        if self.lie == Lie::PinsBeforeTheRow {
            let judgement = judge(
                self.lie,
                &self.workflow,
                &self.ledger.state(),
                event,
                expected,
            )?;
            if let Judgement::Write(tail) = judgement {
                let ahead = row_after(self.lie, tail, event, &written_at);
                self.ledger.state().pin = Some(ahead.tail);
                tokio::task::yield_now().await;
                let mut state = self.ledger.state();
                state.rows.push(ahead.row);
                return Ok(ahead.answer);
            }
        }
        let mut state = self.ledger.state();
        let judged = judge(self.lie, &self.workflow, &state, event, expected);
        let tail = match judged {
            Ok(Judgement::Answer(answer)) => return Ok(answer),
            Ok(Judgement::Write(tail)) => tail,
            Err(refusal) => {
                let tail = stored_tail(&self.workflow, &state.rows)?;
                let refused = row_after(self.lie, tail, event, &written_at);
                match (self.lie, &refusal) {
                    (Lie::WritesWhatItRefuses, StoreError::StaleHead { .. }) => {
                        state.rows.push(refused.row);
                    }
                    (Lie::RefusalMovesThePin, _) => state.pin = Some(refused.tail),
                    _ => {}
                }
                return Err(refusal);
            }
        };
        let written = row_after(self.lie, tail, event, &written_at);
        state.rows.push(written.row);
        state.pin = match self.lie {
            Lie::NeverMovesThePin => Some(Tail::Empty),
            Lie::PinLeads => Some(Tail::At {
                sequence: written.answer.sequence.next().expect("few rows"),
                head: written.answer.head,
            }),
            _ => Some(written.tail),
        };
        Ok(written.answer)
    }

    async fn release(mut self) -> Result<(), StoreError> {
        self.kept = self.lie == Lie::ReleaseKeepsTheLock;
        Ok(())
    }
}

impl AppendBatch for ClayLock {
    async fn append_batch(
        &mut self,
        batch: &Batch,
        expected: ExpectedHead,
    ) -> Result<Vec<Appended>, StoreError> {
        let expected = match self.lie {
            Lie::BatchesIgnoreTheHead => ExpectedHead::Any,
            _ => expected,
        };
        let before = {
            let state = self.ledger.state();
            (state.rows.clone(), state.pin)
        };
        // The expected head comes after every transition.
        if self.lie != Lie::WritesBatchesByHalves {
            let state = self.ledger.state();
            for event in batch.events() {
                judge(self.lie, &self.workflow, &state, event, ExpectedHead::Any)?;
            }
        }
        let mut events: Vec<_> = batch.events().iter().enumerate().collect();
        if self.lie == Lie::ChainsBatchesBackwards {
            events.reverse();
        }
        let mut expected = expected;
        let mut answers = Vec::new();
        for (place, event) in events {
            match self.append(event, expected).await {
                Ok(answer) => {
                    if answer.status == AppendStatus::Appended {
                        expected = ExpectedHead::Any;
                    }
                    answers.push((place, answer));
                }
                Err(refusal) => {
                    if self.lie != Lie::WritesBatchesByHalves {
                        let mut state = self.ledger.state();
                        (state.rows, state.pin) = before;
                    }
                    return Err(refusal);
                }
            }
        }
        answers.sort_by_key(|(place, _)| *place);
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }
}

impl Repin for ClayLock {
    async fn repin(&mut self, tail: Tail) -> Result<(), StoreError> {
        self.ledger.state().pin = Some(tail);
        Ok(())
    }
}
