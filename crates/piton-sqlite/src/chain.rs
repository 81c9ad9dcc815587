//! Owns one read of one chain: a thread reads ahead from one snapshot while the caller works. It
//! judges no row.

use std::sync::mpsc as blocking;
use std::time::Duration;

use piton_ledger::WorkflowId;
use piton_store::{PersistedChain, PersistedRow, StoreError, Stored};
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
#[derive(Debug)]
pub struct SqliteChain {
    workflow: WorkflowId,
    busy_timeout: Duration,
    progress: Progress,
    thread: Option<Thread>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Reading,
    Ended,
    Failed,
}

#[derive(Debug)]
struct Thread {
    batches: mpsc::Receiver<Batch>,
    /// Rows whose memory the thread may fill anew.
    used: mpsc::Sender<Vec<PersistedRow>>,
    questions: mpsc::Sender<Question>,
    closed: blocking::Receiver<()>,
}

/// What the thread sends. The end is said in so many words: a thread that dies must not look like
/// a chain that ends.
#[derive(Debug)]
enum Batch {
    Rows(Vec<PersistedRow>),
    End,
    Failed(ScanError),
}

#[derive(Debug)]
struct Question {
    next_head: Stored,
    answer: oneshot::Sender<Result<u64, ScanError>>,
}

impl SqliteChain {
    /// Starts to read; without a reader there are no rows.
    pub(crate) fn start(reader: Option<Reader>, call: &Call<'_>) -> Result<Self, StoreError> {
        let thread = reader
            .map(Thread::spawn)
            .transpose()
            .map_err(|error| call.io(error))?;
        Ok(Self {
            workflow: call.workflow.clone(),
            busy_timeout: call.busy_timeout,
            progress: match thread {
                Some(_) => Progress::Reading,
                None => Progress::Ended,
            },
            thread,
        })
    }

    fn call(&self) -> Call<'_> {
        Call {
            action: "reading the chain",
            workflow: &self.workflow,
            busy_timeout: self.busy_timeout,
        }
    }
}

impl PersistedChain for SqliteChain {
    async fn next_rows(&mut self) -> Result<Vec<PersistedRow>, StoreError> {
        let Some(thread) = &mut self.thread else {
            return Ok(Vec::new());
        };
        match self.progress {
            Progress::Reading => {}
            Progress::Ended => return Ok(Vec::new()),
            Progress::Failed => {
                return Err(self.call().unexpected("the read is over, it has failed"));
            }
        }
        let batch = thread.batches.recv().await;
        match batch {
            Some(Batch::Rows(rows)) => Ok(rows),
            Some(Batch::End) => {
                self.progress = Progress::Ended;
                Ok(Vec::new())
            }
            Some(Batch::Failed(error)) => {
                self.progress = Progress::Failed;
                Err(self.call().scan(error))
            }
            None => {
                self.progress = Progress::Failed;
                Err(self.call().unexpected("the thread that reads has died"))
            }
        }
    }

    fn recycle(&mut self, rows: Vec<PersistedRow>) {
        if let Some(thread) = &self.thread {
            // More than the thread can use, or after its end: they are just dropped.
            thread.used.try_send(rows).ok();
        }
    }

    async fn count_next_head(&mut self, next_head: &Stored) -> Result<u64, StoreError> {
        if self.progress != Progress::Ended {
            return Err(self
                .call()
                .unexpected("rows are counted only after the last one was read"));
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
            Ok(count) if asked => count.map_err(|error| self.call().scan(error)),
            Ok(_) | Err(_) => Err(self.call().unexpected("the thread that reads has died")),
        }
    }
}

impl Drop for SqliteChain {
    fn drop(&mut self) {
        if let Some(Thread {
            batches,
            used,
            questions,
            closed,
        }) = self.thread.take()
        {
            drop((batches, used, questions));
            // It ends without a message, when the thread does.
            closed.recv_timeout(CLOSE_PATIENCE).ok();
        }
    }
}

impl Thread {
    fn spawn(reader: Reader) -> std::io::Result<Self> {
        let (sender, batches) = mpsc::channel(READ_AHEAD);
        let (used, recycled) = mpsc::channel(READ_AHEAD);
        let (questions, receiver) = mpsc::channel(1);
        let (closing, closed) = blocking::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        std::thread::Builder::new()
            .name("piton-chain".to_owned())
            .spawn(move || {
                runtime.block_on(serve(reader, sender, recycled, receiver));
                drop(closing);
            })?;
        Ok(Self {
            batches,
            used,
            questions,
            closed,
        })
    }
}

/// Reads everything, then answers questions for as long as there may be any.
async fn serve(
    mut reader: Reader,
    batches: mpsc::Sender<Batch>,
    mut recycled: mpsc::Receiver<Vec<PersistedRow>>,
    mut questions: mpsc::Receiver<Question>,
) {
    let table = reader.layout.table;
    let outcome = match row::statements(table) {
        Some(statements) => {
            scan::scan(&mut reader.connection, statements.all, async |rows| {
                batches.send(Batch::Rows(rows)).await.ok()?;
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
