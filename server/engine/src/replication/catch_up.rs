//! The part of the stream that a replica lacks when it connects; replicas of about the same time share most of it.

use super::backlog::Backlog;
use lockwheel_resp::allocation;
use lockwheel_store::memory::{BufferBytes, SharedBytes, WeakBytes};
use std::collections::BTreeMap;

/// The length of a chunk, in bytes.
const CHUNK_BYTES: i64 = 16 * 1024;

/// The stream from an offset to its end.
#[derive(Debug, Default)]
pub(crate) struct CatchUp {
    /// The bytes before the first whole chunk.
    pub(crate) head: Vec<u8>,
    pub(crate) chunks: Vec<SharedBytes>,
    /// The bytes after the last whole chunk.
    pub(crate) tail: Vec<u8>,
}

impl CatchUp {
    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> usize {
        let chunks: usize = self.chunks.iter().map(|chunk| chunk.bytes().len()).sum();
        self.head.len() + chunks + self.tail.len()
    }
}

/// The chunks of the stream that replicas are being sent, by number. Each begins at a multiple of the chunk length.
#[derive(Debug, Default)]
pub(super) struct Chunks(BTreeMap<i64, WeakBytes>);

impl Chunks {
    /// Returns the stream from the byte at this offset, if it is kept. Unwinds for lack of memory. O(bytes).
    pub(super) fn catch_up(
        &mut self,
        backlog: &Backlog,
        offset: i64,
        account: &BufferBytes,
    ) -> Option<CatchUp> {
        backlog.since(offset)?;
        self.0.retain(|_, chunk| chunk.upgrade().is_some());
        let (begin, end) = (offset - 1, backlog.end());
        let (first, last) = ((begin + CHUNK_BYTES - 1) / CHUNK_BYTES, end / CHUNK_BYTES);
        if first >= last {
            return Some(CatchUp { head: copy(backlog, begin, end), ..CatchUp::default() });
        }
        Some(CatchUp {
            head: copy(backlog, begin, first * CHUNK_BYTES),
            chunks: (first..last).map(|number| self.chunk(backlog, number, account)).collect(),
            tail: copy(backlog, last * CHUNK_BYTES, end),
        })
    }

    fn chunk(&mut self, backlog: &Backlog, number: i64, account: &BufferBytes) -> SharedBytes {
        let begin = number * CHUNK_BYTES;
        self.0.get(&number).and_then(WeakBytes::upgrade).unwrap_or_else(|| {
            let chunk = SharedBytes::new(account, copy(backlog, begin, begin + CHUNK_BYTES));
            self.0.insert(number, chunk.downgrade());
            chunk
        })
    }
}

/// Copies the stream between two lengths of it, all of which the backlog keeps.
fn copy(backlog: &Backlog, begin: i64, end: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Some((one, other)) = backlog.since(begin + 1) else { return bytes };
    let len = (end - begin) as usize;
    let from_one = &one[..len.min(one.len())];
    allocation::reserve_exact(&mut bytes, len);
    bytes.extend_from_slice(from_one);
    bytes.extend_from_slice(&other[..len - from_one.len()]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(catch_up: &CatchUp) -> Vec<u8> {
        let chunks = catch_up.chunks.iter().flat_map(|chunk| chunk.bytes().to_vec());
        catch_up.head.iter().copied().chain(chunks).chain(catch_up.tail.iter().copied()).collect()
    }

    #[test]
    fn replicas_that_connect_together_share_most_chunks() {
        const KEPT: usize = 20 * CHUNK_BYTES as usize;
        let (mut backlog, mut chunks) = (Backlog::new(0, KEPT), Chunks::default());
        let account = BufferBytes::default();
        backlog.append(&vec![b'x'; KEPT]);
        let replicas: Vec<CatchUp> = (0..100)
            .map(|at| {
                backlog.append(&[b'y'; 100]);
                chunks.catch_up(&backlog, 20_000 + at * 10, &account).expect("it is kept")
            })
            .collect();
        assert!(account.get() < KEPT + KEPT / 10, "each has its own copy: {}", account.get());
        let own = |replica: &CatchUp| replica.head.len() + replica.tail.len();
        assert!(replicas.iter().all(|replica| own(replica) < 2 * CHUNK_BYTES as usize));
        drop(replicas);
        assert_eq!(account.get(), 0);
    }

    proptest! {
        #[test]
        fn the_catch_up_stream_equals_the_backlog(
            begin in 0..3 * CHUNK_BYTES,
            steps in prop::collection::vec((1..40_000_usize, 0..200_000_i64), 1..12),
            kept in 1..150_000_usize,
        ) {
            let (mut backlog, mut chunks) = (Backlog::new(begin, kept), Chunks::default());
            let account = BufferBytes::default();
            let mut held = Vec::new();
            for (at, (len, back)) in steps.into_iter().enumerate() {
                backlog.append(&(0..len).map(|byte| (byte * 7 + at) as u8).collect::<Vec<u8>>());
                let offset = backlog.end() + 1 - back;
                let expected = backlog.since(offset).map(|(one, other)| [one, other].concat());
                let found = chunks.catch_up(&backlog, offset, &account);
                prop_assert_eq!(found.as_ref().map(CatchUp::len), expected.as_ref().map(Vec::len));
                prop_assert!(found.as_ref().map(bytes) == expected);
                held.extend(found.filter(|_| at % 2 == 0));
            }
        }
    }
}
