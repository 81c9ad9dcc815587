//! Owns where campaigns put their ledgers, and copies of whole workflow directories. It knows
//! nothing of what is in the files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

/// A file system in memory, where Linux has one: durability is not what a scratch ledger is for.
const IN_MEMORY: &str = "/dev/shm";

/// A temporary directory, in memory where that is possible.
pub(crate) fn in_memory() -> Result<TempDir> {
    let place = Path::new(IN_MEMORY);
    let builder = || {
        tempfile::Builder::new()
            .prefix("piton-campaign-")
            .to_owned()
    };
    if place.is_dir()
        && let Ok(directory) = builder().tempdir_in(place)
    {
        return Ok(directory);
    }
    builder().tempdir().context("making a temporary directory")
}

/// The files of one directory, with their bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Image(pub(crate) BTreeMap<String, Vec<u8>>);

impl Image {
    /// Reads every file of a directory.
    pub(crate) fn read(directory: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(directory).context("reading a scratch directory")? {
            let path = entry?.path();
            if let Some(name) = path.file_name() {
                let name = name.to_string_lossy().into_owned();
                files.insert(name, fs::read(&path).context("reading a scratch file")?);
            }
        }
        Ok(Self(files))
    }

    /// Makes a directory hold these files and no others.
    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        fs::create_dir_all(directory)?;
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !self.0.contains_key(name.as_ref()) {
                fs::remove_file(&path)?;
            }
        }
        for (name, bytes) in &self.0 {
            fs::write(directory.join(name), bytes).context("writing a scratch file")?;
        }
        Ok(())
    }

    /// The bytes of one file.
    pub(crate) fn file(&self, name: &str) -> Result<&Vec<u8>> {
        self.0
            .get(name)
            .with_context(|| format!("the specimen has no {name}"))
    }

    /// The same files, one of them otherwise.
    pub(crate) fn with(&self, name: &str, bytes: Vec<u8>) -> Self {
        let mut other = self.clone();
        other.0.insert(name.to_owned(), bytes);
        other
    }

    /// The same files without one of them.
    pub(crate) fn without(&self, name: &str) -> Self {
        let mut other = self.clone();
        other.0.remove(name);
        other
    }
}

/// A root that one injection has for itself, and that is removed with this value: the engine may
/// close a connection to the last one's files while the next one is being prepared.
#[derive(Debug)]
pub(crate) struct Root(PathBuf);

impl Root {
    /// Names a root by a number that no other injection in this place has.
    pub(crate) fn beneath(place: &Path, number: usize) -> Self {
        Self(place.join(number.to_string()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // What a closing connection leaves after this is removed with the place.
        fs::remove_dir_all(&self.0).ok();
    }
}

/// The directory of a workflow beneath a root.
pub(crate) fn home(root: &Path, workflow: &piton_ledger::WorkflowId) -> PathBuf {
    root.join(workflow.as_str())
}
