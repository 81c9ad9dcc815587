//! Owns the drive of a walk over a store: pin first, then one snapshot, then the verdict. It holds
//! the store and nothing else, and turns no verdict into policy.

use std::fmt;

use piton_ledger::{ChainHead, StateMachine, TransitionEvent, WorkflowId};
use piton_store::{CheckpointStore, MappedChain, PersistedChain, Retry, StoreError, Tail};

use crate::batch::ParsedBatch;
use crate::expectation::{Expectations, PinPolicy, PinStatus};
use crate::verdict::{AuditVerdict, ChainMismatch, ReplayVerdict, TornReason, TornWrite};
use crate::walk::{Finding, Step, Walk};

/// Recomputes persisted chains.
pub struct ReplayVerifier<'s, S> {
    store: &'s S,
}

/// A verdict, and how the chain stands to the store's pin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked<V> {
    /// The verdict.
    pub verdict: V,
    /// How the chain stands to the pin.
    pub pin: PinStatus,
}

impl<S> fmt::Debug for ReplayVerifier<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplayVerifier")
    }
}

impl<'s, S: CheckpointStore> ReplayVerifier<'s, S> {
    /// Makes a verifier over a store.
    pub fn new(store: &'s S) -> Self {
        Self { store }
    }

    /// Walks the raw rows of a workflow once and gives the verdict with its events, held against
    /// the store's pin.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`] of a read: the chain could not be checked, which is neither intact nor
    /// tampered.
    pub async fn verify<M: StateMachine>(
        &self,
        workflow: &WorkflowId,
    ) -> Result<ReplayVerdict<M>, StoreError> {
        Ok(self
            .verify_against(workflow, Expectations::default())
            .await?
            .verdict)
    }

    /// Walks as [`ReplayVerifier::verify`], held against what the caller says.
    ///
    /// # Errors
    ///
    /// As [`ReplayVerifier::verify`].
    pub async fn verify_against<M: StateMachine>(
        &self,
        workflow: &WorkflowId,
        expectations: Expectations,
    ) -> Result<Checked<ReplayVerdict<M>>, StoreError> {
        let mut events = Vec::new();
        let (outcome, pin) = self
            .walk(
                workflow,
                expectations,
                |event: TransitionEvent<M>| event,
                |event| events.push(event),
                |_| (),
            )
            .await?;
        let verdict = match outcome {
            Outcome::Intact(Tail::Empty) => ReplayVerdict::EmptyWorkflow {
                genesis_chain_head: ChainHead::GENESIS,
            },
            Outcome::Intact(Tail::At { head, .. }) => ReplayVerdict::Verified {
                tail_chain_head: head,
                events,
            },
            Outcome::Mismatch(mismatch) => ReplayVerdict::ChainMismatch(mismatch),
            Outcome::Torn(torn) => ReplayVerdict::TornWrite(torn),
        };
        Ok(Checked { verdict, pin })
    }

    /// Walks without keeping events, in constant memory; `progress` hears the number of rows
    /// walked so far, once a batch.
    ///
    /// # Errors
    ///
    /// As [`ReplayVerifier::verify`].
    pub async fn audit<M: StateMachine>(
        &self,
        workflow: &WorkflowId,
        expectations: Expectations,
        progress: impl FnMut(u64) + Send,
    ) -> Result<Checked<AuditVerdict>, StoreError> {
        let (outcome, pin) = self
            .walk(
                workflow,
                expectations,
                |_: TransitionEvent<M>| (),
                |()| (),
                progress,
            )
            .await?;
        let verdict = match outcome {
            Outcome::Intact(Tail::Empty) => AuditVerdict::EmptyWorkflow {
                genesis_chain_head: ChainHead::GENESIS,
            },
            Outcome::Intact(Tail::At { sequence, head }) => AuditVerdict::Verified {
                tail_chain_head: head,
                rows: sequence,
            },
            Outcome::Mismatch(mismatch) => AuditVerdict::ChainMismatch(mismatch),
            Outcome::Torn(torn) => AuditVerdict::TornWrite(torn),
        };
        Ok(Checked { verdict, pin })
    }

