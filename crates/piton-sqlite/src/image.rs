//! Owns the count and the ends of a chain as they stand in the bytes of a whole database of the
//! plainest form: this layout and nothing else, in one file. It opens nothing and judges nothing.
//!
//! What is not exactly so has no answer here, and SQLite is asked. Where there is an answer, it is
//! SQLite's: pages are checked at least as SQLite checks them, and since SQLite counts in whichever
//! tree is smallest, the table and both indexes have to agree. The numbers are those of the file
//! format's "The Database Header", "B-tree Pages" and "Record Format".

use std::borrow::Cow;

use piton_store::{PersistedRow, Stored};

use crate::schema::{LAYOUT_VERSION, SCHEMA};

const HEADER: usize = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Where SQLite gives up.
const DEEPEST: usize = 20;

/// How many rows there are, the first and the last.
pub(crate) type Ends = (u64, Option<PersistedRow>, Option<PersistedRow>);

/// Counts the rows of a database and reads its ends; none unless its form is the plainest.
pub(crate) fn ends(bytes: &[u8]) -> Option<Ends> {
    let image = Image::new(bytes)?;
    let [table, transitions, heads] = image.roots()?;
    let mut seen = vec![false; image.pages];
    let rows = image.walk(table, Kind::Table, &mut seen)?;
    for index in [transitions, heads] {
        if image.walk(index, Kind::Index, &mut seen)?.entries != rows.entries {
            return None;
        }
    }
    let row = |cell: Option<&[u8]>| match cell {
        Some(cell) => image.row(cell).map(Some),
        None => Some(None),
    };
    Some((rows.entries, row(rows.first)?, row(rows.last)?))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Table,
    Index,
}

#[derive(Debug)]
struct Image<'a> {
    bytes: &'a [u8],
    page_size: usize,
    pages: usize,
}

/// What a walk through one tree found.
#[derive(Debug, Default)]
struct Tree<'a> {
    entries: u64,
    first: Option<&'a [u8]>,
    last: Option<&'a [u8]>,
}

/// One page of a tree.
#[derive(Debug)]
struct Page<'a> {
    bytes: &'a [u8],
    pointers: &'a [u8],
    /// The child behind the last cell; a leaf has none.
    right: Option<usize>,
}

impl<'a> Page<'a> {
    /// The bytes from the start of each cell to the end of the page.
    fn cells(&self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let bytes = self.bytes;
        self.pointers.chunks_exact(2).map(move |pointer| {
            let start = usize::from(u16::from_be_bytes(*pointer.first_chunk()?));
            // The header of a page stands at its start, so no cell does.
            bytes
                .get(start..)
                .filter(|cell| start > 0 && !cell.is_empty())
        })
    }
}

