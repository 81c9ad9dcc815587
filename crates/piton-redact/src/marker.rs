//! The text of replacements: writes and recognises them. What is replaced is decided elsewhere.

use core::fmt::Write;

use crate::secret::Mask;

/// What replaces a secret that could be guessed from a digest.
pub(crate) const PLAIN: &str = "<REDACTED>";

const OPENING: &str = "<REDACTED:fingerprint=";
const FINGERPRINT_DIGITS: usize = 8;

/// Appends the replacement of a secret.
pub(crate) fn push(out: &mut String, cleartext: &str, mask: Mask) {
    match mask {
        Mask::Plain => out.push_str(PLAIN),
        Mask::Fingerprint => {
            let digest = blake3::hash(cleartext.as_bytes()).to_hex();
            write!(out, "{OPENING}{}>", &digest[..FINGERPRINT_DIGITS])
                .expect("writing to a String cannot fail");
        }
    }
}

/// The length of the replacement that a text begins with, or zero.
pub(crate) fn leading_length(text: &str) -> usize {
    if text.starts_with(PLAIN) {
        return PLAIN.len();
    }
    let is_marker = text.strip_prefix(OPENING).is_some_and(|rest| {
        rest.bytes().take_while(u8::is_ascii_hexdigit).count() == FINGERPRINT_DIGITS
            && rest[FINGERPRINT_DIGITS..].starts_with('>')
    });
    if is_marker {
        OPENING.len() + FINGERPRINT_DIGITS + 1
    } else {
        0
    }
}

/// Whether a whole string is the plain replacement, perhaps with the suffix that parts colliding
/// keys: `#` and a decimal number from 2 on.
pub(crate) fn is_plain(text: &str) -> bool {
    let Some(suffix) = text.strip_prefix(PLAIN) else {
        return false;
    };
    suffix.is_empty()
        || suffix.strip_prefix('#').is_some_and(|digits| {
            digits.starts_with(|first: char| matches!(first, '1'..='9'))
                && digits.bytes().all(|byte| byte.is_ascii_digit())
                && digits.parse::<u32>().is_ok_and(|number| number >= 2)
        })
}
