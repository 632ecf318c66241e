//! The forms of what is propagated.

use super::actor::Actor;
use crate::values::End;

/// A request or message that a command, or the engine itself, propagates.
#[derive(Clone, Copy, Debug)]
pub struct Propagated<'a> {
    /// The database.
    pub db: usize,
    /// The form of what is propagated.
    pub form: PropagatedForm<'a>,
    /// The cause.
    pub actor: &'a Actor<'a>,
}

/// The form of what is propagated.
#[derive(Clone, Copy, Debug)]
pub enum PropagatedForm<'a> {
    /// The running command has the effect of a request with these words, wherever and whenever the request runs. Empty:
    /// the command has no such effect.
    Request(&'a [&'a [u8]]),
    /// The changes that the running command has made to a key have the effect of these requests.
    OfKey(&'a [u8], &'a [KeyRequest<'a>]),
    /// A message to a channel, which only the receivers of propagated requests can receive.
    Message(&'a [u8], &'a [u8]),
}

/// A request that changes one key.
#[derive(Clone, Copy, Debug)]
pub enum KeyRequest<'a> {
    /// `SET` to a string.
    Set(&'a [u8]),
    /// `SET` to a string, with the deadline that the key has.
    SetAndKeepDeadline(&'a [u8]),
    /// `HSET` of a field to a value.
    SetField(&'a [u8], &'a [u8]),
    /// `HSET` of several fields to their values.
    SetFields(&'a [(&'a [u8], &'a [u8])]),
    /// `HDEL` of a field.
    RemoveField(&'a [u8]),
    /// `ZADD` of members with their scores.
    SetScores(&'a [(&'a [u8], f64)]),
    /// `ZREM` of members.
    RemoveMembers(&'a [&'a [u8]]),
    /// `ZREMRANGEBYRANK` of the members from the first rank to the last one, both included.
    RemoveRanks(usize, usize),
    /// `LPUSH` or `RPUSH` of an element.
    Push(End, &'a [u8]),
    /// `LPOP` of one element.
    PopFirst,
    /// `LREM` of all elements with this text.
    RemoveElements(&'a [u8]),
    /// `DEL`.
    Remove,
    /// `PEXPIREAT` to an instant in wall milliseconds.
    ExpireAt(i64),
}
