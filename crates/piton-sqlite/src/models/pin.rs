//! The pin slots under torn reads, torn writes and crashes.
//!
//! The law: a reader without a lock never sees a tail that was not yet noted, nor one older than
//! the last but one before it began to look; and after a crash in the middle of a write the file
//! gives the tail before or the tail after.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use piton_ledger::{ChainHead, Sequence};
use piton_store::Tail;
use shuttle::sync::Mutex;
use shuttle::thread;

use super::explore;
use crate::pin::{self, Medium, Pin};

/// Bytes that move at once: a record takes several steps.
const STEP: usize = 16;

/// A file in memory whose reads and writes can be met half-way.
#[derive(Debug, Default)]
struct Page {
    bytes: Mutex<Vec<u8>>,
}

impl Medium for Page {
    fn length(&self) -> io::Result<u64> {
        let length = self.bytes.lock().expect("no task panics").len();
        u64::try_from(length).map_err(io::Error::other)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let held = self.bytes.lock().expect("no task panics");
        let there = held.get(offset..).unwrap_or_default();
        let length = there.len().min(bytes.len());
        bytes[..length].copy_from_slice(&there[..length]);
        Ok(length)
    }

    fn read_exact_at(&self, bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        for chunk in bytes.chunks_mut(STEP) {
            if self.read_at(chunk, offset)? < chunk.len() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            offset += u64::try_from(chunk.len()).map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut at = usize::try_from(offset).map_err(io::Error::other)?;
        // Whole sectors of zeros need no steps: nothing is noted in them.
        let step = if bytes.len() > 64 { bytes.len() } else { STEP };
        for chunk in bytes.chunks(step) {
            let mut held = self.bytes.lock().expect("no task panics");
            let end = at + chunk.len();
            if held.len() < end {
                held.resize(end, 0);
            }
            held[at..end].copy_from_slice(chunk);
            at = end;
        }
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }
}

fn tail(sequence: u64) -> Tail {
    match Sequence::try_from(sequence) {
        Ok(at) => Tail::At {
            sequence: at,
            head: ChainHead::from_bytes([sequence.to_be_bytes()[7]; 32]),
        },
        Err(_) => Tail::Empty,
    }
}

/// The sequence of a pin that was noted, whose head must be its own.
fn noted(pin: &Pin) -> Option<u64> {
    let Pin::Noted(note) = pin else { return None };
    let sequence = note.tail().sequence().map_or(0, Sequence::to_u64);
    assert_eq!(note.tail(), tail(sequence), "a head of another row");
    Some(sequence)
}

#[test]
fn a_reader_without_a_lock_never_sees_a_tail_before_its_time() {
    explore(|| {
        let page = Arc::new(Page::default());
        pin::write_first(&*page, tail(0)).expect("written");
        let [started, ended] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
        let writer = {
            let (page, started, ended) = (page.clone(), started.clone(), ended.clone());
            thread::spawn(move || {
                for sequence in 1..=4 {
                    let before = pin::read(&*page).expect("readable");
                    assert_eq!(noted(&before), Some(sequence - 1), "a writer is never torn");
                    started.store(sequence, Ordering::SeqCst);
                    pin::write(&*page, &before, tail(sequence)).expect("written");
                    ended.store(sequence, Ordering::SeqCst);
                }
            })
        };
        for _ in 0..2 {
            let oldest = ended.load(Ordering::SeqCst).saturating_sub(1);
            let pin = pin::read_unlocked(&*page).expect("readable");
            assert_ne!(pin, Pin::Absent, "a pin does not go away");
            if let Some(sequence) = noted(&pin) {
                assert!(sequence <= started.load(Ordering::SeqCst), "ahead of time");
                assert!(sequence >= oldest, "older than the last but one");
            }
        }
        writer.join().expect("the writer ends");
        let quiet = pin::read_unlocked(&*page).expect("readable");
        assert_eq!(noted(&quiet), Some(4), "a file at rest is whole");
    });
}

/// A reader sees an old tail, the accepted one, or damage, while both slots change.
#[test]
fn a_reader_during_a_replacement_sees_the_old_tail_or_the_new_one() {
    explore(|| {
        let page = Arc::new(Page::default());
        let first = pin::write_first(&*page, tail(7)).expect("written");
        let before = pin::write(&*page, &first, tail(8)).expect("written");
        let operator = {
            let page = page.clone();
            thread::spawn(move || pin::replace(&*page, &before, tail(3)).expect("replaced"))
        };
        let pin = pin::read_unlocked(&*page).expect("readable");
        assert!(matches!(noted(&pin), None | Some(7 | 8 | 3)), "{pin:?}");
        operator.join().expect("the operator ends");
        let quiet = pin::read(&*page).expect("readable");
        assert_eq!(noted(&quiet), Some(3));
    });
}

/// A page that loses power after so many more bytes.
#[derive(Debug)]
struct Failing {
    bytes: std::sync::Mutex<Vec<u8>>,
    left: AtomicU64,
}

impl Failing {
    fn new(bytes: Vec<u8>, left: usize) -> Self {
        Self {
            bytes: std::sync::Mutex::new(bytes),
            left: AtomicU64::new(u64::try_from(left).expect("few bytes")),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().expect("no test panics").clone()
    }
}

impl Medium for Failing {
    fn length(&self) -> io::Result<u64> {
        u64::try_from(self.bytes().len()).map_err(io::Error::other)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let held = self.bytes();
        let there = usize::try_from(offset).ok().and_then(|at| held.get(at..));
        let there = there.unwrap_or_default();
        let length = there.len().min(bytes.len());
        bytes[..length].copy_from_slice(&there[..length]);
        Ok(length)
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        match self.read_at(bytes, offset)? == bytes.len() {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let left = usize::try_from(self.left.load(Ordering::SeqCst)).map_err(io::Error::other)?;
        let written = bytes.len().min(left);
        let at = usize::try_from(offset).map_err(io::Error::other)?;
        let mut held = self.bytes.lock().expect("no test panics");
        if written > 0 && held.len() < at + written {
            held.resize(at + written, 0);
        }
        if written > 0 {
            held[at..at + written].copy_from_slice(&bytes[..written]);
        }
        let left = u64::try_from(left - written).map_err(io::Error::other)?;
        self.left.store(left, Ordering::SeqCst);
        match written == bytes.len() {
            true => Ok(()),
            false => Err(io::Error::other("the power is gone")),
        }
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }
}

fn read(bytes: &[u8]) -> Pin {
    pin::read(&Failing::new(bytes.to_vec(), 0)).expect("readable")
}

/// Cuts a change short at every byte, and gives what a reader finds then.
fn cut(bytes: &[u8], change: impl Fn(&Failing) -> io::Result<Pin>) -> Vec<(Pin, Vec<u8>)> {
    (0..)
        .map_while(|left| {
            let page = Failing::new(bytes.to_vec(), left);
            let outcome = change(&page);
            outcome
                .is_err()
                .then(|| (read(&page.bytes()), page.bytes()))
        })
        .collect()
}

fn whole(bytes: &[u8], change: impl Fn(&Failing) -> io::Result<Pin>) -> Vec<u8> {
    let page = Failing::new(bytes.to_vec(), usize::from(u16::MAX));
    change(&page).expect("enough power");
    page.bytes()
}

#[test]
fn a_note_that_is_cut_short_leaves_the_one_before_it() {
    let mut bytes = whole(&[], |page| pin::write_first(page, tail(0)));
    for sequence in 1..=5 {
        let before = read(&bytes);
        let note = |page: &Failing| pin::write(page, &before, tail(sequence));
        for (pin, torn) in cut(&bytes, note) {
            assert_eq!(noted(&pin), Some(sequence - 1));
            // Whoever comes next notes the row all the same.
            let mended = whole(&torn, |page| pin::write(page, &pin, tail(sequence)));
            assert_eq!(noted(&read(&mended)), Some(sequence));
        }
        bytes = whole(&bytes, note);
        assert_eq!(noted(&read(&bytes)), Some(sequence));
    }
}

#[test]
fn a_first_note_that_is_cut_short_is_no_pin_or_damage() {
    let mut kinds = [0, 0, 0];
    for (pin, _) in cut(&[], |page| pin::write_first(page, tail(0))) {
        match pin {
            Pin::Absent => kinds[0] += 1,
            Pin::Damaged => kinds[1] += 1,
            Pin::Noted(note) => {
                assert_eq!(note.tail(), tail(0));
                kinds[2] += 1;
            }
        }
    }
    // The whole length as zeros comes first; then a record, of which some bytes are not zero; then
    // the second record beside the first.
    assert_eq!(kinds, [8193, 63, 64]);
}

/// Where both slots were damaged, a write that is cut short may mend an old record: that tail was
/// noted once, and nothing was acknowledged since.
#[test]
fn a_replacement_that_is_cut_short_brings_no_tail_that_was_never_noted() {
    let first = whole(&[], |page| pin::write_first(page, tail(7)));
    let intact = whole(&first, |page| pin::write(page, &read(&first), tail(8)));
    let mut damaged = intact.clone();
    damaged[0] ^= 1;
    damaged[4096] ^= 1;
    for (bytes, possible) in [(intact, &[8, 3][..]), (damaged, &[7, 8, 3])] {
        let before = read(&bytes);
        let accept = |page: &Failing| pin::replace(page, &before, tail(3));
        for (pin, _) in cut(&bytes, accept) {
            let seen = noted(&pin);
            assert!(seen.is_none_or(|seen| possible.contains(&seen)), "{pin:?}");
        }
        check_replaced(&whole(&bytes, accept));
    }
}

/// The accepted tail stands in both slots, so that nothing older comes back.
fn check_replaced(bytes: &[u8]) {
    assert_eq!(noted(&read(bytes)), Some(3));
    for slot in [0, 4096] {
        let mut damaged = bytes.to_vec();
        damaged[slot] ^= 1;
        assert_eq!(noted(&read(&damaged)), Some(3), "with the slot at {slot}");
    }
}
