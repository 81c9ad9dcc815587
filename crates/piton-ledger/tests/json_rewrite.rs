//! Rewriting: which strings the hook sees, and what becomes of replaced keys.

use std::collections::BTreeMap;

use piton_ledger::json::{CanonicalJson, JsonErrorKind, Rewrite, canonicalize, rewrite};

/// Replaces keys and values by table.
#[derive(Default)]
struct Table {
    keys: BTreeMap<&'static str, &'static str>,
    values: BTreeMap<&'static str, &'static str>,
}

impl Rewrite for Table {
    fn key(&mut self, key: &str) -> Option<String> {
        self.keys.get(key).map(|text| (*text).to_owned())
    }
    fn enter(&mut self, _key: &str) {}
    fn leave(&mut self) {}
    fn value(&mut self, text: &str) -> Option<String> {
        self.values.get(text).map(|text| (*text).to_owned())
    }
}

/// Notes every call and replaces each key by `k`.
#[derive(Default)]
struct Trace(Vec<String>);

impl Rewrite for Trace {
    fn key(&mut self, key: &str) -> Option<String> {
        self.0.push(format!("key {key}"));
        Some("k".to_owned())
    }
    fn enter(&mut self, key: &str) {
        self.0.push(format!("enter {key}"));
    }
    fn leave(&mut self) {
        self.0.push("leave".to_owned());
    }
    fn value(&mut self, text: &str) -> Option<String> {
        self.0.push(format!("value {text}"));
        None
    }
}

#[track_caller]
fn check_keys<const N: usize>(
    keys: [(&'static str, &'static str); N],
    input: &str,
    expected: &str,
) {
    let mut table = Table {
        keys: BTreeMap::from(keys),
        ..Table::default()
    };
    assert_eq!(
        rewrite(input.as_bytes(), &mut table).as_deref(),
        Ok(expected)
    );
}

#[track_caller]
fn check_values<const N: usize>(
    values: [(&'static str, &'static str); N],
    input: &str,
    expected: &str,
) {
    let mut table = Table {
        values: BTreeMap::from(values),
        ..Table::default()
    };
    assert_eq!(
        rewrite(input.as_bytes(), &mut table).as_deref(),
        Ok(expected)
    );
}

