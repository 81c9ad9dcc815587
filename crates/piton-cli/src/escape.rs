//! Owns the disarming of text from a ledger before it reaches a terminal. It decides nothing
//! about what is shown.

use std::fmt::Write as _;

/// Replaces characters that steer a terminal or reorder text by visible escapes.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hazard(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Does the same to JSON text, by JSON's own escapes, so that it means what it meant.
///
/// The characters in question occur in JSON text inside strings only.
pub(crate) fn json(text: String) -> String {
    if !text.chars().any(is_hazard) {
        return text;
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hazard(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string can't fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Shortens text to so many characters, the last of them an ellipsis if something is missing.
pub(crate) fn shorten(text: &str, characters: usize) -> String {
    let Some((cut, _)) = text.char_indices().nth(characters) else {
        return text.to_owned();
    };
    let kept = text.get(..cut).unwrap_or(text);
    let mut kept: String = kept.chars().take(characters.saturating_sub(1)).collect();
    kept.push('…');
    kept
}

/// Control characters (the C1 set too), what reorders text, and what is invisible.
fn is_hazard(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hazards_are_shown_and_ordinary_text_is_kept() {
        let check = |input: &str, expected: &str| assert_eq!(visible(input), expected);
        check("plain, ünïcode, 漢字", "plain, ünïcode, 漢字");
        check("\u{1b}[2J\r\n", "\\u{1b}[2J\\r\\n");
        check("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}");
        check("a\u{202e}b\u{2066}", "a\\u{202e}b\\u{2066}");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = "a\u{7f}\u{9b}\u{202e}\u{e0041}é\n";
        let text = serde_json::to_string(value).expect("a string serialises");
        let shown = json(text);
        assert!(!shown.chars().any(is_hazard));
        let read: String = serde_json::from_str(&shown).expect("still JSON");
        assert_eq!(read, value);
    }

    #[test]
    fn shortening_counts_characters() {
        assert_eq!(shorten("äöü", 3), "äöü");
        assert_eq!(shorten("äöüß", 3), "äö…");
    }
}
