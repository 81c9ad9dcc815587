//! Shows that a change of the code changes the snapshot, at the place where it should.

use piton_ledger::{Role, StateMachine};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::Connection as _;

use crate::sources::Sources;
use crate::{documents, layouts, ledgers, ports, types};

/// Says whether the place is there: a member by its name, an element of a set by its value.
fn holds(section: &Value, place: &str) -> bool {
    let (parent, last) = place.rsplit_once('/').expect("a place in the section");
    match section.pointer(parent) {
        Some(Value::Object(members)) => members.contains_key(last),
        Some(Value::Array(elements)) => elements.iter().any(|element| element == last),
        Some(_) | None => false,
    }
}

#[track_caller]
fn check_added(before: &Value, after: &Value, place: &str) {
    assert!(!holds(before, place), "{place} is there before");
    assert!(holds(after, place), "{place} is not there after");
}

#[track_caller]
fn check_changed(before: &Value, after: &Value, place: &str, expected: &str) {
    let (before, after) = (before.pointer(place), after.pointer(place));
    assert_ne!(before, after, "{place}");
    let after = after.expect("it is still there");
    let text = after.as_str().map_or(after.to_string(), str::to_owned);
    assert_eq!(text, expected, "{place}");
}

/// A section of the snapshot, how it is made, and what it is now.
struct Section {
    describe: fn(&Sources) -> Value,
    before: Value,
}

impl Section {
    fn of(describe: fn(&Sources) -> Value) -> Self {
        Self {
            describe,
            before: describe(&Sources::read()),
        }
    }

    /// Hands the section before and after an edit to `judge`.
    #[track_caller]
    fn edit(
        &self,
        (path, passage, replacement): (&str, &str, &str),
        judge: impl FnOnce(&Value, &Value),
    ) {
        let after = Sources::read().edited(path, passage, replacement);
        judge(&self.before, &(self.describe)(&after));
    }
}

#[test]
fn variants_and_fields_are_seen() {
    let types = Section::of(types::types);
    types.edit(
        (
            "piton-ledger/src/vulnerability.rs",
            "pub enum ReviewReason {",
            "pub enum ReviewReason {\n    UnderEmbargo,",
        ),
        |before, after| check_added(before, after, "/ReviewReason/variants/under_embargo"),
    );
    types.edit(
        (
            "piton-ledger/src/vulnerability.rs",
            "MULTI_PACKAGE_CVE",
            "multi_package",
        ),
        |before, after| {
            check_added(before, after, "/ReviewReason/variants/multi_package");
            check_added(after, before, "/ReviewReason/variants/MULTI_PACKAGE_CVE");
        },
    );
    types.edit(
        (
            "piton-verify/src/verdict.rs",
            "pub offending_sequence: i64,",
            "pub offending_sequence: u64,\n    pub rows: Option<u64>,",
        ),
        |before, after| {
            check_changed(
                before,
                after,
                "/TornWrite/fields/offending_sequence/type",
                "u64",
            );
            check_added(before, after, "/TornWrite/fields/rows");
            assert_eq!(after["TornWrite"]["fields"]["rows"]["presence"], "optional");
        },
    );
    types.edit(
        (
            "piton-verify/src/verdict.rs",
            "pub offending_sequence: i64,",
            "#[serde(default)]\n    pub offending_sequence: i64,",
        ),
        |before, after| {
            let place = "/TornWrite/fields/offending_sequence/presence";
            check_changed(before, after, place, "optional");
        },
    );
    types.edit(
        (
            "piton-ledger/src/vulnerability.rs",
            "patch_digest: BlobDigest,",
            "patch_digest: BlobDigest,\n        author: Box<str>,",
        ),
        |before, after| {
            let place = "/VulnLedgerState/variants/patch_applied/fields/author";
            check_added(before, after, place);
            let presence = after.pointer(&format!("{place}/presence"));
            assert_eq!(presence, Some(&Value::from("required")));
        },
    );
    types.edit(
        (
            "piton-verify/src/verdict.rs",
            "pub enum TornReason {",
            "#[non_exhaustive]\npub enum TornReason {",
        ),
        |before, after| check_changed(before, after, "/TornReason/openness", "open"),
    );
    types.edit(
        (
            "piton-verify/src/verdict.rs",
            "#[serde(tag = \"kind\", rename_all = \"snake_case\", deny_unknown_fields)]",
            "#[serde(tag = \"type\", rename_all = \"snake_case\")]",
        ),
        |before, after| {
            check_changed(before, after, "/AuditVerdict/tag", "type");
            check_changed(before, after, "/AuditVerdict/unknown_fields", "ignored");
        },
    );
}

