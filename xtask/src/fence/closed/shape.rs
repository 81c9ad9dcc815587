//! Where in a pattern a closed set is named, and where a rest is taken unnamed.

use syn::punctuated::Punctuated;
use syn::{Member, Pat, Path, Token};

/// One step into a pattern: which constructor, and which of its fields.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Step {
    constructor: String,
    field: String,
}

/// The way from the whole pattern to a part of it.
pub(super) type Position = Vec<Step>;

/// What a pattern says at one position.
pub(super) enum Seen {
    /// A variant of a closed set.
    Variant { at: Position, set: &'static str },
    /// `_` or a bare name.
    Anything { at: Position, line: usize },
    /// `..`: the fields of a constructor that are not listed.
    OtherFields {
        at: Position,
        constructor: String,
        listed: Vec<String>,
        line: usize,
    },
}

impl Seen {
    pub(super) fn into_set(self) -> Option<&'static str> {
        match self {
            Self::Variant { set, .. } => Some(set),
            Self::Anything { .. } | Self::OtherFields { .. } => None,
        }
    }
}

/// A rest of a closed set that an arm takes unnamed.
pub(super) struct HiddenRest {
    pub(super) set: &'static str,
    pub(super) line: usize,
}

/// Finds the arms of one match that cover a position at which another arm names a closed set.
pub(super) fn hidden_rests(arms: &[Vec<Seen>]) -> Vec<HiddenRest> {
    let mut rests = Vec::new();
    for seen in arms.iter().flatten() {
        let (line, set) = match seen {
            Seen::Variant { .. } => continue,
            Seen::Anything { at, line } => {
                (line, first_beneath(arms, |place| place.starts_with(at)))
            }
            Seen::OtherFields {
                at,
                constructor,
                listed,
                line,
            } => {
                let is_unlisted = |place: &Position| {
                    place.starts_with(at)
                        && place.get(at.len()).is_some_and(|step| {
                            step.constructor == *constructor && !listed.contains(&step.field)
                        })
                };
                (line, first_beneath(arms, is_unlisted))
            }
        };
        rests.extend(set.map(|set| HiddenRest { set, line: *line }));
    }
    rests
}

fn first_beneath(arms: &[Vec<Seen>], covers: impl Fn(&Position) -> bool) -> Option<&'static str> {
    arms.iter().flatten().find_map(|seen| match seen {
        Seen::Variant { at, set } if covers(at) => Some(*set),
        Seen::Variant { .. } | Seen::Anything { .. } | Seen::OtherFields { .. } => None,
    })
}

/// Reads a pattern; `set_of` tells of which closed set a path is a variant.
pub(super) fn seen_in(pattern: &Pat, set_of: &dyn Fn(&Path) -> Option<&'static str>) -> Vec<Seen> {
    let mut reader = Reader {
        set_of,
        seen: Vec::new(),
    };
    reader.read(pattern, &Position::new());
    reader.seen
}

struct Reader<'a> {
    set_of: &'a dyn Fn(&Path) -> Option<&'static str>,
    seen: Vec<Seen>,
}

impl Reader<'_> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "syn may know more patterns tomorrow"
    )]
    fn read(&mut self, pattern: &Pat, at: &Position) {
        match pattern {
            Pat::Or(pattern) => {
                for case in &pattern.cases {
                    self.read(case, at);
                }
            }
            Pat::Paren(pattern) => self.read(&pattern.pat, at),
            Pat::Reference(pattern) => self.read(&pattern.pat, at),
            Pat::Guard(pattern) => self.read(&pattern.pat, at),
            Pat::Type(pattern) => self.read(&pattern.pat, at),
            Pat::Ident(pattern) => match &pattern.subpat {
                Some((_, inner)) => self.read(inner, at),
                None => self.read_word(&pattern.ident, at),
            },
            Pat::Wild(pattern) => self.seen.push(Seen::Anything {
                at: at.clone(),
                line: pattern.underscore_token.span.start().line,
            }),
            Pat::Path(pattern) => self.note(&pattern.path, at),
            Pat::TupleStruct(pattern) => {
                self.note(&pattern.path, at);
                self.read_fields(&name_of(&pattern.path), &pattern.elems, at);
            }
            Pat::Tuple(pattern) => self.read_fields("()", &pattern.elems, at),
            Pat::Slice(pattern) => self.read_fields("[]", &pattern.elems, at),
            Pat::Struct(pattern) => {
                self.note(&pattern.path, at);
                let constructor = name_of(&pattern.path);
                let mut listed = Vec::new();
                for field in &pattern.fields {
                    let name = match &field.member {
                        Member::Named(name) => name.to_string(),
                        Member::Unnamed(index) => index.index.to_string(),
                    };
                    self.read(&field.pat, &below(at, &constructor, &name));
                    listed.push(name);
                }
                if let Some(rest) = &pattern.rest {
                    self.seen.push(Seen::OtherFields {
                        at: at.clone(),
                        constructor,
                        listed,
                        line: rest.dot2_token.spans[0].start().line,
                    });
                }
            }
            // Literals, ranges, constants and macros name what they take.
            _ => {}
        }
    }

    /// A name alone is a variant or a constant when it begins like one, else it takes anything.
    fn read_word(&mut self, ident: &proc_macro2::Ident, at: &Position) {
        let path = Path::from(ident.clone());
        if (self.set_of)(&path).is_some() {
            self.note(&path, at);
        } else if !ident.to_string().starts_with(char::is_uppercase) {
            self.seen.push(Seen::Anything {
                at: at.clone(),
                line: ident.span().start().line,
            });
        }
    }

    fn note(&mut self, path: &Path, at: &Position) {
        if let Some(set) = (self.set_of)(path) {
            self.seen.push(Seen::Variant {
                at: at.clone(),
                set,
            });
        }
    }

    fn read_fields(
        &mut self,
        constructor: &str,
        fields: &Punctuated<Pat, Token![,]>,
        at: &Position,
    ) {
        let mut listed = Vec::new();
        let mut rest = None;
        for (index, field) in fields.iter().enumerate() {
            if let Pat::Rest(field) = field {
                rest = Some(field.dot2_token.spans[0].start().line);
                continue;
            }
            // Past a rest only the distance from the end is known.
            let name = match rest {
                None => index.to_string(),
                Some(_) => format!("-{}", fields.len() - index),
            };
            self.read(field, &below(at, constructor, &name));
            listed.push(name);
        }
        if let Some(line) = rest {
            self.seen.push(Seen::OtherFields {
                at: at.clone(),
                constructor: constructor.to_owned(),
                listed,
                line,
            });
        }
    }
}

fn below(at: &Position, constructor: &str, field: &str) -> Position {
    let mut position = at.clone();
    position.push(Step {
        constructor: constructor.to_owned(),
        field: field.to_owned(),
    });
    position
}

/// The last segment: the same variant may be written with more or less before it.
fn name_of(path: &Path) -> String {
    let last = path.segments.last();
    last.map(|segment| segment.ident.to_string())
        .unwrap_or_default()
}