impl<'a> Image<'a> {
    /// Checks the header of the database.
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let header = bytes.get(..HEADER)?;
        let page_size = match half(header, 16)? {
            1 => 65536,
            size @ 512.. if size.is_power_of_two() => size,
            _ => return None,
        };
        let pages = number(header, 28)?;
        let versions = header.get(18..20)?;
        let version = i64::try_from(number(header, 60)?).ok()?;
        let is_plain = header.starts_with(MAGIC)
            && (versions == [1, 1] || versions == [2, 2])
            // No reserved bytes in a page, and the fractions that are fixed.
            && header.get(20..24)? == [0, 64, 32, 32]
            // The number of pages counts only if the last writer knew of it.
            && header.get(24..28)? == header.get(92..96)?
            && pages.checked_mul(page_size)? == bytes.len()
            && number(header, 44)? == 4
            // No vacuum by itself, and UTF-8.
            && number(header, 52)? == 0
            && number(header, 56)? == 1
            && number(header, 64)? == 0
            && (0..=LAYOUT_VERSION).contains(&version);
        is_plain.then_some(Self {
            bytes,
            page_size,
            pages,
        })
    }

    /// Reads a page of a tree; pages count from 1.
    fn page(&self, page: usize, kind: Kind) -> Option<Page<'a>> {
        let start = page.checked_sub(1)?.checked_mul(self.page_size)?;
        let bytes = self.bytes.get(start..)?.get(..self.page_size)?;
        let header = bytes.get(if page == 1 { HEADER } else { 0 }..)?;
        let is_leaf = match (header.first()?, kind) {
            (13, Kind::Table) | (10, Kind::Index) => true,
            (5, Kind::Table) | (2, Kind::Index) => false,
            _ => return None,
        };
        let (length, right) = if is_leaf {
            (8, None)
        } else {
            (12, Some(number(header, 8)?))
        };
        let cells = half(header, 3)?;
        if cells > (self.page_size - 8) / 6 {
            return None;
        }
        let pointers = header.get(length..)?.get(..2 * cells)?;
        Some(Page {
            bytes,
            pointers,
            right,
        })
    }

    fn walk(&self, root: usize, kind: Kind, seen: &mut [bool]) -> Option<Tree<'a>> {
        let mut tree = Tree::default();
        let page = self.page(root, kind)?;
        let is_empty_leaf = page.pointers.is_empty() && page.right.is_none();
        if is_empty_leaf {
            return Some(tree);
        }
        self.descend(root, kind, DEEPEST, seen, &mut tree)?;
        Some(tree)
    }

    fn descend(
        &self,
        page: usize,
        kind: Kind,
        depth: usize,
        seen: &mut [bool],
        tree: &mut Tree<'a>,
    ) -> Option<()> {
        let deeper = depth.checked_sub(1)?;
        let mark = seen.get_mut(page.checked_sub(1)?)?;
        if std::mem::replace(mark, true) {
            return None;
        }
        let page = self.page(page, kind)?;
        // Only a root may be empty.
        if page.pointers.is_empty() {
            return None;
        }
        let Some(right) = page.right else {
            for cell in page.cells() {
                let cell = cell?;
                tree.entries += 1;
                tree.first = tree.first.or(Some(cell));
                tree.last = Some(cell);
            }
            return Some(());
        };
        for cell in page.cells() {
            self.descend(number(cell?, 0)?, kind, deeper, seen, tree)?;
            // An entry of an index stands in one page alone, a row always in a leaf.
            if kind == Kind::Index {
                tree.entries += 1;
            }
        }
        self.descend(right, kind, deeper, seen, tree)
    }

    /// Finds the roots of the table, of the index of transition ids and of the index of heads.
    fn roots(&self) -> Option<[usize; 3]> {
        let schema = self.page(1, Kind::Table)?;
        if schema.right.is_some() {
            return None;
        }
        let mut roots = [None; 4];
        for cell in schema.cells() {
            let (_, record) = self.record(cell?)?;
            let [kind, name, table, Value::Integer(root), sql] = columns(&record)? else {
                return None;
            };
            let slot = match (kind.text()?, name.text()?, table.text()?) {
                ("table", "checkpoint_chain", "checkpoint_chain") => {
                    (0, is_statement(sql.text()?, 0))
                }
                ("index", "sqlite_autoindex_checkpoint_chain_1", "checkpoint_chain") => {
                    (1, sql == Value::Null)
                }
                ("index", "ix_chain_next_head", "checkpoint_chain") => {
                    (2, is_statement(sql.text()?, 1))
                }
                ("table", "sqlite_sequence", "sqlite_sequence") => {
                    (3, sql.text()? == "CREATE TABLE sqlite_sequence(name,seq)")
                }
                _ => return None,
            };
            let (slot, true) = slot else {
                return None;
            };
            let root = usize::try_from(root).ok()?;
            let is_other = (2..=self.pages).contains(&root) && !roots.contains(&Some(root));
            if !is_other || roots.get_mut(slot)?.replace(root).is_some() {
                return None;
            }
        }
        let [table, transitions, heads, Some(_)] = roots else {
            return None;
        };
        Some([table?, transitions?, heads?])
    }

    /// Reads a cell of a table's leaf: its row id and its record.
    fn record(&self, cell: &'a [u8]) -> Option<(i64, Cow<'a, [u8]>)> {
        let (length, cell) = varint(cell)?;
        let (row_id, cell) = varint(cell)?;
        let length = usize::try_from(length).ok()?;
        let most = self.page_size - 35;
        if length <= most {
            return Some((row_id.cast_signed(), Cow::Borrowed(cell.get(..length)?)));
        }
        if length > self.bytes.len() {
            return None;
        }
        let least = (self.page_size - 12) * 32 / 255 - 23;
        let part = least + (length - least) % (self.page_size - 4);
        let (local, rest) = cell.split_at_checked(if part <= most { part } else { least })?;
        let mut record = local.to_vec();
        let mut next = number(rest, 0)?;
        while record.len() < length {
            let start = next.checked_sub(1)?.checked_mul(self.page_size)?;
            let page = self.bytes.get(start..)?.get(..self.page_size)?;
            next = number(page, 0)?;
            let part = page.get(4..)?;
            record.extend_from_slice(part.get(..part.len().min(length - record.len()))?);
        }
        Some((row_id.cast_signed(), Cow::Owned(record)))
    }

    fn row(&self, cell: &'a [u8]) -> Option<PersistedRow> {
        let (sequence, record) = self.record(cell)?;
        // The key of the rows is not in the record.
        let [
            Value::Null,
            transition_id,
            prior_head,
            next_head,
            Value::Blob(event_bytes),
            written_at,
        ] = columns(&record)?
        else {
            return None;
        };
        Some(PersistedRow {
            sequence,
            transition_id: Stored::from(transition_id.text()?),
            prior_head: Stored::from(prior_head.text()?),
            next_head: Stored::from(next_head.text()?),
            event_bytes: Some(event_bytes.to_vec()),
            written_at: Stored::from(written_at.text()?),
        })
    }
}

