//! Annotations: facts beside the data that a server needs to go on with them.
//!
//! In the append-only file they are lines that Redis skips. In the replication stream they are requests, which only
//! replicas of this program are sent.

use lockwheel_resp::{number, write_request};

/// The beginning of the annotations of this server.
const OURS: &str = "LOCKWHEEL";
const LAST_GRANT: &str = " last-grant ";

/// The number of grants that one annotation covers. So few of them are written.
const RESERVED_GRANTS: u64 = 1000;

/// A fact beside the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Annotation {
    /// The time of the requests that follow, in seconds of the wall clock. Redis writes the same line.
    Time(i64),
    /// A number that no grant of a lock has exceeded. Fencing tokens go on after it.
    LastGrant(u64),
}

/// The numbers of grants that the receivers of annotations know to be used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReservedGrants {
    last: u64,
}

impl ReservedGrants {
    /// Reserves numbers up to this one and some more, unless that is done. Returns the annotation that says so.
    #[inline]
    pub(crate) fn reserve(&mut self, last_grant: u64) -> Option<Annotation> {
        (last_grant > self.last).then(|| {
            self.last = last_grant.saturating_add(RESERVED_GRANTS - 1);
            Annotation::LastGrant(self.last)
        })
    }

    /// Returns the last number that is used or reserved. `last_grant`: the last one that is used.
    pub(crate) fn including(self, last_grant: u64) -> u64 {
        self.last.max(last_grant)
    }
}

impl Annotation {
    /// Reads a request of a replication stream. `None`: the request is no annotation, or one that means nothing to this
    /// server.
    pub(crate) fn of_request<W: AsRef<[u8]>>(words: &[W]) -> Option<Self> {
        let [text] = words else { return None };
        Annotation::parse(text.as_ref().strip_prefix(b"#")?)
    }

    /// Whether a request of a replication stream is an annotation. Redis has no command with such a name.
    pub(crate) fn is_request(name: &[u8]) -> bool {
        name.starts_with(b"#")
    }

    /// Appends the annotation to a replication stream.
    pub(crate) fn write_request(self, stream: &mut Vec<u8>) {
        let mut line = Vec::new();
        self.write(&mut line);
        write_request(&[line.trim_ascii_end()], stream);
    }

    /// Reads the text between `#` and the end of the line. `None`: the line means nothing to this server.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        if let Some(seconds) = text.strip_prefix("TS:") {
            return seconds.trim().parse().ok().map(Annotation::Time);
        }
        let number = text.strip_prefix(OURS)?.strip_prefix(LAST_GRANT)?;
        number.trim().parse().ok().map(Annotation::LastGrant)
    }

    /// Appends the line.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        match self {
            Annotation::Time(seconds) => {
                out.extend_from_slice(b"#TS:");
                number::write_i64(seconds, out);
            }
            Annotation::LastGrant(number) => {
                out.push(b'#');
                out.extend_from_slice(OURS.as_bytes());
                out.extend_from_slice(LAST_GRANT.as_bytes());
                number::write_usize(number as usize, out);
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_is_read_as_it_was_written() {
        for annotation in [Annotation::Time(1_700_000_000), Annotation::LastGrant(u64::MAX)] {
            let mut line = Vec::new();
            annotation.write(&mut line);
            let text = line.strip_prefix(b"#").and_then(|text| text.strip_suffix(b"\r\n")).expect("a line");
            assert_eq!(Annotation::parse(text), Some(annotation));
        }
        let mut stream = Vec::new();
        Annotation::LastGrant(12).write_request(&mut stream);
        assert_eq!(stream, b"*1\r\n$24\r\n#LOCKWHEEL last-grant 12\r\n");
        assert_eq!(Annotation::of_request(&["#LOCKWHEEL last-grant 12"]), Some(Annotation::LastGrant(12)));
        assert_eq!(Annotation::of_request(&["#LOCKWHEEL last-grant 12", "more"]), None);
        for other in [&b""[..], b"a comment", b"TS:", b"LOCKWHEEL last-grant x", b"\xff"] {
            assert_eq!(Annotation::parse(other), None);
        }
    }

    #[test]
    fn one_annotation_covers_many_grants() {
        let mut reserved = ReservedGrants::default();
        assert_eq!(reserved.reserve(0), None);
        assert_eq!(reserved.reserve(1), Some(Annotation::LastGrant(1000)));
        assert_eq!((reserved.reserve(2), reserved.reserve(1000)), (None, None));
        assert_eq!(reserved.including(7), 1000);
        assert_eq!(reserved.reserve(1001), Some(Annotation::LastGrant(2000)));
        assert_eq!(reserved.reserve(u64::MAX), Some(Annotation::LastGrant(u64::MAX)));
        assert_eq!(reserved.reserve(u64::MAX), None);
    }
}
