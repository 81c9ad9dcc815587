//! Bearer and basic authorisation: credentials go, the English words stay.

use crate::tokens::{HEX, WORD, Xorshift, marker, tokens};
use crate::{check, check_untouched};

const BEARER: &[&str] = &["bearer-authorization"];
const BASIC: &[&str] = &["basic-authorization"];

#[test]
fn in_a_header_every_value_is_a_credential() {
    for (before, behind) in [
        ("Authorization: Bearer ", ""),
        ("authorization: bearer ", "\r\nHost: x"),
        ("PROXY-AUTHORIZATION:BEARER\t", ""),
        ("curl -H 'Authorization: Bearer ", "' https://host"),
        ("{\"Authorization\":\"Bearer ", "\"}"),
        ("{'authorization': 'Bearer ", "'}"),
        ("{\"Authorization\" => \"Bearer ", "\"}"),
        ("[\"Authorization\", \"Bearer ", "\"]"),
        ("(\"authorization\", \"Bearer ", "\")"),
        (r#"{\"Authorization\":[\"Bearer "#, r#"\"]}"#),
        ("Authorization=Bearer%20", "&x=y"),
        ("Authorization: Bearer: ", "."),
    ] {
        for value in ["hunter", "hunter2", "a", "12|abc$def", "a.b_c~d+e/f-g=="] {
            let expected = format!("{before}<REDACTED>{behind}");
            check(&format!("{before}{value}{behind}"), &expected, BEARER);
        }
        let basic = before.replace("earer", "asic").replace("EARER", "ASIC");
        let expected = format!("{basic}<REDACTED>{behind}");
        for value in ["dTpw", "dXNlcjpwYXNz", "dXNlcjpwYXN=", "not-base64"] {
            check(&format!("{basic}{value}{behind}"), &expected, BASIC);
        }
    }
}

#[test]
fn a_long_bearer_value_gets_a_fingerprint() {
    let mut random = Xorshift::new(5);
    for value in [
        random.text(WORD, 31) + "7",
        random.text(HEX, 64),
        random.text(WORD, 200),
    ] {
        check(
            &format!("Authorization: Bearer {value}"),
            &format!("Authorization: Bearer {}", marker(&value)),
            BEARER,
        );
        check(
            &format!("sent bearer {value} twice"),
            &format!("sent bearer {} twice", marker(&value)),
            BEARER,
        );
    }
    for guessable in [
        "abcdefgh".repeat(4),
        "12345678".repeat(4),
        "a1".repeat(15) + "b",
    ] {
        let expected = "Authorization: Bearer <REDACTED>";
        check(
            &format!("Authorization: Bearer {guessable}"),
            expected,
            BEARER,
        );
    }
}

#[test]
fn a_known_token_as_bearer_value_is_named_by_its_own_rule() {
    for (rule, token) in tokens()
        .into_iter()
        .filter(|(rule, _)| *rule != "private-key")
    {
        let token = token.trim_end_matches('.');
        if piton_redact::find_secret(token).is_none() {
            continue;
        }
        check(
            &format!("Authorization: Bearer {token}"),
            &format!("Authorization: Bearer {}", marker(token)),
            &[rule],
        );
    }
}

#[test]
fn a_bearer_value_alone_has_to_be_more_than_a_word() {
    for value in ["abc123", "aB", "1", "a.b", "ab/cd12=="] {
        check(&format!("Bearer {value}"), "Bearer <REDACTED>", BEARER);
        check(
            &format!(" bearer {value}\n"),
            " bearer <REDACTED>\n",
            BEARER,
        );
        check(
            &format!("auth 'Bearer {value}' sent"),
            "auth 'Bearer <REDACTED>' sent",
            BEARER,
        );
        check(
            &format!(r#"{{\"auth\":\"Bearer {value}\"}}"#),
            r#"{\"auth\":\"Bearer <REDACTED>\"}"#,
            BEARER,
        );
    }
}

#[test]
fn in_running_text_a_bearer_value_has_to_be_opaque() {
    for value in [
        "abcdefghijklmn12",
        "aBcDefghijklmnop",
        "ABCD1234567890abcdefgh/+",
    ] {
        check(
            &format!("got Bearer {value}, retrying"),
            "got Bearer <REDACTED>, retrying",
            BEARER,
        );
    }
    for value in [
        "abcdefghijklm12",
        "abcdefghijklmno1",
        "aBcdefghijklmnop",
        "1234567890123456",
        "2026-01-02T03:04:05Z",
        "src/oauth2/handlers/v20.rs",
        "src/OAuth2/handlersAndMore.rs",
        "src/OAuth/handlerFactoryThing",
        "ABCD1234567890ABCDEFGH/+",
        "/usr/lib/x86_64-linux-gnu/oauth2",
        "OAuth2-compatible",
    ] {
        check_untouched(&format!("got Bearer {value}, retrying"));
    }
}

#[test]
fn a_basic_value_outside_a_header_has_to_decode() {
    for value in [
        "dXNlcjpwYXNz",
        "dXNlcjpwYXNzdw==",
        "dXNlcjpwYXNzdw",
        "dXNlcjpww6Rzcw==",
        "dTpw",
        "YWI6cHc=", // the digit 6 is the colon
        "dTo+",
        "dTo-",
        "dTo/",
        "dTo_",
    ] {
        check(&format!("Basic {value}"), "Basic <REDACTED>", BASIC);
        check(
            &format!("sent basic {value}, twice"),
            "sent basic <REDACTED>, twice",
            BASIC,
        );
    }
    for value in [
        "dXNlcnBhc3M=",     // no colon
        "dXNlcjpwYXNzdx==", // a bit left over
        "dXNlcjpwYXNzA",    // a digit alone
        "dXNlcjpwYQB4",     // a control character
        "dXNlcjr//w==",     // no UTF-8
        "dXNlcjpwYXNz.",
        "dXNlcjpwY!NzNz",
    ] {
        let text = format!("sent basic {value}, twice");
        if value.ends_with('.') {
            check(&text, "sent basic <REDACTED>., twice", BASIC);
        } else {
            check_untouched(&text);
        }
    }
}

#[test]
fn ordinary_text_stays() {
    for text in [
        "Basic authorization is required",
        "Bearer of bad news",
        "basic usage",
        "Basic",
        "bearer",
        "Bearer ",
        "Bearer token",
        "Bearer JWT",
        "bearer user1@host",
        "Bearer user1 came",
        "came with bearer user1",
        "Bearer: required",
        "pre-authenticated bearer tokens",
        "the standard-bearer 2024 arrives",
        "basic settings: none",
        "Authorization: Basic usage of headers",
        "authorization: bearer tokens are required",
        "authorization, basic usage2",
        "Authorization: Bearer <token>",
        "Authorization: Bearer ${TOKEN}",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer {token}",
        "Authorization: Bearer ***",
        "Authorization: Bearer <REDACTED>",
        "Authorization: Bearer <REDACTED:fingerprint=0123abcd>",
        "Authorization: Basic <REDACTED>",
        "Bearer <REDACTED>",
        "forbearer abc123",
        "Bearerabc123",
        "acidbasic dXNlcjpwYXNz",
        "www-authenticate: Basic realm=\"api\"",
        "www-authenticate: Bearer realm=\"api\"",
    ] {
        check_untouched(text);
    }
}
