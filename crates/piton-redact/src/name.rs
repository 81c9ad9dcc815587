//! Decides whether a key names a secret, by the words it is made of. Never looks at values.

/// The words that name a secret, with their plurals.
const WORDS: [&str; 22] = [
    "authorization",
    "authorizations",
    "cred",
    "credential",
    "credentials",
    "creds",
    "jwt",
    "jwts",
    "key",
    "keys",
    "passphrase",
    "passphrases",
    "passwd",
    "passwds",
    "password",
    "passwords",
    "pat",
    "pats",
    "secret",
    "secrets",
    "token",
    "tokens",
];

/// Tells whether a key names a secret.
///
/// It does when one of its words is `key`, `token`, `secret`, `password`, `passwd`,
/// `passphrase`, `pat`, `jwt`, `cred`, `credential` or `authorization`, or the plural of one, in
/// any case. Words end at everything that is neither a cased letter nor a digit, between letters
/// and digits, and at camel-case humps; adjoining humps count as one word too, so `passWord` is
/// `password`. A word inside a longer one does not count.
///
/// # Examples
///
/// ```
/// use piton_redact::is_secret_name;
///
/// assert!(is_secret_name("x-api-key"));
/// assert!(is_secret_name("HTTPAuthorizationHeader"));
/// assert!(is_secret_name("max_tokens"));
/// assert!(!is_secret_name("monkey"));
/// assert!(!is_secret_name("tokenizer"));
/// ```
#[must_use]
pub fn is_secret_name(key: &str) -> bool {
    key.bytes()
        .enumerate()
        .any(|(start, byte)| begins_a_word(byte) && word_starts_at(key, start))
}

/// One bit for each letter that a word begins with, so that most letters cost one test.
const INITIALS: u32 = {
    let mut initials = 0;
    let mut at = 0;
    while at < WORDS.len() {
        initials |= 1 << (WORDS[at].as_bytes()[0] - b'a');
        at += 1;
    }
    initials
};

fn begins_a_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() && INITIALS >> (byte.to_ascii_lowercase() - b'a') & 1 == 1
}

fn word_starts_at(key: &str, start: usize) -> bool {
    let rest = &key.as_bytes()[start..];
    WORDS.iter().any(|word| {
        rest.get(..word.len())
            .is_some_and(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes()))
            && is_boundary(key, start)
            && is_boundary(key, start + word.len())
    })
}

/// What a character is to the splitting of words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Upper,
    Lower,
    Digit,
    Separator,
}

impl Kind {
    fn of(character: char) -> Self {
        if character.is_uppercase() {
            Self::Upper
        } else if character.is_lowercase() {
            Self::Lower
        } else if character.is_ascii_digit() {
            Self::Digit
        } else {
            Self::Separator
        }
    }
}

/// Whether a word begins or ends at `at`, which is a character boundary.
fn is_boundary(key: &str, at: usize) -> bool {
    let (before, behind) = key.split_at(at);
    let mut behind = behind.chars().map(Kind::of);
    let (Some(last), Some(first)) = (before.chars().next_back().map(Kind::of), behind.next())
    else {
        return true;
    };
    match (last, first) {
        (Kind::Separator, _) | (_, Kind::Separator) | (Kind::Lower, Kind::Upper) => true,
        (Kind::Digit, other) | (other, Kind::Digit) => other != Kind::Digit,
        (Kind::Upper, Kind::Upper) => acronym_ends(&key[at..]),
        (Kind::Upper | Kind::Lower, Kind::Lower) => false,
    }
}

/// Whether the capital that `rest` begins with opens a new hump, as the `K` of `APIKey` does. The
/// `H` of `PATHs` does not: a small `s` at the end is the acronym's plural.
fn acronym_ends(rest: &str) -> bool {
    let mut behind = rest.chars().skip(1);
    let next = behind.next();
    let after = behind.next().map(Kind::of);
    match next {
        Some('s') => matches!(after, Some(Kind::Lower | Kind::Upper)),
        Some(character) => Kind::of(character) == Kind::Lower,
        None => false,
    }
}
