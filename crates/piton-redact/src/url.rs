//! Finds passwords in the authority of a URL. Leaves user, host and everything else in place.

use crate::marker;
use crate::secret::{Hit, Secret};

/// Where an authority begins, also in JSON inside a string, which may escape its slashes.
pub(crate) const LITERALS: &[&str] = &["://", r":\/\/"];

/// What follows `@` when the text is an image reference, `alpine:3.18@sha256:…`, and no authority.
const DIGESTS: [&str; 4] = ["sha256:", "sha384:", "sha512:", "blake3:"];

/// Finds the password of `scheme://user:password@host`.
///
/// The last `@` of the authority ends the password, for people forget to escape one. The same is
/// true of `?` and `#`, unless what stands before them reads as a port.
pub(crate) fn find(text: &str, hit: Hit) -> Option<Secret> {
    let start = hit.end + user_length(&text[hit.end..])? + 1;
    let password = &text[start..];
    let end = start + password_length(password)?;
    let host = &text[end + 1..];
    let is_image = DIGESTS.iter().any(|digest| host.starts_with(digest));
    (!is_image).then(|| Secret::plain(start..end))
}

/// The length of the user before `:`, perhaps none, perhaps a token that is redacted already.
fn user_length(authority: &str) -> Option<usize> {
    let marker = marker::leading_length(authority);
    let length = marker
        + authority.as_bytes()[marker..]
            .iter()
            .position(|byte| is_stop(*byte) || matches!(byte, b':' | b'@' | b'?' | b'#'))?;
    let is_address = authority.starts_with('[');
    (!is_address && authority.as_bytes()[length] == b':').then_some(length)
}

/// The length of the password before its `@`.
fn password_length(text: &str) -> Option<usize> {
    let mut last_at = None;
    let mut reads_as_port = true;
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            b'@' => last_at = Some(offset),
            b'?' | b'#' if last_at.is_some() || reads_as_port => break,
            _ if is_stop(byte) => break,
            _ => {}
        }
        reads_as_port &= byte.is_ascii_digit();
    }
    last_at.filter(|length| *length > 0)
}

/// Bytes that stand in no authority.
fn is_stop(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || byte.is_ascii_control()
        || matches!(byte, b'/' | b'"' | b'<' | b'>' | b'`')
}
