//! Entries of the history for permits of semaphores, while it is on, whoever takes them.
//!
//! Native commands record what they do. Changes by scripts and bare commands are seen in the count and in the set of
//! leases. A semaphore is known from a native command, or a script that names its channel.

use super::super::history::{Cause, Event, Happening};
use super::super::ledger::ReleaseCause;
use super::super::redisson;
use super::lock_records::LockRecords;
use super::recording::client;
use super::semaphores::{Deed, Followed, Permits};
use lockwheel_resp::number;
use lockwheel_store::keyspace::{
    Actor, CalledBy, Cause as Gone, Change, Context, Event as KeyEvent, EventClasses, events,
};
use lockwheel_store::time::Now;
use lockwheel_store::values::Value;

/// A change of a semaphore by a native command.
#[derive(Clone, Copy, Debug)]
pub(in crate::locks) struct PermitsNote<'a> {
    pub(in crate::locks) key: &'a [u8],
    /// The owner; empty if the change concerns no owner in particular.
    pub(in crate::locks) owner: &'a [u8],
    pub(in crate::locks) cause: Cause,
    /// The number of permits that the change concerns.
    pub(in crate::locks) permits: i64,
    /// The number of permits that the total grows by.
    pub(in crate::locks) added: i64,
    /// The number of permits without an id that native commands have given out.
    pub(in crate::locks) native: i64,
    /// The lease of the permits; `None` if they are held until they are given back.
    pub(in crate::locks) lease_ms: Option<i64>,
}

/// Whether a SEM command or the engine's timer acts. Both record by themselves what they do.
pub(in crate::locks) fn is_semaphore_command(actor: &Actor<'_>) -> bool {
    let name = actor.command.first().copied().unwrap_or_default();
    let is_command = name.get(..4).is_some_and(|family| family.eq_ignore_ascii_case(b"sem."));
    is_command || matches!(actor.called_by, CalledBy::Engine)
}

/// Returns the count in the key of a semaphore, and the number of leases beside the key.
pub(in crate::locks) fn permits_of_key(key: &[u8], context: &Context<'_>) -> Option<(i64, i64)> {
    let Some(Value::Str(count)) = context.peek(key) else { return None };
    let leases = match context.peek(&redisson::permit_leases_key(key)) {
        Some(Value::ZSet(leases)) => leases.len() as i64,
        _ => 0,
    };
    Some((count.to_i64()?, leases))
}

fn numbers(actor: &Actor<'_>) -> Vec<i64> {
    let CalledBy::Script(inputs) = actor.called_by else { return Vec::new() };
    inputs.arguments.iter().filter_map(|word| number::parse_i64(word)).collect()
}

fn names_channel(actor: &Actor<'_>, key: &[u8]) -> bool {
    matches!(actor.called_by, CalledBy::Script(inputs) if redisson::names_channel_of(inputs.keys, key))
}

impl LockRecords {
    pub(super) fn note_permits(
        &mut self,
        (db, now): (usize, Now),
        client: Option<u64>,
        note: PermitsNote<'_>,
        context: &Context<'_>,
    ) {
        let Some((left, with_id)) = permits_of_key(note.key, context) else { return };
        let known = self.semaphores.get(db, note.key).map(|followed| followed.now);
        let mut permits = match note.cause {
            Cause::Init => Permits::new(left),
            _ => Permits { left, with_id, native: note.native, ..known.unwrap_or_default() },
        };
        if note.cause == Cause::Release {
            permits.add_forced(note.added);
        } else {
            permits.add_to_total(note.added);
        }
        if note.cause == Cause::Drain {
            permits.foreign = permits.foreign.saturating_add(note.permits);
        }
        self.semaphores.put(db, note.key, Followed { now: permits, ..Followed::default() });
        let lease = note.lease_ms.map(|lease_ms| lease_ms.to_string()).unwrap_or_default();
        let what = Happening {
            db,
            holds: note.permits,
            cause: note.cause,
            text: lease.as_bytes(),
            client,
            native: Some(true),
            ..Happening::new(Event::Permits, note.key, note.owner)
        };
        if let Some(history) = self.subscribers.history.as_deref_mut() {
            history.record(now, shown(permits, what));
        }
    }

