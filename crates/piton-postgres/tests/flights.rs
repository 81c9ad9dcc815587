//! Owns the count of round trips: an append that nobody contends is one.

mod support;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use piton_ledger::WorkflowId;
use piton_postgres::PostgresStore;
use piton_store::{
    AppendLock, AppendStatus, CheckpointStore, CheckpointStoreExt, ExpectedHead, StoreError,
};
use piton_testkit::history::{first, nth, workflow};
use piton_testkit::observe::append_all;
use piton_testkit::run;
use support::Place;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

/// How long an answer is underway, so that all that is sent without one is seen to be.
const LATENCY: Duration = Duration::from_millis(15);

/// A relay that counts how often a client speaks after it has heard the server.
struct Relay {
    url: String,
    flights: Arc<AtomicUsize>,
}

impl Relay {
    async fn before(url: &str) -> Self {
        let (scheme_and_user, place) = url.rsplit_once('@').expect("the URL names a user");
        let (server, rest) = place.split_once('/').expect("the URL names a database");
        let server = server.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let flights = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&flights);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.expect("the server");
                tokio::spawn(relay(client, server, Arc::clone(&counter)));
            }
        });
        Self {
            url: format!("{scheme_and_user}@127.0.0.1:{port}/{rest}"),
            flights,
        }
    }

    fn store(&self, place: &Place) -> PostgresStore {
        PostgresStore::with_options(&self.url, place.options.clone()).expect("a well-formed URL")
    }

    fn taken(&self) -> usize {
        self.flights.swap(0, Ordering::SeqCst)
    }
}

async fn relay(mut client: TcpStream, mut server: TcpStream, flights: Arc<AtomicUsize>) {
    let (mut from_client, mut from_server) = ([0; 4096], [0; 4096]);
    // What the server said and the client has not heard yet; the way is long.
    let mut underway: Vec<u8> = Vec::new();
    let mut arrival = pin!(sleep(LATENCY));
    let mut client_heard = true;
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let Ok(length @ 1..) = read else { return };
                if std::mem::take(&mut client_heard) {
                    flights.fetch_add(1, Ordering::SeqCst);
                }
                if server.write_all(&from_client[..length]).await.is_err() { return }
            }
            read = server.read(&mut from_server) => {
                let Ok(length @ 1..) = read else { return };
                underway.extend_from_slice(&from_server[..length]);
                arrival.as_mut().reset(Instant::now() + LATENCY);
            }
            () = &mut arrival, if !underway.is_empty() => {
                client_heard = true;
                if client.write_all(&underway).await.is_err() { return }
                underway.clear();
            }
        }
    }
}

async fn append_once(store: &PostgresStore, workflow: &WorkflowId, n: u32) {
    let answer = store.append(&nth(workflow, n), ExpectedHead::Any).await;
    assert_eq!(answer.expect("an append").status, AppendStatus::Appended);
}

async fn check_appends(place: Place) {
    let relay = Relay::before(&place.url).await;
    let store = relay.store(&place);
    let workflow = workflow("counted");
    // The first appends connect, prepare and learn the tail.
    append_all(&store, &first(&workflow, 2)).await;
    relay.taken();
    for n in 3..10 {
        append_once(&store, &workflow, n).await;
        assert_eq!(relay.taken(), 1, "append {n}");
    }
    let mut head = store.tail_chain_head(&workflow).await.expect("a head");
    let other = relay.store(&place);
    other.tail_chain_head(&workflow).await.expect("a head");
    other
        .append(&nth(&workflow, 10), ExpectedHead::Exactly(head))
        .await
        .expect("an append");
    head = store.tail_chain_head(&workflow).await.expect("a head");
    relay.taken();
    // Whoever says which head it expects needs no memory of the tail: the second handle knows
    // nothing of what the first one wrote.
    let answer = store
        .append(&nth(&workflow, 11), ExpectedHead::Exactly(head))
        .await
        .expect("an append");
    assert_eq!(answer.sequence.to_u64(), 11);
    assert_eq!(relay.taken(), 1, "an append after a stated head");
    // A refusal and a retry look once more.
    let stale = store
        .append(&nth(&workflow, 12), ExpectedHead::Exactly(head))
        .await;
    assert!(
        matches!(stale, Err(StoreError::StaleHead { .. })),
        "{stale:?}"
    );
    assert_eq!(relay.taken(), 2, "a stale append");
}

async fn check_locked_appends(place: Place) {
    let relay = Relay::before(&place.url).await;
    let store = relay.store(&place);
    let workflow = workflow("counted-under-lock");
    let mut lock = store.lock(&workflow).await.expect("the lock is free");
    for n in 1..=2 {
        lock.append(&nth(&workflow, n), ExpectedHead::Any)
            .await
            .expect("the holder may append");
    }
    relay.taken();
    for n in 3..8 {
        lock.append(&nth(&workflow, n), ExpectedHead::Any)
            .await
            .expect("the holder may append");
        assert_eq!(relay.taken(), 1, "append {n} and its commit");
    }
    lock.release().await.expect("a lock can be released");
    assert_eq!(store.collect_rows(&workflow).await.expect("rows").len(), 7);
}

#[test]
fn direct_append_is_one_flight() {
    run(async { check_appends(Place::direct().await).await });
}

#[test]
fn pooled_append_is_one_flight() {
    run(async { check_appends(Place::pooled().await).await });
}

#[test]
fn direct_append_under_a_lock_is_one_flight() {
    run(async { check_locked_appends(Place::direct().await).await });
}

#[test]
fn pooled_append_under_a_lock_is_one_flight() {
    run(async { check_locked_appends(Place::pooled().await).await });
}
