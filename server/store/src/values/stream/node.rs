//! A node of a stream: entries one after another in one block of memory.
//!
//! The block begins with the fields of the first entry. An entry with the same fields stores only its values. Each
//! entry is a byte of flags, the length of the rest, the id relative to the node's first id, and the fields and values.
//! It ends with the length of all that, by which the entry is found from behind. Deleting an entry moves nothing.

use super::entry::{Entry, Fields};
use super::id::StreamId;
use super::text::{
    last_number, listpack_integer, push_number, push_number_backward, push_text, take_number, take_text,
};
use crate::memory::vec_heap_bytes;
use crate::values::packed::write_length;
use lockwheel_resp::allocation;

const DELETED: u8 = 1;
/// The entry has fields of its own.
const OWN_FIELDS: u8 = 1 << 1;
/// The sequence number of the id is 0, and is not stored.
const SEQ_IS_ZERO: u8 = 1 << 2;

/// The bytes of an empty listpack: its header and its end.
const LISTPACK: usize = 7;
/// The least capacity of a new block, in bytes.
const MIN_ROOM_BYTES: usize = 48;

/// Entries, of which at least one is not deleted.
#[derive(Clone, Debug)]
pub(super) struct StreamNode {
    bytes: Vec<u8>,
    /// The offset of the first entry.
    start: u32,
    live: u32,
    deleted: u32,
    /// The bytes of the listpack that Redis would have, without the two counts.
    listpack: u32,
}

/// The position of an entry, and the content of its head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) id: StreamId,
    flags: u8,
    /// The start and the end of its fields and values.
    body: (usize, usize),
    /// The offset of the next entry.
    pub(super) end: usize,
}

impl Head {
    pub(super) fn is_deleted(&self) -> bool {
        self.flags & DELETED != 0
    }
}

