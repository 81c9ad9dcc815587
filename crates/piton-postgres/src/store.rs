//! Owns the store handle and the port's operations; each is carried out elsewhere.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use piton_ledger::{ChainHead, WorkflowId};
use piton_store::{Appended, CheckpointStore, ExpectedHead, SealedEvent, StoreError, Tail};
use tokio_postgres::types::Type;

use crate::append;
use crate::chain::PostgresChain;
use crate::connection::Opener;
use crate::error::{Call, Fault};
use crate::lock::PostgresLock;
use crate::migrate;
use crate::options::{Mode, PostgresOptions};
use crate::pool::Pool;
use crate::queue::{Queue, Turn};
use crate::row::StoredTail;
use crate::url::Target;

/// How often a read, which changes nothing, is begun again when its connection was lost.
const READ_ATTEMPTS: u32 = 3;

/// A checkpoint store in one Postgres database. Cloning shares it.
#[derive(Clone)]
pub struct PostgresStore {
    pub(crate) inner: Arc<Inner>,
}

/// How appends reach the tables on a session of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// By one statement, which needs the right to write to the tables.
    Statement,
    /// By the installed function, which needs the right to call it.
    Function,
}

/// What all clones of a store share.
pub(crate) struct Inner {
    pub(crate) opener: Arc<Opener>,
    pub(crate) pool: Pool,
    pub(crate) queue: Queue,
    calls_function: AtomicBool,
}

impl PostgresStore {
    /// Prepares a store on the database of a URL; the first call connects.
    ///
    /// These parameters of the URL are Piton's own: `piton_schema` (`piton`), `piton_pooler`
    /// (`none`, or `transaction` when a pooler in transaction mode stands before the server),
    /// `piton_pool_size` (16), `piton_busy_timeout_ms` (5000) and `piton_replica` (`refuse`, or
    /// `allow` to read from a server that only follows another one). `sslmode` is `disable`,
    /// `prefer`, `require` or `verify-full`; a server's certificate is always checked, against the
    /// system's authorities or those of the file that `sslrootcert` names, and within one machine
    /// no TLS is used unless asked for. All other parameters are the driver's.
    ///
    /// # Errors
    ///
    /// `Unfit` when the URL is malformed, without showing it: it may hold a password.
    ///
    /// # Examples
    ///
    /// ```
    /// let store = piton_postgres::PostgresStore::connect("postgres://ledger@db.example/main")?;
    /// # Ok::<(), piton_store::StoreError>(())
    /// ```
    pub fn connect(url: &str) -> Result<Self, StoreError> {
        Self::with_options(url, PostgresOptions::default())
    }

    /// Prepares a store with other options than the usual; parameters of the URL overrule them.
    ///
    /// # Errors
    ///
    /// As [`PostgresStore::connect`].
    pub fn with_options(url: &str, options: PostgresOptions) -> Result<Self, StoreError> {
        let opener = Arc::new(Opener::new(Target::parse(url, options)?)?);
        let call = Call {
            action: "opening the store",
            workflow: None,
        };
        let pool = Pool::new(Arc::clone(&opener)).map_err(|fault| call.fault(fault))?;
        Ok(Self {
            inner: Arc::new(Inner {
                opener,
                pool,
                queue: Queue::new(),
                calls_function: AtomicBool::new(false),
            }),
        })
    }

    /// Makes the schema and its tables, or brings them to the newest layout; nothing is done when
    /// they are there.
    ///
    /// Any number of processes may migrate at once, in a database that holds other things too, and
    /// a migration that dies leaves each step done or not begun.
    ///
    /// # Errors
    ///
    /// `Unfit` when the schema holds something else, when it was made by a newer version, or when
    /// the role may not make it; an engine's failure.
    ///
    /// # Cancel safety
    ///
    /// The step under way is undone or done; migrate again.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        let call = Call {
            action: "migrating",
            workflow: None,
        };
        let mut attempts = READ_ATTEMPTS;
        loop {
            self.inner
                .refuse_when_closed()
                .map_err(|fault| call.fault(fault))?;
            attempts = attempts.saturating_sub(1);
            match migrate::migrate(&self.inner.opener).await {
                Ok(()) => return Ok(()),
                Err(fault) if attempts > 0 && migrate::may_pass(&fault) => {}
                Err(fault) => return Err(call.fault(fault)),
            }
        }
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("options", self.inner.options())
            .finish_non_exhaustive()
    }
}

impl CheckpointStore for PostgresStore {
    type Lock = PostgresLock;
    type Chain = PostgresChain;

