//! Redisson's names: the fields of its locks, their further keys, its channels and messages. No other file spells them.

use super::snapshot::{LockLayout, LockMode};
use lockwheel_store::keyspace::is_thread;
use lockwheel_store::values::{Hash, Value};
use smallvec::SmallVec;

/// The name of a key or channel that belongs to a lock. It is short in most cases, and then takes no memory beside.
pub(super) type RelatedName = SmallVec<[u8; SHORT_NAME]>;

/// The maximum length of a short name, in bytes.
const SHORT_NAME: usize = 96;

/// The field that marks the hash of a read-write lock, which is not an owner.
pub(super) const MODE_FIELD: &[u8] = b"mode";
/// The value of [`MODE_FIELD`] while a lock is read.
pub(super) const READ: &[u8] = b"read";
/// The value of [`MODE_FIELD`] while a lock is written.
pub(super) const WRITE: &[u8] = b"write";
pub(super) const WRITE_SUFFIX: &[u8] = b":write";

/// The field in a lock that nobody gets for a while, which is not an owner.
pub(super) const DELAY_FIELD: &[u8] = b"lockwheel:delay";

/// The bytes of a UUID in hexadecimal digits and the colon behind it.
const UUID: usize = 37;

/// The end of a permit without a lease, in wall milliseconds.
pub(super) const NEVER_MS: i64 = 922_337_203_685_477;
/// The fields of a rate limiter. They are the permits of an interval, its milliseconds, the milliseconds that each
/// acquisition lets the limiter live on, and its type. The type says whether each client has permits of its own.
pub(super) const RATE_FIELDS: [&[u8]; 4] = [b"rate", b"interval", b"keepAliveTime", b"type"];

/// The text between a reader and the number of its lease in the key of that lease.
const READ_LEASE: &[u8] = b":rwlock_timeout:";

const CHANNEL: &[u8] = b"redisson_lock__channel:";
const READ_WRITE_CHANNEL: &[u8] = b"redisson_rwlock:";
const SEMAPHORE_CHANNEL: &[u8] = b"redisson_sc:";
const LATCH_CHANNEL: &[u8] = b"redisson_countdownlatch__channel__{";
/// The prefix of the list of a fair lock's waiters.
const QUEUE: &[u8] = b"redisson_lock_queue:";
/// The prefix of the sorted set of their timeouts.
const QUEUE_TIMEOUTS: &[u8] = b"redisson_lock_timeout:";

/// The prefix of the counter of a fenced lock.
const TOKEN: &[u8] = b"redisson_lock_token:";

/// The message of a release: one waiter may continue.
pub(super) const UNLOCK_MESSAGE: &[u8] = b"0";
/// The message of a latch whose count has reached zero.
pub(super) const ZERO_COUNT_MESSAGE: &[u8] = b"0";
/// The message of a latch that has been set.
pub(super) const NEW_COUNT_MESSAGE: &[u8] = b"1";
/// The message when a write lock ends: all readers may continue.
pub(super) const READ_MESSAGE: &[u8] = b"1";

/// Whether a field is an owner as Redisson names it: `<uuid>:<thread>`, with the suffix `:write` for a write lock.
#[inline]
pub(super) fn is_owner(field: &[u8]) -> bool {
    is_thread(owner_of(field))
}

/// Returns the UUID of the Redisson instance whose thread an owner is.
pub(super) fn instance_of(owner: &[u8]) -> Option<&[u8]> {
    is_owner(owner).then(|| &owner[..UUID - 1])
}

/// Returns the owner of a field: the field of a write lock has a suffix.
pub(super) fn owner_of(field: &[u8]) -> &[u8] {
    field.strip_suffix(WRITE_SUFFIX).unwrap_or(field)
}

/// Whether a value is a read-write lock that has an owner.
pub(super) fn is_held_read_write(value: &Value) -> bool {
    matches!(value, Value::Hash(hash) if hash.contains(MODE_FIELD) && owners(hash).next().is_some())
}

pub(super) fn is_held_by(value: &Value, owner: &[u8]) -> bool {
    match value {
        Value::Hash(hash) => {
            owner != MODE_FIELD && (hash.contains(owner) || hash.contains(&[owner, WRITE_SUFFIX].concat()))
        }
        Value::Str(text) => *text.text() == *owner,
        _ => false,
    }
}

/// Returns the owners that a hash names, in order of arrival while the hash is small.
pub(super) fn owners(hash: &Hash) -> impl Iterator<Item = &[u8]> {
    hash.iter().map(|(field, _)| field).filter(|field| *field != MODE_FIELD && owner_of(field) != DELAY_FIELD)
}

