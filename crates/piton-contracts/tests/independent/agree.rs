//! Owns the question put to both verifiers, and the comparison of their answers. It damages
//! nothing and knows no right answer.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use piton_cli::{Console, ExitStatus, Piton};
use piton_ledger::VulnState;
use piton_memory::MemoryStore;
use piton_testkit::tamper::TamperedStore;
use piton_verify::ReplayVerifier;
use serde_json::{Value, json};

use crate::ledger::Ledger;

/// How often each answer was given by both, by the words that tell answers apart.
pub(crate) type Tally = BTreeMap<String, usize>;

/// One question to the script, and what the product says to it.
struct Question {
    what: String,
    asked: Value,
    answer: Value,
}

/// Asks both about every ledger, as files of SQLite and as lines of an export, and demands the
/// same answers.
pub(crate) fn assert_agreement(ledgers: &[(String, Ledger)]) -> Tally {
    let place = tempfile::tempdir().expect("a directory");
    let mut questions = Vec::new();
    for (number, (what, ledger)) in ledgers.iter().enumerate() {
        let root = place.path().join(number.to_string());
        let home = ledger.write(&root);
        questions.push(Question {
            what: format!("{what}, in SQLite"),
            asked: question(&home, ledger),
            answer: verify_store(&root, ledger),
        });
        if let Some(lines) = ledger.lines() {
            let path = root.join("export.jsonl");
            std::fs::write(&path, lines).expect("an export");
            questions.push(Question {
                what: format!("{what}, exported"),
                asked: question(&path, ledger),
                answer: verify_rows(ledger),
            });
        }
    }
    compare(place.path(), &questions)
}

/// Asks both about directories of workflows that hold files of any origin.
pub(crate) fn assert_agreement_on_files(homes: &[(String, PathBuf)]) -> Tally {
    let place = tempfile::tempdir().expect("a directory");
    let questions: Vec<Question> = homes
        .iter()
        .map(|(what, home)| {
            let name = home.file_name().and_then(|name| name.to_str());
            let workflow = name.expect("a workflow id").parse().expect("a workflow id");
            let ledger = Ledger::new(&workflow, Vec::new(), None);
            Question {
                what: what.clone(),
                asked: question(home, &ledger),
                answer: verify_store(home.parent().expect("a root"), &ledger),
            }
        })
        .collect();
    compare(place.path(), &questions)
}

fn question(path: &Path, ledger: &Ledger) -> Value {
    json!({
        "path": path,
        "workflow": ledger.workflow,
        "expect": ledger.expectations.expected.map(|tail| tail.to_string()),
        "ignore_pin": ledger.options().contains(&"--ignore-pin".to_owned()),
    })
}

/// What `piton verify` prints.
fn verify_store(root: &Path, ledger: &Ledger) -> Value {
    let mut arguments = vec![
        "verify".to_owned(),
        "--format=json".to_owned(),
        format!("--store=sqlite:{}", root.display()),
        ledger.workflow.to_string(),
    ];
    arguments.extend(ledger.options());
    let (_, output) = piton(&arguments);
    serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error}: {output}"))
}

/// Runs the product's command and gives how it ended and what it printed.
pub(crate) fn piton(arguments: &[String]) -> (ExitStatus, String) {
    let mut output = Vec::new();
    let mut console = Console::new(std::io::empty(), &mut output, std::io::sink());
    let arguments = std::iter::once("piton").chain(arguments.iter().map(String::as_str));
    let status = Piton::<VulnState>::new().run(arguments, &mut console);
    drop(console);
    (status, String::from_utf8(output).expect("text"))
}

/// What the product makes of the rows alone, which is all that an export holds.
fn verify_rows(ledger: &Ledger) -> Value {
    let Ledger { workflow, rows, .. } = ledger;
    let store = TamperedStore::new(MemoryStore::new(), workflow.clone(), rows.clone(), None);
    let expectations = ledger.expectations;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let checked = runtime
        .block_on(ReplayVerifier::new(&store).audit::<VulnState>(workflow, expectations, |_| ()))
        .expect("rows in memory can be read");
    json!({ "workflow_id": workflow, "verdict": checked.verdict, "pin": checked.pin })
}

fn compare(place: &Path, questions: &[Question]) -> Tally {
    let mut lines = String::new();
    for question in questions {
        lines.push_str(&format!("{}\n", question.asked));
    }
    let path = place.join("questions");
    std::fs::write(&path, lines).expect("a file");
    let output = script()
        .arg("--batch")
        .stdin(File::open(&path).expect("a file"))
        .output()
        .expect("Python starts");
    let text = String::from_utf8(output.stdout).expect("text");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), questions.len(), "{complaint}");
    let mut tally = Tally::new();
    let mut disagreements = Vec::new();
    for (question, line) in questions.iter().zip(text.lines()) {
        let reply: Value = serde_json::from_str(line).expect("JSON");
        let answers = reply["answers"].as_array().expect("a list of answers");
        let [answer] = answers.as_slice() else {
            panic!("{}: one workflow is asked about: {line}", question.what);
        };
        if essence(answer) != essence(&question.answer) {
            let Question {
                what,
                answer: product,
                ..
            } = question;
            disagreements.push(format!("{what}:\n  piton:  {product}\n  script: {answer}"));
        }
        *tally.entry(kind(answer)).or_default() += 1;
    }
    let count = disagreements.len();
    assert!(
        count == 0,
        "{count} disagreements:\n{}",
        disagreements.join("\n")
    );
    tally
}

/// An answer without the words of an error, which are each verifier's own.
pub(crate) fn essence(answer: &Value) -> Value {
    let mut essence = answer.clone();
    if let Some(error) = essence.get_mut("error") {
        *error = Value::Bool(true);
    }
    essence
}

/// The kind of an answer, with its cause or reason.
fn kind(answer: &Value) -> String {
    let verdict = &answer["verdict"];
    let words = [&verdict["kind"], &verdict["cause"], &verdict["reason"]];
    let words: Vec<&str> = words.into_iter().filter_map(Value::as_str).collect();
    match words.as_slice() {
        [] => "error".to_owned(),
        words => words.join(" "),
    }
}

/// The script, ready to be given arguments.
pub(crate) fn script() -> Command {
    let variable = "PITON_TEST_PYTHON";
    let given = std::env::var(variable).ok().filter(|name| !name.is_empty());
    let python = given.unwrap_or_else(|| "python3".to_owned());
    let fit = Command::new(&python)
        .args(["-c", "import blake3"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    assert!(
        fit,
        "`{python}` is no Python with the package `blake3`; run `cargo xtask test`, which finds \
         or makes one, or name one in {variable}"
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(python);
    command.arg("-B").arg(root.join("docs/verify_chain.py"));
    command
}
