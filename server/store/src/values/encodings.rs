//! The limits that decide the encoding of a value.

use super::stream::NodeLimits;
use std::fmt;

/// The encoding limits of one engine, as CONFIG GET names them, and the seed of its hash tables. Operations take them
/// by reference: a CONFIG SET applies from the next write on, and as in Redis, a value keeps its encoding until then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encodings {
    /// The most fields of a `listpack` hash.
    pub hash_max_listpack_entries: usize,
    /// The length of the longest field or value, in bytes, of a `listpack` hash.
    pub hash_max_listpack_value: usize,
    /// The most bytes of a sparse HyperLogLog.
    pub hll_sparse_max_bytes: usize,
    /// The size of the largest `listpack` list, and of the largest node of a `quicklist`. -1 to -5 are 4, 8, 16, 32 and
    /// 64 KiB; 0 and up are a number of elements (of at most 8 KiB together).
    pub list_max_listpack_size: i64,
    /// The most members of an `intset` set.
    pub set_max_intset_entries: usize,
    /// The most members of a `listpack` set.
    pub set_max_listpack_entries: usize,
    /// The length of the longest member, in bytes, of a `listpack` set.
    pub set_max_listpack_value: usize,
    /// The most members of a `listpack` sorted set.
    pub zset_max_listpack_entries: usize,
    /// The length of the longest member, in bytes, of a `listpack` sorted set.
    pub zset_max_listpack_value: usize,
    /// The size at which a node of a stream is full.
    pub stream_node: NodeLimits,
    /// The seed of the hash of every table made from now on. The seed affects the memory layout only, nothing that can
    /// be observed. Since it comes from outside, clients cannot choose members that collide.
    pub seed: u64,
}

impl Default for Encodings {
    /// The limits of an unconfigured Redis 7.2, and seed 0.
    fn default() -> Self {
        Self {
            hash_max_listpack_entries: 512,
            hash_max_listpack_value: 64,
            hll_sparse_max_bytes: 3000,
            list_max_listpack_size: -2,
            set_max_intset_entries: 512,
            set_max_listpack_entries: 128,
            set_max_listpack_value: 64,
            zset_max_listpack_entries: 128,
            zset_max_listpack_value: 64,
            stream_node: NodeLimits { bytes: 4096, entries: 100 },
            seed: 0,
        }
    }
}

/// The name of a representation in OBJECT ENCODING.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// A string that is a canonical 64-bit integer.
    Int,
    /// A string of at most 44 bytes that was never grown in place.
    Embstr,
    /// Any other string.
    Raw,
    /// A small hash, list, set or sorted set in one block of memory.
    Listpack,
    /// A list in several blocks.
    Quicklist,
    /// A large hash or set.
    Hashtable,
    /// A small set of integers.
    Intset,
    /// A large sorted set.
    Skiplist,
    /// A stream.
    Stream,
}

impl Encoding {
    /// The name that OBJECT ENCODING replies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Embstr => "embstr",
            Self::Raw => "raw",
            Self::Listpack => "listpack",
            Self::Quicklist => "quicklist",
            Self::Hashtable => "hashtable",
            Self::Intset => "intset",
            Self::Skiplist => "skiplist",
            Self::Stream => "stream",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The defaults that CONFIG GET of an unconfigured server of the 7.2 line replies.
    #[test]
    fn defaults_are_those_of_the_real_server() {
        let enc = Encodings::default();
        let ours = [
            ("hash-max-listpack-entries", enc.hash_max_listpack_entries),
            ("hash-max-listpack-value", enc.hash_max_listpack_value),
            ("hll-sparse-max-bytes", enc.hll_sparse_max_bytes),
            ("set-max-intset-entries", enc.set_max_intset_entries),
            ("set-max-listpack-entries", enc.set_max_listpack_entries),
            ("set-max-listpack-value", enc.set_max_listpack_value),
            ("zset-max-listpack-entries", enc.zset_max_listpack_entries),
            ("zset-max-listpack-value", enc.zset_max_listpack_value),
        ];
        let real = [
            ("hash-max-listpack-entries", 512),
            ("hash-max-listpack-value", 64),
            ("hll-sparse-max-bytes", 3000),
            ("set-max-intset-entries", 512),
            ("set-max-listpack-entries", 128),
            ("set-max-listpack-value", 64),
            ("zset-max-listpack-entries", 128),
            ("zset-max-listpack-value", 64),
        ];
        assert_eq!(ours, real);
        assert_eq!(enc.list_max_listpack_size, -2);
        assert_eq!(enc.stream_node, NodeLimits { bytes: 4096, entries: 100 });
    }
}
