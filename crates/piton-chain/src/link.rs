//! Owns the one formula of the chain: see `docs/chain-format.md`, "Link". It parses nothing.

use piton_ledger::ChainHead;

/// The byte between the prior head and the event; it occurs in neither, so no two different
/// pairs give the same input.
pub const RECORD_SEPARATOR: u8 = 0x1e;

/// Computes the head after an event: BLAKE3 of the prior head's 64 hexadecimal digits, the record
/// separator, and the event's bytes exactly as they are stored.
pub fn link(prior: &ChainHead, event_bytes: &[u8]) -> ChainHead {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&prior.to_hex());
    hasher.update(&[RECORD_SEPARATOR]);
    hasher.update(event_bytes);
    ChainHead::from_bytes(*hasher.finalize().as_bytes())
}

/// Links a run of events in order, beginning after `prior`.
pub fn fold<B: AsRef<[u8]>>(prior: ChainHead, events: impl IntoIterator<Item = B>) -> ChainHead {
    events
        .into_iter()
        .fold(prior, |head, bytes| link(&head, bytes.as_ref()))
}
