//! Tails, stored columns, proofs of rows and error classes from outside.

use std::time::Duration;

use piton_ledger::{
    CanonicalJson, ChainHead, Sequence, Transition, TransitionEvent, VulnState, WorkflowId,
};
use piton_store::{
    AppendStatus, PersistedRow, PinFinding, Retry, SealedEvent, StoreError, Stored, Tail,
    TailError, VerifiedRow, seal,
};

fn workflow() -> WorkflowId {
    "wf-1".parse().expect("a workflow id")
}

#[test]
fn tails_are_written_sequence_colon_head() {
    let head = ChainHead::from_bytes([0xab; 32]);
    let tail = Tail::At {
        sequence: Sequence::FIRST,
        head,
    };
    assert_eq!(tail.to_string(), format!("1:blake3:{}", "ab".repeat(32)));
    assert_eq!(tail.to_string().parse(), Ok(tail));
    assert_eq!(format!("1:{}", "ab".repeat(32)).parse(), Ok(tail));
    assert_eq!(
        (tail.head(), tail.sequence()),
        (head, Some(Sequence::FIRST))
    );
    assert_eq!(tail.next_sequence().map(Sequence::to_u64), Some(2));
    assert_eq!(
        Tail::Empty.to_string(),
        format!("0:blake3:{}", "0".repeat(64))
    );
    assert_eq!(Tail::Empty.to_string().parse(), Ok(Tail::Empty));
    assert_eq!(
        (Tail::Empty.head(), Tail::Empty.sequence()),
        (ChainHead::GENESIS, None)
    );
    assert_eq!(Tail::Empty.next_sequence(), Some(Sequence::FIRST));
    let full = Tail::At {
        sequence: Sequence::try_from(i64::MAX).expect("the largest"),
        head,
    };
    assert_eq!(full.next_sequence(), None);
    assert_eq!("1".parse::<Tail>(), Err(TailError::MissingSeparator));
    assert_eq!(
        format!("0:{head}").parse::<Tail>(),
        Err(TailError::EmptyWithHead)
    );
    assert!(matches!("x:".parse::<Tail>(), Err(TailError::Head(_))));
    assert!(matches!(
        format!("x:{head}").parse::<Tail>(),
        Err(TailError::Sequence(_))
    ));
}

#[test]
fn stored_columns_are_read_leniently_but_exactly() {
    let head = ChainHead::from_bytes([0xab; 32]);
    assert_eq!(Stored::from(head.to_string()).to_head(), Some(head));
    assert_eq!(Stored::from("ab".repeat(32)).to_head(), Some(head));
    assert_eq!(Stored::Bytes([0xab; 32].into()).to_head(), Some(head));
    assert_eq!(Stored::Bytes([0xab; 31].into()).to_head(), None);
    assert_eq!(Stored::from("AB").to_head(), None);
    assert_eq!(Stored::Null.to_head(), None);
    let id = "01HZZZZZZZZZZZZZSCN001A001";
    assert_eq!(Stored::from(id).to_transition_id(), id.parse().ok());
    assert_eq!(Stored::Bytes(id.as_bytes().into()).to_transition_id(), None);
    assert_eq!(Stored::Null.to_transition_id(), None);
    assert_eq!(Stored::from("x").as_text(), Some("x"));
    assert_eq!(Stored::Null.as_text(), None);
    assert!(!format!("{:?}", Stored::from("hunter2")).contains("hunter2"));
}

#[test]
fn debug_output_shows_sizes_and_no_content() {
    let shown = |stored: Stored| format!("{stored:?}");
    assert_eq!(shown("hunter2".into()), "Text(7 bytes)");
    assert_eq!(shown(Stored::Bytes([1; 32].into())), "Bytes(32 bytes)");
    assert_eq!(shown(Stored::Null), "Null");
    let (row, prior) = linked_row();
    let size = row.event_bytes.as_ref().map(Vec::len);
    assert_eq!(
        format!("{row:?}"),
        format!(
            "PersistedRow {{ sequence: 1, transition_id: Text(26 bytes), \
             prior_head: Text(71 bytes), next_head: Text(71 bytes), event_bytes: {size:?}, .. }}"
        )
    );
    let proved = prove(&row, &prior).expect("it links");
    let next_head = proved.next_head();
    assert_eq!(
        format!("{proved:?}"),
        format!(
            "VerifiedRow {{ workflow_id: WorkflowId(wf-1), sequence: {:?}, \
             next_head: {next_head:?}, .. }}",
            Sequence::FIRST
        )
    );
    assert_eq!(
        format!("{:?}", SealedEvent::from(proved)),
        format!(
            "SealedEvent {{ workflow_id: WorkflowId(wf-1), \
             transition_id: TransitionId(01HZZZZZZZZZZZZZSCN001A001), \
             chain_head: {:?}, bytes: {}, redactions: [] }}",
            ChainHead::GENESIS,
            size.expect("bytes")
        )
    );
}

#[test]
fn an_append_says_what_it_did() {
    assert_eq!(AppendStatus::Appended.slug(), "appended");
    assert_eq!(AppendStatus::AlreadyPresent.slug(), "already_present");
}

