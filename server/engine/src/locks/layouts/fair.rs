//! Redisson's fair lock: a plain lock with a list of the waiting owners and a sorted set. The set holds the instants at
//! which they give up, in milliseconds since the epoch.
//!
//! Redisson measures the wait by its clients' clocks, and drops a head whose time has passed. A native waiter has a
//! connection that shows whether it lives. So the server keeps the scores of native waiters ahead, and puts back
//! dropped ones.
//!
//! The list and the set are mostly in the same order. If that is known, an owner that leaves the queue is found by its
//! score, and the times of all behind it change together. The order is checked once, and known as long as nothing but
//! this module has changed either key.

use super::super::channels;
use super::super::redisson::{lock_of_queue, queue_key, queue_timeouts_key};
use super::super::wait_queue::FAIR_NAME;
use super::{Standing, plain};
use crate::spec::CommandError;
use lockwheel_store::keyspace::{EntryId, KeyRequest, Tx, WaiterId, events};
use lockwheel_store::values::{End, List, Value, ZSet};

/// The wait of an owner that names no end, in milliseconds: Redisson's `fairLockWaitTimeout`.
pub(in crate::locks) const WAIT_MS: i64 = 300_000;

/// Returns the lock's state for an owner: free if no other is ahead in the queue. Fails if a key holds another type.
pub(super) fn standing(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) -> Result<Standing, CommandError> {
    drop_stale(tx, key)?;
    let standing = plain::standing(tx, key, owner)?;
    let is_next = head(tx, key)?.is_none_or(|head| *head == *owner);
    Ok(if standing == Standing::Free && !is_next { Standing::Others } else { standing })
}

/// Writes the holds and the lease. An owner without earlier holds leaves the queue.
pub(super) fn take(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
    holds: i64,
    (lease_ms, wait_ms): (i64, i64),
) -> Result<EntryId, CommandError> {
    if !tx.exists(key) {
        dequeue(tx, key, owner, wait_ms)?;
    }
    plain::take(tx, key, owner, holds, lease_ms)
}

/// Removes an owner that gets the lock from the queue. The times of those behind it become shorter by its wait.
fn dequeue(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], wait_ms: i64) -> Result<(), CommandError> {
    keeping_order(tx, key, |tx| {
        let is_head = head(tx, key)?.is_some_and(|head| *head == *owner);
        let has_time = timeout(tx, key, owner)?.is_some();
        if is_head {
            pop(tx, key)?;
        }
        remove_timeout(tx, key, owner)?;
        shift_all(tx, key, wait_ms, 0)?;
        Ok(is_head == has_time)
    })
}

/// Puts an owner at the end of the queue, unless it is in the queue already.
pub(super) fn join(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], wait_ms: i64) -> Result<(), CommandError> {
    if timeout(tx, key, owner)?.is_some() {
        return Ok(());
    }
    let now = tx.now().wall_ms();
    let last =
        tx.read::<List>(&queue_key(key))?.and_then(|queue| queue.peek(End::Right)).map(Box::<[u8]>::from);
    let ends = match last.filter(|last| **last != *owner) {
        Some(last) => timeout(tx, key, &last)?,
        None => None,
    };
    // PTTL returns the same numbers for a lock without a lease, and for an absent one.
    let none = if tx.exists(key) { -1 } else { -2 };
    let left = || tx.deadline(key).map_or(none, |deadline| deadline - now) as f64;
    let ttl = ends.map_or_else(left, |ends| ends - now as f64);
    keeping_order(tx, key, |tx| {
        set_timeout(tx, key, owner, ttl + now as f64 + wait_ms as f64)?;
        push(tx, key, owner, End::Right)?;
        let timeouts = tx.read::<ZSet>(&queue_timeouts_key(key))?;
        Ok(timeouts.is_some_and(|timeouts| timeouts.rank(owner).map(|rank| rank + 1) == Some(timeouts.len())))
    })
}

/// Keeps the place of a waiting owner. If the owner was dropped from the head, it is put back there. Its time is put
/// ahead, and so is that of the head, if the head waits natively, too.
pub(super) fn keep(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], wait_ms: i64) -> Result<(), CommandError> {
    if timeout(tx, key, owner)?.is_none() {
        push(tx, key, owner, End::Left)?;
    }
    put_ahead(tx, key, owner, wait_ms)?;
    match head(tx, key)? {
        Some(head) if *head != *owner && waits(tx, key, &head) => put_ahead(tx, key, &head, wait_ms),
        _ => Ok(()),
    }
}

