//! Many workflows: listing them with counts and ends, and what one open and close costs.

use std::path::Path;
use std::process::{Command, Stdio};

use piton_benches::{Size, alternate, bulk_ledgers, command, print_table, runtime};
use piton_ledger::WorkflowId;
use piton_sqlite::SqliteStore;
use piton_store::{AppendLock, CheckpointStore, WorkflowCatalog};
use rusqlite::{Connection, OpenFlags};

/// About as many rows as a workflow has that took no detour.
const ROWS: u64 = 8;

const END: &str = "SELECT sequence, transition_id, prior_head, next_head, event_bytes, written_at \
                   FROM checkpoint_chain ORDER BY sequence";

fn main() {
    let size = Size::from_args();
    let count = u32::try_from(size.pick(10_000, 20)).expect("small");
    let rounds = size.pick(15, 1);
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    let ids = bulk_ledgers(root, count, ROWS);
    let url = format!("sqlite:{}", root.display());
    let piton = command();
    let runtime = runtime();
    let store = SqliteStore::open(root).expect("a store");

    let figures = alternate(
        rounds,
        &mut [
            ("read directory, bare rusqlite reads each", &mut || {
                assert_eq!(bare_list(root), ids.len());
            }),
            ("`list`, then `stats` of each", &mut || {
                let listed = runtime.block_on(list(&store));
                assert_eq!(listed, ids.len());
            }),
            ("`piton list`, the whole process", &mut || {
                let status = Command::new(&piton)
                    .args(["list", "--store", &url])
                    .stdout(Stdio::null())
                    .status()
                    .expect("the command runs");
                assert!(status.success());
            }),
        ],
    );
    let title = format!("{count} workflows of {ROWS} rows in SQLite");
    print_table(&title, &figures, count, "workflow");
    for (name, figures) in figures {
        println!("- {name}: {:.0} ms", figures.median.as_secs_f64() * 1e3);
    }

    let some = &ids[..size.pick(200, 2)];
    let figures = alternate(
        rounds,
        &mut [
            ("bare rusqlite: open, read the tail, close", &mut || {
                some.iter().for_each(|id| drop(bare_tail(root, id)));
            }),
            ("`tail_chain_head`: open, check, read, close", &mut || {
                runtime.block_on(async {
                    for id in some {
                        store.tail_chain_head(id).await.expect("a head");
                    }
                });
            }),
            (
                "`lock`, `tail`: open for writing, check, close",
                &mut || {
                    runtime.block_on(async {
                        for id in some {
                            let store = SqliteStore::open(root).expect("a store");
                            let mut lock = store.lock(id).await.expect("a lock");
                            lock.tail().await.expect("a tail");
                            lock.release().await.expect("a release");
                            store.close().await.expect("the store closes");
                        }
                    });
                },
            ),
        ],
    );
    let units = u32::try_from(some.len()).expect("small");
    print_table("One open and close", &figures, units, "workflow");
}

async fn list(store: &SqliteStore) -> usize {
    let mut rows = 0;
    let workflows = store.list().await.expect("a list");
    for workflow in &workflows {
        rows += store.stats(workflow).await.expect("readable").rows;
    }
    assert_eq!(rows, ROWS * u64::try_from(workflows.len()).expect("small"));
    workflows.len()
}

/// The floor: what `stats` gives, through the bare driver, as anybody may who only reads.
fn bare_list(root: &Path) -> usize {
    let mut workflows = 0;
    for entry in std::fs::read_dir(root).expect("a directory") {
        let path = entry.expect("an entry").path();
        let database = open(&path, "?immutable=1");
        let count = "SELECT count(*) FROM checkpoint_chain";
        let rows: i64 = database
            .query_row(count, (), |row| row.get(0))
            .expect("rows");
        assert_eq!(u64::try_from(rows), Ok(ROWS));
        for order in ["ASC", "DESC"] {
            end(&database, order);
        }
        workflows += 1;
    }
    workflows
}

fn bare_tail(root: &Path, id: &WorkflowId) -> String {
    end(&open(&root.join(id.as_str()), ""), "DESC")
}

/// Opens a database at rest; unless as an immutable file, a log and shared memory are made and
/// removed again.
fn open(directory: &Path, options: &str) -> Connection {
    let file = directory.join("checkpoints.sqlite");
    let uri = format!("file:{}{options}", file.display());
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri, flags).expect("a database")
}

fn end(database: &Connection, order: &str) -> String {
    let statement = format!("{END} {order} LIMIT 1");
    let row = |row: &rusqlite::Row<'_>| {
        let _bytes: Vec<u8> = row.get(4)?;
        row.get(3)
    };
    database.query_row(&statement, (), row).expect("a row")
}
