//! Fixes that another workflow family goes through sealing, storing, verifying and hydrating
//! without an edit to any of them.

mod support;

use piton_ledger::{
    BlobDigest, CanonicalJson, ChainHead, Role, StateMachine, Transition, TransitionEvent,
    VulnState, check_machine,
};
use piton_memory::MemoryStore;
use piton_store::{CheckpointStoreExt, SealError, WorkflowCatalog, seal};
use piton_testkit::history::{clean_completion, sealed, transition_id, workflow};
use piton_testkit::observe::append_all;
use piton_verify::{
    AuditVerdict, Expectations, HydrationResult, ReplayVerdict, ReplayVerifier, TornReason,
    TornWrite, hydrate_or_fail,
};
use support::block_on;

/// A container moves from one host to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Migration {
    Pending,
    ImageCopied,
    Switched,
    RolledBack,
}

use Migration::{ImageCopied, Pending, RolledBack, Switched};

impl StateMachine for Migration {
    const LEDGER: &'static str = "container_migration";
    const KINDS: &'static [Self] = &[Pending, ImageCopied, Switched, RolledBack];
    const INITIAL: Self = Pending;

    fn slug(self) -> &'static str {
        match self {
            Pending => "pending",
            ImageCopied => "image_copied",
            Switched => "switched",
            RolledBack => "rolled_back",
        }
    }

    fn role(self) -> Role {
        match self {
            Pending => Role::Passing,
            ImageCopied => Role::Boundary,
            Switched | RolledBack => Role::Terminal,
        }
    }

    fn successors(self) -> &'static [Self] {
        match self {
            Pending => &[ImageCopied, RolledBack],
            ImageCopied => &[Switched, Pending, RolledBack],
            Switched => &[RolledBack],
            RolledBack => &[],
        }
    }
}

fn migration(n: u32, prior: Migration, next: Migration) -> TransitionEvent<Migration> {
    Transition {
        transition_id: transition_id(n),
        prior_state_id: prior,
        next_state_id: next,
        triggering_outcome: CanonicalJson::parse(br#"{"host":"b-17"}"#).expect("JSON"),
        evidence_digest: BlobDigest::from_bytes([1; 32]),
        chain_head: ChainHead::GENESIS,
        workflow_id: workflow("migrate-7"),
    }
    .try_into()
    .expect("a legal edge")
}

#[test]
fn both_machines_hold_the_facts() {
    assert_eq!(check_machine::<VulnState>(), Ok(()));
    assert_eq!(check_machine::<Migration>(), Ok(()));
}

#[test]
fn a_migration_is_sealed_stored_verified_and_hydrated() {
    block_on(async {
        let store = MemoryStore::new();
        let workflow = workflow("migrate-7");
        let events = vec![
            migration(1, Pending, ImageCopied),
            migration(2, ImageCopied, Switched),
            migration(3, Switched, RolledBack),
        ];
        for (count, event) in events.iter().enumerate() {
            let sealed = seal(event).expect("a boundary");
            append_all(&store, &[sealed]).await;
            match hydrate_or_fail::<Migration, _>(&store, &workflow).await {
                Ok(HydrationResult::Hydrated(hydrated)) => {
                    assert_eq!(hydrated.events, events[..=count]);
                    assert_eq!(hydrated.latest_state_kind, event.next_state_id());
                }
                other => panic!("the chain is intact, but {other:?}"),
            }
        }
        let read = store.collect_events::<Migration>(&workflow).await;
        assert_eq!(read.expect("events"), events);
        let stats = store.stats(&workflow).await.expect("statistics");
        assert_eq!(stats.latest_state::<Migration>(), Some(RolledBack));
        let audited = ReplayVerifier::new(&store)
            .audit::<Migration>(&workflow, Expectations::default(), |_| ())
            .await
            .expect("the chain can be checked");
        assert!(
            matches!(audited.verdict, AuditVerdict::Verified { rows, .. } if rows.to_u64() == 3)
        );
    });
}

#[test]
fn an_empty_migration_begins_at_its_own_initial_kind() {
    block_on(async {
        let store = MemoryStore::new();
        match hydrate_or_fail::<Migration, _>(&store, &workflow("migrate-8")).await {
            Ok(HydrationResult::Hydrated(hydrated)) => {
                assert_eq!(hydrated.latest_state_kind, Pending);
            }
            other => panic!("nothing is recorded, but {other:?}"),
        }
    });
}

#[test]
fn a_passing_state_of_the_migration_is_not_sealed() {
    let refused = seal(&migration(1, ImageCopied, Pending)).expect_err("not a boundary");
    assert_eq!(
        refused,
        SealError::NotABoundary {
            ledger: "container_migration",
            next: "pending",
            boundaries: vec!["image_copied", "switched", "rolled_back"],
        }
    );
}

#[test]
fn a_ledger_of_one_family_is_unreadable_for_another() {
    block_on(async {
        let store = MemoryStore::new();
        let workflow = workflow("remediation");
        let events: Vec<_> = clean_completion(&workflow).iter().map(sealed).collect();
        append_all(&store, &events).await;
        let verdict = ReplayVerifier::new(&store)
            .verify::<Migration>(&workflow)
            .await
            .expect("the chain can be checked");
        let torn = TornWrite {
            reason: TornReason::UnparseableEvent,
            offending_sequence: 1,
        };
        assert_eq!(verdict, ReplayVerdict::TornWrite(torn));
    });
}
