//! Owns the facts of the vulnerability ledger, the limits of values, and the ids of errors. Limits
//! that have no constant are found by trying.

use std::collections::BTreeSet;
use std::path::Path;

use piton_ledger::json::{MAX_LEVELS, canonicalize};
use piton_ledger::{
    BlobDigest, ChainHead, ErrorId, Role, Sequence, ShortText, SignalKind, StateMachine,
    TransitionId, VulnState, WorkflowId,
};

/// Gives the kinds, roles and edges of the vulnerability ledger.
pub(crate) fn machine() -> String {
    let slugs = |kinds: &[VulnState]| {
        let slugs: Vec<&str> = kinds.iter().map(|kind| kind.slug()).collect();
        slugs.join(", ")
    };
    let those = |holds: fn(VulnState) -> bool| {
        let kinds: Vec<VulnState> = VulnState::KINDS
            .iter()
            .copied()
            .filter(|kind| holds(*kind))
            .collect();
        slugs(&kinds)
    };
    let mut text = format!(
        "ledger      {}\ninitial     {}\nboundaries  {}\nterminals   {}\n\n",
        VulnState::LEDGER,
        VulnState::INITIAL.slug(),
        those(VulnState::is_boundary),
        those(VulnState::is_terminal),
    );
    for kind in VulnState::KINDS {
        let role = match kind.role() {
            Role::Passing => "passing",
            Role::Boundary => "boundary",
            Role::Terminal => "terminal",
        };
        let next = match kind.successors() {
            [] => "nothing".to_owned(),
            successors => slugs(successors),
        };
        text.push_str(&format!("{:21}  {role:8}  → {next}\n", kind.slug()));
    }
    text
}

/// Gives the limits and grammars of everything that is bounded.
pub(crate) fn limits() -> String {
    let workflow = |text: &str| text.parse::<WorkflowId>().is_ok();
    let transition = |text: &str| text.parse::<TransitionId>().is_ok();
    let signal = |text: &str| text.parse::<SignalKind>().is_ok();
    let short = |text: &str| text.parse::<ShortText>().is_ok();
    let error = |text: &str| text.parse::<ErrorId>().is_ok();
    let sequence = |number: u64| Sequence::try_from(number).is_ok();
    let levels = |levels: usize| {
        canonicalize(format!("{}{}", "[".repeat(levels), "]".repeat(levels)).as_bytes()).is_ok()
    };
    assert!(levels(MAX_LEVELS) && !levels(MAX_LEVELS + 1));
    assert!(!sequence(0) && sequence(1));
    let last = u64::try_from(i64::MAX).expect("it is positive");
    assert!(sequence(last) && !sequence(last + 1));
    let zeros = "0".repeat(25);
    let devices: Vec<String> = ["con", "prn", "aux", "nul"]
        .map(str::to_owned)
        .into_iter()
        .chain(
            ["com", "lpt"]
                .iter()
                .flat_map(|name| (0..=9).map(move |digit| format!("{name}{digit}"))),
        )
        .filter(|name| !workflow(name) && !workflow(&format!("{}.x", name.to_uppercase())))
        .collect();
    let digests = ["blake3:HEX", "BLAKE3:HEX", "sha256:HEX", "HEX"];
    let taken = |accepts: fn(&str) -> bool| {
        let forms: Vec<&str> = digests
            .into_iter()
            .filter(|form| accepts(&form.replace("HEX", &"0a".repeat(32))))
            .collect();
        forms.join(", ")
    };
    [
        (
            "event",
            format!("at most {} canonical bytes", piton_store::MAX_EVENT_BYTES),
        ),
        (
            "event, too large",
            piton_store::PAYLOAD_TOO_LARGE.to_owned(),
        ),
        (
            "JSON levels",
            format!("at most {MAX_LEVELS}, the outermost is 1"),
        ),
        ("sequence", format!("1 to {last}")),
        (
            "workflow id, bytes",
            lengths(200, |length| workflow(&"a".repeat(length))),
        ),
        (
            "workflow id, first",
            letters(|letter| workflow(&format!("{letter}a"))),
        ),
        (
            "workflow id, between",
            letters(|letter| workflow(&format!("a{letter}a"))),
        ),
        (
            "workflow id, last",
            letters(|letter| workflow(&format!("a{letter}"))),
        ),
        ("workflow id, refused", devices.join(" ")),
        (
            "transition id, characters",
            lengths(40, |length| transition(&"0".repeat(length))),
        ),
        (
            "transition id, first",
            letters(|letter| transition(&format!("{letter}{zeros}"))),
        ),
        (
            "transition id, others",
            letters(|letter| transition(&format!("{zeros}{letter}"))),
        ),
        (
            "error id, first of a word",
            letters(|letter| error(&format!("a.{letter}a"))),
        ),
        (
            "error id, others",
            letters(|letter| error(&format!("a.a{letter}"))),
        ),
        (
            "error id, words",
            lengths(5, |words| error(&vec!["a"; words].join("."))),
        ),
        (
            "signal, bytes",
            lengths(200, |length| signal(&"a".repeat(length))),
        ),
        (
            "signal, first",
            letters(|letter| signal(&letter.to_string())),
        ),
        (
            "signal, others",
            letters(|letter| signal(&format!("a{letter}"))),
        ),
        (
            "short text, characters",
            lengths(5000, |length| short(&"é".repeat(length))),
        ),
        (
            "chain head",
            taken(|text| text.parse::<ChainHead>().is_ok()),
        ),
        (
            "blob digest",
            taken(|text| text.parse::<BlobDigest>().is_ok()),
        ),
        (
            "digest, HEX",
            letters(|letter| {
                format!("blake3:{}{letter}", "0".repeat(63))
                    .parse::<BlobDigest>()
                    .is_ok()
            }),
        ),
        (
            "SQLite layout version",
            piton_sqlite::LAYOUT_VERSION.to_string(),
        ),
        (
            "Postgres layout version",
            piton_postgres::LAYOUT_VERSION.to_string(),
        ),
        (
            "SQLite open connections",
            format!("at most {}", piton_sqlite::MAX_OPEN_CONNECTIONS),
        ),
    ]
    .map(|(name, limit)| format!("{name:25}  {limit}"))
    .join("\n")
}

