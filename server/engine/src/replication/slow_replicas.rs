//! The part of the stream that slow replicas still lack, kept once for all of them.

use lockwheel_resp::allocation;
use lockwheel_store::memory::{BufferBytes, SharedBytes};
use std::collections::{BTreeMap, VecDeque};

/// The size of a complete block, in bytes.
const BLOCK_BYTES: usize = 64 * 1024;

/// The stream from the first byte that one of the slow replicas lacks.
#[derive(Debug, Default)]
pub(crate) struct SlowReplicas {
    /// The complete blocks, oldest first. Each has the length of the stream up to its end.
    blocks: VecDeque<(u64, SharedBytes)>,
    /// The block that is being filled.
    open: Vec<u8>,
    /// The length of the stream up to the beginning of the first block, and up to its end.
    begin: u64,
    end: u64,
    /// The length of the stream when the output limits of these replicas were last due for a check.
    checked_at: u64,
    /// The length of the stream that each replica has, by session.
    replicas: BTreeMap<u64, u64>,
}

impl SlowReplicas {
    pub(crate) fn len(&self) -> usize {
        self.replicas.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.replicas.is_empty()
    }

    pub(crate) fn has(&self, session: u64) -> bool {
        self.replicas.contains_key(&session)
    }

    pub(crate) fn sessions(&self) -> Vec<u64> {
        self.replicas.keys().copied().collect()
    }

    /// Returns the bytes of the stream that a replica lacks. O(log n).
    pub(crate) fn unsent(&self, session: u64) -> usize {
        self.replicas.get(&session).map_or(0, |has| (self.end - has) as usize)
    }

    /// Returns the blocks of the stream that a replica lacks. O(log n).
    pub(crate) fn unsent_blocks(&self, session: u64) -> usize {
        let Some(&has) = self.replicas.get(&session) else { return 0 };
        self.blocks.len() - self.first_lacked(has) + usize::from(!self.open.is_empty())
    }

    /// Returns the index of the first block that a replica lacks, which has `has` bytes of the stream.
    fn first_lacked(&self, has: u64) -> usize {
        self.blocks.partition_point(|(end, _)| *end <= has)
    }

    /// Adds a replica that lacks the stream from its current end.
    pub(crate) fn add(&mut self, session: u64, account: &BufferBytes) {
        self.complete(account);
        self.replicas.insert(session, self.end);
    }

    /// Adds a replica that lacks the stream from the same offset as another slow replica.
    pub(crate) fn add_beside(&mut self, session: u64, other: u64) {
        if let Some(&has) = self.replicas.get(&other) {
            self.replicas.insert(session, has);
        }
    }

    /// Appends bytes of the stream. Returns whether the output limits of the slow replicas are due for a check, which
    /// happens once a block. Unwinds if memory is short: then all slow replicas must be cut. O(bytes).
    pub(crate) fn append(&mut self, mut bytes: &[u8], account: &BufferBytes) -> bool {
        self.end += bytes.len() as u64;
        while !bytes.is_empty() {
            let missing = BLOCK_BYTES - self.open.len();
            if self.open.is_empty() {
                allocation::check_left().unwrap_or_else(|error| error.unwind());
            }
            allocation::reserve_exact(&mut self.open, missing);
            let (now, later) = bytes.split_at(bytes.len().min(missing));
            self.open.extend_from_slice(now);
            if now.len() == missing {
                self.complete(account);
            }
            bytes = later;
        }
        let is_due = self.end - self.checked_at >= BLOCK_BYTES as u64;
        if is_due {
            self.checked_at = self.end;
        }
        is_due
    }

    /// Completes the block that is being filled.
    fn complete(&mut self, account: &BufferBytes) {
        if !self.open.is_empty() {
            // The end of a block is the end of the previous one plus its own length.
            let begin = self.blocks.back().map_or(self.begin, |(end, _)| *end);
            let end = begin + self.open.len() as u64;
            self.blocks.push_back((end, SharedBytes::new(account, std::mem::take(&mut self.open))));
        }
    }

    /// Returns the part of the stream that a replica lacks. The replica is no longer slow. O(blocks, replicas).
    pub(crate) fn take(&mut self, session: u64, account: &BufferBytes) -> Vec<SharedBytes> {
        let Some(&has) = self.replicas.get(&session) else { return Vec::new() };
        self.complete(account);
        let first = self.first_lacked(has);
        let lacked = self.blocks.range(first..).map(|(_, block)| block.clone()).collect();
        self.remove(session);
        lacked
    }

    /// Forgets a replica, and the part of the stream that no other replica lacks. O(replicas).
    pub(crate) fn remove(&mut self, session: u64) {
        if self.replicas.remove(&session).is_none() {
            return;
        }
        match self.replicas.values().min() {
            None => *self = SlowReplicas::default(),
            Some(&has) => {
                let sent = self.first_lacked(has);
                self.begin = self.blocks.drain(..sent).next_back().map_or(self.begin, |(end, _)| end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Append(usize),
        Add(u64),
        Take(u64),
        Remove(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            prop_oneof![1..100_usize, 30_000..100_000_usize].prop_map(Step::Append),
            (0..4_u64).prop_map(Step::Add),
            (0..4_u64).prop_map(Step::Take),
            (0..4_u64).prop_map(Step::Remove),
        ]
    }

    #[test]
    fn limits_are_checked_once_a_block() {
        const BYTES: usize = BLOCK_BYTES / 8;
        let (mut slow, account) = (SlowReplicas::default(), BufferBytes::default());
        slow.add(1, &account);
        let mut due = 0;
        for _ in 0..80 {
            due += usize::from(slow.append(&[0; BYTES], &account));
            slow.add(2, &account);
            slow.take(2, &account);
        }
        assert_eq!(due, 10);
    }

    proptest! {
        #[test]
        fn each_replica_gets_its_missing_bytes_and_sent_bytes_are_dropped(
            steps in prop::collection::vec(step(), 1..40),
        ) {
            let (mut slow, account) = (SlowReplicas::default(), BufferBytes::default());
            let (mut stream, mut places) = (Vec::new(), BTreeMap::new());
            for (at, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Append(len) if !slow.is_empty() => {
                        let bytes: Vec<u8> = (0..len).map(|byte| (byte + at) as u8).collect();
                        slow.append(&bytes, &account);
                        stream.extend(bytes);
                    }
                    Step::Append(_) => {}
                    Step::Add(replica) if !slow.has(replica) => {
                        slow.add(replica, &account);
                        places.insert(replica, stream.len());
                    }
                    Step::Add(_) => {}
                    Step::Take(replica) => {
                        let lacked = places.remove(&replica).map_or(&[][..], |place| &stream[place..]);
                        prop_assert_eq!(slow.unsent(replica), lacked.len());
                        let taken = slow.take(replica, &account);
                        let taken: Vec<u8> = taken.iter().flat_map(|block| block.bytes()).copied().collect();
                        prop_assert!(taken == lacked);
                    }
                    Step::Remove(replica) => {
                        slow.remove(replica);
                        places.remove(&replica);
                    }
                }
                prop_assert_eq!(slow.sessions(), places.keys().copied().collect::<Vec<_>>());
                // Apart from its first block, no more is kept than the slowest replica lacks.
                let lacked = places.values().min().map_or(0, |place| stream.len() - place);
                let kept: usize = slow.blocks.iter().map(|(_, block)| block.bytes().len()).sum();
                prop_assert!(kept + slow.open.len() <= lacked);
            }
        }
    }
}
