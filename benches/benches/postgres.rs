//! Appends and hydration on Postgres against the bare driver; through a pooler as well. The servers
//! come from `cargo xtask bench`.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use piton_benches::{Figures, OUTCOME, Size, alternate, event, event_of, print_table, workflow};
use piton_chain::link;
use piton_ledger::{CanonicalJson, ChainHead, TransitionEvent, VulnState, WorkflowId};
use piton_postgres::{Mode, PostgresOptions, PostgresStore};
use piton_store::{CheckpointStore, ExpectedHead, SealedEvent, Tail, seal};
use piton_verify::{HydrationResult, hydrate_or_fail};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls};

const COLUMNS: &str =
    "(workflow_id, sequence, transition_id, prior_head, next_head, event_bytes, written_at)";
const WRITTEN_AT: &str = "2026-01-01T00:00:00Z";

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} names no server; run `cargo xtask bench`, which starts one")
    })
}

async fn client(url: &str) -> Client {
    let (client, driver) = tokio_postgres::connect(url, NoTls)
        .await
        .expect("the server");
    tokio::spawn(driver);
    client
}

/// A row as the floors insert it.
struct Row {
    workflow: String,
    sequence: i64,
    id: String,
    prior: Vec<u8>,
    head: Vec<u8>,
    bytes: Vec<u8>,
}

/// One sealed event a round, the last to be popped first made.
fn sealed_events(rounds: usize, outcome: &CanonicalJson) -> Vec<SealedEvent> {
    (0..=u64::try_from(rounds).expect("small"))
        .rev()
        .map(|number| seal(&event(number, outcome)).expect("sealable"))
        .collect()
}

fn linked_rows(rounds: usize, outcome: &CanonicalJson) -> Vec<Row> {
    let mut tail = Tail::Empty;
    let mut rows: Vec<_> = (0..=u64::try_from(rounds).expect("small"))
        .map(|number| {
            let sealed = seal(&event(number, outcome)).expect("sealable");
            let prior = tail.head();
            let (sequence, head) = (tail.next_sequence().expect("not full"), sealed.link(&prior));
            tail = Tail::At { sequence, head };
            Row {
                workflow: workflow().to_string(),
                sequence: sequence.to_i64(),
                id: sealed.transition_id().to_string(),
                prior: prior.as_bytes().to_vec(),
                head: head.as_bytes().to_vec(),
                bytes: sealed.bytes().to_vec(),
            }
        })
        .collect();
    rows.reverse();
    rows
}

impl Row {
    fn parameters(&self) -> [(&(dyn ToSql + Sync), Type); 7] {
        [
            (&self.workflow, Type::TEXT),
            (&self.sequence, Type::INT8),
            (&self.id, Type::TEXT),
            (&self.prior, Type::BYTEA),
            (&self.head, Type::BYTEA),
            (&self.bytes, Type::BYTEA),
            (&WRITTEN_AT, Type::TEXT),
        ]
    }

    fn values(&self) -> [&(dyn ToSql + Sync); 7] {
        self.parameters().map(|(value, _)| value)
    }
}

async fn tables(client: &Client, schema: &str) {
    let sql = piton_postgres::schema(&schema.parse().expect("a schema name"));
    client
        .batch_execute(&format!(
            "DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}; {sql}"
        ))
        .await
        .expect("tables");
}

fn insert(schema: &str) -> String {
    format!("INSERT INTO {schema}.checkpoint_chain {COLUMNS} VALUES ($1, $2, $3, $4, $5, $6, $7)")
}

fn insert_and_pin(schema: &str) -> String {
    format!(
        "WITH added AS ({} RETURNING workflow_id, sequence, next_head) \
         INSERT INTO {schema}.pin SELECT * FROM added \
         ON CONFLICT (workflow_id) DO UPDATE SET sequence = excluded.sequence, head = excluded.head",
        insert(schema)
    )
}

async fn store(url: &str, mode: Mode, schema: &str) -> PostgresStore {
    let schema = schema.parse().expect("a schema name");
    let options = PostgresOptions {
        schema,
        mode,
        ..PostgresOptions::default()
    };
    let store = PostgresStore::with_options(url, options).expect("a URL");
    store.migrate().await.expect("a schema");
    store
}

fn main() {
    let size = Size::from_args();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let outcome = CanonicalJson::parse(OUTCOME.as_bytes()).expect("JSON");
    direct(size, &runtime, &outcome);
    pooled(size, &runtime, &outcome);
    runtime.block_on(many_workflows(size, &outcome));
    lengths(size, &runtime, &outcome);
    hydration(size, &runtime);
}

