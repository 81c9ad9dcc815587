//! The data of F2: which code is pure, which crates it may name, and what it must not.

/// Whether pure code may wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// It takes all that it needs as arguments.
    Synchronous,
    /// It waits for a store through the port, and for nothing else.
    Port,
}

/// A place whose code must be pure.
pub(super) struct Pure {
    /// A file, or a folder with its slash.
    pub(super) path: &'static str,
    /// Its name in messages.
    pub(super) what: &'static str,
    pub(super) pace: Pace,
    /// The crates that it may name beside `core`, `alloc` and `std`.
    pub(super) may_name: &'static [&'static str],
}

impl Pure {
    pub(super) fn holds(&self, file: &str) -> bool {
        file == self.path || (self.path.ends_with('/') && file.starts_with(self.path))
    }
}

const VERIFIER_MAY_NAME: &[&str] = &[
    "piton_store",
    "piton_chain",
    "piton_ledger",
    "serde",
    "serde_json",
    "thiserror",
];

/// A file of the walk: it sees rows and gives a verdict, and never the store.
const fn walk(path: &'static str) -> Pure {
    Pure {
        path,
        what: "the walk",
        pace: Pace::Synchronous,
        may_name: VERIFIER_MAY_NAME,
    }
}

/// Every pure place.
pub(super) const PURE: &[Pure] = &[
    Pure {
        path: "crates/piton-ledger/src/",
        what: "the ledger",
        pace: Pace::Synchronous,
        may_name: &["serde", "serde_json", "thiserror", "ryu_js"],
    },
    Pure {
        path: "crates/piton-chain/src/",
        what: "the chain",
        pace: Pace::Synchronous,
        may_name: &["piton_ledger", "blake3"],
    },
    Pure {
        path: "crates/piton-verify/src/",
        what: "the verifier",
        pace: Pace::Port,
        may_name: VERIFIER_MAY_NAME,
    },
    walk("crates/piton-verify/src/batch.rs"),
    walk("crates/piton-verify/src/walk.rs"),
    walk("crates/piton-verify/src/verdict.rs"),
    walk("crates/piton-verify/src/expectation.rs"),
    walk("crates/piton-verify/src/slug.rs"),
    walk("crates/piton-verify/src/tagged.rs"),
];

/// A crate that one pure file may name although its place may not.
pub(super) struct Exception {
    pub(super) file: &'static str,
    pub(super) package: &'static str,
    pub(super) reason: &'static str,
}

/// Every exception; each must be in use.
pub(super) const EXCEPTIONS: &[Exception] = &[
    Exception {
        file: "crates/piton-ledger/src/sqlx.rs",
        package: "sqlx",
        reason: "the ids bind in a consumer's queries, behind a feature that is off by default",
    },
    Exception {
        file: "crates/piton-ledger/src/postgres_types.rs",
        package: "postgres_types",
        reason: "the ids bind in a consumer's queries, behind a feature that is off by default",
    },
    Exception {
        file: "crates/piton-ledger/src/postgres_types.rs",
        package: "bytes",
        reason: "the buffer in which postgres-types takes values",
    },
    Exception {
        file: "crates/piton-verify/src/verifier.rs",
        package: "tracing",
        reason: "tells a subscriber of the caller's, behind a feature that is off by default",
    },
];

/// Paths below `std`, `core` or `alloc`, and why they are forbidden with all beneath them.
pub(super) struct Forbidden {
    pub(super) paths: &'static [&'static str],
    pub(super) except: &'static [&'static str],
    pub(super) is: &'static str,
}

/// What no pure code may name.
pub(super) const FORBIDDEN: &[Forbidden] = &[
    Forbidden {
        paths: &["time::Instant", "time::SystemTime", "time::UNIX_EPOCH"],
        except: &[],
        is: "a clock",
    },
    Forbidden {
        paths: &[
            "random",
            "hash::RandomState",
            "hash::random",
            "collections::HashMap",
            "collections::HashSet",
            "collections::hash_map",
            "collections::hash_set",
        ],
        except: &[],
        is: "randomness, or an order that differs from run to run",
    },
    Forbidden {
        paths: &["env", "process", "os", "backtrace", "arch"],
        except: &[],
        is: "the environment",
    },
    Forbidden {
        paths: &["fs", "io", "path", "ffi::OsStr", "ffi::OsString"],
        except: &[],
        is: "the file system",
    },
    Forbidden {
        paths: &["net"],
        except: &[],
        is: "the network",
    },
    Forbidden {
        paths: &["thread", "task", "future::poll_fn"],
        except: &[],
        is: "threads or tasks",
    },
    Forbidden {
        paths: &["sync"],
        except: &["sync::Arc", "sync::Weak"],
        is: "state that threads share",
    },
    Forbidden {
        paths: &["cell"],
        except: &[],
        is: "hidden state",
    },
    Forbidden {
        paths: &[
            "panic::set_hook",
            "panic::take_hook",
            "panic::update_hook",
            "alloc::set_alloc_error_hook",
        ],
        except: &[],
        is: "global state",
    },
];

/// Macros of the standard library that no pure code may call; `paths` are their names.
pub(super) const MACROS: &[Forbidden] = &[
    Forbidden {
        paths: &["print", "println", "eprint", "eprintln", "dbg"],
        except: &[],
        is: "logging",
    },
    Forbidden {
        paths: &["env", "option_env"],
        except: &[],
        is: "the environment",
    },
    Forbidden {
        paths: &["thread_local", "lazy_static"],
        except: &[],
        is: "global state",
    },
    Forbidden {
        paths: &["asm", "global_asm"],
        except: &[],
        is: "whatever the machine offers",
    },
];