/// Puts the time of an owner ahead if half of it has passed.
fn put_ahead(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], wait_ms: i64) -> Result<(), CommandError> {
    let now = tx.now().wall_ms();
    if timeout(tx, key, owner)?.is_none_or(|ends| ends <= renewal(now, wait_ms) as f64) {
        keeping_order(tx, key, |tx| {
            let before = rank(tx, key, owner)?;
            set_timeout(tx, key, owner, now.saturating_add(wait_ms) as f64)?;
            Ok(rank(tx, key, owner)? == before)
        })?;
    }
    Ok(())
}

/// Whether an owner waits natively in this queue.
pub(super) fn waits(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> bool {
    tx.waits_as(key, owner, FAIR_NAME)
}

/// Returns the requests of the head of the queue, while the lock is free; `key` is that of the lock or the queue. An
/// owner that waits by several requests keeps its place when the first ends, even if the others came later.
pub(in crate::locks) fn waiting_head(tx: &Tx<'_>, key: &[u8]) -> Vec<WaiterId> {
    let lock = lock_of_queue(key).unwrap_or(key);
    if tx.peek(lock).is_some() {
        return Vec::new();
    }
    let Some(Value::List(queue)) = tx.peek(&queue_key(lock)) else { return Vec::new() };
    let head = queue.get(0).into_iter();
    head.flat_map(|head| tx.waiting_as(key, head)).map(|(_, waiter)| waiter).collect()
}

/// Returns when the queue is due although nothing changes: the time of a head passes, or is to be put ahead.
pub(super) fn ready_at_ms(tx: &mut Tx<'_>, key: &[u8], wait_ms: i64) -> Option<i64> {
    let head = head(tx, key).ok()??;
    let ends = timeout(tx, key, &head).ok()?? as i64;
    Some(if waits(tx, key, &head) { ends.saturating_sub(wait_ms / 2) } else { ends })
}

/// Returns the latest end of a wait that is put ahead now: half of the wait is left.
fn renewal(now: i64, wait_ms: i64) -> i64 {
    now.saturating_add(wait_ms / 2)
}

/// Removes an owner that gives up; the times of those behind become shorter by its wait. O(log n) amortised, n the
/// waiters; O(n) if scripts changed the queue since, or the queue and the times differ in order.
pub(super) fn leave(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], wait_ms: i64) -> Result<(), CommandError> {
    let name = queue_key(key);
    let Some(len) = tx.read::<List>(&name)?.map(List::len) else { return Ok(()) };
    let is_whole = len == tx.read::<ZSet>(&queue_timeouts_key(key))?.map_or(0, ZSet::len);
    // If every owner in the queue has a time, an owner without a time has left it: it has got the lock.
    if is_whole && timeout(tx, key, owner)?.is_none() {
        return Ok(());
    }
    if is_whole && leave_in_order(tx, key, owner, wait_ms)? {
        return Ok(());
    }
    let Some(queue) = tx.read::<List>(&name)? else { return Ok(()) };
    let Some(at) = queue.iter().position(|waiting| *waiting == *owner) else { return Ok(()) };
    let keeps_order = at == 0 && is_whole && is_known_in_order(tx, key);
    if at == 0 && is_whole {
        // All others are behind this owner, so its own time does not matter.
        shift_all(tx, key, wait_ms, 1)?;
    } else {
        shift_behind(tx, key, at, wait_ms)?;
    }
    remove_timeout(tx, key, owner)?;
    if let Some(edit) = tx.write::<List>(&name)? {
        edit.value.remove_equal(owner, usize::MAX, End::Left, edit.encodings);
        tx.changed(&name, events::LREM);
        tx.delete_if_empty(&name);
        tx.propagate_key(&name, &[KeyRequest::RemoveElements(owner)]);
    }
    if keeps_order {
        note_order(tx, key);
    }
    if at == 0 && !tx.exists(key) {
        channels::notify_head(tx, key);
    }
    Ok(())
}

