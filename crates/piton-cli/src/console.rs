//! Owns the three streams of a command and how they may be dressed. It knows no ledger.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufRead, BufWriter, IsTerminal as _, Write};

use serde::Serialize;

use crate::escape;
use crate::failure::Failure;

/// Whether output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Escape sequences for colour are written.
    Always,
    /// Plain text only.
    Never,
}

/// Whether a progress bar may be drawn on the error stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Long walks draw one.
    Shown,
    /// Nothing is drawn.
    Hidden,
}

/// What a piece of text means, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Doubtful,
}

/// The streams of a command.
pub struct Console<'io> {
    input: Box<dyn BufRead + 'io>,
    output: Box<dyn Write + 'io>,
    errors: Box<dyn Write + 'io>,
    colour: Colour,
    progress: Progress,
    output_is_closed: bool,
}

impl<'io> Console<'io> {
    /// Makes a plain console of three streams.
    pub fn new(
        input: impl BufRead + 'io,
        output: impl Write + 'io,
        errors: impl Write + 'io,
    ) -> Self {
        Self {
            input: Box::new(input),
            output: Box::new(output),
            errors: Box::new(errors),
            colour: Colour::Never,
            progress: Progress::Hidden,
            output_is_closed: false,
        }
    }

    /// Sets whether output is coloured.
    #[must_use]
    pub fn with_colour(mut self, colour: Colour) -> Self {
        self.colour = colour;
        self
    }

    /// Replaces the input by an empty one and gives it.
    pub(crate) fn take_input(&mut self) -> Box<dyn BufRead + 'io> {
        std::mem::replace(&mut self.input, Box::new(io::empty()))
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress
    }

    /// Says whether the reader of the output has gone, so that long output may stop.
    pub(crate) fn is_output_closed(&self) -> bool {
        self.output_is_closed
    }

    /// Dresses text in the colour of its meaning.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "1;31",
            Tone::Doubtful => "33",
        };
        match self.colour {
            Colour::Always => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Colour::Never => text.to_owned(),
        }
    }

    /// Writes one line of text.
    pub(crate) fn line(&mut self, line: impl fmt::Display) -> Result<(), Failure> {
        let written = writeln!(self.output, "{line}");
        self.note(written)
    }

    /// Writes text as it is.
    pub(crate) fn text(&mut self, text: &[u8]) -> Result<(), Failure> {
        let written = self.output.write_all(text);
        self.note(written)
    }

    /// Writes one value as one line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value)
            .map_err(|error| Failure::Output(io::Error::other(error)))?;
        self.line(escape::json(text))
    }

    /// Hands everything written so far to the reader.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let flushed = self.output.flush();
        self.note(flushed)
    }

    /// Writes a line to the error stream; if that fails there is nobody left to tell.
    pub(crate) fn complain(&mut self, line: impl fmt::Display) {
        let _ = writeln!(self.errors, "{line}");
        let _ = self.errors.flush();
    }

    /// A reader that has gone away is no failure: what it wanted, it has.
    fn note(&mut self, outcome: io::Result<()>) -> Result<(), Failure> {
        match outcome {
            Err(_) if self.output_is_closed => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.output_is_closed = true;
                Ok(())
            }
            Err(error) => Err(Failure::Output(error)),
            Ok(()) => Ok(()),
        }
    }
}

impl Console<'static> {
    /// Makes the console of this process: colour on a terminal unless `NO_COLOR` is set.
    pub fn of_process() -> Self {
        let stdout = io::stdout();
        let colour = choose_colour(
            stdout.is_terminal(),
            std::env::var_os("NO_COLOR").as_deref(),
            std::env::var_os("TERM").as_deref(),
        );
        let progress = if io::stderr().is_terminal() {
            Progress::Shown
        } else {
            Progress::Hidden
        };
        Self {
            progress,
            ..Self::new(io::stdin().lock(), BufWriter::new(stdout), io::stderr())
        }
        .with_colour(colour)
    }
}

impl fmt::Debug for Console<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console")
            .field("colour", &self.colour)
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

/// Colour is for a terminal that can show it, and `NO_COLOR` with any text forbids it.
fn choose_colour(is_terminal: bool, no_color: Option<&OsStr>, term: Option<&OsStr>) -> Colour {
    let forbidden = no_color.is_some_and(|value| !value.is_empty());
    let dumb = term.is_some_and(|term| term == "dumb");
    if is_terminal && !forbidden && !dumb {
        Colour::Always
    } else {
        Colour::Never
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(terminal: bool, no_color: Option<&str>, term: Option<&str>, expected: Colour) {
        let chosen = choose_colour(terminal, no_color.map(OsStr::new), term.map(OsStr::new));
        assert_eq!(chosen, expected);
    }

    #[test]
    fn colour_needs_a_terminal_and_nobody_against_it() {
        check(true, None, Some("xterm"), Colour::Always);
        check(true, Some(""), None, Colour::Always);
        check(false, None, Some("xterm"), Colour::Never);
        check(true, Some("1"), Some("xterm"), Colour::Never);
        check(true, None, Some("dumb"), Colour::Never);
    }

    #[test]
    fn paint_is_plain_without_colour() {
        let plain = Console::new(io::empty(), io::sink(), io::sink());
        assert_eq!(plain.paint(Tone::Bad, "torn"), "torn");
        let painted = plain.with_colour(Colour::Always).paint(Tone::Bad, "torn");
        assert!(painted.starts_with('\u{1b}') && painted.contains("torn"));
    }
}
