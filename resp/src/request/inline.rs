//! Inline commands: a line of words, with the quotes that Redis also supports in its configuration file.

/// Splits a line into words, as Redis splits an inline command, a line of its configuration file or a command line.
///
/// Words are separated by white space. In `"…"` the escapes are `\n \r \t \b \a`, `\xHH`, and `\` before any other
/// byte; in `'…'` only `\'`. A word may have quoted and bare parts, but a closing quote ends it. The line ends at a NUL
/// byte.
///
/// Returns `None` if a quote is not closed, or a closing quote is followed by anything but white space. O(length).
pub fn split_words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    split(line, |word| {
        let mut bytes = Vec::new();
        word.append_to(&mut bytes);
        words.push(bytes);
    })
    .then_some(words)
}

/// One word of a line, with balanced quotes.
pub(crate) struct Word<'a> {
    raw: &'a [u8],
}

/// The kind of the part of a word that a byte belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    Bare,
    Double,
    Single,
}

/// Calls `each` with every word of the line. Returns false as soon as a word's quotes are not balanced.
pub(crate) fn split<'a>(line: &'a [u8], mut each: impl FnMut(Word<'a>)) -> bool {
    let end = line.iter().position(|&byte| byte == 0).unwrap_or(line.len());
    let mut rest = &line[..end];
    loop {
        let blank = rest.iter().position(|&byte| !is_space(byte)).unwrap_or(rest.len());
        rest = &rest[blank..];
        if rest.is_empty() {
            return true;
        }
        let Some(len) = word_len(rest) else { return false };
        each(Word { raw: &rest[..len] });
        rest = &rest[len..];
    }
}

/// Whether a byte is white space between words, as in C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Whether a byte ends a bare word. Vertical tabs and form feeds do not, though they are skipped between words.
fn ends_bare(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The length of the word that `text` begins with, including quotes and escapes.
fn word_len(text: &[u8]) -> Option<usize> {
    let mut quote = Quote::Bare;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match (quote, byte) {
            (Quote::Bare, b'"') => quote = Quote::Double,
            (Quote::Bare, b'\'') => quote = Quote::Single,
            (Quote::Bare, byte) if ends_bare(byte) => return Some(at),
            (Quote::Double, b'\\') if at + 1 < text.len() => at += 1,
            (Quote::Single, b'\\') if text.get(at + 1) == Some(&b'\'') => at += 1,
            (Quote::Double, b'"') | (Quote::Single, b'\'') => {
                let closed = text.get(at + 1).is_none_or(|&next| is_space(next));
                return closed.then_some(at + 1);
            }
            _ => {}
        }
        at += 1;
    }
    (quote == Quote::Bare).then_some(at)
}

impl Word<'_> {
    /// Appends the word without its quotes, with its escapes resolved.
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        let mut quote = Quote::Bare;
        let mut rest = self.raw;
        loop {
            let taken = match (quote, rest) {
                (_, []) => return,
                (Quote::Bare, [b'"', ..]) => {
                    quote = Quote::Double;
                    1
                }
                (Quote::Bare, [b'\'', ..]) => {
                    quote = Quote::Single;
                    1
                }
                // A closing quote is always the last byte of a word.
                (Quote::Double, [b'"']) | (Quote::Single, [b'\'']) => return,
                (Quote::Single, [b'\\', b'\'', ..]) => {
                    out.push(b'\'');
                    2
                }
                (Quote::Double, [b'\\', escape @ ..]) if !escape.is_empty() => {
                    let (byte, len) = unescape(escape);
                    out.push(byte);
                    len + 1
                }
                (_, [byte, ..]) => {
                    out.push(*byte);
                    1
                }
            };
            rest = &rest[taken..];
        }
    }
}

/// The byte of an escape, and the length of the escape without its backslash.
fn unescape(escape: &[u8]) -> (u8, usize) {
    if let [b'x', high, low, ..] = escape
        && let (Some(high), Some(low)) = (hex(*high), hex(*low))
    {
        return (high << 4 | low, 3);
    }
    let byte = match escape[0] {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => other,
    };
    (byte, 1)
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::split_words;

    fn words(line: &str) -> Option<Vec<String>> {
        let words = split_words(line.as_bytes())?;
        Some(words.into_iter().map(|word| word.iter().map(|&byte| byte as char).collect()).collect())
    }

    #[test]
    fn words_and_quotes_are_those_of_redis() {
        // Each line was sent to redis-server 7.0.15 as the arguments of ECHO.
        let cases: &[(&str, Option<&[&str]>)] = &[
            ("", Some(&[])),
            ("  \t ", Some(&[])),
            ("PING", Some(&["PING"])),
            ("  a  b ", Some(&["a", "b"])),
            ("\"\"", Some(&[""])),
            ("a\"b c\"", Some(&["ab c"])),
            ("'a\\'b\\n'", Some(&["a'b\\n"])),
            ("\"\\x41\\n\\r\\t\\b\\a\\q\\xZZ\"", Some(&["A\n\r\t\u{8}\u{7}qxZZ"])),
            ("\"\\\"\\\\\"", Some(&["\"\\"])),
            ("\"\\xfF\"", Some(&["\u{ff}"])),
            ("a\u{b}b c\u{c}", Some(&["a\u{b}b", "c\u{c}"])),
            ("\u{b}\u{c}a", Some(&["a"])),
            ("\"a\"\u{b}b", Some(&["a", "b"])),
            ("a\rb", Some(&["a", "b"])),
            ("\"a", None),
            ("'a", None),
            ("\"a\\", None),
            ("\"a\\\"", None),
            ("\"a\"b", None),
            ("'a'b", None),
            ("\"a\"\"b\"", None),
            ("it's", None),
            ("a\0b", Some(&["a"])),
        ];
        for (line, expected) in cases {
            let expected =
                expected.map(|words| words.iter().map(|word| word.to_string()).collect::<Vec<_>>());
            assert_eq!(words(line), expected, "{line:?}");
        }
    }
}