/// Gives the lengths up to `most` that are accepted, which must be one run.
fn lengths(most: usize, accepts: impl Fn(usize) -> bool) -> String {
    let accepted: Vec<usize> = (0..=most).filter(|length| accepts(*length)).collect();
    let (Some(first), Some(last)) = (accepted.first(), accepted.last()) else {
        panic!("no length is accepted");
    };
    assert_eq!(
        accepted,
        Vec::from_iter(*first..=*last),
        "a length is left out"
    );
    assert!(*last < most, "the limit is beyond {most}");
    if first == last {
        format!("{first}")
    } else {
        format!("{first} to {last}")
    }
}

/// Gives the characters that are accepted, as ranges; no one outside ASCII may be.
fn letters(accepts: impl Fn(char) -> bool) -> String {
    for letter in [
        '\u{80}', '\u{e9}', '\u{17f}', '\u{212a}', '\u{663}', '\u{ff41}',
    ] {
        assert!(!accepts(letter), "{letter} is accepted");
    }
    let accepted: Vec<u8> = (0..128).filter(|byte| accepts(char::from(*byte))).collect();
    let ranges: Vec<String> = accepted
        .chunk_by(|before, after| before + 1 == *after)
        .map(|run| {
            let (first, last) = (run[0], run[run.len() - 1]);
            if first == last {
                char::from(first).to_string()
            } else {
                format!("{}-{}", char::from(first), char::from(last))
            }
        })
        .collect();
    ranges.join(" ")
}

/// Gives every error id, which must be the ones that the sources name.
pub(crate) fn error_ids() -> String {
    let declared = BTreeSet::from([
        piton_store::PAYLOAD_TOO_LARGE.to_owned(),
        piton_verify::INTEGRITY_ERROR_ID.to_owned(),
    ]);
    for id in &declared {
        assert!(id.parse::<ErrorId>().is_ok(), "{id} is no error id");
    }
    let mut named = BTreeSet::new();
    for entry in std::fs::read_dir(super::root().join("crates")).expect("the crates") {
        let sources = entry.expect("an entry").path().join("src");
        collect_ids(&sources, &mut named);
    }
    assert_eq!(declared, named, "an error id is not listed, or not in use");
    Vec::from_iter(declared).join("\n")
}

/// Collects the texts of the area `workflows`, the only one there is, from source files.
fn collect_ids(folder: &Path, ids: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect_ids(&path, ids);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = std::fs::read_to_string(&path).expect("source text");
            ids.extend(source.split("\"workflows.").skip(1).map(|rest| {
                let name = rest.split('"').next().expect("a text ends");
                format!("workflows.{name}")
            }));
        }
    }
}

/// Gives the rules for secrets, in their order.
pub(crate) fn redaction_rules() -> String {
    let rules: Vec<String> = piton_redact::rules()
        .iter()
        .map(|rule| format!("{}: {}", rule.id(), rule.description()))
        .collect();
    rules.join("\n")
}
