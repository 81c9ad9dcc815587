//! Owns the walk of the secret rules over the strings of an outcome. The rules themselves live in
//! `piton-redact`.

use piton_ledger::CanonicalJson;
use piton_ledger::json::{JsonError, Rewrite};
use piton_redact::{Rule, find_secret, is_secret_name, redact_text, redact_whole, rules};

use crate::sealed::Redaction;

/// Gives an outcome with every secret in it replaced, and what was replaced.
pub(crate) fn redact(
    outcome: &CanonicalJson,
) -> Result<(CanonicalJson, Vec<Redaction>), JsonError> {
    let mut walk = Walk::default();
    let redacted = outcome.rewrite(&mut walk)?;
    Ok((redacted, walk.into_redactions()))
}

/// Gives the rule that an identifier falls under, if any.
pub(crate) fn secret_in(identifier: &str) -> Option<&'static str> {
    find_secret(identifier).map(Rule::id)
}

/// Rewrites a value beneath keys; `beneath` tells for each open member whether it, or one above
/// it, has a secret name.
#[derive(Default)]
struct Walk {
    beneath: Vec<bool>,
    found: Vec<&'static str>,
}

impl Walk {
    fn is_beneath_secret(&self) -> bool {
        self.beneath.last().copied().unwrap_or(false)
    }

    fn apply(&mut self, text: &str) -> Option<String> {
        let whole = self.is_beneath_secret();
        let mut note = |rule: &'static Rule| self.found.push(rule.id());
        if whole {
            redact_whole(text, &mut note)
        } else {
            redact_text(text, &mut note)
        }
    }

    fn into_redactions(self) -> Vec<Redaction> {
        let Self { found, .. } = self;
        if found.is_empty() {
            return Vec::new();
        }
        let count = |rule: &'static str| found.iter().filter(|id| **id == rule).count();
        rules()
            .iter()
            .map(|rule| Redaction {
                rule: rule.id(),
                count: count(rule.id()),
            })
            .filter(|redaction| redaction.count > 0)
            .collect()
    }
}

impl Rewrite for Walk {
    fn key(&mut self, key: &str) -> Option<String> {
        self.apply(key)
    }

    fn enter(&mut self, key: &str) {
        self.beneath
            .push(self.is_beneath_secret() || is_secret_name(key));
    }

    fn leave(&mut self) {
        self.beneath.pop();
    }

    fn value(&mut self, text: &str) -> Option<String> {
        self.apply(text)
    }
}
