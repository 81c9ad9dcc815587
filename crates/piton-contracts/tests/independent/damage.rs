//! Owns the ways in which a random ledger is damaged at a random place. Each says whether it had
//! anything to damage; it knows no verdict.

use piton_ledger::ChainHead;
use piton_store::{PersistedRow, Stored, Tail};
use piton_testkit::tamper::{altered_head, relink, shift_sequences};
use piton_verify::PinPolicy;

use crate::ledger::{LOCK_LENGTH, Ledger, SECOND_SLOT, lock_file, slot};

/// Numbers that look random and are the same in every run (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// One of so many.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        let count = u64::try_from(count).expect("a machine word");
        usize::try_from(self.next() % count).expect("below a machine word")
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Damages a ledger; none where it has nothing that could be damaged in this way.
pub(crate) type Damage = fn(&mut Ledger, &mut Random) -> Option<()>;

macro_rules! damages {
    ($($name:ident)*) => {
        /// Every damage, with its name.
        pub(crate) const DAMAGES: &[(&str, Damage)] = &[$((stringify!($name), $name)),*];
    };
}

damages! {
    next_head_altered prior_head_altered transition_id_altered columns_unreadable
    bit_flipped space_added bytes_gone bytes_cut bytes_of_another_row
    rows_swapped row_deleted row_deleted_and_hidden row_deleted_and_relinked row_repeated
    row_repeated_and_renumbered next_head_repeated sequences_shifted foreign_row tail_lost
    every_row_lost chain_rewritten two_damages tail_unreadable
    slot_damaged both_slots_damaged lock_cut lock_zeroed lock_grown lock_gone slots_exchanged
    slots_of_one_generation slot_out_of_range pin_lagging
    tail_expected other_tail_expected later_tail_expected pin_ignored
    heads_of_the_original heads_as_bytes
}

/// A row of the ledger, if there is one.
fn any<'l>(ledger: &'l mut Ledger, random: &mut Random) -> Option<&'l mut PersistedRow> {
    let at = place(ledger, 0, random)?;
    Some(&mut ledger.rows[at])
}

/// The position of a row with at least `before` rows before it.
fn place(ledger: &Ledger, before: usize, random: &mut Random) -> Option<usize> {
    let count = ledger
        .rows
        .len()
        .checked_sub(before)
        .filter(|count| *count > 0)?;
    Some(before + random.below(count))
}

fn renumber(ledger: &mut Ledger) {
    for (sequence, row) in (1..).zip(&mut ledger.rows) {
        row.sequence = sequence;
    }
}

fn next_head_altered(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let row = any(ledger, random)?;
    row.next_head = altered_head(&row.next_head);
    Some(())
}

fn prior_head_altered(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let row = any(ledger, random)?;
    row.prior_head = altered_head(&row.prior_head);
    Some(())
}

fn transition_id_altered(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    any(ledger, random)?.transition_id = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ".into();
    Some(())
}

fn columns_unreadable(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let choice = random.below(3);
    let form = random.below(7);
    let row = any(ledger, random)?;
    let column = match choice {
        0 => &mut row.transition_id,
        1 => &mut row.prior_head,
        _ => &mut row.next_head,
    };
    let text = column.as_text()?.to_owned();
    *column = match form {
        0 => Stored::Null,
        1 => "".into(),
        2 => format!("{text}\n").into(),
        3 => format!(" {text}").into(),
        4 => text[1..].into(),
        5 => text
            .replacen(|one: char| one.is_ascii_digit(), "\u{0661}", 1)
            .into(),
        _ => Stored::Bytes(text.as_bytes().into()),
    };
    Some(())
}

fn bytes<'l>(ledger: &'l mut Ledger, random: &mut Random) -> Option<&'l mut Vec<u8>> {
    any(ledger, random)?.event_bytes.as_mut()
}

fn bit_flipped(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let bit = random.below(8);
    let share = random.below(1 << 16);
    let bytes = bytes(ledger, random)?;
    let at = share % bytes.len();
    bytes[at] ^= 1 << bit;
    Some(())
}

fn space_added(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let share = random.below(1 << 16);
    let bytes = bytes(ledger, random)?;
    bytes.insert(share % (bytes.len() + 1), b' ');
    Some(())
}