    /// Takes over a semaphore's total from another server. This one gave out `native` of its permits before.
    pub(super) fn inherit_permits(
        &mut self,
        (db, key): (usize, &[u8]),
        (total, is_signal): (i64, bool),
        native: i64,
        context: &Context<'_>,
    ) {
        if let Some((left, with_id)) = permits_of_key(key, context) {
            let before = Permits { left, with_id, native, is_signal, ..Permits::default() };
            let now = before.inherited(total);
            self.semaphores.put(db, key, Followed { now, ..Followed::default() });
        }
    }

    /// Notes the former count of a semaphore whose count a script sets.
    pub(super) fn semaphore_replaced(&mut self, change: &Change<'_>, before: &Value, context: &Context<'_>) {
        let &Change { db, key, actor, .. } = change;
        if self.subscribers.history.is_some()
            && let Value::Str(before) = before
            && let Some(left) = before.to_i64()
            && let Some((_, with_id)) = permits_of_key(key, context)
            && names_channel(actor, key)
            && self.semaphores.get(db, key).is_none()
        {
            let unseen = Permits { left, with_id, ..Permits::default() };
            self.semaphores.put(db, key, Followed { now: unseen, ..Followed::default() });
        }
    }

    /// Whether an event of this class may concern the count or the leases of a semaphore.
    pub(super) fn is_of_permits(event: KeyEvent) -> bool {
        event.class.intersects(EventClasses::STRING | EventClasses::ZSET)
    }

    /// Handles a change of a key by a script or a bare command, perhaps of the count or the leases of a semaphore.
    pub(super) fn semaphore_changed(
        &mut self,
        change: &Change<'_>,
        event: Option<KeyEvent>,
        context: &Context<'_>,
    ) {
        let &Change { db, actor, .. } = change;
        if is_semaphore_command(actor) {
            return;
        }
        let key = match context.peek(change.key) {
            Some(Value::Str(_)) => change.key,
            _ => redisson::semaphore_of_leases(change.key).unwrap_or_default(),
        };
        let known = self.semaphores.get(db, key).cloned();
        if key.is_empty() || (known.is_none() && !names_channel(actor, key)) {
            return;
        }
        let Some((left, with_id)) = permits_of_key(key, context) else {
            return self.semaphore_ended(change, key, Gone::Overwrite);
        };
        match known {
            Some(followed) => self.follow_change(change, key, followed, (left, with_id, event)),
            None => {
                let is_new = event == Some(events::SET);
                let unseen = Permits { left, with_id, ..Permits::default() };
                let permits = if is_new { Permits::new(left) } else { unseen };
                self.put_and_record(change, key, Followed { now: permits, ..self.fresh(actor) }, |_| {
                    (if is_new { Cause::Init } else { Cause::Adjust }, left)
                });
            }
        }
    }

    /// Returns a new state for a semaphore that the running request meets for the first time.
    fn fresh(&self, actor: &Actor<'_>) -> Followed {
        let request = self.subscribers.history.as_deref().map_or(0, |history| history.request());
        Followed { request: if actor.session.is_some() { request } else { 0 }, ..Followed::default() }
    }

    fn follow_change(
        &mut self,
        change: &Change<'_>,
        key: &[u8],
        mut followed: Followed,
        (left, with_id, event): (i64, i64, Option<KeyEvent>),
    ) {
        let actor = change.actor;
        let fresh = self.fresh(actor);
        if followed.request != fresh.request || fresh.request == 0 {
            followed = Followed { before: followed.now, now: followed.now, ..fresh };
        }
        let (before, last) = (followed.before, followed.now);
        let numbers = numbers(actor);
        if event == Some(events::SET) && key == change.key {
            let by_script = matches!(actor.called_by, CalledBy::Script(_));
            return self.count_set(change, key, followed, (left, by_script, &numbers));
        }
        let more = left.saturating_sub(last.left);
        followed.taken = followed.taken.saturating_add(more.min(0).saturating_neg());
        followed.given = followed.given.saturating_add(more.max(0));
        followed.names_ids |= event == Some(events::ZREM) && names_an_argument(actor);
        let deed = Deed { names_channel: names_channel(actor, key), numbers: &numbers };
        followed.now = Permits { native: last.native, ..before.after(left, with_id, deed) };
        if followed.now == last {
            return self.semaphores.put(change.db, key, followed);
        }
        self.put_and_record(change, key, followed, what_for);
    }