/// As `leave`, if the list and the set are in the same order and another owner is ahead. Whether that holds.
fn leave_in_order(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], wait_ms: i64) -> Result<bool, CommandError> {
    let Some(at) = rank(tx, key, owner)?.filter(|at| *at > 0) else { return Ok(false) };
    if !is_in_order(tx, key) {
        return Ok(false);
    }
    let (name, timeouts_name) = (queue_key(key), queue_timeouts_key(key));
    let Some(timeouts) = tx.write::<ZSet>(&timeouts_name)? else { return Ok(false) };
    let Some((_, behind)) = timeouts.value.remove_and_shift(owner, -(wait_ms as f64)) else {
        return Ok(false);
    };
    tx.changed_times(&timeouts_name, events::ZINCR, behind);
    tx.changed(&timeouts_name, events::ZREM);
    tx.propagate_key(&timeouts_name, &[KeyRequest::RemoveMembers(&[owner])]);
    propagate_times(tx, &timeouts_name, at)?;
    if let Some(edit) = tx.write::<List>(&name)? {
        edit.value.remove_range(at..at + 1, edit.encodings);
        tx.changed(&name, events::LREM);
        tx.propagate_key(&name, &[KeyRequest::RemoveElements(owner)]);
    }
    note_order(tx, key);
    Ok(true)
}

/// Removes a served owner from the queue, if it is still there: it came to hold the lock in another way, and has
/// re-entered. An owner that waits by another request, too, stays.
pub(super) fn leave_served(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], wait_ms: i64) {
    // A queue of another type belongs to no lock.
    if let Ok(Some(_)) = timeout(tx, key, owner)
        && tx.waiting_of_class(key, FAIR_NAME).filter(|(_, waiter)| *waiter.label == *owner).count() < 2
    {
        let _ = leave(tx, key, owner, wait_ms);
    }
}

/// Whether the list and the set have the same owners in the same order. O(n) unless that is known.
fn is_in_order(tx: &Tx<'_>, key: &[u8]) -> bool {
    if is_known_in_order(tx, key) {
        return true;
    }
    let [queue, timeouts] = [queue_key(key), queue_timeouts_key(key)].map(|name| tx.peek(&name));
    let (Some(Value::List(queue)), Some(Value::ZSet(timeouts))) = (queue, timeouts) else { return false };
    queue.len() == timeouts.len() && queue.iter().eq(timeouts.iter().map(|(owner, _)| owner))
}

/// Whether both are known to be in the same order, without a comparison.
fn is_known_in_order(tx: &Tx<'_>, key: &[u8]) -> bool {
    tx.is_unchanged(&queue_key(key)) && tx.is_unchanged(&queue_timeouts_key(key))
}

fn note_order(tx: &mut Tx<'_>, key: &[u8]) {
    tx.note_unchanged(&queue_key(key));
    tx.note_unchanged(&queue_timeouts_key(key));
}

/// Runs `change`, which returns whether it keeps the list and the set in the same order.
fn keeping_order(
    tx: &mut Tx<'_>,
    key: &[u8],
    change: impl FnOnce(&mut Tx<'_>) -> Result<bool, CommandError>,
) -> Result<(), CommandError> {
    let is_known = is_known_in_order(tx, key);
    if change(tx)? && is_known {
        note_order(tx, key);
    }
    Ok(())
}

/// Drops heads whose time has passed and that do not wait natively.
fn drop_stale(tx: &mut Tx<'_>, key: &[u8]) -> Result<(), CommandError> {
    let now = tx.now().wall_ms() as f64;
    while let Some(head) = head(tx, key)? {
        let is_over = timeout(tx, key, &head)?.is_some_and(|ends| ends <= now);
        if !is_over || waits(tx, key, &head) {
            break;
        }
        keeping_order(tx, key, |tx| {
            remove_timeout(tx, key, &head)?;
            pop(tx, key)?;
            Ok(true)
        })?;
    }
    Ok(())
}

fn head(tx: &mut Tx<'_>, key: &[u8]) -> Result<Option<Box<[u8]>>, CommandError> {
    Ok(tx.read::<List>(&queue_key(key))?.and_then(|queue| queue.get(0)).map(Box::from))
}

fn timeout(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) -> Result<Option<f64>, CommandError> {
    Ok(tx.read::<ZSet>(&queue_timeouts_key(key))?.and_then(|timeouts| timeouts.score(owner)))
}

/// Returns the number of owners with times before that of an owner.
fn rank(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) -> Result<Option<usize>, CommandError> {
    Ok(tx.read::<ZSet>(&queue_timeouts_key(key))?.and_then(|timeouts| timeouts.rank(owner)))
}

fn push(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], end: End) -> Result<(), CommandError> {
    let name = queue_key(key);
    let edit = tx.write_or_new::<List>(&name)?;
    edit.value.push(end, owner, edit.encodings);
    tx.changed(&name, if matches!(end, End::Right) { events::RPUSH } else { events::LPUSH });
    tx.propagate_key(&name, &[KeyRequest::Push(end, owner)]);
    Ok(())
}

