//! Finds the credential of bearer and basic authorisation. Both schemes are English words too, so
//! what surrounds the value decides how much the value itself has to prove.

use crate::edge::{Edge, begins_token};
use crate::secret::{Hit, Secret};

/// The scheme of bearer authorisation.
pub(crate) const BEARER: &[&str] = &["bearer"];
/// The scheme of basic authorisation.
pub(crate) const BASIC: &[&str] = &["basic"];

/// From this length on, a value of letters and digits is taken to be random.
const RANDOM_LENGTH: usize = 32;
/// In running text a shorter value is a word.
const SHORTEST_IN_PROSE: usize = 16;
/// In running text a shorter value with slashes is a path.
const SHORTEST_WITH_SLASH: usize = 24;

/// Finds the value of `Bearer …`.
pub(crate) fn find_bearer(text: &str, hit: Hit) -> Option<Secret> {
    let (value, setting) = credential(text, hit)?;
    let cleartext = &text[value.span.clone()];
    let is_secret = match setting {
        Setting::Header => true,
        Setting::Alone => !is_plain_word(cleartext) && !cleartext.contains('@'),
        Setting::Prose => is_opaque(cleartext),
    };
    if !is_secret {
        return None;
    }
    let is_random = cleartext.len() >= RANDOM_LENGTH
        && cleartext.bytes().any(|byte| byte.is_ascii_digit())
        && cleartext.bytes().any(|byte| byte.is_ascii_alphabetic());
    Some(if is_random {
        Secret::fingerprinted(value.span)
    } else {
        value
    })
}

/// Finds the value of `Basic …`, which outside a header has to decode to `user:password`.
pub(crate) fn find_basic(text: &str, hit: Hit) -> Option<Secret> {
    let (value, setting) = credential(text, hit)?;
    let is_secret = match setting {
        Setting::Header => true,
        Setting::Alone | Setting::Prose => decodes_to_user_and_password(&text[value.span.clone()]),
    };
    is_secret.then_some(value)
}

/// What surrounds a scheme and its value.
#[derive(Clone, Copy)]
enum Setting {
    /// An authorisation header: the value is a credential whatever it looks like.
    Header,
    /// The whole string, or all that stands between quotes.
    Alone,
    /// Running text.
    Prose,
}

fn credential(text: &str, hit: Hit) -> Option<(Secret, Setting)> {
    if !begins_token(text, hit.start, Edge::Loose) {
        return None;
    }
    let start = hit.end + separator_length(&text[hit.end..])?;
    let end = start + value_length(&text[start..])?;
    let value = &text[start..end];
    let setting = if follows_header_name(&text[..hit.start])
        && !(is_plain_word(value) && text[end..].starts_with(' '))
    {
        Setting::Header
    } else if is_alone(text, hit.start, end) {
        Setting::Alone
    } else {
        Setting::Prose
    };
    Some((Secret::plain(start..end), setting))
}

/// The length of what parts the scheme from its value: blanks, perhaps around `:` or `=`.
fn separator_length(text: &str) -> Option<usize> {
    let blanks = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
    if text.starts_with("%20") {
        return Some(3);
    }
    let mut length = blanks(text);
    if text[length..].starts_with([':', '=']) {
        length += 1;
        length += blanks(&text[length..]);
    }
    (length > 0).then_some(length)
}

/// The length of the value: up to a blank, quote, bracket or list separator, without the
/// punctuation that ends a sentence. Wider than the grammar of bearer tokens, since what a value
/// holds beyond it would stay behind in the clear.
fn value_length(text: &str) -> Option<usize> {
    let is_value = |byte: &u8| {
        byte.is_ascii_graphic()
            && !matches!(
                byte,
                b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b'\\' | b'<' | b'>' | b'(' | b')'
            )
            && !matches!(byte, b'[' | b']' | b'{' | b'}')
    };
    let run = text.bytes().take_while(is_value).count();
    let value = text[..run].trim_end_matches(['.', ':', '!', '?']);
    let begins = value.starts_with(|first: char| {
        first.is_ascii_alphanumeric() || matches!(first, '.' | '_' | '~' | '+' | '/' | '-')
    });
    begins.then_some(value.len())
}

/// Whether the text ends with a header's name and what may part it from its value, in any of the
/// notations that programs print headers in.
fn follows_header_name(before: &str) -> bool {
    const NAME: &[u8] = b"authorization";
    const LONGEST_SEPARATOR: usize = 16;
    let before = before.as_bytes();
    let separator = before
        .iter()
        .rev()
        .take(LONGEST_SEPARATOR)
        .take_while(|byte| br#" :=>,[("'\"#.contains(byte) || **byte == b'\t')
        .count();
    let (name, separator) = before.split_at(before.len() - separator);
    separator
        .iter()
        .any(|byte| matches!(byte, b':' | b'=' | b'"' | b'\''))
        && name.len() >= NAME.len()
        && name[name.len() - NAME.len()..].eq_ignore_ascii_case(NAME)
}

/// Whether nothing but the scheme and its value stands between quotes or in the whole text.
fn is_alone(text: &str, start: usize, end: usize) -> bool {
    let is_blank = |text: &str| text.bytes().all(|byte| byte.is_ascii_whitespace());
    let is_quoted = text[..start].ends_with(['"', '\'', '`'])
        && text[end..]
            .trim_start_matches('\\')
            .starts_with(['"', '\'', '`']);
    // The rest comes first: only for the last value of a text does the start get read again.
    is_quoted || is_blank(&text[end..]) && is_blank(&text[..start])
}

/// Whether a value reads as a word of ordinary text: letters and hyphens without inner capitals.
fn is_plain_word(value: &str) -> bool {
    value
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || byte == b'-')
        && humps(value) == 0
}

/// Whether a value cannot be a word, a number, a date or a path.
fn is_opaque(value: &str) -> bool {
    let count = |wanted: fn(&u8) -> bool| value.bytes().filter(wanted).count();
    let (upper, lower) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    let digits = count(u8::is_ascii_digit);
    if value.contains('/') {
        return value.len() >= SHORTEST_WITH_SLASH
            && !value.contains('.')
            && upper > 0
            && lower > 0
            && digits > 0;
    }
    value.len() >= SHORTEST_IN_PROSE && (digits >= 2 && upper + lower >= 4 || humps(value) >= 2)
}

/// How often a capital follows a small letter.
fn humps(value: &str) -> usize {
    value
        .as_bytes()
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        .count()
}

/// Whether a value is the base64 of a user's name, a colon and a password.
fn decodes_to_user_and_password(value: &str) -> bool {
    let digits = value.trim_end_matches('=');
    decode_base64(digits)
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .is_some_and(|text| text.contains(':') && !text.chars().any(char::is_control))
}

/// Decodes unpadded base64 of either alphabet; nothing when a bit is left over.
fn decode_base64(digits: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for digit in group {
            bits = bits << 6 | u32::from(base64_digit(*digit)?);
        }
        let missing = 4 - group.len();
        let [_, decoded @ ..] = (bits << (6 * missing)).to_be_bytes();
        let (kept, spilled) = decoded.split_at(3 - missing);
        if missing > 2 || spilled.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(kept);
    }
    Some(bytes)
}

fn base64_digit(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}
