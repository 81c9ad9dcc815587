//! Hydration of a long chain against a bare scan, hash and parse; and the memory that an audit
//! of a million rows takes.

use std::path::Path;
use std::process::Command;

use piton_benches::{
    OUTCOME, Size, alternate, bulk_ledger, event, print_table, runtime, scan_hash_parse, workflow,
};
use piton_chain::link;
use piton_ledger::{CanonicalJson, ChainHead, VulnState};
use piton_sqlite::SqliteStore;
use piton_verify::{AuditVerdict, Expectations, HydrationResult, ReplayVerifier, hydrate_or_fail};

const AUDIT_ROOT: &str = "PITON_BENCH_AUDIT_ROOT";

fn main() {
    if let Some(root) = std::env::var_os(AUDIT_ROOT) {
        let rows = audit(Path::new(&root));
        println!("{rows} {}", peak_resident_kib());
        return;
    }
    let size = Size::from_args();
    let rows = size.pick(100_000, 100);
    let count = u32::try_from(rows).expect("small");
    let directory = tempfile::tempdir().expect("a directory");
    bulk_ledger(directory.path(), u64::from(count));
    let database = directory
        .path()
        .join(workflow().as_str())
        .join("checkpoints.sqlite");
    let outcome = CanonicalJson::parse(OUTCOME.as_bytes()).expect("JSON");
    let texts: Vec<String> = (0..u64::from(count))
        .map(|number| event(number, &outcome).to_canonical_json())
        .collect();
    let runtime = runtime();
    let store = SqliteStore::open(directory.path()).expect("a store");
    let mut figures = alternate(
        size.pick(9, 1),
        &mut [
            ("bare rusqlite scan, hash, parse, one thread", &mut || {
                assert_eq!(scan_hash_parse(&database).len(), rows);
            }),
            ("hydrate_or_fail on piton-sqlite", &mut || {
                let result = runtime.block_on(hydrate_or_fail::<VulnState, _>(&store, &workflow()));
                let HydrationResult::Hydrated(hydrated) = result.expect("readable") else {
                    panic!("not intact")
                };
                assert_eq!(hydrated.events.len(), rows);
            }),
            ("audit on piton-sqlite, no events kept", &mut || {
                assert_eq!(audit(directory.path()), u64::from(count));
            }),
            ("BLAKE3 links alone, the events in memory", &mut || {
                let tail = texts.iter().fold(ChainHead::GENESIS, |head, text| {
                    link(&head, text.as_bytes())
                });
                assert_ne!(tail, ChainHead::GENESIS);
            }),
        ],
    );
    let links = figures.pop().expect("four figures");
    let audited = *figures.last().expect("three figures");
    print_table(
        &format!("Hydration of {rows} rows of 533 bytes"),
        &figures,
        count,
        "row",
    );
    print_table(
        &format!("Verification of {rows} rows of 533 bytes"),
        &[links, audited],
        count,
        "row",
    );

    let many = size.pick(1_000_000, 1_000);
    let directory = tempfile::tempdir().expect("a directory");
    bulk_ledger(directory.path(), u64::try_from(many).expect("small"));
    let output = Command::new(std::env::current_exe().expect("this program"))
        .env(AUDIT_ROOT, directory.path())
        .output()
        .expect("a child process");
    let answer = String::from_utf8_lossy(&output.stdout);
    let peak = answer
        .split_whitespace()
        .nth(1)
        .and_then(|peak| peak.parse::<u64>().ok())
        .expect("a figure");
    println!(
        "\nAudit of {many} rows: {:.1} MiB peak resident memory of the whole process",
        to_mib(peak)
    );
}

fn audit(root: &Path) -> u64 {
    let store = SqliteStore::open(root).expect("a store");
    let verifier = ReplayVerifier::new(&store);
    let workflow = workflow();
    let audit = verifier.audit::<VulnState>(&workflow, Expectations::default(), |_| ());
    match runtime().block_on(audit).expect("readable").verdict {
        AuditVerdict::Verified { rows, .. } => rows.to_u64(),
        other @ (AuditVerdict::ChainMismatch(_)
        | AuditVerdict::TornWrite(_)
        | AuditVerdict::EmptyWorkflow { .. }) => {
            panic!("not intact: {other:?}")
        }
    }
}

fn peak_resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux process");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("a peak");
    line.trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("a number")
}

fn to_mib(kib: u64) -> f64 {
    f64::from(u32::try_from(kib).expect("small")) / 1024.0
}
