//! The law of the verifier: over any rows, any pin and any expected tail it gives the verdict that
//! the reference gives, and nothing is hydrated but what the reference calls intact.
//!
//! An input is a short program that builds rows out of two whole chains: most random bytes would
//! be torn at their first row, and teach nothing.

use std::future::Future;
use std::pin::pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

use piton_ledger::{ChainHead, Sequence, VulnState, WorkflowId};
use piton_memory::MemoryStore;
use piton_store::{PersistedRow, Stored, Tail};
use piton_testkit::history::{nth, workflow};
use piton_testkit::tamper::TamperedStore;
use piton_verify::{
    AuditVerdict, Expectations, HydrationResult, PinPolicy, PinStatus, ReplayVerdict,
    ReplayVerifier, integrity_message,
};

use super::reader::Reader;
use super::reference::{self, walk};

const LENGTH: u32 = 6;
/// Longer programs say nothing new.
const MOST_ROWS: usize = 24;

struct Chains {
    workflow: WorkflowId,
    own: Vec<PersistedRow>,
    foreign: Vec<PersistedRow>,
}

static CHAINS: LazyLock<Chains> = LazyLock::new(|| {
    let [own, foreign] = ["rows", "foreign"].map(workflow);
    Chains {
        own: chain(&own),
        foreign: chain(&foreign),
        workflow: own,
    }
});

fn chain(workflow: &WorkflowId) -> Vec<PersistedRow> {
    let mut rows = Vec::new();
    for n in 1..=LENGTH {
        push_linked(&mut rows, nth(workflow, n).bytes().to_vec());
    }
    rows
}

/// Adds the row that an honest writer would add for these bytes, as far as they are an event.
fn push_linked(rows: &mut Vec<PersistedRow>, bytes: Vec<u8>) {
    let prior = rows
        .last()
        .and_then(|row| row.next_head.to_head())
        .map_or([0; 32], |head| *head.as_bytes());
    let next = reference::link(&prior, &bytes);
    let transition_id = reference::event(&bytes).map(|event| event.transition_id);
    rows.push(PersistedRow {
        sequence: i64::try_from(rows.len() + 1).expect("few rows"),
        transition_id: transition_id.map_or(Stored::Null, Stored::from),
        prior_head: text(&prior),
        next_head: text(&next),
        event_bytes: Some(bytes),
        written_at: Stored::Null,
    });
}

fn text(head: &[u8; 32]) -> Stored {
    ChainHead::from_bytes(*head).to_string().into()
}

/// Checks the law on the rows that a program builds.
pub fn check(program: &[u8]) {
    let mut reader = Reader::new(program);
    let (pin_choice, expected_choice) = (reader.byte(), reader.byte());
    let mut rows = Vec::new();
    while !reader.is_empty() && rows.len() < MOST_ROWS {
        step(&mut reader, &mut rows);
    }
    let pin = mark(pin_choice, &rows);
    let expected = mark(expected_choice, &rows);
    let policy = match pin_choice {
        255 => PinPolicy::Ignore,
        _ => PinPolicy::Enforce,
    };
    judge(rows, pin, expected, policy);
}

fn judge(rows: Vec<PersistedRow>, pin: Option<Tail>, expected: Option<Tail>, policy: PinPolicy) {
    let workflow = &CHAINS.workflow;
    let enforced = match policy {
        PinPolicy::Enforce => pin,
        PinPolicy::Ignore => None,
    };
    let demanded = walk::verdict(workflow.as_str(), &rows, enforced, expected);
    let length = rows.len();
    let store = TamperedStore::new(MemoryStore::new(), workflow.clone(), rows, pin);
    let verifier = ReplayVerifier::new(&store);
    let expectations = Expectations {
        pin: policy,
        expected,
    };
    let audited = now(verifier.audit::<VulnState>(workflow, expectations, |_| ()));
    let audited = audited.expect("rows in memory can be read");
    assert_eq!(audited.verdict, demanded);
    let replayed = now(verifier.verify_against::<VulnState>(workflow, expectations));
    let replayed = replayed.expect("rows in memory can be read");
    assert_eq!(replayed.pin, audited.pin);
    assert_eq!(
        policy == PinPolicy::Ignore,
        audited.pin == PinStatus::Ignored
    );
    assert_eq!(same(&replayed.verdict, length), demanded);
    let message = integrity_message(&replayed.verdict).unwrap_or_default();
    assert!(message.len() <= 4096);
    let is_intact = match demanded {
        AuditVerdict::Verified { .. } | AuditVerdict::EmptyWorkflow { .. } => true,
        AuditVerdict::ChainMismatch(_) | AuditVerdict::TornWrite(_) => false,
    };
    assert_eq!(is_intact, message.is_empty());
    match HydrationResult::from(replayed.verdict) {
        HydrationResult::Hydrated(hydrated) => {
            assert!(is_intact);
            assert_eq!(hydrated.events.len(), length);
        }
        HydrationResult::FailedUnrecoverable(_) => assert!(!is_intact),
    }
}

