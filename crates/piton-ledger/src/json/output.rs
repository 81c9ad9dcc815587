//! The canonical text while it is being made.
//!
//! It owns which bytes are still those of the input, so that text which is canonical already is
//! never copied. It must not decide what is canonical.

use alloc::borrow::Cow;
use alloc::string::String;
use core::ops::Range;

use super::members::Member;
use super::string;

/// Holds the text made so far: `text`, then the part `run` of the input, not copied yet.
pub(super) struct Output<'a> {
    input: &'a str,
    text: String,
    run: Range<usize>,
    spare: String,
}

impl<'a> Output<'a> {
    pub(super) const fn new(input: &'a str) -> Self {
        Self {
            input,
            text: String::new(),
            run: 0..0,
            spare: String::new(),
        }
    }

    /// Returns the length made so far, in bytes.
    pub(super) fn len(&self) -> usize {
        self.text.len() + self.run.len()
    }

    /// Appends a part of the input as it is.
    #[inline]
    pub(super) fn keep(&mut self, range: Range<usize>) {
        if range.start == self.run.end {
            self.run.end = range.end;
        } else {
            self.flush();
            self.run = range;
        }
    }

    /// Appends text that is not that of the input.
    pub(super) fn push(&mut self, text: &str) {
        self.flush();
        self.text.push_str(text);
    }

    /// Appends a string, quoted and escaped.
    pub(super) fn push_string(&mut self, text: &str) {
        self.flush();
        string::write(text, &mut self.text);
    }

    /// Writes everything from `body` on again: these members, in this order, with their final keys.
    pub(super) fn rearrange(&mut self, body: usize, members: &[Member<'a>]) {
        self.flush();
        self.spare.clear();
        self.spare.reserve(self.text[body..].len());
        for (index, member) in members.iter().enumerate() {
            if index > 0 {
                self.spare.push(',');
            }
            match &member.replacement {
                None => self.spare.push_str(&self.text[member.start..member.end]),
                Some(key) => {
                    string::write(key, &mut self.spare);
                    self.spare.push(':');
                    self.spare.push_str(&self.text[member.value..member.end]);
                }
            }
        }
        self.text.truncate(body);
        self.text.push_str(&self.spare);
    }

    /// Returns the whole text, borrowed when it is one piece of the input.
    pub(super) fn finish(mut self) -> Cow<'a, str> {
        if self.text.is_empty() {
            return Cow::Borrowed(&self.input[self.run]);
        }
        self.flush();
        Cow::Owned(self.text)
    }

    fn flush(&mut self) {
        if self.run.is_empty() {
            return;
        }
        if self.text.is_empty() {
            self.text.reserve(self.input.len());
        }
        self.text.push_str(&self.input[self.run.clone()]);
        self.run.start = self.run.end;
    }
}
