//! Templates of requests and replies: a request copies the prepared bytes and fills in digits.

use crate::error::{Error, Result};

/// The default number of digits of a placeholder.
const WIDTH: usize = 12;
/// The largest number of digits of a placeholder, in which any `u64` below 10^19 fits.
const MAX_DIGITS: usize = 19;

/// One argument of a request.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// Literal bytes.
    Raw(&'a [u8]),
    /// A text with placeholders: `{n}` is the number of the key, `{c}` that of the connection. `{i}` is a number that
    /// grows with every turn of a connection. Each is written with 12 digits, or with another number: `{n:5}`. Other
    /// braces are literal.
    Text(&'a str),
}

/// The kind of a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placeholder {
    Key,
    Connection,
    Counter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Patch {
    at: usize,
    width: usize,
    slot: Placeholder,
}

/// Bytes with positions for digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    bytes: Vec<u8>,
    patches: Vec<Patch>,
}

impl Template {
    /// Creates a request as on the wire: an array of bulk strings.
    ///
    /// # Errors
    /// Returns an error if a placeholder asks for no digit, or for more than 19.
    pub fn request(args: &[Arg<'_>]) -> Result<Template> {
        let mut request = Template::default();
        request.bytes.extend_from_slice(format!("*{}\r\n", args.len()).as_bytes());
        for arg in args {
            let argument = match arg {
                Arg::Raw(bytes) => Template { bytes: bytes.to_vec(), patches: Vec::new() },
                Arg::Text(text) => Template::parse(text)?,
            };
            request.bytes.extend_from_slice(format!("${}\r\n", argument.bytes.len()).as_bytes());
            request.push(&argument);
            request.bytes.extend_from_slice(b"\r\n");
        }
        Ok(request)
    }

    /// Creates a template from a text with placeholders, for instance a reply.
    ///
    /// # Errors
    /// Returns an error if a placeholder asks for no digit, or for more than 19.
    pub fn parse(text: &str) -> Result<Template> {
        let mut template = Template::default();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            template.bytes.extend_from_slice(&rest.as_bytes()[..open]);
            rest = &rest[open..];
            if let Some((slot, width, after)) = placeholder(rest)? {
                template.patches.push(Patch { at: template.bytes.len(), width, slot });
                template.bytes.resize(template.bytes.len() + width, b'0');
                rest = after;
            } else {
                template.bytes.push(b'{');
                rest = &rest[1..];
            }
        }
        template.bytes.extend_from_slice(rest.as_bytes());
        Ok(template)
    }

    fn push(&mut self, other: &Template) {
        let shift = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.patches.extend(other.patches.iter().map(|patch| Patch { at: patch.at + shift, ..*patch }));
    }

    /// Fills in the number of a connection.
    #[must_use]
    pub fn for_connection(&self, connection: u64) -> Template {
        let mut filled = self.clone();
        filled.patches.retain(|patch| patch.slot != Placeholder::Connection);
        for patch in self.patches.iter().filter(|patch| patch.slot == Placeholder::Connection) {
            write_digits(&mut filled.bytes[patch.at..patch.at + patch.width], connection);
        }
        filled
    }

    /// Appends the bytes with the number of a key and a counter filled in. If a number has too many digits, only its
    /// last ones are written.
    pub fn append(&self, out: &mut Vec<u8>, key: u64, counter: u64) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        for patch in &self.patches {
            let value = if patch.slot == Placeholder::Key { key } else { counter };
            let at = start + patch.at;
            write_digits(&mut out[at..at + patch.width], value);
        }
    }

    /// Returns the number of bytes of every request or reply.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Parses the placeholder at the front of `text`, which begins with a brace. Returns its kind, its number of digits,
/// and the text after it.
fn placeholder(text: &str) -> Result<Option<(Placeholder, usize, &str)>> {
    let Some((inside, after)) = text[1..].split_once('}') else { return Ok(None) };
    let (name, width) = match inside.split_once(':') {
        Some((name, width)) => (name, width.parse().ok()),
        None => (inside, Some(WIDTH)),
    };
    let slot = match name {
        "n" => Placeholder::Key,
        "c" => Placeholder::Connection,
        "i" => Placeholder::Counter,
        _ => return Ok(None),
    };
    match width {
        Some(width) if (1..=MAX_DIGITS).contains(&width) => Ok(Some((slot, width, after))),
        _ => Err(Error::other(format!("{{{inside}}}: the digits must be 1 to {MAX_DIGITS}"))),
    }
}

/// Writes the last digits of a number, as many as fit, with leading zeros.
fn write_digits(out: &mut [u8], mut value: u64) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &Template, key: u64, counter: u64) -> String {
        let mut out = b"before ".to_vec();
        template.append(&mut out, key, counter);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_request_is_framed_and_its_placeholders_are_filled_in() {
        let args = [Arg::Text("SET"), Arg::Text("k:{n:4}"), Arg::Text("{c:2}-{i:3}"), Arg::Raw(b"{n}")];
        let request = Template::request(&args).unwrap().for_connection(7);
        let expected = "before *4\r\n$3\r\nSET\r\n$6\r\nk:0042\r\n$6\r\n07-901\r\n$3\r\n{n}\r\n";
        assert_eq!(filled(&request, 42, 8901), expected);
        assert_eq!(filled(&request, 42, 8901), expected, "a template is not used up");
    }

    #[test]
    fn other_braces_are_themselves() {
        let text = Template::parse("redisson_lock__channel:{lock:{n:3}} {} {x} {").unwrap();
        assert_eq!(filled(&text, 5, 0), "before redisson_lock__channel:{lock:005} {} {x} {");
    }

    #[test]
    fn a_width_that_cannot_be_is_refused() {
        for text in ["{n:0}", "{n:20}", "{i:x}", "{c:}"] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
        assert_eq!(filled(&Template::parse("{n}").unwrap(), 1, 0), "before 000000000001");
        assert_eq!(filled(&Template::parse("{n:19}").unwrap(), u64::MAX, 0), "before 8446744073709551615");
    }
}
