//! Owns the law that ties a schema to its type: the schema allows a JSON value exactly if the type
//! reads it and writes it back unchanged. It holds no schema and no sample.

use std::fmt::Debug;

use jsonschema::{Draft, Validator};
use piton_ledger::{ReviewReason, StateMachine, VulnState};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A member that no type has.
const UNKNOWN: &str = "unexpected";

/// Holds a schema to its type, on samples of every variant and on thousands of values that differ
/// from a sample in one place.
///
/// A member that is new in the type is in a sample, and a schema that doesn't have it refuses
/// that sample; a member that is gone is missed there. A limit or a name that only one of the two
/// knows shows up among the altered values.
#[track_caller]
pub(super) fn hold<T: Serialize + DeserializeOwned + Debug>(schema: &Value, samples: &[T]) {
    let validator = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .build(schema)
        .expect("the schema is one");
    let mut refused = 0;
    for sample in samples {
        let written = serde_json::to_value(sample).expect("a sample is written");
        assert!(
            written_back::<T>(&written).as_ref() == Some(&written),
            "the type does not write back what it wrote: {written}"
        );
        if let Err(error) = validator.validate(&written) {
            panic!("the schema refuses what the type writes: {error}: {written}");
        }
        for altered in alterations(&written) {
            refused += usize::from(!check::<T>(&validator, &altered));
        }
    }
    assert!(refused > 50 * samples.len(), "only {refused} were refused");
}

/// Compares the two answers about one value, and gives the answer.
#[track_caller]
fn check<T: Serialize + DeserializeOwned>(validator: &Validator, value: &Value) -> bool {
    let allowed = validator.is_valid(value);
    let written = written_back::<T>(value);
    assert_eq!(
        allowed,
        written.as_ref() == Some(value),
        "the schema (left) and the type (right) disagree whether this is written: {value}"
    );
    // A reader may take more than is written, such as a head without its prefix, but no member
    // may be lost without a word.
    assert!(
        allowed || written.is_none() || !value.to_string().contains(UNKNOWN),
        "the type drops a member that it does not have: {value}"
    );
    allowed
}

/// Reads a value and writes it again, if it can be read.
fn written_back<T: Serialize + DeserializeOwned>(value: &Value) -> Option<Value> {
    // Through text, since events are read from nothing else.
    let read: T = serde_json::from_str(&value.to_string()).ok()?;
    Some(serde_json::to_value(read).expect("what was read is written"))
}

/// Gives every value that differs in one place: a member more, a member less, an item more, or
/// something else in that place.
fn alterations(value: &Value) -> Vec<Value> {
    let mut altered = replacements();
    match value {
        Value::Object(members) => {
            for extra in [Value::Null, json!("x"), json!(1)] {
                let mut grown = members.clone();
                grown.insert(UNKNOWN.to_owned(), extra);
                altered.push(Value::Object(grown));
            }
            for (name, member) in members {
                let mut shrunk = members.clone();
                shrunk.remove(name);
                altered.push(Value::Object(shrunk));
                for inner in alterations(member) {
                    let mut changed = members.clone();
                    changed.insert(name.clone(), inner);
                    altered.push(Value::Object(changed));
                }
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                for inner in alterations(item) {
                    let mut changed = items.clone();
                    changed[place] = inner;
                    altered.push(Value::Array(changed));
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    altered
}

/// What is put in the place of anything: each type, the edges of each limit, each name.
///
/// JSON Schema takes `1.0` for a whole number and has no bound for the whole numbers among
/// others, so neither stands here for the members that are counted.
fn replacements() -> Vec<Value> {
    let digest = format!("blake3:{}", "0f".repeat(32));
    let mut values = vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(1.5),
        json!(u32::MAX),
        json!(u64::from(u32::MAX) + 1),
        json!(i64::MAX),
        json!(i64::MIN),
        json!([]),
        json!({}),
        json!({ "kind": "completed" }),
        json!("A".repeat(128)),
        json!("A".repeat(129)),
        json!("a".repeat(64)),
        json!("a".repeat(65)),
        json!("é".repeat(4096)),
        json!("é".repeat(4097)),
        json!(digest),
        json!(digest.to_uppercase()),
        json!(digest.replace('f', "F")),
        json!(&digest[7..]),
        json!(&digest[..70]),
        json!(format!("{digest}\n")),
    ];
    let texts = [
        "",
        "a",
        "a_1",
        "1a",
        "a.b",
        "a.B",
        "a.b.c",
        ".a",
        "a.",
        "a-",
        "a b",
        "a\n",
        "ü",
        "../a",
        "CON",
        "con.txt",
        "Nul",
        "com0.a",
        "lpt10",
        "console",
        "01JZ8Q5T9V6W3X2Y1Z0ABCDEFG",
        "81JZ8Q5T9V6W3X2Y1Z0ABCDEFG",
        "01jz8q5t9v6w3x2y1z0abcdefg",
        "01JZ8Q5T9V6W3X2Y1Z0ABCDEFI",
        "verified",
        "chain_mismatch",
        "torn_write",
        "empty_workflow",
        "hydrated",
        "next_head",
        "truncated_tail",
        "checkpoint_integrity",
    ];
    values.extend(texts.map(Value::from));
    values.extend(VulnState::KINDS.iter().map(|kind| json!(kind.slug())));
    values.push(json!(ReviewReason::MultiPackageCve));
    values
}
