//! Servers that die under load: nothing acknowledged is lost, every chain verifies, and pins never
//! lead.

mod cluster;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::Server;
use piton_ledger::{VulnState, WorkflowId};
use piton_postgres::{PostgresOptions, PostgresStore};
use piton_store::{AppendStatus, Appended, CheckpointStore, ExpectedHead, Tail};
use piton_testkit::history::{nth, workflow};
use piton_testkit::run;
use piton_verify::{AuditVerdict, Expectations, PinStatus, ReplayVerifier};

const WORKFLOWS: usize = 4;
const ROUNDS: u32 = 3;

/// What one workflow's writer was told.
struct Writer {
    workflow: WorkflowId,
    acknowledged: Mutex<Vec<Appended>>,
}

fn writers() -> Vec<Arc<Writer>> {
    (0..WORKFLOWS)
        .map(|number| {
            Arc::new(Writer {
                workflow: workflow(&format!("w{number}")),
                acknowledged: Mutex::default(),
            })
        })
        .collect()
}

fn store(server: &Server) -> PostgresStore {
    let options = PostgresOptions {
        busy_timeout: Duration::from_millis(500),
        ..PostgresOptions::default()
    };
    PostgresStore::with_options(&server.url(), options).expect("a URL")
}

impl Writer {
    fn count(&self) -> u32 {
        u32::try_from(self.acknowledged.lock().expect("no writer panics").len()).expect("small")
    }

    /// Appends until the server is gone.
    async fn append_until_failure(&self, store: &PostgresStore, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            let event = nth(&self.workflow, self.count() + 1);
            match store.append(&event, ExpectedHead::Any).await {
                Ok(appended) => self
                    .acknowledged
                    .lock()
                    .expect("no writer panics")
                    .push(appended),
                Err(_) => return,
            }
        }
    }

    /// Every acknowledged row is there with its head, and at most the one that was on its way
    /// stands behind it.
    async fn assert_nothing_is_lost(&self, store: &PostgresStore) {
        let acknowledged = self.acknowledged.lock().expect("no writer panics").clone();
        let expected = acknowledged.last().map(|appended| Tail::At {
            sequence: appended.sequence,
            head: appended.head,
        });
        let verifier = ReplayVerifier::new(store);
        let checked = verifier
            .audit::<VulnState>(
                &self.workflow,
                Expectations {
                    expected,
                    ..Expectations::default()
                },
                |_| (),
            )
            .await
            .expect("the chain can be checked");
        match (checked.verdict, expected) {
            (AuditVerdict::Verified { rows, .. }, _) => {
                assert_eq!(checked.pin, PinStatus::Matched);
                let surplus = rows.to_u64() - u64::from(self.count());
                assert!(surplus <= 1, "{surplus} rows that nobody was told of");
            }
            (AuditVerdict::EmptyWorkflow { .. }, None) => {}
            (verdict, _) => panic!("acknowledged work is lost: {verdict:?}"),
        }
    }
}

/// Runs all writers until the server has been killed under them.
async fn write_until_killed(writers: &[Arc<Writer>], server: &mut Server) {
    let store = Arc::new(store(server));
    let stop = Arc::new(AtomicBool::new(false));
    let goals: Vec<u32> = writers.iter().map(|writer| writer.count() + 20).collect();
    let tasks: Vec<_> = writers
        .iter()
        .map(|writer| {
            let (writer, store, stop) = (Arc::clone(writer), Arc::clone(&store), Arc::clone(&stop));
            tokio::spawn(async move { writer.append_until_failure(&store, &stop).await })
        })
        .collect();
    while writers
        .iter()
        .zip(&goals)
        .any(|(writer, goal)| writer.count() < *goal)
    {
        tokio::task::yield_now().await;
    }
    server.kill();
    stop.store(true, Ordering::Release);
    for task in tasks {
        task.await.expect("no writer panics");
    }
}

#[test]
fn a_server_killed_under_load_loses_nothing() {
    run(async {
        let mut server = Server::start();
        let writers = writers();
        store(&server).migrate().await.expect("a schema");
        for _ in 0..ROUNDS {
            write_until_killed(&writers, &mut server).await;
            server.restart();
            let store = store(&server);
            for writer in &writers {
                writer.assert_nothing_is_lost(&store).await;
                // Whether the event on its way arrived or not, its retry is recorded once.
                let retry = nth(&writer.workflow, writer.count() + 1);
                let appended = store
                    .append(&retry, ExpectedHead::Any)
                    .await
                    .expect("a retry");
                assert_eq!(appended.sequence.to_u64(), u64::from(writer.count()) + 1);
                writer
                    .acknowledged
                    .lock()
                    .expect("no writer panics")
                    .push(appended);
                let again = store
                    .append(&retry, ExpectedHead::Any)
                    .await
                    .expect("a retry");
                assert_eq!(
                    (again.status, again.head),
                    (AppendStatus::AlreadyPresent, appended.head)
                );
            }
        }
        for writer in &writers {
            assert!(writer.count() >= 20 * ROUNDS, "the load was no load");
        }
    });
}

#[test]
fn a_promoted_synchronous_standby_lacks_nothing() {
    run(async {
        let mut primary = Server::start();
        let writers = writers();
        store(&primary).migrate().await.expect("a schema");
        let standby = primary.start_synchronous_standby();
        write_until_killed(&writers, &mut primary).await;
        standby.promote();
        let store = store(&standby);
        for writer in &writers {
            writer.assert_nothing_is_lost(&store).await;
            let next = nth(&writer.workflow, writer.count() + 1);
            store
                .append(&next, ExpectedHead::Any)
                .await
                .expect("the new primary takes appends");
        }
    });
}