/// Returns the names of a lock's owners, once for each of their fields. A writer has its name without the suffix.
pub(super) fn names(hash: &Hash) -> impl Iterator<Item = &[u8]> {
    let has_mode = hash.contains(MODE_FIELD);
    owners(hash).map(move |field| match field.strip_suffix(WRITE_SUFFIX) {
        Some(name) if has_mode => name,
        _ => field,
    })
}

/// Whether an owner of this name holds the lock, in any mode.
pub(super) fn names_owner(hash: &Hash, name: &[u8]) -> bool {
    hash.contains(name) || (hash.contains(MODE_FIELD) && hash.contains(&write_field(name)))
}

/// Returns the fields of the holders of a lock. A string has its text as the only field.
pub(super) fn held_fields(value: &Value) -> Vec<Box<[u8]>> {
    match value {
        Value::Hash(hash) => owners(hash).map(Box::from).collect(),
        value => with_first_owner(value, |owner| Box::from(owner)).into_iter().collect(),
    }
}

/// Passes the first owner to `look`, if there is one.
#[inline(always)]
pub(super) fn with_first_owner<T>(value: &Value, look: impl FnOnce(&[u8]) -> T) -> Option<T> {
    match value {
        Value::Hash(hash) => match hash.first() {
            Some((owner, _)) if owner != MODE_FIELD => Some(look(owner)),
            _ => later_owner(hash).map(look),
        },
        Value::Str(text) => Some(look(&text.text())),
        _ => None,
    }
}

/// Returns the first owner of a hash that begins with another field.
#[cold]
fn later_owner(hash: &Hash) -> Option<&[u8]> {
    owners(hash).next()
}

pub(super) fn kind(value: &Value) -> (LockMode, LockLayout) {
    match value {
        Value::Hash(hash) => match hash.get(MODE_FIELD) {
            None => (LockMode::Exclusive, LockLayout::Hash),
            Some(READ) => (LockMode::Shared, LockLayout::ReadWrite),
            Some(_) => (LockMode::Exclusive, LockLayout::ReadWrite),
        },
        Value::Str(_) => (LockMode::Exclusive, LockLayout::String),
        _ => (LockMode::None, LockLayout::None),
    }
}

/// Returns a key's name in the names of related keys and channels: in braces, unless it has some of its own.
fn braced(key: &[u8]) -> Vec<u8> {
    of_key(b"", key).into_vec()
}

/// Returns the name of a channel or key that belongs to a key: a prefix, and the key's name as [`braced`].
fn of_key(prefix: &[u8], key: &[u8]) -> RelatedName {
    of_tagged(prefix, key, key.contains(&b'{'))
}

/// Returns the same, for a key that has braces of its own or not.
fn of_tagged(prefix: &[u8], key: &[u8], has_braces: bool) -> RelatedName {
    if prefix.len() + key.len() + 2 > SHORT_NAME {
        let name = if has_braces { [prefix, key].concat() } else { [prefix, b"{", key, b"}"].concat() };
        return name.into();
    }
    let mut name = [0; SHORT_NAME];
    let (start, rest) = name.split_at_mut(prefix.len());
    start.copy_from_slice(prefix);
    if has_braces {
        rest[..key.len()].copy_from_slice(key);
        return RelatedName::from_buf_and_len(name, prefix.len() + key.len());
    }
    rest[0] = b'{';
    rest[1..=key.len()].copy_from_slice(key);
    rest[key.len() + 1] = b'}';
    RelatedName::from_buf_and_len(name, prefix.len() + key.len() + 2)
}

/// Returns the key of the list of a fair lock's waiters, and a function for the channel of a plain lock's waiters.
pub(super) fn queue_and_channel(key: &[u8]) -> (RelatedName, impl FnOnce() -> RelatedName) {
    let has_braces = key.contains(&b'{');
    (of_tagged(QUEUE, key, has_braces), move || of_tagged(CHANNEL, key, has_braces))
}

/// Returns the channel of waiters for a plain lock.
pub(super) fn lock_channel(key: &[u8]) -> RelatedName {
    of_key(CHANNEL, key)
}

/// Returns the channel of waiters for a read-write lock.
pub(super) fn read_write_channel(key: &[u8]) -> RelatedName {
    of_key(READ_WRITE_CHANNEL, key)
}

/// Returns the channel of waiters for a semaphore.
pub(super) fn semaphore_channel(key: &[u8]) -> RelatedName {
    of_key(SEMAPHORE_CHANNEL, key)
}

/// Returns the channel of waiters for a latch. The key is always in braces.
pub(super) fn latch_channel(key: &[u8]) -> RelatedName {
    RelatedName::from_vec([LATCH_CHANNEL, key, b"}"].concat())
}

pub(super) fn write_field(owner: &[u8]) -> Vec<u8> {
    [owner, WRITE_SUFFIX].concat()
}

/// Returns the key of the counter that gives a fenced lock its tokens.
pub(super) fn token_key(key: &[u8]) -> RelatedName {
    of_key(TOKEN, key)
}