fn bytes_gone(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    any(ledger, random)?.event_bytes = None;
    Some(())
}

fn bytes_cut(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let share = random.below(1 << 16);
    let bytes = bytes(ledger, random)?;
    bytes.truncate(share % bytes.len());
    Some(())
}

fn bytes_of_another_row(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let at = place(ledger, 1, random)?;
    ledger.rows[at].event_bytes = ledger.rows[at - 1].event_bytes.clone();
    Some(())
}

fn rows_swapped(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let at = place(ledger, 1, random)?;
    let with = random.below(at);
    ledger.rows.swap(at, with);
    renumber(ledger);
    Some(())
}

fn row_deleted(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let at = place(ledger, 0, random)?;
    ledger.rows.remove(at);
    Some(())
}

fn row_deleted_and_hidden(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    row_deleted(ledger, random)?;
    renumber(ledger);
    Some(())
}

fn row_deleted_and_relinked(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    row_deleted(ledger, random)?;
    relink(&mut ledger.rows, 0);
    Some(())
}

fn row_repeated(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let at = place(ledger, 0, random)?;
    let again = ledger.rows[at].clone();
    ledger.rows.insert(at + 1, again);
    Some(())
}

fn row_repeated_and_renumbered(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let at = place(ledger, 0, random)?;
    let again = ledger.rows[at].clone();
    let to = random.below(ledger.rows.len() + 1);
    ledger.rows.insert(to, again);
    renumber(ledger);
    Some(())
}

fn next_head_repeated(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let at = place(ledger, 1, random)?;
    let from = random.below(at);
    let (at, from) = random.one_of(&[(at, from), (from, at)]);
    ledger.rows[at].next_head = ledger.rows[from].next_head.clone();
    Some(())
}

fn sequences_shifted(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    // Never so far down that rows would be read in another order than they stand in.
    let from = place(ledger, 0, random)?;
    let by = random.one_of(&[1, 7, 1 << 40, if from == 0 { -9 } else { -1 }]);
    shift_sequences(&mut ledger.rows, from, by);
    Some(())
}

fn foreign_row(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let own = format!("\"workflow_id\":\"{}\"", ledger.workflow);
    let at = place(ledger, 0, random)?;
    let bytes = ledger.rows[at].event_bytes.take()?;
    let text = String::from_utf8(bytes).ok()?;
    let foreign = text.replace(&own, "\"workflow_id\":\"other\"");
    ledger.rows[at].event_bytes = Some(foreign.into_bytes());
    if random.below(2) == 0 {
        relink(&mut ledger.rows, at);
    }
    Some(())
}

fn tail_lost(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let kept = place(ledger, 0, random)?;
    ledger.rows.truncate(kept);
    Some(())
}

fn every_row_lost(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    place(ledger, 0, random)?;
    ledger.rows.clear();
    Some(())
}

fn chain_rewritten(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let at = place(ledger, 0, random)?;
    ledger.rows[at].event_bytes.as_mut()?.push(b'\n');
    relink(&mut ledger.rows, at);
    Some(())
}

fn two_damages(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let some: [Damage; 7] = [
        next_head_altered,
        prior_head_altered,
        bytes_gone,
        bit_flipped,
        row_deleted,
        row_repeated,
        next_head_repeated,
    ];
    for _ in 0..2 {
        random.one_of(&some)(ledger, random)?;
    }
    Some(())
}

/// Past a mismatch a head that can't be read is passed over.
fn tail_unreadable(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let last = place(ledger, 1, random)?;
    let first = random.below(last);
    ledger.rows[first].prior_head = altered_head(&ledger.rows[first].prior_head);
    ledger.rows[last].next_head = random.one_of(&["", "blake3:", "nonsense"]).into();
    ledger.rows.truncate(last + 1);
    Some(())
}

fn slot_damaged(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let at = random.one_of(&[0, SECOND_SLOT]) + random.below(64);
    ledger.lock.as_mut()?[at] ^= 1 << random.below(8);
    Some(())
}

