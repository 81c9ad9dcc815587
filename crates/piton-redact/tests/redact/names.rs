//! Which keys name secrets.

use piton_redact::is_secret_name;

const WORDS: [&str; 11] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pat",
    "jwt",
    "cred",
    "credential",
    "authorization",
];

fn check(key: &str, expected: bool) {
    assert_eq!(is_secret_name(key), expected, "{key:?}");
}

/// `word` as a hump of a camel-case name.
fn hump(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

#[test]
fn every_word_counts_in_every_position_and_case() {
    for word in WORDS {
        for word in [word.to_owned(), format!("{word}s")] {
            let (upper, hump) = (word.to_uppercase(), hump(&word));
            for key in [
                word.clone(),
                upper.clone(),
                hump.clone(),
                format!("x_{word}"),
                format!("{word}_x"),
                format!("a-{word}-b"),
                format!("A_{upper}_B"),
                format!("a.{word}"),
                format!("a {word}"),
                format!("a/{word}:b"),
                format!("the{hump}"),
                format!("the{hump}Name"),
                format!("HTTP{hump}"),
                format!("the{upper}"),
                format!("{word}2"),
                format!("2{word}"),
                format!("{word}Name"),
                format!("日本{word}語"),
                format!("é_{word}"),
            ] {
                check(&key, true);
            }
            for key in [
                format!("a{word}"),
                format!("{word}a"),
                format!("é{word}"),
                format!("{word}é"),
            ] {
                check(&key, false);
            }
        }
    }
}

#[test]
fn names_in_use_are_recognised() {
    for key in [
        "API_KEY",
        "apiKey2",
        "APIKey",
        "APIKeys",
        "x-api-key",
        "HTTPAuthorizationHeader",
        "Authorization",
        "proxy-authorization",
        "max_tokens",
        "GithubPAT",
        "PATs",
        "JWTs",
        "JWTsById",
        "KEYAsset",
        "TOKENIsSet",
        "passWord",
        "userPassWord",
        "PassPhrase",
        "ToKeN",
        "AWS_SECRET_ACCESS_KEY",
        "aws.credentials",
        "k8sToken",
        "oauth2Token",
        "keyId",
    ] {
        check(key, true);
    }
}

#[test]
fn words_that_only_contain_one_are_not() {
    for key in [
        "",
        "keyboard",
        "monkey",
        "monKeyboard",
        "path",
        "PATH",
        "PATHs",
        "classPath",
        "patch",
        "patchApplied",
        "pattern",
        "tokenizer",
        "Tokenizer",
        "compatible",
        "compatibility",
        "secretary",
        "credit",
        "incredible",
        "accredited",
        "passwordless",
        "authorizations2x"
            .trim_end_matches("2x")
            .trim_end_matches('s')
            .trim_end_matches("ion"),
        "k_e_y",
        "spatial",
        "mapAt",
        "evidence_digest",
        "transition_id",
        "kéy",
    ] {
        check(key, false);
    }
}
