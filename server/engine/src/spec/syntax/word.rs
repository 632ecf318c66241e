//! A word of a synopsis with its notes.

/// A word of a synopsis: its text, and the values of its notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// The word without its notes.
    pub text: &'a str,
    /// The name, if a note gives it.
    pub name: Option<&'a str>,
    /// The type, if a note gives it.
    pub kind: Option<Kind>,
    /// The least and the greatest valid integer, if a note gives them.
    pub range: Option<(i64, i64)>,
    /// The index, from 0, of the key specification that the word belongs to, if a note gives it.
    pub key_spec: Option<usize>,
    /// The first version that had the word.
    pub since: Option<&'a str>,
    /// The version that deprecated the word.
    pub deprecated_since: Option<&'a str>,
}

/// The types of arguments that COMMAND DOCS knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any bytes.
    String,
    /// An integer.
    Integer,
    /// A floating-point number.
    Double,
    /// The name of a key.
    Key,
    /// A glob pattern.
    Pattern,
    /// A time, in seconds or milliseconds since 1970.
    UnixTime,
    /// A word to be typed as it is.
    PureToken,
    /// One of several arguments.
    OneOf,
    /// Several arguments in their order.
    Block,
}

impl Kind {
    const ALL: [Kind; 9] = [
        Kind::String,
        Kind::Integer,
        Kind::Double,
        Kind::Key,
        Kind::Pattern,
        Kind::UnixTime,
        Kind::PureToken,
        Kind::OneOf,
        Kind::Block,
    ];

    /// The name in COMMAND DOCS.
    pub fn name(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Double => "double",
            Kind::Key => "key",
            Kind::Pattern => "pattern",
            Kind::UnixTime => "unix-time",
            Kind::PureToken => "pure-token",
            Kind::OneOf => "oneof",
            Kind::Block => "block",
        }
    }

    fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl<'a> Word<'a> {
    /// A word without notes.
    pub(super) fn plain(text: &'a str) -> Self {
        let (name, kind, range, key_spec) = (None, None, None, None);
        Word { text, name, kind, range, key_spec, since: None, deprecated_since: None }
    }

    /// Reads `text=name:type#key_spec@since-deprecated`, each note optional; `None` for other notes. A sign at the
    /// beginning belongs to the word: `=` and `$` are tokens. Two words may be one argument: `ip:port`.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let mut word = Word::plain(text);
        if let Some((rest, versions)) = cut(word.text, '@') {
            let (since, deprecated_since) = versions.split_once('-').unwrap_or((versions, ""));
            word.text = rest;
            word.since = version(since)?;
            word.deprecated_since = version(deprecated_since)?;
            word.since.or(word.deprecated_since)?;
        }
        if let Some((rest, spec)) = cut(word.text, '#') {
            word.text = rest;
            word.key_spec = Some(spec.parse().ok()?);
        }
        if let Some((rest, kind)) = cut(word.text, ':').filter(|(_, kind)| *kind != "port") {
            word.text = rest;
            word.range = range(kind);
            word.kind = Kind::named(kind);
            word.range.map(drop).or(word.kind.map(drop))?;
        }
        if let Some((rest, name)) = cut(word.text, '=') {
            word.text = rest;
            word.name = Some(name).filter(|name| !name.is_empty());
            word.name?;
        }
        Some(word)
    }
}

/// The parts before and behind the last `sign` in the word. `None` if it is absent or begins the word.
fn cut(text: &str, sign: char) -> Option<(&str, &str)> {
    text.rsplit_once(sign).filter(|(before, _)| !before.is_empty())
}

/// The two numbers of `1..5`. Without the second number there is no upper bound. `None` if the text has another form.
pub(in crate::spec) const fn range(text: &str) -> Option<(i64, i64)> {
    let text = text.as_bytes();
    let mut end = 0;
    while end < text.len() && text[end] != b'.' {
        end += 1;
    }
    if end + 1 >= text.len() || text[end + 1] != b'.' {
        return None;
    }
    let max = if end + 2 == text.len() { Some(i64::MAX) } else { integer(text, end + 2, text.len()) };
    match (integer(text, 0, end), max) {
        (Some(min), Some(max)) => Some((min, max)),
        _ => None,
    }
}

/// The integer from the byte `from` to the byte `to`.
const fn integer(text: &[u8], from: usize, to: usize) -> Option<i64> {
    let is_negative = from < to && text[from] == b'-';
    let (mut at, mut number) = (if is_negative { from + 1 } else { from }, 0_i64);
    if at == to {
        return None;
    }
    while at < to {
        if !text[at].is_ascii_digit() {
            return None;
        }
        number = number * 10 + (text[at] - b'0') as i64;
        at += 1;
    }
    Some(if is_negative { -number } else { number })
}

/// A version of three numbers, or `Some(None)` for an empty text. `None` if the text has another form.
#[expect(clippy::option_option, reason = "no version and a wrong one are different")]
fn version(text: &str) -> Option<Option<&str>> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match text {
        "" => Some(None),
        _ => (text.split('.').count() == 3 && text.split('.').all(is_number)).then_some(Some(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_is_read() {
        let word = Word::parse("shown=name:integer#2@1.2.3-4.5.60").unwrap();
        let expected = Word {
            text: "shown",
            name: Some("name"),
            kind: Some(Kind::Integer),
            range: None,
            key_spec: Some(2),
            since: Some("1.2.3"),
            deprecated_since: Some("4.5.60"),
        };
        assert_eq!(word, expected);
        assert_eq!(Word::parse("slave@-5.0.0").unwrap().since, None);
        assert_eq!(Word::parse("when:unix-time").unwrap().kind, Some(Kind::UnixTime));
    }

    #[test]
    fn a_range_is_of_one_or_two_numbers() {
        let ranges =
            ["a:0..", "a:-5..10", "a:1..9223372036854775807"].map(|text| Word::parse(text).unwrap().range);
        assert_eq!(ranges, [Some((0, i64::MAX)), Some((-5, 10)), Some((1, i64::MAX))]);
        for text in ["a:..5", "a:1.", "a:1.5", "a:x..", "a:1..x", "a:1...", "a:-.."] {
            assert_eq!(Word::parse(text), None, "{text}");
        }
    }

    #[test]
    fn signs_are_words() {
        for sign in ["=", "~", "*", "$", "\"\"", "@", "#", ":", "ip:port", "yes/no"] {
            assert_eq!(Word::parse(sign), Some(Word::plain(sign)));
        }
        assert_eq!(Word::parse("*=auto_id").unwrap().name, Some("auto_id"));
    }

    #[test]
    fn other_notes_are_refused() {
        for text in ["a:number", "a@", "a@-", "a@7", "a@1.2.x", "a@1..2", "a#", "a#b", "a="] {
            assert_eq!(Word::parse(text), None, "{text}");
        }
    }
}