fn direct(size: Size, runtime: &tokio::runtime::Runtime, outcome: &CanonicalJson) {
    let rounds = size.pick(2_000, 3);
    let url = variable("PITON_TEST_POSTGRES_URL");
    let bare = runtime.block_on(client(&url));
    runtime.block_on(async {
        for schema in ["bench_bare", "bench_pin", "bench_steps"] {
            tables(&bare, schema).await;
        }
        bare.batch_execute("DROP SCHEMA IF EXISTS bench_piton CASCADE")
            .await
            .expect("dropped");
    });
    let prepare = |sql: String| runtime.block_on(bare.prepare(&sql)).expect("a statement");
    let (one, two, steps) = (
        prepare(insert("bench_bare")),
        prepare(insert_and_pin("bench_pin")),
        prepare(insert("bench_steps")),
    );
    let lock = prepare("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))".to_owned());
    let tail = prepare("SELECT sequence, next_head FROM bench_steps.checkpoint_chain WHERE workflow_id = $1 ORDER BY sequence DESC LIMIT 1".to_owned());
    let pin = prepare("INSERT INTO bench_steps.pin VALUES ($1, $2, $3) ON CONFLICT (workflow_id) DO UPDATE SET sequence = excluded.sequence, head = excluded.head".to_owned());
    let store = runtime.block_on(store(&url, Mode::Direct, "bench_piton"));
    let mut rows = [(); 3].map(|()| linked_rows(rounds, outcome));
    let [first, second, third] = &mut rows;
    let whole: WorkflowId = "whole".parse().expect("a workflow id");
    let mut ready = sealed_events(rounds, outcome);
    let mut number = 0;
    let figures = alternate(
        rounds,
        &mut [
            ("bare one-row insert, prepared", &mut || {
                let row = first.pop().expect("a row a round");
                runtime
                    .block_on(bare.execute(&one, &row.values()))
                    .expect("a row");
            }),
            ("insert plus pin upsert, one statement", &mut || {
                let row = second.pop().expect("a row a round");
                runtime
                    .block_on(bare.execute(&two, &row.values()))
                    .expect("a row");
            }),
            ("BEGIN, lock, select, insert, pin, COMMIT", &mut || {
                let row = third.pop().expect("a row a round");
                runtime.block_on(async {
                    bare.batch_execute("BEGIN").await.expect("a transaction");
                    bare.query(&lock, &[&row.workflow]).await.expect("a lock");
                    bare.query_opt(&tail, &[&row.workflow])
                        .await
                        .expect("a tail");
                    bare.execute(&steps, &row.values()).await.expect("a row");
                    bare.execute(&pin, &[&row.workflow, &row.sequence, &row.head])
                        .await
                        .expect("a pin");
                    bare.batch_execute("COMMIT").await.expect("a commit");
                });
            }),
            ("piton-postgres: compare, append, pin", &mut || {
                let sealed = ready.pop().expect("an event a round");
                runtime
                    .block_on(store.append(&sealed, ExpectedHead::Any))
                    .expect("an append");
            }),
            (
                "piton-postgres: make, seal, compare, append, pin",
                &mut || {
                    let sealed = seal(&event_of(&whole, number, outcome)).expect("sealable");
                    number += 1;
                    runtime
                        .block_on(store.append(&sealed, ExpectedHead::Any))
                        .expect("an append");
                },
            ),
        ],
    );
    print_table(
        "Append of a 533-byte event on Postgres, direct",
        &figures,
        1,
        "append",
    );
}

fn pooled(size: Size, runtime: &tokio::runtime::Runtime, outcome: &CanonicalJson) {
    let rounds = size.pick(2_000, 3);
    let url = variable("PITON_TEST_PGBOUNCER_URL");
    let bare = runtime.block_on(client(&url));
    runtime.block_on(tables(&bare, "bench_bare"));
    runtime
        .block_on(bare.batch_execute("DROP SCHEMA IF EXISTS bench_piton CASCADE"))
        .expect("dropped");
    let store = runtime.block_on(store(&url, Mode::TransactionPooler, "bench_piton"));
    let sql = insert("bench_bare");
    let mut rows = linked_rows(rounds, outcome);
    let mut number = 0;
    let figures = alternate(
        rounds,
        &mut [
            ("bare one-row insert, one flight", &mut || {
                let row = rows.pop().expect("a row a round");
                runtime
                    .block_on(bare.query_typed(&sql, &row.parameters()))
                    .expect("a row");
            }),
            ("piton-postgres: seal, compare, append, pin", &mut || {
                let sealed = seal(&event(number, outcome)).expect("sealable");
                number += 1;
                runtime
                    .block_on(store.append(&sealed, ExpectedHead::Any))
                    .expect("an append");
            }),
        ],
    );
    print_table(
        "Append of a 533-byte event on Postgres, through a pooler",
        &figures,
        1,
        "append",
    );
}

