//! Strings: their grammar, their decoding and their minimal escapes.
//!
//! It must not know what a string stands for.

use alloc::string::String;

use super::error::{JsonError, JsonErrorKind};

/// Locates a string in the input.
pub(super) struct StringToken {
    /// Where its opening quote stands.
    pub(super) start: usize,
    /// Where the byte after its closing quote stands.
    pub(super) end: usize,
    pub(super) spelling: Spelling,
}

/// Says how the text of a string relates to what it means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// No escapes: the text is its own meaning and canonical.
    Plain,
    /// Escapes, each in its canonical form.
    Canonical,
    /// Escapes, of which some have another canonical form.
    Other,
}

/// Scans the string whose opening quote is at `start`; one with escapes is decoded into `decoded`.
pub(super) fn scan(
    input: &str,
    start: usize,
    decoded: &mut String,
) -> Result<StringToken, JsonError> {
    let bytes = input.as_bytes();
    let mut run = start + 1;
    let mut stop = skip_plain(bytes, run);
    if bytes.get(stop) == Some(&b'"') {
        return Ok(StringToken {
            start,
            end: stop + 1,
            spelling: Spelling::Plain,
        });
    }
    decoded.clear();
    let mut spelling = Spelling::Canonical;
    loop {
        decoded.push_str(&input[run..stop]);
        match bytes.get(stop) {
            Some(b'"') => {
                return Ok(StringToken {
                    start,
                    end: stop + 1,
                    spelling,
                });
            }
            Some(b'\\') => {
                let (character, next) = unescape(bytes, stop)?;
                if canonical_escape(character) != Some(&input[stop..next]) {
                    spelling = Spelling::Other;
                }
                decoded.push(character);
                run = next;
                stop = skip_plain(bytes, run);
            }
            Some(_) => return Err(JsonError::new(JsonErrorKind::ControlCharacter, stop)),
            None => return Err(JsonError::new(JsonErrorKind::UnexpectedEnd, stop)),
        }
    }
}

/// Appends the canonical form of a string, quotes included.
pub(super) fn write(text: &str, output: &mut String) {
    let bytes = text.as_bytes();
    output.push('"');
    let mut run = 0;
    loop {
        let stop = skip_plain(bytes, run);
        output.push_str(&text[run..stop]);
        let Some(byte) = bytes.get(stop) else { break };
        // What is not plain is always escaped.
        output.push_str(canonical_escape(char::from(*byte)).unwrap_or_default());
        run = stop + 1;
    }
    output.push('"');
}

/// Returns the first position from `start` on that holds a quote, a backslash or a control
/// character, or the length.
#[inline]
fn skip_plain(bytes: &[u8], start: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    let mut at = start;
    // Eight bytes at a time. In each test a byte's high bit is set if the byte is special; a borrow
    // can set it wrongly only above a byte that is special, so "none" and the lowest are exact.
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let quotes = word ^ (ONES * 0x22);
        let backslashes = word ^ (ONES * 0x5C);
        let controls = word.wrapping_sub(ONES * 0x20) & !word;
        let special = (controls
            | (quotes.wrapping_sub(ONES) & !quotes)
            | (backslashes.wrapping_sub(ONES) & !backslashes))
            & HIGHS;
        if special == 0 {
            at += 8;
            continue;
        }
        let skipped = special.trailing_zeros() / 8;
        return at + usize::try_from(skipped).expect("a position among eight fits");
    }
    while bytes
        .get(at)
        .is_some_and(|byte| !matches!(byte, 0..0x20 | b'"' | b'\\'))
    {
        at += 1;
    }
    at
}

/// Decodes the escape whose backslash is at `start`; returns the character and what follows.
fn unescape(bytes: &[u8], start: usize) -> Result<(char, usize), JsonError> {
    let at = start + 1;
    let character = match bytes.get(at) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{C}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unescape_unicode(bytes, start),
        Some(_) => return Err(JsonError::new(JsonErrorKind::Syntax, at)),
        None => return Err(JsonError::new(JsonErrorKind::UnexpectedEnd, at)),
    };
    Ok((character, at + 1))
}

fn unescape_unicode(bytes: &[u8], start: usize) -> Result<(char, usize), JsonError> {
    let lone = JsonError::new(JsonErrorKind::LoneSurrogate, start);
    let unit = hex_unit(bytes, start + 2)?;
    let second = start + 6;
    let (code, end) = if !(0xD800..0xDC00).contains(&unit) {
        (unit, second)
    } else if bytes.get(second..second + 2) == Some(br"\u") {
        let low = hex_unit(bytes, second + 2)?;
        if !(0xDC00..0xE000).contains(&low) {
            return Err(lone);
        }
        (
            0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00),
            second + 6,
        )
    } else {
        return Err(lone);
    };
    // Of what gets here only a low surrogate with no high one before it is not a character.
    char::from_u32(code)
        .map(|character| (character, end))
        .ok_or(lone)
}

fn hex_unit(bytes: &[u8], start: usize) -> Result<u32, JsonError> {
    let mut unit = 0;
    for at in start..start + 4 {
        let Some(byte) = bytes.get(at) else {
            return Err(JsonError::new(JsonErrorKind::UnexpectedEnd, bytes.len()));
        };
        let digit = char::from(*byte).to_digit(16);
        unit = unit * 16 + digit.ok_or(JsonError::new(JsonErrorKind::Syntax, at))?;
    }
    Ok(unit)
}

/// Returns the canonical escape of a character, or `None` for one that stands for itself.
fn canonical_escape(character: char) -> Option<&'static str> {
    match character {
        '"' => Some(r#"\""#),
        '\\' => Some(r"\\"),
        _ => {
            let index = usize::try_from(u32::from(character)).ok()?;
            CONTROL_ESCAPES.get(index).copied()
        }
    }
}

/// The escapes of U+0000 to U+001F.
const CONTROL_ESCAPES: [&str; 32] = [
    r"\u0000", r"\u0001", r"\u0002", r"\u0003", r"\u0004", r"\u0005", r"\u0006", r"\u0007", r"\b",
    r"\t", r"\n", r"\u000b", r"\f", r"\r", r"\u000e", r"\u000f", r"\u0010", r"\u0011", r"\u0012",
    r"\u0013", r"\u0014", r"\u0015", r"\u0016", r"\u0017", r"\u0018", r"\u0019", r"\u001a",
    r"\u001b", r"\u001c", r"\u001d", r"\u001e", r"\u001f",
];
