//! The grammars of identifiers, digests and bounded texts, from outside.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use piton_ledger::{
    BlobDigest, ChainHead, DigestError, ErrorId, IdError, Sequence, ShortText, SignalKind,
    TextError, TransitionId, WorkflowId,
};

fn accepts<T>(text: &str)
where
    T: FromStr<Err: Debug>
        + Display
        + serde::Serialize
        + serde::de::DeserializeOwned
        + PartialEq
        + Debug,
{
    let value: T = text
        .parse()
        .unwrap_or_else(|error| panic!("{text:?} was refused: {error:?}"));
    assert_eq!(value.to_string(), text);
    let json = serde_json::to_string(&value).expect("an id serialises");
    assert_eq!(json, format!("{text:?}"));
    assert_eq!(
        serde_json::from_str::<T>(&json).expect("an id reads back"),
        value
    );
}

fn refuses<T: FromStr<Err: PartialEq + Debug> + serde::de::DeserializeOwned + Debug>(
    text: &str,
    expected: T::Err,
) {
    assert_eq!(text.parse::<T>().expect_err(text), expected, "{text:?}");
    let json = serde_json::to_string(text).expect("a string serialises");
    assert!(
        serde_json::from_str::<T>(&json).is_err(),
        "{text:?} was accepted from JSON"
    );
}

#[test]
fn workflow_ids_are_contained_names() {
    for text in [
        "a",
        "0",
        "CVE-2021-44906",
        "a.b_c-d",
        "01HZZZZZZZZZZZZZZZZZZSCN001",
        "console",
        "com10",
        "COM",
        "nul-1",
    ] {
        accepts::<WorkflowId>(text);
    }
    accepts::<WorkflowId>(&"x".repeat(128));
    refuses::<WorkflowId>("", IdError::WorkflowLength);
    refuses::<WorkflowId>(&"x".repeat(129), IdError::WorkflowLength);
    refuses::<WorkflowId>(&"x".repeat(300), IdError::WorkflowLength);
    for text in [
        "a/b", "a\\b", "a\0b", "a b", "a:b", "ä", "\u{ff41}", "аbc", "a\nb", "a%2f", "a*", "~a",
    ] {
        refuses::<WorkflowId>(text, IdError::WorkflowCharacter);
    }
    for text in [".", "..", "...", ".a", "a.", "-a", "a-", "_a", "a_"] {
        refuses::<WorkflowId>(text, IdError::WorkflowEdge);
    }
    for text in [
        "con",
        "CON",
        "Con",
        "prn",
        "AUX",
        "nul",
        "NUL.txt",
        "nul.tar.gz",
        "com0",
        "COM1",
        "com9.x",
        "lpt1",
        "LPT9",
    ] {
        refuses::<WorkflowId>(text, IdError::WorkflowDeviceName);
    }
}

#[test]
fn workflow_ids_that_differ_in_case_differ() {
    let [upper, lower]: [WorkflowId; 2] = ["A", "a"].map(|text| text.parse().expect("an id"));
    assert_ne!(upper, lower);
    assert!(upper < lower);
}

#[test]
fn ids_show_their_text_in_debug_output() {
    let workflow: WorkflowId = "wf-1".parse().expect("an id");
    assert_eq!(format!("{workflow:?}"), "WorkflowId(wf-1)");
    let transition: TransitionId = "01HZZZZZZZZZZZZZSCN001A001".parse().expect("a ULID");
    assert_eq!(
        format!("{transition:?}"),
        "TransitionId(01HZZZZZZZZZZZZZSCN001A001)"
    );
}

