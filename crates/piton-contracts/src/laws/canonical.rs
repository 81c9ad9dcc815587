//! The law of canonical JSON: it takes what others take, gives what RFC 8785 gives wherever no
//! integer is widened, gives the same again, and refuses with the true reason.

use piton_ledger::json::{JsonErrorKind, Rewrite, canonicalize, rewrite};
use piton_ledger::{CanonicalJson, json};
use serde_json::Value;

use super::reference::tree::Tree;

/// The integers that a double holds exactly, so that the RFC and the widening agree.
const LARGEST_EXACT: u64 = (1 << 53) - 1;

/// Checks the law on one text.
pub fn check(text: &[u8]) {
    let theirs = serde_json::from_slice::<Value>(text);
    match canonicalize(text) {
        Ok(ours) => check_taken(text, &ours, theirs),
        Err(error) => {
            assert!(error.offset() <= text.len());
            check_refused(text, error.kind(), theirs.is_ok());
        }
    }
}

fn check_taken(text: &[u8], ours: &str, theirs: serde_json::Result<Value>) {
    let theirs = theirs.expect("what has a canonical form is JSON");
    assert_eq!(canonicalize(ours.as_bytes()).as_deref(), Ok(ours));
    assert_eq!(rewrite(text, &mut Keep).as_deref(), Ok(ours));
    let value = CanonicalJson::parse(text);
    match depth(ours) {
        json::MAX_LEVELS => assert!(value.is_err(), "an event is a level of its own"),
        _ => assert_eq!(value.expect("shallow enough").as_str(), ours),
    }
    let reread: Value = serde_json::from_str(ours).expect("canonical text is JSON");
    assert!(says_the_same(&reread, &theirs), "{reread} {theirs}");
    let tree = Tree::read(text).expect("what has a canonical form is JSON");
    assert!(!tree.repeats_a_key());
    if is_exact(&theirs) {
        let other = serde_json_canonicalizer::to_string(&theirs).expect("a canonical form");
        assert_eq!(ours, other);
        let other = serde_jcs::to_string(&theirs).expect("a canonical form");
        assert_eq!(ours, other);
    }
}

fn check_refused(text: &[u8], kind: JsonErrorKind, others_take_it: bool) {
    if kind == JsonErrorKind::DuplicateKey {
        let tree = Tree::read(text);
        assert!(tree.is_none_or(|tree| tree.repeats_a_key()));
    } else if kind == JsonErrorKind::IntegerOutOfRange {
        let mut runs = text.split(|byte| !byte.is_ascii_digit());
        assert!(runs.any(|run| run.len() >= 19), "no integer is that long");
    } else if kind == JsonErrorKind::TooDeep {
        let opened = text.iter().filter(|byte| matches!(byte, b'[' | b'{'));
        assert!(opened.count() > json::MAX_LEVELS);
    } else {
        assert!(!others_take_it, "{kind}, and yet others take it");
    }
}

/// How many levels a canonical text has.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth -= 1,
            _ => {}
        }
    }
    deepest
}

/// Whether the canonical text says what the text says. An integer must be the same integer; but a
/// double may print as an integer, and then the two have one nearest double.
fn says_the_same(canonical: &Value, text: &Value) -> bool {
    match (canonical, text) {
        (Value::Number(ours), Value::Number(theirs)) if theirs.is_f64() => {
            ours.as_f64() == theirs.as_f64()
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len()
                && ours
                    .iter()
                    .zip(theirs)
                    .all(|(ours, theirs)| says_the_same(ours, theirs))
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            ours.len() == theirs.len()
                && ours
                    .iter()
                    .zip(theirs)
                    .all(|((key, ours), (other, theirs))| {
                        key == other && says_the_same(ours, theirs)
                    })
        }
        (ours, theirs) => ours == theirs,
    }
}

fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let integer = number
                .as_u64()
                .or_else(|| number.as_i64().map(i64::unsigned_abs));
            integer.is_none_or(|integer| integer <= LARGEST_EXACT)
        }
        Value::Array(values) => values.iter().all(is_exact),
        Value::Object(members) => members.values().all(is_exact),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

struct Keep;

impl Rewrite for Keep {
    fn key(&mut self, _key: &str) -> Option<String> {
        None
    }
    fn enter(&mut self, _key: &str) {}
    fn leave(&mut self) {}
    fn value(&mut self, _text: &str) -> Option<String> {
        None
    }
}
