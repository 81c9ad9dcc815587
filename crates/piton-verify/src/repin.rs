//! Owns the acceptance of a tail by an operator: walk first, then note. It repairs no row.

use piton_ledger::{StateMachine, WorkflowId};
use piton_store::{AppendLock, CheckpointStore, Repin, StoreError, Tail};

use crate::expectation::{Expectations, PinPolicy};
use crate::verdict::AuditVerdict;
use crate::verifier::ReplayVerifier;

/// A tail may not be accepted; the pin is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepinError {
    /// The rows themselves do not link.
    #[error("the chain does not link, so no tail of it can be accepted; run verify")]
    NotIntact(AuditVerdict),
    /// The chain links, and its tail is another.
    #[error("the tail of the chain is {tail}, not the one to be accepted")]
    NotTheTail {
        /// The tail of the chain.
        tail: Tail,
    },
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Accepts a tail as acknowledged, whatever the store had noted before.
///
/// This gives up what the old note proved: that the rows after `accept`, if there were any, had
/// been acknowledged. It is refused unless every row links and `accept` is the tail.
///
/// # Errors
///
/// [`RepinError`], with the pin unchanged.
pub async fn repin<M: StateMachine, S>(
    store: &S,
    workflow: &WorkflowId,
    accept: Tail,
) -> Result<(), RepinError>
where
    S: CheckpointStore<Lock: Repin>,
{
    let mut lock = store.lock(workflow).await?;
    let expectations = Expectations {
        pin: PinPolicy::Ignore,
        expected: None,
    };
    let verdict = ReplayVerifier::new(store)
        .audit::<M>(workflow, expectations, |_| ())
        .await?
        .verdict;
    let tail = match verdict {
        AuditVerdict::Verified {
            tail_chain_head,
            rows,
        } => Tail::At {
            sequence: rows,
            head: tail_chain_head,
        },
        AuditVerdict::EmptyWorkflow { .. } => Tail::Empty,
        AuditVerdict::ChainMismatch(_) | AuditVerdict::TornWrite(_) => {
            return Err(RepinError::NotIntact(verdict));
        }
    };
    if tail != accept {
        return Err(RepinError::NotTheTail { tail });
    }
    lock.repin(tail).await?;
    Ok(lock.release().await?)
}
