//! The data of F5: deeds, where each may be done, and why there.

/// A deed that few places may do.
pub(super) struct Deed {
    /// In the infinitive, for messages.
    pub(super) name: &'static str,
    /// Why nobody else may.
    pub(super) why: &'static str,
    pub(super) mend: &'static str,
    pub(super) what: What,
    pub(super) scope: Scope,
    pub(super) sites: &'static [Site],
}

/// How a deed looks in code.
pub(super) enum What {
    /// `Type { … }` of this type.
    Literal {
        package: &'static str,
        name: &'static str,
    },
    /// A free function, called or handed on.
    Function {
        package: &'static str,
        name: &'static str,
    },
    /// Any variant of this enum where a value stands.
    Variant {
        package: &'static str,
        name: &'static str,
    },
    /// This variant of this enum where a value stands.
    OneVariant {
        package: &'static str,
        name: &'static str,
        variant: &'static str,
    },
    /// One of these, of any type.
    Associated(&'static [&'static str]),
    /// `.method(…)` on anything.
    Method(&'static str),
    /// A method of this type, called or handed on by its path.
    MethodAsPath {
        package: &'static str,
        owner: &'static str,
        name: &'static str,
    },
}

/// Which code a deed is looked for in.
#[derive(Clone, Copy)]
pub(super) enum Scope {
    /// All but the conformance kit and the examples.
    Product,
    /// The files below a folder.
    Below(&'static str),
}

/// A place that may do a deed.
pub(super) struct Site {
    pub(super) file: &'static str,
    /// `function` or `Type::function`.
    pub(super) within: &'static str,
    pub(super) reason: &'static str,
}

const SEALED: &str = "crates/piton-store/src/sealed.rs";
const ROW: &str = "crates/piton-store/src/row.rs";
const WALK: &str = "crates/piton-verify/src/walk.rs";
const HYDRATION: &str = "crates/piton-verify/src/hydration.rs";

/// Every deed.
pub(super) const DEEDS: &[Deed] = &[
    Deed {
        name: "make a `SealedEvent`",
        why: "bytes that were neither sealed nor proved to link must not reach an adapter",
        mend: "call `seal`, or prove the row with `VerifiedRow::prove`",
        what: What::Literal {
            package: "piton_store",
            name: "SealedEvent",
        },
        scope: Scope::Product,
        sites: &[
            Site {
                file: "crates/piton-store/src/seal.rs",
                within: "seal",
                reason: "the door for a live event: boundary, cap, redaction, canonical bytes",
            },
            Site {
                file: SEALED,
                within: "SealedEvent::from",
                reason: "the door for a row that was just proved to link",
            },
        ],
    },
    Deed {
        name: "make a `VerifiedRow`",
        why: "a row that nobody proved must not pass for a proved one",
        mend: "call `VerifiedRow::prove`",
        what: What::Literal {
            package: "piton_store",
            name: "VerifiedRow",
        },
        scope: Scope::Product,
        sites: &[Site {
            file: ROW,
            within: "VerifiedRow::prove",
            reason: "it recomputes the link of the row",
        }],
    },
    Deed {
        name: "call `piton_chain::link`",
        why: "what is hashed must be what was sealed, or what is stored",
        mend: "on the write side call `SealedEvent::link`; recomputing is the verifier's job",
        what: What::Function {
            package: "piton_chain",
            name: "link",
        },
        scope: Scope::Product,
        sites: &[
            Site {
                file: "crates/piton-chain/src/link.rs",
                within: "fold",
                reason: "a fold is links in a row",
            },
            Site {
                file: SEALED,
                within: "SealedEvent::link",
                reason: "the only caller on the write side",
            },
            Site {
                file: ROW,
                within: "VerifiedRow::prove",
                reason: "the proof that a row may move to another ledger",
            },
            Site {
                file: WALK,
                within: "Walk::judge_row",
                reason: "the verifier recomputes each row",
            },
            Site {
                file: WALK,
                within: "Walk::hash_on",
                reason: "the verifier recomputes the tail past a divergence",
            },
        ],
    },
    Deed {
        name: "call `piton_chain::fold`",
        why: "a chain is recomputed by the walk alone, row by row",
        mend: "ask the verifier",
        what: What::Function {
            package: "piton_chain",
            name: "fold",
        },
        scope: Scope::Product,
        sites: &[],
    },
    Deed {
        name: "link a sealed event by `.link(…)`",
        why: "an adapter has one place where a row comes to be",
        mend: "append through that place",
        what: What::Method("link"),
        scope: Scope::Product,
        sites: LINKED_BY_ADAPTERS,
    },
    Deed {
        name: "hand on `SealedEvent::link`",
        why: "an adapter has one place where a row comes to be",
        mend: "append through that place",
        what: What::MethodAsPath {
            package: "piton_store",
            owner: "SealedEvent",
            name: "link",
        },
        scope: Scope::Product,
        sites: &[],
    },
    Deed {
        name: "name `CheckpointIntegrity` as a reason to fail",
        why: "only the policy says that a workflow must not restart",
        mend: "give the verdict to `HydrationResult::from`",
        what: What::OneVariant {
            package: "piton_ledger",
            name: "FailedUnrecoverableReason",
            variant: "CheckpointIntegrity",
        },
        scope: Scope::Product,
        sites: &[
            Site {
                file: HYDRATION,
                within: "HydrationResult::integrity_failure",
                reason: "the policy",
            },
            Site {
                file: "crates/piton-ledger/src/failure.rs",
                within: "FailedUnrecoverableReason::ALL",
                reason: "the list of all reasons",
            },
        ],
    },
    Deed {
        name: "call the policy's `integrity_failure`",
        why: "only a verdict leads to it",
        mend: "give the verdict to `HydrationResult::from`",
        what: What::MethodAsPath {
            package: "piton_verify",
            owner: "HydrationResult",
            name: "integrity_failure",
        },
        scope: Scope::Product,
        sites: &[Site {
            file: HYDRATION,
            within: "HydrationResult::from",
            reason: "the one mapping from a verdict to what follows",
        }],
    },
    Deed {
        name: "make a `HydrationResult`",
        why: "what follows from a verdict is decided once",
        mend: "call `hydrate_or_fail`, or give the verdict to `HydrationResult::from`",
        what: What::Variant {
            package: "piton_verify",
            name: "HydrationResult",
        },
        scope: Scope::Product,
        sites: &[
            Site {
                file: HYDRATION,
                within: "HydrationResult::from",
                reason: "the one mapping from a verdict to what follows",
            },
            Site {
                file: HYDRATION,
                within: "HydrationResult::integrity_failure",
                reason: "the failing half of that mapping",
            },
            Site {
                file: HYDRATION,
                within: "HydrationResult::deserialize",
                reason: "a result that another process printed",
            },
        ],
    },
    Deed {
        name: "make a `Hydrated`",
        why: "a history to resume from comes from a verdict that proved it",
        mend: "call `hydrate_or_fail`, or give the verdict to `HydrationResult::from`",
        what: What::Literal {
            package: "piton_verify",
            name: "Hydrated",
        },
        scope: Scope::Product,
        sites: &[
            Site {
                file: HYDRATION,
                within: "HydrationResult::from",
                reason: "the one mapping from a verdict to what follows",
            },
            Site {
                file: HYDRATION,
                within: "HydrationResult::deserialize",
                reason: "a result that another process printed",
            },
        ],
    },
    Deed {
        name: "name a state of the vulnerability ledger",
        why: "the verifier serves every workflow family, and the only state that it makes is \
              `FailedUnrecoverable`",
        mend: "stay generic over the state machine",
        what: What::Variant {
            package: "piton_ledger",
            name: "VulnLedgerState",
        },
        scope: Scope::Below("crates/piton-verify/src/"),
        sites: &[],
    },
    Deed {
        name: "name a state kind of the vulnerability ledger",
        why: "the verifier serves every workflow family",
        mend: "stay generic over the state machine",
        what: What::Variant {
            package: "piton_ledger",
            name: "VulnState",
        },
        scope: Scope::Below("crates/piton-verify/src/"),
        sites: &[],
    },
    Deed {
        name: "pick a state kind",
        why: "a workflow is where its last verified event brought it",
        mend: "take the kind from an event",
        what: What::Associated(&["INITIAL", "KINDS", "from_slug"]),
        scope: Scope::Below("crates/piton-verify/src/"),
        sites: &[
            Site {
                file: HYDRATION,
                within: "HydrationResult::from",
                reason: "a workflow without events is where every workflow begins",
            },
            Site {
                file: "crates/piton-verify/src/slug.rs",
                within: "deserialize",
                reason: "a result that another process printed",
            },
        ],
    },
];

const LINKED_BY_ADAPTERS: &[Site] = &[
    Site {
        file: "crates/piton-memory/src/chain.rs",
        within: "Chain::push",
        reason: "the row that this append adds",
    },
    Site {
        file: "crates/piton-sqlite/src/insert.rs",
        within: "link",
        reason: "the rows that this append adds",
    },
    Site {
        file: "crates/piton-postgres/src/append.rs",
        within: "Append::insert",
        reason: "the row that this append adds",
    },
    Site {
        file: "crates/piton-postgres/src/batch.rs",
        within: "write",
        reason: "the rows that this batch adds",
    },
    Site {
        file: "crates/piton-cli/src/command/seal.rs",
        within: "Seal::run",
        reason: "`piton seal` shows the head that the event would get",
    },
];
