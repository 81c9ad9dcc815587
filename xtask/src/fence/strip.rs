//! Blanks out comments and string literals, so that rules about code see code alone.
//!
//! It knows just enough of Rust's lexical grammar for that, and keeps every line break.

/// Replaces comments and the insides of strings by spaces; lines keep their numbers.
pub(super) fn code_only(source: &str) -> String {
    let mut scanner = Scanner {
        rest: source,
        code: String::with_capacity(source.len()),
    };
    while scanner.step() {}
    scanner.code
}

struct Scanner<'a> {
    rest: &'a str,
    code: String,
}

impl Scanner<'_> {
    /// Moves one token on; false at the end.
    fn step(&mut self) -> bool {
        let Some(next) = self.rest.chars().next() else {
            return false;
        };
        if self.rest.starts_with("//") {
            self.blank(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.blank(block_comment_length(self.rest));
        } else if let Some(length) = raw_string_length(self.rest) {
            self.blank(length);
        } else if next == '"' {
            self.blank(string_length(self.rest));
        } else if let Some(length) = character_length(self.rest) {
            self.blank(length);
        } else if is_word(next) {
            // A word is taken whole: the `r` that ends an identifier opens no raw string.
            let end = self.rest.find(|character| !is_word(character));
            self.keep(end.unwrap_or(self.rest.len()));
        } else {
            self.keep(next.len_utf8());
        }
        true
    }

    fn keep(&mut self, length: usize) {
        let (token, rest) = self.rest.split_at(length);
        self.code.push_str(token);
        self.rest = rest;
    }

    fn blank(&mut self, length: usize) {
        let (token, rest) = self.rest.split_at(length);
        let blanks = token.chars();
        self.code
            .extend(blanks.map(|character| if character == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Block comments nest.
fn block_comment_length(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a raw string of any prefix, or `None` where none begins.
fn raw_string_length(text: &str) -> Option<usize> {
    let after_prefix = ["br", "cr", "r"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))?;
    let after_hashes = after_prefix.trim_start_matches('#');
    let inside = after_hashes.strip_prefix('"')?;
    let hashes = "#".repeat(after_prefix.len() - after_hashes.len());
    let closing = format!("\"{hashes}");
    let length_inside = inside
        .find(&closing)
        .map_or(inside.len(), |at| at + closing.len());
    Some(text.len() - inside.len() + length_inside)
}

/// The length of an ordinary string, quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if character == '"' {
            return at + 1;
        }
    }
    text.len()
}

/// The length of a character literal, or `None` for a lifetime or anything else.
fn character_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    let mut characters = inside.char_indices();
    let (_, first) = characters.next()?;
    if first == '\\' {
        // Past the escaped character, which may itself be a quote.
        let (after, _) = characters.nth(1)?;
        let end = inside.get(after..)?.find('\'')?;
        return Some(1 + after + end + 1);
    }
    let (at, second) = characters.next()?;
    (second == '\'').then_some(1 + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, kept: &str) {
        let code = code_only(source);
        assert_eq!(code.lines().count(), source.lines().count());
        let words: Vec<&str> = code.split_whitespace().collect();
        assert_eq!(words.join(" "), kept, "from {source:?}");
    }

    #[test]
    fn code_stays() {
        check(
            "fn a<'b>(c: &'b str) -> char { d }",
            "fn a<'b>(c: &'b str) -> char { d }",
        );
    }

    #[test]
    fn comments_go() {
        check("a // b\nc", "a c");
        check("a /* b /* c */ d */ e", "a e");
        check("a // b", "a");
        check("a /* b", "a");
        check("a /* é */ b", "a b");
    }

    #[test]
    fn strings_go() {
        check(r#"a "b" c"#, "a c");
        check(r#"a "b \" c" d"#, "a d");
        check(r#"a "\\" b"#, "a b");
        check("a \"// b\nc\" d", "a d");
        check(r#"a b"c" d"#, "a b d");
        check(r#"a "b"#, "a");
    }

    #[test]
    fn raw_strings_go() {
        check(r###"a r"\" b"###, "a b");
        check(r###"a r#"b " c"# d"###, "a d");
        check(r###"a br"b" c"###, "a c");
        check(r###"for"b" a"###, "for a");
    }

    #[test]
    fn raw_identifiers_stay() {
        check("a r#type b", "a r#type b");
    }

    #[test]
    fn character_literals_go_and_lifetimes_stay() {
        check("a '\"' b", "a b");
        check(r"a '\'' b", "a b");
        check(r"a '\u{1F600}' b", "a b");
        check(r"a '\\' b", "a b");
        check("a '/' b '/' c", "a b c");
        check("&'static a", "&'static a");
    }
}
