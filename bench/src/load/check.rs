//! What a right reply is, and where a reply ends.

use super::template::Template;
use crate::error::Result;

/// The right replies to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// These bytes, with the same placeholders as the request.
    Exact(Template),
    /// One of these.
    OneOf(Vec<Vec<u8>>),
    /// An integer.
    Integer,
    /// Any reply that begins with these bytes.
    Begins(Vec<u8>),
    /// Any reply but an error.
    NoError,
}

impl Expect {
    /// A reply as on the wire, placeholders as in a request.
    ///
    /// # Errors
    /// When a placeholder asks for an impossible number of digits.
    pub fn exact(text: &str) -> Result<Expect> {
        Ok(Expect::Exact(Template::parse(text)?))
    }

    /// Whether a whole reply is right. `key` and `counter` are those of the request.
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

    /// What would be right, for a message.
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

/// What stands at the beginning of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A whole reply (or request) of so many bytes.
    Whole(usize),
    /// The beginning of one.
    Part,
    /// No reply at all.
    Broken,
}

/// How long the reply is that `bytes` begin with. Linear in its length.
pub fn frame(bytes: &[u8]) -> Frame {
    // Replies still to be read: an array adds its elements, so that depth needs no recursion.
    let (mut at, mut left) = (0usize, 1u64);
    while left > 0 {
        let Some(line) = line_end(&bytes[at..]) else {
            let known = bytes.get(at).is_none_or(|first| b"+-:$*_#,(!=%~>".contains(first));
            return if known { Frame::Part } else { Frame::Broken };
        };
        let (kind, number) = (bytes[at], &bytes[at + 1..at + line - 2]);
        at += line;
        left -= 1;
        match kind {
            b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => {}
            b'$' | b'!' | b'=' => match length(number) {
                Some(None) => {}
                Some(Some(length)) => match at.checked_add(length).and_then(|end| end.checked_add(2)) {
                    Some(end) if end <= bytes.len() && bytes[end - 2..end] == *b"\r\n" => at = end,
                    Some(end) if end > bytes.len() => return Frame::Part,
                    _ => return Frame::Broken,
                },
                None => return Frame::Broken,
            },
            b'*' | b'~' | b'>' | b'%' => {
                let Some(count) = length(number) else { return Frame::Broken };
                let each = if kind == b'%' { 2 } else { 1 };
                left = left.saturating_add(each * count.unwrap_or(0) as u64);
            }
            _ => return Frame::Broken,
        }
    }
    Frame::Whole(at)
}

/// The bytes up to and with the first CR LF.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let at = bytes.iter().position(|&byte| byte == b'\n')?;
    (at >= 2 && bytes[at - 1] == b'\r').then_some(at + 1)
}

/// A length: `Some(None)` for -1, `None` for what is no length.
fn length(digits: &[u8]) -> Option<Option<usize>> {
    if digits == b"-1" {
        return Some(None);
    }
    std::str::from_utf8(digits).ok()?.parse::<u32>().ok().map(|length| Some(length as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_measured_at_every_cut() {
        let frames: &[&[u8]] = &[
            b"+OK\r\n",
            b"-ERR no\r\n",
            b":-12\r\n",
            b"$-1\r\n",
            b"$0\r\n\r\n",
            b"$5\r\na\r\nbc\r\n",
            b"*-1\r\n",
            b"*0\r\n",
            b"*3\r\n:1\r\n*2\r\n$1\r\nx\r\n+y\r\n:2\r\n",
            b"%1\r\n+a\r\n_\r\n",
        ];
        for &whole in frames {
            for cut in 0..whole.len() {
                assert_eq!(frame(&whole[..cut]), Frame::Part, "{}", whole[..cut].escape_ascii());
            }
            assert_eq!(frame(whole), Frame::Whole(whole.len()));
            assert_eq!(frame(&[whole, b"+next\r\n"].concat()), Frame::Whole(whole.len()));
        }
    }

    #[test]
    fn what_is_no_reply_is_told() {
        for broken in [&b"x"[..], b"HTTP/1.1 400\r\n", b"$x\r\n", b"$1\r\nabc\r\n", b"*-2\r\n", b"$-7\r\n"] {
            assert_eq!(frame(broken), Frame::Broken, "{}", broken.escape_ascii());
        }
    }

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
