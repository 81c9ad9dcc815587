//! Owns the store handle and the port's operations; each is carried out elsewhere.

use std::path::PathBuf;
use std::sync::Arc;

use piton_ledger::{ChainHead, WorkflowId};
use piton_store::{Appended, CheckpointStore, ExpectedHead, SealedEvent, StoreError, Tail};

use crate::chain::SqliteChain;
use crate::connection::{self, Lease, Place};
use crate::error::{Call, sql_of_store};
use crate::flock::Queue;
use crate::group::{self, Groups};
use crate::lock::{Locked, SqliteLock};
use crate::options::{MAX_OPEN_CONNECTIONS, SqliteOptions};
use crate::paths::{self, Database, Paths};
use crate::pin::{self, Pin};
use crate::pool::{Checkout, Permit, Pool};
use crate::reader;
use crate::row;

/// A checkpoint store in SQLite: one directory per workflow beneath a root. Cloning shares it.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    pub(crate) inner: Arc<Inner>,
}

/// What all clones of a store share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) root: PathBuf,
    options: SqliteOptions,
    pub(crate) queue: Queue,
    pub(crate) groups: Groups,
    pub(crate) pool: Pool,
}

impl SqliteStore {
    /// Opens the store beneath `root` and creates nothing; the first append makes what is missing.
    ///
    /// # Errors
    ///
    /// `Unfit` when the root can't hold ledgers: it is not a directory, or its path is not UTF-8.
    ///
    /// # Examples
    ///
    /// ```
    /// let store = piton_sqlite::SqliteStore::open("ledgers")?;
    /// # Ok::<(), piton_store::StoreError>(())
    /// ```
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::with_options(root, SqliteOptions::default())
    }

    /// Opens the store beneath `root` with other options than the usual.
    ///
    /// # Errors
    ///
    /// As [`SqliteStore::open`].
    pub fn with_options(
        root: impl Into<PathBuf>,
        options: SqliteOptions,
    ) -> Result<Self, StoreError> {
        let unfit = |reason: &str| StoreError::Unfit {
            action: "opening the store",
            workflow: None,
            reason: reason.to_owned(),
        };
        // An absolute path stays the same when the process changes its directory, and SQLite
        // can't mistake it for a URI.
        let root = std::path::absolute(root.into()).map_err(|_| unfit("the root is not a path"))?;
        if root.to_str().is_none() {
            return Err(unfit("the path of the root is not UTF-8; move it"));
        }
        if root.is_symlink() && !root.exists() {
            return Err(unfit("the root is a symbolic link that leads nowhere"));
        }
        if root.exists() && !root.is_dir() {
            return Err(unfit("the root is not a directory"));
        }
        Ok(Self {
            inner: Arc::new(Inner {
                root,
                options,
                queue: Queue::default(),
                groups: Groups::default(),
                pool: Pool::new(MAX_OPEN_CONNECTIONS),
            }),
        })
    }
}

impl CheckpointStore for SqliteStore {
    type Lock = SqliteLock;
    type Chain = SqliteChain;

