//! Owns one question about a write-ahead log: does it hold a committed transaction? It opens no
//! database and changes nothing.
//!
//! SQLite deletes a log without one when it closes, even when it may only read. A reader must
//! leave a damaged log in place, so it asks first. The rules are those of the file format's
//! "WAL Format" section: a log counts up to its first frame with a wrong salt or checksum.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// The two magic numbers differ in the last bit, which is set for big-endian checksums.
const MAGIC: u32 = 0x377f_0682;
const PAGE_SIZES: std::ops::RangeInclusive<u32> = 512..=65536;

/// Whether a log holds a committed transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commits {
    /// It holds at least one.
    Some,
    /// It is empty, or nothing in it counts.
    None,
}

/// Looks for the first commit in a log.
pub(crate) fn commits(log: &File) -> io::Result<Commits> {
    let mut header = [0; HEADER];
    if !fill(log, &mut header, 0)? {
        return Ok(Commits::None);
    }
    let magic = word(&header, 0);
    let page_size = word(&header, 8);
    let order = if magic & 1 == 1 {
        Order::Big
    } else {
        Order::Little
    };
    let sum = checksum(order, &header[..24], (0, 0));
    let valid = magic & !1 == MAGIC
        && PAGE_SIZES.contains(&page_size)
        && page_size.is_power_of_two()
        && sum == (word(&header, 24), word(&header, 28));
    let Some(page) = usize::try_from(page_size).ok().filter(|_| valid) else {
        return Ok(Commits::None);
    };
    find_commit(log, order, &header[16..24], page, sum)
}

fn find_commit(
    log: &File,
    order: Order,
    salts: &[u8],
    page: usize,
    mut sum: (u32, u32),
) -> io::Result<Commits> {
    let mut frame = vec![0; FRAME_HEADER + page];
    let step = u64::try_from(frame.len()).map_err(io::Error::other)?;
    let mut offset = 32;
    while fill(log, &mut frame, offset)? {
        sum = checksum(order, &frame[..8], sum);
        sum = checksum(order, &frame[FRAME_HEADER..], sum);
        let valid = frame[8..16] == *salts
            && word(&frame, 0) != 0
            && sum == (word(&frame, 16), word(&frame, 20));
        if !valid {
            break;
        }
        if word(&frame, 4) != 0 {
            return Ok(Commits::Some);
        }
        offset += step;
    }
    Ok(Commits::None)
}

#[derive(Debug, Clone, Copy)]
enum Order {
    Little,
    Big,
}

fn checksum(order: Order, bytes: &[u8], (mut first, mut second): (u32, u32)) -> (u32, u32) {
    for pair in bytes.chunks_exact(8) {
        let read = |at: usize| match order {
            Order::Little => word(pair, at).swap_bytes(),
            Order::Big => word(pair, at),
        };
        first = first.wrapping_add(read(0)).wrapping_add(second);
        second = second.wrapping_add(read(4)).wrapping_add(first);
    }
    (first, second)
}

/// The big-endian word at `at`.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..]
        .first_chunk::<4>()
        .map_or(0, |word| u32::from_be_bytes(*word))
}

fn fill(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<bool> {
    match file.read_exact_at(buffer, offset) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