fn both_slots_damaged(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let lock = ledger.lock.as_mut()?;
    lock[random.below(64)] ^= 1 << random.below(8);
    lock[SECOND_SLOT + random.below(64)] ^= 1 << random.below(8);
    Some(())
}

fn lock_cut(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let length = random.one_of(&[0, 1, 63, 64, SECOND_SLOT, SECOND_SLOT + 64, LOCK_LENGTH - 1]);
    ledger.lock.as_mut()?.truncate(length);
    Some(())
}

fn lock_zeroed(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let length = random.one_of(&[1, SECOND_SLOT, LOCK_LENGTH, LOCK_LENGTH + 1]);
    ledger.lock = Some(vec![0; length]);
    ledger.layout = random.one_of(&[0, 1]);
    Some(())
}

fn lock_grown(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let byte = random.one_of(&[0, 7]);
    ledger.lock.as_mut()?.resize(LOCK_LENGTH + 100, byte);
    Some(())
}

fn lock_gone(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    ledger.lock.take()?;
    ledger.layout = random.one_of(&[0, 1, -1]);
    Some(())
}

fn slots_exchanged(ledger: &mut Ledger, _: &mut Random) -> Option<()> {
    ledger.lock.as_mut()?.rotate_left(SECOND_SLOT);
    Some(())
}

fn tail_after(ledger: &Ledger, rows: usize) -> Option<Tail> {
    let Some(last) = rows.checked_sub(1) else {
        return Some(Tail::Empty);
    };
    let row = ledger.rows.get(last)?;
    Some(Tail::At {
        sequence: row.sequence.try_into().ok()?,
        head: row.next_head.to_head()?,
    })
}

fn other(tail: Tail, by: u64) -> Tail {
    let sequence = tail.sequence().map_or(0, |sequence| sequence.to_u64());
    Tail::At {
        sequence: (sequence + by).max(1).try_into().expect("a small sequence"),
        head: ChainHead::from_bytes([7; 32]),
    }
}

fn slots_of_one_generation(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let right = tail_after(ledger, ledger.rows.len())?;
    let wrong = other(right, 0);
    let generation = random.one_of(&[0, 1, u64::MAX - 1]);
    let (first, second) = random.one_of(&[(right, wrong), (wrong, right)]);
    ledger.lock = Some(lock_file(&[(generation, first), (generation, second)]));
    Some(())
}

/// The newer slot says what none may say, with a right checksum.
fn slot_out_of_range(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let tail = tail_after(ledger, ledger.rows.len())?;
    let mut lock = lock_file(&[(5, tail)]);
    let head = *tail.head().as_bytes();
    let wrong = random.one_of(&[
        (1, u64::MAX, 1, head),
        (1, 9, 1 << 63, head),
        (1, 9, u64::MAX, head),
        (1, 9, 0, [7; 32]),
        (2, 9, 1, head),
        (0, 9, 1, head),
    ]);
    let wrong = slot(wrong.0, wrong.1, wrong.2, &wrong.3);
    lock[SECOND_SLOT..SECOND_SLOT + wrong.len()].copy_from_slice(&wrong);
    if random.below(2) == 0 {
        lock[..64].fill(0);
    }
    ledger.lock = Some(lock);
    Some(())
}

fn pin_lagging(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let rows = place(ledger, 0, random)?;
    ledger.lock = Some(lock_file(&[(3, tail_after(ledger, rows)?)]));
    if random.below(2) == 0 {
        next_head_altered(ledger, random)?;
    }
    Some(())
}

fn tail_expected(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let rows = random.below(ledger.rows.len() + 1);
    ledger.expectations.expected = tail_after(ledger, rows);
    Some(())
}

fn other_tail_expected(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let rows = random.below(ledger.rows.len() + 1);
    ledger.expectations.expected = Some(other(tail_after(ledger, rows)?, 0));
    Some(())
}

fn later_tail_expected(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    let by = random.one_of(&[1, 2, 1 << 50]);
    ledger.expectations.expected = Some(other(tail_after(ledger, ledger.rows.len())?, by));
    Some(())
}

fn pin_ignored(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    ledger.expectations.pin = PinPolicy::Ignore;
    let further: [Damage; 5] = [
        tail_lost,
        lock_gone,
        both_slots_damaged,
        bit_flipped,
        tail_expected,
    ];
    random.one_of(&further)(ledger, random)
}

