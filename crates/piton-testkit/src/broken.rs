//! Owns stores that break the contract in one way each, to prove that the kit would notice. None
//! is of any use outside a test of the kit.
//!
//! All are one plain store, [`Clay`], which tells at most one [`Lie`]. The honest one passes every
//! case: it shows that the contract can be kept by a store other than the model.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "an arm names the lie that is told there; every other store tells the truth"
)]

mod catalog;
mod chain;
mod clay;
mod judge;
mod lie;
mod lock;

pub use chain::ClayChain;
pub use clay::Clay;
pub use lie::*;
pub use lock::ClayLock;

use std::marker::PhantomData;
use std::time::Duration;

use piton_ledger::WorkflowId;
use piton_store::{PersistedRow, Tail};

use crate::harness::{Harness, Settings, TamperHarness};

/// A store that keeps a lock for ever must fail soon; an honest one may be slow.
const LONGEST_WAIT: Duration = Duration::from_millis(400);

/// The harness of a store that tells one lie.
#[derive(Debug)]
pub struct Broken<L> {
    clay: Clay,
    lie: PhantomData<L>,
}

impl<L: Tells> Harness for Broken<L> {
    type Store = Clay;

    async fn start() -> Self {
        Self {
            clay: Clay::new(L::LIE),
            lie: PhantomData,
        }
    }

    async fn open(&self, mut settings: Settings) -> Clay {
        if L::LIE != Lie::Nothing {
            settings.busy_timeout = settings.busy_timeout.min(LONGEST_WAIT);
        }
        self.clay.reopen(settings)
    }
}

impl<L: Tells> TamperHarness for Broken<L> {
    type Tampered = Clay;

    async fn tampered(
        &self,
        workflow: &WorkflowId,
        rows: Vec<PersistedRow>,
        pin: Option<Tail>,
    ) -> Clay {
        self.clay.replace(workflow, rows, pin);
        self.clay.reopen(Settings::default())
    }
}
