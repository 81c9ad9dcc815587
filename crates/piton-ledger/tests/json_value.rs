//! Values held as canonical text: parsing, serde in both directions, and what `Debug` shows.

use std::collections::BTreeMap;

use piton_ledger::json::{CanonicalJson, JsonErrorKind};
use serde::{Deserialize, Serialize, Serializer};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Envelope {
    outcome: CanonicalJson,
    after: u8,
}

/// Refuses to be serialised.
struct Stubborn;

impl Serialize for Stubborn {
    fn serialize<S: Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("secret"))
    }
}

fn parse(text: &str) -> CanonicalJson {
    text.parse().expect("the text has a canonical form")
}

#[test]
fn values_are_equal_when_their_canonical_texts_are() {
    assert_eq!(
        parse(r#" {"b": 1.0, "a": "\u0041"} "#),
        parse(r#"{"a":"A","b":1}"#)
    );
    assert_ne!(parse("[1,2]"), parse("[2,1]"));
    assert_eq!(parse(" 1 ").as_str(), "1");
    assert_eq!(
        "".parse::<CanonicalJson>().map_err(|error| error.kind()),
        Err(JsonErrorKind::UnexpectedEnd)
    );
}

#[test]
fn debug_shows_the_length_and_never_the_text() {
    assert_eq!(
        format!("{:?}", parse(r#""secret""#)),
        "CanonicalJson(8 bytes)"
    );
    assert_eq!(format!("{:#?}", parse("[ 1 ]")), "CanonicalJson(3 bytes)");
}

#[test]
fn a_value_serialises_as_the_json_it_holds() {
    let envelope = Envelope {
        outcome: parse(r#"{"b":[1e20],"a":18446744073709551615}"#),
        after: 7,
    };
    let text = serde_json::to_string(&envelope).expect("an envelope serialises");
    assert_eq!(
        text,
        r#"{"outcome":{"a":18446744073709551615,"b":[100000000000000000000]},"after":7}"#
    );
    assert_eq!(
        serde_json::from_str::<Envelope>(&text).expect("its own text"),
        envelope
    );
}

#[test]
fn a_value_deserialises_from_any_spelling() {
    for (outcome, expected) in [
        (r#"{"a":1,"b":"x"}"#, r#"{"a":1,"b":"x"}"#),
        (r#" { "b" : "\u0078" , "a" : 1.0 } "#, r#"{"a":1,"b":"x"}"#),
        (" null ", "null"),
        ("-0", "0"),
        ("18446744073709551615", "18446744073709551615"),
    ] {
        let text = format!(r#"{{"outcome":{outcome},"after":1}}"#);
        let envelope: Envelope = serde_json::from_str(&text).expect("an envelope");
        assert_eq!(envelope.outcome.as_str(), expected);
    }
    let tree = serde_json::json!({"outcome": {"b": 1, "a": 2.0}, "after": 1});
    let envelope: Envelope = serde_json::from_value(tree).expect("an envelope");
    assert_eq!(envelope.outcome.as_str(), r#"{"a":2,"b":1}"#);
}

#[test]
fn deserialising_refuses_what_parsing_refuses() {
    for (outcome, expected) in [
        (
            r#"{"a":1,"a":2}"#.to_owned(),
            "duplicate object key at byte 7",
        ),
        (
            "1e999".to_owned(),
            "number too large for a double at byte 0",
        ),
        (
            "100000000000000000001".to_owned(),
            "integer outside 64 bits at byte 0",
        ),
        (r#""\ud800""#.to_owned(), "lone surrogate at byte 1"),
        (
            format!("{}{}", "[".repeat(127), "]".repeat(127)),
            "nesting too deep at byte 126",
        ),
    ] {
        let text = format!(r#"{{"outcome":{outcome},"after":1}}"#);
        let error = serde_json::from_str::<Envelope>(&text).expect_err("no canonical form");
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[test]
fn anything_that_serialises_becomes_a_value() {
    let value = CanonicalJson::from_serialize(&("é\u{1}", 1.5, u64::MAX, i64::MIN, None::<u8>));
    let expected = "[\"é\\u0001\",1.5,18446744073709551615,-9223372036854775808,null]";
    assert_eq!(value.expect("a tuple serialises").as_str(), expected);
    let value = CanonicalJson::from_serialize(&[1e20, 1e21, -0.0, 0.1 + 0.2]);
    let expected = "[100000000000000000000,1e+21,0,0.30000000000000004]";
    assert_eq!(value.expect("doubles serialise").as_str(), expected);
    let nested = Envelope {
        outcome: parse("{}"),
        after: 0,
    };
    let value = CanonicalJson::from_serialize(&nested).expect("an envelope serialises");
    assert_eq!(value.as_str(), r#"{"after":0,"outcome":{}}"#);
}

#[test]
fn a_failing_serialisation_is_told_apart_and_shows_nothing() {
    let error = CanonicalJson::from_serialize(&Stubborn).expect_err("it refuses");
    assert_eq!(
        (error.kind(), error.offset()),
        (JsonErrorKind::Unserializable, 0)
    );
    assert_eq!(error.to_string(), "value without a JSON form at byte 0");
    let keyed = BTreeMap::from([((1, 2), 3)]);
    let error = CanonicalJson::from_serialize(&keyed).expect_err("a key is not a string");
    assert_eq!(error.kind(), JsonErrorKind::Unserializable);
    let error = CanonicalJson::from_serialize(&u128::MAX).expect_err("too large");
    assert_eq!(error.kind(), JsonErrorKind::IntegerOutOfRange);
}
