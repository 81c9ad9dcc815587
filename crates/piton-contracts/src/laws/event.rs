//! The law of the event parser: what it takes has one canonical text, which says the same and
//! reads back, and which can be sealed once and for all.

use piton_ledger::json::canonicalize;
use piton_ledger::{StateMachine as _, TransitionEvent, VulnState};
use piton_store::{MAX_EVENT_BYTES, SealError, seal};

use super::reference;

/// Checks the law on one text.
pub fn check(text: &[u8]) {
    let event = match TransitionEvent::<VulnState>::parse(text) {
        Ok(event) => event,
        Err(error) => {
            let told = format!("{error} {error:?}");
            assert!(told.len() < 512, "an error repeats the input: {told}");
            return;
        }
    };
    let canonical = event.to_canonical_json();
    let again = TransitionEvent::parse(canonical.as_bytes()).expect("canonical text parses");
    assert_eq!(event, again);
    assert_eq!(
        canonicalize(canonical.as_bytes()).as_deref(),
        Ok(&*canonical)
    );
    // The scanner of whole texts agrees, but for a head that was written without its prefix.
    let scanned = canonicalize(text).expect("an event is JSON with a canonical form");
    let bare = canonical.replacen("\"chain_head\":\"blake3:", "\"chain_head\":\"", 1);
    assert!(
        scanned == canonical || scanned == bare,
        "{scanned} {canonical}"
    );

    let read = reference::event(text).expect("the reference reads it too");
    assert_eq!(read.workflow_id, event.workflow_id().as_str());
    assert_eq!(read.transition_id, event.transition_id().to_string());
    let edge = (event.prior_state_id().slug(), event.next_state_id().slug());
    assert_eq!(read.edge(), edge);

    match seal(&event) {
        Ok(sealed) => {
            assert!(sealed.bytes().len() <= MAX_EVENT_BYTES);
            assert_ne!(event.next_state_id(), VulnState::NeedsPlan);
            let stored = TransitionEvent::<VulnState>::parse(sealed.bytes()).expect("it reads");
            assert_eq!(stored.to_canonical_json().as_bytes(), sealed.bytes());
            let resealed = seal(&stored).expect("what was sealed can be sealed");
            assert_eq!(resealed.bytes(), sealed.bytes());
            assert_eq!(resealed.redactions(), []);
        }
        Err(SealError::Unreadable(error)) => panic!("a sealed event does not read: {error}"),
        Err(SealError::Outcome(error)) => panic!("a redacted outcome is not JSON: {error}"),
        Err(SealError::NotABoundary { .. }) => {
            assert_eq!(event.next_state_id(), VulnState::NeedsPlan);
        }
        Err(_) => {}
    }
}
