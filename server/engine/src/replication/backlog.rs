//! The end of the stream, kept for replicas that reconnect.

use lockwheel_store::memory::shrink_deque;
use std::collections::VecDeque;

/// The last bytes of the stream, up to a limit. Offsets count the bytes of the stream from 1.
#[derive(Debug)]
pub(crate) struct Backlog {
    /// The kept bytes, after some older ones whose memory has not been needed.
    bytes: VecDeque<u8>,
    limit: usize,
    /// The offset of the last byte of the stream, whether it is kept or not.
    end: i64,
}

impl Backlog {
    /// Creates an empty backlog whose stream continues after this offset. `limit` is in bytes.
    pub(super) fn new(end: i64, limit: usize) -> Self {
        Backlog { bytes: VecDeque::new(), limit, end }
    }

    /// Appends bytes of the stream. O(bytes).
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.end += bytes.len() as i64;
        let kept = &bytes[bytes.len().saturating_sub(self.limit)..];
        if self.bytes.len() + kept.len() <= self.bytes.capacity() || self.make_room(kept.len()) {
            self.bytes.extend(kept);
        } else {
            // Without room, nothing is kept, and the next byte becomes the first one.
            self.bytes = VecDeque::new();
        }
    }

    /// Makes room for more bytes. The memory grows to a little more than the limit, so that many old bytes are dropped
    /// at a time. Returns false if there is no memory. O(bytes).
    #[cold]
    fn make_room(&mut self, more: usize) -> bool {
        let excess = (self.bytes.len() + more).saturating_sub(self.limit);
        self.bytes.drain(..excess.min(self.bytes.len()));
        let (needed, capacity) = (self.bytes.len() + more, self.bytes.capacity());
        if needed <= capacity {
            return true;
        }
        let wanted = capacity.saturating_mul(2).min(self.limit + self.limit / 16).max(needed);
        self.bytes.try_reserve_exact(wanted - self.bytes.len()).is_ok()
    }

    /// Changes the limit, in bytes. O(bytes).
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        let excess = self.bytes.len().saturating_sub(limit);
        self.bytes.drain(..excess);
        shrink_deque(&mut self.bytes, limit);
    }

    /// Returns the offset of the first kept byte; if none is kept, the offset of the next byte of the stream.
    pub(crate) fn first_offset(&self) -> i64 {
        self.end + 1 - self.len() as i64
    }

    /// Returns the offset of the last byte of the stream.
    pub(super) fn end(&self) -> i64 {
        self.end
    }

    /// Returns the number of kept bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len().min(self.limit)
    }

    /// Returns the bytes of memory that the backlog takes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the stream from the byte at this offset, in two parts; `None` if it is not all kept, or beyond the end.
    pub(super) fn since(&self, offset: i64) -> Option<(&[u8], &[u8])> {
        let skipped = usize::try_from(offset.checked_sub(self.first_offset())?).ok()?;
        let skipped = skipped + self.bytes.len() - self.len();
        let (one, other) = self.bytes.as_slices();
        match skipped {
            skipped if skipped <= one.len() => Some((&one[skipped..], other)),
            skipped => other.get(skipped - one.len()..).map(|rest| (rest, &[][..])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn since(backlog: &Backlog, offset: i64) -> Option<Vec<u8>> {
        backlog.since(offset).map(|(one, other)| [one, other].concat())
    }

    #[test]
    fn the_backlog_returns_the_stream_after_an_offset_it_has() {
        let mut backlog = Backlog::new(100, 4);
        assert_eq!(
            (since(&backlog, 101), since(&backlog, 100), since(&backlog, 102)),
            (Some(vec![]), None, None)
        );
        backlog.append(b"abcdef");
        assert_eq!((backlog.first_offset(), backlog.len()), (103, 4));
        assert_eq!(since(&backlog, 102), None);
        assert_eq!(since(&backlog, 103).as_deref(), Some(&b"cdef"[..]));
        assert_eq!(since(&backlog, 107).as_deref(), Some(&b""[..]));
        assert_eq!(since(&backlog, 108), None);
        for far in [i64::MIN, -1, 0, i64::MAX] {
            assert_eq!(since(&backlog, far), None);
        }
        backlog.set_limit(2);
        assert_eq!((since(&backlog, 105).as_deref(), since(&backlog, 104)), (Some(&b"ef"[..]), None));
    }

    proptest! {
        #[test]
        fn the_backlog_keeps_the_end_of_the_stream(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..30),
            limit in 1_usize..100,
        ) {
            let (mut backlog, mut stream) = (Backlog::new(0, limit), Vec::new());
            for piece in pieces {
                backlog.append(&piece);
                stream.extend(piece);
                let first = stream.len().saturating_sub(limit);
                prop_assert_eq!(backlog.first_offset(), first as i64 + 1);
                for at in first..=stream.len() {
                    prop_assert_eq!(since(&backlog, at as i64 + 1), Some(stream[at..].to_vec()));
                }
            }
        }
    }
}