#[test]
fn a_rewriter_that_keeps_everything_changes_nothing() {
    let text = r#"{"b":["\u0041\n",{"d":1,"c":"x"}],"a":-0}"#;
    let canonical = canonicalize(text.as_bytes());
    assert_eq!(rewrite(text.as_bytes(), &mut Table::default()), canonical);
    assert_eq!(
        canonical.as_deref(),
        Ok(r#"{"a":0,"b":["A\n",{"c":"x","d":1}]}"#)
    );
}

#[test]
fn the_hook_sees_decoded_strings_in_the_order_of_the_text() {
    let mut trace = Trace::default();
    let text = r#"{"b\n":["\u0041",{"\"":"é","z":[]}],"a":{"n":1}, "s":"t"}"#;
    let written = rewrite(text.as_bytes(), &mut trace).expect("canonical text exists");
    assert_eq!(
        written,
        r#"{"k":{"k":1},"k#2":["A",{"k":"é","k#2":[]}],"k#3":"t"}"#
    );
    let expected = [
        "key b\n",
        "enter b\n",
        "value A",
        "key \"",
        "enter \"",
        "value é",
        "leave",
        "key z",
        "enter z",
        "leave",
        "leave",
        "key a",
        "enter a",
        "key n",
        "enter n",
        "leave",
        "leave",
        "key s",
        "enter s",
        "value t",
        "leave",
    ];
    assert_eq!(trace.0, expected);
}

#[test]
fn values_are_replaced_wherever_they_stand() {
    check_values([("a", "b")], r#""a""#, r#""b""#);
    check_values([("a", "b")], r#"["a", "c", "a"]"#, r#"["b","c","b"]"#);
    check_values(
        [("a", "b")],
        r#"{"a":"a","b":{"c":["\u0061"]}}"#,
        r#"{"a":"b","b":{"c":["b"]}}"#,
    );
    check_values([("a", "")], r#"["a"]"#, r#"[""]"#);
    check_values(
        [("a", "a longer text than before")],
        r#"["a"]"#,
        r#"["a longer text than before"]"#,
    );
}

#[test]
fn replacements_are_escaped() {
    check_values(
        [("a", "\"\\\u{1}\u{1f}\n/é\u{7f}")],
        r#"["a"]"#,
        "[\"\\\"\\\\\\u0001\\u001f\\n/é\u{7f}\"]",
    );
    check_keys([("a", "\"\n")], r#"{"a":1}"#, r#"{"\"\n":1}"#);
}

#[test]
fn an_escaped_value_that_is_kept_beside_one_that_is_replaced_stays_itself() {
    check_values(
        [("a", "b")],
        r#"["\u0041\/","a","x\ny","\t"]"#,
        r#"["A/","b","x\ny","\t"]"#,
    );
}

#[test]
fn members_sort_by_their_final_keys() {
    check_keys([("a", "z")], r#"{"a":1,"m":2}"#, r#"{"m":2,"z":1}"#);
    check_keys([("z", "a")], r#"{"z":1,"m":2}"#, r#"{"a":1,"m":2}"#);
    check_keys(
        [("x", "\u{e000}"), ("y", "\u{10000}")],
        r#"{"x":1,"y":2}"#,
        "{\"\u{10000}\":2,\"\u{e000}\":1}",
    );
    check_keys(
        [("b", "y")],
        r#"{"a":{"b":{"c":1},"x":2}}"#,
        r#"{"a":{"x":2,"y":{"c":1}}}"#,
    );
}

#[test]
fn collisions_are_numbered_in_the_canonical_order_of_the_originals() {
    let same = [("a", "r"), ("b", "r"), ("c", "r")];
    check_keys(
        same,
        r#"{"a":1,"b":2,"c":3}"#,
        r##"{"r":1,"r#2":2,"r#3":3}"##,
    );
    check_keys(
        same,
        r#"{"c":3,"a":1,"b":2}"#,
        r##"{"r":1,"r#2":2,"r#3":3}"##,
    );
    // Canonical order is that of UTF-16, not that of the bytes.
    check_keys(
        [("\u{e000}", "r"), ("\u{10000}", "r")],
        "{\"\u{e000}\":1,\"\u{10000}\":2}",
        r##"{"r":2,"r#2":1}"##,
    );
}

#[test]
fn a_key_that_is_kept_has_first_claim_to_its_text() {
    check_keys([("a", "r")], r#"{"a":1,"r":2}"#, r##"{"r":2,"r#2":1}"##);
    check_keys([("z", "r")], r#"{"z":1,"r":2}"#, r##"{"r":2,"r#2":1}"##);
    check_keys(
        [("a", "r"), ("b", "r")],
        r##"{"a":1,"b":2,"r#2":3}"##,
        r##"{"r":1,"r#2":3,"r#3":2}"##,
    );
    check_keys(
        [("a", "r"), ("b", "r")],
        r##"{"a":1,"b":2,"r":0,"r#3":3,"r#2":4}"##,
        r##"{"r":0,"r#2":4,"r#3":3,"r#4":1,"r#5":2}"##,
    );
    // Told to become what it is, a key counts as kept.
    check_keys(
        [("a", "r"), ("r", "r")],
        r#"{"a":1,"r":2}"#,
        r##"{"r":2,"r#2":1}"##,
    );
    // Keys may swap: neither is kept, so both texts are free.
    check_keys(
        [("a", "b"), ("b", "a")],
        r#"{"a":1,"b":2}"#,
        r#"{"a":2,"b":1}"#,
    );
}

#[test]
fn a_replacement_may_look_like_a_suffixed_one() {
    check_keys(
        [("a", "r"), ("b", "r"), ("c", "r#2"), ("d", "r")],
        r#"{"a":1,"b":2,"c":3,"d":4}"#,
        r##"{"r":1,"r#2":2,"r#2#2":3,"r#3":4}"##,
    );
    check_keys(
        [("a", "r#2"), ("b", "r"), ("c", "r")],
        r#"{"a":1,"b":2,"c":3}"#,
        r##"{"r":2,"r#2":1,"r#3":3}"##,
    );
}

#[test]
fn suffixes_sort_as_text() {
    let members: Vec<String> = (10..22)
        .map(|number| format!("\"{number}\":{number}"))
        .collect();
    let text = format!("{{{}}}", members.join(","));
    assert_eq!(
        rewrite(text.as_bytes(), &mut Trace::default()).as_deref(),
        Ok(
            r##"{"k":10,"k#10":19,"k#11":20,"k#12":21,"k#2":11,"k#3":12,"k#4":13,"k#5":14,"k#6":15,"k#7":16,"k#8":17,"k#9":18}"##
        )
    );
}

#[test]
fn a_large_object_whose_keys_all_collide_keeps_every_member() {
    let members: Vec<String> = (0..20_000)
        .map(|number| format!("\"{number:05}\":{number}"))
        .collect();
    let text = format!("{{{}}}", members.join(","));
    let written = rewrite(text.as_bytes(), &mut Trace::default()).expect("canonical text exists");
    let parsed: BTreeMap<String, u32> = serde_json::from_str(&written).expect("one object");
    assert_eq!(parsed.len(), 20_000);
    assert_eq!(parsed.get("k"), Some(&0));
    assert_eq!(parsed.get("k#2"), Some(&1));
    assert_eq!(parsed.get("k#20000"), Some(&19_999));
}

#[test]
fn duplicates_are_judged_by_the_original_keys() {
    let mut table = Table {
        keys: BTreeMap::from([("a", "x")]),
        ..Table::default()
    };
    let error = rewrite(br#"{"a":1,"b":2,"a":3}"#, &mut table).expect_err("the key repeats");
    assert_eq!(
        (error.kind(), error.offset()),
        (JsonErrorKind::DuplicateKey, 13)
    );
}

#[test]
fn a_held_value_is_rewritten_to_another_held_value() {
    let value = CanonicalJson::parse(br#"{"a":"secret","b":1}"#).expect("canonical text exists");
    assert_eq!(value.rewrite(&mut Table::default()), Ok(value.clone()));
    let mut table = Table {
        keys: [("a", "z")].into(),
        values: [("secret", "gone")].into(),
    };
    let rewritten = value
        .rewrite(&mut table)
        .expect("a canonical value can be rewritten");
    assert_eq!(rewritten.as_str(), r#"{"b":1,"z":"gone"}"#);
    assert_eq!(value.as_str(), r#"{"a":"secret","b":1}"#);
}
