//! Owns the making of inputs out of others, for a test that has no fuzzer: the same seed gives the
//! same inputs. It knows nothing of what the bytes mean.

/// A small generator of numbers that look random.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Begins with a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Gives the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Gives a number below `limit`, or 0 when that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        let below = self.number().checked_rem(limit).unwrap_or(0);
        usize::try_from(below).unwrap_or(0)
    }
}

/// Makes one input of some others, by a few changes to one of them.
pub fn mutated(corpus: &[Vec<u8>], dictionary: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let Some(base) = corpus.get(random.below(corpus.len())) else {
        return Vec::new();
    };
    let mut bytes = base.clone();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let until = (at + random.below(16)).min(bytes.len());
        match random.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = random.number().to_be_bytes()[0],
            2 => drop(bytes.drain(at..until)),
            3 => {
                let copy = bytes[at..until].to_vec();
                bytes.splice(at..at, copy);
            }
            4 => {
                let other = &corpus[random.below(corpus.len())];
                let from = random.below(other.len() + 1);
                let to = (from + random.below(64)).min(other.len());
                bytes.splice(at..until, other[from..to].iter().copied());
            }
            5 if !dictionary.is_empty() => {
                let word = &dictionary[random.below(dictionary.len())];
                bytes.splice(at..at, word.iter().copied());
            }
            _ => bytes.truncate(at),
        }
    }
    bytes
}

/// Reads the words of a dictionary in libFuzzer's form: one quoted word a line, with `\\`, `\"`
/// and `\xNN` as escapes.
pub fn words(dictionary: &str) -> Vec<Vec<u8>> {
    let quoted = dictionary.lines().filter_map(|line| {
        let line = line.trim().strip_prefix('"')?;
        line.strip_suffix('"')
    });
    quoted.map(unescaped).collect()
}

fn unescaped(word: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let (byte, length) = match rest.strip_prefix("\\x").and_then(|hex| hex.get(..2)) {
            Some(hex) => (u8::from_str_radix(hex, 16).ok(), 4),
            None if first == '\\' && rest.len() > 1 => (rest.as_bytes().get(1).copied(), 2),
            None => (None, first.len_utf8()),
        };
        match byte {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(&rest.as_bytes()[..length]),
        }
        rest = &rest[length..];
    }
    bytes
}
