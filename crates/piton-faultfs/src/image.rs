//! Owns what a machine may find on its disk after a power loss. It opens no ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::disk::{Change, Disk, File, FileChange, Node, Standing, apply, overwrite, rename};

/// What a disk writes as one.
const SECTOR: usize = 512;

/// Which of the uncertain changes are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// None.
    Nothing,
    /// All: what a killed process leaves behind.
    Everything,
    /// Those before some moment, the last one torn.
    Prefix,
    /// Any subset of whole changes.
    Changes,
    /// Any subset of sectors.
    Sectors,
    /// Any subset of sectors, and one of each file's only in part: the one that was being written.
    Bytes,
}

impl Keep {
    /// Every way.
    pub const ALL: [Self; 6] = [
        Self::Nothing,
        Self::Everything,
        Self::Prefix,
        Self::Changes,
        Self::Sectors,
        Self::Bytes,
    ];
}

/// What stands where a file has grown and its data is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filler {
    /// Nothing: the length is the old one too.
    OldLength,
    /// Zeros.
    Zeros,
    /// Whatever stood there before.
    Rubbish,
}

impl Filler {
    /// Every filler.
    pub const ALL: [Self; 3] = [Self::OldLength, Self::Zeros, Self::Rubbish];
}

/// How a disk loses power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// Which changes of files are kept.
    pub files: Keep,
    /// Which changes of names are kept.
    pub names: Keep,
    /// What fills the holes.
    pub filler: Filler,
    /// Where its choices come from.
    pub seed: u64,
}

/// What can be seen to have happened to an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// A change of a file is missing.
    Dropped,
    /// A change is there although nothing had made it durable.
    KeptUnsynced,
    /// A change is there and an earlier one of the same file is not.
    Reordered,
    /// A write is there in part.
    Torn,
    /// A file is longer than its data.
    GrownWithoutData,
    /// A new, moved or removed name is not.
    NameLost,
}

/// The files that a machine finds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Image {
    files: BTreeMap<PathBuf, Vec<u8>>,
    directories: BTreeSet<PathBuf>,
    effects: BTreeSet<(PathBuf, Effect)>,
}

impl Disk {
    /// Gives what a machine finds if the power goes now.
    pub fn lose_power(&self, loss: &Loss) -> Image {
        let mut random = fastrand::Rng::with_seed(loss.seed);
        let mut effects = BTreeSet::new();
        let names = self.choose_names(loss, &mut random, &mut effects);
        let deadline = random.usize(0..=self.position());
        let mut image = Image {
            files: BTreeMap::new(),
            directories: BTreeSet::new(),
            effects,
        };
        for (name, node) in &names {
            // What hangs in a directory that is not there is not there.
            let stands = name.ancestors().skip(1).all(|above| {
                above.as_os_str().is_empty() || names.get(above) == Some(&Node::Directory)
            });
            if !stands {
                continue;
            }
            match node {
                Node::Directory => {
                    image.directories.insert(name.clone());
                }
                Node::File(id) => {
                    let Some(file) = self.files.get(id) else {
                        continue;
                    };
                    let mut chooser = Chooser {
                        loss,
                        deadline,
                        random: &mut random,
                        has_torn: false,
                        effects: BTreeSet::new(),
                    };
                    let content = chooser.content(file);
                    let effects = chooser.effects.into_iter();
                    image
                        .effects
                        .extend(effects.map(|effect| (name.clone(), effect)));
                    image.files.insert(name.clone(), content);
                }
            }
        }
        image
    }

    fn choose_names(
        &self,
        loss: &Loss,
        random: &mut fastrand::Rng,
        effects: &mut BTreeSet<(PathBuf, Effect)>,
    ) -> BTreeMap<PathBuf, Node> {
        let mut names = self.names.clone();
        let first = self.name_changes.first().map_or(0, |(at, _)| *at);
        let deadline = random.usize(first..=self.position().max(first));
        for (at, change) in &self.name_changes {
            let kept = match loss.names {
                Keep::Nothing => false,
                Keep::Everything => true,
                Keep::Prefix => *at < deadline,
                Keep::Changes | Keep::Sectors | Keep::Bytes => random.bool(),
            };
            if kept {
                rename(&mut names, change);
            } else {
                effects.insert((PathBuf::new(), Effect::NameLost));
            }
        }
        names
    }
}

/// The choices for one file.
struct Chooser<'a> {
    loss: &'a Loss,
    /// For [`Keep::Prefix`].
    deadline: usize,
    random: &'a mut fastrand::Rng,
    /// Whether a sector of this file is there in part already.
    has_torn: bool,
    effects: BTreeSet<Effect>,
}

/// How much of a change is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    None,
    Some,
    All,
}