fn linked_row() -> (PersistedRow, ChainHead) {
    let event = TransitionEvent::try_from(Transition {
        transition_id: "01HZZZZZZZZZZZZZSCN001A001".parse().expect("a ULID"),
        prior_state_id: VulnState::NeedsPlan,
        next_state_id: VulnState::PlanReady,
        triggering_outcome: CanonicalJson::parse(b"\"hunter2\"").expect("JSON"),
        evidence_digest: format!("blake3:{}", "a".repeat(64))
            .parse()
            .expect("a digest"),
        chain_head: ChainHead::GENESIS,
        workflow_id: workflow(),
    });
    let sealed = seal(&event.expect("legal")).expect("sealable");
    let prior = ChainHead::from_bytes([3; 32]);
    let row = PersistedRow {
        sequence: 1,
        transition_id: sealed.transition_id().to_string().into(),
        prior_head: prior.to_string().into(),
        next_head: sealed.link(&prior).to_string().into(),
        // Another spelling of the same event: a proof is about the bytes as they are stored.
        event_bytes: Some(sealed.bytes().to_vec()),
        written_at: "2026-01-01T00:00:00Z".into(),
    };
    (row, prior)
}

fn prove(row: &PersistedRow, prior: &ChainHead) -> Option<VerifiedRow> {
    VerifiedRow::prove::<VulnState>(row, &workflow(), Sequence::FIRST, prior)
}

#[test]
fn a_linked_row_can_be_proved_and_moved() {
    let (row, prior) = linked_row();
    let proved = prove(&row, &prior).expect("it links");
    assert_eq!(
        (proved.sequence(), proved.prior_head()),
        (Sequence::FIRST, prior)
    );
    assert_eq!(Some(proved.next_head()), row.next_head.to_head());
    let sealed = SealedEvent::from(proved);
    assert_eq!(Some(sealed.bytes()), row.event_bytes.as_deref());
    assert_eq!(
        Some(sealed.transition_id()),
        row.transition_id.to_transition_id()
    );
    assert_eq!(
        (sealed.workflow_id(), sealed.chain_head()),
        (&workflow(), ChainHead::GENESIS)
    );
}

#[test]
fn bytes_in_another_key_order_move_as_they_are() {
    let (mut row, prior) = linked_row();
    let value: serde_json::Value =
        serde_json::from_slice(row.event_bytes.as_deref().expect("bytes")).expect("JSON");
    let spaced = serde_json::to_string_pretty(&value)
        .expect("prints")
        .into_bytes();
    row.next_head = piton_chain::link(&prior, &spaced).to_string().into();
    row.event_bytes = Some(spaced.clone());
    let sealed = SealedEvent::from(prove(&row, &prior).expect("it links"));
    assert_eq!(sealed.bytes(), spaced);
}

#[test]
fn any_difference_defeats_the_proof() {
    let (row, prior) = linked_row();
    let refused = |change: fn(&mut PersistedRow)| {
        let mut changed = row.clone();
        change(&mut changed);
        assert_ne!(changed, row);
        assert_eq!(prove(&changed, &prior), None, "{changed:?}");
    };
    refused(|row| row.sequence = 2);
    refused(|row| row.transition_id = "01HZZZZZZZZZZZZZSCN001A002".into());
    refused(|row| row.prior_head = ChainHead::GENESIS.to_string().into());
    refused(|row| row.next_head = ChainHead::GENESIS.to_string().into());
    refused(|row| row.next_head = Stored::Null);
    refused(|row| row.event_bytes = None);
    refused(|row| row.event_bytes.as_mut().expect("bytes").push(b' '));
    assert_eq!(prove(&row, &ChainHead::GENESIS), None);
    let second = Sequence::FIRST.next().expect("two");
    assert_eq!(
        VerifiedRow::prove::<VulnState>(&row, &workflow(), second, &prior),
        None
    );
    let other = "wf-2".parse().expect("a workflow id");
    assert_eq!(
        VerifiedRow::prove::<VulnState>(&row, &other, Sequence::FIRST, &prior),
        None
    );
    assert!(!format!("{row:?}{:?}", prove(&row, &prior)).contains("hunter2"));
}

#[test]
fn errors_say_what_where_and_whether_to_retry() {
    let busy = StoreError::Busy {
        workflow: workflow(),
        waited: Duration::from_secs(5),
    };
    assert_eq!(busy.retry(), Retry::Helps);
    assert!(
        busy.to_string().contains("wf-1") && busy.to_string().contains("5s"),
        "{busy}"
    );
    let head = ChainHead::GENESIS;
    let stale = StoreError::StaleHead {
        workflow: workflow(),
        expected: head,
        actual: head,
    };
    assert_eq!(stale.retry(), Retry::IsUseless);
    for (finding, words) in [
        (PinFinding::TooShort, "missing"),
        (PinFinding::DifferentHead, "another head"),
    ] {
        let error = StoreError::PinContradicted {
            workflow: workflow(),
            pin: Tail::Empty,
            finding,
        };
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.retry(), Retry::IsUseless);
    }
    for retry in [Retry::Helps, Retry::IsUseless] {
        let source = "disk on fire".into();
        let error = StoreError::Engine {
            action: "append",
            workflow: Some(workflow()),
            retry,
            source,
        };
        assert_eq!(error.retry(), retry);
        assert_eq!(error.to_string(), "append of workflow wf-1: disk on fire");
    }
    let error = StoreError::Unfit {
        action: "list",
        workflow: None,
        reason: "it is a file".into(),
    };
    assert_eq!(error.to_string(), "list: it is a file");
}
