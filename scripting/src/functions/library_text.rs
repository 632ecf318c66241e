//! The first line of a library: `#!lua name=mylib`.

use crate::error::Error;
use lockwheel_resp::split_words;

/// The parsed text of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryText<'t> {
    /// The engine of the library.
    pub engine: Vec<u8>,
    /// The library's name: letters, digits and underscores.
    pub name: Vec<u8>,
    /// The text to compile. It begins at the end of the first line, so that lines keep their numbers.
    pub body: &'t [u8],
}

impl<'t> LibraryText<'t> {
    /// Parses a text. O(length).
    ///
    /// # Errors
    /// Returns Redis' own error if something is missing or wrong in the first line.
    pub fn parse(text: &'t [u8]) -> Result<LibraryText<'t>, Error> {
        const INVALID: &str = "ERR Invalid library metadata";
        if !text.starts_with(b"#!") {
            return Err(Error::new("ERR Missing library metadata"));
        }
        // Redis reads the text as a C string, which ends at a NUL.
        let end = text.iter().position(|byte| matches!(byte, b'\n' | 0));
        let end = end.filter(|end| text[*end] == b'\n').ok_or_else(|| Error::new(INVALID))?;
        let (line, body) = text.split_at(end);
        let words = split_words(line).ok_or_else(|| Error::new(INVALID))?;
        let mut words = words.into_iter();
        let mut engine = words.next().unwrap_or_default();
        engine.drain(..engine.len().min(2));
        let name = name_of(words)?;
        verify_name(&name)?;
        Ok(LibraryText { engine, name, body })
    }
}

fn name_of(words: impl Iterator<Item = Vec<u8>>) -> Result<Vec<u8>, Error> {
    const NAME: &[u8] = b"name=";
    let mut name = None;
    for word in words {
        match word.split_at_checked(NAME.len()) {
            Some((option, value)) if option.eq_ignore_ascii_case(NAME) => {
                if name.replace(value.to_vec()).is_some() {
                    let text = "ERR Invalid metadata value, name argument was given multiple times";
                    return Err(Error::new(text));
                }
            }
            _ => return Err(Error::with("ERR Invalid metadata value given: ", &word)),
        }
    }
    name.ok_or_else(|| Error::new("ERR Library name was not given"))
}

/// Redis' error for names of libraries and of functions.
pub(super) const BAD_NAME: &str = "Library names can only contain letters, numbers, or underscores(_) and must \
                                   be at least one character long";

fn verify_name(name: &[u8]) -> Result<(), Error> {
    if is_name(name) { Ok(()) } else { Err(Error::with("ERR ", BAD_NAME.as_bytes())) }
}

/// Whether a library or a function may have this name.
pub(super) fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        LibraryText::parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn the_first_line_says_engine_and_name() {
        for line in [
            "#!lua name=a_1",
            "#!lua NAME=a_1",
            "#!lua \"name=a_1\"",
            "#!\"lua\" name='a_1'\r",
            "#!lua\tname=\"a_\"1",
        ] {
            let text = format!("{line}\nreturn 1");
            if let Ok(parsed) = LibraryText::parse(text.as_bytes()) {
                assert_eq!((&*parsed.engine, &*parsed.name), (&b"lua"[..], &b"a_1"[..]), "{line}");
                assert_eq!(parsed.body, b"\nreturn 1");
            } else {
                assert!(line.ends_with("\"1"), "{line}");
            }
        }
        assert_eq!(LibraryText::parse(b"#!x name=a\n").unwrap().engine, b"x");
        assert_eq!(LibraryText::parse(b"#! name=a\n").unwrap().engine, b"");
    }

    /// Each text is that of redis-server 7.0.15.
    #[test]
    fn errors_are_those_of_redis() {
        let bad_name = &format!("ERR {BAD_NAME}");
        let missing = "ERR Missing library metadata";
        let invalid = "ERR Invalid library metadata";
        let unnamed = "ERR Library name was not given";
        for (text, expected) in [
            ("", missing),
            ("x", missing),
            (" #!lua name=x\n", missing),
            ("#!", invalid),
            ("#!lua", invalid),
            ("#!lua name=x", invalid),
            ("#!lua \"name=x\n", invalid),
            ("#!lua name=x\0\n", invalid),
            ("#!lu\0a name=x\n", invalid),
            ("#!lua\n", unnamed),
            ("#!\n", unnamed),
            ("#!lua name=\nx", bad_name),
            ("#!lua name=a.b\nx", bad_name),
            ("#!lua name='x y'\n", bad_name),
            ("#!lua name=\u{e4}\n", bad_name),
            ("#!lua \"name=x\\x00y\"\n", bad_name),
            ("#!lua \"na\\x00me=a\"\n", "ERR Invalid metadata value given: na"),
            ("#!lua name=a b\nx", "ERR Invalid metadata value given: b"),
            ("#! lua name=a\n", "ERR Invalid metadata value given: lua"),
            ("#!lua name\n", "ERR Invalid metadata value given: name"),
            ("#!lua desc=x\n", "ERR Invalid metadata value given: desc=x"),
            ("#!lua name=x flags=no-writes\n", "ERR Invalid metadata value given: flags=no-writes"),
            ("#!lua name=x name=y\n", "ERR Invalid metadata value, name argument was given multiple times"),
        ] {
            assert_eq!(error(text), expected, "{text:?}");
        }
        // Redis writes these line ends unchanged, and a reply ends at them.
        let text = "#!lua \"a\\r\\nb\" name=x\n";
        assert_eq!(error(text), "ERR Invalid metadata value given: a  b");
    }
}
