//! What a rule reports: where a literal was hit, where the secret is, how it is masked.
//! Holds no text: a span is all that travels, so that no cleartext can be printed by mistake.

use core::ops::Range;

/// A place where one of a rule's literals stands in the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    /// Offset of the literal's first byte.
    pub(crate) start: usize,
    /// Offset just behind the literal.
    pub(crate) end: usize,
}

/// How a secret is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mask {
    /// `<REDACTED>`: the cleartext could be guessed from a digest.
    Plain,
    /// `<REDACTED:fingerprint=XXXXXXXX>`.
    Fingerprint,
}

/// The span of a secret, on character boundaries.
#[derive(Clone, Debug)]
pub(crate) struct Secret {
    pub(crate) span: Range<usize>,
    pub(crate) mask: Mask,
}

impl Secret {
    pub(crate) fn plain(span: Range<usize>) -> Self {
        Self {
            span,
            mask: Mask::Plain,
        }
    }

    pub(crate) fn fingerprinted(span: Range<usize>) -> Self {
        Self {
            span,
            mask: Mask::Fingerprint,
        }
    }
}
