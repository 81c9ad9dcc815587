//! Matches tokens that a pattern describes to their end. Which patterns there are is the rules'
//! business.

use std::sync::OnceLock;

use regex::Regex;

use crate::edge::{Edge, begins_token, ends_token};
use crate::secret::{Hit, Secret};

/// The shape of a token.
///
/// The pattern is only ever tried at a literal, so its cost has to be bounded from there: a run
/// without bound must either end the match or exclude what lets another token begin.
pub(crate) struct Token {
    pattern: &'static str,
    /// Compiled when a text first holds one of the rule's literals.
    regex: OnceLock<Regex>,
    origin: Origin,
    edge: Edge,
    accepts: fn(&str) -> bool,
}

/// Where the pattern, and the secret, begin.
#[derive(Clone, Copy)]
enum Origin {
    Literal,
    BehindLiteral,
}

impl Token {
    /// A token that begins with its literal.
    pub(crate) const fn new(pattern: &'static str) -> Self {
        Self {
            pattern,
            regex: OnceLock::new(),
            origin: Origin::Literal,
            edge: Edge::Loose,
            accepts: |_| true,
        }
    }

    /// The secret begins behind the literal, which gives nothing away.
    pub(crate) const fn behind_literal(mut self) -> Self {
        self.origin = Origin::BehindLiteral;
        self
    }

    /// `-` and `_` deny the token its beginning.
    pub(crate) const fn strict(mut self) -> Self {
        self.edge = Edge::Strict;
        self
    }

    /// A match has to pass a further test.
    pub(crate) const fn accepting(mut self, accepts: fn(&str) -> bool) -> Self {
        self.accepts = accepts;
        self
    }

    pub(crate) fn find(&self, text: &str, hit: Hit) -> Option<Secret> {
        if !begins_token(text, hit.start, self.edge) {
            return None;
        }
        let start = match self.origin {
            Origin::Literal => hit.start,
            Origin::BehindLiteral => hit.end,
        };
        let end = start + self.regex().find(&text[start..])?.end();
        (ends_token(text, end) && (self.accepts)(&text[start..end]))
            .then(|| Secret::fingerprinted(start..end))
    }

    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| {
            Regex::new(&format!(r"\A(?:{})", self.pattern))
                .expect("a constant pattern that the corpus compiles")
        })
    }
}
