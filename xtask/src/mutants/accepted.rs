//! Reads the list of survivors that are accepted: lines that name mutants, and below them,
//! indented, the reason why no test can tell them from the product. `#` begins a comment.

use anyhow::{Context as _, Result, bail, ensure};

use super::outcomes::MutantName;

/// A mutant that may survive, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) name: MutantName,
    pub(super) reason: String,
}

/// Reads the list. Names that follow each other share the reason that follows them.
///
/// # Errors
///
/// A name without a reason, a reason without a name, a name that stands there twice, and a line
/// that is no name.
pub(super) fn parse(text: &str) -> Result<Vec<Accepted>> {
    let mut accepted: Vec<Accepted> = Vec::new();
    let mut block = Block::default();
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let number = index + 1;
        if line.starts_with([' ', '\t']) {
            ensure!(
                !block.names.is_empty(),
                "line {number}: a reason stands before any mutant"
            );
            block.reason.push(line.trim());
            continue;
        }
        if !block.reason.is_empty() {
            accepted.append(&mut block.close()?);
        }
        let name =
            name(line).with_context(|| format!("line {number}: `{line}` is not `FILE: CHANGE`"))?;
        let is_known = accepted.iter().any(|entry| entry.name == name);
        if is_known || block.names.contains(&name) {
            bail!("line {number}: `{name}` stands there twice");
        }
        block.names.push(name);
    }
    accepted.append(&mut block.close()?);
    Ok(accepted)
}

/// Names and the reason that they share.
#[derive(Default)]
struct Block<'a> {
    names: Vec<MutantName>,
    reason: Vec<&'a str>,
}

impl Block<'_> {
    /// Takes what was gathered and begins anew.
    fn close(&mut self) -> Result<Vec<Accepted>> {
        let Self { names, reason } = std::mem::take(self);
        let reason = reason.join(" ");
        if let Some(last) = names.last() {
            ensure!(!reason.is_empty(), "`{last}` has no reason");
        }
        let entry = |name| Accepted {
            name,
            reason: reason.clone(),
        };
        Ok(names.into_iter().map(entry).collect())
    }
}

fn name(line: &str) -> Option<MutantName> {
    let (file, change) = line.trim_end().split_once(": ")?;
    Some(MutantName {
        file: file.to_owned(),
        change: change.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(text: &str, expected: &str) {
        let message = format!("{:#}", parse(text).expect_err("it is refused"));
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn names_in_a_row_share_their_reason() {
        let text = "\
# A comment.
crates/a/src/x.rs: replace f -> Result<()> with Ok(())
crates/a/src/x.rs: replace < with <= in g (2 of 3)
  the first line

  and the second
crates/b/src/y.rs: replace + with - in h
\tanother
";
        let found = parse(text).expect("the list is in order");
        let found: Vec<(String, &str)> = found
            .iter()
            .map(|entry| (entry.name.to_string(), entry.reason.as_str()))
            .collect();
        let check = |index: usize, name: &str, reason: &str| {
            assert_eq!(found[index], (name.to_owned(), reason));
        };
        let shared = "the first line and the second";
        check(
            0,
            "crates/a/src/x.rs: replace f -> Result<()> with Ok(())",
            shared,
        );
        check(
            1,
            "crates/a/src/x.rs: replace < with <= in g (2 of 3)",
            shared,
        );
        check(2, "crates/b/src/y.rs: replace + with - in h", "another");
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn an_empty_list_accepts_nothing() {
        assert_eq!(parse("# Nothing yet.\n").expect("it is a list"), []);
    }

    #[test]
    fn a_name_without_a_reason_is_refused() {
        check_refused("a.rs: b\n", "`a.rs: b` has no reason");
        check_refused("a.rs: b\n# no reason\n", "`a.rs: b` has no reason");
    }

    #[test]
    fn a_reason_without_a_name_is_refused() {
        check_refused("  because\n", "line 1: a reason stands before any mutant");
    }

    #[test]
    fn a_name_that_stands_there_twice_is_refused() {
        check_refused(
            "a.rs: b\na.rs: b\n  why\n",
            "line 2: `a.rs: b` stands there twice",
        );
        check_refused(
            "a.rs: b\n  why\na.rs: b\n  why\n",
            "line 3: `a.rs: b` stands there twice",
        );
    }

    #[test]
    fn a_line_that_is_no_name_is_refused() {
        check_refused("a.rs replace b\n  why\n", "line 1: `a.rs replace b`");
    }
}
