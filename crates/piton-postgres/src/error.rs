//! Owns how failures of the server, the driver and the network become the port's errors. It hides
//! the driver, and repeats nothing of what the server says but the message and its code: details
//! quote rows.

use std::error::Error;
use std::io;
use std::time::Duration;

use piton_ledger::WorkflowId;
use piton_store::{Retry, StoreError};

use crate::options::SchemaName;
use crate::schema::LAYOUT_VERSION;

/// What went wrong beneath the port.
#[derive(Debug)]
pub(crate) enum Fault {
    /// No connection could be made.
    Connect {
        address: String,
        error: tokio_postgres::Error,
    },
    /// No connection came about in time.
    ConnectTimeout { address: String, waited: Duration },
    /// A statement failed.
    Statement(tokio_postgres::Error),
    /// A statement was not answered in time.
    NoAnswer(Duration),
    /// Every connection of the pool is in use.
    PoolExhausted(Duration),
    /// The schema is missing.
    NoSchema(SchemaName),
    /// The schema was made by a newer version.
    NewerLayout(i64),
    /// The server is not fit, for this reason.
    Unfit(String),
    /// The server answered in a way that its documentation excludes.
    Unexpected(&'static str),
    /// The store was closed.
    Closed,
}

/// What can be done about a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A key is taken.
    Taken,
    /// The statement was undone for the sake of another; the connection is usable.
    Undone,
    /// The connection or the server went away; what was sent may or may not have been done.
    Lost,
    /// The role may not do this.
    Denied,
    /// The lock was not free in time.
    LockTimeout,
    /// Anything else.
    Other,
}

/// What a server or a driver said, without anything that it quoted.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Said {
    text: String,
    #[source]
    source: Option<io::Error>,
}

impl Fault {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Statement(error) | Self::Connect { error, .. } => kind_of(error),
            Self::ConnectTimeout { .. } => Kind::Lost,
            Self::NoAnswer(_)
            | Self::PoolExhausted(_)
            | Self::NoSchema(_)
            | Self::NewerLayout(_)
            | Self::Unfit(_)
            | Self::Unexpected(_)
            | Self::Closed => Kind::Other,
        }
    }

    /// Whether the same may succeed soon.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self.kind(), Kind::Undone | Kind::Lost)
    }

    /// Whether the server had let the client in when it failed: then it is there, and nothing is
    /// wrong with address or password.
    pub(crate) fn is_after_login(&self) -> bool {
        matches!(self, Self::Statement(_))
    }
}

fn kind_of(error: &tokio_postgres::Error) -> Kind {
    let Some(code) = error.code() else {
        return if error.is_closed() || system(error).is_some() {
            Kind::Lost
        } else {
            Kind::Other
        };
    };
    match code.code() {
        "23505" => Kind::Taken,
        "40001" | "40P01" => Kind::Undone,
        "42501" => Kind::Denied,
        "55P03" => Kind::LockTimeout,
        // Shutdown, crash, start-up, ended sessions; too many connections may pass as well.
        "40003" | "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "53300" => Kind::Lost,
        code if code.starts_with("08") => Kind::Lost,
        _ => Kind::Other,
    }
}

/// What the system said, if it was the system; a failed handshake is not its fault.
fn system(error: &tokio_postgres::Error) -> Option<&io::Error> {
    error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>())
        .filter(|error| !is_tls(error))
}

fn is_tls(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|inner| inner.is::<rustls::Error>())
}

/// What is being done, to which workflow: the context of every error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// What is being done.
    pub(crate) action: &'static str,
    /// To which workflow, if to one.
    pub(crate) workflow: Option<&'a WorkflowId>,
}

