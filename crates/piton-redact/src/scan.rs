//! Finds all secrets of a text: one pass for the rules' literals, a rule's pattern only where one
//! of its literals stands, then one span for what overlaps. Rewrites nothing.

use core::cmp::Reverse;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::rule::{Rule, rules};
use crate::secret::{Hit, Mask, Secret};

/// A secret and the rule that names it.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) rule: &'static Rule,
    pub(crate) secret: Secret,
}

/// The literals of all rules, and for each the index of its rule.
struct Literals {
    automaton: AhoCorasick,
    owners: Vec<usize>,
}

static LITERALS: LazyLock<Literals> = LazyLock::new(|| {
    let (owners, literals): (Vec<usize>, Vec<&str>) = rules()
        .iter()
        .enumerate()
        .flat_map(|(owner, rule)| rule.literals().iter().map(move |literal| (owner, *literal)))
        .unzip();
    // Authorisation schemes come in any case. Other literals get a few vain hits by this, which
    // their patterns sort out. A dense table suits the few dozen literals: one look-up a byte.
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(literals)
        .expect("a few dozen short literals fit any automaton");
    Literals { automaton, owners }
});

/// All secrets of a text, leftmost first, disjoint.
pub(crate) fn findings(text: &str) -> Vec<Finding> {
    let mut candidates = candidates(text);
    candidates.sort_by_key(|(owner, secret)| (secret.span.start, Reverse(secret.span.end), *owner));
    let mut findings: Vec<Finding> = Vec::new();
    for (owner, secret) in candidates {
        match findings.last_mut() {
            Some(last) if secret.span.start < last.secret.span.end => {
                cover(&mut last.secret, &secret);
            }
            Some(_) | None => findings.push(Finding {
                rule: &rules()[owner],
                secret,
            }),
        }
    }
    findings
}

/// Every rule's secrets, with the index of the rule.
fn candidates(text: &str) -> Vec<(usize, Secret)> {
    let mut candidates = Vec::new();
    // A hit inside a secret of the same rule adds nothing. Without skipping it, a rule that reads
    // far from each hit would make the scan quadratic.
    let mut covered = vec![0; rules().len()];
    for found in LITERALS.automaton.find_overlapping_iter(text) {
        let owner = LITERALS.owners[found.pattern().as_usize()];
        let hit = Hit {
            start: found.start(),
            end: found.end(),
        };
        if hit.start < covered[owner] {
            continue;
        }
        if let Some(secret) = rules()[owner].secret_at(text, hit) {
            covered[owner] = secret.span.end;
            candidates.push((owner, secret));
        }
    }
    candidates
}

/// Widens a secret over another that begins inside it. A span that no single rule vouches for has
/// unknown entropy, so it loses its fingerprint.
fn cover(wide: &mut Secret, other: &Secret) {
    if other.span.end > wide.span.end {
        wide.span.end = other.span.end;
        wide.mask = Mask::Plain;
    }
}
