//! Strings beneath secret-named keys.

use piton_redact::{Rule, redact_whole};

fn check(text: &str, expected: Option<&str>) {
    let mut ids = Vec::new();
    let clean = redact_whole(text, &mut |rule: &'static Rule| ids.push(rule.id()));
    assert_eq!(clean.as_deref(), expected, "{text:?}");
    let fired = if expected.is_some() {
        &["secret-named-key"][..]
    } else {
        &[]
    };
    assert_eq!(ids, fired, "{text:?}");
}

#[test]
fn markers_stay() {
    for text in [
        "<REDACTED>",
        "<REDACTED>#2",
        "<REDACTED>#10",
        "<REDACTED>#4294967295",
    ] {
        check(text, None);
    }
}

#[test]
fn everything_else_is_replaced() {
    for text in [
        "",
        "hunter2",
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "<REDACTED:fingerprint=0123abcd>",
        "<REDACTED",
        "<REDACTED> ",
        " <REDACTED>",
        "<REDACTED>#",
        "<REDACTED>#0",
        "<REDACTED>#1",
        "<REDACTED>#02",
        "<REDACTED>#+2",
        "<REDACTED>#-2",
        "<REDACTED>#2x",
        "<REDACTED>#2#2",
        "<REDACTED>#٢",
        "<REDACTED>#99999999999999999999",
        "<REDACTED><REDACTED>",
        "<redacted>",
    ] {
        check(text, Some("<REDACTED>"));
    }
}
