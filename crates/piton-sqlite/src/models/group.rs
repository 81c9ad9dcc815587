//! Appends that meet: calls that come, are carried, lead, give up and are dropped.
//!
//! The law: no two lead at once, each call that stays is carried exactly once or leads, one that
//! steps back is not carried, and when all have gone nothing is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use piton_ledger::{
    BlobDigest, CanonicalJson, ChainHead, Transition, TransitionEvent, TransitionId, VulnState,
    WorkflowId,
};
use piton_store::{ExpectedHead, SealedEvent, StoreError};
use shuttle::future;
use shuttle::sync::Mutex;

use super::explore;
use crate::error::Call;
use crate::group::{Groups, Joined, Turn, Word};

const PATIENCE: Duration = Duration::from_secs(3600);

/// Stands for the ledger.
#[derive(Debug, Default)]
struct Ledger {
    leaders: AtomicUsize,
    written: Mutex<Vec<TransitionId>>,
}

fn workflow() -> WorkflowId {
    "w".parse().expect("a workflow id")
}

fn event(number: u128) -> SealedEvent {
    let event = TransitionEvent::try_from(Transition {
        transition_id: TransitionId::from_bits(number),
        prior_state_id: VulnState::NeedsPlan,
        next_state_id: VulnState::PlanReady,
        triggering_outcome: CanonicalJson::parse(b"{}").expect("valid JSON"),
        evidence_digest: BlobDigest::from_bytes([7; 32]),
        chain_head: ChainHead::GENESIS,
        workflow_id: workflow(),
    });
    piton_store::seal(&event.expect("the edge is legal")).expect("it can be sealed")
}

/// The one that leads, dropped or not.
struct Leader<'a>(&'a Ledger);

impl<'a> Leader<'a> {
    fn new(ledger: &'a Ledger) -> Self {
        assert_eq!(ledger.leaders.fetch_add(1, Ordering::SeqCst), 0);
        Self(ledger)
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        self.0.leaders.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Writes the event of the one that leads and of those that it carries.
async fn lead(ledger: &Ledger, turn: Turn, event: &SealedEvent) {
    let leader = Leader::new(ledger);
    future::yield_now().await;
    let followers = turn.carry(event);
    let mut written = ledger.written.lock().expect("no task panics");
    written.push(event.transition_id());
    written.extend(
        followers
            .iter()
            .map(|follower| follower.event().transition_id()),
    );
    drop(written);
    drop(leader);
    drop(turn);
    for follower in followers {
        follower.tell(Err(StoreError::Closed));
    }
}

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Written,
    SteppedBack,
}

/// One call. An impatient one steps back as soon as it can.
fn append(
    groups: &Groups,
    ledger: &Arc<Ledger>,
    number: u128,
    is_patient: bool,
) -> future::JoinHandle<End> {
    let (groups, ledger) = (groups.clone(), Arc::clone(ledger));
    future::spawn(async move {
        let event = event(number);
        let turn = match groups.join(&event, ExpectedHead::Any) {
            Joined::First(turn) => turn,
            Joined::Behind(place) => {
                future::yield_now().await;
                if !is_patient && place.leave() {
                    return End::SteppedBack;
                }
                let workflow = workflow();
                let call = Call {
                    action: "append",
                    workflow: &workflow,
                    busy_timeout: PATIENCE,
                };
                match place.wait(&call).await.expect("patience does not end") {
                    Word::Lead(turn) => turn,
                    Word::Answer(_) => return End::Written,
                }
            }
        };
        lead(&ledger, turn, &event).await;
        End::Written
    })
}

/// How often the event of a number was written.
fn times_written(ledger: &Ledger, number: u128) -> usize {
    let written = ledger.written.lock().expect("no task panics");
    let number = TransitionId::from_bits(number);
    written.iter().filter(|id| **id == number).count()
}

#[test]
fn each_call_that_stays_is_written_once() {
    explore(|| {
        let (groups, ledger) = (Groups::default(), Arc::default());
        let calls = [1, 2, 3, 4].map(|number| append(&groups, &ledger, number, true));
        for call in calls {
            let end = future::block_on(call).expect("it ends");
            assert_eq!(end, End::Written);
        }
        for number in 1..=4 {
            assert_eq!(times_written(&ledger, number), 1);
        }
        assert!(groups.has_nobody());
    });
}

#[test]
fn one_that_steps_back_is_not_written() {
    explore(|| {
        let (groups, ledger) = (Groups::default(), Arc::default());
        let calls = [1, 2, 3, 4].map(|number| append(&groups, &ledger, number, number % 2 == 0));
        for (number, call) in (1..).zip(calls) {
            let end = future::block_on(call).expect("it ends");
            let times = times_written(&ledger, number);
            assert_eq!(times, usize::from(end == End::Written));
            assert!(end == End::Written || number % 2 == 1);
        }
        assert!(groups.has_nobody());
    });
}

#[test]
fn one_that_is_dropped_takes_nobody_with_it() {
    explore(|| {
        let (groups, ledger) = (Groups::default(), Arc::default());
        let [first, second, third, fourth] =
            [1, 2, 3, 4].map(|number| append(&groups, &ledger, number, true));
        future::block_on(future::yield_now());
        first.abort();
        future::block_on(future::yield_now());
        third.abort();
        for stays in [second, fourth] {
            let end = future::block_on(stays).expect("it ends");
            assert_eq!(end, End::Written);
        }
        for gone in [first, third] {
            drop(future::block_on(gone));
        }
        for number in [2, 4] {
            assert_eq!(times_written(&ledger, number), 1);
        }
        assert!(groups.has_nobody());
    });
}
