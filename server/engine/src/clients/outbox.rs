//! Pending output of a client. Replies are written to one buffer, which is all while the client reads. Output that
//! stays longer is kept in pieces of one size, filled to the last byte, so that they take little more than their bytes.
//! A message to many clients is kept once.

use lockwheel_resp::allocation::{self, OutOfMemory};
use lockwheel_resp::{Protocol, Reply, Writer};
use lockwheel_store::memory::{BufferBytes, SharedBytes, block, vec_heap_bytes};
use std::collections::VecDeque;
use std::fmt;
use std::io::IoSlice;

/// The size of a piece, in bytes. The allocator wastes nothing; from 16 KiB on, jemalloc adds a page.
const PIECE: usize = 8 * 1024;
/// The size, in bytes, from which a buffer becomes one piece instead of being copied into several.
const LARGE: usize = 32 * PIECE;
/// The number of pieces that a client which does not read gets between two checks of the free memory.
const PIECES_UNCHECKED: usize = 64;
/// The capacity, in bytes, beyond which an empty buffer is given back.
const KEEP: usize = 64 * 1024;
/// The size, in bytes, from which a message is shared by its receivers. The bookkeeping of a share takes some 60 bytes.
const SHARED: usize = 1024;

/// Bytes on their way to a client, in order.
#[derive(Default)]
pub struct Outbox {
    /// The pieces, the oldest first.
    pieces: VecDeque<Piece>,
    /// Bytes in the pieces.
    in_pieces: usize,
    /// Bytes of memory of the unshared pieces, and bytes of the shared pieces.
    own: usize,
    shared: usize,
    /// The buffer that replies are written to. Its bytes follow the pieces.
    tail: Vec<u8>,
    /// The number of bytes at the front that have been taken.
    taken: usize,
}

/// A run of bytes that no longer change, except that the last piece of an outbox may be filled up.
enum Piece {
    Own(Vec<u8>),
    Shared(SharedBytes),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Piece::Own(bytes) => bytes,
            Piece::Shared(message) => message.bytes(),
        }
    }

    /// Bytes of memory of its own, and shared bytes.
    fn memory(&self) -> (usize, usize) {
        match self {
            Piece::Own(bytes) => (vec_heap_bytes(bytes), 0),
            Piece::Shared(message) => (0, message.bytes().len()),
        }
    }
}

impl Outbox {
    /// Bytes to be sent. O(1).
    #[inline]
    pub fn len(&self) -> usize {
        self.in_pieces + self.tail.len() - self.taken
    }