impl Call<'_> {
    /// Turns a fault into the port's error.
    pub(crate) fn fault(&self, fault: Fault) -> StoreError {
        match fault {
            Fault::Connect { address, error } => self.connect(&address, error),
            Fault::ConnectTimeout { address, waited } => self.engine(
                Retry::Helps,
                format!(
                    "the server at {address} did not answer within {waited:?}; check address, network and server"
                ),
                None,
            ),
            Fault::Statement(error) => self.statement(error),
            Fault::NoAnswer(waited) => self.engine(
                Retry::Helps,
                format!(
                    "the server did not answer within {waited:?}; a retry finds out whether it did what was asked"
                ),
                None,
            ),
            Fault::PoolExhausted(waited) => self.engine(
                Retry::Helps,
                format!(
                    "no connection of the pool was free within {waited:?}; retry later or enlarge piton_pool_size"
                ),
                None,
            ),
            Fault::NoSchema(schema) => self.unfit(format!(
                "the database holds no ledger in schema {schema}; run piton migrate"
            )),
            Fault::NewerLayout(found) => match self.workflow {
                Some(workflow) => StoreError::NewerLayout {
                    workflow: workflow.clone(),
                    found,
                    newest: LAYOUT_VERSION,
                },
                None => self.unfit(format!(
                    "layout version {found} is newer than {LAYOUT_VERSION}, the newest this version knows"
                )),
            },
            Fault::Unfit(reason) => self.unfit(reason),
            Fault::Unexpected(what) => self.engine(Retry::IsUseless, what.to_owned(), None),
            Fault::Closed => StoreError::Closed,
        }
    }

    fn connect(&self, address: &str, error: tokio_postgres::Error) -> StoreError {
        if error.code().is_some() {
            return self.statement(error);
        }
        if system(&error).is_some() {
            let text = format!(
                "the server at {address} can't be reached; check address, network and server"
            );
            return self.engine(Retry::Helps, text, into_system(error));
        }
        let why = error
            .source()
            .map(|source| format!(": {source}"))
            .unwrap_or_default();
        self.unfit(format!(
            "no session with the server at {address}: {error}{why}; check user, password, sslmode and sslrootcert of the URL"
        ))
    }

    fn statement(&self, error: tokio_postgres::Error) -> StoreError {
        let Some(server) = error.as_db_error() else {
            let retry = match kind_of(&error) {
                Kind::Lost => Retry::Helps,
                Kind::Taken | Kind::Undone | Kind::Denied | Kind::LockTimeout | Kind::Other => {
                    Retry::IsUseless
                }
            };
            let text = match retry {
                Retry::Helps => "the connection to the server was lost".to_owned(),
                Retry::IsUseless => error.to_string(),
            };
            return self.engine(retry, text, into_system(error));
        };
        let code = server.code().code();
        let said = format!("{} (SQLSTATE {code})", server.message());
        match remedy(code) {
            Remedy::Unfit(advice) => self.unfit(format!("{said}; {advice}")),
            Remedy::Engine(retry, advice) => self.engine(retry, format!("{said}; {advice}"), None),
        }
    }

    fn unfit(&self, reason: String) -> StoreError {
        StoreError::Unfit {
            action: self.action,
            workflow: self.workflow.cloned(),
            reason,
        }
    }

    fn engine(&self, retry: Retry, text: String, source: Option<io::Error>) -> StoreError {
        StoreError::Engine {
            action: self.action,
            workflow: self.workflow.cloned(),
            retry,
            source: Box::new(Said { text, source }),
        }
    }
}

fn into_system(error: tokio_postgres::Error) -> Option<io::Error> {
    error
        .into_source()?
        .downcast::<io::Error>()
        .ok()
        .map(|error| *error)
}

enum Remedy {
    Unfit(&'static str),
    Engine(Retry, &'static str),
}

/// What to do about an error of the server, by its SQLSTATE.
fn remedy(code: &str) -> Remedy {
    use Remedy::{Engine, Unfit};
    match code {
        "28P01" | "28000" => Unfit("check user and password of the URL"),
        "3D000" => Unfit("check the database name of the URL, or create the database"),
        "3F000" | "42P01" | "42883" | "42703" => Unfit("run piton migrate"),
        "42P07" | "42723" => {
            Unfit("the schema holds something else; choose another with piton_schema")
        }
        "42501" => Unfit("grant the role what it needs, or use another role"),
        "25006" => Unfit("the server or the session is read-only; connect to the primary"),
        "26000" | "42P05" => Unfit(
            "a pooler in transaction mode seems to stand before the server; add piton_pooler=transaction to the URL",
        ),
        "53300" => Engine(
            Retry::Helps,
            "retry later, lower piton_pool_size or raise max_connections",
        ),
        "53100" => Engine(Retry::IsUseless, "free disk space on the server"),
        "57014" => Engine(Retry::Helps, "raise statement_timeout or retry"),
        "58030" | "XX001" | "XX002" => Engine(
            Retry::IsUseless,
            "the server's storage is damaged; check it and restore from a backup",
        ),
        "40001" | "40P01" | "55P03" | "53200" | "25P03" => Engine(Retry::Helps, "retry"),
        "57P01" | "57P02" | "57P03" | "57P05" => {
            Engine(Retry::Helps, "retry when the server is up")
        }
        code if code.starts_with("08") => Engine(Retry::Helps, "retry"),
        _ => Engine(Retry::IsUseless, "see the server's log"),
    }
}
