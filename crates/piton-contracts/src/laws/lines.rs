//! The law of lines on the command's input: no line makes it panic, every answer is JSON, no
//! message repeats the text of an event, and an import accepts only what the reference links.

use std::collections::BTreeMap;

use piton_cli::{Console, ExitStatus, Piton};
use piton_ledger::VulnState;
use serde_json::Value;

use super::reader::Reader;
use super::reference;
use super::reference::tree::Tree;

/// A text that no id can hold. Seeds have it in outcomes and keys, where no message may go.
const PAYLOAD: &str = "pay/load";

/// Checks the law on one input, whose first byte chooses the command.
pub fn check(input: &[u8]) {
    let mut reader = Reader::new(input);
    let command: &[&str] = match reader.byte() % 4 {
        0 => &["append", "--store", "memory:"],
        1 => &["append", "--fenced", "--store", "memory:"],
        2 => &["import", "--format", "json", "--store", "memory:"],
        _ => &["seal"],
    };
    let lines = reader.rest();
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let mut console = Console::new(lines, &mut output, &mut errors);
    let arguments = ["piton"].iter().chain(command);
    let status = Piton::<VulnState>::new().run(arguments, &mut console);
    drop(console);

    let errors = String::from_utf8(errors).expect("messages are text");
    assert!(!errors.contains(PAYLOAD), "{errors}");
    assert!(errors.chars().all(|one| one == '\n' || !one.is_control()));
    let output = String::from_utf8(output).expect("answers are text");
    let answers: Vec<Value> = output
        .lines()
        .map(|line| serde_json::from_str(line).expect("every answer is JSON"))
        .collect();
    assert_eq!(status == ExitStatus::Done, errors.is_empty(), "{errors}");
    match command[0] {
        "append" => check_appended(status, lines, &answers),
        "import" => check_imported(status, lines, &answers),
        _ => check_sealed(lines, &answers),
    }
    if command[0] != "seal" {
        assert!(!output.contains(PAYLOAD));
    }
}

/// The lines that are not blank.
fn spoken(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.iter().all(u8::is_ascii_whitespace))
}

/// One acknowledgement a line up to the first bad one, and dense sequences a workflow.
fn check_appended(status: ExitStatus, lines: &[u8], answers: &[Value]) {
    let spoken = spoken(lines).count();
    assert!(answers.len() <= spoken);
    assert_eq!(status == ExitStatus::Done, answers.len() == spoken);
    let mut tails = BTreeMap::<&str, u64>::new();
    for answer in answers {
        let workflow = answer["workflow_id"].as_str().expect("an id");
        let sequence = answer["sequence"].as_u64().expect("a sequence");
        assert!(reference::head(answer["next_head"].as_str().expect("a head")).is_some());
        let tail = tails.entry(workflow).or_default();
        match answer["status"].as_str() {
            Some("appended") => assert_eq!(sequence, *tail + 1),
            Some("already_present") => assert!(sequence <= *tail),
            other => panic!("{other:?}"),
        }
        *tail = sequence.max(*tail);
    }
}

/// What was taken is a prefix of the lines, and each of them links to those before it.
fn check_imported(status: ExitStatus, lines: &[u8], answers: &[Value]) {
    let mut heads = BTreeMap::<String, (u64, [u8; 32])>::new();
    let mut is_whole = true;
    for line in spoken(lines) {
        match follow(line, &heads) {
            Some((workflow, tail)) => heads.insert(workflow, tail),
            None => {
                is_whole = false;
                break;
            }
        };
    }
    assert!(
        is_whole || status != ExitStatus::Done,
        "a line that does not link was imported"
    );
    for answer in answers {
        let workflow = answer["workflow_id"].as_str().expect("an id");
        let Some(tail) = answer["tail"].as_str() else {
            continue;
        };
        let (rows, head) = heads
            .get(workflow)
            .expect("only lines that link are imported");
        let copied = answer["copied_rows"].as_u64().expect("a count");
        let (sequence, text) = tail.split_once(':').expect("a tail");
        assert_eq!(sequence, copied.to_string());
        assert!(copied <= *rows);
        if copied == *rows {
            assert_eq!(reference::head(text), Some(*head));
        }
    }
}

/// Gives the workflow of a line and its tail with that line, if it links.
fn follow(
    line: &[u8],
    heads: &BTreeMap<String, (u64, [u8; 32])>,
) -> Option<(String, (u64, [u8; 32]))> {
    let tree = Tree::read(line)?;
    let workflow = tree.text("workflow_id")?;
    let (rows, prior) = heads.get(workflow).copied().unwrap_or((0, [0; 32]));
    let bytes = tree.text("event")?.as_bytes();
    let event = reference::event(bytes)?;
    let next = reference::link(&prior, bytes);
    let values: Value = serde_json::from_slice(line).ok()?;
    let links = values["sequence"].as_u64() == Some(rows + 1)
        && event.workflow_id == workflow
        && Some(event.transition_id.as_str()) == tree.text("transition_id")
        && reference::head(tree.text("prior_head")?) == Some(prior)
        && reference::head(tree.text("next_head")?) == Some(next);
    links.then(|| (workflow.to_owned(), (rows + 1, next)))
}

/// What would be persisted is an event, and its digests are those of its bytes.
fn check_sealed(lines: &[u8], answers: &[Value]) {
    assert!(answers.len() <= spoken(lines).count());
    for answer in answers {
        let bytes = answer["bytes"].as_str().expect("a text");
        let event = reference::event(bytes.as_bytes()).expect("an event is sealed");
        assert_eq!(answer["workflow_id"], event.workflow_id.as_str());
        assert_eq!(answer["transition_id"], event.transition_id.as_str());
        assert_eq!(
            answer["size_bytes"].as_u64(),
            u64::try_from(bytes.len()).ok()
        );
        let seen: Value = serde_json::from_str(bytes).expect("JSON");
        let seen = seen["chain_head"].as_str().and_then(reference::head);
        let next = reference::link(&seen.expect("a head"), bytes.as_bytes());
        let told = answer["next_head"].as_str().and_then(reference::head);
        assert_eq!(told, Some(next));
    }
}
