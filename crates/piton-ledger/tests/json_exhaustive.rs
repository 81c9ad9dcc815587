//! The canonical form over whole ranges: every code point, and a million doubles of random bits.

use std::collections::BTreeMap;

use piton_ledger::json::canonicalize;

/// How many code points share one object.
const BLOCK: u32 = 0x40;

/// Appends a character as the canonical form has it.
fn push_minimal(text: &mut String, character: char) {
    match character {
        '"' => text.push_str("\\\""),
        '\\' => text.push_str("\\\\"),
        '\u{8}' => text.push_str("\\b"),
        '\t' => text.push_str("\\t"),
        '\n' => text.push_str("\\n"),
        '\u{c}' => text.push_str("\\f"),
        '\r' => text.push_str("\\r"),
        '\0'..' ' => text.push_str(&format!("\\u{:04x}", u32::from(character))),
        _ => text.push(character),
    }
}

/// Appends a character as escaped UTF-16.
fn push_escaped(text: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        text.push_str(&format!("\\u{unit:04X}"));
    }
}

/// Writes `["the text",{"each":0,"of":0,"the":0,"keys":0}]`.
fn document(text: &[char], keys: &[char], push: fn(&mut String, char)) -> String {
    let mut written = "[\"".to_owned();
    for character in text {
        push(&mut written, *character);
    }
    written.push_str("\",{");
    for (index, key) in keys.iter().enumerate() {
        written.push_str(if index == 0 { "\"" } else { ",\"" });
        push(&mut written, *key);
        written.push_str("\":0");
    }
    written.push_str("}]");
    written
}

#[test]
fn every_code_point_survives_as_key_and_as_value() {
    let mut seen = 0;
    for first in (0..=u32::from(char::MAX)).step_by(64) {
        let mut block: Vec<char> = (first..first + BLOCK).filter_map(char::from_u32).collect();
        seen += block.len();
        // One character of the other side of the surrogates, so that each block meets both.
        let stranger = if first < 0x1_0000 {
            '\u{10ffff}'
        } else {
            '\u{e000}'
        };
        if !block.contains(&stranger) {
            block.push(stranger);
        }
        block.reverse();
        let mut sorted = block.clone();
        sorted.sort_by_cached_key(|character| {
            let mut units = [0; 2];
            character.encode_utf16(&mut units);
            units
        });
        let expected = document(&block, &sorted, push_minimal);
        let escaped = document(&block, &block, push_escaped);
        assert_eq!(canonicalize(escaped.as_bytes()).as_ref(), Ok(&expected));
        assert_eq!(canonicalize(expected.as_bytes()).as_ref(), Ok(&expected));

        let (text, keys): (String, BTreeMap<String, u8>) =
            serde_json::from_str(&expected).expect("canonical text is JSON");
        assert!(text.chars().eq(block.iter().copied()));
        assert!(keys.into_keys().eq(sorted_by_code_point(&block)));
    }
    assert_eq!(seen, 0x11_0000 - 0x800);
}

fn sorted_by_code_point(characters: &[char]) -> impl Iterator<Item = String> {
    let mut sorted = characters.to_vec();
    sorted.sort_unstable();
    sorted.into_iter().map(String::from)
}

#[test]
fn a_million_doubles_keep_their_bits() {
    let mut bits: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut checked = 0;
    while checked < 1_000_000 {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        // Every other draw has an exponent near zero, where prints have no exponent.
        let drawn = if checked % 2 == 0 {
            bits
        } else {
            0x3c00_0000_0000_0000 ^ (bits & 0x87ff_ffff_ffff_ffff)
        };
        let double = f64::from_bits(drawn);
        if !double.is_finite() {
            continue;
        }
        checked += 1;
        let canonical = canonicalize(format!("{double:e}").as_bytes()).expect("a finite double");
        let parsed: f64 = canonical.parse().expect("a number");
        assert_eq!(parsed.to_bits(), (double + 0.0).to_bits(), "{double:e}");
        assert_eq!(canonicalize(canonical.as_bytes()), Ok(canonical));
    }
}