#[test]
fn a_type_that_a_field_brings_in_is_described_too() {
    let after = Sources::read()
        .edited(
            "piton-verify/src/verdict.rs",
            "pub offending_sequence: i64,",
            "pub offending_sequence: i64,\n    pub place: Vec<Place>,",
        )
        .with("piton-verify/src/place.rs", "pub enum Place { Row }");
    let before = types::types(&Sources::read());
    check_added(&before, &types::types(&after), "/Place");
    let unused = Sources::read().with("piton-verify/src/place.rs", "pub enum Place { Row }");
    assert_eq!(types::types(&unused), before);
}

#[test]
#[should_panic(expected = "teach this test to look into a module within a file")]
fn a_module_that_hides_items_is_not_skipped() {
    let hidden = "pub mod hidden { pub trait Port {} }";
    ports::ports(&Sources::read().with("piton-store/src/hidden.rs", hidden));
}

#[test]
#[should_panic(expected = "teach this test what the attribute promises")]
fn an_unknown_attribute_is_not_guessed_at() {
    types::types(&Sources::read().edited(
        "piton-verify/src/verdict.rs",
        "pub offending_sequence: i64,",
        "#[serde(flatten)]\n    pub offending_sequence: i64,",
    ));
}

#[test]
fn methods_and_their_signatures_are_seen() {
    let ports = Section::of(ports::ports);
    let port = "piton-store/src/port.rs";
    let close = "fn close(&self) -> impl Future<Output = Result<(), StoreError>> + Send;";
    let check = |replacement: &str, judge: &dyn Fn(&Value, &Value)| {
        ports.edit((port, close, replacement), judge);
    };
    check(
        &format!("{close}\n    fn flush(&self);"),
        &|before, after| {
            check_added(before, after, "/CheckpointStore/items/flush");
            let presence = &after["CheckpointStore"]["items"]["flush"]["presence"];
            assert_eq!(presence, "required");
        },
    );
    check(
        &format!("{close}\n    fn flush(&self) {{}}"),
        &|_, after| {
            let presence = &after["CheckpointStore"]["items"]["flush"]["presence"];
            assert_eq!(presence, "optional");
        },
    );
    check("fn close(self);", &|before, after| {
        let place = "/CheckpointStore/items/close/signature";
        check_changed(before, after, place, "fn close(self)");
    });
    check(&close.replace("fn close", "fn finish"), &|before, after| {
        check_added(before, after, "/CheckpointStore/items/finish");
        check_added(after, before, "/CheckpointStore/items/close");
    });
    // Neither the layout of the source nor a comment is part of a signature.
    check(
        "// Why.\n    fn close(\n        &self,\n    ) -> impl Future<Output = Result<(), StoreError>> + Send;",
        &|before, after| assert_eq!(before, after),
    );
    ports.edit(
        (
            port,
            "type Lock: AppendLock;",
            "type Lock: AppendLock + Sync;",
        ),
        |before, after| {
            let place = "/CheckpointStore/items/Lock/signature";
            check_changed(before, after, place, "type Lock: AppendLock + Sync");
        },
    );
    ports.edit(
        (
            port,
            "pub trait PersistedChain: Send + 'static",
            "pub trait PersistedChain: Send",
        ),
        |before, after| check_changed(before, after, "/PersistedChain/bounds", "Send"),
    );
}

