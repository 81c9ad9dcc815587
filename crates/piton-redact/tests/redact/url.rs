//! Passwords in URLs: only the password goes, and nothing that merely has a colon and an `@`.

use crate::tokens::{marker, tokens};
use crate::{check, check_untouched};

#[test]
fn only_the_password_is_replaced() {
    for (before, password, behind) in [
        ("postgres://user:", "hunter2", "@host/db"),
        ("postgres://user:", "12345", "@host:5432/db?sslmode=disable"),
        ("redis://:", "pw", "@localhost:6379/0"),
        ("(https://u:", "p%40ss", "@[::1]:8443/a?b=c@d#e@f)"),
        ("mongodb+srv://u:", "p:w", "@a.example,b.example/db"),
        ("amqp://u:", "p@ss@word", "@host"),
        ("postgres://u:", "pa#s?s", "@host/db?x=y@z"),
        ("http://u:", "pw", "@host?mail=a@b"),
        ("http://u:", "pw", "@host#a@b"),
        ("postgres://u:", "пароль", "@host"),
        ("postgres://u:", "pw", "@/db"),
        ("postgres://u:", "pw", "@"),
        ("url='postgres://u:", "pw'x", "@host'"),
        (r#"{\"url\":\"https:\/\/u:"#, "pw", r#"@host\/db\"}"#),
        ("密https://u:", "pw", "@主机"),
        ("http://user%40corp:", "pw", "@proxy:3128 next"),
        ("https://<REDACTED:fingerprint=0123abcd>:", "pw", "@host"),
        ("https://<REDACTED>:", "pw", "@host"),
        ("http://host:80/ http://u:", "80", "@host"),
    ] {
        check(
            &format!("{before}{password}{behind}"),
            &format!("{before}<REDACTED>{behind}"),
            &["url-password"],
        );
    }
}

#[test]
fn urls_without_a_password_stay() {
    for text in [
        "http://user@host",
        "http://host:8080/path@x",
        "http://host:8080?mail=a@b.example",
        "http://host:8080#a@b",
        "http://host:8080 and a@b.example",
        "http://host:8080\nadmin@b.example",
        "http://[::1]:8080/a@b",
        "http://[::1]:8080?a@b",
        "http://user:@host",
        "http://host/a:b@c",
        "http://host?a:b@c",
        "http://host#a:b@c",
        "\"http://host:8080\",\"a@b.example\"",
        "<http://host:8080>a@b.example",
        "git@github.com:org/repo",
        "ssh://git@github.com:org/repo@v1",
        "https://github.com/org/repo.git@v1.2.3",
        "someone@example.com",
        "mailto:someone@example.com",
        "docker://alpine:3.18@sha256:0123456789abcdef",
        "pkg:npm/%40scope/name@1.2.3",
        "postgres://user:<REDACTED>@host/db",
        "postgres://user:<password>@host/db",
        "https://<REDACTED:fingerprint=0123abcd>@host",
        // No marker, and a bracket ends an address.
        "https://<REDACTED:fingerprint=0123abcdx:pw@host",
        "https://<REDACTED:fingerprint=0123abcx>:pw@host",
        "://",
        "://:@",
        "a://b:",
    ] {
        check_untouched(text);
    }
}

#[test]
fn a_token_as_password_keeps_its_fingerprint_unless_more_is_in_it() {
    let (rule, token) = tokens()
        .into_iter()
        .find(|(rule, _)| *rule == "github-classic-token")
        .expect("a token");
    check(
        &format!("https://u:{token}@github.com/o/r"),
        &format!("https://u:{}@github.com/o/r", marker(&token)),
        &[rule],
    );
    check(
        &format!("https://u:{token}!x@github.com"),
        "https://u:<REDACTED>@github.com",
        &["url-password"],
    );
    check(
        &format!("https://u:x!{token}@github.com"),
        "https://u:<REDACTED>@github.com",
        &["url-password"],
    );
    check(
        &format!("https://{token}:x-oauth-basic@github.com"),
        &format!("https://{}:<REDACTED>@github.com", marker(&token)),
        &[rule, "url-password"],
    );
}