/// What is done to a ledger once its heads have another form.
const AFTERWARDS: [Damage; 3] = [next_head_repeated, tail_lost, tail_expected];

/// A ledger of the original implementation has bare heads and no pin.
fn heads_of_the_original(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    for row in &mut ledger.rows {
        for head in [&mut row.prior_head, &mut row.next_head] {
            *head = head.as_text()?.strip_prefix("blake3:")?.into();
        }
    }
    ledger.layout = 0;
    ledger.lock = random.one_of(&[None, Some(())]).map(|()| Vec::new());
    random.one_of(&AFTERWARDS)(ledger, random)
}

fn heads_as_bytes(ledger: &mut Ledger, random: &mut Random) -> Option<()> {
    for row in &mut ledger.rows {
        for head in [&mut row.prior_head, &mut row.next_head] {
            *head = Stored::Bytes(head.to_head()?.as_bytes().as_slice().into());
        }
    }
    random.one_of(&AFTERWARDS)(ledger, random)
}

/// What only the engine can hold: values of other types, and other tables.
const STATEMENTS: &[&str] = &[
    "UPDATE checkpoint_chain SET event_bytes = CAST(event_bytes AS TEXT)",
    "UPDATE checkpoint_chain SET event_bytes = 7 WHERE sequence = 1",
    "UPDATE checkpoint_chain SET event_bytes = 7.5 WHERE sequence = 1",
    "UPDATE checkpoint_chain SET sequence = sequence + 0.0",
    "UPDATE checkpoint_chain SET sequence = CAST(sequence AS TEXT)",
    "UPDATE checkpoint_chain SET sequence = NULL",
    "UPDATE checkpoint_chain SET sequence = NULL, event_bytes = NULL",
    "UPDATE checkpoint_chain SET sequence = -sequence",
    "UPDATE checkpoint_chain SET sequence = 1",
    "UPDATE checkpoint_chain SET sequence = x'01', next_head = NULL",
    "UPDATE checkpoint_chain SET transition_id = CAST(transition_id AS BLOB)",
    "UPDATE checkpoint_chain SET transition_id = 5",
    "UPDATE checkpoint_chain SET next_head = CAST(next_head AS BLOB)",
    "UPDATE checkpoint_chain SET next_head = zeroblob(32)",
    "UPDATE checkpoint_chain SET next_head = zeroblob(31)",
    "UPDATE checkpoint_chain SET next_head = CAST(zeroblob(32) AS TEXT)",
    "UPDATE checkpoint_chain SET next_head = CAST(x'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff' AS TEXT)",
    "UPDATE checkpoint_chain SET event_bytes = CAST(x'ff' AS TEXT)",
    "UPDATE checkpoint_chain SET prior_head = 1.5",
    "UPDATE checkpoint_chain SET next_head = 3",
    "DROP TABLE checkpoint_chain",
    "ALTER TABLE checkpoint_chain RENAME TO c; ALTER TABLE c RENAME TO Checkpoint_CHAIN",
    "ALTER TABLE checkpoint_chain RENAME TO c; CREATE VIEW checkpoint_chain AS SELECT * FROM c",
    "ALTER TABLE checkpoint_chain DROP COLUMN next_head",
    "PRAGMA user_version = 0",
    "PRAGMA user_version = 2",
    "PRAGMA user_version = -1",
    "CREATE TABLE k (sequence, transition_id, prior_head, next_head, event_bytes, written_at, \
        rank INTEGER PRIMARY KEY) WITHOUT ROWID; \
     INSERT INTO k SELECT *, rowid FROM checkpoint_chain; DROP TABLE checkpoint_chain; \
     ALTER TABLE k RENAME TO checkpoint_chain",
];

/// A ledger damaged by each of the statements.
pub(crate) fn by_every_statement(ledger: &Ledger) -> Vec<(String, Ledger)> {
    let damage = |statement: &&'static str| {
        let mut damaged = ledger.clone();
        damaged.statement = Some(*statement);
        ((*statement).to_owned(), damaged)
    };
    STATEMENTS.iter().map(damage).collect()
}
