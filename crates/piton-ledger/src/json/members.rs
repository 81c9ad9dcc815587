//! The order and the names of the members of one object.
//!
//! It owns key order, duplicate detection and the suffixes of replaced keys. It must not scan text.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use core::cmp::Ordering;

use super::error::{JsonError, JsonErrorKind};
use super::output::Output;

/// Describes one member of an object that is being scanned.
pub(super) struct Member<'a> {
    /// The original key, decoded.
    pub(super) key: Cow<'a, str>,
    /// The key's replacement, never equal to the original when it comes from the rewriter.
    pub(super) replacement: Option<String>,
    /// Where the key's quote stands in the input.
    pub(super) offset: usize,
    /// Where the member starts in the output, where its value does, and where both end.
    pub(super) start: usize,
    pub(super) value: usize,
    pub(super) end: usize,
}

impl Member<'_> {
    fn final_key(&self) -> &str {
        self.replacement.as_deref().unwrap_or(&self.key)
    }
}

/// Brings the members of an object whose output starts at `body` into canonical order.
pub(super) fn arrange<'a>(
    members: &mut [Member<'a>],
    body: usize,
    output: &mut Output<'a>,
) -> Result<(), JsonError> {
    let ordered = members.is_sorted_by(|left, right| compare(&left.key, &right.key).is_lt());
    if !ordered {
        members.sort_unstable_by(|left, right| {
            compare(&left.key, &right.key).then(left.offset.cmp(&right.offset))
        });
        refuse_duplicates(members)?;
    }
    if members.iter().any(|member| member.replacement.is_some()) {
        settle_replacements(members);
        members.sort_unstable_by(|left, right| compare(left.final_key(), right.final_key()));
    } else if ordered {
        return Ok(());
    }
    output.rearrange(body, members);
    Ok(())
}

fn refuse_duplicates(members: &[Member<'_>]) -> Result<(), JsonError> {
    let repeated = members.windows(2).filter(|pair| pair[0].key == pair[1].key);
    match repeated.map(|pair| pair[1].offset).min() {
        Some(offset) => Err(JsonError::new(JsonErrorKind::DuplicateKey, offset)),
        None => Ok(()),
    }
}

/// Gives each replaced key a text of its own; members come in the order of their original keys.
fn settle_replacements(members: &mut [Member<'_>]) {
    let mut taken = BTreeSet::new();
    for member in members.iter().filter(|member| member.replacement.is_none()) {
        taken.insert(String::from(&*member.key));
    }
    // A suffix once taken stays taken, so each search goes on where the last one ended: replacing
    // every key of a large object by one text stays far from quadratic.
    let mut next_suffix = BTreeMap::<String, u64>::new();
    for replacement in members
        .iter_mut()
        .filter_map(|member| member.replacement.as_mut())
    {
        if taken.insert(replacement.clone()) {
            continue;
        }
        let suffix = next_suffix.entry(replacement.clone()).or_insert(2);
        loop {
            let candidate = format!("{replacement}#{suffix}");
            *suffix += 1;
            if taken.insert(candidate.clone()) {
                *replacement = candidate;
                break;
            }
        }
    }
}

/// Compares decoded keys by their UTF-16 code units.
fn compare(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    for (left, right) in left.iter().zip(right) {
        if left != right {
            return utf16_rank(*left).cmp(&utf16_rank(*right));
        }
    }
    left.len().cmp(&right.len())
}

/// Ranks a UTF-8 byte as UTF-16 ranks what it starts.
///
/// The two orders differ only where U+E000 to U+FFFF (lead bytes EE and EF) meet U+10000 and above
/// (lead bytes F0 to F4), which UTF-16 writes with the lower units D800 to DFFF.
const fn utf16_rank(byte: u8) -> u8 {
    if byte == 0xEE || byte == 0xEF {
        byte + 0x10
    } else {
        byte
    }
}