/// Returns the key of the list of a fair lock's waiters.
pub(super) fn queue_key(key: &[u8]) -> RelatedName {
    of_key(QUEUE, key)
}

pub(super) fn permit_leases_key(key: &[u8]) -> Vec<u8> {
    suffixed(key, b"timeout")
}

/// Returns the semaphore whose leases a key of this name may hold.
pub(super) fn semaphore_of_leases(key: &[u8]) -> Option<&[u8]> {
    key.strip_suffix(b":timeout").map(unbraced)
}

/// Whether one of these keys is the channel of a semaphore: scripts name the channel beside the key.
pub(super) fn names_channel_of(keys: &[&[u8]], semaphore: &[u8]) -> bool {
    let channels = keys.iter().filter_map(|key| key.strip_prefix(SEMAPHORE_CHANNEL));
    channels.into_iter().any(|name| unbraced(name) == semaphore)
}

/// Returns the key of a rate's remaining permits: this client's own if each has its own.
pub(super) fn rate_value_key(key: &[u8], client: Option<&[u8]>) -> Vec<u8> {
    of_client(suffixed(key, b"value"), client)
}

/// Returns the key of a rate's permits that were given out: this client's own if each has its own.
pub(super) fn rate_permits_key(key: &[u8], client: Option<&[u8]>) -> Vec<u8> {
    of_client(suffixed(key, b"permits"), client)
}

fn suffixed(key: &[u8], suffix: &[u8]) -> Vec<u8> {
    [&*braced(key), b":", suffix].concat()
}

fn of_client(key: Vec<u8>, client: Option<&[u8]>) -> Vec<u8> {
    match client {
        Some(client) => suffixed(&key, client),
        None => key,
    }
}

/// Returns the key of the sorted set of a fair lock's waiters, with the instants at which they give up.
pub(super) fn queue_timeouts_key(key: &[u8]) -> RelatedName {
    of_key(QUEUE_TIMEOUTS, key)
}

/// Returns the channel of one waiter for a fair lock.
pub(super) fn waiter_channel(key: &[u8], owner: &[u8]) -> RelatedName {
    let mut name = lock_channel(key);
    name.push(b':');
    name.extend_from_slice(owner);
    name
}

pub(super) fn lock_of_queue(key: &[u8]) -> Option<&[u8]> {
    key.strip_prefix(QUEUE).map(unbraced)
}

/// Returns the name by which users know a key: that of the whole for a fair queue, a rate's permits or a read lease.
pub(crate) fn known_name(key: &[u8]) -> &[u8] {
    let whole = || {
        let end = key.windows(2).position(|two| two == b"}:")?;
        let (name, part) = (key[..end].strip_prefix(b"{")?, &key[end + 2..]);
        let is_left = part == b"value" || part.starts_with(b"value:");
        let is_lease = part.windows(READ_LEASE.len()).any(|some| some == READ_LEASE);
        (is_left || is_lease).then_some(name)
    };
    lock_of_queue(key).or_else(whole).unwrap_or(key)
}

/// Returns the lock of a channel. For the channel of a single waiter of a fair lock, also returns that waiter.
pub(crate) fn lock_of_channel(channel: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let name = channel.strip_prefix(CHANNEL).or_else(|| channel.strip_prefix(READ_WRITE_CHANNEL))?;
    // The owner is `<uuid>:<thread>` behind a colon; threads have up to 20 digits.
    let owner = (UUID + 1..=UUID + 20).find_map(|len| {
        let (rest, owner) = name.split_at_checked(name.len().checked_sub(len)?)?;
        (rest.ends_with(b":") && is_owner(owner)).then_some(owner)
    });
    let name = owner.map_or(name, |owner| &name[..name.len() - owner.len() - 1]);
    Some((unbraced(name), owner))
}

/// Returns the owner that waits for a fair lock, from its own channel.
pub(crate) fn waiter_of_channel(channel: &[u8]) -> Option<&[u8]> {
    let (key, owner) = lock_of_channel(channel)?;
    owner.filter(|owner| *waiter_channel(key, owner) == *channel)
}

/// Returns a key's name from its form in the names of related keys and channels.
fn unbraced(name: &[u8]) -> &[u8] {
    let inner = name.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
    inner.filter(|inner| !inner.contains(&b'{')).unwrap_or(name)
}

/// The maximum number of read leases of one owner that are examined.
pub(super) const MAX_READ_LEASES: i64 = 10_000;

/// Returns the key that holds the lease of an owner's `n`th read hold.
pub(super) fn read_lease_key(key: &[u8], owner: &[u8], n: i64) -> Vec<u8> {
    [&*braced(key), b":", owner, READ_LEASE, n.to_string().as_bytes()].concat()
}

