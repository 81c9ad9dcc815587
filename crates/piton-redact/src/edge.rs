//! Decides whether a token may begin or end at an offset, so that a prefix in the middle of
//! longer base64 is not taken for a token. Knows nothing of the rules.

/// Which bytes besides letters and digits deny a token its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// `-` and `_` may stand before the token, as in `company-glpat-…`.
    Loose,
    /// `-` and `_` belong to the token's own alphabet and deny it. A rule that can fail behind an
    /// unbounded run of that alphabet needs this: otherwise each prefix inside a run is tried to
    /// the run's end, which is quadratic.
    Strict,
}

/// Whether a token can begin at `at`.
pub(crate) fn begins_token(text: &str, at: usize, edge: Edge) -> bool {
    let before = &text.as_bytes()[..at];
    match before.last() {
        None => true,
        Some(b'-' | b'_') => edge == Edge::Loose,
        Some(last) => !last.is_ascii_alphanumeric() || ends_escape(before),
    }
}

/// Whether a token can end at `at`.
pub(crate) fn ends_token(text: &str, at: usize) -> bool {
    !text
        .as_bytes()
        .get(at)
        .is_some_and(u8::is_ascii_alphanumeric)
}

/// Whether the bytes end with an escape whose last byte only looks like part of a word: a percent
/// escape, a backslash escape of text inside text, or a terminal colour.
fn ends_escape(before: &[u8]) -> bool {
    match before {
        [.., b'%', high, low] if is_hex(&[*high, *low]) => true,
        [.., b'\\', b'b' | b'f' | b'n' | b'r' | b't'] => true,
        [.., b'\\', b'x', a, b] if is_hex(&[*a, *b]) => true,
        [.., b'\\', b'u', a, b, c, d] if is_hex(&[*a, *b, *c, *d]) => true,
        [sequence @ .., b'm'] => ends_colour(sequence),
        _ => false,
    }
}

/// Whether the bytes end with `[`, digits and semicolons: a terminal colour without its `m`.
fn ends_colour(sequence: &[u8]) -> bool {
    const LONGEST: usize = 20;
    sequence
        .iter()
        .rev()
        .take(LONGEST)
        .find(|byte| !matches!(byte, b'0'..=b'9' | b';'))
        .is_some_and(|byte| *byte == b'[')
}

fn is_hex(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_hexdigit)
}
