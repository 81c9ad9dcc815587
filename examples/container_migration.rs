//! A second workflow family on the same chain, store and verifier, without an edit to any of them.
//!
//! Run it with `cargo run -p piton-examples --example container_migration`.

use std::error::Error;

use piton_ledger::{
    BlobDigest, CanonicalJson, ChainHead, Role, StateMachine, Transition, TransitionEvent,
    TransitionId, check_machine,
};
use piton_sqlite::SqliteStore;
use piton_store::{CheckpointStoreExt, seal};
use piton_verify::{HydrationResult, hydrate_or_fail};

/// The states of a container that moves from one host to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Migration {
    Requested,
    Copied,
    Serving,
    RolledBack,
}

use Migration::{Copied, Requested, RolledBack, Serving};

impl StateMachine for Migration {
    const LEDGER: &'static str = "container migration";
    const KINDS: &'static [Self] = &[Requested, Copied, Serving, RolledBack];
    const INITIAL: Self = Requested;

    fn slug(self) -> &'static str {
        match self {
            Requested => "requested",
            Copied => "copied",
            Serving => "serving",
            RolledBack => "rolled_back",
        }
    }

    fn role(self) -> Role {
        match self {
            Requested => Role::Passing,
            Copied => Role::Boundary,
            Serving | RolledBack => Role::Terminal,
        }
    }

    fn successors(self) -> &'static [Self] {
        match self {
            Requested => &[Copied],
            Copied => &[Serving, RolledBack],
            Serving | RolledBack => &[],
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    check_machine::<Migration>()?;
    let root = tempfile::tempdir()?;
    let store = SqliteStore::open(root.path())?;
    let mut head = ChainHead::GENESIS;
    for (number, (prior, next)) in [(Requested, Copied), (Copied, Serving)]
        .into_iter()
        .enumerate()
    {
        let event = TransitionEvent::try_from(Transition {
            transition_id: TransitionId::from_bits(u128::try_from(number)?),
            prior_state_id: prior,
            next_state_id: next,
            triggering_outcome: CanonicalJson::parse(br#"{"host": "b"}"#)?,
            evidence_digest: BlobDigest::from_bytes([0; 32]),
            chain_head: head,
            workflow_id: "move-42".parse()?,
        })?;
        head = store.append_fenced(&seal(&event)?).await?.head;
    }
    match hydrate_or_fail::<Migration, _>(&store, &"move-42".parse()?).await? {
        HydrationResult::Hydrated(hydrated) => {
            assert_eq!(
                (hydrated.latest_state_kind, hydrated.tail_chain_head),
                (Serving, head)
            );
            println!(
                "{} is {}",
                hydrated.events[0].workflow_id(),
                hydrated.latest_state_kind.slug()
            );
            Ok(())
        }
        HydrationResult::FailedUnrecoverable(failure) => {
            Err(format!("not resumed: {failure:?}").into())
        }
    }
}
