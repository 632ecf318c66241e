//! The values that keys hold: strings, lists, hashes, sets, sorted sets and streams, in Redis' encodings.
//!
//! Values know nothing of keys, time or the protocol. They hold bytes, and copy input into memory of the right size.
//! Equal operations in an equal order always leave equal orders of elements. Operations that may change an
//! encoding take the limits, [`Encodings`]. They change it where Redis 7.2 does, as OBJECT ENCODING shows.

pub mod bits;
mod digest;
mod encodings;
pub mod hash;
pub mod hyperloglog;
mod integer;
mod intset;
pub mod list;
mod packed;
pub mod set;
pub mod stream;
mod string;
mod table;
pub mod zset;

pub use digest::{DIGEST_BYTES, digest, has_digest};
pub use encodings::{Encoding, Encodings};
pub use hash::Hash;
pub use integer::parse as parse_integer;
pub use integer::{IntText, Text};
pub use list::{End, List, ListBlock, ListBuilder};
pub use set::Set;
pub use stream::Stream;
pub use string::Str;
pub use zset::ZSet;

use crate::memory::block;

/// The value of a key. Cloning copies all of it, as COPY does.
#[derive(Clone, Debug)]
pub enum Value {
    /// A string.
    Str(Str),
    /// A list.
    List(List),
    /// A hash.
    Hash(Hash),
    /// A set.
    Set(Set),
    /// A sorted set.
    ZSet(ZSet),
    /// A stream.
    Stream(Box<Stream>),
}

// A table of keys holds millions of values: three words each, and one allocation for a small value.
const _: () = assert!(size_of::<Value>() <= 24);

impl Value {
    /// The name that TYPE replies.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Str(_) => "string",
            Self::List(_) => "list",
            Self::Hash(_) => "hash",
            Self::Set(_) => "set",
            Self::ZSet(_) => "zset",
            Self::Stream(_) => "stream",
        }
    }

    /// The representation; OBJECT ENCODING replies its name.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        match self {
            Self::Str(value) => value.encoding(),
            Self::List(value) => value.encoding(),
            Self::Hash(value) => value.encoding(),
            Self::Set(value) => value.encoding(),
            Self::ZSet(value) => value.encoding(),
            Self::Stream(_) => Encoding::Stream,
        }
    }

    /// A lower bound of the value's memory blocks, the cost of freeing it. O(1), O(groups) for a stream.
    #[must_use]
    pub fn parts(&self) -> usize {
        match self {
            Self::Str(_) => 1,
            Self::List(value) => value.len(),
            Self::Hash(value) => value.len(),
            Self::Set(value) => value.len(),
            Self::ZSet(value) => value.len(),
            Self::Stream(value) => value.parts(),
        }
    }

    /// Bytes of heap of the value, with all its elements. O(1).
    #[must_use]
    #[inline]
    pub fn heap_bytes(&self) -> usize {
        if self.block_len() == Some(0) { 0 } else { self.held_bytes() }
    }

    /// Whether the value is a string that is stored in place.
    #[inline]
    pub fn is_in_place(&self) -> bool {
        matches!(self, Self::Str(text) if text.is_in_place())
    }

    /// The length of its single block of memory; 0 if the value is stored in place. `None` if there are several blocks,
    /// or one with spare room. As long as the result does not change, [`Value::heap_bytes`] does not.
    #[inline]
    pub fn block_len(&self) -> Option<usize> {
        match self {
            Self::Str(value) => value.is_in_place().then_some(0),
            Self::List(_) | Self::Stream(_) => None,
            Self::Hash(value) => value.packed_len(),
            Self::Set(value) => value.packed_len(),
            Self::ZSet(value) => value.packed_len(),
        }
    }

    #[inline(never)]
    fn held_bytes(&self) -> usize {
        match self {
            Self::Str(value) => value.heap_bytes(),
            Self::List(value) => value.heap_bytes(),
            Self::Hash(value) => value.heap_bytes(),
            Self::Set(value) => value.heap_bytes(),
            Self::ZSet(value) => value.heap_bytes(),
            Self::Stream(value) => block(size_of::<Stream>()) + value.heap_bytes(),
        }
    }

    /// Reads the beginning of its memory, which brings it into the processor's caches.
    #[inline]
    pub fn touch(&self) -> bool {
        match self {
            Self::Str(value) => value.touch(),
            _ => self.is_empty(),
        }
    }

    /// Whether a collection has no element left, so that its key goes. False for a string or a stream.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Str(_) | Self::Stream(_) => false,
            Self::List(value) => value.is_empty(),
            Self::Hash(value) => value.is_empty(),
            Self::Set(value) => value.is_empty(),
            Self::ZSet(value) => value.is_empty(),
        }
    }
}