    /// Whether nothing is to be sent. O(1).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.tail.len() == self.taken
    }

    /// Bytes of memory of the outbox, without shared messages. O(1).
    #[inline]
    pub fn memory(&self) -> usize {
        self.own + vec_heap_bytes(&self.tail) + self.queue_memory()
    }

    #[inline]
    fn queue_memory(&self) -> usize {
        match self.pieces.capacity() {
            0 => 0,
            capacity => block(capacity * size_of::<Piece>()),
        }
    }

    /// The number of pieces. The last one may still have room. O(1).
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// Bytes to be sent that are in the pieces. O(1).
    pub fn piece_bytes(&self) -> usize {
        self.in_pieces - self.taken.min(self.in_pieces)
    }

    /// Bytes of memory of the pieces, each counted as if it were not shared: the memory this client needs. O(1).
    pub fn piece_memory(&self) -> usize {
        self.own + self.shared + self.queue_memory()
    }

    /// Bytes of the pieces that are shared with other clients. O(1).
    pub(crate) fn shared_bytes(&self) -> usize {
        self.shared
    }

    /// The capacity of the buffer, in bytes. O(1).
    pub fn buffer_capacity(&self) -> usize {
        self.tail.capacity()
    }

    fn clear_pieces(&mut self) {
        self.pieces.clear();
        (self.in_pieces, self.own, self.shared) = (0, 0, 0);
    }

    /// Drops everything, but keeps the buffer unless it is large.
    pub fn clear(&mut self) {
        self.clear_pieces();
        self.taken = 0;
        self.tail.clear();
        if self.tail.capacity() > KEEP {
            self.tail = Vec::new();
        }
    }

    /// Takes the buffer that replies are appended to, to be given back by [`Outbox::put_tail`].
    #[inline]
    pub(crate) fn take_tail(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.tail)
    }

    /// Gives the buffer back.
    #[inline]
    pub(crate) fn put_tail(&mut self, tail: Vec<u8>) {
        self.tail = tail;
    }

    /// Appends a reply.
    pub fn reply(&mut self, protocol: Protocol, write: impl FnOnce(&mut dyn Reply)) {
        write(&mut Writer::new(&mut self.tail, protocol));
        if self.tail.len() > PIECE {
            self.settle();
        }
    }

    /// Appends bytes that are written already.
    pub(crate) fn written(&mut self, bytes: &[u8]) {
        allocation::append(&mut self.tail, bytes);
        if self.tail.len() > PIECE {
            self.settle();
        }
    }

    /// Appends a message: its bytes or, if it is large and has several receivers, a share of them.
    pub(crate) fn message(&mut self, message: &mut Message<'_>, protocol: Protocol) {
        let small = message.size < SHARED || message.receivers < 2;
        if !small {
            return self.share(message.shared(protocol));
        }
        // A message that does not fit into the buffer fills pieces, instead of doubling the buffer.
        if self.pieces.is_empty() && self.tail.len() + message.size <= PIECE {
            return (message.write)(&mut Writer::new(&mut self.tail, protocol));
        }
        let mut bytes = Vec::new();
        allocation::reserve(&mut bytes, message.size);
        (message.write)(&mut Writer::new(&mut bytes, protocol));
        self.settle();
        self.fill(&bytes);
    }

    /// Appends bytes that are shared with other clients. O(1).
    pub(crate) fn share(&mut self, bytes: SharedBytes) {
        self.settle();
        self.in_pieces += bytes.bytes().len();
        self.push(Piece::Shared(bytes));
    }

    /// Moves all of `other` to the end of this outbox.
    #[inline]
    pub fn append(&mut self, other: &mut Outbox) {
        if self.is_empty() && self.taken == 0 {
            return std::mem::swap(self, other);
        }
        self.append_behind(other);
    }

    fn append_behind(&mut self, other: &mut Outbox) {
        if other.pieces.is_empty() && other.taken == 0 && self.tail.len() + other.tail.len() <= PIECE {
            return self.tail.append(&mut other.tail);
        }
        self.settle();
        other.settle();
        self.in_pieces += other.in_pieces - other.taken;
        // Bytes of `other` that were already taken must not be sent again.
        if let Some(first) = other.pieces.front_mut().filter(|_| other.taken > 0) {
            *first = Piece::Own(allocation::copy(&first.bytes()[other.taken..]).into_vec());
        }
        other.taken = 0;
        (other.in_pieces, other.own, other.shared) = (0, 0, 0);
        for piece in other.pieces.drain(..) {
            match piece {
                Piece::Own(bytes) if bytes.len() < PIECE => {
                    self.in_pieces -= bytes.len();
                    self.fill(&bytes);
                }
                piece => self.push(piece),
            }
        }
    }

    /// Turns the buffer into pieces, because its bytes will stay for a while.
    pub fn settle(&mut self) {
        if self.tail.is_empty() {
            return;
        }
        let mut tail = std::mem::take(&mut self.tail);
        if self.pieces.is_empty() && self.taken > 0 {
            tail.drain(..self.taken);
            self.taken = 0;
        }
        if tail.len() >= LARGE {
            allocation::shrink(&mut tail);
            self.in_pieces += tail.len();
            return self.push(Piece::Own(tail));
        }
        self.fill(&tail);
        if tail.capacity() <= PIECE {
            tail.clear();
            self.tail = tail;
        }
    }

    /// Adds a piece behind the others. The piece before it is not filled up any more.
    fn push(&mut self, piece: Piece) {
        if let Some(Piece::Own(last)) = self.pieces.back_mut() {
            self.own -= vec_heap_bytes(last);
            allocation::shrink(last);
            self.own += vec_heap_bytes(last);
        }
        let (own, shared) = piece.memory();
        self.own += own;
        self.shared += shared;
        self.put(piece);
    }

    /// Puts a piece behind the others. Unwinds if there is no memory for the queue of pieces.
    fn put(&mut self, piece: Piece) {
        if self.pieces.try_reserve(1).is_err() {
            OutOfMemory { bytes: (self.pieces.len() + 1) * size_of::<Piece>() }.unwind();
        }
        self.pieces.push_back(piece);
    }

    /// Copies bytes into pieces, each filled up before the next. Unwinds if there is hardly any memory left. The count
    /// then includes bytes that are missing, so the caller must cut the client.
    fn fill(&mut self, mut bytes: &[u8]) {
        self.in_pieces += bytes.len();
        while !bytes.is_empty() {
            let room = match self.pieces.back_mut() {
                Some(Piece::Own(last)) if last.len() < PIECE && last.capacity() >= PIECE => last,
                _ => {
                    if self.pieces.len() % PIECES_UNCHECKED == PIECES_UNCHECKED - 1 {
                        allocation::check_left().unwrap_or_else(|error| error.unwind());
                    }
                    let piece = Vec::with_capacity(PIECE);
                    self.own += vec_heap_bytes(&piece);
                    self.put(Piece::Own(piece));
                    continue;
                }
            };
            let (now, later) = bytes.split_at(bytes.len().min(PIECE - room.len()));
            room.extend_from_slice(now);
            bytes = later;
        }
    }

    /// Puts the first bytes, as many as fit, into `slices`. Returns the number of slices that were set.
    pub fn first<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut taken = self.taken;
        let parts = self.pieces.iter().map(Piece::bytes).chain([&*self.tail]);
        let mut count = 0;
        for (slice, part) in slices.iter_mut().zip(parts.filter(|part| !part.is_empty())) {
            *slice = IoSlice::new(&part[std::mem::take(&mut taken)..]);
            count += 1;
        }
        count
    }

    /// The bytes, if all of them are in the buffer, as is usual while the client reads.
    #[inline]
    pub fn only_part(&self) -> Option<&[u8]> {
        self.pieces.is_empty().then(|| &self.tail[self.taken..])
    }

    /// Removes the first `count` bytes. The outbox must have at least that many.
    pub fn take(&mut self, count: usize) {
        self.taken += count;
        while let Some(first) = self.pieces.front() {
            let len = first.bytes().len();
            if self.taken < len {
                return;
            }
            self.taken -= len;
            self.in_pieces -= len;
            let (own, shared) = first.memory();
            self.own -= own;
            self.shared -= shared;
            self.pieces.pop_front();
        }
        if self.taken == self.tail.len() {
            self.clear();
        }
    }

    /// All bytes as one slice. O(1) while the client reads, else O(bytes).
    pub fn bytes(&mut self) -> &[u8] {
        if !self.pieces.is_empty() {
            let mut all = Vec::new();
            allocation::reserve(&mut all, self.len() + self.taken);
            self.pieces.iter().for_each(|piece| all.extend_from_slice(piece.bytes()));
            all.append(&mut self.tail);
            self.clear_pieces();
            self.tail = all;
        }
        &self.tail[self.taken..]
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("pieces", &self.pieces.len()).field("len", &self.len()).finish()
    }
}