    #[cfg_attr(
        feature = "tracing",
        tracing::instrument(
            name = "verify",
            level = "debug",
            skip_all,
            fields(%workflow),
            err(level = "debug")
        )
    )]
    async fn walk<M: StateMachine, K: Send + 'static>(
        &self,
        workflow: &WorkflowId,
        expectations: Expectations,
        keep: impl Fn(TransitionEvent<M>) -> K + Send + Sync + 'static,
        mut collect: impl FnMut(K) + Send,
        mut progress: impl FnMut(u64) + Send,
    ) -> Result<(Outcome, PinStatus), StoreError> {
        // The pin is read before the snapshot opens: rows may be newer than it, never older.
        let pin = match expectations.pin {
            PinPolicy::Enforce => self.store.pinned_tail(workflow).await?,
            PinPolicy::Ignore => None,
        };
        let chain = self.store.iter_persisted_chain(workflow).await?;
        let own = workflow.clone();
        let mut chain = chain.map_batches(move |rows| ParsedBatch::parse(rows, &own, &keep));
        let mut walk = Walk::new(pin, expectations.expected);
        let mut torn = None;
        'rows: while let Some(ParsedBatch { rows, parsed }) = chain.next_batch().await? {
            for (row, parsed) in rows.iter().zip(parsed) {
                match walk.step(row, parsed) {
                    Step::Linked(kept) => collect(kept),
                    Step::Diverged => {}
                    Step::Torn(damage) => {
                        torn = Some(damage);
                        break 'rows;
                    }
                }
            }
            progress(walk.rows());
            chain.recycle(rows);
        }
        let status = match expectations.pin {
            PinPolicy::Ignore => PinStatus::Ignored,
            PinPolicy::Enforce => walk.pin_status(),
        };
        #[cfg(feature = "tracing")]
        let walk_rows = walk.rows();
        if status == PinStatus::Contradicted {
            self.confirm_pin(workflow, pin).await?;
        }
        let outcome = match torn.map_or_else(|| walk.finish(), Finding::Torn) {
            Finding::Intact(tail) => Outcome::Intact(tail),
            Finding::Torn(damage) => Outcome::Torn(damage),
            Finding::Mismatch(mismatch) => Outcome::Mismatch(mismatch),
            Finding::Unlinked {
                mismatch,
                sequence,
                next_head,
            } => {
                if chain.count_next_head(&next_head).await? > 1 {
                    let reason = TornReason::DuplicateChainLink;
                    Outcome::Torn(TornWrite {
                        reason,
                        offending_sequence: sequence,
                    })
                } else {
                    Outcome::Mismatch(mismatch)
                }
            }
        };
        #[cfg(feature = "tracing")]
        outcome.tell(walk_rows);
        Ok((outcome, status))
    }
}

impl<S: CheckpointStore> ReplayVerifier<'_, S> {
    /// Rows may be missing because the workflow was deleted, or its pin moved back by an operator,
    /// between the reading of the pin and of the rows. Then nothing is known of either.
    async fn confirm_pin(
        &self,
        workflow: &WorkflowId,
        before: Option<Tail>,
    ) -> Result<(), StoreError> {
        let reach = |pin: Option<Tail>| pin.and_then(|tail| tail.sequence());
        let now = self.store.pinned_tail(workflow).await?;
        // Another head at the same place is a workflow that was recorded anew.
        if now == before || reach(now) > reach(before) {
            return Ok(());
        }
        Err(StoreError::Engine {
            action: "verification",
            workflow: Some(workflow.clone()),
            retry: Retry::Helps,
            source: "the workflow was deleted or repinned while it was read".into(),
        })
    }
}

/// What a walk found, once the look for a duplicate is done.
enum Outcome {
    Intact(Tail),
    Torn(TornWrite),
    Mismatch(ChainMismatch),
}

#[cfg(feature = "tracing")]
impl Outcome {
    /// Tells what was found.
    fn tell(&self, rows: u64) {
        let is_intact = match self {
            Self::Intact(_) => true,
            Self::Mismatch(_) | Self::Torn(_) => false,
        };
        tracing::debug!(rows, intact = is_intact, "walked");
    }
}
