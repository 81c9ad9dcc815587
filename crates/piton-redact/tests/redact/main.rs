//! The rule set through its public API. One binary, so that all parts share the made-up tokens.

mod authorization;
mod corpus;
mod innocent;
mod linear;
mod names;
mod properties;
mod tokens;
mod url;
mod whole;

use tokens::{fired, marker};

/// Checks what one text becomes and which rules did it. Twice, since output must stay as it is.
fn check(text: &str, expected: &str, rules: &[&str]) {
    let (clean, ids) = fired(text);
    assert_eq!(clean.as_deref(), Some(expected), "output for {text:?}");
    assert_eq!(ids, rules, "rules for {text:?}");
    let found = piton_redact::find_secret(text).map(piton_redact::Rule::id);
    assert_eq!(
        found,
        rules.first().copied(),
        "identifier check for {text:?}"
    );
    check_untouched(expected);
}

/// Checks that no rule fires.
fn check_untouched(text: &str) {
    assert_eq!(fired(text), (None, vec![]), "output for {text:?}");
    assert!(
        piton_redact::find_secret(text).is_none(),
        "identifier check for {text:?}"
    );
}

#[test]
fn rules_have_unique_ids_and_descriptions_in_a_fixed_order() {
    let ids: Vec<&str> = piton_redact::rules()
        .iter()
        .map(piton_redact::Rule::id)
        .collect();
    assert_eq!(
        ids,
        [
            "private-key",
            "aws-access-key-id",
            "github-classic-token",
            "github-fine-grained-token",
            "github-oauth-token",
            "github-app-token",
            "github-refresh-token",
            "gitlab-token",
            "slack-token",
            "slack-app-token",
            "slack-webhook",
            "google-api-key",
            "stripe-live-key",
            "anthropic-key",
            "openai-key",
            "npm-token",
            "pypi-token",
            "jwt",
            "url-password",
            "bearer-authorization",
            "basic-authorization",
            "secret-named-key",
        ]
    );
    for rule in piton_redact::rules() {
        assert!(
            rule.description().len() > 5,
            "{} says what it finds",
            rule.id()
        );
        assert_eq!(
            format!("{rule:?}"),
            format!("Rule {{ id: {:?}, .. }}", rule.id())
        );
    }
}

#[test]
fn fingerprint_is_the_start_of_the_blake3_hash_of_the_cleartext() {
    let key = ["sk-", "ant-", &"x".repeat(50)].concat();
    let digest = blake3::hash(key.as_bytes()).to_hex();
    check(
        &key,
        &format!("<REDACTED:fingerprint={}>", &digest[..8]),
        &["anthropic-key"],
    );
    assert_eq!(
        marker(&key),
        format!("<REDACTED:fingerprint={}>", &digest[..8])
    );
}
