//! The pool of connections under calls that wait, give up, and close the store.
//!
//! The law: never more connections are open than there is room for, nobody waits for ever while
//! room comes free, a call that is dropped takes no room with it, and a closed pool keeps nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use piton_ledger::WorkflowId;
use shuttle::future;
use shuttle::thread;

use super::explore;
use crate::pool::{Checkout, Kept, Permit, Pool};

const ROOM: usize = 2;
const PATIENCE: Duration = Duration::from_secs(3600);

/// Counts the connections that are open.
#[derive(Debug, Default)]
struct Open(AtomicUsize);

/// Stands for a connection.
#[derive(Debug)]
struct Connection {
    permit: Option<Permit>,
    open: Arc<Open>,
}

impl Connection {
    fn new(permit: Permit, open: &Arc<Open>) -> Box<Self> {
        let before = open.0.fetch_add(1, Ordering::SeqCst);
        assert!(before < ROOM, "more connections than there is room for");
        Box::new(Self {
            permit: Some(permit),
            open: Arc::clone(open),
        })
    }
}

impl Kept for Connection {
    async fn make_room(mut self: Box<Self>) -> Option<Permit> {
        future::yield_now().await;
        self.permit.take()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.open.0.fetch_sub(1, Ordering::SeqCst);
    }
}

type Connections = Pool<Connection>;

fn workflow(number: usize) -> WorkflowId {
    format!("w{number}").parse().expect("a workflow id")
}

/// One call: takes a connection, works, and keeps it or, as after a fault, closes it.
async fn call(pool: &Connections, open: &Arc<Open>, number: usize, ends_well: bool) {
    let workflow = workflow(number);
    let connection = match pool.checkout(&workflow, PATIENCE).await {
        Checkout::Kept(connection) => connection,
        Checkout::Vacant(permit) => Connection::new(permit, open),
        Checkout::Exhausted => panic!("patience does not end here"),
    };
    future::yield_now().await;
    if ends_well {
        pool.put_back(&workflow, connection);
    }
}

/// Closes everything that is idle, as a store does, and counts it.
fn drain(pool: &Connections) -> usize {
    std::iter::from_fn(|| pool.take_any()).count()
}

#[test]
fn more_workflows_than_room_are_all_served() {
    explore(|| {
        let pool = Arc::new(Connections::new(ROOM));
        let open = Arc::new(Open::default());
        let callers: Vec<_> = (0..4)
            .map(|number| {
                let (pool, open) = (pool.clone(), open.clone());
                future::spawn(async move {
                    for round in 0..2 {
                        call(&pool, &open, number, (number + round) % 3 != 0).await;
                    }
                })
            })
            .collect();
        for caller in callers {
            future::block_on(caller).expect("the call ends");
        }
        assert_eq!(open.0.load(Ordering::SeqCst), drain(&pool), "one is lost");
        assert_eq!(open.0.load(Ordering::SeqCst), 0);
        assert_room(&pool, &open);
    });
}

/// Fresh calls find all the room there is, so no permit has been lost; and what they give back is
/// kept, so no one is thought to wait.
fn assert_room(pool: &Connections, open: &Arc<Open>) {
    let all: Vec<_> = (10..10 + ROOM)
        .map(|number| {
            let found = future::block_on(pool.checkout(&workflow(number), PATIENCE));
            match found {
                Checkout::Vacant(permit) => (number, Connection::new(permit, open)),
                Checkout::Kept(_) | Checkout::Exhausted => panic!("no room"),
            }
        })
        .collect();
    for (number, connection) in all {
        pool.put_back(&workflow(number), connection);
        assert!(pool.holds(&workflow(number)), "somebody is thought to wait");
    }
    assert_eq!(drain(pool), ROOM);
}

#[test]
fn a_call_that_is_dropped_takes_no_room_with_it() {
    explore(|| {
        let pool = Arc::new(Connections::new(ROOM));
        let open = Arc::new(Open::default());
        let callers: Vec<_> = (0..5)
            .map(|number| {
                let (pool, open) = (pool.clone(), open.clone());
                future::spawn(async move { call(&pool, &open, number, true).await })
            })
            .collect();
        thread::yield_now();
        for (number, caller) in callers.into_iter().enumerate() {
            if number % 2 == 0 {
                caller.abort();
                // Whether it had ended before is a matter of the interleaving.
                drop(future::block_on(caller));
            } else {
                future::block_on(caller).expect("the call ends");
            }
        }
        drain(&pool);
        assert_eq!(open.0.load(Ordering::SeqCst), 0);
        assert_room(&pool, &open);
    });
}

#[test]
fn a_closed_pool_keeps_nothing() {
    explore(|| {
        let pool = Arc::new(Connections::new(ROOM));
        let open = Arc::new(Open::default());
        let callers: Vec<_> = (0..3)
            .map(|number| {
                let (pool, open) = (pool.clone(), open.clone());
                future::spawn(async move { call(&pool, &open, number, true).await })
            })
            .collect();
        pool.close();
        drain(&pool);
        for caller in callers {
            future::block_on(caller).expect("the call ends");
        }
        assert!(pool.take_any().is_none(), "kept after closing");
        assert_eq!(open.0.load(Ordering::SeqCst), 0);
    });
}
