//! Owns the reading of lines of bounded length. It knows nothing of their content.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use crate::console::Console;
use crate::failure::{Failure, LineError};

/// The longest line that is read into memory: 1 MiB, 16 times the largest event.
pub(crate) const MAX_LINE_BYTES: usize = 1024 * 1024;

/// Where lines come from.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct InputArgument {
    /// File of lines, one JSON object each; `-` is the standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

impl InputArgument {
    pub(crate) fn open<'io>(&self, console: &mut Console<'io>) -> Result<Lines<'io>, Failure> {
        if self.file == Path::new("-") {
            return Ok(Lines::new(console.take_input()));
        }
        let file = File::open(&self.file).map_err(Failure::OpenInput)?;
        Ok(Lines::new(Box::new(BufReader::new(file))))
    }
}

/// Reads lines that are not blank.
pub(crate) struct Lines<'io> {
    reader: Box<dyn BufRead + 'io>,
    buffer: Vec<u8>,
    /// The number of the line that was read last, from 1; blank lines count.
    number: u64,
}

impl<'io> Lines<'io> {
    fn new(reader: Box<dyn BufRead + 'io>) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            number: 0,
        }
    }

    /// Gives the next line that is not blank, without its end, or none at the end of the input.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, Failure> {
        loop {
            self.buffer.clear();
            self.number = self.number.saturating_add(1);
            // One byte more than a line and its end tells a line that is too long from one that
            // is not, without reading on.
            let limit =
                u64::try_from(MAX_LINE_BYTES).map_or(u64::MAX, |most| most.saturating_add(1));
            let read = (&mut self.reader)
                .take(limit)
                .read_until(b'\n', &mut self.buffer)
                .map_err(|source| Failure::ReadInput {
                    number: self.number,
                    source,
                })?;
            if read == 0 {
                return Ok(None);
            }
            if self.buffer.last() == Some(&b'\n') {
                self.buffer.pop();
            }
            if self.buffer.len() > MAX_LINE_BYTES {
                return Err(self.refuse(LineError::TooLong));
            }
            if !self.buffer.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(&self.buffer));
            }
        }
    }

    /// Makes the failure that the last line is refused.
    pub(crate) fn refuse(&self, reason: impl Into<LineError>) -> Failure {
        Failure::Line {
            number: self.number,
            reason: reason.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn lines(text: Vec<u8>) -> Lines<'static> {
        Lines::new(Box::new(Cursor::new(text)))
    }

    #[test]
    fn blank_lines_are_skipped_and_counted() {
        let mut lines = lines(b"\n  \r\na\n\t\nb".to_vec());
        assert_eq!(lines.next().expect("readable"), Some(&b"a"[..]));
        assert_eq!(lines.number, 3);
        assert_eq!(lines.next().expect("readable"), Some(&b"b"[..]));
        assert_eq!(lines.number, 5);
        assert_eq!(lines.next().expect("readable"), None);
    }

    #[test]
    fn the_longest_line_is_read_and_one_byte_more_is_refused() {
        for end in ["", "\n"] {
            let mut text = vec![b'x'; MAX_LINE_BYTES];
            text.extend(end.bytes());
            let length = lines(text.clone())
                .next()
                .expect("readable")
                .map(<[u8]>::len);
            assert_eq!(length, Some(MAX_LINE_BYTES));
            text.insert(0, b'x');
            let mut lines = lines(text);
            let refused = lines.next();
            assert!(matches!(
                refused,
                Err(Failure::Line {
                    number: 1,
                    reason: LineError::TooLong
                })
            ));
        }
    }
}
