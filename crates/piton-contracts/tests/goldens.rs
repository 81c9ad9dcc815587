//! Compares what the crates produce with the files in `goldens/`.
//!
//! Owns the table of goldens: each row is a test of that name and the one user of the file of that
//! name. What the files hold is made in `contents`.

mod contents;

use std::collections::BTreeSet;
use std::panic::catch_unwind;

use contents::{api, command, facts, history, messages, ports, schemas};

/// Makes a listed name and a test of each row, so that nothing is listed without being compared.
macro_rules! goldens {
    ($($name:ident = $content:expr;)+) => {
        const GOLDENS: &[&str] = &[$(stringify!($name)),+];

        $(
            #[test]
            fn $name() {
                compare(stringify!($name), &$content);
            }
        )+
    };
}

goldens! {
    api_piton_chain = api::of("piton-chain");
    api_piton_cli = api::of("piton-cli");
    api_piton_ledger = api::of("piton-ledger");
    api_piton_memory = api::of("piton-memory");
    api_piton_postgres = api::of("piton-postgres");
    api_piton_redact = api::of("piton-redact");
    api_piton_sqlite = api::of("piton-sqlite");
    api_piton_store = api::of("piton-store");
    api_piton_verify = api::of("piton-verify");
    clean_completion = history::clean_completion();
    cli_help = command::help();
    cli_json = command::json();
    cli_refusals = command::refusals();
    cli_text = command::text();
    error_ids = facts::error_ids();
    exit_codes = piton_cli::ExitStatus::table();
    integrity_messages = messages::integrity();
    limits = facts::limits();
    machine_vulnerability = facts::machine();
    ports = ports::traits();
    postgres_schema = piton_postgres::schema(&piton_postgres::SchemaName::default());
    redaction_rules = facts::redaction_rules();
    retry_then_recovery = history::retry_then_recovery();
    schema_audit_verdict = schemas::audit_verdict();
    schema_hydration_result = schemas::hydration_result();
    schema_ledger_state = schemas::ledger_state();
    schema_transition_event = schemas::transition_event();
    schema_verdict = schemas::verdict();
    sqlite_schema = piton_sqlite::SCHEMA;
}

/// Compares one golden with what the code gives now.
#[track_caller]
fn compare(name: &str, content: &str) {
    let compared = catch_unwind(|| {
        insta::with_settings!({
            snapshot_path => "../../../goldens",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(name, content);
        });
    });
    assert!(
        compared.is_ok(),
        "goldens/{name}.snap is a promise to others, and the code no longer keeps it.\n\
         If you didn't mean to break it, mend the code. If you did:\n  \
         1. `cargo xtask goldens` writes the file anew;\n  \
         2. commit it by itself, with a line in CHANGELOG.md that says who notices;\n  \
         3. if somebody must change something because of it, add a record to docs/decisions/.\n"
    );
}

#[test]
fn every_golden_is_compared() {
    let files: BTreeSet<String> = std::fs::read_dir(contents::root().join("goldens"))
        .expect("the folder of goldens")
        .map(|entry| {
            let name = entry.expect("an entry").file_name();
            name.to_string_lossy().into_owned()
        })
        .collect();
    // `tests/contract` compares the contract.
    let listed = GOLDENS.iter().chain(&["contract"]);
    let listed = listed.map(|name| format!("{name}.snap")).collect();
    assert_eq!(
        files, listed,
        "the folder goldens (left) and the table in goldens.rs (right) differ: a file that no \
         test compares is no promise, so delete it or give it a row"
    );
}

#[test]
fn every_library_has_its_api_in_a_golden() {
    let expected: BTreeSet<String> = api::LIBRARIES
        .iter()
        .map(|library| format!("api_{}", library.replace('-', "_")))
        .collect();
    let listed = GOLDENS.iter().filter(|name| name.starts_with("api_"));
    assert_eq!(
        listed
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>(),
        expected
    );
}