/// Whether this is a statement of the layout, as SQLite keeps it.
fn is_statement(sql: &str, place: usize) -> bool {
    SCHEMA
        .split(";\n")
        .nth(place)
        .and_then(|statement| statement.split_once("IF NOT EXISTS "))
        .is_some_and(|(create, rest)| sql.strip_prefix(create) == Some(rest))
}

/// A value of a kind that a ledger holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value<'r> {
    Null,
    Integer(i64),
    Text(&'r str),
    Blob(&'r [u8]),
}

impl<'r> Value<'r> {
    fn text(self) -> Option<&'r str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Integer(_) | Self::Blob(_) => None,
        }
    }
}

/// Reads a record of exactly so many columns.
fn columns<const COUNT: usize>(record: &[u8]) -> Option<[Value<'_>; COUNT]> {
    let (length, after) = varint(record)?;
    let (header, mut body) = record.split_at_checked(usize::try_from(length).ok()?)?;
    let mut kinds = header.get(record.len() - after.len()..)?;
    let mut columns = [Value::Null; COUNT];
    for column in &mut columns {
        let (kind, rest) = varint(kinds)?;
        kinds = rest;
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind,
            5 => 6,
            6 => 8,
            12.. => (kind - 12) / 2,
            _ => return None,
        };
        let (value, rest) = body.split_at_checked(usize::try_from(length).ok()?)?;
        body = rest;
        *column = match kind {
            0 => Value::Null,
            8 => Value::Integer(0),
            9 => Value::Integer(1),
            1..8 => Value::Integer(integer(value)),
            _ if kind % 2 == 0 => Value::Blob(value),
            _ => Value::Text(std::str::from_utf8(value).ok()?),
        };
    }
    (kinds.is_empty() && body.is_empty()).then_some(columns)
}

/// Reads a big-endian number in two's complement, of at most eight bytes.
fn integer(bytes: &[u8]) -> i64 {
    let sign = match bytes.first() {
        Some(128..) => -1,
        Some(_) | None => 0,
    };
    let add = |value: i64, byte: &u8| (value << 8) | i64::from(*byte);
    bytes.iter().fold(sign, add)
}

/// Reads a number of seven bits a byte, and gives what follows it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (place, byte) in bytes.iter().enumerate().take(9) {
        let rest = bytes.get(place + 1..)?;
        if place == 8 {
            return Some((value << 8 | u64::from(*byte), rest));
        }
        value = value << 7 | u64::from(*byte & 0x7f);
        if *byte < 0x80 {
            return Some((value, rest));
        }
    }
    None
}

fn half(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*bytes).into())
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    usize::try_from(u32::from_be_bytes(*bytes)).ok()
}
