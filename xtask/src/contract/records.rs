//! Owns which deltas the decision records name. It judges neither.
//!
//! A record names a delta by a line of its own, `Contract: ` and then the delta as the command
//! prints it: `Contract: +ledgers/vulnerability/kinds/rolled_back`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Where the records are, from the root.
pub(super) const FOLDER: &str = "docs/decisions";

const LINE: &str = "Contract: ";

/// The deltas that are named, each with the record that does.
#[derive(Debug, Default)]
pub(super) struct Records(BTreeMap<String, String>);

impl Records {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut records = Self::default();
        let folder = root.join(FOLDER);
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "md") {
                let text = std::fs::read_to_string(&path)?;
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                records.add(&name, &text);
            }
        }
        Ok(records)
    }

    /// Adds what one record names.
    pub(super) fn add(&mut self, record: &str, text: &str) {
        for line in text.lines() {
            if let Some(delta) = line.trim_end().strip_prefix(LINE) {
                self.0
                    .insert(delta.to_owned(), format!("{FOLDER}/{record}"));
            }
        }
    }

    /// Gives the record that names a delta.
    pub(super) fn naming(&self, delta: &str) -> Option<String> {
        self.0.get(delta).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_names_a_delta_by_a_line_of_its_own() {
        let mut records = Records::default();
        records.add(
            "0042-rollback.md",
            "# 0042 Rollback\n\nContract: +types/A/variants/b\nContract: ~limits/MAX  \nSee Contract: -limits/MIN\n",
        );
        let check = |delta: &str, expected: Option<&str>| {
            assert_eq!(records.naming(delta).as_deref(), expected, "{delta}");
        };
        let record = Some("docs/decisions/0042-rollback.md");
        check("+types/A/variants/b", record);
        check("~limits/MAX", record);
        check("-types/A/variants/b", None);
        check("+types/A/variants", None);
        check("+types/A/variants/bc", None);
        check("-limits/MIN", None);
    }

    #[test]
    fn a_folder_of_records_is_read() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join(FOLDER);
        assert!(Records::read(root.path()).is_err());
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("0001-a.md"), "Contract: +a\n").expect("a file");
        std::fs::write(folder.join("0002-b.txt"), "Contract: +b\n").expect("a file");
        let records = Records::read(root.path()).expect("the folder is there");
        assert!(records.naming("+a").is_some());
        assert!(records.naming("+b").is_none());
    }
}
