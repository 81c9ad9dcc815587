//! Owns one read of one chain: a thread reads ahead from one snapshot while the caller works. It
//! judges no row.

use std::fmt;
use std::sync::{Arc, mpsc as blocking};
use std::time::Duration;

use piton_ledger::WorkflowId;
use piton_store::{MappedChain, PersistedChain, PersistedRow, StoreError, Stored};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use crate::error::Call;
use crate::reader::Reader;
use crate::row;
use crate::scan::{self, ScanError};

/// How many batches wait for the caller.
const READ_AHEAD: usize = 2;
/// How long a dropped read waits for its connection's close.
const CLOSE_PATIENCE: Duration = Duration::from_millis(200);

/// One read of one chain from one snapshot.
///
/// Memory is bounded by a few batches, however long the chain. Dropping it ends the read, and waits
/// a moment for the close of the connection, so that what SQLite made in passing is gone.
pub struct SqliteChain {
    /// Until the first row is asked for.
    idle: Option<Idle>,
    reading: Reading<Vec<PersistedRow>>,
}

/// A thread that has the snapshot and has not been told what to make of the rows.
struct Idle {
    orders: blocking::Sender<Order>,
    closed: Closed,
}

/// What is to be made of a batch.
type Map<T> = Arc<dyn Fn(Vec<PersistedRow>) -> T + Send + Sync>;

/// What the thread runs.
type Order = Box<dyn FnOnce(&Runtime, Reader) + Send>;

/// A read whose thread sends what it made of each batch; without a thread there are no rows.
struct Reading<T> {
    origin: Origin,
    progress: Progress,
    thread: Option<Thread<T>>,
}

/// Where the errors of a read come from.
struct Origin {
    workflow: WorkflowId,
    busy_timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Reading,
    Ended,
    Failed,
}

/// The ends of the channels to a thread: dropped one after the other, so that it ends and is then
/// waited for.
struct Thread<T> {
    batches: mpsc::Receiver<Batch<T>>,
    map: Map<T>,
    /// Rows whose memory the thread may fill anew.
    used: mpsc::Sender<Vec<PersistedRow>>,
    questions: mpsc::Sender<Question>,
    _closed: Closed,
}

/// Ends without a message, when the thread does.
struct Closed(blocking::Receiver<()>);

impl Drop for Closed {
    fn drop(&mut self) {
        self.0.recv_timeout(CLOSE_PATIENCE).ok();
    }
}

/// What the thread sends. The end is said in so many words: a thread that dies must not look like
/// a chain that ends.
enum Batch<T> {
    Rows(Vec<PersistedRow>),
    /// What was made of rows.
    Made(T),
    End,
    Failed(ScanError),
}

struct Question {
    next_head: Stored,
    answer: oneshot::Sender<Result<u64, ScanError>>,
}

impl Origin {
    fn call(&self) -> Call<'_> {
        Call {
            action: "reading the chain",
            workflow: &self.workflow,
            busy_timeout: self.busy_timeout,
        }
    }

    fn thread_died(&self) -> StoreError {
        self.call().unexpected("the thread that reads has died")
    }
}

impl fmt::Debug for SqliteChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqliteChain({})", self.reading.origin.workflow)
    }
}

impl SqliteChain {
    /// Makes the read of a snapshot; without a reader there are no rows.
    pub(crate) fn new(reader: Option<Reader>, call: &Call<'_>) -> Result<Self, StoreError> {
        let idle = reader.map(Idle::spawn).transpose();
        let idle = idle.map_err(|error| call.io(error))?;
        Ok(Self {
            reading: Reading {
                origin: Origin {
                    workflow: call.workflow.clone(),
                    busy_timeout: call.busy_timeout,
                },
                progress: match idle {
                    Some(_) => Progress::Reading,
                    None => Progress::Ended,
                },
                thread: None,
            },
            idle,
        })
    }
}

impl PersistedChain for SqliteChain {
    async fn next_rows(&mut self) -> Result<Vec<PersistedRow>, StoreError> {
        if let Some(idle) = self.idle.take() {
            self.reading.thread = Some(idle.begin(|rows| rows));
        }
        Ok(self.reading.next_batch().await?.unwrap_or_default())
    }

    fn recycle(&mut self, rows: Vec<PersistedRow>) {
        self.reading.recycle(rows);
    }

    fn map_batches<T: Send + 'static>(
        self,
        map: impl Fn(Vec<PersistedRow>) -> T + Send + Sync + 'static,
    ) -> impl MappedChain<T> {
        let Self { idle, reading } = self;
        match idle {
            Some(idle) => Mapped::Ahead(Reading {
                origin: reading.origin,
                progress: reading.progress,
                thread: Some(idle.begin(map)),
            }),
            None => Mapped::Here { reading, map },
        }
    }

    async fn count_next_head(&mut self, next_head: &Stored) -> Result<u64, StoreError> {
        self.reading.count_next_head(next_head).await
    }
}

/// A read that is mapped by its thread, or, once rows have been asked for, by the caller's.
enum Mapped<T, F> {
    Ahead(Reading<T>),
    Here {
        reading: Reading<Vec<PersistedRow>>,
        map: F,
    },
}

