//! Owns the order of this store's own writers to one workflow, and what they know of its tail.
//! Other processes are kept out by the server alone.

use std::num::NonZeroUsize;
#[cfg(not(test))]
use std::sync::Mutex;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use lru::LruCache;
use piton_ledger::{ChainHead, WorkflowId};
// Tests run under a scheduler that tries interleavings.
#[cfg(test)]
use shuttle::sync::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio::time::timeout;

/// How many workflows are remembered; a forgotten one costs a read of its tail.
const REMEMBERED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4095);

/// The head that the tail most likely has; the server has the last word.
pub(crate) type Guess = Option<ChainHead>;

/// The turn of one writer.
pub(crate) type Turn = OwnedMutexGuard<Guess>;

/// The writers' queues, by workflow.
pub(crate) struct Queue(Mutex<LruCache<WorkflowId, Arc<AsyncMutex<Guess>>>>);

impl Queue {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LruCache::new(REMEMBERED)))
    }

    /// Waits for the turn of a writer; none when it did not come in time.
    pub(crate) async fn turn(&self, workflow: &WorkflowId, patience: Duration) -> Option<Turn> {
        timeout(patience, self.of(workflow).lock_owned()).await.ok()
    }

    /// Takes the turn if nobody has it.
    pub(crate) fn turn_now(&self, workflow: &WorkflowId) -> Option<Turn> {
        self.of(workflow).try_lock_owned().ok()
    }

    fn of(&self, workflow: &WorkflowId) -> Arc<AsyncMutex<Guess>> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(queues.get_or_insert_ref(workflow, Arc::default))
    }
}

#[cfg(test)]
mod model {
    //! Writers that come and go at one queue: turns never overlap, each writer that stays gets
    //! one, and what a turn leaves is what the next one finds.

    use std::sync::atomic::{AtomicUsize, Ordering};

    use shuttle::future::{block_on, spawn, yield_now};
    use shuttle::thread;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(3600);
    const INTERLEAVINGS: usize = 1000;

    fn workflow(number: usize) -> WorkflowId {
        format!("w{number}").parse().expect("a workflow id")
    }

    fn explore(scenario: impl Fn() + Send + Sync + 'static) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        // Time-outs ask for a clock; nobody drives this one.
        let _clock = runtime.enter();
        let scheduler = shuttle::scheduler::RandomScheduler::new_from_seed(3, INTERLEAVINGS);
        shuttle::Runner::new(scheduler, shuttle::Config::new()).run(scenario);
    }

    /// One turn: nobody else has it, and the guess counts the turns before it.
    async fn write(queue: &Queue, number: usize, writers: &AtomicUsize, turns: &AtomicUsize) {
        let turn = queue.turn(&workflow(number), PATIENCE).await;
        let mut turn = turn.expect("patience does not end here");
        assert_eq!(
            writers.fetch_add(1, Ordering::SeqCst),
            0,
            "two have the turn"
        );
        let before = turns.load(Ordering::SeqCst);
        let left = turn.map_or(0, |head| usize::from(head.as_bytes()[0]));
        assert_eq!(left, before, "what the turn before left");
        yield_now().await;
        let next = u8::try_from(before + 1).expect("few turns");
        *turn = Some(ChainHead::from_bytes([next; 32]));
        turns.store(before + 1, Ordering::SeqCst);
        writers.fetch_sub(1, Ordering::SeqCst);
    }

    #[test]
    fn turns_of_one_workflow_follow_each_other() {
        explore(|| {
            let queue = Arc::new(Queue::new());
            let counts: Arc<[[AtomicUsize; 2]; 2]> = Arc::default();
            let writers: Vec<_> = (0..4)
                .map(|number| {
                    let (queue, counts) = (Arc::clone(&queue), Arc::clone(&counts));
                    spawn(async move {
                        let [writers, turns] = &counts[number % 2];
                        write(&queue, number % 2, writers, turns).await;
                    })
                })
                .collect();
            for writer in writers {
                block_on(writer).expect("it gets its turn");
            }
            for [_, turns] in counts.iter() {
                assert_eq!(turns.load(Ordering::SeqCst), 2);
            }
        });
    }

    #[test]
    fn a_writer_that_goes_leaves_the_queue_to_the_next() {
        explore(|| {
            let queue = Arc::new(Queue::new());
            let held = queue.turn_now(&workflow(0)).expect("a fresh queue is free");
            let writers = [(); 3].map(|()| {
                let queue = Arc::clone(&queue);
                spawn(async move { queue.turn(&workflow(0), PATIENCE).await.is_some() })
            });
            thread::yield_now();
            let [first, second, third] = writers;
            first.abort();
            drop(held);
            third.abort();
            assert!(block_on(second).expect("it stays"));
            for gone in [first, third] {
                drop(block_on(gone));
            }
            assert!(queue.turn_now(&workflow(0)).is_some(), "a turn was lost");
        });
    }
}
