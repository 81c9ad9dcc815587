//! Fixes when an operator's acceptance of a tail is taken, and what it changes.

mod support;

use piton_ledger::{ChainHead, Sequence, VulnState};
use piton_store::{AppendLock, CheckpointStore, ExpectedHead, Repin, StoreError, Tail};
use piton_testkit::history::{nth, workflow};
use piton_testkit::tamper::altered_head;
use piton_verify::{
    AuditVerdict, Expectations, PinStatus, RepinError, ReplayVerdict, ReplayVerifier, TornReason,
    TornWrite, repin,
};
use support::{Chain, block_on, chain, verify};

/// A pin two rows beyond a chain of three.
fn lost() -> Tail {
    Tail::At {
        sequence: Sequence::try_from(5u64).expect("from 1"),
        head: ChainHead::from_bytes([5; 32]),
    }
}

async fn shortened() -> Chain {
    let chain = chain(3).await;
    let mut lock = chain.store.lock(&chain.workflow).await.expect("a lock");
    lock.repin(lost()).await.expect("a pin can be replaced");
    lock.release().await.expect("a lock can be released");
    let verdict = verify(&chain.store, &chain.workflow).await;
    let torn = TornWrite {
        reason: TornReason::TruncatedTail,
        offending_sequence: 4,
    };
    assert_eq!(verdict, ReplayVerdict::TornWrite(torn));
    chain
}

#[test]
fn the_tail_is_accepted_and_then_matches() {
    block_on(async {
        let chain = shortened().await;
        repin::<VulnState, _>(&chain.store, &chain.workflow, chain.tail)
            .await
            .expect("this is the tail");
        let checked = ReplayVerifier::new(&chain.store)
            .verify_against::<VulnState>(&chain.workflow, Expectations::default())
            .await
            .expect("the chain can be checked");
        assert_eq!(checked.pin, PinStatus::Matched);
        assert!(matches!(checked.verdict, ReplayVerdict::Verified { .. }));
        let next = nth(&chain.workflow, 4);
        let answer = chain.store.append(&next, ExpectedHead::Any).await;
        assert_eq!(answer.expect("it may grow again").sequence.to_u64(), 4);
    });
}

#[test]
fn any_other_tail_is_refused_with_the_real_one() {
    block_on(async {
        let chain = shortened().await;
        let other_head = Tail::At {
            sequence: chain.tail.sequence().expect("three rows"),
            head: ChainHead::from_bytes([1; 32]),
        };
        let other_sequence = Tail::At {
            sequence: Sequence::FIRST,
            head: chain.tail.head(),
        };
        for refused in [lost(), Tail::Empty, other_head, other_sequence] {
            match repin::<VulnState, _>(&chain.store, &chain.workflow, refused).await {
                Err(RepinError::NotTheTail { tail }) => assert_eq!(tail, chain.tail),
                other => panic!("{refused} is not the tail, but {other:?}"),
            }
            let pin = chain.store.pinned_tail(&chain.workflow).await;
            assert_eq!(pin.expect("a pin"), Some(lost()));
        }
    });
}

#[test]
fn a_chain_that_does_not_link_has_no_acceptable_tail() {
    block_on(async {
        let chain = shortened().await;
        let mut altered = chain.rows.clone();
        altered[0].next_head = altered_head(&altered[0].next_head);
        let mut torn = chain.rows.clone();
        torn[2].event_bytes = None;
        for rows in [altered, torn] {
            let store = chain.tampered(rows);
            match repin::<VulnState, _>(&store, &chain.workflow, chain.tail).await {
                Err(RepinError::NotIntact(
                    AuditVerdict::ChainMismatch(_) | AuditVerdict::TornWrite(_),
                )) => {}
                other => panic!("the chain does not link, but {other:?}"),
            }
            let pin = chain.store.pinned_tail(&chain.workflow).await;
            assert_eq!(pin.expect("a pin"), Some(lost()));
        }
    });
}

#[test]
fn an_empty_chain_may_be_accepted_as_empty() {
    block_on(async {
        let chain = chain(0).await;
        let mut lock = chain.store.lock(&chain.workflow).await.expect("a lock");
        lock.repin(lost()).await.expect("a pin can be replaced");
        drop(lock);
        repin::<VulnState, _>(&chain.store, &chain.workflow, Tail::Empty)
            .await
            .expect("no rows is what there is");
        let verdict = verify(&chain.store, &chain.workflow).await;
        assert!(matches!(verdict, ReplayVerdict::EmptyWorkflow { .. }));
    });
}

#[test]
fn nothing_is_accepted_while_somebody_else_appends() {
    block_on(async {
        let chain = shortened().await;
        let impatient = chain
            .store
            .clone()
            .with_busy_timeout(std::time::Duration::from_millis(20));
        let holder = chain.store.lock(&chain.workflow).await.expect("a lock");
        let answer = repin::<VulnState, _>(&impatient, &chain.workflow, chain.tail).await;
        match answer {
            Err(RepinError::Store(StoreError::Busy { workflow: busy, .. })) => {
                assert_eq!(busy, workflow("chain"));
            }
            other => panic!("the lock is held, but {other:?}"),
        }
        drop(holder);
    });
}

#[test]
fn messages_say_what_to_do() {
    let not_intact = RepinError::NotIntact(AuditVerdict::EmptyWorkflow {
        genesis_chain_head: ChainHead::GENESIS,
    });
    assert_eq!(
        not_intact.to_string(),
        "the chain does not link, so no tail of it can be accepted; run verify"
    );
    let other = RepinError::NotTheTail { tail: Tail::Empty };
    assert_eq!(
        other.to_string(),
        format!(
            "the tail of the chain is 0:blake3:{}, not the one to be accepted",
            "0".repeat(64)
        )
    );
}
