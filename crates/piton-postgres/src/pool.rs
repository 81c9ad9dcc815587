//! Owns the sets of connections: a bounded one that appends and short reads share, and spare ones
//! for locks and chain reads, which hold a connection for long and so never take one of the
//! first.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deadpool::managed::{
    Metrics, Object, PoolError, RecycleError, RecycleResult, TimeoutType, Timeouts,
};

use crate::connection::{Connection, Opener};
use crate::error::Fault;

/// How many connections of ended locks and reads are kept for the next ones.
const SPARE_CONNECTIONS: usize = 4;

/// Every connection of a store.
pub(crate) struct Pool {
    opener: Arc<Opener>,
    shared: deadpool::managed::Pool<Manager>,
    spares: Mutex<VecDeque<Connection>>,
    connected: AtomicBool,
}

/// Makes and checks the shared connections.
pub(crate) struct Manager(Arc<Opener>);

impl deadpool::managed::Manager for Manager {
    type Type = Connection;
    type Error = Fault;

    async fn create(&self) -> Result<Connection, Fault> {
        self.0.open().await
    }

    async fn recycle(
        &self,
        connection: &mut Connection,
        _metrics: &Metrics,
    ) -> RecycleResult<Fault> {
        if connection.is_closed() {
            Err(RecycleError::message("the connection was lost"))
        } else {
            Ok(())
        }
    }
}

/// A shared connection for one call. When the call is cut short the connection is closed and never
/// given to another.
pub(crate) struct Lease(Option<Object<Manager>>);

impl Lease {
    /// Gives the connection back.
    pub(crate) fn finish(mut self) {
        if let Some(mut connection) = self.0.take() {
            connection.settle();
        }
    }
}

impl Deref for Lease {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.0
            .as_deref()
            .expect("only finishing a lease takes its connection")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            drop(Object::take(connection));
        }
    }
}

impl Pool {
    pub(crate) fn new(opener: Arc<Opener>) -> Result<Self, Fault> {
        let shared = deadpool::managed::Pool::builder(Manager(Arc::clone(&opener)))
            .max_size(opener.options().pool_size.get())
            .runtime(deadpool::Runtime::Tokio1)
            .build()
            .map_err(|_| Fault::Unexpected("a pool can't be made"))?;
        Ok(Self {
            opener,
            shared,
            spares: Mutex::default(),
            connected: AtomicBool::new(false),
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Whether trying again may help: the fault passes, and the server was there once. A server
    /// that never answered is more likely not there than gone for a while.
    pub(crate) fn may_recover(&self, fault: &Fault) -> bool {
        fault.is_transient() && (fault.is_after_login() || self.connected.load(Ordering::Relaxed))
    }

    /// Gives a shared connection for one call.
    pub(crate) async fn lease(&self) -> Result<Lease, Fault> {
        let patience = self.opener.options().busy_timeout;
        let timeouts = Timeouts {
            wait: Some(patience),
            create: None,
            recycle: None,
        };
        let got = self.shared.timeout_get(&timeouts).await;
        let mut connection = got.map_err(|error| match error {
            PoolError::Backend(fault) => fault,
            PoolError::Closed => Fault::Closed,
            PoolError::Timeout(TimeoutType::Wait | TimeoutType::Create | TimeoutType::Recycle) => {
                Fault::PoolExhausted(patience)
            }
            PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                Fault::Unexpected("the pool is set up wrongly")
            }
        })?;
        self.connected.store(true, Ordering::Relaxed);
        connection.begin();
        Ok(Lease(Some(connection)))
    }

    /// Gives a connection of its own, for a lock or a chain read.
    pub(crate) async fn own(&self) -> Result<Connection, Fault> {
        if self.is_closed() {
            return Err(Fault::Closed);
        }
        loop {
            let Some(mut spare) = self.spares().pop_back() else {
                let opened = self.opener.open().await?;
                self.connected.store(true, Ordering::Relaxed);
                return Ok(opened);
            };
            if !spare.is_closed() {
                spare.begin();
                return Ok(spare);
            }
        }
    }

    /// Takes a connection back on which nothing is under way and nothing is locked.
    pub(crate) fn keep(&self, mut connection: Connection) {
        connection.settle();
        let mut spares = self.spares();
        if !self.is_closed() && spares.len() < SPARE_CONNECTIONS {
            spares.push_back(connection);
        }
    }

    pub(crate) fn close(&self) {
        self.shared.close();
        self.spares().clear();
    }

    fn spares(&self) -> MutexGuard<'_, VecDeque<Connection>> {
        // The set is never left half changed, so a panic elsewhere does not spoil it.
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
