//! What each rule finds, and what comes close without being it.

use std::collections::BTreeSet;

use crate::tokens::{HEX, UPPER, URL, WORD, Xorshift, marker, private_key, tokens};
use crate::{check, check_untouched};

/// Texts that look a little like a rule's secret.
fn near_misses() -> Vec<(&'static str, Vec<String>)> {
    let mut random = Xorshift::new(23);
    let mut text =
        |prefix: &[&str], alphabet, length| prefix.concat() + &random.text(alphabet, length);
    let certificate = private_key("", "").replace("PRIVATE KEY", "CERTIFICATE");
    let public_key = private_key("", "").replace("PRIVATE", "PUBLIC");
    vec![
        (
            "private-key",
            vec![
                certificate,
                public_key,
                ["-----BEGIN ", "PRIVATE KEY"].concat(),
            ],
        ),
        (
            "aws-access-key-id",
            vec![
                text(&["AK", "IA"], UPPER, 15),
                text(&["AK", "IA"], UPPER, 17),
                text(&["AK", "IA"], UPPER, 16) + "a",
                text(&["ak", "ia"], HEX, 16),
                "ASIA-PACIFIC REGION".to_owned(),
            ],
        ),
        (
            "github-classic-token",
            vec![text(&["gh", "p_"], WORD, 35), text(&["GH", "P_"], WORD, 36)],
        ),
        (
            "github-fine-grained-token",
            vec!["github_pat_rotation".to_owned()],
        ),
        ("github-oauth-token", vec![text(&["gh", "o_"], WORD, 35)]),
        (
            "github-app-token",
            vec![text(&["gh", "u_"], WORD, 35), text(&["gh", "t_"], WORD, 36)],
        ),
        ("github-refresh-token", vec![text(&["gh", "r_"], WORD, 35)]),
        (
            "gitlab-token",
            vec![
                text(&["gl", "pat-"], URL, 19),
                text(&["gl", "zzz-"], URL, 20),
            ],
        ),
        (
            "slack-token",
            vec![
                text(&["xo", "xb-"], WORD, 9),
                "xoxo-from-all-of-us".to_uppercase(),
            ],
        ),
        ("slack-app-token", vec![text(&["xa", "pp-"], WORD, 19)]),
        (
            "slack-webhook",
            vec![
                "https://hooks.slack.com/".to_owned(),
                "https://hooks.slack.com/services/".to_owned(),
                "https://hooks.slack.com/services/help".to_owned(),
            ],
        ),
        (
            "google-api-key",
            vec![text(&["AI", "za"], URL, 34), text(&["AI", "ZA"], WORD, 35)],
        ),
        (
            "stripe-live-key",
            vec![
                text(&["sk", "_live_"], WORD, 15),
                text(&["sk", "_test_"], WORD, 24),
                text(&["pk", "_live_"], WORD, 24),
            ],
        ),
        ("anthropic-key", vec![text(&["sk-", "ant-"], WORD, 19)]),
        (
            "openai-key",
            vec![
                text(&["sk", "-"], WORD, 31),
                text(&["sk", "-proj-"], WORD, 19),
                text(&["sk", "-"], HEX, 40),
                text(&["sk", "-"], HEX, 64),
                text(&["ta", "sk", "-"], WORD, 48),
                text(&["di", "sk", "-proj-"], WORD, 48),
            ],
        ),
        (
            "npm-token",
            vec![
                text(&["np", "m_"], WORD, 35),
                "npm_config_registry_authentication_type".to_owned(),
            ],
        ),
        (
            "pypi-token",
            vec![
                text(&["py", "pi-", "AgE"], URL, 31),
                text(&["py", "pi-"], URL, 60),
            ],
        ),
        (
            "jwt",
            vec![
                text(&["e", "yJ"], WORD, 200),
                text(&["e", "yJ"], WORD, 20) + ".abc.def",
                text(&["e", "yJ"], WORD, 7) + ".abcdefgh.abcdefgh",
                text(&["e", "yJ"], WORD, 20) + ".abcdefghij",
                text(&["e", "yJ"], WORD, 20) + "...",
                text(&["-e", "yJ"], WORD, 20) + ".abcdefghij.abcdefghij",
            ],
        ),
        ("url-password", vec!["https://host:8080/path@x".to_owned()]),
        (
            "bearer-authorization",
            vec!["Bearer of bad news".to_owned()],
        ),
        (
            "basic-authorization",
            vec!["Basic authorization is what it is".to_owned()],
        ),
        (
            "secret-named-key",
            vec!["token".to_owned(), "password: hunter2".to_owned()],
        ),
    ]
}

/// What may surround a token without hiding it.
const SURROUNDINGS: [(&str, &str); 26] = [
    ("", ""),
    (" ", " "),
    ("\t", "\r\n"),
    ("\"", "\""),
    ("'", "'"),
    ("`", "`"),
    ("value=", "&next=1"),
    ("value:", ";"),
    ("value: ", ", next"),
    ("[", "]"),
    ("{", "}"),
    ("(", ")"),
    ("<", ">"),
    ("a,", ",b"),
    ("$", "!"),
    ("/", "/x"),
    ("|", "|"),
    ("密", "語"),
    ("é", "é"),
    ("🔑", "🔑"),
    (r"\n", r"\n"),
    (r"\u0022", r"\u0022"),
    (r"\x22", r"\x22"),
    ("%3D", " "),
    ("\u{1b}[1;32m", "\u{1b}[0m"),
    ("<REDACTED>", "<REDACTED>"),
];

