//! A second decoder of the lock file, from the table under "Pin" in `docs/chain-format.md`.

/// What a lock file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pin {
    /// Nothing was noted.
    None,
    /// What was noted can't be read.
    Damaged,
    /// A sequence and a head.
    Noted(u64, [u8; 32]),
}

/// Decodes a whole lock file beside no database.
pub fn decode(file: &[u8]) -> Pin {
    let slots = [0, 4096].map(|offset| slot(file.get(offset..offset + 64)));
    let newest = match slots {
        [Some(first), Some(second)] if second.0 >= first.0 => Some(second),
        [Some(first), _] => Some(first),
        [None, second] => second,
    };
    match newest {
        Some((_, sequence, head)) if file.len() >= 8192 => Pin::Noted(sequence, head),
        None if file.len() <= 8192 && file.iter().all(|byte| *byte == 0) => Pin::None,
        Some(_) | None => Pin::Damaged,
    }
}

/// Gives the generation, sequence and head of a valid slot.
fn slot(bytes: Option<&[u8]>) -> Option<(u64, u64, [u8; 32])> {
    let bytes = bytes?;
    let number = |at: usize| {
        let eight = bytes[at..at + 8].try_into().expect("eight bytes");
        u64::from_be_bytes(eight)
    };
    let head: [u8; 32] = bytes[28..60].try_into().expect("32 bytes");
    let (generation, sequence) = (number(12), number(20));
    let is_valid = &bytes[..8] == b"PITONPIN"
        && bytes[8..12] == [0, 0, 0, 1]
        && bytes[60..] == checksum(&bytes[..60]).to_be_bytes()
        // The greatest generation has no successor, and a sequence has 63 bits.
        && generation < u64::MAX
        && i64::try_from(sequence).is_ok()
        && (sequence > 0 || head == [0; 32]);
    is_valid.then_some((generation, sequence, head))
}

/// CRC-32 bit by bit, as the polynomial is written in the literature.
pub fn checksum(bytes: &[u8]) -> u32 {
    let mut remainder = u32::MAX;
    for byte in bytes {
        remainder ^= u32::from(*byte);
        for _ in 0..8 {
            let carry = remainder & 1;
            remainder >>= 1;
            if carry == 1 {
                remainder ^= 0xedb8_8320;
            }
        }
    }
    !remainder
}
