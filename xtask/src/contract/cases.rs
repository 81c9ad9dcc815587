//! Owns the cases that a classifier must get right, each in both directions. `judgement` holds a
//! classifier to them.

use super::classify::Semver;

/// What the class of a delta must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Additive,
    /// Additive with a record, breaking without.
    Recorded,
    Breaking,
    /// Breaking, because no rule is about it.
    Unknown,
}

use Expected::{Additive, Breaking, Recorded, Unknown};
use Semver::{Major, Minor, Nothing};

pub(super) type Deltas = &'static [(&'static str, Expected, Semver)];

/// Two snapshots and the deltas from the first to the second and back.
pub(super) struct Case {
    pub(super) old: &'static str,
    pub(super) new: &'static str,
    pub(super) forward: Deltas,
    pub(super) backward: Deltas,
}

const fn case(old: &'static str, new: &'static str, forward: Deltas, backward: Deltas) -> Case {
    Case {
        old,
        new,
        forward,
        backward,
    }
}

pub(super) const CASES: &[Case] = &[
    // Nothing.
    case("{}", "{}", &[], &[]),
    case(
        r#"{"limits":{"MAX":1}}"#,
        r#"{"limits":{"MAX":1}}"#,
        &[],
        &[],
    ),
    // State machines.
    case(
        r#"{"ledgers":{}}"#,
        r#"{"ledgers":{"door":{"kinds":["shut"]}}}"#,
        &[("+ledgers/door", Recorded, Minor)],
        &[("-ledgers/door", Breaking, Major)],
    ),
    case(
        r#"{"ledgers":{"door":{"openness":"closed","kinds":["shut"]}}}"#,
        r#"{"ledgers":{"door":{"openness":"closed","kinds":["open","shut"]}}}"#,
        &[("+ledgers/door/kinds/open", Recorded, Major)],
        &[("-ledgers/door/kinds/open", Breaking, Major)],
    ),
    case(
        r#"{"ledgers":{"door":{"openness":"open","kinds":["shut"]}}}"#,
        r#"{"ledgers":{"door":{"openness":"open","kinds":["open","shut"]}}}"#,
        &[("+ledgers/door/kinds/open", Recorded, Minor)],
        &[("-ledgers/door/kinds/open", Breaking, Major)],
    ),
    case(
        r#"{"ledgers":{"door":{"initial":"shut"}}}"#,
        r#"{"ledgers":{"door":{"initial":"open"}}}"#,
        &[("~ledgers/door/initial", Breaking, Nothing)],
        &[("~ledgers/door/initial", Breaking, Nothing)],
    ),
    case(
        r#"{"ledgers":{"door":{"boundaries":[]}}}"#,
        r#"{"ledgers":{"door":{"boundaries":["open"]}}}"#,
        &[("+ledgers/door/boundaries/open", Recorded, Nothing)],
        &[("-ledgers/door/boundaries/open", Breaking, Nothing)],
    ),
    case(
        r#"{"ledgers":{"door":{"edges":["shut->open"]}}}"#,
        r#"{"ledgers":{"door":{"edges":["open->shut","shut->open"]}}}"#,
        &[("+ledgers/door/edges/open->shut", Recorded, Nothing)],
        &[("-ledgers/door/edges/open->shut", Breaking, Nothing)],
    ),
    // A kind that was there becomes terminal; a new kind is.
    case(
        r#"{"ledgers":{"door":{"kinds":["open"],"terminals":[]}}}"#,
        r#"{"ledgers":{"door":{"kinds":["open"],"terminals":["open"]}}}"#,
        &[("+ledgers/door/terminals/open", Breaking, Nothing)],
        &[("-ledgers/door/terminals/open", Breaking, Nothing)],
    ),
    case(
        r#"{"ledgers":{"door":{"openness":"closed","kinds":["open"],"terminals":[]}}}"#,
        r#"{"ledgers":{"door":{"openness":"closed","kinds":["broken","open"],"terminals":["broken"]}}}"#,
        &[
            ("+ledgers/door/kinds/broken", Recorded, Major),
            ("+ledgers/door/terminals/broken", Recorded, Nothing),
        ],
        &[
            ("-ledgers/door/kinds/broken", Breaking, Major),
            ("-ledgers/door/terminals/broken", Breaking, Nothing),
        ],
    ),
    // Who may match on the whole of a type.
    case(
        r#"{"ledgers":{"door":{"openness":"closed"}}}"#,
        r#"{"ledgers":{"door":{"openness":"open"}}}"#,
        &[("~ledgers/door/openness", Additive, Major)],
        &[("~ledgers/door/openness", Additive, Minor)],
    ),
    case(
        r#"{"types":{"Reason":{"openness":"closed"}}}"#,
        r#"{"types":{"Reason":{"openness":"open"}}}"#,
        &[("~types/Reason/openness", Additive, Major)],
        &[("~types/Reason/openness", Additive, Minor)],
    ),
    case(
        r#"{"exit_codes":{"openness":"closed"}}"#,
        r#"{"exit_codes":{"openness":"open"}}"#,
        &[("~exit_codes/openness", Additive, Major)],
        &[("~exit_codes/openness", Additive, Minor)],
    ),
    // Types, variants, fields.
    case(
        r#"{"types":{}}"#,
        r#"{"types":{"Reason":{"openness":"closed","variants":{"a":{"fields":{}}}}}}"#,
        &[("+types/Reason", Additive, Minor)],
        &[("-types/Reason", Breaking, Major)],
    ),
    case(
        r#"{"types":{"Reason":{"openness":"closed","variants":{"a":{"fields":{}}}}}}"#,
        r#"{"types":{"Reason":{"openness":"closed","variants":{"a":{"fields":{}},"b":{"fields":{}}}}}}"#,
        &[("+types/Reason/variants/b", Recorded, Major)],
        &[("-types/Reason/variants/b", Breaking, Major)],
    ),
    case(
        r#"{"types":{"Reason":{"openness":"open","variants":{}}}}"#,
        r#"{"types":{"Reason":{"openness":"open","variants":{"b":{"fields":{}}}}}}"#,
        &[("+types/Reason/variants/b", Recorded, Minor)],
        &[("-types/Reason/variants/b", Breaking, Major)],
    ),
    case(
        r#"{"types":{"Torn":{"openness":"closed","fields":{}}}}"#,
        r#"{"types":{"Torn":{"openness":"closed","fields":{"at":{"presence":"optional","type":"Option<u64>"}}}}}"#,
        &[("+types/Torn/fields/at", Additive, Major)],
        &[("-types/Torn/fields/at", Breaking, Major)],
    ),
    case(
        r#"{"types":{"Torn":{"openness":"open","fields":{}}}}"#,
        r#"{"types":{"Torn":{"openness":"open","fields":{"at":{"presence":"optional","type":"Option<u64>"}}}}}"#,
        &[("+types/Torn/fields/at", Additive, Minor)],
        &[("-types/Torn/fields/at", Breaking, Major)],
    ),
    case(
        r#"{"types":{"Torn":{"openness":"closed","fields":{}}}}"#,
        r#"{"types":{"Torn":{"openness":"closed","fields":{"at":{"presence":"required","type":"u64"}}}}}"#,
        &[("+types/Torn/fields/at", Breaking, Major)],
        &[("-types/Torn/fields/at", Breaking, Major)],
    ),
    case(
        r#"{"types":{"Torn":{"openness":"open","fields":{}}}}"#,
        r#"{"types":{"Torn":{"openness":"open","fields":{"at":{"presence":"required","type":"u64"}}}}}"#,
        &[("+types/Torn/fields/at", Breaking, Minor)],
        &[("-types/Torn/fields/at", Breaking, Major)],
    ),
    case(
        r#"{"types":{"State":{"openness":"closed","variants":{"a":{"fields":{}}}}}}"#,
        r#"{"types":{"State":{"openness":"closed","variants":{"a":{"fields":{"at":{"presence":"optional"}}}}}}}"#,
        &[("+types/State/variants/a/fields/at", Additive, Major)],
        &[("-types/State/variants/a/fields/at", Breaking, Major)],
    ),
    // A field is renamed.
    case(
        r#"{"types":{"Torn":{"openness":"closed","fields":{"at":{"presence":"required","type":"u64"}}}}}"#,
        r#"{"types":{"Torn":{"openness":"closed","fields":{"position":{"presence":"required","type":"u64"}}}}}"#,
        &[
            ("-types/Torn/fields/at", Breaking, Major),
            ("+types/Torn/fields/position", Breaking, Major),
        ],
        &[
            ("+types/Torn/fields/at", Breaking, Major),
            ("-types/Torn/fields/position", Breaking, Major),
        ],
    ),
    case(
        r#"{"types":{"Torn":{"generics":"","fields":{"at":{"type":"u64"}}}}}"#,
        r#"{"types":{"Torn":{"generics":"<M>","fields":{"at":{"type":"i64"}}}}}"#,
        &[
            ("~types/Torn/fields/at/type", Breaking, Major),
            ("~types/Torn/generics", Breaking, Major),
        ],
        &[
            ("~types/Torn/fields/at/type", Breaking, Major),
            ("~types/Torn/generics", Breaking, Major),
        ],
    ),
    case(
        r#"{"types":{"State":{"variants":{"a":{"fields":{"at":{"type":"u64"}}},"b":{"holds":"Torn"}}}}}"#,
        r#"{"types":{"State":{"variants":{"a":{"fields":{"at":{"type":"i64"}}},"b":{"holds":"Worn"}}}}}"#,
        &[
            ("~types/State/variants/a/fields/at/type", Breaking, Major),
            ("~types/State/variants/b/holds", Breaking, Major),
        ],
        &[
            ("~types/State/variants/a/fields/at/type", Breaking, Major),
            ("~types/State/variants/b/holds", Breaking, Major),
        ],
    ),
    case(
        r#"{"types":{"A":{"fields":{"a":{"presence":"optional"}},"variants":{"b":{"fields":{"c":{"presence":"optional"}}}}}}}"#,
        r#"{"types":{"A":{"fields":{"a":{"presence":"required"}},"variants":{"b":{"fields":{"c":{"presence":"required"}}}}}}}"#,
        &[
            ("~types/A/fields/a/presence", Breaking, Nothing),
            ("~types/A/variants/b/fields/c/presence", Breaking, Nothing),
        ],
        &[
            ("~types/A/fields/a/presence", Breaking, Nothing),
            ("~types/A/variants/b/fields/c/presence", Breaking, Nothing),
        ],
    ),
    case(
        r#"{"types":{"A":{"tag":"kind"}}}"#,
        r#"{"types":{"A":{"tag":"type"}}}"#,
        &[("~types/A/tag", Breaking, Nothing)],
        &[("~types/A/tag", Breaking, Nothing)],
    ),
    case(
        r#"{"types":{"A":{}}}"#,
        r#"{"types":{"A":{"tag":"kind"}}}"#,
        &[("+types/A/tag", Breaking, Nothing)],
        &[("-types/A/tag", Breaking, Nothing)],
    ),
    case(
        r#"{"types":{"A":{"unknown_fields":"ignored"}},"json":{"event":{"unknown_fields":"ignored"}}}"#,
        r#"{"types":{"A":{"unknown_fields":"refused"}},"json":{"event":{"unknown_fields":"refused"}}}"#,
        &[
            ("~json/event/unknown_fields", Breaking, Nothing),
            ("~types/A/unknown_fields", Breaking, Nothing),
        ],
        &[
            ("~json/event/unknown_fields", Additive, Nothing),
            ("~types/A/unknown_fields", Additive, Nothing),
        ],
    ),
    // Documents.
    case(
        r#"{"json":{}}"#,
        r#"{"json":{"event":{"fields":{}}}}"#,
        &[("+json/event", Additive, Nothing)],
        &[("-json/event", Breaking, Nothing)],
    ),
    case(
        r#"{"json":{"event":{"fields":{}}}}"#,
        r#"{"json":{"event":{"fields":{"note":{"presence":"optional"}}}}}"#,
        &[("+json/event/fields/note", Additive, Nothing)],
        &[("-json/event/fields/note", Breaking, Nothing)],
    ),
    case(
        r#"{"json":{"event":{"fields":{}}}}"#,
        r#"{"json":{"event":{"fields":{"note":{"presence":"required"}}}}}"#,
        &[("+json/event/fields/note", Breaking, Nothing)],
        &[("-json/event/fields/note", Breaking, Nothing)],
    ),
    case(
        r#"{"json":{"event":{"fields":{"note":{"presence":"optional","type":"string"}}}}}"#,
        r#"{"json":{"event":{"fields":{"note":{"presence":"required","type":"number"}}}}}"#,
        &[
            ("~json/event/fields/note/presence", Breaking, Nothing),
            ("~json/event/fields/note/type", Breaking, Nothing),
        ],
        &[
            ("~json/event/fields/note/presence", Breaking, Nothing),
            ("~json/event/fields/note/type", Breaking, Nothing),
        ],
    ),
    // Limits and error ids.
    case(
        r#"{"limits":{"MAX":1}}"#,
        r#"{"limits":{"MAX":2}}"#,
        &[("~limits/MAX", Additive, Nothing)],
        &[("~limits/MAX", Breaking, Nothing)],
    ),
    case(
        r#"{"limits":{"MAX":1}}"#,
        r#"{"limits":{"MAX":"one"}}"#,
        &[("~limits/MAX", Breaking, Nothing)],
        &[("~limits/MAX", Breaking, Nothing)],
    ),
    case(
        r#"{"limits":{}}"#,
        r#"{"limits":{"MAX":2}}"#,
        &[("+limits/MAX", Recorded, Minor)],
        &[("-limits/MAX", Breaking, Major)],
    ),
    case(
        r#"{"error_ids":{}}"#,
        r#"{"error_ids":{"TORN":"area.torn"}}"#,
        &[("+error_ids/TORN", Additive, Minor)],
        &[("-error_ids/TORN", Breaking, Major)],
    ),
    case(
        r#"{"error_ids":{"TORN":"area.torn"}}"#,
        r#"{"error_ids":{"TORN":"area.worn"}}"#,
        &[("~error_ids/TORN", Breaking, Nothing)],
        &[("~error_ids/TORN", Breaking, Nothing)],
    ),
    // Ports.
    case(
        r#"{"ports":{}}"#,
        r#"{"ports":{"Store":{"items":{}}}}"#,
        &[("+ports/Store", Additive, Minor)],
        &[("-ports/Store", Breaking, Major)],
    ),
    case(
        r#"{"ports":{"Store":{"items":{}}}}"#,
        r#"{"ports":{"Store":{"items":{"flush":{"presence":"required"}}}}}"#,
        &[("+ports/Store/items/flush", Breaking, Major)],
        &[("-ports/Store/items/flush", Breaking, Major)],
    ),
    case(
        r#"{"ports":{"Store":{"items":{}}}}"#,
        r#"{"ports":{"Store":{"items":{"flush":{"presence":"optional"}}}}}"#,
        &[("+ports/Store/items/flush", Additive, Minor)],
        &[("-ports/Store/items/flush", Breaking, Major)],
    ),
    case(
        r#"{"ports":{"Store":{"items":{"flush":{"presence":"optional"}}}}}"#,
        r#"{"ports":{"Store":{"items":{"flush":{"presence":"required"}}}}}"#,
        &[("~ports/Store/items/flush/presence", Breaking, Major)],
        &[("~ports/Store/items/flush/presence", Additive, Minor)],
    ),
    case(
        r#"{"ports":{"Store":{"bounds":"Send","items":{"flush":{"signature":"fn flush(&self)"}}}}}"#,
        r#"{"ports":{"Store":{"bounds":"Send + Sync","items":{"flush":{"signature":"fn flush(self)"}}}}}"#,
        &[
            ("~ports/Store/bounds", Breaking, Major),
            ("~ports/Store/items/flush/signature", Breaking, Major),
        ],
        &[
            ("~ports/Store/bounds", Breaking, Major),
            ("~ports/Store/items/flush/signature", Breaking, Major),
        ],
    ),
    // Adapters and exit codes.
    case(
        r#"{"adapters":{}}"#,
        r#"{"adapters":{"piton-tape":"TapeStore"}}"#,
        &[("+adapters/piton-tape", Additive, Minor)],
        &[("-adapters/piton-tape", Breaking, Major)],
    ),
    case(
        r#"{"adapters":{"piton-tape":"TapeStore"}}"#,
        r#"{"adapters":{"piton-tape":"ReelStore"}}"#,
        &[("~adapters/piton-tape", Breaking, Major)],
        &[("~adapters/piton-tape", Breaking, Major)],
    ),
    case(
        r#"{"exit_codes":{"openness":"closed","codes":{}}}"#,
        r#"{"exit_codes":{"openness":"closed","codes":{"Refused":6}}}"#,
        &[("+exit_codes/codes/Refused", Recorded, Major)],
        &[("-exit_codes/codes/Refused", Breaking, Major)],
    ),
    case(
        r#"{"exit_codes":{"openness":"open","codes":{}}}"#,
        r#"{"exit_codes":{"openness":"open","codes":{"Refused":6}}}"#,
        &[("+exit_codes/codes/Refused", Recorded, Minor)],
        &[("-exit_codes/codes/Refused", Breaking, Major)],
    ),
    case(
        r#"{"exit_codes":{"codes":{"Refused":6}}}"#,
        r#"{"exit_codes":{"codes":{"Refused":7}}}"#,
        &[("~exit_codes/codes/Refused", Breaking, Nothing)],
        &[("~exit_codes/codes/Refused", Breaking, Nothing)],
    ),
    // Layouts.
    case(
        r#"{"layouts":{}}"#,
        r#"{"layouts":{"tape":{"layout_version":1}}}"#,
        &[("+layouts/tape", Additive, Nothing)],
        &[("-layouts/tape", Breaking, Nothing)],
    ),
    case(
        r#"{"layouts":{"tape":{"layout_version":1}}}"#,
        r#"{"layouts":{"tape":{"layout_version":2}}}"#,
        &[("~layouts/tape/layout_version", Recorded, Nothing)],
        &[("~layouts/tape/layout_version", Breaking, Nothing)],
    ),
    case(
        r#"{"layouts":{"tape":{"tables":{}}}}"#,
        r#"{"layouts":{"tape":{"tables":{"pin":{"columns":{}}}}}}"#,
        &[("+layouts/tape/tables/pin", Recorded, Nothing)],
        &[("-layouts/tape/tables/pin", Breaking, Nothing)],
    ),
    case(
        r#"{"layouts":{"tape":{"tables":{"pin":{"columns":{}}}}}}"#,
        r#"{"layouts":{"tape":{"tables":{"pin":{"columns":{"note":{"presence":"optional"}}}}}}}"#,
        &[("+layouts/tape/tables/pin/columns/note", Recorded, Nothing)],
        &[("-layouts/tape/tables/pin/columns/note", Breaking, Nothing)],
    ),
    case(
        r#"{"layouts":{"tape":{"tables":{"pin":{"columns":{}}}}}}"#,
        r#"{"layouts":{"tape":{"tables":{"pin":{"columns":{"note":{"presence":"required"}}}}}}}"#,
        &[("+layouts/tape/tables/pin/columns/note", Breaking, Nothing)],
        &[("-layouts/tape/tables/pin/columns/note", Breaking, Nothing)],
    ),
    case(
        r#"{"layouts":{"tape":{"tables":{"pin":{"columns":{"note":{"definition":"text","presence":"optional"}}}}}}}"#,
        r#"{"layouts":{"tape":{"tables":{"pin":{"columns":{"note":{"definition":"bytea","presence":"required"}}}}}}}"#,
        &[
            (
                "~layouts/tape/tables/pin/columns/note/definition",
                Breaking,
                Nothing,
            ),
            (
                "~layouts/tape/tables/pin/columns/note/presence",
                Breaking,
                Nothing,
            ),
        ],
        &[
            (
                "~layouts/tape/tables/pin/columns/note/definition",
                Breaking,
                Nothing,
            ),
            (
                "~layouts/tape/tables/pin/columns/note/presence",
                Breaking,
                Nothing,
            ),
        ],
    ),
    case(
        r#"{"layouts":{"tape":{"tables":{"pin":{"constraints":[]}}}}}"#,
        r#"{"layouts":{"tape":{"tables":{"pin":{"constraints":["UNIQUE (head)"]}}}}}"#,
        &[(
            "+layouts/tape/tables/pin/constraints/UNIQUE (head)",
            Breaking,
            Nothing,
        )],
        &[(
            "-layouts/tape/tables/pin/constraints/UNIQUE (head)",
            Breaking,
            Nothing,
        )],
    ),
    // What no rule is about.
    case(
        r#"{}"#,
        r#"{"colours":{"red":1}}"#,
        &[("+colours", Unknown, Major)],
        &[("-colours", Unknown, Major)],
    ),
    case(
        r#"{"limits":1}"#,
        r#"{"limits":{"MAX":1}}"#,
        &[("~limits", Unknown, Major)],
        &[("~limits", Unknown, Major)],
    ),
    // One breaking delta among additive ones is enough.
    case(
        r#"{"adapters":{},"limits":{"MAX":2}}"#,
        r#"{"adapters":{"piton-tape":"TapeStore"},"limits":{"MAX":1}}"#,
        &[
            ("+adapters/piton-tape", Additive, Minor),
            ("~limits/MAX", Breaking, Nothing),
        ],
        &[
            ("-adapters/piton-tape", Breaking, Major),
            ("~limits/MAX", Additive, Nothing),
        ],
    ),
];
