//! Owns the facts that the crates tell of themselves in lists.

/// Gives the rules for secrets, in their order.
pub(crate) fn redaction_rules() -> String {
    let rules: Vec<String> = piton_redact::rules()
        .iter()
        .map(|rule| format!("{}: {}", rule.id(), rule.description()))
        .collect();
    rules.join("\n")
}
