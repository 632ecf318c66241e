//! Redisson's layout of a plain lock, and what must not be mixed with it.

use crate::keyspace::{Tx, WaiterId};
use crate::table::{CommandError, errors};
use crate::values::{Hash, Value};
use lockwheel_resp::number;

/// The field that marks the hash of a read-write lock.
pub(super) const MODE: &[u8] = b"mode";
/// What the message of a release says: one waiter may go on.
pub(super) const UNLOCK_MESSAGE: &[u8] = b"0";
const CHANNEL: &[u8] = b"redisson_lock__channel:";

const LOCK_MODE: CommandError = CommandError::text("LOCKMODE the key holds a read-write lock");
const OWNER: CommandError = CommandError::text("ERR invalid owner");

/// The channel on which Redisson tells that a lock is free: the name in braces, unless it has some of its own.
pub(super) fn channel(key: &[u8]) -> Vec<u8> {
    if key.contains(&b'{') { [CHANNEL, key].concat() } else { [CHANNEL, b"{", key, b"}"].concat() }
}

/// The lock that a message says is free, if it is one of Redisson's unlock messages.
pub(crate) fn released_lock(channel: &[u8]) -> Option<&[u8]> {
    let braced = channel.strip_prefix(CHANNEL)?;
    let name = braced.strip_prefix(b"{").and_then(|name| name.strip_suffix(b"}"));
    Some(name.filter(|name| !name.contains(&b'{')).unwrap_or(braced))
}

/// A name that can stand in a lock's hash without being taken for something else.
pub(super) fn check_owner(owner: &[u8]) -> Result<&[u8], CommandError> {
    if owner.is_empty() || owner == MODE || owner.ends_with(b":write") { Err(OWNER) } else { Ok(owner) }
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
    if hash.contains(MODE) {
        return Err(LOCK_MODE);
    }
    match hash.get(owner) {
        None => Ok(Standing::Others),
        Some(count) => number::parse_i64(count).map(Standing::Mine).ok_or(errors::HASH_VALUE_NOT_AN_INTEGER),
    }
}

/// Those who wait for a lock in the name of an owner that holds it, in order of arrival.
pub(crate) fn waiting_holders(tx: &Tx<'_>, key: &[u8]) -> Vec<WaiterId> {
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
        Value::Hash(hash) => match hash.get(MODE) {
            None => ("exclusive", "hash"),
            Some(b"read") => ("shared", "rwlock"),
            Some(_) => ("exclusive", "rwlock"),
        },
        Value::Str(_) => ("exclusive", "string"),
        _ => ("none", "none"),
    }
}