    #[cfg_attr(
        feature = "tracing",
        tracing::instrument(
            name = "append",
            level = "debug",
            skip_all,
            fields(workflow = %event.workflow_id(), events = 1),
            err(level = "debug")
        )
    )]
    async fn append(
        &self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> Result<Appended, StoreError> {
        let mut turn = self.inner.turn(event.workflow_id(), append::ACTION).await?;
        append::append(&self.inner, event, expected, &mut turn).await
    }

    async fn iter_persisted_chain(
        &self,
        workflow: &WorkflowId,
    ) -> Result<PostgresChain, StoreError> {
        PostgresChain::start(&self.inner, workflow).await
    }

    async fn tail_chain_head(&self, workflow: &WorkflowId) -> Result<ChainHead, StoreError> {
        let call = Call {
            action: "reading the tail",
            workflow: Some(workflow),
        };
        let read = self
            .inner
            .again_when_lost(|| self.inner.read_tail(workflow));
        match read.await.map_err(|fault| call.fault(fault))? {
            None => Ok(ChainHead::GENESIS),
            Some(tail) => tail
                .head
                .to_head()
                .ok_or_else(|| StoreError::UnreadableColumn {
                    workflow: workflow.clone(),
                    column: "next_head",
                }),
        }
    }

    async fn pinned_tail(&self, workflow: &WorkflowId) -> Result<Option<Tail>, StoreError> {
        let call = Call {
            action: "reading the pin",
            workflow: Some(workflow),
        };
        let damaged = || StoreError::PinDamaged {
            workflow: workflow.clone(),
        };
        let read = self.inner.again_when_lost(|| self.inner.read_pin(workflow));
        match read.await.map_err(|fault| call.fault(fault))? {
            Noted::At(pin) => pin.to_pin().map(Some).ok_or_else(damaged),
            Noted::Nothing => Ok(None),
            // The first append makes the pin and the first row together.
            Noted::Missing => Err(damaged()),
        }
    }

    #[cfg_attr(
        feature = "tracing",
        tracing::instrument(
            name = "lock",
            level = "debug",
            skip_all,
            fields(%workflow),
            err(level = "debug")
        )
    )]
    async fn lock(&self, workflow: &WorkflowId) -> Result<PostgresLock, StoreError> {
        let begun = std::time::Instant::now();
        let turn = self.inner.turn(workflow, "locking").await?;
        let patience = self
            .inner
            .options()
            .busy_timeout
            .saturating_sub(begun.elapsed());
        PostgresLock::acquire(&self.inner, workflow, turn, patience).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.inner.pool.close();
        Ok(())
    }
}

/// What is noted outside the rows.
enum Noted {
    At(StoredTail),
    /// There is no note, and there are no rows.
    Nothing,
    /// There are rows, and their note is gone.
    Missing,
}

impl Inner {
    pub(crate) fn options(&self) -> &PostgresOptions {
        self.opener.options()
    }

    pub(crate) fn refuse_when_closed(&self) -> Result<(), Fault> {
        if self.pool.is_closed() {
            Err(Fault::Closed)
        } else {
            Ok(())
        }
    }

    pub(crate) fn route(&self) -> Route {
        if self.calls_function.load(Ordering::Relaxed) {
            Route::Function
        } else {
            Route::Statement
        }
    }

    /// Says whether another route is worth a try after this one was denied, and takes it from now
    /// on: a role that may not write to the tables can perhaps call the function.
    pub(crate) fn has_another_route(&self, denied: Route) -> bool {
        let has_one = denied == Route::Statement && self.options().mode == Mode::Direct;
        if has_one {
            self.calls_function.store(true, Ordering::Relaxed);
        }
        has_one
    }

    /// Waits for the turn of a writer among this store's own.
    async fn turn(&self, workflow: &WorkflowId, action: &'static str) -> Result<Turn, StoreError> {
        let call = Call {
            action,
            workflow: Some(workflow),
        };
        self.refuse_when_closed()
            .map_err(|fault| call.fault(fault))?;
        let waited = self.options().busy_timeout;
        self.queue
            .turn(workflow, waited)
            .await
            .ok_or_else(|| StoreError::Busy {
                workflow: workflow.clone(),
                waited,
            })
    }

    /// Reads again when the connection was lost: a pool may hold connections that died unnoticed.
    pub(crate) async fn again_when_lost<T, F, R>(&self, read: F) -> Result<T, Fault>
    where
        F: Fn() -> R + Send,
        R: Future<Output = Result<T, Fault>> + Send,
    {
        let mut attempts = READ_ATTEMPTS;
        loop {
            self.refuse_when_closed()?;
            attempts = attempts.saturating_sub(1);
            match read().await {
                Err(fault) if attempts > 0 && self.pool.may_recover(&fault) => {}
                answer => return answer,
            }
        }
    }

    async fn read_tail(&self, workflow: &WorkflowId) -> Result<Option<StoredTail>, Fault> {
        let lease = self.pool.lease().await?;
        let row = lease
            .one(&self.opener.sql.tail, &[(&workflow.as_str(), Type::TEXT)])
            .await
            .map_err(Fault::Statement)?;
        lease.finish();
        self.opener
            .judge_replica(row.try_get(0).map_err(Fault::Statement)?)?;
        StoredTail::decode(&row, 1).map_err(Fault::Statement)
    }

    async fn read_pin(&self, workflow: &WorkflowId) -> Result<Noted, Fault> {
        let lease = self.pool.lease().await?;
        let row = lease
            .one(&self.opener.sql.pin, &[(&workflow.as_str(), Type::TEXT)])
            .await
            .map_err(Fault::Statement)?;
        lease.finish();
        self.opener
            .judge_replica(row.try_get(0).map_err(Fault::Statement)?)?;
        let has_rows: bool = row.try_get(3).map_err(Fault::Statement)?;
        let pin = StoredTail::decode(&row, 1).map_err(Fault::Statement)?;
        Ok(match (pin, has_rows) {
            (Some(pin), _) => Noted::At(pin),
            (None, false) => Noted::Nothing,
            (None, true) => Noted::Missing,
        })
    }
}
