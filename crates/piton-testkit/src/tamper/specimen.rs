//! Owns the intact chain that damage is done to, and the check of a verdict. It does no damage.

use piton_chain::fold;
use piton_ledger::{ChainHead, TransitionId, VulnState, WorkflowId};
use piton_store::{CheckpointStore, CheckpointStoreExt, PersistedRow, SealedEvent, Tail};
use piton_verify::{
    ChainMismatch, Checked, Expectations, MismatchCause, PinStatus, ReplayVerdict, TornReason,
    TornWrite,
};

use super::verifier::Verify;
use crate::harness::{Harness, Settings, TamperHarness};
use crate::history::{nth, workflow};
use crate::observe::{append_all, tail_of};

/// How many rows the intact chain has.
pub(crate) const ROWS: usize = 5;

/// An intact chain in a harness, and a second one to move rows in from.
pub struct Specimen<H> {
    harness: H,
    /// The workflow that is damaged.
    pub workflow: WorkflowId,
    /// Its events.
    pub events: Vec<SealedEvent>,
    /// Its rows, as the engine holds them.
    pub rows: Vec<PersistedRow>,
    /// Its tail, at which its pin stands.
    pub tail: Tail,
    /// As many rows of another workflow.
    pub other_rows: Vec<PersistedRow>,
}

impl<H> std::fmt::Debug for Specimen<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Specimen")
            .field("workflow", &self.workflow)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

/// What is put beneath a store, and what must be found.
#[derive(Debug, Clone)]
pub struct Damage {
    /// What was done, for the message of a failure.
    pub what: String,
    /// The rows in the order in which they are read.
    pub rows: Vec<PersistedRow>,
    /// The pin.
    pub pin: Option<Tail>,
    /// What the verifier is asked to hold the chain against.
    pub expectations: Expectations,
    /// The verdict that must be given.
    pub expected: Expected,
    /// How the chain must be found to stand to the pin, where that says something of its own.
    pub pin_status: Option<PinStatus>,
}

/// The verdict that must be given; tails are computed from the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Intact, with every row's event.
    Verified,
    /// No rows and no reason to miss any.
    Empty,
    /// A mismatch at a position.
    Mismatch {
        /// The 0-based position of the first bad row.
        index: usize,
        /// The transition id inside its event.
        transition_id: TransitionId,
        /// What is wrong with it.
        cause: MismatchCause,
    },
    /// A damaged row.
    Torn {
        /// How it is damaged.
        reason: TornReason,
        /// Its stored sequence.
        sequence: i64,
    },
}

impl<H: Harness> Specimen<H> {
    /// Appends the two chains through the store under test.
    pub async fn make() -> Self {
        let harness = H::start().await;
        let store = harness.open(Settings::default()).await;
        let [damaged, other] = ["damaged", "other"].map(workflow);
        let chain = |workflow: &WorkflowId, from: u32| -> Vec<SealedEvent> {
            (from..from + 5).map(|n| nth(workflow, n)).collect()
        };
        let events = chain(&damaged, 1);
        let other_events = chain(&other, 11);
        append_all(&store, &events).await;
        append_all(&store, &other_events).await;
        let rows = store.collect_rows(&damaged).await.expect("rows");
        let other_rows = store.collect_rows(&other).await.expect("rows");
        assert_eq!((rows.len(), other_rows.len()), (ROWS, ROWS));
        // Nothing may stand between the rows and whoever replaces them.
        store.close().await.expect("a store can be closed");
        Self {
            harness,
            workflow: damaged,
            tail: tail_of(&events),
            events,
            rows,
            other_rows,
        }
    }

    /// Gives the engine that holds the chains.
    pub fn harness(&self) -> &H {
        &self.harness
    }

    /// Gives the transition id of the event at a position.
    pub fn id(&self, position: usize) -> TransitionId {
        self.events[position].transition_id()
    }

    /// Gives the tail that the chain had after so many rows.
    pub fn tail_after(&self, rows: usize) -> Tail {
        tail_of(&self.events[..rows])
    }

    /// Describes damage to the rows, with the pin where it was.
    pub fn damage(&self, what: &str, rows: Vec<PersistedRow>, expected: Expected) -> Damage {
        Damage {
            what: what.to_owned(),
            rows,
            pin: Some(self.tail),
            expectations: Expectations::default(),
            expected,
            pin_status: None,
        }
    }
}

impl<H: TamperHarness> Specimen<H> {
    /// Puts rows and a pin beneath a store.
    pub async fn put(&self, rows: Vec<PersistedRow>, pin: Option<Tail>) -> H::Tampered {
        self.harness.tampered(&self.workflow, rows, pin).await
    }

    /// Puts damage beneath a store and demands its verdict of a verifier.
    pub async fn check<V: Verify>(&self, damage: Damage) {
        let Damage {
            what,
            rows,
            pin,
            expectations,
            expected,
            pin_status,
        } = damage;
        let store = self.put(rows.clone(), pin).await;
        let Checked { verdict, pin } = V::verify(&store, &self.workflow, expectations)
            .await
            .expect("the damaged rows can be read");
        let demanded = demanded(&rows, expected);
        match (&verdict, &demanded) {
            (
                ReplayVerdict::Verified {
                    tail_chain_head,
                    events,
                },
                Demanded::Verified(tail),
            ) => {
                assert_eq!(tail_chain_head, tail, "{what}");
                let ids: Vec<_> = events.iter().map(|event| event.transition_id()).collect();
                let stored: Vec<_> = rows
                    .iter()
                    .filter_map(|row| row.transition_id.to_transition_id())
                    .collect();
                assert_eq!(ids, stored, "{what}: the events of every row");
            }
            (_, Demanded::Exactly(demanded)) => assert_eq!(&verdict, demanded, "{what}"),
            (_, Demanded::Verified(_)) => panic!("{what}: intact rows were called {verdict:?}"),
        }
        if let Some(status) = pin_status {
            assert_eq!(pin, status, "{what}");
        }
    }
}

enum Demanded {
    Verified(ChainHead),
    Exactly(ReplayVerdict<VulnState>),
}

fn demanded(rows: &[PersistedRow], expected: Expected) -> Demanded {
    let heads = || rows.iter().filter_map(|row| row.next_head.to_head());
    let bytes = || rows.iter().filter_map(|row| row.event_bytes.as_deref());
    match expected {
        Expected::Verified => Demanded::Verified(heads().next_back().unwrap_or(ChainHead::GENESIS)),
        Expected::Empty => Demanded::Exactly(ReplayVerdict::EmptyWorkflow {
            genesis_chain_head: ChainHead::GENESIS,
        }),
        Expected::Mismatch {
            index,
            transition_id,
            cause,
        } => Demanded::Exactly(ReplayVerdict::ChainMismatch(ChainMismatch {
            persisted_tail: heads().next_back().expect("a mismatch needs a row"),
            recomputed_tail: fold(ChainHead::GENESIS, bytes()),
            divergence_index: u64::try_from(index).expect("few rows"),
            offending_transition_id: transition_id,
            cause,
        })),
        Expected::Torn { reason, sequence } => {
            Demanded::Exactly(ReplayVerdict::TornWrite(TornWrite {
                reason,
                offending_sequence: sequence,
            }))
        }
    }
}