#[test]
fn every_rule_has_a_corpus_entry() {
    let all: BTreeSet<&str> = piton_redact::rules()
        .iter()
        .map(piton_redact::Rule::id)
        .collect();
    let missed: BTreeSet<&str> = near_misses().iter().map(|(rule, _)| *rule).collect();
    assert_eq!(all, missed);
    let mut found: BTreeSet<&str> = tokens().iter().map(|(rule, _)| *rule).collect();
    // Their secrets need a context, so they have tables of their own.
    found.extend([
        "slack-webhook",
        "url-password",
        "bearer-authorization",
        "basic-authorization",
    ]);
    found.insert("secret-named-key");
    assert_eq!(all, found);
}

#[test]
fn near_misses_stay() {
    for (_, texts) in near_misses() {
        for text in texts {
            check_untouched(&text);
        }
    }
}

#[test]
fn every_token_is_found_in_all_surroundings() {
    for (rule, token) in tokens() {
        for (before, behind) in SURROUNDINGS {
            check(
                &format!("{before}{token}{behind}"),
                &format!("{before}{}{behind}", marker(&token)),
                &[rule],
            );
        }
    }
}

#[test]
fn a_token_inside_a_word_is_not_found() {
    for (rule, token) in tokens()
        .into_iter()
        .filter(|(rule, _)| *rule != "private-key")
    {
        for before in [
            "a", "Z", "0", r"\\q", "%4", "%zz", r"\xzz", r"\x4g", r"\uzzzz", r"\u004g", "m",
            "[1;32", "[1;3xm",
        ] {
            let text = format!("{before}{token}");
            assert!(
                piton_redact::find_secret(&text).is_none(),
                "{rule} in {text:?}"
            );
        }
    }
}

#[test]
fn hyphens_and_underscores_part_words_except_before_a_jwt() {
    for (rule, token) in tokens().into_iter().filter(|(rule, _)| *rule != "jwt") {
        for before in ["company-", "NAME_"] {
            check(
                &format!("{before}{token}"),
                &format!("{before}{}", marker(&token)),
                &[rule],
            );
        }
    }
}

#[test]
fn several_tokens_are_replaced_from_left_to_right() {
    let tokens = tokens();
    let texts: Vec<&str> = tokens.iter().map(|(_, token)| token.as_str()).collect();
    let markers: Vec<String> = tokens.iter().map(|(_, token)| marker(token)).collect();
    let rules: Vec<&str> = tokens.iter().map(|(rule, _)| *rule).collect();
    check(&texts.join(", "), &markers.join(", "), &rules);
}

#[test]
fn a_cut_off_private_key_is_redacted_to_the_end() {
    let whole = private_key("RSA ", "");
    let (first_line, _) = whole.split_once('\n').expect("several lines");
    for cut in [first_line.len(), 80, whole.len() - 40, whole.len() - 1] {
        let block = &whole[..cut];
        check(
            &format!("key:\n{block}"),
            &format!("key:\n{}", marker(block)),
            &["private-key"],
        );
    }
}

#[test]
fn a_private_key_ends_at_its_own_last_line() {
    let key = private_key("EC ", "");
    let certificate = private_key("", "").replace("PRIVATE KEY", "CERTIFICATE");
    check(
        &format!("{certificate}\n{key}\n{certificate}\n{key}"),
        &format!("{certificate}\n{0}\n{certificate}\n{0}", marker(&key)),
        &["private-key", "private-key"],
    );
    let cut = &key[..80];
    let joined = format!("{cut}\n{certificate}\n{key}");
    check(
        &format!("{joined}\nrest"),
        &format!("{}\nrest", marker(&joined)),
        &["private-key"],
    );
}

#[test]
fn slack_webhooks_keep_their_host() {
    let parts = ["T0123ABCD/", "B0123ABCD/", "abcdefABCDEF012345678901"].concat();
    for kind in ["services", "workflows", "triggers"] {
        let url = format!("https://hooks.slack.com/{kind}/");
        check(
            &format!("post to {url}{parts}, now"),
            &format!("post to {url}{}, now", marker(&parts)),
            &["slack-webhook"],
        );
    }
}

#[test]
fn a_secret_set_free_by_another_is_taken_too() {
    let key = private_key("", "");
    let (_, token) = tokens()
        .into_iter()
        .find(|(rule, _)| *rule == "jwt")
        .expect("a jwt");
    check(
        &format!("{key}{token}"),
        &format!("{}{}", marker(&key), marker(&token)),
        &["private-key", "jwt"],
    );
}

#[test]
fn secrets_that_touch_are_two() {
    let key = private_key("", "");
    for (rule, token) in tokens()
        .into_iter()
        .filter(|(rule, _)| !matches!(*rule, "jwt" | "private-key"))
    {
        check(
            &format!("{key}{token}"),
            &format!("{}{}", marker(&key), marker(&token)),
            &["private-key", rule],
        );
    }
}

#[test]
fn overlapping_secrets_leave_nothing_between_them() {
    // The bearer value runs into the key's first line, the key far beyond the value.
    let key = private_key("", "");
    check(
        &format!("Authorization: Bearer abc1{key} rest"),
        "Authorization: Bearer <REDACTED> rest",
        &["bearer-authorization"],
    );
    // No single rule vouches for the union, so it gets no fingerprint.
    let value = "a1".repeat(20);
    check(
        &format!("Authorization: Bearer {value}{key} rest"),
        "Authorization: Bearer <REDACTED> rest",
        &["bearer-authorization"],
    );
}
