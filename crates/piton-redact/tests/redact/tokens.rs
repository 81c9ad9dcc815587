//! Made-up secrets, assembled at run time so that no secret scanner takes the source for a leak.

use piton_redact::{Rule, redact_text};

/// A small deterministic generator: reproducible, without a dependency.
pub(crate) struct Xorshift(u64);

impl Xorshift {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).expect("a small limit");
        usize::try_from(self.next() % limit).expect("below a small limit")
    }

    pub(crate) fn text(&mut self, alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length)
            .map(|_| letters[self.below(letters.len())])
            .collect()
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next().to_be_bytes()[0]).collect()
    }
}

pub(crate) const HEX: &str = "0123456789abcdef";
pub(crate) const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
pub(crate) const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub(crate) const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Runs the rules and collects the ids of those that fired.
pub(crate) fn fired(text: &str) -> (Option<String>, Vec<&'static str>) {
    let mut ids = Vec::new();
    let clean = redact_text(text, &mut |rule: &'static Rule| ids.push(rule.id()));
    (clean, ids)
}

/// The replacement of a secret with enough entropy.
pub(crate) fn marker(cleartext: &str) -> String {
    let digest = blake3::hash(cleartext.as_bytes()).to_hex();
    format!("<REDACTED:fingerprint={}>", &digest[..8])
}

/// Tokens that each stand for themselves, with the rule that finds them.
pub(crate) fn tokens() -> Vec<(&'static str, String)> {
    let mut random = Xorshift::new(7);
    let mut tokens = Vec::new();
    let mut add = |rule, prefix: &[&str], alphabet, length| {
        tokens.push((rule, prefix.concat() + &random.text(alphabet, length)));
    };
    add("aws-access-key-id", &["AK", "IA"], UPPER, 16);
    add("aws-access-key-id", &["AS", "IA"], UPPER, 16);
    add("aws-access-key-id", &["AB", "IA"], UPPER, 16);
    add("github-classic-token", &["gh", "p_"], WORD, 36);
    add("github-classic-token", &["gh", "p_"], WORD, 251);
    add(
        "github-fine-grained-token",
        &["github", "_pat_", "11ABCDEFG0abcdefghijkl_"],
        WORD,
        59,
    );
    add("github-oauth-token", &["gh", "o_"], WORD, 36);
    add("github-app-token", &["gh", "u_"], WORD, 36);
    add("github-app-token", &["gh", "s_"], WORD, 36);
    add("github-refresh-token", &["gh", "r_"], WORD, 76);
    for kind in [
        "pat", "dt", "rt", "rtr", "cbt", "ptt", "ft", "imt", "agent", "soat", "oas", "ffct",
    ] {
        add("gitlab-token", &["gl", kind, "-"], URL, 20);
    }
    add("gitlab-token", &["gl", "rt-", "t1_"], URL, 20);
    add(
        "slack-token",
        &["xo", "xb-", "123456789012-123456789012-"],
        WORD,
        24,
    );
    add(
        "slack-token",
        &["xo", "xp-", "123456789012-123456789012-"],
        HEX,
        32,
    );
    add("slack-token", &["xo", "xd-", "ab%2Bcd%2F"], WORD, 24);
    add(
        "slack-app-token",
        &["xa", "pp-", "1-A0123456789-1234567890123-"],
        HEX,
        64,
    );
    add("google-api-key", &["AI", "za"], URL, 35);
    add("stripe-live-key", &["sk", "_live_"], WORD, 24);
    add("stripe-live-key", &["rk", "_live_"], WORD, 99);
    add("anthropic-key", &["sk-", "ant-", "api03-"], URL, 93);
    add("openai-key", &["sk", "-"], WORD, 48);
    add("openai-key", &["sk", "-"], HEX, 32);
    add("openai-key", &["sk", "-proj-"], URL, 156);
    add("openai-key", &["sk", "-svcacct-"], URL, 156);
    add("openai-key", &["sk", "-admin-"], URL, 156);
    add("npm-token", &["np", "m_"], WORD, 36);
    add("pypi-token", &["py", "pi-", "AgEIcHlwaS5vcmc"], URL, 150);
    add(
        "pypi-token",
        &["py", "pi-", "AgENdGVzdC5weXBpLm9yZw"],
        URL,
        150,
    );
    let part = |length| Xorshift::new(11).text(WORD, length);
    tokens.push(("anthropic-key", ["sk-", "ant-", &"x".repeat(50)].concat()));
    tokens.push((
        "gitlab-token",
        ["gl", "pat-", &part(27), ".01.", "0a1b2c3d4"].concat(),
    ));
    for parts in [
        [part(17), ["e", "yJ", &part(40)].concat(), part(43)].join("."),
        [part(17), part(40), String::new()].join("."),
        [part(17), part(30), part(12), part(40), part(16)].join("."),
        [part(17), String::new(), part(12), part(40), part(16)].join("."),
    ] {
        tokens.push(("jwt", ["e", "yJ", &parts].concat()));
    }
    for label in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
        tokens.push(("private-key", private_key(label, "")));
    }
    tokens.push(("private-key", private_key("PGP ", " BLOCK")));
    tokens
}

/// A whole PEM block.
pub(crate) fn private_key(label: &str, block: &str) -> String {
    let mut random = Xorshift::new(3);
    let [first, second] = [random.text(WORD, 64), random.text(WORD, 30)];
    let line = |edge: &str| {
        format!(
            "-----{edge} {label}{}{block}-----",
            ["PRIVATE", "KEY"].join(" ")
        )
    };
    format!("{}\n{first}\n{second}==\n{}", line("BEGIN"), line("END"))
}
