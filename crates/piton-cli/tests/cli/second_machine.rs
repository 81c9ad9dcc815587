//! Tests that another workflow family gets the whole command line for one type.

use piton_cli::{Console, ExitStatus, Piton};
use piton_ledger::{Role, StateMachine, check_machine};

/// The lights of a crossing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Light {
    Red,
    Amber,
    Green,
}

impl StateMachine for Light {
    const LEDGER: &'static str = "crossing";
    const KINDS: &'static [Self] = &[Self::Red, Self::Amber, Self::Green];
    const INITIAL: Self = Self::Red;

    fn slug(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Amber => "amber",
            Self::Green => "green",
        }
    }

    fn role(self) -> Role {
        match self {
            Self::Red | Self::Green => Role::Boundary,
            Self::Amber => Role::Passing,
        }
    }

    fn successors(self) -> &'static [Self] {
        match self {
            Self::Red => &[Self::Green],
            Self::Amber => &[Self::Red],
            Self::Green => &[Self::Amber],
        }
    }
}

fn run(arguments: &[&str], input: &str) -> (ExitStatus, String, String) {
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let mut console = Console::new(input.as_bytes(), &mut output, &mut errors);
    let arguments = ["crossing"].iter().chain(arguments).copied();
    let status = Piton::<Light>::new().run(arguments, &mut console);
    drop(console);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status, text(output), text(errors))
}

fn event(prior: &str, next: &str) -> String {
    let evidence = "b".repeat(64);
    format!(
        r#"{{"workflow_id":"junction","prior_state_id":"{prior}","next_state_id":"{next}","triggering_outcome":null,"evidence_digest":"blake3:{evidence}"}}"#
    )
}

#[test]
fn another_family_records_and_hydrates() {
    assert_eq!(check_machine::<Light>(), Ok(()));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("sqlite:{}", directory.path().join("ledger").display());
    let store = ["--store", url.as_str()];
    let (status, output, errors) = run(&[&["append"][..], &store].concat(), &event("red", "green"));
    assert_eq!((status, errors.as_str()), (ExitStatus::Done, ""));
    assert!(output.contains("\"sequence\":1"), "{output}");
    let (status, output, _) = run(&[&["hydrate", "junction"][..], &store].concat(), "");
    assert_eq!(status, ExitStatus::Done);
    assert!(
        output.contains(r#""latest_state_kind":"green""#),
        "{output}"
    );
    for arguments in [
        &["verify", "junction"][..],
        &["log", "junction"],
        &["list"],
        &["export", "junction"],
    ] {
        let (status, output, _) = run(&[arguments, &store].concat(), "");
        assert_eq!(status, ExitStatus::Done);
        assert!(output.contains("junction"), "{output}");
    }
    let (status, output, _) = run(&["copy", "--from", &url, "--to", "memory:"], "");
    assert_eq!(status, ExitStatus::Done);
    assert!(output.starts_with("copied: junction: rows: 1,"), "{output}");
}

#[test]
fn its_own_edges_and_boundaries_hold() {
    let append = ["append", "--store", "memory:"];
    let check = |line: &str, reason: &str| {
        let (status, output, errors) = run(&append, line);
        assert_eq!((status, output.as_str()), (ExitStatus::Refused, ""));
        assert!(errors.contains(reason), "{errors}");
    };
    check(&event("red", "amber"), "illegal edge");
    check(
        &event("green", "amber"),
        "not a semantic boundary of the crossing ledger",
    );
    check(
        &event("needs_plan", "plan_ready"),
        "not a state of the crossing ledger",
    );
}

#[test]
fn its_names_are_its_own() {
    let (status, output, _) = run(&["completions", "bash"], "");
    assert_eq!(status, ExitStatus::Done);
    assert!(output.contains("_crossing()"), "{output}");
    let (status, output, _) = run(&["--help"], "");
    assert_eq!(status, ExitStatus::Done);
    assert!(
        !output.contains("demo"),
        "it has no recorded workflow: {output}"
    );
    let (status, _, errors) = run(&["demo"], "");
    assert_eq!(status, ExitStatus::Usage);
    assert!(errors.starts_with("error: "), "{errors}");
}
