//! Owns the connection URL: which parameters are ours, and which go on to the driver. It never
//! shows a URL, because a URL may hold a password.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use piton_store::StoreError;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::options::{Mode, PostgresOptions, ReplicaPolicy};

const ACTION: &str = "reading the connection URL";
/// Why a malformed URL is not shown.
const HIDDEN: &str = "its text is not shown, because it may hold a password";
/// A server that stays silent for longer is taken for dead.
const SILENCE: Duration = Duration::from_secs(30);

/// Where to connect, and how.
pub(crate) struct Target {
    pub(crate) config: Config,
    pub(crate) options: PostgresOptions,
    /// A file of certificate authorities in place of the system's.
    pub(crate) authorities: Option<PathBuf>,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("address", &self.address())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Target {
    /// Reads a URL; its own parameters overrule the options.
    pub(crate) fn parse(url: &str, mut options: PostgresOptions) -> Result<Self, StoreError> {
        if !(url.starts_with("postgres://") || url.starts_with("postgresql://")) {
            return Err(unfit("it does not begin with postgres:// or postgresql://"));
        }
        // As the driver has it, all before the first `@` is user and password.
        let place = url.find('@').unwrap_or(0);
        let mark = url[place..]
            .find('?')
            .map_or(url.len(), |mark| place + mark);
        let (base, query) = url.split_at(mark);
        let query = query.strip_prefix('?').unwrap_or(query);
        let mut authorities = None;
        let mut tls = None;
        let mut passed_on = String::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            match name {
                "sslmode" => tls = Some(ssl_mode(value)?),
                "sslrootcert" => authorities = Some(PathBuf::from(decode(value)?)),
                _ if name.starts_with("piton_") => apply(&mut options, name, value)?,
                _ => {
                    passed_on.push(if passed_on.is_empty() { '?' } else { '&' });
                    passed_on.push_str(parameter);
                }
            }
        }
        let mut config: Config = format!("{base}{passed_on}").parse().map_err(|_| {
            // What the driver says may quote a part of the URL.
            unfit("it is malformed")
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(unfit("it names no host"));
        }
        if config.get_application_name().is_none() {
            config.application_name("piton");
        }
        config.ssl_mode(tls.unwrap_or_else(|| default_tls(&config)));
        config.keepalives_idle(SILENCE);
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE);
        }
        Ok(Self {
            config,
            options,
            authorities,
        })
    }

    /// Gives host and port for messages.
    pub(crate) fn address(&self) -> String {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            #[cfg(unix)]
            Some(Host::Unix(path)) => path.display().to_string(),
            None => self
                .config
                .get_hostaddrs()
                .first()
                .map(ToString::to_string)
                .unwrap_or_default(),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        format!("{host}:{port}")
    }
}

/// Between processes of one machine nobody listens; elsewhere TLS is used when the server has it.
fn default_tls(config: &Config) -> SslMode {
    let is_near = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    if config.get_hosts().iter().all(is_near)
        && config
            .get_hostaddrs()
            .iter()
            .all(std::net::IpAddr::is_loopback)
    {
        SslMode::Disable
    } else {
        SslMode::Prefer
    }
}

fn ssl_mode(value: &str) -> Result<SslMode, StoreError> {
    match value {
        "disable" => Ok(SslMode::Disable),
        "allow" | "prefer" => Ok(SslMode::Prefer),
        // A certificate is always checked when there is one.
        "require" | "verify-ca" | "verify-full" => Ok(SslMode::Require),
        _ => Err(unfit(
            "sslmode is disable, prefer, require, verify-ca or verify-full",
        )),
    }
}

fn apply(options: &mut PostgresOptions, name: &str, value: &str) -> Result<(), StoreError> {
    match name {
        "piton_schema" => {
            options.schema = value.parse().map_err(|error| {
                let reason: crate::options::SchemaNameError = error;
                unfit(&format!("piton_schema: {reason}"))
            })?;
        }
        "piton_pooler" => {
            options.mode = match value {
                "none" => Mode::Direct,
                "transaction" => Mode::TransactionPooler,
                _ => return Err(unfit("piton_pooler is none or transaction")),
            };
        }
        "piton_replica" => {
            options.replica = match value {
                "refuse" => ReplicaPolicy::Refuse,
                "allow" => ReplicaPolicy::Allow,
                _ => return Err(unfit("piton_replica is refuse or allow")),
            };
        }
        "piton_pool_size" => {
            options.pool_size = value
                .parse()
                .map_err(|_| unfit("piton_pool_size is a whole number from 1"))?;
        }
        "piton_busy_timeout_ms" => {
            options.busy_timeout = value
                .parse()
                .map(Duration::from_millis)
                .map_err(|_| unfit("piton_busy_timeout_ms is a whole number of milliseconds"))?;
        }
        _ => {
            return Err(unfit(
                "of the parameters that begin with piton_ there are piton_schema, piton_pooler, \
                 piton_replica, piton_pool_size and piton_busy_timeout_ms",
            ));
        }
    }
    Ok(())
}

/// Undoes percent encoding.
fn decode(text: &str) -> Result<String, StoreError> {
    let malformed = || unfit("a percent sign is not followed by two hexadecimal digits");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next(), rest.next()].map(|digit| digit.map(char::from));
        let [Some(high), Some(low)] =
            digits.map(|digit| digit.and_then(|digit| digit.to_digit(16)))
        else {
            return Err(malformed());
        };
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| malformed())?);
    }
    String::from_utf8(bytes).map_err(|_| malformed())
}

fn unfit(reason: &str) -> StoreError {
    StoreError::Unfit {
        action: ACTION,
        workflow: None,
        reason: format!("{reason} ({HIDDEN})"),
    }
}