#[test]
fn adapters_limits_and_error_ids_are_seen() {
    let before = ports::adapters(&Sources::read());
    for store in [
        "impl CheckpointStore for NewStore {}",
        "impl piton_store::CheckpointStore for NewStore {}",
    ] {
        let after = Sources::read().with("piton-new/src/store.rs", store);
        check_added(&before, &ports::adapters(&after), "/piton-new");
    }
    let limits = Section::of(ports::limits);
    let error_ids = Section::of(ports::error_ids);
    let seal = "piton-store/src/seal.rs";
    limits.edit(
        (seal, "usize = 65_536;", "usize = 128 * 1024;"),
        |before, after| check_changed(before, after, "/MAX_EVENT_BYTES", "131072"),
    );
    limits.edit(
        (
            "piton-ledger/src/digest.rs",
            "//!",
            "pub const MAX_DIGESTS: usize = 3;\n//",
        ),
        |before, after| check_added(before, after, "/MAX_DIGESTS"),
    );
    error_ids.edit(
        (
            seal,
            "\"workflows.checkpoint_payload_too_large\"",
            "\"workflows.too_large\"",
        ),
        |before, after| check_changed(before, after, "/PAYLOAD_TOO_LARGE", "workflows.too_large"),
    );
}

#[test]
#[should_panic(expected = "a status is missing from `ALL`")]
fn an_exit_status_that_is_not_listed_is_found() {
    let sources = Sources::read().edited(
        "piton-cli/src/exit.rs",
        "pub enum ExitStatus {",
        "pub enum ExitStatus {\n    Other,",
    );
    ledgers::exit_codes(&sources, "closed");
}

/// A door in several editions, each with one difference to the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Door<const EDITION: u8>(u8);

const NEW_KIND: u8 = 1;
const NEW_BOUNDARY: u8 = 2;
const NEW_TERMINAL: u8 = 3;
const NEW_EDGE: u8 = 4;
const OTHER_INITIAL: u8 = 5;

impl<const EDITION: u8> StateMachine for Door<EDITION> {
    const LEDGER: &'static str = "door";
    const KINDS: &'static [Self] = if EDITION == NEW_KIND {
        &[Self(0), Self(1), Self(2)]
    } else {
        &[Self(0), Self(1)]
    };
    const INITIAL: Self = Self(if EDITION == OTHER_INITIAL { 1 } else { 0 });

    fn slug(self) -> &'static str {
        ["shut", "open", "broken"][usize::from(self.0)]
    }

    fn role(self) -> Role {
        match (self.0, EDITION) {
            (0, NEW_BOUNDARY) => Role::Boundary,
            (0, _) => Role::Passing,
            (_, NEW_TERMINAL) => Role::Terminal,
            (_, _) => Role::Boundary,
        }
    }

    fn successors(self) -> &'static [Self] {
        match (self.0, EDITION) {
            (0, _) => &[Self(1)],
            (_, NEW_EDGE) => &[Self(0)],
            (_, _) => &[],
        }
    }
}

#[test]
fn every_fact_of_a_state_machine_is_seen() {
    let first = ledgers::ledger::<Door<0>>("closed");
    let check = |after: &Value, place: &str| check_added(&first, after, place);
    check(
        &ledgers::ledger::<Door<NEW_KIND>>("closed"),
        "/kinds/broken",
    );
    check(
        &ledgers::ledger::<Door<NEW_BOUNDARY>>("closed"),
        "/boundaries/shut",
    );
    check(
        &ledgers::ledger::<Door<NEW_TERMINAL>>("closed"),
        "/terminals/open",
    );
    check(
        &ledgers::ledger::<Door<NEW_EDGE>>("closed"),
        "/edges/open->shut",
    );
    let after = ledgers::ledger::<Door<OTHER_INITIAL>>("closed");
    check_changed(&first, &after, "/initial", "open");
}

async fn sqlite_of(schema: &str) -> Value {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("some.sqlite");
    let url = format!("sqlite:{}?mode=rwc", file.display());
    let mut database = sqlx::SqliteConnection::connect(&url).await.expect("a file");
    sqlx::raw_sql(sqlx::AssertSqlSafe(schema))
        .execute(&mut database)
        .await
        .expect("a schema");
    database.close().await.expect("a clean end");
    layouts::sqlite(&file).await
}

