//! A second reading of `docs/chain-format.md`, to be compared with the first.
//!
//! It owns its own reading of events, heads, links and pins, written from the document. It must
//! use no parser, no hash and no decoder of the ledger's crates; only their plain types may carry
//! its answers.

pub mod pin;
pub mod tree;
pub mod walk;

use self::tree::Tree;

/// The members of an event, in canonical order.
const MEMBERS: [&str; 7] = [
    "chain_head",
    "evidence_digest",
    "next_state_id",
    "prior_state_id",
    "transition_id",
    "triggering_outcome",
    "workflow_id",
];

/// What may follow each state kind: the table of the document.
const EDGES: [(&str, &[&str]); 5] = [
    ("needs_plan", &["plan_ready"]),
    (
        "plan_ready",
        &[
            "patch_applied",
            "awaiting_human_review",
            "failed_unrecoverable",
        ],
    ),
    (
        "patch_applied",
        &[
            "completed",
            "gate_failed_retryable",
            "awaiting_human_review",
            "failed_unrecoverable",
        ],
    ),
    (
        "gate_failed_retryable",
        &[
            "needs_plan",
            "awaiting_human_review",
            "failed_unrecoverable",
        ],
    ),
    (
        "awaiting_human_review",
        &["plan_ready", "completed", "failed_unrecoverable"],
    ),
];

/// What the reference reads of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The member `workflow_id`.
    pub workflow_id: String,
    /// The member `transition_id`.
    pub transition_id: String,
    prior: &'static str,
    next: &'static str,
}

impl Event {
    /// Gives the slugs of the two state kinds.
    pub const fn edge(&self) -> (&'static str, &'static str) {
        (self.prior, self.next)
    }
}

/// Reads an event, or gives none for a text that is not one.
///
/// It judges the outcome by its grammar and its keys alone: which numbers are refused is the
/// business of the law of canonical JSON.
pub fn event(text: &[u8]) -> Option<Event> {
    let tree = Tree::read(text)?;
    let Tree::Members(members) = &tree else {
        return None;
    };
    let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    if names != MEMBERS || tree.repeats_a_key() {
        return None;
    }
    head(tree.text("chain_head")?)?;
    hex(tree.text("evidence_digest")?.strip_prefix("blake3:")?)?;
    let (prior, successors) = EDGES
        .iter()
        .find(|(kind, _)| Some(*kind) == tree.text("prior_state_id"))?;
    let next = successors
        .iter()
        .find(|kind| Some(**kind) == tree.text("next_state_id"))?;
    let transition_id = tree.text("transition_id")?;
    let workflow_id = tree.text("workflow_id")?;
    (is_ulid(transition_id) && is_workflow(workflow_id)).then(|| Event {
        workflow_id: workflow_id.to_owned(),
        transition_id: transition_id.to_owned(),
        prior,
        next,
    })
}

/// Reads a head from its text, with or without its prefix.
pub fn head(text: &str) -> Option<[u8; 32]> {
    hex(text.strip_prefix("blake3:").unwrap_or(text))
}

/// Links an event's bytes to the head before them.
pub fn link(prior: &[u8; 32], bytes: &[u8]) -> [u8; 32] {
    let mut input = Vec::with_capacity(65 + bytes.len());
    for byte in prior {
        input.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
    input.push(0x1e);
    input.extend_from_slice(bytes);
    *blake3::hash(&input).as_bytes()
}

fn hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        for digit in pair {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return None,
            };
            *byte = (*byte << 4) | value;
        }
    }
    Some(bytes)
}

/// Whether a text is 26 upper-case Crockford characters, the first of them from `0` to `7`.
pub fn is_ulid(text: &str) -> bool {
    let is_digit = |byte: u8| b"0123456789ABCDEFGHJKMNPQRSTVWXYZ".contains(&byte);
    text.len() == 26 && text.bytes().all(is_digit) && text.as_bytes()[0] <= b'7'
}

fn is_workflow(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    let stem = text.split('.').next().unwrap_or(text).to_ascii_uppercase();
    let is_device = ["CON", "PRN", "AUX", "NUL"].contains(&&*stem)
        || stem.len() == 4
            && (stem.starts_with("COM") || stem.starts_with("LPT"))
            && stem.as_bytes()[3].is_ascii_digit();
    bytes.len() <= 128
        && first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
        && !is_device
}
