//! What has no canonical form: the kind and the position of each fault, and the level limit.

use piton_ledger::json::{CanonicalJson, JsonErrorKind, MAX_LEVELS, canonicalize};
use proptest::prelude::*;

#[track_caller]
fn check(input: impl AsRef<[u8]>, kind: JsonErrorKind, offset: usize) {
    let error = canonicalize(input.as_ref()).expect_err("the text has no canonical form");
    assert_eq!((error.kind(), error.offset()), (kind, offset));
}

fn nested(open: &str, inner: &str, close: &str, levels: usize) -> String {
    format!("{}{inner}{}", open.repeat(levels), close.repeat(levels))
}

#[test]
fn malformed_text_is_refused_where_it_goes_wrong() {
    let cases = [
        ("x", 0),
        ("\u{feff}1", 0),
        ("'a'", 0),
        ("+1", 0),
        (".5", 0),
        ("NaN", 0),
        ("Infinity", 0),
        ("-Infinity", 1),
        ("--1", 1),
        ("01", 1),
        ("-01", 2),
        ("00", 1),
        ("1.e5", 2),
        ("1.x", 2),
        ("1ex", 2),
        ("1e+-1", 3),
        ("trUe", 2),
        ("nul1", 3),
        ("falsy", 4),
        ("]", 0),
        ("[,", 1),
        ("[1,]", 3),
        ("[1 2]", 3),
        ("[1}", 2),
        ("[1\u{a0}]", 2),
        ("{1:2}", 1),
        ("{,}", 1),
        ("{\"a\"}", 4),
        ("{\"a\",1}", 4),
        ("{\"a\":}", 5),
        ("{\"a\":1,}", 7),
        ("{\"a\":1]", 6),
        ("{\"a\":1 \"b\":2}", 7),
        ("{\"a\":1,2}", 7),
        ("/**/1", 0),
        (r#""\x41""#, 2),
        (r#""\U0041""#, 2),
        (r#""\u00g1""#, 5),
        (r#""\u12""#, 5),
        (r#""\u+123""#, 3),
        (r#""\ud800\uzzzz""#, 9),
    ];
    for (text, offset) in cases {
        check(text, JsonErrorKind::Syntax, offset);
    }
}

#[test]
fn a_text_that_breaks_off_is_refused_at_its_end() {
    for text in [
        "",
        " ",
        "\n\t",
        "-",
        "1.",
        "1e",
        "1e-",
        "t",
        "tru",
        "n",
        "\"",
        "\"abc",
        "\"\\",
        "\"\\u",
        "\"\\u00e",
        "\"\\ud800\\u",
        "\"\\ud800\\udc",
        "[",
        "[1",
        "[1,",
        "[1, ",
        "{",
        "{\"a",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":[{\"b\":2}",
        "\"eight888",
    ] {
        check(text, JsonErrorKind::UnexpectedEnd, text.len());
    }
}

#[test]
fn data_after_the_value_is_refused_at_its_first_byte() {
    check("1 2", JsonErrorKind::TrailingData, 2);
    check("1x", JsonErrorKind::TrailingData, 1);
    check("{}{}", JsonErrorKind::TrailingData, 2);
    check("[]]", JsonErrorKind::TrailingData, 2);
    check("null\0", JsonErrorKind::TrailingData, 4);
    check("\"a\" \"b\"", JsonErrorKind::TrailingData, 4);
    check("1\u{feff}", JsonErrorKind::TrailingData, 1);
}

#[test]
fn a_repeated_key_is_refused_where_it_repeats() {
    check(r#"{"a":1,"a":1}"#, JsonErrorKind::DuplicateKey, 7);
    check(r#"{"a":1,"b":2,"a":3}"#, JsonErrorKind::DuplicateKey, 13);
    check(
        r#"{"b":1,"a":2,"b":3,"a":4}"#,
        JsonErrorKind::DuplicateKey,
        13,
    );
    check(
        r#"{"a":1,"b":2,"b":3,"a":4}"#,
        JsonErrorKind::DuplicateKey,
        13,
    );
    check(r#"{"a":1,"a":2,"a":3}"#, JsonErrorKind::DuplicateKey, 7);
    check(r#"{"":1,"":2}"#, JsonErrorKind::DuplicateKey, 6);
    check(r#"[{"x":{"a":1, "a":2}}]"#, JsonErrorKind::DuplicateKey, 14);
    check(r#"{"\u0061":1,"a":2}"#, JsonErrorKind::DuplicateKey, 12);
    check(r#"{"a":1,"\u0061":2}"#, JsonErrorKind::DuplicateKey, 7);
    check(r#"{"/":1,"\/":2}"#, JsonErrorKind::DuplicateKey, 7);
    check(
        r#"{"😀":1,"\uD83D\uDE00":2}"#,
        JsonErrorKind::DuplicateKey,
        10,
    );
}

#[test]
fn the_same_key_may_stand_in_different_objects() {
    let text = r#"{"a":{"a":[{"a":1},{"a":2}]},"b":{"a":1}}"#;
    assert_eq!(canonicalize(text.as_bytes()).as_deref(), Ok(text));
}

#[test]
fn half_of_a_surrogate_pair_is_refused_at_its_escape() {
    let cases = [
        (r#""\ud800""#, 1),
        (r#""\udbff""#, 1),
        (r#""\udc00""#, 1),
        (r#""a\uDFFF""#, 2),
        (r#""\udc00\ud800""#, 1),
        (r#""\ud800\ud800\udc00""#, 1),
        (r#""\ud800\u0041""#, 1),
        (r#""\ud800\ue000""#, 1),
        (r#""\ud800\udbff""#, 1),
        (r#""\ud800A""#, 1),
        (r#""\ud800\n""#, 1),
        (r#""\ud800\udc00\udc00""#, 13),
        (r#"{"\ud800":1}"#, 2),
    ];
    for (text, offset) in cases {
        check(text, JsonErrorKind::LoneSurrogate, offset);
    }
    check(b"\"\\ud800", JsonErrorKind::LoneSurrogate, 1);
}

#[test]
fn a_number_beyond_the_doubles_is_refused() {
    for text in [
        "1e999",
        "-1e999",
        "1.0e309",
        "1.7976931348623159e308",
        "1e99999999999999999999",
    ] {
        check(text, JsonErrorKind::NumberOverflow, 0);
    }
    check("[0, 2E+400]", JsonErrorKind::NumberOverflow, 4);
}

#[test]
fn an_integer_that_would_be_rounded_is_refused() {
    for text in [
        "18446744073709551616",
        "18446744073709551617",
        "-9223372036854775809",
        "-9223372036854775810",
        "100000000000000000001",
        "-100000000000000000001",
        "99999999999999999999",
        "295147905179352825856",
        "1000000000000000000000",
        "-1000000000000000000000",
        "9999999999999999999999",
    ] {
        check(text, JsonErrorKind::IntegerOutOfRange, 0);
    }
    check(
        format!("[{}]", "9".repeat(100_000)),
        JsonErrorKind::IntegerOutOfRange,
        1,
    );
    check(
        format!("1{}", "0".repeat(400)),
        JsonErrorKind::IntegerOutOfRange,
        0,
    );
}

#[test]
fn a_raw_control_character_is_refused_wherever_it_stands() {
    for control in 0..0x20_u8 {
        for length in [0, 1, 6, 7, 8, 9, 17] {
            let mut text = format!("\"{}", "x".repeat(length)).into_bytes();
            text.push(control);
            text.extend(b"yyyyyyyyyy\"");
            check(&text, JsonErrorKind::ControlCharacter, length + 1);
        }
    }
    check("{\"a\n\":1}", JsonErrorKind::ControlCharacter, 3);
    check("\"\\n\t\"", JsonErrorKind::ControlCharacter, 3);
}

#[test]
fn invalid_utf8_is_refused_before_anything_else() {
    let cases: [(&[u8], usize); 9] = [
        (b"\"\xff\"", 1),
        (b"\"a\x80\"", 2),
        (b"\"\xc0\xaf\"", 1),
        (b"\"\xed\xa0\x80\"", 1),
        (b"\"\xf4\x90\x80\x80\"", 1),
        (b"\"\xe2\x82\"", 1),
        (b"\"\xe2\x82", 1),
        (b"[1, \xfe]", 4),
        (b"nonsense \xff", 9),
    ];
    for (text, offset) in cases {
        check(text, JsonErrorKind::InvalidUtf8, offset);
    }
}

#[test]
fn levels_are_counted_by_arrays_and_objects_alike() {
    for (open, inner, close) in [
        ("[", "", "]"),
        ("{\"a\":", "{}", "}"),
        ("[{\"a\":", "[{}]", "}]"),
        ("[", "1", "]"),
    ] {
        let own = inner.matches(['[', '{']).count();
        let step = open.matches(['[', '{']).count();
        let deepest = nested(open, inner, close, (MAX_LEVELS - own) / step);
        assert_eq!(canonicalize(deepest.as_bytes()), Ok(deepest));
    }
    let deepest = nested("[", "", "]", MAX_LEVELS);
    assert_eq!(canonicalize(deepest.as_bytes()), Ok(deepest));
    check(
        nested("[", "", "]", MAX_LEVELS + 1),
        JsonErrorKind::TooDeep,
        MAX_LEVELS,
    );
    check(
        nested("{\"a\":", "1", "}", MAX_LEVELS + 1),
        JsonErrorKind::TooDeep,
        5 * MAX_LEVELS,
    );
    check(
        nested("{\"a\":", "[]", "}", MAX_LEVELS),
        JsonErrorKind::TooDeep,
        5 * MAX_LEVELS,
    );
    assert_eq!(MAX_LEVELS, 127);
}

#[test]
fn levels_end_with_their_brackets() {
    let branch = nested("[", "", "]", MAX_LEVELS - 1);
    let text = format!("[{branch},{branch},{branch}]");
    assert_eq!(canonicalize(text.as_bytes()), Ok(text));
}

#[test]
fn a_value_stands_one_level_down() {
    let deepest = nested("[", "", "]", MAX_LEVELS - 1);
    assert_eq!(
        CanonicalJson::parse(deepest.as_bytes())
            .expect("fits")
            .as_str(),
        deepest
    );
    let error = CanonicalJson::parse(nested("[", "", "]", MAX_LEVELS).as_bytes())
        .expect_err("one level too many");
    assert_eq!(
        (error.kind(), error.offset()),
        (JsonErrorKind::TooDeep, MAX_LEVELS - 1)
    );
}

#[test]
fn endless_nesting_is_refused_on_a_small_stack() {
    let worker = std::thread::Builder::new()
        .stack_size(192 * 1024)
        .spawn(|| {
            for levels in [10_000, 1_000_000] {
                check("[".repeat(levels), JsonErrorKind::TooDeep, MAX_LEVELS);
                check(
                    "{\"a\":".repeat(levels),
                    JsonErrorKind::TooDeep,
                    5 * MAX_LEVELS,
                );
            }
        })
        .expect("a thread starts");
    worker.join().expect("no level overflows the stack");
}

#[test]
fn an_error_says_what_and_where_but_never_shows_the_text() {
    let cases = [
        (
            r#"{"secret":1,"secret":2}"#,
            "duplicate object key at byte 12",
        ),
        ("secret", "malformed JSON at byte 0"),
        ("\"secret", "unexpected end of JSON at byte 7"),
        ("1 secret", "data after the JSON value at byte 2"),
        (r#""secret\ud800""#, "lone surrogate at byte 7"),
        ("1e999", "number too large for a double at byte 0"),
        ("18446744073709551616", "integer outside 64 bits at byte 0"),
        ("\"secret\n\"", "raw control character at byte 7"),
    ];
    for (text, expected) in cases {
        let error = canonicalize(text.as_bytes()).expect_err("the text has no canonical form");
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains("secret"));
    }
    let error = canonicalize(b"\xff").expect_err("not UTF-8");
    assert_eq!(error.to_string(), "invalid UTF-8 at byte 0");
    let error = canonicalize("[".repeat(200).as_bytes()).expect_err("too deep");
    assert_eq!(error.to_string(), "nesting too deep at byte 127");
}

/// Compares the verdict with that of a parser that is lenient in known ways.
fn agree_on_grammar(text: &[u8]) -> Result<(), TestCaseError> {
    let parsed = serde_json::from_slice::<serde_json::Value>(text);
    match canonicalize(text) {
        Ok(canonical) => {
            prop_assert!(parsed.is_ok());
            prop_assert_eq!(canonicalize(canonical.as_bytes()), Ok(canonical));
        }
        Err(error) => {
            prop_assert!(error.offset() <= text.len());
            if parsed.is_ok() {
                let stricter = [
                    JsonErrorKind::DuplicateKey,
                    JsonErrorKind::IntegerOutOfRange,
                ];
                prop_assert!(stricter.contains(&error.kind()), "{error}");
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_get_a_verdict(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        agree_on_grammar(&bytes)?;
    }

    #[test]
    fn any_string_of_tokens_gets_the_verdict_of_the_grammar(
        tokens in proptest::collection::vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"a\":", "\"b\":", "\"", "\\", "\\u", "d800", "dc00",
                "0", "1", "9", "-", "+", ".", "e", "E", "true", "null", " ", "\n", "é", "\"x\"", "1,",
            ]),
            0..9,
        )
    ) {
        agree_on_grammar(tokens.concat().as_bytes())?;
    }

    #[test]
    fn any_number_like_text_gets_the_verdict_of_the_grammar(text in "-?[0-9]{0,3}[.eE+-]?[0-9]{0,2}[eE]?[+-]?[0-9]{0,3}") {
        agree_on_grammar(text.as_bytes())?;
    }
}
