//! Owns appends of many events at once, which a lock may offer. It performs none.

use std::collections::BTreeSet;
use std::future::Future;

use piton_ledger::{TransitionId, WorkflowId};
use thiserror::Error;

use crate::append::{Appended, ExpectedHead};
use crate::error::StoreError;
use crate::port::AppendLock;
use crate::sealed::SealedEvent;

/// The most events of one [`Batch`].
pub const MAX_BATCH_EVENTS: usize = 1024;

/// One to [`MAX_BATCH_EVENTS`] sealed events of one workflow, no transition twice, in the order in
/// which they are to be chained.
#[derive(Debug, Clone)]
pub struct Batch(Box<[SealedEvent]>);

/// The events can't be one batch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BatchError {
    /// There is no event.
    #[error("a batch holds at least one event")]
    Empty,
    /// There are too many events.
    #[error(
        "a batch holds at most {MAX_BATCH_EVENTS} events, and these are {count}; append them in several batches"
    )]
    TooManyEvents {
        /// How many there are.
        count: usize,
    },
    /// The events belong to more than one workflow.
    #[error("a batch belongs to one workflow, and these events belong to {first} and {other}")]
    MixedWorkflows {
        /// The workflow of the first event.
        first: WorkflowId,
        /// The first other one.
        other: WorkflowId,
    },
    /// Two events have one transition id.
    #[error("transition {transition_id} stands in the batch twice")]
    RepeatedTransition {
        /// The id.
        transition_id: TransitionId,
    },
}

impl Batch {
    /// Makes a batch of events in the order in which they are to be chained.
    ///
    /// # Errors
    ///
    /// [`BatchError`], when the events can't be appended as one.
    pub fn new(events: impl Into<Box<[SealedEvent]>>) -> Result<Self, BatchError> {
        let events = events.into();
        let Some(first) = events.first().map(SealedEvent::workflow_id) else {
            return Err(BatchError::Empty);
        };
        if events.len() > MAX_BATCH_EVENTS {
            return Err(BatchError::TooManyEvents {
                count: events.len(),
            });
        }
        if let Some(other) = events.iter().find(|event| event.workflow_id() != first) {
            return Err(BatchError::MixedWorkflows {
                first: first.clone(),
                other: other.workflow_id().clone(),
            });
        }
        let mut transitions = BTreeSet::new();
        for event in &events {
            if !transitions.insert(event.transition_id()) {
                return Err(BatchError::RepeatedTransition {
                    transition_id: event.transition_id(),
                });
            }
        }
        Ok(Self(events))
    }

    /// Gives the workflow that all events belong to.
    ///
    /// # Panics
    ///
    /// Never: a batch is not empty.
    pub fn workflow_id(&self) -> &WorkflowId {
        let first = self.0.first().expect("a batch is not empty");
        first.workflow_id()
    }

    /// Gives the events in their order.
    pub fn events(&self) -> &[SealedEvent] {
        &self.0
    }
}

/// An append lock that can append many events by one commit.
pub trait AppendBatch: AppendLock {
    /// Appends the events of a batch in its order, all or none, and gives one answer for each.
    ///
    /// Each event is judged as by [`AppendLock::append`]: first the pin, then whether its
    /// transition is there already, then the expected head. Events that are there keep their
    /// places, wherever those are; the new ones follow the tail, and `expected` is held against
    /// that tail. So a retry of a whole batch, or of a longer one, is safe.
    ///
    /// # Errors
    ///
    /// As [`AppendLock::append`]; in each case none of the events has been written, unless the
    /// engine failed while it committed: then a retry finds out.
    ///
    /// # Cancel safety
    ///
    /// All new events are appended or none is; a retry is safe.
    fn append_batch(
        &mut self,
        batch: &Batch,
        expected: ExpectedHead,
    ) -> impl Future<Output = Result<Vec<Appended>, StoreError>> + Send;
}