#[tokio::test]
async fn columns_of_sqlite_are_seen() {
    let schema = piton_sqlite::SCHEMA;
    let before = sqlite_of(schema).await;
    let sealed = piton_store::seal(&documents::event()).expect("sealable");
    let stored = layouts::sqlite_of_store(&sealed).await;
    assert_eq!(before["tables"], stored["tables"]);
    let written = "written_at     TEXT    NOT NULL";
    let chain = "/tables/checkpoint_chain";
    let note = format!("{chain}/columns/note");
    for (column, presence) in [
        ("note TEXT", "optional"),
        ("note TEXT NOT NULL DEFAULT ''", "optional"),
        ("note TEXT NOT NULL", "required"),
    ] {
        let after = sqlite_of(&schema.replace(written, &format!("{written}, {column}"))).await;
        check_added(&before, &after, &note);
        let found = after.pointer(&format!("{note}/presence"));
        assert_eq!(found, Some(&Value::from(presence)), "{column}");
    }
    let after = sqlite_of(&schema.replace(written, "written_at BLOB")).await;
    let definition = format!("{chain}/columns/written_at/definition");
    check_changed(&before, &after, &definition, "BLOB");
    let after = sqlite_of(&schema.replace("NOT NULL UNIQUE", "NOT NULL")).await;
    let unique = format!("{chain}/constraints/UNIQUE (transition_id)");
    check_added(&after, &before, &unique);
    let after = sqlite_of(&format!(
        "{schema} CREATE TABLE other (a); PRAGMA user_version = 2"
    ))
    .await;
    check_added(&before, &after, "/tables/other");
    check_changed(&before, &after, "/layout_version", "2");
}

#[test]
fn columns_of_postgres_are_seen() {
    let schema = piton_postgres::schema(&piton_postgres::SchemaName::default());
    let before = layouts::postgres(&schema);
    let column = "event_bytes   bytea            NOT NULL,";
    let chain = "/tables/checkpoint_chain";
    let note = format!("{chain}/columns/note");
    for (definition, presence) in [
        ("text CHECK (note IN ('a', 'b'))", "optional"),
        ("text NOT NULL DEFAULT ''", "optional"),
        ("text NOT NULL", "required"),
    ] {
        let edited = schema.replace(column, &format!("{column}\n    note {definition},"));
        let after = layouts::postgres(&edited);
        check_added(&before, &after, &note);
        let found = after.pointer(&format!("{note}/presence"));
        assert_eq!(found, Some(&Value::from(presence)), "{definition}");
    }
    let after = layouts::postgres(&schema.replace(column, "event_bytes text NOT NULL,"));
    let definition = format!("{chain}/columns/event_bytes/definition");
    check_changed(&before, &after, &definition, "text NOT NULL");
    let after = layouts::postgres(&schema.replace(column, ""));
    check_added(&after, &before, &format!("{chain}/columns/event_bytes"));
    let after = layouts::postgres(&schema.replace(column, &format!("{column} CHECK (true),")));
    check_added(
        &before,
        &after,
        &format!("{chain}/constraints/CHECK (true)"),
    );
}

#[test]
#[should_panic(expected = "teach this test what the statement does to the tables")]
fn an_unknown_statement_is_not_skipped() {
    layouts::postgres("ALTER TABLE pin ADD COLUMN note text;");
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct First {
    name: String,
}

#[derive(Serialize, Deserialize)]
struct Second {
    name: u64,
    note: Option<String>,
}

#[test]
fn fields_of_written_json_are_seen() {
    let before = documents::probe(&First {
        name: "a name".to_owned(),
    });
    let after = documents::probe(&Second {
        name: 1,
        note: Some("a note".to_owned()),
    });
    check_added(&before, &after, "/fields/note");
    check_changed(&before, &after, "/fields/name/type", "number");
    check_changed(&before, &after, "/unknown_fields", "ignored");
    assert_eq!(before["fields"]["name"]["presence"], "required");
    assert_eq!(after["fields"]["note"]["presence"], "optional");
}