    /// Records that the count of a followed semaphore was set. A script does so to add permits. A bare command does so
    /// to restart the semaphore, which is correct while no client holds permits.
    fn count_set(
        &mut self,
        change: &Change<'_>,
        key: &[u8],
        mut followed: Followed,
        (left, by_script, numbers): (i64, bool, &[i64]),
    ) {
        let last = followed.now;
        let is_drained = by_script && last.is_drained_by(left, numbers);
        let (now, cause) = match by_script {
            true if is_drained => (last.after_set(left, numbers), Cause::Drain),
            true => (last.after_set(left, numbers), Cause::Adjust),
            false if last.held() == 0 => (Permits::new(left), Cause::Init),
            false => (Permits { left, ..last }, Cause::Overwritten),
        };
        let about = if is_drained { last.left } else { left.saturating_sub(last.left) };
        let about = if cause == Cause::Init { left } else { about };
        followed.now = now;
        self.put_and_record(change, key, followed, |_| (cause, about));
        if cause == Cause::Overwritten {
            self.semaphores.put(
                change.db,
                key,
                Followed { now: now.made_anew(), ..self.fresh(change.actor) },
            );
        }
    }

    /// Follows a semaphore in this state, and adds an entry, or changes the one that the request has made for it.
    fn put_and_record(
        &mut self,
        change: &Change<'_>,
        key: &[u8],
        followed: Followed,
        why: impl FnOnce(&Followed) -> (Cause, i64),
    ) {
        let &Change { db, actor, now, .. } = change;
        let (cause, holds) = why(&followed);
        let permits = followed.now;
        let is_of_request = followed.request != 0;
        self.semaphores.put(db, key, followed);
        let Some(history) = self.subscribers.history.as_deref_mut() else { return };
        let lease = lease_given(change).map(|lease_ms| lease_ms.to_string()).unwrap_or_default();
        let what = Happening {
            db,
            holds,
            cause,
            text: lease.as_bytes(),
            client: client(actor),
            native: Some(false),
            ..Happening::new(Event::Permits, key, b"")
        };
        let what = shown(permits, what);
        if !is_of_request || !history.permits_of_request(&what) {
            history.record(now, what);
        }
    }

    /// Records that the key of a semaphore is gone with its permits, or the key of its leases.
    pub(super) fn semaphore_gone(&mut self, change: &Change<'_>, cause: Gone, context: &Context<'_>) {
        if self.semaphores.get(change.db, change.key).is_some() {
            return self.semaphore_ended(change, change.key, cause);
        }
        if self.ledger.declared() == Some(ReleaseCause::FailedOver)
            && let Some(key) = redisson::semaphore_of_leases(change.key)
        {
            // Other leases replace them, which the history has not seen begin.
            return self.semaphore_ended(change, key, cause);
        }
        self.semaphore_changed(change, None, context);
    }

    fn semaphore_ended(&mut self, change: &Change<'_>, key: &[u8], cause: Gone) {
        let &Change { db, actor, now, .. } = change;
        let Some(followed) = self.semaphores.take(db, key) else { return };
        let cause = self.ending_of(cause, actor);
        let Some(history) = self.subscribers.history.as_deref_mut() else { return };
        let what = Happening {
            db,
            grant: followed.now.held().max(0).unsigned_abs(),
            cause,
            client: client(actor),
            native: Some(is_semaphore_command(actor)),
            ..Happening::new(Event::Permits, key, b"")
        };
        history.record(now, what);
    }

