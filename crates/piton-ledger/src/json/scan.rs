//! The scanner: one pass over the text of one JSON value.
//!
//! It owns the grammar and the level limit. It must not build a tree, nor look at an event's
//! fields.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::error::{JsonError, JsonErrorKind};
use super::members::{self, Member};
use super::number::{self, Form};
use super::output::Output;
use super::rewrite::{KeepAll, Rewrite};
use super::string::{self, Spelling, StringToken};

/// The deepest nesting accepted, in levels: each array or object adds one, and an event is the
/// first.
///
/// The common parsers stop at 128, so everything canonical stays readable elsewhere.
pub const MAX_LEVELS: usize = 127;

/// Returns the canonical text of one JSON value.
///
/// White space may stand around the value. Arrays and objects may nest [`MAX_LEVELS`] deep; the
/// length of the text has no limit of its own.
///
/// # Errors
///
/// Returns [`JsonError`] when the text has no canonical form; see the
/// [module's list](super#) and [`JsonErrorKind`].
///
/// # Examples
///
/// ```
/// use piton_ledger::json::{JsonErrorKind, canonicalize};
///
/// assert_eq!(canonicalize(b" -0.0 ")?, "0");
/// assert_eq!(canonicalize(b"18446744073709551615")?, "18446744073709551615");
///
/// let error = canonicalize(br#"{"a":1,"\u0061":2}"#).expect_err("the keys are the same");
/// assert_eq!(error.kind(), JsonErrorKind::DuplicateKey);
/// assert_eq!(error.offset(), 7);
/// # Ok::<(), piton_ledger::json::JsonError>(())
/// ```
pub fn canonicalize(text: &[u8]) -> Result<String, JsonError> {
    scan(text, &mut KeepAll, MAX_LEVELS).map(Cow::into_owned)
}

/// Makes the canonical text of a value with at most so many levels, borrowed if the input has it.
pub(super) fn scan<'a>(
    text: &'a [u8],
    rewriter: &mut impl Rewrite,
    levels: usize,
) -> Result<Cow<'a, str>, JsonError> {
    let input = core::str::from_utf8(text)
        .map_err(|error| JsonError::new(JsonErrorKind::InvalidUtf8, error.valid_up_to()))?;
    let mut scanner = Scanner {
        input,
        bytes: text,
        at: 0,
        rewriter,
        output: Output::new(input),
        decoded: String::new(),
        members: Vec::new(),
    };
    scanner.skip_space();
    scanner.value(levels)?;
    scanner.skip_space();
    if scanner.at < text.len() {
        return Err(JsonError::new(JsonErrorKind::TrailingData, scanner.at));
    }
    Ok(scanner.output.finish())
}

struct Scanner<'a, 'r, R> {
    input: &'a str,
    bytes: &'a [u8],
    at: usize,
    rewriter: &'r mut R,
    output: Output<'a>,
    /// The meaning of the last string that had escapes.
    decoded: String,
    /// The members so far of every object that is open, outermost first.
    members: Vec<Member<'a>>,
}

