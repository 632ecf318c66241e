//! Command lines as redis-cli reads them: words, `"..."` with escapes, `'...'` without.

/// Splits a line into arguments by redis-cli's rules. White space separates words. Between double quotes, `\n \r \t \b
/// \a`, `\xHH` and `\` before any other character escape; between single quotes, only `\'` does. White space or the end
/// must follow a closing quote.
///
/// Returns `None` if a quote is not closed or not followed by a space. Takes time linear in the line.
pub fn split(line: &str) -> Option<Vec<Vec<u8>>> {
    let mut rest = line.as_bytes();
    let mut arguments = Vec::new();
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Some(arguments);
        }
        let (argument, after) = argument(rest)?;
        arguments.push(argument);
        rest = after;
    }
}

/// Reads one argument: bare characters and quoted runs up to white space.
fn argument(mut rest: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut value = Vec::new();
    while let Some((&first, after)) = rest.split_first() {
        rest = match first {
            b if b.is_ascii_whitespace() => break,
            b'"' => closed(double_quoted(after, &mut value)?)?,
            b'\'' => closed(single_quoted(after, &mut value)?)?,
            b => {
                value.push(b);
                after
            }
        };
    }
    Some((value, rest))
}

/// Returns the rest after a closing quote if it is white space or empty.
fn closed(rest: &[u8]) -> Option<&[u8]> {
    rest.first().is_none_or(u8::is_ascii_whitespace).then_some(rest)
}

fn double_quoted<'a>(mut rest: &'a [u8], value: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [b'"', after @ ..] => return Some(after),
            [b'\\', b'x', high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                value.push(hex(*high) << 4 | hex(*low));
                after
            }
            [b'\\', escaped, after @ ..] => {
                value.push(unescaped(*escaped));
                after
            }
            [byte, after @ ..] => {
                value.push(*byte);
                after
            }
            [] => return None,
        }
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], value: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [b'\'', after @ ..] => return Some(after),
            [b'\\', b'\'', after @ ..] => {
                value.push(b'\'');
                after
            }
            [byte, after @ ..] => {
                value.push(*byte);
                after
            }
            [] => return None,
        }
    }
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => other,
    }
}

/// The value of a hexadecimal digit.
fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit - b'A' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::quoted;
    use proptest::prelude::*;

    fn words(line: &str) -> Option<Vec<String>> {
        let arguments = split(line)?;
        Some(arguments.into_iter().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect())
    }

    #[test]
    fn a_line_is_split_into_words_and_quotes() {
        assert_eq!(words("  SET  k\tv "), Some(vec!["SET".into(), "k".into(), "v".into()]));
        assert_eq!(words(""), Some(vec![]));
        assert_eq!(words(r#""a b" 'c d'"#), Some(vec!["a b".into(), "c d".into()]));
        assert_eq!(words(r#""" '' a"b""#), Some(vec!["".into(), "".into(), "ab".into()]));
        assert_eq!(words(r#""\x41\n\"\q\x4""#), Some(vec!["A\n\"qx4".into()]));
        assert_eq!(words(r"'\n\''"), Some(vec![r"\n'".into()]));
    }

    #[test]
    fn open_quotes_and_glued_quotes_are_refused() {
        for line in [r#""a"#, "'a", r#""a"b"#, "'a'b", r#""a\"#, r#""a""b""#] {
            assert_eq!(split(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn a_quoted_word_is_read_back(arguments: Vec<Vec<u8>>) {
            let line: Vec<String> = arguments.iter().map(|bytes| quoted(bytes)).collect();
            prop_assert_eq!(split(&line.join(" ")), Some(arguments));
        }
    }
}
