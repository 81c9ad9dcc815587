//! Owns the pin: the bytes in `checkpoints.lock` that note the last acknowledged row. It takes no
//! lock and compares with no row.
//!
//! Two slots stand at the byte offsets 0 and 4096, so that no damage to one sector takes both.
//! They are written in turn and in place. A slot is 64 bytes, all numbers big-endian:
//!
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 8 | magic, `PITONPIN` |
//! | 8 | 4 | version of this record, 1 |
//! | 12 | 8 | generation: the valid slot with the greater one is the newer |
//! | 20 | 8 | sequence of the last acknowledged row, 0 for none |
//! | 28 | 32 | head after that row, genesis for none |
//! | 60 | 4 | CRC-32 (ISO-HDLC, as in zlib and PNG) of the 60 bytes before it |
//!
//! A file with a pin has 8192 bytes: it gets them, as zeros, before its first note, which stands in
//! both slots.
//!
//! The checksum tells a torn slot from a whole one; it is no defence against a forger, who could
//! as well rewrite the rows.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use piton_ledger::{ChainHead, Sequence};
use piton_store::Tail;

/// Where slots stand: a file, or in tests the model of one.
pub(crate) trait Medium {
    /// Gives the length in bytes.
    fn length(&self) -> io::Result<u64>;

    /// Reads at an offset, some bytes or all; none at the end.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Reads at an offset exactly as many bytes as asked for.
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes at an offset, beyond the end too.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Waits until everything written is durable.
    fn sync_all(&self) -> io::Result<()>;
}

impl Medium for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, bytes, offset)
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, bytes, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset)
    }

    fn sync_all(&self) -> io::Result<()> {
        Self::sync_all(self)
    }
}

const MAGIC: &[u8; 8] = b"PITONPIN";
const VERSION: u32 = 1;
const RECORD: usize = 64;
const CHECKED: usize = 60;
/// The bytes that keep the slots apart, and that the second one stands in.
const SECTOR: usize = 4096;
/// The length of a lock file with a pin: two sectors.
const LENGTH: u64 = 8192;
/// How often a reader without a lock looks again before it calls a pin damaged: it may have met
/// one slot after the other while they were being written.
const LOOKS: usize = 3;

/// Which of the two slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    First,
    Second,
}

impl Slot {
    fn offset(self) -> u64 {
        match self {
            Self::First => 0,
            Self::Second => 4096,
        }
    }

    fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// What a lock file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pin {
    /// The file is empty, or holds only zeros because its making was interrupted: there is no pin.
    Absent,
    /// Neither slot is valid, or the file was cut.
    Damaged,
    /// The newest valid slot.
    Noted(Note),
}

/// A valid slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Note {
    tail: Tail,
    generation: u64,
    slot: Slot,
}

impl Note {
    /// What was noted.
    pub(crate) fn tail(&self) -> Tail {
        self.tail
    }
}

/// Reads the pin under the append lock, which keeps writers away.
pub(crate) fn read(file: &impl Medium) -> io::Result<Pin> {
    let length = file.length()?;
    let first = read_slot(file, Slot::First)?;
    let second = read_slot(file, Slot::Second)?;
    let newest = [first, second]
        .into_iter()
        .flatten()
        .max_by_key(|note| note.generation);
    match newest {
        // A file gets its whole length before its first note, so a shorter one was cut.
        Some(note) if length >= LENGTH => Ok(Pin::Noted(note)),
        Some(_) => Ok(Pin::Damaged),
        None if length <= LENGTH && is_zero(file)? => Ok(Pin::Absent),
        None => Ok(Pin::Damaged),
    }
}

/// Whether a file holds no byte but zero: its making was interrupted, and nothing was noted yet.
fn is_zero(file: &impl Medium) -> io::Result<bool> {
    let mut at = 0;
    let mut bytes = [0; SECTOR];
    loop {
        let read = file.read_at(&mut bytes, at)?;
        if read == 0 {
            return Ok(true);
        }
        if bytes.iter().take(read).any(|byte| *byte != 0) {
            return Ok(false);
        }
        at = at.saturating_add(u64::try_from(read).map_err(io::Error::other)?);
    }
}

/// Reads the pin without the append lock.
pub(crate) fn read_unlocked(file: &impl Medium) -> io::Result<Pin> {
    let mut pin = read(file)?;
    for _ in 1..LOOKS {
        if pin != Pin::Damaged {
            break;
        }
        pin = read(file)?;
    }
    Ok(pin)
}

/// Notes `tail` in the slot that is not the newest. No fsync: after a power cut a pin may be old.
pub(crate) fn write(file: &impl Medium, before: &Pin, tail: Tail) -> io::Result<Pin> {
    let (generation, slot) = match before {
        Pin::Absent | Pin::Damaged => (1, Slot::First),
        Pin::Noted(note) => (note.generation.saturating_add(1), note.slot.other()),
    };
    let note = Note {
        tail,
        generation,
        slot,
    };
    file.write_all_at(&encode(&note), slot.offset())?;
    Ok(Pin::Noted(note))
}

/// Notes `tail` for the first time, in both slots, and makes it durable.
///
/// Every byte is written, even those that an earlier attempt has written: a sync that failed
/// leaves them in doubt, and a later sync doesn't change that. The length is durable before the
/// first note, so that an interruption leaves a file of zeros or one with a valid slot. Both slots
/// are valid before the first row, so that from then on one can be lost.
pub(crate) fn write_first(file: &impl Medium, tail: Tail) -> io::Result<Pin> {
    for slot in [Slot::First, Slot::Second] {
        file.write_all_at(&[0; SECTOR], slot.offset())?;
    }
    file.sync_all()?;
    let once = write(file, &Pin::Absent, tail)?;
    let twice = write(file, &once, tail)?;
    file.sync_all()?;
    Ok(twice)
}

