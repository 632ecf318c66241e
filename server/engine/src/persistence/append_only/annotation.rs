//! Annotations: lines of the file that Redis skips.

use std::fmt;

/// The beginning of the annotations of this server.
const OURS: &str = "LOCKWHEEL";

/// The content of a line that begins with `#`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Annotation {
    /// The time of the requests that follow, in seconds of the wall clock. Redis writes the same line.
    Time(i64),
    /// The number of the last grant of a lock. Fencing tokens go on after it.
    LastGrant(u64),
}

impl Annotation {
    /// Reads the text between `#` and the end of the line. `None`: the line means nothing to this server.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        if let Some(seconds) = text.strip_prefix("TS:") {
            return seconds.trim().parse().ok().map(Annotation::Time);
        }
        let number = text.strip_prefix(OURS)?.strip_prefix(" last-grant ")?;
        number.trim().parse().ok().map(Annotation::LastGrant)
    }
}

impl fmt::Display for Annotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Annotation::Time(seconds) => write!(f, "#TS:{seconds}\r\n"),
            Annotation::LastGrant(number) => write!(f, "#{OURS} last-grant {number}\r\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_is_read_as_it_was_written() {
        for annotation in [Annotation::Time(1_700_000_000), Annotation::LastGrant(u64::MAX)] {
            let line = annotation.to_string();
            let text = line.strip_prefix('#').and_then(|text| text.strip_suffix("\r\n")).expect("a line");
            assert_eq!(Annotation::parse(text.as_bytes()), Some(annotation));
        }
        for other in [&b""[..], b"a comment", b"TS:", b"LOCKWHEEL last-grant x", b"\xff"] {
            assert_eq!(Annotation::parse(other), None);
        }
    }
}
