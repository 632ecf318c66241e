//! The sizes of a client's buffers, on both sides of the engine's lock.

use super::outbox::Outbox;
use lockwheel_store::memory::{ClientBytes, block};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The size of the reply buffer that Redis gives to each client, and always counts in full. Output up to this size,
/// taken or not, does not count towards `maxmemory-clients`, so it never causes an eviction.
const USUAL_OUTPUT: usize = 16 << 10;

/// Counters of a client's buffers. The connection updates the input and the unwritten output, the engine the untaken
/// output: one writer at a time. They are part of the engine's total until dropped.
#[derive(Debug)]
pub struct ClientBuffers {
    all: ClientBytes,
    /// Bytes of output that the connection has taken and not yet written.
    unwritten: AtomicUsize,
    /// Bytes of memory of the untaken output, of the taken output, and of the query buffer.
    untaken_memory: AtomicUsize,
    taken_memory: AtomicUsize,
    query_memory: AtomicUsize,
    /// Bytes of memory of the state that the engine keeps for the client: queued requests, names of channels and keys.
    state_memory: AtomicUsize,
    query: AtomicUsize,
    /// The number of times that the client has sent a part of a request. The number wraps around.
    partial_reads: AtomicUsize,
    /// The pieces of the taken output: their number, their bytes, and their memory as if nothing were shared.
    pieces: AtomicUsize,
    piece_bytes: AtomicUsize,
    piece_memory: AtomicUsize,
    /// Bytes of those pieces that are shared with other clients.
    shared: AtomicUsize,
}

impl ClientBuffers {
    pub(crate) fn new(all: ClientBytes) -> Self {
        ClientBuffers {
            all,
            unwritten: AtomicUsize::new(0),
            partial_reads: AtomicUsize::new(0),
            untaken_memory: AtomicUsize::new(0),
            taken_memory: AtomicUsize::new(0),
            query_memory: AtomicUsize::new(0),
            state_memory: AtomicUsize::new(0),
            query: AtomicUsize::new(0),
            pieces: AtomicUsize::new(0),
            piece_bytes: AtomicUsize::new(0),
            piece_memory: AtomicUsize::new(0),
            shared: AtomicUsize::new(0),
        }
    }

    /// Bytes that the connection has taken and not yet written.
    #[inline]
    pub(crate) fn unwritten(&self) -> usize {
        self.unwritten.load(Ordering::Relaxed)
    }

    /// Records the number of taken bytes that are not yet written.
    #[inline]
    pub fn set_unwritten(&self, bytes: usize) {
        self.unwritten.store(bytes, Ordering::Relaxed);
    }

    /// Records the output that the connection has taken and not yet written. O(1).
    #[inline]
    pub fn set_taken(&self, output: &Outbox) {
        self.set_unwritten(output.len());
        self.change_output(&self.taken_memory, output.memory());
        if output.pieces() > 0 || self.pieces.load(Ordering::Relaxed) > 0 {
            self.pieces.store(output.pieces(), Ordering::Relaxed);
            self.piece_bytes.store(output.piece_bytes(), Ordering::Relaxed);
            self.piece_memory.store(output.piece_memory(), Ordering::Relaxed);
            self.shared.store(output.shared_bytes(), Ordering::Relaxed);
        }
    }

