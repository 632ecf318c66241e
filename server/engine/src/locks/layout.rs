//! Redisson's layout of a plain lock, and what must not be mixed with it.

use crate::keyspace::{MODE_FIELD, Tx, WRITE_SUFFIX, WaiterId};
use crate::spec::{CommandError, errors};
use crate::values::{Hash, Value};
use lockwheel_resp::number;

/// What the message of a release says: one waiter may go on.
const UNLOCK_MESSAGE: &[u8] = b"0";
const CHANNEL: &[u8] = b"redisson_lock__channel:";
const READ_WRITE_CHANNEL: &[u8] = b"redisson_rwlock:";
const SEMAPHORE_CHANNEL: &[u8] = b"redisson_sc:";
const LATCH_CHANNEL: &[u8] = b"redisson_countdownlatch__channel__{";
/// What the list of those who wait for a fair lock is called.
const QUEUE: &[u8] = b"redisson_lock_queue:";
/// What the message of the end of a write says: all readers may go on.
const READ_MESSAGE: &[u8] = b"1";

pub(super) const LOCK_MODE: CommandError = CommandError::text("LOCKMODE the key holds a read-write lock");
const OWNER: CommandError = CommandError::text("ERR invalid owner");

/// A name as it stands in those of what belongs to it: in braces, unless it has some of its own.
pub(super) fn braced(key: &[u8]) -> Vec<u8> {
    if key.contains(&b'{') { key.to_vec() } else { [b"{", key, b"}"].concat() }
}

/// The channels that Redisson's clients listen to while they wait for what `key` is.
#[derive(Debug)]
pub(crate) struct Channels {
    /// Of a lock, a read-write lock, a semaphore and a latch.
    pub(crate) all: [Vec<u8>; 4],
    /// What those of a fair lock begin with, one for each waiter; the waiter's name stands behind.
    pub(crate) fair: Vec<u8>,
}

impl Channels {
    /// The channels of a key.
    pub(crate) fn of(key: &[u8]) -> Self {
        let braced = braced(key);
        let lock = [CHANNEL, &braced].concat();
        let fair = [&*lock, b":"].concat();
        let others = [READ_WRITE_CHANNEL, SEMAPHORE_CHANNEL].map(|prefix| [prefix, &braced].concat());
        let [read_write, semaphore] = others;
        Channels { all: [lock, read_write, semaphore, [LATCH_CHANNEL, key, b"}"].concat()], fair }
    }
}

/// Tells who waits by Redisson's means that a plain lock is free.
pub(super) fn tell_plain(tx: &mut Tx<'_>, key: &[u8]) {
    if tx.has_audience() {
        tx.publish(&[CHANNEL, &braced(key)].concat(), UNLOCK_MESSAGE);
    }
}

/// Tells who waits by Redisson's means that a read-write lock can be had, or read.
pub(super) fn tell_read_write(tx: &mut Tx<'_>, key: &[u8], message: &[u8]) {
    if tx.has_audience() {
        tx.publish(&[READ_WRITE_CHANNEL, &braced(key)].concat(), message);
    }
}

/// The channels on which those are told that wait by Redisson's means for a lock that has become free, and what they
/// are told; `mode` was its mode, if it had one. To Redisson it is a spurious wake-up.
pub(crate) fn wake_messages(
    tx: &Tx<'_>,
    key: &[u8],
    mode: Option<&[u8]>,
) -> impl Iterator<Item = (Vec<u8>, &'static [u8])> {
    let Channels { all: [lock, read_write, ..], fair } = Channels::of(key);
    let head = match tx.peek(&[QUEUE, &braced(key)].concat()) {
        Some(Value::List(queue)) => queue.get(0).map(|owner| ([&*fair, owner].concat(), UNLOCK_MESSAGE)),
        _ => None,
    };
    let message = if mode == Some(b"write") { READ_MESSAGE } else { UNLOCK_MESSAGE };
    let read_write = mode.map(|_| (read_write, message));
    [Some((lock, UNLOCK_MESSAGE)), read_write, head].into_iter().flatten()
}

/// Requires that the owner in this field holds the lock by the grant that it believes in.
pub(super) fn check_token(tx: &Tx<'_>, key: &[u8], field: &[u8], token: i64) -> Result<(), CommandError> {
    let current = tx.grant(key, field).map(|grant| grant.number);
    if current.is_some_and(|current| i64::try_from(current) == Ok(token)) {
        return Ok(());
    }
    Err(CommandError::new(format!("STALE token {token}, current {}", or_none(current))))
}

/// A number of a grant, as texts show it.
pub(super) fn or_none(grant: Option<u64>) -> String {
    grant.map_or_else(|| "none".to_owned(), |number| number.to_string())
}

/// A name that can stand in a lock's hash without being taken for something else.
pub(super) fn check_owner(owner: &[u8]) -> Result<&[u8], CommandError> {
    if owner.is_empty() || owner == MODE_FIELD || owner.ends_with(WRITE_SUFFIX) {
        Err(OWNER)
    } else {
        Ok(owner)
    }
}

/// How a lock stands for one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nobody holds it.
    Free,
    /// The owner holds it so many times.
    Mine(i64),
    /// Somebody else does.
    Others,
}

/// How the plain lock `key` stands for `owner`.
///
/// Errors: the key holds another type, a read-write lock, or a count that is none.
pub(super) fn standing(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) -> Result<Standing, CommandError> {
    let Some(hash) = tx.read::<Hash>(key)? else { return Ok(Standing::Free) };
    if hash.contains(MODE_FIELD) {
        return Err(LOCK_MODE);
    }
    match hash.get(owner) {
        None => Ok(Standing::Others),
        Some(count) => number::parse_i64(count).map(Standing::Mine).ok_or(errors::HASH_VALUE_NOT_AN_INTEGER),
    }
}

/// Those who wait for a lock in the name of an owner that holds it, in order of arrival.
pub(super) fn waiting_holders(tx: &Tx<'_>, key: &[u8]) -> Vec<WaiterId> {
    let Some(value) = tx.peek(key) else { return Vec::new() };
    let mut waiting: Vec<(u64, WaiterId)> = match value {
        // What is not a lock may be a large hash.
        Value::Hash(hash) if hash.len() > tx.names_waiting(key).len() => {
            let names = tx.names_waiting(key).filter(|name| hash.contains(name));
            names.flat_map(|name| tx.waiting_as(key, name)).collect()
        }
        Value::Hash(hash) => hash.iter().flat_map(|(owner, _)| tx.waiting_as(key, owner)).collect(),
        _ => Vec::new(),
    };
    waiting.sort_unstable();
    waiting.into_iter().map(|(_, id)| id).collect()
}

/// What kind of lock a value is.
pub(super) fn kind(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Hash(hash) => match hash.get(MODE_FIELD) {
            None => ("exclusive", "hash"),
            Some(b"read") => ("shared", "rwlock"),
            Some(_) => ("exclusive", "rwlock"),
        },
        Value::Str(_) => ("exclusive", "string"),
        _ => ("none", "none"),
    }
}
