//! Texts made to be slow. The limit is far above what linear work needs without optimisation and
//! far below what quadratic work takes, so a busy machine does not matter.

use std::time::{Duration, Instant};

use piton_redact::{find_secret, is_secret_name, redact_text};

const LENGTH: usize = 1 << 17;
const LIMIT: Duration = Duration::from_secs(3);

fn check(text: &str) {
    let start = Instant::now();
    let found = find_secret(text).is_some();
    let clean = redact_text(text, &mut |_| {});
    assert_eq!(found, clean.is_some());
    let sample: String = text.chars().take(40).collect();
    assert!(
        start.elapsed() < LIMIT,
        "{:?} for repeats of {sample:?}",
        start.elapsed()
    );
}

#[test]
fn hostile_repeats_take_linear_time() {
    let jwt = ["e", "yJ"].concat();
    let begin = ["-----BEGIN ", "PRIVATE", " KEY-----"].concat();
    let end = begin.replace("BEGIN", "END");
    for unit in [
        jwt.clone(),
        format!("{jwt}-"),
        format!("{jwt}."),
        format!(".{jwt}aaaaaaaa"),
        format!("{jwt}aaaaaaaa.{jwt}aaaaaaaa "),
        "-----BEGIN ".to_owned(),
        "-----BEGIN A B C ".to_owned(),
        begin.clone(),
        format!("{begin}{end}"),
        format!("{end}{begin}"),
        "://".to_owned(),
        r":\/\/".to_owned(),
        "://a:".to_owned(),
        "://a:b".to_owned(),
        "://a:b@".to_owned(),
        "://a:b@ ".to_owned(),
        "://<REDACTED".to_owned(),
        "://<REDACTED:fingerprint=0123abcd".to_owned(),
        "Bearer ".to_owned(),
        "Bearer    \t".to_owned(),
        "bearer-".to_owned(),
        "Bearer a".to_owned(),
        "Bearer a\\".to_owned(),
        "Authorization:Basic ".to_owned(),
        "Authorization: Bearer a1 ".to_owned(),
        "basic dXNl ".to_owned(),
        "sk-".to_owned(),
        "sk-ant-".to_owned(),
        "xox".to_owned(),
        "xoxb-".to_owned(),
        "glpat-".to_owned(),
        "AKIA ".to_owned(),
        "AKIA".to_owned(),
        "hooks.slack.com/services/".to_owned(),
        "a".to_owned(),
        " ".to_owned(),
        "密".to_owned(),
    ] {
        let repeats = unit.repeat(LENGTH / unit.len());
        check(&repeats);
        check(&format!("{}{repeats}", " ".repeat(LENGTH / 4)));
        check(&format!("{jwt}{}", &repeats));
        check(&format!("x://u:{repeats}"));
        check(&format!("Bearer {repeats}"));
    }
}

#[test]
fn long_names_take_linear_time() {
    for unit in ["key", "KEYs", "aB", "s", "_", "passwor"] {
        let start = Instant::now();
        let _ = is_secret_name(&unit.repeat(LENGTH / unit.len()));
        assert!(
            start.elapsed() < LIMIT,
            "{:?} for repeats of {unit:?}",
            start.elapsed()
        );
    }
}