/// The same verdict without its events, of which there must be one a row.
fn same(verdict: &ReplayVerdict<VulnState>, length: usize) -> AuditVerdict {
    match verdict {
        ReplayVerdict::Verified {
            tail_chain_head,
            events,
        } => {
            assert_eq!(events.len(), length);
            let rows = u64::try_from(length).map(Sequence::try_from);
            AuditVerdict::Verified {
                tail_chain_head: *tail_chain_head,
                rows: rows.expect("few rows").expect("at least one"),
            }
        }
        ReplayVerdict::ChainMismatch(mismatch) => AuditVerdict::ChainMismatch(mismatch.clone()),
        ReplayVerdict::TornWrite(torn) => AuditVerdict::TornWrite(*torn),
        ReplayVerdict::EmptyWorkflow { genesis_chain_head } => AuditVerdict::EmptyWorkflow {
            genesis_chain_head: *genesis_chain_head,
        },
    }
}

/// Runs a future that never waits.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("memory never waits"),
    }
}

/// A pin or an expected tail: none, empty, the true one at some row, a false one, or beyond.
fn mark(choice: u8, rows: &[PersistedRow]) -> Option<Tail> {
    let position = usize::from(choice >> 3);
    let at = |position: usize, head: ChainHead| {
        let sequence = u64::try_from(position + 1).expect("few rows");
        Some(Tail::At {
            sequence: sequence.try_into().expect("from 1"),
            head,
        })
    };
    let stored = rows.get(position).and_then(|row| row.next_head.to_head());
    match choice & 7 {
        0 => None,
        1 => Some(Tail::Empty),
        2 => at(position, ChainHead::from_bytes([choice; 32])),
        3 => Some(Tail::At {
            sequence: i64::MAX.unsigned_abs().try_into().expect("the last one"),
            head: ChainHead::GENESIS,
        }),
        _ => at(position, stored.unwrap_or(ChainHead::GENESIS)),
    }
}

/// Runs one instruction.
fn step(reader: &mut Reader<'_>, rows: &mut Vec<PersistedRow>) {
    let chains = &*CHAINS;
    let own = |reader: &mut Reader<'_>| chains.own[reader.below(chains.own.len())].clone();
    match reader.byte() % 20 {
        0..=2 => {
            let next = rows.len() % chains.own.len();
            rows.push(chains.own[next].clone());
        }
        3 => rows.push(own(reader)),
        4 => rows.push(chains.foreign[reader.below(chains.foreign.len())].clone()),
        5 | 6 => push_linked(rows, own(reader).event_bytes.unwrap_or_default()),
        7 => push_linked(rows, reader.run().to_vec()),
        8 => {
            let foreign = chains.foreign[reader.below(chains.foreign.len())].clone();
            push_linked(rows, foreign.event_bytes.unwrap_or_default());
        }
        9 => {
            let (one, other) = (reader.below(rows.len()), reader.below(rows.len()));
            if !rows.is_empty() {
                rows.swap(one, other);
            }
        }
        10 => {
            let position = reader.below(rows.len());
            if !rows.is_empty() {
                rows.remove(position);
            }
        }
        11 => relink(reader, rows),
        instruction => {
            let position = reader.below(rows.len());
            if let Some(row) = rows.get_mut(position) {
                change(instruction, reader, row);
            }
        }
    }
}

/// Gives a row the next head that its bytes and its own stored prior head demand.
fn relink(reader: &mut Reader<'_>, rows: &mut [PersistedRow]) {
    let position = reader.below(rows.len());
    if let Some(row) = rows.get_mut(position)
        && let (Some(prior), Some(bytes)) = (row.prior_head.to_head(), &row.event_bytes)
    {
        row.next_head = text(&reference::link(prior.as_bytes(), bytes));
    }
}

fn change(instruction: u8, reader: &mut Reader<'_>, row: &mut PersistedRow) {
    match instruction {
        12 => row.sequence = i64::from_be_bytes(reader.array()),
        13 => row.sequence = row.sequence.wrapping_add(i64::from(reader.byte()) - 128),
        14 => row.event_bytes = None,
        15 => {
            let at = reader.number();
            if let Some(bytes) = &mut row.event_bytes
                && let Some(bit) = at.checked_rem(u64::try_from(bytes.len() * 8).expect("short"))
            {
                let index = usize::try_from(bit / 8).expect("within the bytes");
                bytes[index] ^= 1 << (bit % 8);
            }
        }
        16 => {
            let (at, run) = (reader.byte(), reader.run());
            if let Some(bytes) = &mut row.event_bytes {
                let at = usize::from(at).min(bytes.len());
                bytes.splice(at..at, run.iter().copied());
            }
        }
        _ => {
            let column = match reader.below(3) {
                0 => &mut row.transition_id,
                1 => &mut row.prior_head,
                _ => &mut row.next_head,
            };
            *column = respell(reader, column);
        }
    }
}

/// Another value of a column: the same head in another spelling, or a wrong one.
fn respell(reader: &mut Reader<'_>, column: &Stored) -> Stored {
    let head = column.to_head();
    match (reader.byte() % 6, head) {
        (0, _) => Stored::Null,
        (1, Some(head)) => Stored::Bytes((*head.as_bytes()).into()),
        (2, Some(head)) => head.to_string().trim_start_matches("blake3:").into(),
        (3, _) => Stored::Bytes(reader.run().into()),
        (4, _) => text(&reader.array()),
        (_, _) => String::from_utf8_lossy(reader.run()).into_owned().into(),
    }
}