/// A message to one or many clients. If they share it, it is written once for each protocol.
pub(crate) struct Message<'a> {
    write: &'a dyn Fn(&mut dyn Reply),
    /// Bytes of the texts, plus a bound of the headers around them.
    size: usize,
    receivers: usize,
    /// The shared bytes in RESP2, and in RESP3.
    shared: [Option<SharedBytes>; 2],
    /// The account of shared messages.
    account: &'a BufferBytes,
}

impl<'a> Message<'a> {
    /// A message with texts of `len` bytes in all, to `receivers` clients. If they share it, it is counted once.
    pub(crate) fn new(
        account: &'a BufferBytes,
        len: usize,
        receivers: usize,
        write: &'a dyn Fn(&mut dyn Reply),
    ) -> Self {
        /// An upper bound, in bytes, of the headers of four texts and a frame.
        const AROUND: usize = 128;
        Message { write, size: len + AROUND, receivers, shared: [None, None], account }
    }

    fn shared(&mut self, protocol: Protocol) -> SharedBytes {
        let shared = &mut self.shared[usize::from(protocol == Protocol::Resp3)];
        let made = shared.get_or_insert_with(|| {
            let mut bytes = Vec::new();
            allocation::reserve(&mut bytes, self.size);
            (self.write)(&mut Writer::new(&mut bytes, protocol));
            SharedBytes::new(self.account, bytes)
        });
        made.clone()
    }
}

#[cfg(test)]
mod tests;