    /// Counts a read that completes no request. Such a client is not idle.
    #[inline]
    pub fn count_partial_read(&self) {
        self.partial_reads.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of reads that completed no request. The number wraps around.
    pub(crate) fn partial_reads(&self) -> usize {
        self.partial_reads.load(Ordering::Relaxed)
    }

    /// Records the bytes in the query buffer, and its capacity. O(1).
    #[inline]
    pub fn set_query(&self, bytes: usize, capacity: usize) {
        self.query.store(bytes, Ordering::Relaxed);
        self.change(&self.query_memory, block(capacity));
    }

    /// Records the memory of the untaken output. O(1).
    #[inline]
    pub(crate) fn set_untaken(&self, memory: usize) {
        self.change_output(&self.untaken_memory, memory);
    }

    /// Replaces `before` bytes by `after` bytes of the state kept for the client, with the engine locked. O(1).
    pub(crate) fn change_state(&self, before: usize, after: usize) {
        let sum = load(&self.state_memory).wrapping_sub(before).wrapping_add(after);
        self.change(&self.state_memory, sum);
    }

    #[inline]
    fn change(&self, counter: &AtomicUsize, bytes: usize) {
        if counter.load(Ordering::Relaxed) != bytes {
            let before = counter.swap(bytes, Ordering::Relaxed);
            self.all.all.change(before, bytes);
            self.all.limited.change(before, bytes);
        }
    }

    #[inline]
    fn change_output(&self, counter: &AtomicUsize, bytes: usize) {
        if counter.load(Ordering::Relaxed) != bytes {
            let before = counter.swap(bytes, Ordering::Relaxed);
            self.all.all.change(before, bytes);
            if before.max(bytes) > USUAL_OUTPUT {
                self.all.limited.change(beyond_usual(before), beyond_usual(bytes));
            }
        }
    }

    /// Bytes of memory of all buffers, without shared messages. O(1).
    pub(crate) fn memory(&self) -> usize {
        let own = [&self.untaken_memory, &self.taken_memory, &self.query_memory, &self.state_memory];
        own.map(load).into_iter().sum()
    }

    /// The bytes that count towards `maxmemory-clients`. O(1).
    pub(crate) fn limited(&self) -> usize {
        let output = [&self.untaken_memory, &self.taken_memory].map(load).map(beyond_usual);
        output.into_iter().sum::<usize>() + load(&self.query_memory) + load(&self.state_memory)
    }

    /// Bytes in the query buffer, and its free space.
    pub(crate) fn query(&self) -> (usize, usize) {
        let bytes = load(&self.query);
        (bytes, load(&self.query_memory).saturating_sub(bytes))
    }

    /// The pieces of the taken output: their number, their bytes, and their memory as if nothing were shared.
    pub(crate) fn pieces(&self) -> (usize, usize, usize) {
        (load(&self.pieces), load(&self.piece_bytes), load(&self.piece_memory))
    }

    /// Bytes of those pieces that are shared with other clients.
    pub(crate) fn shared_bytes(&self) -> usize {
        load(&self.shared)
    }
}

fn load(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::Relaxed)
}

fn beyond_usual(output: usize) -> usize {
    output.saturating_sub(USUAL_OUTPUT)
}

impl Drop for ClientBuffers {
    fn drop(&mut self) {
        self.all.all.change(self.memory(), 0);
        self.all.limited.change(self.limited(), 0);
    }
}

/// Bytes of a client's state. They are counted until this is dropped.
#[derive(Debug)]
pub(crate) struct HeldState {
    buffers: Arc<ClientBuffers>,
    bytes: usize,
}

impl HeldState {
    /// A count of zero bytes for the client with these buffers.
    pub(crate) fn new(buffers: &Arc<ClientBuffers>) -> Self {
        HeldState { buffers: buffers.clone(), bytes: 0 }
    }

    /// Sets the number of bytes. O(1).
    pub(crate) fn set(&mut self, bytes: usize) {
        self.buffers.change_state(self.bytes, bytes);
        self.bytes = bytes;
    }

    /// The number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for HeldState {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwheel_resp::Protocol;

    #[test]
    fn client_buffers_are_counted_until_the_client_is_removed() {
        let all = ClientBytes::default();
        let buffers = ClientBuffers::new(all.clone());
        let mut output = Outbox::default();
        output.reply(Protocol::Resp2, |reply| reply.bulk(&[b'x'; 100_000]));
        buffers.set_taken(&output);
        buffers.set_query(700, 1000);
        buffers.set_untaken(64);
        assert_eq!(all.all.get(), output.memory() + 1024 + 64);
        assert_eq!((all.all.get(), buffers.query()), (buffers.memory(), (700, 324)));
        assert_eq!((buffers.unwritten(), buffers.pieces().0), (output.len(), output.pieces()));
        assert_eq!(all.limited.get(), output.memory() - USUAL_OUTPUT + 1024);
        assert_eq!(all.limited.get(), buffers.limited());
        output.take(output.len());
        buffers.set_taken(&output);
        assert_eq!((buffers.unwritten(), buffers.pieces().0), (0, 0));
        assert_eq!(all.all.get(), output.memory() + 1024 + 64);
        let buffers = Arc::new(buffers);
        let mut state = HeldState::new(&buffers);
        let before = buffers.memory();
        state.set(100);
        state.set(60);
        assert_eq!((all.all.get(), buffers.memory(), state.bytes()), (before + 60, before + 60, 60));
        drop(state);
        assert_eq!(buffers.memory(), before);
        drop(buffers);
        assert_eq!((all.all.get(), all.limited.get()), (0, 0));
    }
}