pub(super) const LOCK_CHANNELS: [&[u8]; 2] = [CHANNEL, READ_WRITE_CHANNEL];

/// Returns the keys of the locks of these channels, which begin with one of [`LOCK_CHANNELS`]. For each channel these
/// are the text in braces and the whole name, since the key may have braces of its own.
pub(super) fn listened_keys<'c>(channels: impl Iterator<Item = &'c [u8]>) -> Vec<Box<[u8]>> {
    let name = |channel: &'c [u8]| LOCK_CHANNELS.into_iter().find_map(|prefix| channel.strip_prefix(prefix));
    let keys = channels.filter_map(name).flat_map(|name| {
        let inner = name.strip_prefix(b"{").and_then(|rest| rest.split(|byte| *byte == b'}').next());
        [inner, Some(name)].into_iter().flatten().map(Box::from)
    });
    keys.collect()
}

/// The channels that Redisson's clients subscribe to while they wait for `key`.
#[derive(Debug)]
pub(crate) struct Channels {
    /// The channels of a lock, a read-write lock, a semaphore and a latch.
    pub(crate) all: [RelatedName; 4],
    /// The prefix of the channels of a fair lock. Each waiter has one, which ends with the waiter's name.
    pub(crate) fair: RelatedName,
}

impl Channels {
    pub(crate) fn of(key: &[u8]) -> Self {
        let lock = lock_channel(key);
        let fair = waiter_channel(key, b"");
        Channels { all: [lock, read_write_channel(key), semaphore_channel(key), latch_channel(key)], fair }
    }
}

/// Returns the channels of the waiters for a lock that has become free, each with its message. `value` was the hash of
/// the lock; `queue` is the list of its waiters, if the lock is fair.
pub(super) fn wake_messages(
    key: &[u8],
    value: &Hash,
    queue: Option<&Value>,
) -> impl Iterator<Item = (RelatedName, &'static [u8])> {
    let Channels { all: [lock, read_write, ..], .. } = Channels::of(key);
    let head = match queue {
        Some(Value::List(queue)) => queue.get(0).map(|owner| (waiter_channel(key, owner), UNLOCK_MESSAGE)),
        _ => None,
    };
    let mode = value.get(MODE_FIELD);
    let message = if mode == Some(WRITE) { READ_MESSAGE } else { UNLOCK_MESSAGE };
    let read_write = mode.map(|_| (read_write, message));
    [Some((lock, UNLOCK_MESSAGE)), read_write, head].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_of_a_queue_and_of_a_channel() {
        for key in [&b"lock"[..], b"a:b", b"tag{x}y"] {
            assert_eq!(lock_of_queue(&queue_key(key)), Some(key));
            assert_eq!(lock_of_channel(&lock_channel(key)), Some((key, None)));
            assert_eq!(lock_of_channel(&read_write_channel(key)), Some((key, None)));
            let owner = b"8743c9c0-0795-4907-87fd-6c719a6b4586:4711";
            let fair = [&*Channels::of(key).fair, owner].concat();
            assert_eq!(lock_of_channel(&fair), Some((key, Some(&owner[..]))));
            assert_eq!(waiter_of_channel(&fair), Some(&owner[..]));
            let of_other = [&*read_write_channel(key), b":", owner].concat();
            assert!(
                [&*lock_channel(key), &of_other].iter().all(|channel| waiter_of_channel(channel).is_none())
            );
        }
        assert_eq!((lock_of_queue(b"other"), lock_of_channel(b"news")), (None, None));
    }

    #[test]
    fn companion_keys_are_recognized_by_their_name() {
        let lease = read_lease_key(b"k", b"o:1", 2);
        let rates = [None, Some(&b"c"[..])].map(|client| rate_value_key(b"k", client));
        for key in [&*queue_key(b"k"), &lease, &rates[0], &rates[1]] {
            assert_eq!(known_name(key), b"k");
        }
        for key in [&b"k"[..], b"k:value", b"{k}:values", b"{k}:permits", b"x{k}:value", b"", b"}:value"] {
            assert_eq!(known_name(key), key);
        }
    }

    #[test]
    fn owners_of_redisson_are_recognized_by_their_form() {
        let uuid = "8743c9c0-0795-4907-87fd-6c719a6b4586";
        for tail in [":1", ":4711", ":1:write"] {
            assert!(is_owner(format!("{uuid}{tail}").as_bytes()), "{tail}");
        }
        for field in ["", "mode", "a:1", uuid] {
            assert!(!is_owner(field.as_bytes()), "{field}");
        }
        for tail in ["", ":", ":x", ":1x", "1", ":write", ":1:read"] {
            assert!(!is_owner(format!("{uuid}{tail}").as_bytes()), "{tail}");
        }
        assert!(!is_owner(b"8743c9c0x0795-4907-87fd-6c719a6b4586:1"));
    }
}