impl<T, F> MappedChain<T> for Mapped<T, F>
where
    T: Send + 'static,
    F: Fn(Vec<PersistedRow>) -> T + Send + Sync + 'static,
{
    async fn next_batch(&mut self) -> Result<Option<T>, StoreError> {
        match self {
            Self::Ahead(reading) => reading.next_batch().await,
            Self::Here { reading, map } => Ok(reading.next_batch().await?.map(map)),
        }
    }

    fn recycle(&mut self, rows: Vec<PersistedRow>) {
        match self {
            Self::Ahead(reading) => reading.recycle(rows),
            Self::Here { reading, .. } => reading.recycle(rows),
        }
    }

    async fn count_next_head(&mut self, next_head: &Stored) -> Result<u64, StoreError> {
        match self {
            Self::Ahead(reading) => reading.count_next_head(next_head).await,
            Self::Here { reading, .. } => reading.count_next_head(next_head).await,
        }
    }
}

impl<T> Reading<T> {
    async fn next_batch(&mut self) -> Result<Option<T>, StoreError> {
        let Some(thread) = &mut self.thread else {
            return Ok(None);
        };
        match self.progress {
            Progress::Reading => {}
            Progress::Ended => return Ok(None),
            Progress::Failed => {
                let call = self.origin.call();
                return Err(call.unexpected("the read is over, it has failed"));
            }
        }
        let batch = thread.batches.recv().await;
        match batch {
            Some(Batch::Rows(rows)) => Ok(Some((thread.map)(rows))),
            Some(Batch::Made(made)) => Ok(Some(made)),
            Some(Batch::End) => {
                self.progress = Progress::Ended;
                Ok(None)
            }
            Some(Batch::Failed(error)) => {
                self.progress = Progress::Failed;
                Err(self.origin.call().scan(error))
            }
            None => {
                self.progress = Progress::Failed;
                Err(self.origin.thread_died())
            }
        }
    }

    fn recycle(&self, rows: Vec<PersistedRow>) {
        if let Some(thread) = &self.thread {
            // More than the thread can use, or after its end: they are just dropped.
            thread.used.try_send(rows).ok();
        }
    }

    async fn count_next_head(&mut self, next_head: &Stored) -> Result<u64, StoreError> {
        if self.progress != Progress::Ended {
            let call = self.origin.call();
            return Err(call.unexpected("rows are counted only after the last one was read"));
        }
        let Some(thread) = &self.thread else {
            return Ok(0);
        };
        let (answer, count) = oneshot::channel();
        let question = Question {
            next_head: next_head.clone(),
            answer,
        };
        let asked = thread.questions.send(question).await.is_ok();
        match count.await {
            Ok(count) if asked => count.map_err(|error| self.origin.call().scan(error)),
            Ok(_) | Err(_) => Err(self.origin.thread_died()),
        }
    }
}

impl Idle {
    fn spawn(reader: Reader) -> std::io::Result<Self> {
        let (orders, order) = blocking::channel::<Order>();
        let (closing, closed) = blocking::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        std::thread::Builder::new()
            .name("piton-chain".to_owned())
            .spawn(move || {
                match order.recv() {
                    Ok(order) => order(&runtime, reader),
                    // The read was dropped before a row was asked for.
                    Err(_) => runtime.block_on(reader.close()),
                }
                drop(closing);
            })?;
        Ok(Self {
            orders,
            closed: Closed(closed),
        })
    }

    /// Lets the thread read, and do a part of what `map` has to do.
    fn begin<T: Send + 'static>(
        self,
        map: impl Fn(Vec<PersistedRow>) -> T + Send + Sync + 'static,
    ) -> Thread<T> {
        let (sender, batches) = mpsc::channel(READ_AHEAD);
        let (used, recycled) = mpsc::channel(READ_AHEAD);
        let (questions, asked) = mpsc::channel(1);
        let map: Map<T> = Arc::new(map);
        let own = Arc::clone(&map);
        let order: Order = Box::new(move |runtime, reader| {
            runtime.block_on(serve(reader, &*own, sender, recycled, asked));
        });
        // A thread that has died is noticed by whoever waits for its batches.
        self.orders.send(order).ok();
        Thread {
            batches,
            map,
            used,
            questions,
            _closed: self.closed,
        }
    }
}

/// Reads everything, then answers questions for as long as there may be any.
async fn serve<T>(
    mut reader: Reader,
    map: &(dyn Fn(Vec<PersistedRow>) -> T + Send + Sync),
    batches: mpsc::Sender<Batch<T>>,
    mut recycled: mpsc::Receiver<Vec<PersistedRow>>,
    mut questions: mpsc::Receiver<Question>,
) {
    let table = reader.layout.table;
    let outcome = match row::statements(table) {
        Some(statements) => {
            scan::scan(&mut reader.connection, statements.all, async |rows| {
                match batches.try_send(Batch::Rows(rows)) {
                    Ok(()) => {}
                    // The caller is behind, so its next batch is made here.
                    Err(TrySendError::Full(Batch::Rows(rows))) => {
                        batches.send(Batch::Made(map(rows))).await.ok()?;
                    }
                    Err(_) => return None,
                }
                Some(recycled.try_recv().unwrap_or_default())
            })
            .await
        }
        None => Ok(()),
    };
    let last = match outcome {
        Ok(()) => Batch::End,
        Err(error) => Batch::Failed(error),
    };
    batches.send(last).await.ok();
    while let Some(question) = questions.recv().await {
        let count = match row::statements(table) {
            Some(_) => scan::count(&mut reader.connection, &question.next_head).await,
            None => Ok(0),
        };
        question.answer.send(count).ok();
    }
    reader.close().await;
}
