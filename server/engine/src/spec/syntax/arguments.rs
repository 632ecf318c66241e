//! The arguments of a command as COMMAND DOCS lists them, derived from its synopsis.
//!
//! Conventions, which most of Redis' commands follow, supply the rest: an argument's name gives its type, a token its
//! name, the names in a group the group's, and the order of keys the key specifications. Other commands have notes.

use super::{Kind, Syntax, Word};
use std::borrow::Cow;

/// An argument, or a group of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument<'a> {
    /// The name.
    pub name: Cow<'a, str>,
    /// The text shown to people. `None` for a group, which is shown by its parts.
    pub display: Option<Cow<'a, str>>,
    /// The type.
    pub kind: Kind,
    /// The index, from 0, of the key specification that finds the argument.
    pub key_spec: Option<usize>,
    /// The token in front of the argument, or the token that the argument is.
    pub token: Option<&'a str>,
    /// The first version that had the argument, if that is not the command's first version.
    pub since: Option<&'a str>,
    /// The version that deprecated the argument.
    pub deprecated_since: Option<&'a str>,
    /// Whether the argument may be left out.
    pub optional: bool,
    /// Whether the argument may be repeated.
    pub multiple: bool,
    /// Whether the token is repeated with the argument.
    pub multiple_token: bool,
    /// The arguments of a group.
    pub parts: Vec<Argument<'a>>,
}

/// The arguments that a synopsis describes, in their order. Linear in its length.
pub fn of<'a>(syntax: &Syntax<'a>) -> Vec<Argument<'a>> {
    let parts = match syntax {
        Syntax::Sequence(parts) => parts.as_slice(),
        other => std::slice::from_ref(other),
    };
    Reader { keys: 0 }.list(parts)
}

/// The types of arguments by their names; all others are strings.
const KINDS: &[(Kind, &str)] = &[
    (Kind::Key, "key key1 key2 newkey source destination src dst sourcekey destkey"),
    (
        Kind::Integer,
        "added bits bytes changed-index client-id cluster-bus-port config-epoch count cursor db decrement \
         destination-db end end-slot entries-added entries-read frequency hits increment index index1 index2 integer \
         kilobytes len limit matches milliseconds min-match-len ms num-matches numkeys numlocal numreplicas offset \
         port priority protover quiet-milliseconds rank seconds seed seq slice-bytes slot start start-slot stop token \
         ttl version weight",
    ),
    (Kind::Double, "chance height latitude longitude max min radius score timeout width"),
    (Kind::Pattern, "pattern"),
    (Kind::UnixTime, "unix-time-milliseconds unix-time-seconds"),
];

/// The names of tokens that are not words.
const SIGNS: &[(&str, &str)] =
    &[("=", "equal"), ("~", "approximately"), ("*", "auto_id"), ("$", "new_id"), ("\"\"", "empty_string")];

pub(super) fn kind_of(word: &Word<'_>) -> Kind {
    let is_named = |(_, names): &&(Kind, &str)| names.split(' ').any(|name| name == word.text);
    let by_name = || KINDS.iter().find(is_named).map(|(kind, _)| *kind);
    let by_range = || word.range.map(|_| Kind::Integer);
    word.kind.or_else(by_name).or_else(by_range).unwrap_or(Kind::String)
}

impl<'a> Argument<'a> {
    fn new(kind: Kind, name: Cow<'a, str>, word: Option<&Word<'a>>) -> Self {
        Argument {
            name,
            display: None,
            kind,
            key_spec: word.and_then(|word| word.key_spec),
            token: None,
            since: word.and_then(|word| word.since),
            deprecated_since: word.and_then(|word| word.deprecated_since),
            optional: false,
            multiple: false,
            multiple_token: false,
            parts: Vec::new(),
        }
    }

