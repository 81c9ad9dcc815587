//! Laws that hold for every text.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::select;

use crate::tokens::{fired, marker, tokens};

/// Pieces of which texts are made that are as nasty as can be.
static PIECES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let fixed = [
        "-----BEGIN ",
        "PRIVATE KEY",
        "-----END ",
        "-----",
        "://",
        r":\/\/",
        "user",
        ":",
        "@",
        "/",
        "Authorization",
        ": ",
        "Bearer ",
        "basic ",
        "dXNlcjpwYXNz",
        "abc123",
        "\"",
        "'",
        "=",
        ",",
        " ",
        "\n",
        "\\n",
        "%22",
        "\u{1b}[0m",
        "-",
        "_",
        ".",
        "a",
        "Z",
        "9",
        "密",
        "<",
        ">",
        "#",
        "?",
        "[",
        "]",
        "<REDACTED>",
        "<REDACTED:fingerprint=0123abcd>",
        "<REDACTED",
        "eyJ",
        "sk-",
        "AKIA",
        "hooks.slack.com/services/",
        "T0/B0/abcdefgh",
    ];
    let tokens = tokens().into_iter().map(|(_, token)| token);
    fixed
        .iter()
        .map(|piece| (*piece).to_owned())
        .chain(tokens)
        .collect()
});

fn nasty_text() -> impl Strategy<Value = String> {
    prop::collection::vec(select(PIECES.as_slice()), 0..24).prop_map(|pieces| pieces.concat())
}

fn check_laws(text: &str) -> Result<(), TestCaseError> {
    let (clean, ids) = fired(text);
    let found = piton_redact::find_secret(text).map(piton_redact::Rule::id);
    prop_assert_eq!(found.is_some(), clean.is_some());
    prop_assert_eq!(ids.is_empty(), clean.is_none());
    let Some(clean) = clean else { return Ok(()) };
    prop_assert_ne!(&clean, text);
    prop_assert!(ids.contains(&found.expect("something was found")));
    let (again, ids) = fired(&clean);
    prop_assert_eq!((again, ids), (None, vec![]), "output was {:?}", clean);
    prop_assert!(piton_redact::find_secret(&clean).is_none());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..<_>::default() })]

    #[test]
    fn redaction_of_arbitrary_text_is_idempotent(text in any::<String>()) {
        check_laws(&text)?;
    }

    #[test]
    fn redaction_of_nasty_text_is_idempotent(text in nasty_text()) {
        check_laws(&text)?;
    }

    #[test]
    fn every_replacement_reports_its_rule_once(text in nasty_text()) {
        let text = text.replace("<REDACTED", "");
        let (clean, ids) = fired(&text);
        let replaced = clean.unwrap_or_default().matches("<REDACTED").count();
        prop_assert_eq!(replaced, ids.len());
    }

    #[test]
    fn embedded_tokens_leave_no_cleartext(
        parts in prop::collection::vec(
            (
                select(tokens()),
                select(vec![" ", "\n", "\"", "'", "=", ": ", ",", "(", "]", "{", "密", "\\n", "%22"]),
                "[ a-z]{0,12}",
            ),
            1..6,
        )
    ) {
        let mut text = String::new();
        let mut expected = String::new();
        for ((_, token), separator, prose) in &parts {
            // Prose may end with a letter, which the separator parts from the token.
            let (before, behind) = (format!("{prose}{separator}"), "\n");
            text.push_str(&(before.clone() + token + behind));
            expected.push_str(&(before + &marker(token) + behind));
        }
        let (clean, ids) = fired(&text);
        let clean = clean.expect("each text holds a token");
        for ((_, token), _, _) in &parts {
            prop_assert!(!clean.contains(token.as_str()));
        }
        let rules: Vec<&str> = parts.iter().map(|((rule, _), _, _)| *rule).collect();
        prop_assert_eq!(&clean, &expected);
        prop_assert_eq!(ids, rules);
    }

    #[test]
    fn a_replaced_whole_string_stays(text in any::<String>()) {
        let whole = piton_redact::redact_whole(&text, &mut |_| {}).unwrap_or(text);
        prop_assert_eq!(piton_redact::redact_whole(&whole, &mut |_| ()), None);
        prop_assert_eq!(fired(&whole), (None, vec![]));
    }

    #[test]
    fn the_case_of_a_separated_name_does_not_matter(words in "[a-zé_.-]{0,24}", rest in ".*") {
        prop_assert_eq!(
            piton_redact::is_secret_name(&words),
            piton_redact::is_secret_name(&words.to_uppercase())
        );
        let joined = format!("{rest}_key_{words}");
        prop_assert!(piton_redact::is_secret_name(&joined));
    }
}