impl<'a, R: Rewrite> Scanner<'a, '_, R> {
    /// Scans a value that may open so many levels; recursion is bounded by them.
    fn value(&mut self, levels: usize) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'"') => self.string_value(),
            Some(b'{') => self.object(levels),
            Some(b'[') => self.array(levels),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.keyword(b"true"),
            Some(b'f') => self.keyword(b"false"),
            Some(b'n') => self.keyword(b"null"),
            Some(_) | None => Err(self.unexpected()),
        }
    }

    fn array(&mut self, levels: usize) -> Result<(), JsonError> {
        let levels = self.descend(levels)?;
        self.keep_one();
        self.skip_space();
        if self.peek() != Some(b']') {
            loop {
                self.value(levels)?;
                self.skip_space();
                match self.peek() {
                    Some(b',') => self.keep_one(),
                    Some(b']') => break,
                    Some(_) | None => return Err(self.unexpected()),
                }
                self.skip_space();
            }
        }
        self.keep_one();
        Ok(())
    }

    fn object(&mut self, levels: usize) -> Result<(), JsonError> {
        let levels = self.descend(levels)?;
        self.keep_one();
        self.skip_space();
        if self.peek() != Some(b'}') {
            let body = self.output.len();
            let first = self.members.len();
            loop {
                self.member(levels)?;
                self.skip_space();
                match self.peek() {
                    Some(b',') => self.keep_one(),
                    Some(b'}') => break,
                    Some(_) | None => return Err(self.unexpected()),
                }
                self.skip_space();
            }
            members::arrange(&mut self.members[first..], body, &mut self.output)?;
            self.members.truncate(first);
        }
        self.keep_one();
        Ok(())
    }

    fn member(&mut self, levels: usize) -> Result<(), JsonError> {
        let index = self.members.len();
        let member = self.key()?;
        self.rewriter.enter(&member.key);
        // Members of inner objects come above this one and are gone before it is looked at again.
        self.members.push(member);
        self.value(levels)?;
        self.rewriter.leave();
        self.members[index].end = self.output.len();
        Ok(())
    }

    /// Scans a key and its colon, up to the value.
    ///
    /// The original key is written even if it is replaced: only the end of the object settles
    /// final keys, and then writes such members again.
    fn key(&mut self) -> Result<Member<'a>, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected());
        }
        let offset = self.at;
        let start = self.output.len();
        let token = self.string()?;
        let key = match token.spelling {
            Spelling::Plain => Cow::Borrowed(&self.input[token.start + 1..token.end - 1]),
            Spelling::Canonical | Spelling::Other => Cow::Owned(self.decoded.clone()),
        };
        let replacement = self
            .rewriter
            .key(&key)
            .filter(|replacement| *replacement != *key);
        self.write_string(&token);
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected());
        }
        self.keep_one();
        self.skip_space();
        let value = self.output.len();
        Ok(Member {
            key,
            replacement,
            offset,
            start,
            value,
            end: value,
        })
    }

    fn string_value(&mut self) -> Result<(), JsonError> {
        let token = self.string()?;
        let text = match token.spelling {
            Spelling::Plain => &self.input[token.start + 1..token.end - 1],
            Spelling::Canonical | Spelling::Other => &self.decoded,
        };
        match self.rewriter.value(text) {
            Some(replacement) => self.output.push_string(&replacement),
            None => self.write_string(&token),
        }
        Ok(())
    }

    fn string(&mut self) -> Result<StringToken, JsonError> {
        let token = string::scan(self.input, self.at, &mut self.decoded)?;
        self.at = token.end;
        Ok(token)
    }

    fn write_string(&mut self, token: &StringToken) {
        match token.spelling {
            Spelling::Plain | Spelling::Canonical => self.output.keep(token.start..token.end),
            Spelling::Other => self.output.push_string(&self.decoded),
        }
    }

    // Kept out of the recursive frames, which the print buffer would widen.
    #[inline(never)]
    fn number(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        let number = number::scan(self.bytes, start)?;
        self.at = number.end;
        let mut buffer = ryu_js::Buffer::new();
        let form = number
            .form(&self.input[start..self.at], &mut buffer)
            .map_err(|kind| JsonError::new(kind, start))?;
        match form {
            Form::AsWritten => self.output.keep(start..self.at),
            Form::Printed(text) => self.output.push(text),
        }
        Ok(())
    }

    fn keyword(&mut self, word: &[u8]) -> Result<(), JsonError> {
        let start = self.at;
        for byte in word {
            if self.peek() != Some(*byte) {
                return Err(self.unexpected());
            }
            self.at += 1;
        }
        self.output.keep(start..self.at);
        Ok(())
    }

    fn descend(&self, levels: usize) -> Result<usize, JsonError> {
        levels
            .checked_sub(1)
            .ok_or(JsonError::new(JsonErrorKind::TooDeep, self.at))
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn keep_one(&mut self) {
        self.output.keep(self.at..self.at + 1);
        self.at += 1;
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn unexpected(&self) -> JsonError {
        let ended = self.at >= self.bytes.len();
        let kind = if ended {
            JsonErrorKind::UnexpectedEnd
        } else {
            JsonErrorKind::Syntax
        };
        JsonError::new(kind, self.at)
    }
}
