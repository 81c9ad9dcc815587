//! Finds private keys in PEM form. Certificates and public keys are none of its business.

use std::sync::LazyLock;

use regex::Regex;

use crate::secret::{Hit, Secret};

/// What a private key's first line begins with.
pub(crate) const LITERALS: &[&str] = &["-----BEGIN "];

static FIRST_LINE: LazyLock<Regex> =
    LazyLock::new(|| label(r"\A-----BEGIN (?:[A-Z0-9]+ ){0,6}PRIVATE KEY(?: BLOCK)?-----"));
static LAST_LINE: LazyLock<Regex> =
    LazyLock::new(|| label(r"-----END (?:[A-Z0-9]+ ){0,6}PRIVATE KEY(?: BLOCK)?-----"));

/// Finds the whole block, up to the end of the text when its last line was cut off.
pub(crate) fn find(text: &str, hit: Hit) -> Option<Secret> {
    let first = FIRST_LINE.find(&text[hit.start..])?;
    let body = hit.start + first.end();
    let end = LAST_LINE
        .find(&text[body..])
        .map_or(text.len(), |last| body + last.end());
    Some(Secret::fingerprinted(hit.start..end))
}

fn label(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern that the corpus compiles")
}
