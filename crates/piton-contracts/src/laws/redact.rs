//! The law of redaction: it ends, it is idempotent, looking agrees with replacing, and a secret
//! that was planted between two lines is gone, whatever stands around it.

use std::sync::LazyLock;

use piton_ledger::{CanonicalJson, ChainHead, Transition, TransitionEvent, VulnState};
use piton_redact::{Rule, find_secret, redact_text, redact_whole};
use piton_store::seal;
use piton_testkit::history::{event, workflow};

use super::reader::Reader;

/// Made-up secrets: the parts are joined at run time so that no scanner takes this file for a
/// leak.
static SECRETS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let word = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6a7B8c9D0e1F2";
    let upper = "ABCDEFGHIJKLMNOP";
    let digits = "123456789012-123456789012-";
    [
        ["AK", "IA", upper],
        ["AS", "IA", upper],
        ["gh", "p_", &word[..36]],
        ["gh", "o_", &word[..36]],
        ["gh", "s_", &word[..36]],
        ["gl", "pat-", &word[..20]],
        ["xo", "xb-", &[digits, &word[..24]].concat()],
        ["AI", "za", &word[..35]],
        ["sk_", "live_", &word[..24]],
        ["np", "m_", &word[..36]],
    ]
    .map(|parts| parts.concat())
    .into()
});

/// Checks the law on one text, whose first byte chooses the secret to plant and whose second the
/// place.
pub fn check(input: &[u8]) {
    let mut reader = Reader::new(input);
    let (choice, place) = (reader.byte(), reader.byte());
    let text = String::from_utf8_lossy(reader.rest()).into_owned();
    check_text(&text);
    let Some(secret) = SECRETS.get(usize::from(choice) % (SECRETS.len() + 1)) else {
        return;
    };
    // A copy that is glued to other letters is not a token, and may stay.
    if text.contains(secret.as_str()) {
        return;
    }
    let mut at = text.len() * usize::from(place) / 255;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let (before, behind) = text.split_at(at);
    let planted = format!("{before}\n{secret}\n{behind}");
    let clean = check_text(&planted);
    assert!(clean.is_some_and(|clean| !clean.contains(secret.as_str())));
    check_sealed(&planted, secret);
}

/// Checks what holds for every text, and gives its redacted form.
fn check_text(text: &str) -> Option<String> {
    let mut found = Vec::new();
    let clean = redact_text(text, &mut |rule: &'static Rule| found.push(rule.id()));
    assert_eq!(find_secret(text).is_some(), clean.is_some());
    assert_eq!(found.is_empty(), clean.is_none());
    if let Some(clean) = &clean {
        assert_ne!(clean, text);
        assert_eq!(redact_text(clean, &mut |_| ()), None);
        assert!(find_secret(clean).is_none());
    }
    let whole = redact_whole(text, &mut |_| ());
    let whole = whole.as_deref().unwrap_or(text);
    assert_eq!(redact_whole(whole, &mut |_| ()), None);
    assert!(find_secret(whole).is_none());
    clean
}

/// Checks that the secret does not survive sealing as a value, a key, or beneath a secret name.
fn check_sealed(text: &str, secret: &str) {
    let outcome = serde_json::json!({ "log": [text], text: 1, "api_token": { "deep": [text] } });
    let plain = event(
        &workflow("redact"),
        1,
        VulnState::NeedsPlan,
        VulnState::PlanReady,
        "null",
    );
    let event = TransitionEvent::try_from(Transition {
        triggering_outcome: CanonicalJson::from_serialize(&outcome).expect("a shallow tree"),
        chain_head: ChainHead::GENESIS,
        ..plain.into_transition()
    });
    let event = event.expect("a legal edge");
    // Too large a text is refused, and then nothing is stored.
    if let Ok(sealed) = seal(&event) {
        let stored = std::str::from_utf8(sealed.bytes()).expect("canonical text");
        assert!(!stored.contains(secret));
        assert!(!format!("{event:?} {sealed:?}").contains(secret));
        let again = TransitionEvent::<VulnState>::parse(sealed.bytes()).expect("it reads");
        let again = seal(&again).expect("what was sealed can be sealed");
        assert_eq!(again.bytes(), sealed.bytes());
    }
}
