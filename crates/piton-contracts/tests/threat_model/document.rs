//! Owns the place of the table in `docs/threat-model.md`. It compares, and writes only when it is
//! asked to in the way in which goldens are.

use std::path::PathBuf;

const BEGIN: &str = "<!-- made by piton-contracts, tests/threat_model; do not edit -->\n";
const END: &str = "<!-- end of what is made -->\n";

/// Demands that the document holds the table, or writes it there.
pub(crate) fn compare(table: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/threat-model.md");
    let text = std::fs::read_to_string(&path).expect("the document is there");
    let (before, rest) = text.split_once(BEGIN).expect("the table has a beginning");
    let (found, after) = rest.split_once(END).expect("the table has an end");
    if found == table {
        return;
    }
    if is_to_be_written() {
        let text = [before, BEGIN, table, END, after].concat();
        std::fs::write(&path, text).expect("the document can be written");
        return;
    }
    let lacks = |text: &str, line: &&str| !text.lines().any(|other| other == *line);
    let only = |text: &str, other: &str, mark: &str| -> String {
        text.lines()
            .filter(|line| lacks(other, line))
            .map(|line| format!("{mark} {line}\n"))
            .collect()
    };
    panic!(
        "docs/threat-model.md tells otherwise (-) than the attacks went (+):\n{}{}\
         If you didn't mean to change what is detected, mend the code. If you did, write the \
         table anew and read what changed:\n  \
         INSTA_UPDATE=always cargo xtask postgres -- cargo test -p piton-contracts --test \
         threat_model\n",
        only(found, table, "-"),
        only(table, found, "+"),
    );
}

/// `cargo xtask goldens` says so, and continuous integration never writes.
fn is_to_be_written() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|mode| mode == "always")
        && std::env::var_os("CI").is_none()
}