fn pop(tx: &mut Tx<'_>, key: &[u8]) -> Result<(), CommandError> {
    let name = queue_key(key);
    if let Some(edit) = tx.write::<List>(&name)? {
        edit.value.pop(End::Left, edit.encodings);
        tx.changed(&name, events::LPOP);
        tx.delete_if_empty(&name);
        tx.propagate_key(&name, &[KeyRequest::PopFirst]);
    }
    Ok(())
}

fn set_timeout(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], ends: f64) -> Result<(), CommandError> {
    let name = queue_timeouts_key(key);
    let edit = tx.write_or_new::<ZSet>(&name)?;
    edit.value.insert(owner, ends, edit.encodings);
    tx.changed(&name, events::ZADD);
    tx.propagate_key(&name, &[KeyRequest::SetScores(&[(owner, ends)])]);
    Ok(())
}

fn remove_timeout(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) -> Result<(), CommandError> {
    let name = queue_timeouts_key(key);
    if let Some(edit) = tx.write::<ZSet>(&name)?
        && edit.value.remove(owner).is_some()
    {
        tx.changed(&name, events::ZREM);
        tx.delete_if_empty(&name);
        tx.propagate_key(&name, &[KeyRequest::RemoveMembers(&[owner])]);
    }
    Ok(())
}

/// Makes the times of all owners shorter by `wait_ms`. The `but` owners whose time does not matter are not counted as
/// changed. O(log n), n the waiters, unless a listener is notified of each.
fn shift_all(tx: &mut Tx<'_>, key: &[u8], wait_ms: i64, but: usize) -> Result<(), CommandError> {
    let name = queue_timeouts_key(key);
    if let Some(edit) = tx.write::<ZSet>(&name)? {
        edit.value.shift(-(wait_ms as f64), edit.encodings);
        let waiting = edit.value.len().saturating_sub(but);
        tx.changed_times(&name, events::ZINCR, waiting);
        // An owner whose time does not matter is about to be removed.
        if waiting > 0 {
            propagate_times(tx, &name, 0)?;
        }
    }
    Ok(())
}

/// Propagates the times of the owners from a rank on. Redis has no shorter request that changes them together. O(n),
/// n the owners, if anyone receives the times.
fn propagate_times(tx: &mut Tx<'_>, name: &[u8], from: usize) -> Result<(), CommandError> {
    if !tx.is_propagated() {
        return Ok(());
    }
    let Some(timeouts) = tx.read::<ZSet>(name)? else { return Ok(()) };
    let times: Vec<(Box<[u8]>, f64)> =
        timeouts.range(from..timeouts.len()).map(|(owner, ends)| (owner.into(), ends)).collect();
    let times: Vec<(&[u8], f64)> = times.iter().map(|(owner, ends)| (&**owner, *ends)).collect();
    if !times.is_empty() {
        tx.propagate_key(name, &[KeyRequest::SetScores(&times)]);
    }
    Ok(())
}

fn shift_behind(tx: &mut Tx<'_>, key: &[u8], at: usize, wait_ms: i64) -> Result<(), CommandError> {
    let Some(queue) = tx.read::<List>(&queue_key(key))? else { return Ok(()) };
    let behind: Vec<Box<[u8]>> = queue.iter().skip(at + 1).map(Box::from).collect();
    if behind.is_empty() {
        return Ok(());
    }
    let name = queue_timeouts_key(key);
    let mut times: Vec<(&[u8], f64)> = Vec::with_capacity(behind.len());
    for owner in &behind {
        let edit = tx.write_or_new::<ZSet>(&name)?;
        let ends = edit.value.score(owner).unwrap_or(0.0) - wait_ms as f64;
        edit.value.insert(owner, ends, edit.encodings);
        tx.changed(&name, events::ZINCR);
        times.push((owner, ends));
    }
    tx.propagate_key(&name, &[KeyRequest::SetScores(&times)]);
    Ok(())
}