impl Chooser<'_> {
    fn content(&mut self, file: &File) -> Vec<u8> {
        let mut content = file.base.clone();
        let last_before = file
            .changes
            .iter()
            .filter(|change| change.at < self.deadline)
            .map(|change| change.at)
            .next_back();
        for change in &file.changes {
            let part = match change.standing {
                Standing::Certain => {
                    apply(&mut content, &change.change);
                    continue;
                }
                Standing::Pending | Standing::Doubtful => self.part(change, last_before),
            };
            let kept = self.keep(&mut content, &change.change, part);
            self.note(kept);
        }
        content
    }

    fn part(&mut self, change: &FileChange, last_before: Option<usize>) -> Part {
        match self.loss.files {
            Keep::Nothing => Part::None,
            Keep::Everything => Part::All,
            Keep::Prefix if Some(change.at) == last_before => Part::Some,
            Keep::Prefix if change.at < self.deadline => Part::All,
            Keep::Prefix => Part::None,
            Keep::Changes if self.random.bool() => Part::All,
            Keep::Changes => Part::None,
            Keep::Sectors | Keep::Bytes => Part::Some,
        }
    }

    fn note(&mut self, kept: Part) {
        if kept != Part::None {
            self.effects.insert(Effect::KeptUnsynced);
            if self.effects.contains(&Effect::Dropped) {
                self.effects.insert(Effect::Reordered);
            }
        }
        match kept {
            Part::None => self.effects.insert(Effect::Dropped),
            Part::Some => self.effects.insert(Effect::Torn),
            Part::All => true,
        };
    }

    /// Carries out a part of a change, and says how much that came to.
    fn keep(&mut self, content: &mut Vec<u8>, change: &Change, part: Part) -> Part {
        match (part, change) {
            (Part::All, _) => {
                apply(content, change);
                Part::All
            }
            (Part::None, Change::Write { offset, bytes }) => {
                self.grow(content, offset.saturating_add(bytes.len()));
                Part::None
            }
            (Part::None, Change::Truncate(_)) => Part::None,
            // A length is never there in part.
            (Part::Some, Change::Truncate(length)) if self.random.bool() => {
                content.resize(*length, 0);
                Part::All
            }
            (Part::Some, Change::Truncate(_)) => Part::None,
            (Part::Some, Change::Write { offset, bytes }) => self.tear(content, *offset, bytes),
        }
    }

    fn tear(&mut self, content: &mut Vec<u8>, offset: usize, bytes: &[u8]) -> Part {
        let (mut kept, mut dropped) = (0, 0);
        let mut from = 0;
        while from < bytes.len() {
            let at = offset.saturating_add(from);
            let to = bytes.len().min(from + SECTOR - at % SECTOR);
            let mut piece = from..to;
            if self.loss.files == Keep::Bytes && !self.has_torn && self.random.u8(..8) == 0 {
                self.has_torn = true;
                // A run of bytes, which may be the whole sector or nothing of it.
                let (one, other) = (self.random.usize(from..=to), self.random.usize(from..=to));
                piece = one.min(other)..one.max(other);
                dropped += (to - from) - piece.len();
            } else if self.random.bool() {
                dropped += piece.len();
                piece = from..from;
            }
            kept += piece.len();
            if piece.is_empty() {
                self.grow(content, offset.saturating_add(to));
            } else {
                self.grow(content, offset.saturating_add(piece.start));
                overwrite(content, offset.saturating_add(piece.start), &bytes[piece]);
                if kept + dropped > 0 {
                    self.grow(content, offset.saturating_add(to));
                }
            }
            from = to;
        }
        match (kept, dropped) {
            (0, _) => Part::None,
            (_, 0) => Part::All,
            (_, _) => Part::Some,
        }
    }

    /// Lets a file have its new length without the data.
    fn grow(&mut self, content: &mut Vec<u8>, length: usize) {
        if content.len() >= length {
            return;
        }
        match self.loss.filler {
            Filler::OldLength => return,
            Filler::Zeros => content.resize(length, 0),
            Filler::Rubbish => content.resize_with(length, || self.random.u8(..)),
        }
        self.effects.insert(Effect::GrownWithoutData);
    }
}

impl Image {
    /// Gives what happened to which file; a lost name has none.
    pub fn effects(&self) -> impl Iterator<Item = (&Path, Effect)> {
        self.effects
            .iter()
            .map(|(name, effect)| (name.as_path(), *effect))
    }

    /// Gives the content of one file.
    pub fn file(&self, name: impl AsRef<Path>) -> Option<&[u8]> {
        self.files.get(name.as_ref()).map(Vec::as_slice)
    }

    /// Whether both show the same files, whatever happened to them.
    pub fn is_same_content(&self, other: &Self) -> bool {
        self.files == other.files && self.directories == other.directories
    }

    /// Gives a number that differs, but for chance, where contents differ.
    pub fn fingerprint(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.files.hash(&mut hasher);
        self.directories.hash(&mut hasher);
        hasher.finish()
    }

    /// Writes the image into an empty directory.
    ///
    /// # Errors
    ///
    /// The system's, when a file or a directory can't be made.
    pub fn write_to(&self, directory: &Path) -> std::io::Result<()> {
        for name in &self.directories {
            std::fs::create_dir(directory.join(name))?;
        }
        for (name, bytes) in &self.files {
            std::fs::write(directory.join(name), bytes)?;
        }
        Ok(())
    }
}
