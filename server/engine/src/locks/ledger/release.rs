//! The ways in which a hold on a lock ends.

use super::super::redisson::WRITE_SUFFIX;
use lockwheel_store::keyspace::{Actor, CalledBy, Cause, Watched};
use lockwheel_store::values::has_digest;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::locks) enum ReleaseCause {
    /// The owner released the hold, natively or by Redisson's script: the command named its owner.
    Released,
    Expired,
    /// LOCK.FORCEUNLOCK removed the hold, or a script that does not name its owner.
    Forced,
    /// The connection ended for which the lock was held.
    Disconnected,
    /// LOCK.TRANSFER gave the lock to another owner.
    Transferred,
    /// A command that deletes, renames or flushes keys removed the hold.
    Deleted,
    /// The key was given another value.
    Overwritten,
    /// The server evicted the key because memory was short.
    Evicted,
    /// Another server has taken over without the hold, or this one has restarted without it.
    FailedOver,
    /// SWAPDB moved the key to another database, where the hold continues.
    Swapped,
}

impl ReleaseCause {
    pub(in crate::locks) fn name(self) -> &'static str {
        match self {
            ReleaseCause::Released => "released",
            ReleaseCause::Expired => "expired",
            ReleaseCause::Forced => "forced",
            ReleaseCause::Disconnected => "disconnected",
            ReleaseCause::Transferred => "transferred",
            ReleaseCause::Deleted => "deleted",
            ReleaseCause::Overwritten => "overwritten",
            ReleaseCause::Evicted => "evicted",
            ReleaseCause::FailedOver => "failed-over",
            ReleaseCause::Swapped => "swapped",
        }
    }

    /// Returns how a hold of `owner` ends when its key is gone for this cause.
    #[inline]
    pub(in crate::locks) fn of(cause: Cause, actor: &Actor<'_>, owner: &[u8]) -> Self {
        match cause {
            Cause::Command => ReleaseCause::by(actor, owner),
            Cause::Overwrite if compares(actor, owner) => ReleaseCause::Released,
            Cause::Overwrite => ReleaseCause::Overwritten,
            Cause::Eviction => ReleaseCause::Evicted,
            Cause::Deadline { .. } => ReleaseCause::Expired,
        }
    }

    /// Returns how a hold of `owner` ends if this actor removes it. The owner has released it if the command names that
    /// owner. A command of a transaction also releases it if the transaction watched the key.
    pub(in crate::locks) fn by(actor: &Actor<'_>, owner: &[u8]) -> Self {
        let named_by_command = || is_named(owner, actor.command.get(1..).unwrap_or_default());
        match actor.called_by {
            CalledBy::Script(script) if is_named(owner, script.arguments) || is_named(owner, script.keys) => {
                ReleaseCause::Released
            }
            _ if named_by_command() || compares_in_command(actor, owner) => ReleaseCause::Released,
            CalledBy::Script(_) => ReleaseCause::Forced,
            CalledBy::Transaction(watched) if is_watched(actor.command, watched) => ReleaseCause::Released,
            _ => ReleaseCause::Deleted,
        }
    }
}

/// Whether the actor that overwrites the text of a lock may be taken for its owner. It names the owner in a script or
/// in a condition of SET, or had the key watched.
fn compares(actor: &Actor<'_>, owner: &[u8]) -> bool {
    match actor.called_by {
        CalledBy::Script(script) => is_named(owner, script.arguments),
        CalledBy::Transaction(watched) if is_watched(actor.command, watched) => true,
        _ => compares_in_command(actor, owner),
    }
}

/// Whether the command compares the key's text with its owner: IFEQ with the text, or IFDEQ with the digest.
fn compares_in_command(actor: &Actor<'_>, owner: &[u8]) -> bool {
    actor.command.windows(2).any(|words| match words[0].len() {
        4 => words[0].eq_ignore_ascii_case(b"ifeq") && words[1] == owner,
        5 => words[0].eq_ignore_ascii_case(b"ifdeq") && has_digest(owner, words[1]),
        _ => false,
    })
}

/// Whether the transaction watched all keys that a command deletes or overwrites.
fn is_watched(command: &[&[u8]], watched: &Watched) -> bool {
    let Some((name, words)) = command.split_first() else { return false };
    let is = |one: &[u8]| name.eq_ignore_ascii_case(one);
    let keys = match words {
        _ if is(b"del") || is(b"unlink") => words,
        [key, ..] if is(b"getdel") || is(b"set") => std::slice::from_ref(key),
        _ => return false,
    };
    keys.iter().all(|key| watched.has(key))
}

/// Whether one of these words is an owner. Commands mostly name the owner last, so the search begins there.
#[inline(always)]
pub(in crate::locks) fn is_named(owner: &[u8], words: &[&[u8]]) -> bool {
    let is_owner = |word: &[u8]| {
        word == owner || (word.len() + WRITE_SUFFIX.len() == owner.len() && is_writer(word, owner))
    };
    words.iter().rev().any(|word| is_owner(word))
}

/// Whether an owner is this name in its write lock.
fn is_writer(name: &[u8], owner: &[u8]) -> bool {
    owner.strip_suffix(WRITE_SUFFIX) == Some(name)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::locks) struct LastEnd {
    pub(in crate::locks) cause: ReleaseCause,
    /// Whether a native command took this hold or an earlier one: the key then counts as a lock, whoever takes it.
    pub(in crate::locks) was_native: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::locks) struct Release {
    pub(in crate::locks) cause: ReleaseCause,
    /// The time of the end, in wall milliseconds.
    pub(in crate::locks) wall_ms: i64,
    pub(in crate::locks) grant: u64,
}
