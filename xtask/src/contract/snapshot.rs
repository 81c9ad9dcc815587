//! Owns the files that hold snapshots: the golden of now and those of releases. It compares none.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// What the code promises now, from the root.
pub(super) const CURRENT: &str = "goldens/contract.snap";

/// Where the promises of releases are, from the root: not beside the goldens, since no test
/// writes them.
pub(super) const RELEASES: &str = "releases";

/// The version of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    major: u64,
    minor: u64,
    patch: u64,
}

impl Version {
    /// Says whether users must expect breakage when they move here from an earlier version.
    ///
    /// Before 1.0.0 the minor number stands for the major one.
    pub(super) fn may_break(self, earlier: Self) -> bool {
        self.major > earlier.major
            || (self.major == 0 && earlier.major == 0 && self.minor > earlier.minor)
    }

    /// Gives the path of the snapshot, from the root.
    pub(super) fn file(self) -> PathBuf {
        Path::new(RELEASES).join(format!("contract-{self}.snap"))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers: Option<Vec<u64>> = text.split('.').map(|part| part.parse().ok()).collect();
        let version = match numbers.as_deref() {
            Some([major, minor, patch]) => Self {
                major: *major,
                minor: *minor,
                patch: *patch,
            },
            Some(_) | None => bail!("`{text}` is not a version such as 1.2.3"),
        };
        // One version has one file.
        if version.to_string() != text {
            bail!("`{text}` is written {version}");
        }
        Ok(version)
    }
}

/// Gives every release that has a snapshot, oldest first.
pub(super) fn releases(root: &Path) -> Result<Vec<Version>> {
    let folder = root.join(RELEASES);
    let mut versions = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if let Some(version) = name
            .strip_prefix("contract-")
            .and_then(|rest| rest.strip_suffix(".snap"))
        {
            versions.push(version.parse()?);
        }
    }
    versions.sort();
    Ok(versions)
}

/// Reads one snapshot.
pub(super) fn read(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} can't be read", path.display()))?;
    parse(&text).with_context(|| format!("{} is not a snapshot", path.display()))
}

/// Takes the header off that the writer of goldens puts before the content.
fn parse(text: &str) -> Result<Value> {
    let content = match text.strip_prefix("---\n") {
        Some(rest) => {
            rest.split_once("\n---\n")
                .context("the header has no end")?
                .1
        }
        None => text,
    };
    let value: Value = serde_json::from_str(content)?;
    if !value.is_object() {
        bail!("the content is not an object");
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn version(text: &str) -> Version {
        text.parse().expect("a version")
    }

    #[test]
    fn the_header_is_no_part_of_the_content() {
        let expected = json!({ "limits": { "MAX": 1 } });
        let body = expected.to_string();
        assert_eq!(parse(&body).expect("an object"), expected);
        let headed = format!("---\nsource: a.rs\n---\n{body}\n");
        assert_eq!(parse(&headed).expect("an object"), expected);
        for wrong in ["", "[]", "---\nsource: a.rs\n{}", "---\na\n---\n{", "{}{}"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn versions_are_three_plain_numbers() {
        assert_eq!(version("0.10.2").to_string(), "0.10.2");
        assert_eq!(
            version("0.1.0").file(),
            Path::new("releases/contract-0.1.0.snap")
        );
        for wrong in [
            "", "1", "1.2", "1.2.3.4", "1.2.x", "v1.2.3", "01.2.3", "1.+2.3", "1.2.3-a",
        ] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn versions_are_ordered_by_number() {
        assert!(version("0.10.0") > version("0.9.9"));
        assert!(version("1.0.0") > version("0.99.99"));
    }

    #[test]
    fn only_some_versions_may_break() {
        let check = |earlier: &str, later: &str, expected: bool| {
            let may = version(later).may_break(version(earlier));
            assert_eq!(may, expected, "{earlier} to {later}");
        };
        check("0.1.0", "0.1.1", false);
        check("0.1.0", "0.2.0", true);
        check("0.9.0", "1.0.0", true);
        check("1.0.0", "1.1.0", false);
        check("1.9.9", "2.0.0", true);
        check("1.0.0", "1.0.1", false);
        check("2.5.0", "1.6.0", false);
    }

    #[test]
    fn releases_are_found_oldest_first() {
        let root = tempfile::tempdir().expect("a folder");
        assert!(releases(root.path()).is_err());
        let folder = root.path().join(RELEASES);
        std::fs::create_dir(&folder).expect("a folder");
        for name in ["contract-0.10.0.snap", "contract-0.9.0.snap", "README.md"] {
            std::fs::write(folder.join(name), "").expect("a file");
        }
        let found = releases(root.path()).expect("a folder");
        assert_eq!(found, [version("0.9.0"), version("0.10.0")]);
        std::fs::write(folder.join("contract-next.snap"), "").expect("a file");
        assert!(releases(root.path()).is_err());
    }
}
