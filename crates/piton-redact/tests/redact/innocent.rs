//! What must never be touched outside secret-named keys: digests, ids, paths, ordinary text.

use crate::check_untouched;
use crate::tokens::{HEX, Xorshift};

const ROUNDS: usize = 10_000;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const CROCKFORD: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const WORDS: [&str; 24] = [
    "the",
    "basic",
    "bearer",
    "token",
    "of",
    "ledger",
    "is",
    "a",
    "checkpoint",
    "that",
    "replays",
    "keys",
    "patch",
    "sk",
    "task-sk",
    "github",
    "npm",
    "state:",
    "{\"kind\":\"needs_plan\"}",
    "http://",
    "user@host",
    "-----",
    "BEGIN",
    "authorization",
];
const SEGMENTS: [&str; 20] = [
    "home",
    "src",
    "target",
    "debug",
    ".cache",
    "node_modules",
    "@scope",
    "sk-learn",
    "bearer",
    "basic-auth",
    "keys.rs",
    "id_rsa.pub",
    "v1.2.3",
    "a b",
    "données",
    "C:",
    "npm_modules",
    "github_pat_docs",
    "tokens",
    "xoxo",
];

fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let mut padded = [0; 4];
        padded[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(padded);
        for place in 0..=group.len() {
            let digit = usize::try_from(bits >> (18 - 6 * place) & 63).expect("six bits");
            out.push(char::from(alphabet[digit]));
        }
        out.push_str(&"="[..usize::from(group.len() == 2)]);
        out.push_str(&"=="[..2 * usize::from(group.len() == 1)]);
    }
    out
}

fn words(random: &mut Xorshift, count: usize) -> String {
    let words: Vec<&str> = (0..count)
        .map(|_| WORDS[random.below(WORDS.len())])
        .collect();
    words.join(" ")
}

/// Checks a text alone and in the places where such texts stand.
fn check_in_places(text: &str) {
    for place in [
        text.to_owned(),
        format!("commit {text}."),
        format!("\"digest\":\"{text}\""),
        format!("at https://host:8080/{text}@main"),
        format!("key={text}&secret={text}"),
    ] {
        check_untouched(&place);
    }
}

#[test]
fn digests_and_commit_ids_stay() {
    let mut random = Xorshift::new(101);
    for round in 0..ROUNDS {
        let seed = random.next().to_be_bytes();
        check_in_places(blake3::hash(&seed).to_hex().as_str());
        let digest = random.text(HEX, [7, 12, 32, 40, 56, 64, 96, 128][round % 8]);
        check_in_places(&digest);
        check_untouched(&digest.to_uppercase());
        for prefix in [
            "sha1:",
            "sha256:",
            "blake3:",
            "sha512:",
            "image@sha256:",
            "task-",
            "e-",
        ] {
            check_untouched(&format!("{prefix}{digest}"));
        }
        for (name, length) in [("sha256", 32), ("sha384", 48), ("sha512", 64)] {
            check_untouched(&format!("{name}-{}", base64(&random.bytes(length), BASE64)));
        }
    }
}

#[test]
fn uuids_and_ulids_stay() {
    let mut random = Xorshift::new(102);
    for _ in 0..ROUNDS {
        let uuid = [8, 4, 4, 4, 12]
            .map(|length| random.text(HEX, length))
            .join("-");
        check_in_places(&uuid);
        check_untouched(&format!("urn:uuid:{}", uuid.to_uppercase()));
        let ulid = random.text("01234567", 1) + &random.text(CROCKFORD, 25);
        check_in_places(&ulid);
        check_untouched(&ulid.to_lowercase());
    }
}

#[test]
fn base64_of_text_and_of_noise_stays() {
    let mut random = Xorshift::new(103);
    for _ in 0..ROUNDS {
        let count = 1 + random.below(40);
        let text = words(&mut random, count);
        let json = format!("{{\"text\":\"{text}\"}}");
        let noise_length = 1 + random.below(400);
        let noise = random.bytes(noise_length);
        for bytes in [text.as_bytes(), json.as_bytes(), &noise] {
            check_untouched(&base64(bytes, BASE64));
            check_untouched(base64(bytes, BASE64_URL).trim_end_matches('='));
        }
    }
}

#[test]
fn paths_stay() {
    let mut random = Xorshift::new(104);
    for _ in 0..ROUNDS {
        let count = 1 + random.below(8);
        let segments: Vec<&str> = (0..count)
            .map(|_| SEGMENTS[random.below(SEGMENTS.len())])
            .collect();
        for text in [
            format!("/{}", segments.join("/")),
            format!("./{}:12:3", segments.join("/")),
            segments.join("\\"),
            format!("file:///{}", segments.join("/")),
            format!("https://host:8080/{}@x", segments.join("/")),
            format!("git@github.com:{}", segments.join("/")),
        ] {
            check_untouched(&text);
        }
    }
}

#[test]
fn made_up_sentences_stay() {
    let mut random = Xorshift::new(105);
    for _ in 0..ROUNDS {
        let count = 1 + random.below(30);
        let text = words(&mut random, count);
        check_untouched(&text);
    }
}
