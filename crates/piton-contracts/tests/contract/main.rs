//! Writes the contract golden from what the code is, and shows that a change of the code changes
//! it. What a change means is for `cargo xtask contract` to say.

mod agreement;
mod documents;
mod layouts;
mod ledgers;
mod ports;
mod sensitivity;
mod serde_names;
mod sources;
mod types;

use piton_ledger::{StateMachine, VulnState};
use serde_json::{Value, json};

use crate::sources::Sources;

/// Gathers everything that others rely on.
async fn snapshot(sources: &Sources) -> Value {
    let event = documents::event();
    let sealed = piton_store::seal(&event).expect("sealable");
    let schema = piton_postgres::schema(&piton_postgres::SchemaName::default());
    let states = types::openness_of(sources, "piton-ledger", "VulnState");
    let statuses = types::openness_of(sources, "piton-cli", "ExitStatus");
    json!({
        "adapters": ports::adapters(sources),
        "error_ids": ports::error_ids(sources),
        "exit_codes": ledgers::exit_codes(sources, statuses),
        "json": documents::documents(),
        "layouts": {
            "postgres": layouts::postgres(&schema),
            "sqlite": layouts::sqlite_of_store(&sealed).await,
        },
        "ledgers": { VulnState::LEDGER: ledgers::ledger::<VulnState>(states) },
        "limits": ports::limits(sources),
        "ports": ports::ports(sources),
        "types": types::types(sources),
    })
}

#[tokio::test]
async fn contract() {
    let snapshot = snapshot(&Sources::read()).await;
    insta::with_settings!({
        snapshot_path => "../../../../goldens",
        prepend_module_to_snapshot => false,
        omit_expression => true,
        sort_maps => true,
    }, {
        insta::assert_json_snapshot!("contract", snapshot);
    });
}