    async fn append(
        &self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> Result<Appended, StoreError> {
        group::append(&self.inner, event, expected).await
    }

    async fn iter_persisted_chain(&self, workflow: &WorkflowId) -> Result<SqliteChain, StoreError> {
        let call = self.inner.call("reading the chain", workflow);
        self.inner.refuse_when_closed()?;
        let reader = reader::open(&self.inner.root, &call).await?;
        SqliteChain::new(reader, &call)
    }

    async fn tail_chain_head(&self, workflow: &WorkflowId) -> Result<ChainHead, StoreError> {
        let call = self.inner.call("reading the tail", workflow);
        self.inner.refuse_when_closed()?;
        let Some(mut reader) = reader::open(&self.inner.root, &call).await? else {
            return Ok(ChainHead::GENESIS);
        };
        let last = match row::statements(reader.layout.table) {
            Some(statements) => row::one(&mut reader.connection, statements.last).await,
            None => Ok(None),
        };
        reader.close().await;
        match last.map_err(|error| call.sql(error))? {
            Some(row) => row
                .next_head
                .to_head()
                .ok_or_else(|| call.unreadable("next_head")),
            None => Ok(ChainHead::GENESIS),
        }
    }

    async fn pinned_tail(&self, workflow: &WorkflowId) -> Result<Option<Tail>, StoreError> {
        let call = self.inner.call("reading the pin", workflow);
        self.inner.refuse_when_closed()?;
        let paths = Paths::new(&self.inner.root, workflow);
        if paths.inspect(&call)?.is_none() {
            return Ok(None);
        }
        match read_pin(&paths, &call)? {
            Pin::Noted(note) => Ok(Some(note.tail())),
            Pin::Damaged => Err(damaged(&call)),
            Pin::Absent => self.tail_without_pin(&paths, &call).await,
        }
    }

    async fn lock(&self, workflow: &WorkflowId) -> Result<SqliteLock, StoreError> {
        SqliteLock::acquire(&self.inner, workflow, self.inner.options.busy_timeout).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        let mut outcome = Ok(());
        self.inner.pool.close();
        while let Some(writer) = self.inner.pool.take_any() {
            outcome = outcome.and(writer.close().await.map(drop));
        }
        outcome.map_err(|error| sql_of_store("closing the store", error))
    }
}

impl SqliteStore {
    /// Only the original's layout may lack a pin.
    async fn tail_without_pin(
        &self,
        paths: &Paths,
        call: &Call<'_>,
    ) -> Result<Option<Tail>, StoreError> {
        let Some(reader) = reader::open(&self.inner.root, call).await? else {
            return Ok(None);
        };
        let version = reader.layout.version;
        reader.close().await;
        if version == 0 {
            return Ok(None);
        }
        // The first append may have made pin and database since the pin was looked for.
        match read_pin(paths, call)? {
            Pin::Noted(note) => Ok(Some(note.tail())),
            Pin::Absent | Pin::Damaged => Err(damaged(call)),
        }
    }
}

fn read_pin(paths: &Paths, call: &Call<'_>) -> Result<Pin, StoreError> {
    let pin = paths::open_for_reading(&paths.lock).and_then(|file| match file {
        Some(file) => pin::read_unlocked(&file),
        None => Ok(Pin::Absent),
    });
    pin.map_err(|error| call.io(error))
}

fn damaged(call: &Call<'_>) -> StoreError {
    StoreError::PinDamaged {
        workflow: call.workflow.clone(),
    }
}

impl Inner {
    /// The context of a call, for its errors.
    pub(crate) fn call<'a>(&self, action: &'static str, workflow: &'a WorkflowId) -> Call<'a> {
        Call {
            action,
            workflow,
            busy_timeout: self.options.busy_timeout,
        }
    }

    /// The injected clock's time, in RFC 3339 and UTC.
    pub(crate) fn now(&self) -> String {
        (self.options.clock)().to_string()
    }

    pub(crate) fn refuse_when_closed(&self) -> Result<(), StoreError> {
        if self.pool.is_closed() {
            Err(StoreError::Closed)
        } else {
            Ok(())
        }
    }

    /// Gives the connection to a workflow's database, opened if need be; none when there is no
    /// database.
    pub(crate) async fn lease(
        self: &Arc<Self>,
        locked: &Arc<Locked>,
        call: &Call<'_>,
    ) -> Result<Option<Lease>, StoreError> {
        self.refuse_when_closed()?;
        let paths = &locked.paths;
        if paths.database().map_err(|error| call.io(error))? == Database::Blank {
            return Ok(None);
        }
        let permit = match self.pool.checkout(call.workflow, call.busy_timeout).await {
            Checkout::Kept(writer) => {
                if writer.is_current(paths).map_err(|error| call.io(error))? {
                    return Ok(Some(Lease::new(self, locked, writer)));
                }
                writer.close().await.map_err(|error| call.sql(error))?
            }
            Checkout::Vacant(permit) => permit,
            Checkout::Exhausted => return Err(call.busy()),
        };
        paths.inspect(call)?;
        paths.refuse_journal(call)?;
        let _opening = self.exclude_frozen_readers(paths, call).await?;
        connection::open(self, locked, Place::Database, permit, call)
            .await
            .map(Some)
    }

    /// Gives the right to open a connection, to make a database with.
    pub(crate) async fn vacancy(&self, call: &Call<'_>) -> Result<Permit, StoreError> {
        loop {
            match self.pool.checkout(call.workflow, call.busy_timeout).await {
                // A connection to a database that is gone.
                Checkout::Kept(writer) => drop(writer.close().await),
                Checkout::Vacant(permit) => return Ok(permit),
                Checkout::Exhausted => return Err(call.busy()),
            }
        }
    }

    /// Waits for readers that read a database as one that nobody writes to; see [`reader`].
    async fn exclude_frozen_readers(
        &self,
        paths: &Paths,
        call: &Call<'_>,
    ) -> Result<Option<std::fs::File>, StoreError> {
        let opener = |path: &std::path::Path| std::fs::File::open(path);
        match self
            .queue
            .lock(&paths.directory, opener, call.busy_timeout)
            .await
        {
            Ok(Some(file)) => Ok(Some(file)),
            Ok(None) => Err(call.busy()),
            // Some network file systems can't lock a directory; then no reader can either.
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(call.io(error)),
        }
    }
}