    /// A word that is typed as it is.
    fn token(word: &Word<'a>) -> Self {
        let sign = SIGNS.iter().find(|(sign, _)| *sign == word.text).map(|(_, name)| Cow::Borrowed(*name));
        let named = word.name.map(Cow::Borrowed).or(sign);
        let name = named.unwrap_or_else(|| Cow::Owned(word.text.to_ascii_lowercase()));
        let display = Some(name.replace('_', "-").into());
        // The empty token is written as it is typed.
        let token = Some(if word.text == "\"\"" { "" } else { word.text });
        Argument { display, token, ..Argument::new(Kind::PureToken, name, Some(word)) }
    }

    /// A group. Without a name of its own, its name is made of the names in it.
    fn group(kind: Kind, name: Option<&Word<'a>>, parts: Vec<Argument<'a>>) -> Self {
        let joined = || parts.iter().map(|part| &*part.name).collect::<Vec<_>>().join("_").into();
        let text = name.map_or_else(joined, |word| Cow::Borrowed(word.text));
        Argument { parts, ..Argument::new(kind, text, name) }
    }
}

struct Reader {
    /// The number of keys among the arguments so far. Each key belongs to the next key specification.
    keys: usize,
}

impl Reader {
    /// Parts in their order. A token in front of an argument or a group belongs to it.
    fn list<'a>(&mut self, parts: &[Syntax<'a>]) -> Vec<Argument<'a>> {
        let (mut arguments, mut rest) = (Vec::new(), parts.iter());
        while let Some(part) = rest.next() {
            let argument = match (part, rest.as_slice().first()) {
                (Syntax::Token(token), Some(next)) if takes_token(next) => {
                    rest.next();
                    Argument { token: Some(token.text), ..self.one(next) }
                }
                _ => self.one(part),
            };
            arguments.push(argument);
        }
        arguments
    }

    fn one<'a>(&mut self, part: &Syntax<'a>) -> Argument<'a> {
        match part {
            Syntax::Token(word) => Argument::token(word),
            Syntax::Argument(word) => self.plain(word),
            Syntax::Sequence(parts) => self.sequence(parts),
            Syntax::OneOf(parts) => self.one_of(None, parts),
            Syntax::Optional(part) => Argument { optional: true, ..self.one(part) },
            Syntax::Repeat(part) => {
                let one = self.one(part);
                let has_token = one.token.is_some() && one.kind != Kind::PureToken;
                Argument { multiple: true, multiple_token: has_token, ..one }
            }
            Syntax::Named(name, part) => match part.as_ref() {
                Syntax::OneOf(parts) => self.one_of(Some(name), parts),
                Syntax::Sequence(parts) => Argument::group(Kind::Block, Some(name), self.list(parts)),
                part => Argument::group(Kind::Block, Some(name), self.list(std::slice::from_ref(part))),
            },
        }
    }

    fn plain<'a>(&mut self, word: &Word<'a>) -> Argument<'a> {
        let kind = kind_of(word);
        let name = word.name.unwrap_or(word.text);
        let mut argument = Argument::new(kind, name.into(), Some(word));
        argument.display = Some(word.text.into());
        if kind == Kind::Key {
            argument.key_spec = argument.key_spec.or(Some(self.keys));
            self.keys += 1;
        }
        argument
    }

    fn one_of<'a>(&mut self, name: Option<&Word<'a>>, parts: &[Syntax<'a>]) -> Argument<'a> {
        let parts = parts.iter().map(|part| self.one(part)).collect();
        Argument::group(Kind::OneOf, name, parts)
    }

    /// Parts without a name: `EX seconds` is one argument, `LIMIT offset count` a block with a token.
    fn sequence<'a>(&mut self, parts: &[Syntax<'a>]) -> Argument<'a> {
        if let [Syntax::Token(token), rest @ ..] = parts
            && rest.len() > 1
            && rest.iter().all(|part| matches!(part, Syntax::Argument(_)))
        {
            return Argument {
                token: Some(token.text),
                ..Argument::group(Kind::Block, None, self.list(rest))
            };
        }
        let mut list = self.list(parts);
        if list.len() == 1 { list.remove(0) } else { Argument::group(Kind::Block, None, list) }
    }
}

