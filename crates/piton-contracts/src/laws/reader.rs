//! Owns the way of cutting an input into small choices. Every input is a valid one: what is
//! missing at the end reads as zeros.

/// What is left of an input.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Begins at the front of an input.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether nothing is left.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes one byte.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// Takes one byte and makes it a position below `limit`; 0 when the limit is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()).checked_rem(limit).unwrap_or(0)
    }

    /// Takes eight bytes as a big-endian number.
    pub fn number(&mut self) -> u64 {
        u64::from_be_bytes(self.array())
    }

    /// Takes a fixed number of bytes.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut taken = [0; N];
        for byte in &mut taken {
            *byte = self.byte();
        }
        taken
    }

    /// Takes a length of one byte, and so many bytes or what is left.
    pub fn run(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (run, rest) = self.0.split_at(length);
        self.0 = rest;
        run
    }

    /// Takes all that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}
