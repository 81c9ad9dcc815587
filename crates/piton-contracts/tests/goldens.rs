//! Compares what the crates produce with the files in `goldens/`, and names each of those files.

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use piton_ledger::VulnState::{Completed, GateFailedRetryable, NeedsPlan, PatchApplied, PlanReady};
use support::{Moves, history};

/// Every golden; a file that no test compares is no promise.
const GOLDENS: [&str; 7] = [
    "clean_completion",
    "contract",
    "exit_codes",
    "postgres_schema",
    "redaction_rules",
    "retry_then_recovery",
    "sqlite_schema",
];

fn golden(name: &str, content: &str) {
    assert!(GOLDENS.contains(&name), "{name} is not listed");
    insta::with_settings!({
        snapshot_path => "../../../goldens",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, content);
    });
}

#[test]
fn every_golden_is_compared() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../goldens");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("the folder of goldens")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(
        files,
        GOLDENS.iter().map(|name| format!("{name}.snap")).collect()
    );
}

const CLEAN_COMPLETION: Moves = &[
    (
        NeedsPlan,
        PlanReady,
        r#"{"advisory":"GHSA-xvch-5gv4-984h","plan":"raise minimist to 1.2.6"}"#,
    ),
    (
        PlanReady,
        PatchApplied,
        r#"{"api_token":"hunter2","files":2}"#,
    ),
    (
        PatchApplied,
        Completed,
        r#"{"tests":{"passed":412,"failed":0}}"#,
    ),
];

/// The move back to `needs_plan` between rows 3 and 4 is not persisted.
const RETRY_THEN_RECOVERY: Moves = &[
    (
        NeedsPlan,
        PlanReady,
        r#"{"b":[1e20,-0.0,9007199254740993,0.1],"a":null}"#,
    ),
    (
        PlanReady,
        PatchApplied,
        r#"{"\ue000":"after","\ud800\udc00":"before","control":"\u0000\u001f\u007f\n"}"#,
    ),
    (
        PatchApplied,
        GateFailedRetryable,
        r#"{"attempt":1,"failing_signals":["unit_tests"]}"#,
    ),
    (
        NeedsPlan,
        PlanReady,
        r#"{"note":"postgres://ci:hunter2@localhost/db"}"#,
    ),
    (PlanReady, PatchApplied, r#"["é", "e\u0301", true]"#),
    (PatchApplied, Completed, "null"),
];

#[tokio::test]
async fn clean_completion() {
    golden("clean_completion", &history(CLEAN_COMPLETION).await);
}

#[tokio::test]
async fn retry_then_recovery() {
    golden("retry_then_recovery", &history(RETRY_THEN_RECOVERY).await);
}

#[test]
fn sqlite_schema() {
    golden("sqlite_schema", piton_sqlite::SCHEMA);
}

#[test]
fn postgres_schema() {
    golden(
        "postgres_schema",
        &piton_postgres::schema(&piton_postgres::SchemaName::default()),
    );
}

#[test]
fn redaction_rules() {
    let rules: Vec<String> = piton_redact::rules()
        .iter()
        .map(|rule| format!("{}: {}", rule.id(), rule.description()))
        .collect();
    golden("redaction_rules", &rules.join("\n"));
}

#[test]
fn exit_codes() {
    golden("exit_codes", &piton_cli::ExitStatus::table());
}
