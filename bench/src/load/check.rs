//! The check of replies.

use super::template::Template;
use crate::error::Result;

/// The right replies to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Exactly these bytes, with the same placeholders as the request.
    Exact(Template),
    /// One of these byte strings.
    OneOf(Vec<Vec<u8>>),
    /// An integer.
    Integer,
    /// Any reply that begins with these bytes.
    Begins(Vec<u8>),
    /// Any reply but an error.
    NoError,
}

impl Expect {
    /// Parses a reply as on the wire, with placeholders as in a request.
    ///
    /// # Errors
    /// Returns an error if a placeholder asks for an impossible number of digits.
    pub fn exact(text: &str) -> Result<Expect> {
        Ok(Expect::Exact(Template::parse(text)?))
    }

    /// Whether a complete reply is right. `key` and `counter` are those of the request.
    pub fn allows(&self, reply: &[u8], key: u64, counter: u64) -> bool {
        match self {
            Expect::Exact(template) => {
                let mut right = Vec::new();
                template.append(&mut right, key, counter);
                right == reply
            }
            Expect::OneOf(replies) => replies.iter().any(|right| right == reply),
            Expect::Integer => is_integer(reply),
            Expect::Begins(start) => reply.starts_with(start),
            Expect::NoError => !matches!(reply.first(), Some(b'-' | b'!')),
        }
    }

    /// Describes the right reply, for a message.
    pub fn describe(&self, key: u64, counter: u64) -> String {
        match self {
            Expect::Exact(template) => {
                let mut right = Vec::new();
                template.append(&mut right, key, counter);
                right.escape_ascii().to_string()
            }
            Expect::OneOf(replies) => {
                let replies: Vec<String> =
                    replies.iter().map(|reply| reply.escape_ascii().to_string()).collect();
                replies.join(" or ")
            }
            Expect::Integer => "an integer".to_string(),
            Expect::Begins(start) => format!("{}...", start.escape_ascii()),
            Expect::NoError => "anything but an error".to_string(),
        }
    }
}

fn is_integer(reply: &[u8]) -> bool {
    let digits = reply.strip_prefix(b":").and_then(|rest| rest.strip_suffix(b"\r\n"));
    digits.is_some_and(|digits| {
        let digits = digits.strip_prefix(b"-").unwrap_or(digits);
        !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_reply_is_not_allowed() {
        let exact = Expect::exact("$4\r\nv{n:3}\r\n").unwrap();
        assert!(exact.allows(b"$4\r\nv012\r\n", 12, 0));
        assert!(!exact.allows(b"$4\r\nv013\r\n", 12, 0) && !exact.allows(b"$-1\r\n", 12, 0));
        let one_of = Expect::OneOf(vec![b"$-1\r\n".to_vec(), b":1\r\n".to_vec()]);
        assert!(one_of.allows(b":1\r\n", 0, 0) && !one_of.allows(b":0\r\n", 0, 0));
        assert!(Expect::Integer.allows(b":-3\r\n", 0, 0));
        for wrong in [&b":\r\n"[..], b":-\r\n", b":1x\r\n", b"$1\r\n1\r\n", b"-ERR\r\n"] {
            assert!(!Expect::Integer.allows(wrong, 0, 0), "{}", wrong.escape_ascii());
        }
        let begins = Expect::Begins(b"*10\r\n$5\r\ntoken".to_vec());
        assert!(begins.allows(b"*10\r\n$5\r\ntoken\r\n:1\r\n", 0, 0) && !begins.allows(b"$-1\r\n", 0, 0));
        assert!(Expect::NoError.allows(b"$-1\r\n", 0, 0));
        assert!(
            !Expect::NoError.allows(b"-ERR\r\n", 0, 0) && !Expect::NoError.allows(b"!3\r\nERR\r\n", 0, 0)
        );
    }
}