async fn many_workflows(size: Size, outcome: &CanonicalJson) {
    let each = size.pick(200, 2);
    let url = variable("PITON_TEST_POSTGRES_URL");
    let bare = client(&url).await;
    bare.batch_execute("DROP SCHEMA IF EXISTS bench_many CASCADE")
        .await
        .expect("dropped");
    let store = store(&url, Mode::Direct, "bench_many").await;
    let workflows: Vec<WorkflowId> = (0..65)
        .map(|number| format!("w{number}").parse().expect("a workflow id"))
        .collect();
    let fill = async |workflow: &WorkflowId, round: usize| {
        for number in round * each..(round + 1) * each {
            let number = u64::try_from(number).expect("small");
            let sealed = seal(&event_of(workflow, number, outcome)).expect("sealable");
            store
                .append(&sealed, ExpectedHead::Any)
                .await
                .expect("an append");
        }
    };
    let begin = Instant::now();
    fill(&workflows[0], 0).await;
    let single = per_second(each, begin);
    // The first appends connect and prepare.
    join_all(workflows[1..].iter().map(|workflow| fill(workflow, 0))).await;
    let (begin, client_before) = (Instant::now(), processor_time(std::process::id()));
    let server_before = server_time(&bare).await;
    join_all(workflows[1..].iter().map(|workflow| fill(workflow, 1))).await;
    let many = per_second(64 * each, begin);
    println!(
        "\nOne workflow: {single:.0} appends/s; 64 workflows at once: {many:.0} appends/s, {:.1} times",
        many / single
    );
    let each_of = |time: Duration| {
        time.as_secs_f64() * 1e6 / f64::from(u32::try_from(64 * each).expect("small"))
    };
    if let (Some(client_before), Some(client), Some(server_before), Some(server)) = (
        client_before,
        processor_time(std::process::id()),
        server_before,
        server_time(&bare).await,
    ) {
        println!(
            "Processor time of an append: {:.0} µs in the client, {:.0} µs in the server",
            each_of(client.saturating_sub(client_before)),
            each_of(server.saturating_sub(server_before))
        );
    }
}

fn per_second(appends: usize, begin: Instant) -> f64 {
    f64::from(u32::try_from(appends).expect("small")) / begin.elapsed().as_secs_f64()
}

/// Does the same to the four workflows by turns; the smoke form has shorter ones than it says.
fn by_length(size: Size, works: [impl FnMut(); 4]) -> Vec<(&'static str, Figures)> {
    let [mut first, mut second, mut third, mut fourth] = works;
    alternate(
        size.pick(1_000, 2),
        &mut [
            ("1,000 rows", &mut first),
            ("10,000 rows", &mut second),
            ("100,000 rows", &mut third),
            ("1,000,000 rows", &mut fourth),
        ],
    )
}

/// Appends to, and looks at the tail of, workflows of growing length in one table, beside many
/// short ones.
fn lengths(size: Size, runtime: &tokio::runtime::Runtime, outcome: &CanonicalJson) {
    let lengths = match size {
        Size::Full => [1_000, 10_000, 100_000, 1_000_000],
        Size::Smoke => [1, 2, 3, 4],
    };
    let url = variable("PITON_TEST_POSTGRES_URL");
    let bare = runtime.block_on(client(&url));
    let others = i64::try_from(size.pick(100_000, 10)).expect("small");
    runtime.block_on(async {
        tables(&bare, "bench_length").await;
        for length in lengths {
            fill(&bare, &format!("'rows-{length}'"), 1, length).await;
        }
        fill(&bare, "'other-' || workflow", others, 10).await;
        bare.batch_execute("VACUUM ANALYZE bench_length.checkpoint_chain, bench_length.pin")
            .await
            .expect("statistics");
    });
    let store = runtime.block_on(store(&url, Mode::Direct, "bench_length"));
    let workflows = lengths.map(|length| format!("rows-{length}").parse().expect("a workflow id"));
    let append = |at: usize| {
        let (store, workflow) = (&store, &workflows[at]);
        let mut number = 0;
        move || {
            number += 1;
            let sealed = seal(&event_of(workflow, number, outcome)).expect("sealable");
            runtime
                .block_on(store.append(&sealed, ExpectedHead::Any))
                .expect("an append");
        }
    };
    let figures = by_length(size, [0, 1, 2, 3].map(append));
    print_table(
        &format!("Append by the length of the workflow, beside {others} workflows of 10 rows"),
        &figures,
        1,
        "append",
    );
    let tail = |at: usize| {
        let (store, workflow) = (&store, &workflows[at]);
        move || {
            runtime
                .block_on(store.tail_chain_head(workflow))
                .expect("a tail");
        }
    };
    let figures = by_length(size, [0, 1, 2, 3].map(tail));
    print_table("Tail by the length of the workflow", &figures, 1, "look");
    runtime
        .block_on(bare.batch_execute("DROP SCHEMA bench_length CASCADE"))
        .expect("dropped");
}