fn takes_token(part: &Syntax<'_>) -> bool {
    match part {
        Syntax::Argument(_) | Syntax::OneOf(_) | Syntax::Named(..) => true,
        Syntax::Repeat(part) => takes_token(part),
        Syntax::Token(_) | Syntax::Sequence(_) | Syntax::Optional(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An argument in one line: its properties in the order of COMMAND DOCS, the parts of a group in brackets.
    fn told(argument: &Argument<'_>) -> String {
        let mut text = format!("{}:{}", argument.name, argument.kind.name());
        let mut add = |sign: &str, value: Option<&str>| {
            value.into_iter().for_each(|value| text += &format!(" {sign}{value}"));
        };
        add("shown ", argument.display.as_deref().filter(|display| *display != argument.name));
        add("#", argument.key_spec.map(|spec| spec.to_string()).as_deref());
        add("", argument.token);
        add("@", argument.since);
        add("-@", argument.deprecated_since);
        add("", argument.optional.then_some("optional"));
        add("", argument.multiple.then_some("multiple"));
        add("", argument.multiple_token.then_some("multiple_token"));
        let parts: Vec<String> = argument.parts.iter().map(told).collect();
        if parts.is_empty() { text } else { format!("{text} [{}]", parts.join(", ")) }
    }

    #[track_caller]
    fn check(synopsis: &str, expected: &[&str]) {
        let syntax = Syntax::parse(synopsis).unwrap();
        assert_eq!(of(&syntax).iter().map(told).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn conventions_name_and_type_what_has_no_notes() {
        check("", &[]);
        check("key field count", &["key:key #0", "field:string", "count:integer"]);
        check(
            "[NX] [= | ~]",
            &[
                "nx:pure-token NX optional",
                "equal_approximately:oneof optional [equal:pure-token =, approximately:pure-token ~]",
            ],
        );
        check("source destination min", &["source:key #0", "destination:key #1", "min:double"]);
    }

    #[test]
    fn a_token_belongs_to_what_it_introduces() {
        check("[EX seconds]", &["seconds:integer EX optional"]);
        check("SLEEP seconds", &["seconds:integer SLEEP"]);
        check("[LIMIT offset count]", &["offset_count:block LIMIT optional [offset:integer, count:integer]"]);
        check(
            "[count: COUNT count [ANY]]",
            &["count:block optional [count:integer COUNT, any:pure-token ANY optional]"],
        );
        check(
            "TO (target: host [FORCE])",
            &["target:block TO [host:string, force:pure-token FORCE optional]"],
        );
        check("FULL (full: [COUNT count])", &["full:block FULL [count:integer COUNT optional]"]);
        check(
            "[AGGREGATE (aggregate: SUM | MIN)]",
            &["aggregate:oneof AGGREGATE optional [sum:pure-token SUM, min:pure-token MIN]"],
        );
        check("(no-one: NO ONE)", &["no-one:block [no:pure-token NO, one:pure-token ONE]"]);
    }

    #[test]
    fn repetition_is_of_values_or_of_the_token_too() {
        check("key [key ...]", &["key:key #0 multiple"]);
        check("[section ...]", &["section:string optional multiple"]);
        check(
            "score member [score member ...]",
            &["score_member:block multiple [score:double, member:string]"],
        );
        check("[KEYS key ...]", &["key:key #0 KEYS optional multiple"]);
        check(
            "[GET pattern#1 [GET pattern ...]]",
            &["pattern:pattern #1 GET optional multiple multiple_token"],
        );
        check("(pattern: pattern) ...", &["pattern:block multiple [pattern:pattern]"]);
    }

    #[test]
    fn notes_overrule_conventions() {
        check(
            "key1 key2#0 shown=name:integer@7.0.0",
            &["key1:key #0", "key2:key #0", "name:integer shown shown @7.0.0"],
        );
        check(
            "[CH=change@3.0.2] [unit@1.0.0: M | KM@2.0.0-3.0.0]",
            &[
                "change:pure-token CH @3.0.2 optional",
                "unit:oneof @1.0.0 optional [m:pure-token M, km:pure-token KM @2.0.0 -@3.0.0]",
            ],
        );
    }
}