/// Replaces whatever was noted in both slots and makes it durable, so that the old note can't
/// come back when one slot is damaged.
///
/// Generations begin anew, since the greatest one has no successor: until the second slot is
/// written the old note counts.
pub(crate) fn replace(file: &impl Medium, before: &Pin, tail: Tail) -> io::Result<Pin> {
    allocate(file)?;
    let before = match before {
        Pin::Noted(note) => Pin::Noted(Note {
            generation: 0,
            ..*note
        }),
        Pin::Absent | Pin::Damaged => *before,
    };
    let once = write(file, &before, tail)?;
    file.sync_all()?;
    let twice = write(file, &once, tail)?;
    file.sync_all()?;
    Ok(twice)
}

/// Gives both slots their places on disk, so that a pin can be written when the disk is full.
/// What is there already stays.
fn allocate(file: &impl Medium) -> io::Result<()> {
    let mut length = file.length()?;
    while length < LENGTH {
        let missing = usize::try_from(LENGTH - length).map_err(io::Error::other)?;
        file.write_all_at(&[0; SECTOR][..missing.min(SECTOR)], length)?;
        length = file.length()?;
    }
    Ok(())
}

fn read_slot(file: &impl Medium, slot: Slot) -> io::Result<Option<Note>> {
    let mut record = [0; RECORD];
    match file.read_exact_at(&mut record, slot.offset()) {
        Ok(()) => Ok(decode(&record, slot)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

fn encode(note: &Note) -> [u8; RECORD] {
    let sequence = note.tail.sequence().map_or(0, Sequence::to_u64);
    let mut bytes = Vec::with_capacity(RECORD);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_be_bytes());
    bytes.extend_from_slice(&note.generation.to_be_bytes());
    bytes.extend_from_slice(&sequence.to_be_bytes());
    bytes.extend_from_slice(note.tail.head().as_bytes());
    bytes.extend_from_slice(&crc32(&bytes).to_be_bytes());
    let mut record = [0; RECORD];
    record.copy_from_slice(&bytes);
    record
}

fn decode(record: &[u8; RECORD], slot: Slot) -> Option<Note> {
    let (checked, checksum) = record.split_at(CHECKED);
    if crc32(checked).to_be_bytes() != checksum {
        return None;
    }
    let (magic, rest) = checked.split_first_chunk::<8>()?;
    let (version, rest) = rest.split_first_chunk::<4>()?;
    let (generation, rest) = rest.split_first_chunk::<8>()?;
    let (sequence, rest) = rest.split_first_chunk::<8>()?;
    let head = ChainHead::from_bytes(rest.try_into().ok()?);
    let generation = u64::from_be_bytes(*generation);
    // The greatest generation has no successor, so it is never written.
    if magic != MAGIC || u32::from_be_bytes(*version) != VERSION || generation == u64::MAX {
        return None;
    }
    let tail = match u64::from_be_bytes(*sequence) {
        0 if head == ChainHead::GENESIS => Tail::Empty,
        sequence => Tail::At {
            sequence: Sequence::try_from(sequence).ok()?,
            head,
        },
    };
    Some(Note {
        tail,
        generation,
        slot,
    })
}

/// CRC-32 with the reflected polynomial 0xEDB88320.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        let [low, ..] = crc.to_le_bytes();
        (crc >> 8) ^ TABLE[usize::from(low ^ byte)]
    })
}

static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    let mut value = 0u32;
    while index < table.len() {
        let mut crc = value;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xEDB8_8320
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
        value += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(generation: u64, slot: Slot) -> Note {
        Note {
            tail: Tail::At {
                sequence: Sequence::FIRST,
                head: ChainHead::from_bytes([7; 32]),
            },
            generation,
            slot,
        }
    }

    #[test]
    fn the_checksum_is_the_standard_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn a_record_reads_back() {
        let note = note(9, Slot::Second);
        assert_eq!(decode(&encode(&note), Slot::Second), Some(note));
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let whole = encode(&note(1, Slot::First));
        for bit in 0..RECORD * 8 {
            let mut record = whole;
            record[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&record, Slot::First), None, "bit {bit}");
        }
    }

    #[test]
    fn sequence_zero_goes_with_genesis_alone() {
        let mut record = encode(&note(1, Slot::First));
        record[20..28].fill(0);
        let checksum = crc32(&record[..CHECKED]).to_be_bytes();
        record[CHECKED..].copy_from_slice(&checksum);
        assert_eq!(decode(&record, Slot::First), None);
    }

    #[test]
    fn the_last_generation_is_never_valid() {
        assert_eq!(
            decode(&encode(&note(u64::MAX, Slot::First)), Slot::First),
            None
        );
    }

    #[test]
    fn a_replacement_counts_whatever_the_generation_before_it() {
        for slot in [Slot::First, Slot::Second] {
            let file = tempfile::tempfile().expect("a file");
            let forged = note(u64::MAX - 1, slot);
            write_first(&file, Tail::Empty).expect("written");
            Medium::write_all_at(&file, &encode(&forged), slot.offset()).expect("written");
            let before = read(&file).expect("readable");
            assert_eq!(before, Pin::Noted(forged));
            let accepted = note(1, slot).tail;
            replace(&file, &before, accepted).expect("replaced");
            let Pin::Noted(after) = read(&file).expect("readable") else {
                panic!("an accepted tail is a pin");
            };
            assert_eq!(after.tail, accepted);
        }
    }
}