/// Makes workflows of a length inside the server; their heads follow each other and are no links,
/// which appends and looks at the tail can't tell.
async fn fill(client: &Client, name: &str, workflows: i64, length: i64) {
    let head = |of: &str| format!("sha256((workflow || ':' || ({of}))::bytea)");
    let (prior, next) = (head("row - 1"), head("row"));
    client
        .batch_execute(&format!(
            "INSERT INTO bench_length.checkpoint_chain {COLUMNS}
             SELECT {name}, row, lpad(row::text, 26, '0'), {prior}, {next}, \
                    convert_to(repeat('x', 533), 'UTF8'), '{WRITTEN_AT}'
             FROM generate_series(1, {workflows}) AS workflow, generate_series(1, {length}) AS row;
             INSERT INTO bench_length.pin
             SELECT {name}, {length}, {last}
             FROM generate_series(1, {workflows}) AS workflow",
            last = head(&length.to_string()),
        ))
        .await
        .expect("rows");
}

/// How long a process of this machine has run on a processor; none where the system does not say.
fn processor_time(process: u32) -> Option<Duration> {
    let directory = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let nanoseconds = directory.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Some(Duration::from_nanos(nanoseconds.sum()))
}

/// The same for every process of the server, if it is on this machine.
async fn server_time(client: &Client) -> Option<Duration> {
    let processes = "SELECT pid FROM pg_catalog.pg_stat_activity";
    let rows = client.query(processes, &[]).await.expect("processes");
    rows.iter()
        .map(|row| processor_time(u32::try_from(row.get::<_, i32>(0)).ok()?))
        .sum()
}

fn hydration(size: Size, runtime: &tokio::runtime::Runtime) {
    let rows = size.pick(100_000, 50);
    let count = u32::try_from(rows).expect("small");
    let url = variable("PITON_TEST_POSTGRES_URL");
    let bare = runtime.block_on(client(&url));
    let outcome = CanonicalJson::parse(OUTCOME.as_bytes()).expect("JSON");
    runtime.block_on(async {
        tables(&bare, "bench_hydrate").await;
        bare.batch_execute("BEGIN").await.expect("a transaction");
        let statement = bare
            .prepare(&insert("bench_hydrate"))
            .await
            .expect("a statement");
        let mut last = None;
        for row in linked_rows(rows - 1, &outcome).into_iter().rev() {
            bare.execute(&statement, &row.values())
                .await
                .expect("a row");
            last = Some(row);
        }
        let last = last.expect("there are rows");
        bare.execute(
            "INSERT INTO bench_hydrate.pin VALUES ($1, $2, $3)",
            &[&last.workflow, &last.sequence, &last.head],
        )
        .await
        .expect("a pin");
        bare.batch_execute("COMMIT; ANALYZE bench_hydrate.checkpoint_chain")
            .await
            .expect("a commit");
    });
    let store = runtime.block_on(store(&url, Mode::Direct, "bench_hydrate"));
    let scan = runtime
        .block_on(bare.prepare("SELECT next_head, event_bytes FROM bench_hydrate.checkpoint_chain WHERE workflow_id = $1 ORDER BY sequence"))
        .expect("a statement");
    let figures = alternate(
        size.pick(7, 1),
        &mut [
            ("bare scan, hash, parse", &mut || {
                let rows = runtime
                    .block_on(bare.query(&scan, &[&workflow().as_str()]))
                    .expect("rows");
                let mut head = ChainHead::GENESIS;
                let events: Vec<TransitionEvent<VulnState>> = rows
                    .iter()
                    .map(|row| {
                        let bytes: &[u8] = row.get(1);
                        head = link(&head, bytes);
                        assert_eq!(head.as_bytes().as_slice(), row.get::<_, &[u8]>(0));
                        TransitionEvent::parse(bytes).expect("an event")
                    })
                    .collect();
                assert_eq!(events.len(), rows.len());
            }),
            ("hydrate_or_fail on piton-postgres", &mut || {
                let result = runtime.block_on(hydrate_or_fail::<VulnState, _>(&store, &workflow()));
                let HydrationResult::Hydrated(hydrated) = result.expect("readable") else {
                    panic!("not intact")
                };
                assert_eq!(hydrated.events.len(), rows);
            }),
        ],
    );
    print_table(
        &format!("Hydration of {rows} rows of 533 bytes on Postgres"),
        &figures,
        count,
        "row",
    );
}
