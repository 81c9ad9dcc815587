//! F7 for sources: every Rust file says what it is, stays short, and is finished.

use super::strip::code_only;
use super::{Rule, TextFile, Violation};

/// Past this length a file has more than one responsibility.
const MAX_LINES: usize = 600;

/// Code that must not stand anywhere, why, and what to do about it.
///
/// Comments and strings are not searched, so this table may spell them out.
const BANNED: &[(&str, &str, &str)] = &[
    (
        "todo!",
        "unfinished code panics at run time",
        "finish it, or leave the branch out until it is needed",
    ),
    (
        "unimplemented!",
        "unfinished code panics at run time",
        "finish it, or make the state unrepresentable",
    ),
    (
        "#[ignore",
        "a test that doesn't run proves nothing",
        "make it run everywhere, or delete it",
    ),
    (
        "thread::sleep",
        "waiting for time to pass is slow where it works and flaky where it doesn't",
        "wait for the event itself: a lock, a channel, a paused clock",
    ),
];

/// The lint whose exceptions are listed below.
const UNSAFE: &str = "unsafe_code";

/// The only files that may have unsafe code; each says why it is right beside it.
const MAY_BE_UNSAFE: &[&str] = &[
    // Rows from the connection of one driver by way of another, which copies less.
    "crates/piton-sqlite/src/scan.rs",
    // For tests alone: stand in for the system's calls and for SQLite's.
    "crates/piton-faultfs/src/interpose.rs",
    "crates/piton-faultfs/src/vfs.rs",
];

/// Finds sources without a header, too long, or with banned code in them.
pub(super) fn check(sources: &[TextFile]) -> Vec<Violation> {
    sources.iter().flat_map(check_source).collect()
}

fn check_source(source: &TextFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    if !source.text.starts_with("//!") {
        violations.push(violation(
            source,
            1,
            "the file doesn't open with `//!`".to_owned(),
            "say on the first line what the file owns, and then what it must not do",
        ));
    }
    let length = source.text.lines().count();
    if length > MAX_LINES {
        violations.push(violation(
            source,
            MAX_LINES + 1,
            format!("the file has {length} lines; the limit is {MAX_LINES}"),
            "split it by responsibility",
        ));
    }
    let code = code_only(&source.text);
    if !MAY_BE_UNSAFE.contains(&source.path.as_str()) {
        for (index, _) in code
            .lines()
            .enumerate()
            .filter(|(_, line)| line.contains(UNSAFE))
        {
            violations.push(violation(
                source,
                index + 1,
                format!("`{UNSAFE}`: a new exception would have to be audited"),
                "do it in safe code, or in one of the files that the fence lists",
            ));
        }
    } else if !code.contains(UNSAFE) {
        violations.push(violation(
            source,
            1,
            "the file may have unsafe code, and has none".to_owned(),
            "take it off the fence's list",
        ));
    }
    for (index, line) in code.lines().enumerate() {
        for (banned, reason, mend) in BANNED {
            if line.contains(banned) {
                violations.push(violation(
                    source,
                    index + 1,
                    format!("`{banned}`: {reason}"),
                    mend,
                ));
            }
        }
    }
    violations
}

fn violation(source: &TextFile, line: usize, reason: String, mend: &str) -> Violation {
    Violation {
        file: source.path.clone(),
        line,
        rule: Rule::Tidy,
        reason,
        mend: mend.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_lines(text: &str, expected: &[usize]) {
        let violations = check(&[TextFile {
            path: "crates/a/src/lib.rs".to_owned(),
            text: text.to_owned(),
        }]);
        assert!(
            violations
                .iter()
                .all(|violation| violation.rule == Rule::Tidy)
        );
        let lines: Vec<usize> = violations.iter().map(|violation| violation.line).collect();
        assert_eq!(lines, expected, "{violations:?}");
    }

    #[test]
    fn a_file_opens_by_saying_what_it_is() {
        check_lines("//! Owns this.\nfn a() {}\n", &[]);
        check_lines("fn a() {}\n", &[1]);
        check_lines("\n//! Late.\n", &[1]);
        check_lines("// Not the module's.\n", &[1]);
        check_lines("", &[1]);
    }

    #[test]
    fn a_file_ends_at_the_limit() {
        let exactly = format!("//! Long.\n{}", "\n".repeat(MAX_LINES - 1));
        check_lines(&exactly, &[]);
        check_lines(&format!("{exactly}\n"), &[MAX_LINES + 1]);
    }

    #[test]
    fn banned_code_is_found_at_its_line() {
        for code in [
            "    todo!()",
            "    unimplemented!(\"later\")",
            "#[ignore]",
            "#[ignore = \"slow\"]",
            "std::thread::sleep(pause);",
            "use std::thread::sleep;",
        ] {
            check_lines(&format!("//! Owns this.\nfn a() {{}}\n{code}\n"), &[3]);
        }
    }

    #[test]
    fn only_listed_files_may_be_unsafe() {
        let allowing = "//! Owns this.\n#[allow(unsafe_code, reason = \"fast\")]\nfn a() {}\n";
        check_lines(allowing, &[2]);
        let listed = |text: &str| {
            check(&[TextFile {
                path: MAY_BE_UNSAFE[0].to_owned(),
                text: text.to_owned(),
            }])
        };
        assert!(listed(allowing).is_empty());
        assert_eq!(listed("//! Owns this.\nfn a() {}\n").len(), 1);
    }

    #[test]
    fn a_comment_or_a_string_may_speak_of_it() {
        check_lines(
            "//! No todo! here.\n// Never thread::sleep.\nconst A: &str = \"todo!\";\n",
            &[],
        );
    }
}
