//! Holds the documents to what the crates do: worked vectors, clauses, links.

use std::path::{Path, PathBuf};

use piton_chain::link;
use piton_ledger::{ChainHead, TransitionEvent, VulnState};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document(name: &str) -> String {
    let path = root().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The fenced blocks of a document with this language.
fn blocks<'d>(document: &'d str, language: &str) -> Vec<&'d str> {
    let fence = format!("```{language}\n");
    document
        .split(fence.as_str())
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next())
        .collect()
}

#[test]
fn the_worked_example_of_the_chain_format_links() {
    let format = document("docs/chain-format.md");
    let (_, example) = format.split_once("## Worked example").expect("the section");
    let events = blocks(example, "json");
    let heads = blocks(example, "text");
    assert_eq!((events.len(), heads.len()), (4, 4));
    let mut head = ChainHead::GENESIS;
    for (position, (event, expected)) in events.iter().zip(&heads).enumerate() {
        let parsed = TransitionEvent::<VulnState>::parse(event.as_bytes()).expect("an event");
        if position < 3 {
            assert_eq!(parsed.to_canonical_json(), *event);
            assert_eq!(parsed.chain_head(), head);
            assert!(example.contains(&format!("({} bytes)", event.len())));
        } else {
            head = ChainHead::GENESIS;
        }
        head = link(&head, event.as_bytes());
        assert_eq!(head, expected.parse().expect("a head"), "row {position}");
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut names = vec![
        PathBuf::from("README.md"),
        "CONTRIBUTING.md".into(),
        "SECURITY.md".into(),
        "CHANGELOG.md".into(),
    ];
    for folder in ["docs", "docs/decisions"] {
        for entry in std::fs::read_dir(root().join(folder)).expect("a folder") {
            let name = entry.expect("an entry").file_name();
            if Path::new(&name)
                .extension()
                .is_some_and(|extension| extension == "md")
            {
                names.push(Path::new(folder).join(name));
            }
        }
    }
    for name in names {
        let text = document(&name.to_string_lossy());
        let folder = name.parent().unwrap_or(Path::new(""));
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let target = target.split('#').next().unwrap_or(target);
            let outside = target.starts_with("http") || target.is_empty();
            assert!(
                outside || root().join(folder).join(target).exists(),
                "{}: {target}",
                name.display()
            );
        }
    }
}

#[test]
fn the_contract_document_and_the_trait_state_the_same_clauses() {
    let contract = document("docs/store-contract.md");
    let port = document("crates/piton-store/src/port.rs");
    for clause in 1..=15 {
        let title = contract
            .lines()
            .find_map(|line| {
                line.strip_prefix(&format!("| C{clause} "))
                    .and_then(|rest| rest.split(" |").next())
            })
            .unwrap_or_else(|| panic!("C{clause} is not in the document"));
        assert!(
            port.contains(&format!("/// - C{clause} {title}:")),
            "C{clause} {title} is not on the trait"
        );
    }
}
