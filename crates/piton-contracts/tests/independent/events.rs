//! Owns event bytes at the edges of the format: what is an event, and what is nearly one. It says
//! of none which it is.

use piton_ledger::WorkflowId;
use piton_store::{PersistedRow, Stored, Tail};
use piton_testkit::tamper::relink;

use crate::damage::Random;
use crate::ledger::Ledger;

const ID: &str = "01JZ8Q5T9V6W3X2Y1Z0ABCDE01";
const WORKFLOW: &str = "w";

/// Members of an event in their canonical order, as JSON.
#[derive(Clone)]
struct Members(Vec<(&'static str, String)>);

impl Members {
    fn plain() -> Self {
        let digest = format!("\"blake3:{}\"", "a".repeat(64));
        Self(vec![
            ("chain_head", digest.clone()),
            ("evidence_digest", digest),
            ("next_state_id", "\"plan_ready\"".to_owned()),
            ("prior_state_id", "\"needs_plan\"".to_owned()),
            ("transition_id", format!("\"{ID}\"")),
            ("triggering_outcome", "null".to_owned()),
            ("workflow_id", format!("\"{WORKFLOW}\"")),
        ])
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        for (_, held) in self.0.iter_mut().filter(|(known, _)| *known == name) {
            *held = value.to_owned();
        }
        self
    }

    fn text(&self) -> String {
        let members = self.0.iter();
        let members: Vec<_> = members
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        format!("{{{}}}", members.join(","))
    }
}

/// A ledger of one row that links, whatever its bytes are.
fn ledger(bytes: Vec<u8>) -> (String, Ledger) {
    let workflow: WorkflowId = WORKFLOW.parse().expect("a workflow id");
    let what = format!("event {}", String::from_utf8_lossy(&bytes));
    let mut rows = vec![PersistedRow {
        sequence: 1,
        transition_id: ID.into(),
        prior_head: "".into(),
        next_head: "".into(),
        event_bytes: Some(bytes),
        written_at: Stored::Null,
    }];
    relink(&mut rows, 0);
    let head = rows[0].next_head.to_head().expect("a head");
    let pin = Tail::At {
        sequence: piton_ledger::Sequence::FIRST,
        head,
    };
    (what, Ledger::new(&workflow, rows, Some(pin)))
}

fn nested(open: &str, inner: &str, close: &str, levels: usize) -> String {
    [&open.repeat(levels), inner, &close.repeat(levels)].concat()
}

/// Outcomes: numbers, strings, nesting, duplicates, space.
fn outcomes() -> Vec<String> {
    let numbers = "0 -0 -0.0 0.0 00 01 -01 - + +1 .5 5. 5.e1 1e 1e+ 1E5 1e-5 1e400 -1e400 1e-400 \
        1.7976931348623157e308 1.7976931348623158e308 1.7976931348623159e308 \
        179769313486231580793728971405301e276 5e-324 2e-324 9007199254740993 \
        9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 \
        18446744073709551615 18446744073709551616 18446744073709552000 18446744073709553000 \
        -9223372036854776000 -9223372036854777000 -18446744073709552000 100000000000000000000 \
        100000000000000000001 -100000000000000000000 999999999999999900000 \
        999999999999999999999 1000000000000000000000 1000000000000000000000.0 \
        123456789012345680000 123456789012345678901 1234567890123456789012345 NaN Infinity \
        -Infinity 0x1 1_0 1e1.5 1.5.5 true false null True nul truee tru \u{0661}";
    let strings = [
        r#""""#,
        r#""a"#,
        r#""\""#,
        r#""\"""#,
        r#""\\""#,
        r#""\/""#,
        r#""\b\f\n\r\t""#,
        r#""\a""#,
        r#""\u0000""#,
        r#""\u00e9\u00E9""#,
        r#""\u12""#,
        r#""\u12g4""#,
        r#""\u+123""#,
        r#""\u 123""#,
        r#""\U0041""#,
        r#""\ud83d\ude00""#,
        r#""\ud83d""#,
        r#""\ude00""#,
        r#""\ud83dx""#,
        r#""\ud83d\u0041""#,
        r#""\ud83d\n""#,
        r#""\ude00\ud83d""#,
        r#""\ud83d\ud83d\ude00""#,
        r#""\uDBFF\uDFFF""#,
        r#""\ud800\udc00""#,
        r#""\ufeff""#,
        r#""\uffff""#,
        "\"\u{7f}\u{80}\u{2028}\u{fffe}\u{10ffff}\"",
        "\"\t\"",
        "\"\n\"",
        "\"\u{0}\"",
        "\"\u{1f}\"",
        "'a'",
        "\"a\" \"b\"",
    ];
    let structures = [
        "{}",
        "[]",
        "{ }",
        "[ ]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1,2",
        "{\"a\":1,}",
        "{\"a\"}",
        "{a:1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":}",
        "{:1}",
        "{1:1}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1,\"\\u0061\":2}",
        "{\"\":1,\"\":1}",
        "{\"a\":{\"a\":1},\"b\":{\"a\":1}}",
        "[{\"k\":1,\"k\":1}]",
        "{\"\\ud800\":1}",
        "{\"\u{e9}\":1,\"e\u{301}\":1}",
        "[\u{a0}1]",
        "[\u{c}1]",
        "[\r\n\t 1 ]",
        "[1]//c",
        "[/**/1]",
        "[1]]",
        "\u{feff}1",
        "",
    ];
    let mut outcomes: Vec<String> = numbers.split_whitespace().map(str::to_owned).collect();
    outcomes.extend(strings.map(str::to_owned));
    outcomes.extend(structures.map(str::to_owned));
    for levels in [125, 126, 127, 128, 129, 4000] {
        outcomes.push(nested("[", "", "]", levels));
        outcomes.push(nested("{\"a\":", "1", "}", levels));
        outcomes.push(nested("[", "7", "]", levels));
        outcomes.push(format!(
            "{{\"b\":{},\"c\":[]}}",
            nested("[", "", "]", levels - 1)
        ));
    }
    outcomes
}

/// Values of the other members, each with the member.
fn values() -> Vec<(&'static str, String)> {
    let text = |text: &str| format!("\"{text}\"");
    let mut values = Vec::new();
    let digits = "a".repeat(64);
    for member in ["chain_head", "evidence_digest"] {
        for value in [
            digits.clone(),
            digits.to_uppercase(),
            digits[1..].to_owned(),
            format!("blake3:{digits}a"),
            format!("blake3:{}g", &digits[1..]),
            format!("blake3:{}", digits.to_uppercase()),
            format!("BLAKE3:{digits}"),
            format!("sha256:{digits}"),
            format!("blake3:blake3:{digits}"),
            format!("blake3:{digits}\\n"),
            format!(" blake3:{digits}"),
            format!("blake3:\\u0061{}", &digits[1..]),
            format!("blake3:\u{0661}{}", &digits[1..]),
            String::new(),
        ] {
            values.push((member, text(&value)));
        }
    }
    for value in [
        "00000000000000000000000000",
        "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "01jz8q5t9v6w3x2y1z0abcde01",
        "01JZ8Q5T9V6W3X2Y1Z0ABCDE0I",
        "01JZ8Q5T9V6W3X2Y1Z0ABCDE0L",
        "01JZ8Q5T9V6W3X2Y1Z0ABCDE0O",
        "01JZ8Q5T9V6W3X2Y1Z0ABCDE0U",
        "01JZ8Q5T9V6W3X2Y1Z0ABCDE0",
        "01JZ8Q5T9V6W3X2Y1Z0ABCDE011",
        "\\u0030",
        "\\u00301JZ8Q5T9V6W3X2Y1Z0ABCDE01",
        "",
    ] {
        values.push(("transition_id", text(value)));
    }
    let long = "w".repeat(128);
    for value in [
        "w",
        "W",
        "9",
        "\\u0077",
        "a.b",
        "a-b_c",
        "a..b",
        ".a",
        "a.",
        "-a",
        "a-",
        "_a",
        "a b",
        "a/b",
        "\u{e9}",
        "\u{0661}",
        "CON",
        "con",
        "cOn.x",
        "con.x.y",
        "CON1",
        "CONx",
        "xCON",
        "x.con",
        "PRN",
        "AUX",
        "NUL",
        "nul.tar",
        "COM",
        "COM0",
        "COM1",
        "com9.txt",
        "COM10",
        "COMx",
        "LPT0",
        "LPT5",
        "LPT",
        "LPT55.a",
        "CLOCK$",
        "conin",
        &long,
        &format!("{long}w"),
        "",
        "w\\n",
    ] {
        values.push(("workflow_id", text(value)));
    }
    let states = [
        "needs_plan",
        "plan_ready",
        "patch_applied",
        "gate_failed_retryable",
        "awaiting_human_review",
        "completed",
        "failed_unrecoverable",
        "Completed",
        "",
        "none",
        "plan_\\u0072eady",
    ];
    for state in states {
        values.push(("next_state_id", text(state)));
        values.push(("prior_state_id", text(state)));
    }
    for member in Members::plain().0 {
        for value in ["null", "1", "[]", "{}", "true"] {
            values.push((member.0, value.to_owned()));
        }
    }
    values
}

/// Every edge between two states.
fn edges() -> Vec<String> {
    let states = [
        "needs_plan",
        "plan_ready",
        "patch_applied",
        "gate_failed_retryable",
        "awaiting_human_review",
        "completed",
        "failed_unrecoverable",
    ];
    let pairs = states
        .iter()
        .flat_map(|prior| states.map(|next| (*prior, next)));
    pairs
        .map(|(prior, next)| {
            Members::plain()
                .with("prior_state_id", &format!("\"{prior}\""))
                .with("next_state_id", &format!("\"{next}\""))
                .text()
        })
        .collect()
}

/// Whole events in odd forms.
fn wholes() -> Vec<Vec<u8>> {
    let plain = Members::plain().text();
    let mut wholes: Vec<Vec<u8>> = vec![
        format!("\u{feff}{plain}").into_bytes(),
        format!(" \t\r\n{plain} \t\r\n").into_bytes(),
        format!("{plain}\u{0}").into_bytes(),
        format!("{plain}{plain}").into_bytes(),
        format!("[{plain}]").into_bytes(),
        plain
            .replace("workflow_id", "workflow\\u005fid")
            .into_bytes(),
        plain
            .replacen('{', "{\"workflow\\u005fid\":\"w\",", 1)
            .into_bytes(),
        plain.replacen('{', "{\"extra\":1,", 1).into_bytes(),
        plain.replace("null", "\"\u{1}\"").into_bytes(),
        plain.replace(':', " : ").into_bytes(),
        Vec::new(),
    ];
    for invalid in [
        &b"\xff"[..],
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xe2\x82",
        b"\xc3\xa9",
    ] {
        let (before, after) = plain.split_once("null").expect("an outcome");
        let quoted = [before.as_bytes(), b"\"", invalid, b"\"", after.as_bytes()].concat();
        wholes.push(quoted);
    }
    let Members(members) = Members::plain();
    for at in 0..members.len() {
        let mut fewer = members.clone();
        fewer.remove(at);
        wholes.push(Members(fewer).text().into_bytes());
        let mut twice = members.clone();
        twice.push(members[at].clone());
        wholes.push(Members(twice).text().into_bytes());
        let mut turned = members.clone();
        turned.rotate_left(at);
        wholes.push(Members(turned).text().into_bytes());
    }
    wholes
}

/// Events with a few bytes replaced, removed or added at random.
fn garbled(count: usize) -> Vec<Vec<u8>> {
    let mut random = Random(2);
    let outcome = r#"{"a":[1,-2.5e3,true,null,"x\u00e9\n"],"b":{"c":18446744073709551615}}"#;
    let plain = Members::plain()
        .with("triggering_outcome", outcome)
        .text()
        .into_bytes();
    // Only the outcome is garbled: elsewhere nearly every change is refused by both at once.
    let start = plain
        .windows(4)
        .position(|part| part == b"{\"a\"")
        .expect("the outcome");
    let piece = b"{}[]:,\"\\/ue+-.0129aEtfn \n\x00\x1f\x7f\x80\xc3\xff";
    let mut garble = || {
        let mut bytes = plain.clone();
        for _ in 0..=random.below(2) {
            let at = start + random.below(outcome.len());
            let byte = piece[random.below(piece.len())];
            match random.below(3) {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        bytes
    };
    (0..count).map(|_| garble()).collect()
}

/// A ledger for each of the events.
pub(crate) fn ledgers() -> Vec<(String, Ledger)> {
    let outcomes = outcomes().into_iter().map(|outcome| {
        let members = Members::plain().with("triggering_outcome", &outcome);
        members.text().into_bytes()
    });
    let values = values()
        .into_iter()
        .map(|(member, value)| Members::plain().with(member, &value).text().into_bytes());
    let edges = edges().into_iter().map(String::into_bytes);
    outcomes
        .chain(values)
        .chain(edges)
        .chain(wholes())
        .chain(garbled(400))
        .map(ledger)
        .collect()
}