impl StreamNode {
    /// A node without entries, for entries with these fields. `fields` are the field names alone.
    pub(super) fn new<'t>(fields: impl ExactSizeIterator<Item = &'t [u8]>) -> Self {
        let mut bytes = Vec::with_capacity(MIN_ROOM_BYTES);
        let mut listpack = LISTPACK + listpack_integer(fields.len() as i64) + listpack_integer(0);
        push_number(&mut bytes, fields.len() as u64);
        for field in fields {
            listpack += push_text(&mut bytes, field);
        }
        Self { start: bytes.len() as u32, bytes, live: 0, deleted: 0, listpack: listpack as u32 }
    }

    /// The number of entries that are not deleted.
    pub(super) fn live(&self) -> usize {
        self.live as usize
    }

    /// The number of deleted entries, which still take their space.
    pub(super) fn deleted(&self) -> usize {
        self.deleted as usize
    }

    /// Bytes of heap that it holds. O(1).
    #[inline]
    pub(super) fn heap_bytes(&self) -> usize {
        vec_heap_bytes(&self.bytes)
    }

    /// The bytes of Redis' listpack of these entries, in which its limits are expressed. O(1).
    #[inline]
    pub(super) fn listpack_bytes(&self) -> usize {
        let counts = listpack_integer(self.live.into()) + listpack_integer(self.deleted.into());
        self.listpack as usize + counts
    }

    /// Gives back the room for more entries.
    pub(super) fn close(&mut self) {
        allocation::shrink(&mut self.bytes);
    }

    /// The bytes of the fields that the entries share.
    fn fields(&self) -> &[u8] {
        &self.bytes[..self.start as usize]
    }

    pub(super) fn shared_fields(&self) -> Entry<'_> {
        Entry { id: StreamId::MIN, is_deleted: false, fields: Fields::Shared(self.fields(), &[]) }
    }

    /// Whether these fields are the shared ones, in the same order.
    pub(super) fn shares<'t>(&self, fields: impl ExactSizeIterator<Item = &'t [u8]>) -> bool {
        let mut known = self.fields();
        take_number(&mut known) == fields.len() as u64
            && fields.into_iter().all(|field| *take_text(&mut known) == *field)
    }

    /// Appends an entry of these values, or pairs if its fields differ. `first` is the node's first id.
    pub(super) fn push<'t>(
        &mut self,
        first: StreamId,
        id: StreamId,
        own_fields: bool,
        texts: impl ExactSizeIterator<Item = &'t [u8]> + Clone,
    ) {
        self.make_room(texts.clone().map(|text| text.len() + 5).sum::<usize>() + 32);
        let (ms, seq) = (id.ms.wrapping_sub(first.ms), id.seq.wrapping_sub(first.seq));
        let mut flags = if own_fields { OWN_FIELDS } else { 0 };
        if id.seq == 0 {
            flags |= SEQ_IS_ZERO;
        }
        let start = self.bytes.len();
        // Most entries are so short that one byte holds their length.
        self.bytes.extend_from_slice(&[flags, 0]);
        push_number(&mut self.bytes, ms);
        if flags & SEQ_IS_ZERO == 0 {
            push_number(&mut self.bytes, if ms == 0 { seq } else { id.seq });
        }
        let count = texts.len();
        let mut listpack = listpack_integer(0) + listpack_integer(ms as i64) + listpack_integer(seq as i64);
        if own_fields {
            push_number(&mut self.bytes, (count / 2) as u64);
            listpack += listpack_integer((count / 2) as i64) + listpack_integer(count as i64 + 4);
        } else {
            listpack += listpack_integer(count as i64 + 3);
        }
        for text in texts {
            listpack += push_text(&mut self.bytes, text);
        }
        self.set_length(start);
        self.live += 1;
        self.listpack += listpack as u32;
    }

    /// Writes both lengths of the entry at `start`, whose other bytes must all be written.
    fn set_length(&mut self, start: usize) {
        let rest = self.bytes.len() - start - 2;
        if rest < 0x80 {
            self.bytes[start + 1] = rest as u8;
        } else {
            let mut length = [0; 10];
            let end = write_length(&mut length, 0, rest);
            self.bytes.splice(start + 1..start + 2, length[..end].iter().copied());
        }
        let whole = self.bytes.len() - start;
        push_number_backward(&mut self.bytes, whole);
    }

    /// Makes room for `bytes` more bytes. The capacity doubles while it is small, then grows by half.
    fn make_room(&mut self, bytes: usize) {
        if self.bytes.capacity() - self.bytes.len() >= bytes {
            return;
        }
        let room = self.bytes.capacity();
        let more = if room < 8192 { room } else { room / 2 };
        let wanted = bytes.max(room + more - self.bytes.len());
        allocation::reserve_exact(&mut self.bytes, wanted);
    }

    /// The head of the entry at `at`. Returns `None` behind the last entry. `first` is the node's first id.
    #[inline]
    pub(super) fn head(&self, first: StreamId, at: usize) -> Option<Head> {
        let mut rest = self.bytes.get(at + 1..)?;
        let flags = self.bytes[at];
        let length = take_number(&mut rest) as usize;
        let begin = self.bytes.len() - rest.len();
        let ms = take_number(&mut rest);
        let seq = match flags & SEQ_IS_ZERO == 0 {
            true if ms == 0 => first.seq.wrapping_add(take_number(&mut rest)),
            true => take_number(&mut rest),
            false => 0,
        };
        let id = StreamId { ms: first.ms.wrapping_add(ms), seq };
        let body_end = begin + length;
        let backward = (usize::BITS - ((body_end - at) | 1).leading_zeros()).div_ceil(7) as usize;
        Some(Head { id, flags, body: (self.bytes.len() - rest.len(), body_end), end: body_end + backward })
    }

    pub(super) fn first_place(&self) -> usize {
        self.start as usize
    }

    /// The offset behind the last entry.
    pub(super) fn end_place(&self) -> usize {
        self.bytes.len()
    }

    /// The offset of the entry that ends at `end`. Returns `None` before the first entry.
    #[inline]
    pub(super) fn before(&self, end: usize) -> Option<usize> {
        if end <= self.start as usize {
            return None;
        }
        let (whole, taken) = last_number(&self.bytes[..end]);
        end.checked_sub(whole + taken).filter(|&at| at >= self.start as usize)
    }

    /// The entry with this head.
    #[inline]
    pub(super) fn entry(&self, head: &Head) -> Entry<'_> {
        let body = &self.bytes[head.body.0..head.body.1];
        let fields = match head.flags & OWN_FIELDS {
            0 => Fields::Shared(self.fields(), body),
            _ => Fields::Own(body),
        };
        Entry { id: head.id, is_deleted: head.is_deleted(), fields }
    }

    /// The id of the last entry, deleted or not.
    pub(super) fn last_id(&self, first: StreamId) -> StreamId {
        let last = self.before(self.bytes.len()).and_then(|at| self.head(first, at));
        last.map_or(first, |head| head.id)
    }

    /// The offset of the entry with this id, unless it is deleted. O(entries).
    fn find(&self, first: StreamId, id: StreamId) -> Option<usize> {
        let mut at = self.first_place();
        while let Some(head) = self.head(first, at) {
            if head.id >= id {
                return (head.id == id && !head.is_deleted()).then_some(at);
            }
            at = head.end;
        }
        None
    }

    /// Deletes the entry at `at`, which must not be deleted yet.
    pub(super) fn delete_at(&mut self, at: usize) {
        self.bytes[at] |= DELETED;
        self.live -= 1;
        self.deleted += 1;
    }

    /// Deletes the entry with this id; returns whether it existed. O(entries).
    pub(super) fn delete(&mut self, first: StreamId, id: StreamId) -> bool {
        let Some(at) = self.find(first, id) else { return false };
        self.delete_at(at);
        true
    }
}
