//! The canonical form over whole ranges: every code point, and a million doubles of random bits.

use std::collections::BTreeMap;

use piton_ledger::json::canonicalize;

/// How many code points share one object.
const BLOCK: u32 = 0x400;

/// Unoptimised, a tenth has to do.
const DOUBLES: u32 = if cfg!(debug_assertions) {
    100_000
} else {
    1_000_000
};

/// Writes a character as the canonical form has it.
fn minimal(character: char) -> String {
    match character {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\u{8}' => "\\b".to_owned(),
        '\t' => "\\t".to_owned(),
        '\n' => "\\n".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        '\r' => "\\r".to_owned(),
        '\0'..' ' => format!("\\u{:04x}", u32::from(character)),
        _ => character.to_string(),
    }
}

/// Writes a character as escaped UTF-16.
fn escaped(character: char) -> String {
    let mut units = [0; 2];
    character
        .encode_utf16(&mut units)
        .iter()
        .map(|unit| format!("\\u{unit:04X}"))
        .collect()
}

fn object(members: &[(char, String)]) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(character, spelling)| {
            format!("\"{spelling}\":\"{spelling}{}\"", u32::from(*character))
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn every_code_point_survives_as_key_and_as_value() {
    let mut seen = 0_usize;
    for first in (0..=u32::from(char::MAX)).step_by(0x400) {
        let mut block: Vec<char> = (first..first + BLOCK).filter_map(char::from_u32).collect();
        seen += block.len();
        // One character of the other side of the surrogates, so that each block meets both.
        let stranger = if first < 0x1_0000 {
            '\u{10ffff}'
        } else {
            '\u{e000}'
        };
        if !block.contains(&stranger) {
            block.insert(0, stranger);
        }

        let loose: Vec<_> = block.iter().rev().map(|c| (*c, escaped(*c))).collect();
        let terse: Vec<_> = block.iter().map(|c| (*c, minimal(*c))).collect();
        block.sort_by_cached_key(|c| c.to_string().encode_utf16().collect::<Vec<u16>>());
        let expected = object(&block.iter().map(|c| (*c, minimal(*c))).collect::<Vec<_>>());

        let canonical = canonicalize(object(&loose).as_bytes()).expect("a canonical form exists");
        assert!(canonical == expected, "block {first:x}");
        assert_eq!(canonicalize(object(&terse).as_bytes()), Ok(expected));
        let decoded: BTreeMap<String, String> = serde_json::from_str(&canonical).expect("JSON");
        assert_eq!(decoded.len(), block.len());
        for character in block {
            let value = format!("{character}{}", u32::from(character));
            assert_eq!(decoded.get(&character.to_string()), Some(&value));
        }
    }
    assert_eq!(seen, 0x11_0000 - 0x800);
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
