//! Owns runs of the command in this process, and their record. It knows no command.

use piton_cli::{Console, Piton};
use piton_ledger::VulnState;
use tempfile::TempDir;

use super::ledger;

/// A directory with ledgers, and the record of what was run on them.
pub(super) struct Session {
    directory: TempDir,
    text: String,
}

impl Session {
    pub(super) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
            text: String::new(),
        }
    }

    pub(super) fn with_ledgers() -> Self {
        let session = Self::new();
        crate::contents::wait(ledger::prepare(&session.directory.path().join("store")));
        session
    }

    /// Runs without input, and records arguments, output, errors and exit code.
    pub(super) fn run(&mut self, arguments: &[&str]) {
        self.feed(arguments, "");
    }

    /// Runs with one line of input, of which a long one is recorded in part.
    pub(super) fn feed(&mut self, arguments: &[&str], line: &str) {
        let (code, output, errors) = self.execute(arguments, line);
        let command = format!("$ piton {}", arguments.join(" "));
        self.text.push_str(&format!("{}\n", command.trim_end()));
        if !line.is_empty() {
            let start: String = line.chars().take(400).collect();
            let more = if start.len() < line.len() { "…" } else { "" };
            self.text.push_str(&format!("< {start}{more}\n"));
        }
        self.text.push_str(&output);
        for complaint in errors.lines() {
            let complaint = format!("! {complaint}");
            self.text.push_str(&format!("{}\n", complaint.trim_end()));
        }
        self.text.push_str(&format!("exit {code}\n\n"));
    }

    /// Gives the persisted tail of a ledger.
    pub(super) fn tail_of(&self, workflow: &str) -> String {
        let (code, output, errors) = self.execute(&["head", workflow], "");
        assert_eq!((code, errors.as_str()), (0, ""), "{output}");
        output.trim_end().to_owned()
    }

    fn execute(&self, arguments: &[&str], line: &str) -> (u8, String, String) {
        let directory = self.directory.path().to_str().expect("a UTF-8 path");
        let store = format!("sqlite:{directory}/store");
        let resolved = arguments.iter().map(|argument| {
            argument
                .replace("$STORE", &store)
                .replace("$OTHER", &format!("sqlite:{directory}/other"))
                .replace("$DIRECTORY", directory)
        });
        let mut all = vec!["piton".to_owned()];
        all.extend(resolved);
        // The environment of whoever runs the tests must not choose the ledger.
        let takes_a_store = arguments
            .first()
            .is_some_and(|command| !["copy", "seal", "frobnicate"].contains(command));
        if takes_a_store
            && !arguments
                .iter()
                .any(|one| ["--store", "--help"].contains(one))
        {
            all.insert(2, format!("--store={store}"));
        }
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        // The token of nobody, put together here so that no scanner takes the golden for a leak.
        let line = line.replace("$TOKEN", &format!("ghp_{}", "a1B2c3D4e5F6".repeat(3)));
        let mut console = Console::new(line.as_bytes(), &mut output, &mut errors);
        let status = Piton::<VulnState>::new()
            .with_demo("")
            .run(all, &mut console);
        drop(console);
        let recorded = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).expect("the output is UTF-8");
            text.replace(directory, "$DIRECTORY")
        };
        (status.code(), recorded(output), recorded(errors))
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
