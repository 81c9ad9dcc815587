//! Numbers: their grammar and their canonical form.
//!
//! It owns the widening for exact 64-bit integers. It must not round an integer.

use super::error::{JsonError, JsonErrorKind};

/// The longest print of an integral double that has no exponent: a sign and 21 digits.
const LONGEST_PLAIN_DOUBLE: usize = 22;

/// The most digits, sign aside, with which every integer fits `i64`.
const ALWAYS_FITS_DIGITS: usize = 18;

/// Locates a number in the input and says how it is written.
pub(super) struct Number {
    /// Where the number ends in the input.
    pub(super) end: usize,
    notation: Notation,
}

enum Notation {
    Integer,
    FractionOrExponent,
}

/// Says what to write for a number.
pub(super) enum Form<'b> {
    /// The text of the input.
    AsWritten,
    /// Another text.
    Printed(&'b str),
}

/// Finds the end of the number that starts at `start` with a sign or a digit.
pub(super) fn scan(bytes: &[u8], start: usize) -> Result<Number, JsonError> {
    let mut at = start;
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    let first = at;
    at = digits(bytes, at)?;
    if bytes[first] == b'0' && at > first + 1 {
        return Err(JsonError::new(JsonErrorKind::Syntax, first + 1));
    }
    let mut notation = Notation::Integer;
    if bytes.get(at) == Some(&b'.') {
        at = digits(bytes, at + 1)?;
        notation = Notation::FractionOrExponent;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = bytes.get(at) {
            at += 1;
        }
        at = digits(bytes, at)?;
        notation = Notation::FractionOrExponent;
    }
    Ok(Number { end: at, notation })
}

/// Skips one or more digits.
fn digits(bytes: &[u8], start: usize) -> Result<usize, JsonError> {
    let mut at = start;
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    if at > start {
        return Ok(at);
    }
    let kind = if at < bytes.len() {
        JsonErrorKind::Syntax
    } else {
        JsonErrorKind::UnexpectedEnd
    };
    Err(JsonError::new(kind, at))
}

impl Number {
    /// Returns the canonical form of the number, whose text this is.
    pub(super) fn form<'b>(
        &self,
        text: &str,
        buffer: &'b mut ryu_js::Buffer,
    ) -> Result<Form<'b>, JsonErrorKind> {
        match self.notation {
            Notation::Integer => integer_form(text, buffer),
            Notation::FractionOrExponent => {
                let printed = print_double(text, buffer).ok_or(JsonErrorKind::NumberOverflow)?;
                // Saying so keeps text that is canonical already from being copied.
                Ok(if printed == text {
                    Form::AsWritten
                } else {
                    Form::Printed(printed)
                })
            }
        }
    }
}

fn integer_form<'b>(text: &str, buffer: &'b mut ryu_js::Buffer) -> Result<Form<'b>, JsonErrorKind> {
    if text == "-0" {
        return Ok(Form::Printed("0"));
    }
    let fits = text.len() <= ALWAYS_FITS_DIGITS
        || text.parse::<i64>().is_ok()
        || text.parse::<u64>().is_ok();
    // A double such as 1e20 prints as a bare integer, and that print must survive.
    let survives = fits
        || text.len() <= LONGEST_PLAIN_DOUBLE
            && print_double(text, buffer).is_some_and(|printed| printed == text);
    if survives {
        Ok(Form::AsWritten)
    } else {
        Err(JsonErrorKind::IntegerOutOfRange)
    }
}

/// Prints the double nearest to this number as ECMAScript does, or nothing if there is none.
///
/// The negative zero prints as `0`, as ECMAScript has it.
fn print_double<'b>(text: &str, buffer: &'b mut ryu_js::Buffer) -> Option<&'b str> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite())?;
    Some(buffer.format_finite(value))
}
