//! Owns what the two engines hold: their tables, columns and constraints.

use std::collections::BTreeSet;
use std::path::Path;

use piton_store::{CheckpointStore, ExpectedHead, SealedEvent};
use serde_json::{Map, Value, json};
use sqlx::{Connection as _, Row as _, SqliteConnection};

/// Reads the layout of a database that a store has just made.
pub(crate) async fn sqlite_of_store(event: &SealedEvent) -> Value {
    let directory = tempfile::tempdir().expect("a directory");
    let store = piton_sqlite::SqliteStore::open(directory.path()).expect("a store");
    store
        .append(event, ExpectedHead::Any)
        .await
        .expect("an append");
    store.close().await.expect("a clean end");
    let file = directory
        .path()
        .join(event.workflow_id().as_str())
        .join("checkpoints.sqlite");
    sqlite(&file).await
}

/// Asks SQLite what a file holds.
pub(crate) async fn sqlite(file: &Path) -> Value {
    let mut database = SqliteConnection::connect(&format!("sqlite:{}", file.display()))
        .await
        .expect("a database");
    let version: i64 = sqlx::query_scalar("PRAGMA user_version")
        .fetch_one(&mut database)
        .await
        .expect("a version");
    let names: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    .fetch_all(&mut database)
    .await
    .expect("the tables");
    let mut tables = Map::new();
    for name in names {
        let table = sqlite_table(&mut database, &name).await;
        tables.insert(name, table);
    }
    database.close().await.expect("a clean end");
    json!({ "layout_version": version, "tables": tables })
}

async fn sqlite_table(database: &mut SqliteConnection, table: &str) -> Value {
    let rows = sqlx::query(
        "SELECT name, type, \"notnull\" <> 0 AS filled, dflt_value, pk FROM pragma_table_info(?1)",
    )
    .bind(table)
    .fetch_all(&mut *database)
    .await
    .expect("the columns");
    let mut columns = Map::new();
    for row in rows {
        let filled: bool = row.get("filled");
        let default: Option<String> = row.get("dflt_value");
        let key: i64 = row.get("pk");
        let mut definition: String = row.get("type");
        for (applies, words) in [
            (key > 0, " PRIMARY KEY".to_owned()),
            (filled, " NOT NULL".to_owned()),
            (
                default.is_some(),
                format!(" DEFAULT {}", default.clone().unwrap_or_default()),
            ),
        ] {
            if applies {
                definition.push_str(&words);
            }
        }
        let presence = presence(filled && default.is_none());
        columns.insert(
            row.get("name"),
            json!({ "definition": definition, "presence": presence }),
        );
    }
    let constraints: Vec<String> = sqlx::query_scalar(
        "SELECT 'UNIQUE (' || (SELECT group_concat(name, ', ') FROM pragma_index_info(list.name)) \
         || ')' FROM pragma_index_list(?1) AS list WHERE list.\"unique\" = 1 ORDER BY 1",
    )
    .bind(table)
    .fetch_all(&mut *database)
    .await
    .expect("the indexes");
    json!({ "columns": columns, "constraints": constraints })
}

/// Reads the tables from the statements that make them in an empty schema.
pub(crate) fn postgres(statements: &str) -> Value {
    // What stands between dollar quotes is the body of a function.
    let outside: String = statements.split("$function$").step_by(2).collect();
    let mut tables = Map::new();
    for statement in outside.split(';').map(str::trim) {
        if let Some(table) = statement.strip_prefix("CREATE TABLE ") {
            let (name, body) = table.split_once('(').expect("a body");
            let name = name.rsplit('.').next().unwrap_or(name).trim();
            let body = body.strip_suffix(')').expect("the end of the body");
            tables.insert(name.to_owned(), postgres_table(body));
        } else {
            let harmless = ["CREATE FUNCTION ", "REVOKE ", "INSERT INTO "];
            assert!(
                statement.is_empty() || harmless.iter().any(|begin| statement.starts_with(begin)),
                "teach this test what the statement does to the tables: {statement}"
            );
        }
    }
    json!({ "layout_version": piton_postgres::LAYOUT_VERSION, "tables": tables })
}

fn postgres_table(body: &str) -> Value {
    let mut columns = Map::new();
    let mut constraints = BTreeSet::new();
    for part in outer_parts(body) {
        let words: Vec<&str> = part.split_whitespace().collect();
        let text = words.join(" ");
        if [
            "PRIMARY",
            "UNIQUE",
            "CHECK",
            "FOREIGN",
            "CONSTRAINT",
            "EXCLUDE",
        ]
        .contains(&words[0])
        {
            constraints.insert(text);
            continue;
        }
        let (name, definition) = text.split_once(' ').expect("a name and a type");
        let filled = definition.contains("NOT NULL") && !definition.contains("DEFAULT");
        columns.insert(
            name.to_owned(),
            json!({ "definition": definition, "presence": presence(filled) }),
        );
    }
    json!({ "columns": columns, "constraints": constraints })
}

/// Splits at the commas that stand in no bracket.
fn outer_parts(body: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0u32;
    for letter in body.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).expect("brackets that match"),
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("it begins with one").push(letter);
    }
    parts
}

fn presence(must_be_given: bool) -> &'static str {
    if must_be_given {
        "required"
    } else {
        "optional"
    }
}