#[test]
fn transition_ids_are_upper_case_ulids() {
    accepts::<TransitionId>("00000000000000000000000000");
    accepts::<TransitionId>("7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
    accepts::<TransitionId>("0123456789ABCDEFGHJKMNPQRS");
    accepts::<TransitionId>("6TVWXYZ0000000000000000000");
    refuses::<TransitionId>("8ZZZZZZZZZZZZZZZZZZZZZZZZZ", IdError::TransitionOverflow);
    refuses::<TransitionId>("Z0000000000000000000000000", IdError::TransitionOverflow);
    for letter in ['I', 'L', 'O', 'U', 'a', 'z', '-', '@', '[', '/', ':'] {
        refuses::<TransitionId>(
            &format!("0{letter}000000000000000000000000"),
            IdError::TransitionCharacter,
        );
    }
    refuses::<TransitionId>(&"0".repeat(25), IdError::TransitionLength);
    refuses::<TransitionId>(&"0".repeat(27), IdError::TransitionLength);
    refuses::<TransitionId>("", IdError::TransitionLength);
}

#[test]
fn transition_ids_hold_their_bits() {
    let check = |text: &str, bits: u128| {
        let id: TransitionId = text.parse().expect("a ULID");
        assert_eq!(id.to_bits(), bits, "{text}");
        assert_eq!(TransitionId::from_bits(bits), id);
    };
    check("00000000000000000000000001", 1);
    check("0000000000000000000000000Z", 31);
    check("00000000000000000000000010", 32);
    check("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", u128::MAX);
    for (value, digit) in "0123456789ABCDEFGHJKMNPQRSTVWXYZ".chars().enumerate() {
        check(
            &format!("0000000000000000000000000{digit}"),
            u128::try_from(value).expect("small"),
        );
    }
}

#[test]
fn chain_heads_accept_both_forms_and_write_one() {
    let digits = "0123456789abcdef".repeat(4);
    let prefixed = format!("blake3:{digits}");
    accepts::<ChainHead>(&prefixed);
    let bare: ChainHead = digits.parse().expect("bare digits");
    assert_eq!(bare.to_string(), prefixed);
    assert_eq!(
        bare.as_bytes()[..8],
        [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]
    );
    assert_eq!(bare.to_hex(), digits.as_bytes());
    assert_eq!(ChainHead::from_bytes(*bare.as_bytes()), bare);
    assert_eq!(
        ChainHead::GENESIS.to_string(),
        format!("blake3:{}", "0".repeat(64))
    );
    refuses::<ChainHead>(&digits.to_uppercase(), DigestError::NotLowercaseHex);
    refuses::<ChainHead>(&format!("BLAKE3:{digits}"), DigestError::WrongLength);
    refuses::<ChainHead>(&digits[1..], DigestError::WrongLength);
    refuses::<ChainHead>(&format!("{prefixed}0"), DigestError::WrongLength);
    refuses::<ChainHead>(&format!("blake3:blake3:{digits}"), DigestError::WrongLength);
    refuses::<ChainHead>(&"/".repeat(64), DigestError::NotLowercaseHex);
    refuses::<ChainHead>(&":".repeat(64), DigestError::NotLowercaseHex);
    refuses::<ChainHead>(&"`".repeat(64), DigestError::NotLowercaseHex);
    refuses::<ChainHead>(&"g".repeat(64), DigestError::NotLowercaseHex);
}

#[test]
fn blob_digests_have_one_form() {
    let digits = "fedcba9876543210".repeat(4);
    accepts::<BlobDigest>(&format!("blake3:{digits}"));
    refuses::<BlobDigest>(&digits, DigestError::MissingPrefix);
    refuses::<BlobDigest>(&format!("sha256:{digits}"), DigestError::MissingPrefix);
    let digest: BlobDigest = format!("blake3:{digits}").parse().expect("a digest");
    assert_eq!(BlobDigest::from_bytes(*digest.as_bytes()), digest);
    assert_eq!(
        format!("{digest:?}"),
        format!("BlobDigest(blake3:{digits})")
    );
}

#[test]
fn texts_are_given_as_they_were_read() {
    let error: ErrorId = "workflows.busy".parse().expect("an error id");
    assert_eq!(error.as_str(), "workflows.busy");
    let signal: SignalKind = "tests_failed".parse().expect("a signal");
    assert_eq!(signal.as_str(), "tests_failed");
    let text: ShortText = "two words".parse().expect("short");
    assert_eq!(text.as_str(), "two words");
}

#[test]
fn error_ids_are_two_snake_words() {
    for text in ["a.b", "workflows.checkpoint_integrity_violation", "a1_.b2_"] {
        accepts::<ErrorId>(text);
    }
    for text in [
        "", ".", "a", "a.", ".b", "a.b.c", "A.b", "a.B", "1a.b", "a._b", "a-b.c", "a.b ",
    ] {
        refuses::<ErrorId>(text, IdError::ErrorIdGrammar);
    }
}

#[test]
fn sequences_are_positive_and_fit_the_engines() {
    let most = u64::try_from(i64::MAX).expect("positive");
    assert_eq!(Sequence::try_from(0u64), Err(IdError::SequenceRange));
    assert_eq!(Sequence::try_from(0i64), Err(IdError::SequenceRange));
    assert_eq!(Sequence::try_from(-1i64), Err(IdError::SequenceRange));
    assert_eq!(Sequence::try_from(most + 1), Err(IdError::SequenceRange));
    let last = Sequence::try_from(most).expect("the largest");
    assert_eq!(
        (last.to_u64(), last.to_i64(), last.next()),
        (most, i64::MAX, None)
    );
    assert_eq!(Sequence::FIRST.next().map(Sequence::to_u64), Some(2));
    assert_eq!("12".parse::<Sequence>().map(Sequence::to_i64), Ok(12));
    for text in ["", "0", "-1", "+1", " 1", "1.0", "9223372036854775808"] {
        assert_eq!(
            text.parse::<Sequence>(),
            Err(IdError::SequenceRange),
            "{text:?}"
        );
    }
    assert_eq!(
        serde_json::to_string(&Sequence::FIRST).expect("serialises"),
        "1"
    );
    assert_eq!(
        serde_json::from_str::<Sequence>("7")
            .expect("reads")
            .to_string(),
        "7"
    );
    assert!(serde_json::from_str::<Sequence>("0").is_err());
}

#[test]
fn short_texts_count_characters() {
    let longest = "é".repeat(ShortText::MAX_CHARS);
    accepts::<ShortText>(&longest);
    refuses::<ShortText>(&format!("{longest}x"), TextError::TooLong);
    assert_eq!(
        ShortText::truncated(&format!("{longest}x")).as_str(),
        longest
    );
    assert_eq!(ShortText::truncated("short").as_str(), "short");
    let hidden: ShortText = "hunter2".parse().expect("short");
    assert_eq!(format!("{hidden:?}"), "ShortText(7 bytes)");
}

#[test]
fn signals_are_snake_words() {
    accepts::<SignalKind>("tests_failed");
    accepts::<SignalKind>(&"s".repeat(64));
    refuses::<SignalKind>(&"s".repeat(65), TextError::SignalGrammar);
    for text in ["", "Tests", "tests-failed", "1st", "_x"] {
        refuses::<SignalKind>(text, TextError::SignalGrammar);
    }
}
