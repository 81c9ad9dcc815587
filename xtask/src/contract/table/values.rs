//! What a change of states, types and documents means: of all that is stored or handed over.

use super::super::delta::Change::{Added, Changed, Removed};
use super::super::question::Question::{IsRequired, IsStricter, KindExisted};
use super::super::rules::Ruling::Always;
use super::super::rules::Rust::{Major, MajorIfClosed, Minor, Nothing};
use super::super::rules::{Rule, additive, breaking, depends, recorded, rule};

const LEDGER: &[&str] = &["ledgers/*"];
const INITIAL: &[&str] = &["ledgers/*/initial"];
const KIND: &[&str] = &["ledgers/*/kinds/*"];
const BOUNDARY: &[&str] = &["ledgers/*/boundaries/*"];
const TERMINAL: &[&str] = &["ledgers/*/terminals/*"];
const EDGE: &[&str] = &["ledgers/*/edges/*"];
const OPENNESS: &[&str] = &[
    "ledgers/*/openness",
    "types/*/openness",
    "exit_codes/openness",
];
const TYPE: &[&str] = &["types/*"];
const VARIANT: &[&str] = &["types/*/variants/*"];
const TYPE_FIELD: &[&str] = &["types/*/fields/*", "types/*/variants/*/fields/*"];
const TYPE_FIELD_TYPE: &[&str] = &[
    "types/*/fields/*/type",
    "types/*/variants/*/fields/*/type",
    "types/*/variants/*/holds",
    "types/*/generics",
];
const PRESENCE: &[&str] = &[
    "types/*/fields/*/presence",
    "types/*/variants/*/fields/*/presence",
    "json/*/fields/*/presence",
];
const TAG: &[&str] = &["types/*/tag"];
const UNKNOWN_FIELDS: &[&str] = &["types/*/unknown_fields", "json/*/unknown_fields"];
const DOCUMENT: &[&str] = &["json/*"];
const DOCUMENT_FIELD: &[&str] = &["json/*/fields/*"];
const DOCUMENT_FIELD_TYPE: &[&str] = &["json/*/fields/*/type"];

pub(super) const RULES: &[Rule] = &[
    rule(
        LEDGER,
        Added,
        Always(recorded(
            Minor,
            "a workflow family is new, with states that others will store",
        )),
    ),
    rule(
        LEDGER,
        Removed,
        Always(breaking(
            Major,
            "ledgers of the family can no longer be read",
        )),
    ),
    rule(
        INITIAL,
        Changed,
        Always(breaking(
            Nothing,
            "a workflow that has recorded nothing would resume elsewhere",
        )),
    ),
    rule(
        KIND,
        Added,
        Always(recorded(
            MajorIfClosed,
            "a state kind is new; an older reader takes an event with it for damage",
        )),
    ),
    rule(
        KIND,
        Removed,
        Always(breaking(
            Major,
            "recorded events with the kind can no longer be read",
        )),
    ),
    rule(
        BOUNDARY,
        Added,
        Always(recorded(
            Nothing,
            "moves to the kind are persisted from now on",
        )),
    ),
    rule(
        BOUNDARY,
        Removed,
        Always(breaking(
            Nothing,
            "appends of moves to the kind are refused, and a crash repeats their work",
        )),
    ),
    rule(
        TERMINAL,
        Added,
        depends(
            KindExisted,
            breaking(
                Nothing,
                "workflows that stand at the kind would no longer go on",
            ),
            recorded(Nothing, "a new kind ends the work"),
        ),
    ),
    rule(
        TERMINAL,
        Removed,
        Always(breaking(Nothing, "workflows that had ended would go on")),
    ),
    rule(
        EDGE,
        Added,
        Always(recorded(
            Nothing,
            "a move is legal that was not; an older reader takes an event of it for damage",
        )),
    ),
    rule(
        EDGE,
        Removed,
        Always(breaking(
            Nothing,
            "recorded events along the edge no longer parse, so intact ledgers would be called torn",
        )),
    ),
    rule(
        OPENNESS,
        Changed,
        depends(
            IsStricter,
            additive(
                Major,
                "callers must expect more variants or fields than they know, which their code does not yet",
            ),
            additive(Minor, "callers may rely on the whole type"),
        ),
    ),
    rule(
        TYPE,
        Added,
        Always(additive(
            Minor,
            "a type is new, and nothing that was there changes",
        )),
    ),
    rule(
        TYPE,
        Removed,
        Always(breaking(
            Major,
            "what held or wrote a value of the type can no longer",
        )),
    ),
    rule(
        VARIANT,
        Added,
        Always(recorded(
            MajorIfClosed,
            "a variant is new; whoever reads the closed set does not know it",
        )),
    ),
    rule(
        VARIANT,
        Removed,
        Always(breaking(
            Major,
            "the set is narrower: a stored or sent value of the variant is refused",
        )),
    ),
    rule(
        TYPE_FIELD,
        Added,
        depends(
            IsRequired,
            breaking(
                MajorIfClosed,
                "what was written without the field can no longer be read",
            ),
            additive(
                MajorIfClosed,
                "the field may be left out, so what was written before still reads",
            ),
        ),
    ),
    rule(
        TYPE_FIELD,
        Removed,
        Always(breaking(
            Major,
            "whoever reads the field no longer finds it, and what has it is refused",
        )),
    ),
    rule(
        TYPE_FIELD_TYPE,
        Changed,
        Always(breaking(
            Major,
            "values of the old type are not values of the new one",
        )),
    ),
    rule(
        PRESENCE,
        Changed,
        depends(
            IsStricter,
            breaking(
                Nothing,
                "what was written without the field can no longer be read",
            ),
            breaking(
                Nothing,
                "whoever relies on the field no longer always finds it",
            ),
        ),
    ),
    rule(
        TAG,
        Changed,
        Always(breaking(
            Nothing,
            "readers look for the kind under the old name",
        )),
    ),
    rule(
        TAG,
        Added,
        Always(breaking(
            Nothing,
            "what was written without the tag can no longer be read",
        )),
    ),
    rule(
        TAG,
        Removed,
        Always(breaking(
            Nothing,
            "readers find no tag that says what they have",
        )),
    ),
    rule(
        UNKNOWN_FIELDS,
        Changed,
        depends(
            IsStricter,
            breaking(Nothing, "what was written with further fields is refused"),
            additive(Nothing, "more is read than before"),
        ),
    ),
    rule(
        DOCUMENT,
        Added,
        Always(additive(Nothing, "a document is new")),
    ),
    rule(
        DOCUMENT,
        Removed,
        Always(breaking(Nothing, "readers no longer get the document")),
    ),
    rule(
        DOCUMENT_FIELD,
        Added,
        depends(
            IsRequired,
            breaking(
                Nothing,
                "what was written without the field can no longer be read",
            ),
            additive(
                Nothing,
                "the field may be left out, so what was written before still reads",
            ),
        ),
    ),
    rule(
        DOCUMENT_FIELD,
        Removed,
        Always(breaking(Nothing, "readers no longer find the field")),
    ),
    rule(
        DOCUMENT_FIELD_TYPE,
        Changed,
        Always(breaking(Nothing, "readers expect the old type")),
    ),
];
