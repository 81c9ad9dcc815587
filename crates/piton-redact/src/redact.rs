//! The three questions callers ask of one decoded string. Holds no patterns.

use crate::marker;
use crate::rule::{Rule, secret_named_key};
use crate::scan;

/// Replaces what the pattern rules find in one decoded string.
///
/// Returns `None` when nothing matched, and always for its own output. `found` is told the rule
/// of each replacement once. Time is linear in the length of the text.
///
/// # Examples
///
/// ```
/// let clean = piton_redact::redact_text("Authorization: Basic YXBwOnB3", &mut |_| {});
/// assert_eq!(clean.as_deref(), Some("Authorization: Basic <REDACTED>"));
/// assert_eq!(piton_redact::redact_text("basic usage", &mut |_| {}), None);
/// ```
#[must_use]
pub fn redact_text(text: &str, found: &mut dyn FnMut(&'static Rule)) -> Option<String> {
    let mut clean = redact_once(text, found)?;
    // A replacement ends with `>`, behind which a token may begin that could not begin behind the
    // cleartext. What a pass sets free the next one takes, so the result is a fixed point. Few passes
    // suffice, since almost every secret is followed by a byte that parts tokens anyway.
    while let Some(cleaner) = redact_once(&clean, found) {
        clean = cleaner;
    }
    Some(clean)
}

/// Replaces a whole string found beneath a secret-named key.
///
/// Returns `None` when the string is `<REDACTED>` already, perhaps with the suffix `#N` that
/// parts colliding keys (`N` decimal, at least 2, without leading zeros). Every other string, the
/// empty one too, becomes `<REDACTED>`, and `found` is told the rule `secret-named-key`.
///
/// # Examples
///
/// ```
/// use piton_redact::redact_whole;
///
/// assert_eq!(redact_whole("hunter2", &mut |_| {}).as_deref(), Some("<REDACTED>"));
/// assert_eq!(redact_whole("<REDACTED>#2", &mut |_| {}), None);
/// ```
#[must_use]
pub fn redact_whole(text: &str, found: &mut dyn FnMut(&'static Rule)) -> Option<String> {
    if marker::is_plain(text) {
        return None;
    }
    found(secret_named_key());
    Some(marker::PLAIN.to_owned())
}

/// Names the rule of the leftmost secret in a text, without rewriting anything.
///
/// Meant for identifiers, which are refused when they hold a secret: redacting one would break
/// identity. Answers `None` exactly when [`redact_text`] does.
///
/// # Examples
///
/// ```
/// assert!(piton_redact::find_secret("01J8ZQ4T9V3N5R7W2X6Y8B0C1D").is_none());
/// ```
#[must_use]
pub fn find_secret(text: &str) -> Option<&'static Rule> {
    scan::findings(text).first().map(|finding| finding.rule)
}

fn redact_once(text: &str, found: &mut dyn FnMut(&'static Rule)) -> Option<String> {
    let findings = scan::findings(text);
    if findings.is_empty() {
        return None;
    }
    let mut clean = String::with_capacity(text.len());
    let mut copied = 0;
    for finding in findings {
        let span = finding.secret.span;
        clean.push_str(&text[copied..span.start]);
        marker::push(&mut clean, &text[span.clone()], finding.secret.mask);
        copied = span.end;
        found(finding.rule);
    }
    clean.push_str(&text[copied..]);
    Some(clean)
}
