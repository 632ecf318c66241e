//! The numbers of the forms in which a value can be stored.

/// A string.
pub(super) const STRING: u8 = 0;
/// A list, string by string.
pub(super) const LIST: u8 = 1;
/// A set, string by string.
pub(super) const SET: u8 = 2;
/// A sorted set, member by member with the text of its score.
pub(super) const ZSET: u8 = 3;
/// A hash, string by string.
pub(super) const HASH: u8 = 4;
/// A sorted set, member by member with its score in eight bytes.
pub(super) const ZSET_2: u8 = 5;
/// Values of modules, before and since Redis 4.0. They are only refused.
pub(super) const OF_MODULES: [u8; 2] = [6, 7];
/// A hash as a zipmap, up to Redis 2.4.
pub(super) const HASH_ZIPMAP: u8 = 9;
/// A list as one ziplist, up to Redis 3.0.
pub(super) const LIST_ZIPLIST: u8 = 10;
/// A set as an array of integers.
pub(super) const SET_INTSET: u8 = 11;
/// A sorted set as a ziplist, up to Redis 6.2.
pub(super) const ZSET_ZIPLIST: u8 = 12;
/// A hash as a ziplist, up to Redis 6.2.
pub(super) const HASH_ZIPLIST: u8 = 13;
/// A list as ziplists, up to Redis 6.2.
pub(super) const LIST_QUICKLIST: u8 = 14;
/// A stream, since Redis 5.0.
pub(super) const STREAM: u8 = 15;
/// A hash as a listpack, since Redis 7.0.
pub(super) const HASH_LISTPACK: u8 = 16;
/// A sorted set as a listpack, since Redis 7.0.
pub(super) const ZSET_LISTPACK: u8 = 17;
/// A list as listpacks and single elements, since Redis 7.0.
pub(super) const LIST_QUICKLIST_2: u8 = 18;
/// A stream with counters of all entries ever added, since Redis 7.0.
pub(super) const STREAM_2: u8 = 19;
/// A set as a listpack, since Redis 7.2.
pub(super) const SET_LISTPACK: u8 = 20;

/// A stream whose consumers have two times, since Redis 7.2.
pub(super) const STREAM_3: u8 = 21;

/// A hash whose fields have deadlines, in Valkey 9's form: each field with its deadline.
pub(super) const HASH_2: u8 = 22;
/// A hash whose fields have deadlines, since Redis 7.4: the earliest, then each field's difference to it.
pub(super) const HASH_METADATA: u8 = 24;
/// A hash whose fields have deadlines, as a listpack of fields, values and deadlines.
pub(super) const HASH_LISTPACK_EX: u8 = 25;

/// The kind of a node of [`LIST_QUICKLIST_2`] that is a single element.
pub(super) const NODE_PLAIN: usize = 1;
/// The kind of a node of [`LIST_QUICKLIST_2`] that is a listpack.
pub(super) const NODE_PACKED: usize = 2;