    /// Returns why a semaphore has ended.
    fn ending_of(&self, cause: Gone, actor: &Actor<'_>) -> Cause {
        let seen = match ReleaseCause::of(cause, actor, b"") {
            ReleaseCause::Released => ReleaseCause::Deleted,
            other => other,
        };
        super::recording::recorded(self.ledger.declared().unwrap_or(seen))
    }

    /// Records that the semaphores of a database are about to move to another one.
    pub(super) fn semaphores_leave(&mut self, change: &Change<'_>) {
        let &Change { db, .. } = change;
        for key in self.semaphores.of_database(db) {
            let held = self.semaphores.get(db, &key).map_or(0, |followed| followed.now.held());
            self.record_moved(change, &key, |what| Happening { grant: held.max(0).unsigned_abs(), ..what });
        }
    }

    /// Records that semaphores have come from another database, in the state that they had there.
    pub(super) fn semaphores_arrive(&mut self, change: &Change<'_>) {
        let &Change { db, .. } = change;
        for key in self.semaphores.of_database(db) {
            let Some(permits) = self.semaphores.get(db, &key).map(|followed| followed.now) else { continue };
            self.record_moved(change, &key, |what| shown(permits, what));
        }
    }

    fn record_moved<'a>(
        &mut self,
        change: &Change<'_>,
        key: &'a [u8],
        with: impl FnOnce(Happening<'a>) -> Happening<'a>,
    ) {
        let &Change { db, now, actor, .. } = change;
        let Some(history) = self.subscribers.history.as_deref_mut() else { return };
        let what = Happening {
            db,
            cause: Cause::Swapped,
            client: client(actor),
            native: Some(false),
            ..Happening::new(Event::Permits, key, b"")
        };
        history.record(now, with(what));
    }

    pub(super) fn semaphores_flushed(&mut self, change: &Change<'_>) {
        for key in self.semaphores.of_database(change.db) {
            self.semaphore_ended(change, &key, Gone::Command);
        }
    }
}

/// Returns an entry with the state of the permits.
fn shown<'a>(permits: Permits, what: Happening<'a>) -> Happening<'a> {
    let held = permits.held().max(0).unsigned_abs();
    Happening { grant: held, ttl_ms: Some(permits.left), total: permits.total, ..what }
}

/// The smallest argument of Redisson's scripts that counts as an instant, not as permits: in the year 2001.
const MIN_INSTANT: i64 = 1_000_000_000_000;

/// Returns the lease of a permit that a script gives an id. The script writes the end of the lease itself, by the clock
/// of its client, whose time it may name, too.
fn lease_given(change: &Change<'_>) -> Option<i64> {
    let &Change { actor, now, .. } = change;
    let [name, _, score, ..] = actor.command else { return None };
    let until_ms = number::parse_i64(score).filter(|_| name.eq_ignore_ascii_case(b"zadd"))?;
    let instants = numbers(actor).into_iter().filter(|of| (MIN_INSTANT..until_ms).contains(of));
    Some(until_ms.saturating_sub(instants.max().unwrap_or(now.wall_ms())))
}

/// Whether a script removes an id among its arguments: it gives back a permit whose lease has not ended.
fn names_an_argument(actor: &Actor<'_>) -> bool {
    let CalledBy::Script(inputs) = actor.called_by else { return true };
    actor.command.iter().skip(2).any(|id| inputs.arguments.contains(id))
}

/// Returns what a request has done so far. A request that takes permits may first have given back expired ones.
fn what_for(followed: &Followed) -> (Cause, i64) {
    let Followed { before, now, taken, given, names_ids, .. } = followed;
    let is_adjusted = before.total != now.total && !now.is_signal;
    match () {
        () if is_adjusted => (Cause::Adjust, now.left.saturating_sub(before.left)),
        () if *taken > 0 => (Cause::Acquire, *taken),
        () if now.with_id < before.with_id && !names_ids => (Cause::Expired, *given),
        () => (Cause::Release, *given),
    }
}
