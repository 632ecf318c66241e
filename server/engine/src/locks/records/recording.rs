//! Entries of the history for locks, while the history is on.

use super::super::history::{Cause, Event, Happening, Mode};
use super::super::ledger::{Grant, ReleaseCause, names_lock};
use super::super::redisson::{self, DELAY_FIELD, MODE_FIELD, WRITE_SUFFIX};
use super::super::wait_queue::LOCK_LINE;
use super::fair_queues::{Owner, difference};
use super::lock_records::LockRecords;
use super::subscribers::LedgerSubscribers;
use super::unleased::Unleased;
use lockwheel_resp::number;
use lockwheel_store::keyspace::{Actor, CalledBy, Change, Context, EntryId, Event as KeyEvent, events};
use lockwheel_store::time::Now;
use lockwheel_store::values::Value;
use std::collections::VecDeque;

/// Returns the cause of the same name in the history.
pub(super) fn recorded(cause: ReleaseCause) -> Cause {
    match cause {
        ReleaseCause::Released => Cause::Released,
        ReleaseCause::Expired => Cause::Expired,
        ReleaseCause::Forced => Cause::Forced,
        ReleaseCause::Disconnected => Cause::Disconnected,
        ReleaseCause::Transferred => Cause::Transferred,
        ReleaseCause::Deleted => Cause::Deleted,
        ReleaseCause::Overwritten => Cause::Overwritten,
        ReleaseCause::Evicted => Cause::Evicted,
        ReleaseCause::FailedOver => Cause::FailedOver,
        ReleaseCause::Swapped => Cause::Swapped,
    }
}

fn mode(value: &Value, field: &[u8]) -> Mode {
    match value {
        _ if field.ends_with(WRITE_SUFFIX) => Mode::Write,
        Value::Hash(hash) if hash.len() == 1 => Mode::Exclusive,
        Value::Hash(hash) => match hash.get(MODE_FIELD) {
            // The hold is a reader's, perhaps beneath an exclusive one of the same owner.
            Some(_) => Mode::Shared,
            None => Mode::Exclusive,
        },
        _ => Mode::Exclusive,
    }
}

fn holds(value: &Value, field: &[u8]) -> i64 {
    match value {
        Value::Hash(hash) => hash.get(field).and_then(number::parse_i64).unwrap_or(1),
        _ => 1,
    }
}

/// Whether a LOCK command runs. Such a command records by itself what it does.
pub(super) fn is_native(actor: &Actor<'_>) -> bool {
    let name = actor.command.first().copied().unwrap_or_default();
    !matches!(actor.called_by, CalledBy::Engine)
        && name.get(..5).is_some_and(|family| family.eq_ignore_ascii_case(b"lock."))
}

/// Returns why an owner has left a fair queue. An owner that asks and is answered leaves by itself. Scripts and native
/// requests take others out by their scores. An owner that a bare command removes is deleted.
fn left_by(actor: &Actor<'_>, owner: &[u8], event: KeyEvent) -> Cause {
    match ReleaseCause::by(actor, owner) {
        _ if event == events::EXPIRED => Cause::Expired,
        ReleaseCause::Released => Cause::Served,
        ReleaseCause::Deleted if !is_native(actor) && !matches!(actor.called_by, CalledBy::Engine) => {
            Cause::Deleted
        }
        _ => Cause::Evicted,
    }
}

/// Returns the client that an entry names instead of the running request's. `None`: a session acts; 0: time acts.
pub(super) fn client(actor: &Actor<'_>) -> Option<u64> {
    if actor.session.is_some() { None } else { Some(0) }
}

impl LedgerSubscribers {
    /// Records that an owner has come to hold a lock or holds it once more, or that a writer has become a reader. The
    /// entry names this client, or the running request's if there is none. `declared` is the cause that the command
    /// declares for ended holds.
    #[cold]
    #[inline(never)]
    pub(super) fn record_grant(
        &mut self,
        (event, client, declared): (Event, Option<u64>, Option<ReleaseCause>),
        (db, key, at): (usize, &[u8], EntryId),
        owner: &[u8],
        grant: Grant,
        now: Now,
        context: &Context<'_>,
    ) {
        let session = !self.leases.is_empty() && self.leases.get(grant.number).is_some();
        let Some(history) = self.history.as_deref_mut() else { return };
        let value = context.value(at);
        let (holds, mode) = (holds(value, owner), mode(value, owner));
        let mode = if event == Event::Converted { Mode::Shared } else { mode };
        // A native reader has a lease of its own.
        let own = (mode == Mode::Shared && grant.native)
            .then(|| context.entry(&redisson::read_lease_key(key, owner, holds)))
            .flatten();
        let deadline = own.and_then(|own| context.deadline(own)).or_else(|| context.deadline(at));
        let ttl_ms = deadline.map(|deadline| deadline - now.wall_ms());
        // No client has asked for a hold that a replica takes over.
        let is_found = declared == Some(ReleaseCause::FailedOver);
        let came = declared.filter(|cause| is_found || *cause == ReleaseCause::Swapped);
        let what = Happening {
            db,
            cause: came.map_or(Cause::None, recorded),
            client: if is_found { Some(0) } else { client },
            grant: grant.number,
            holds,
            ttl_ms,
            mode,
            native: Some(grant.native),
            session,
            ..Happening::new(event, key, owner)
        };
        history.record(now, what);
    }

    /// Records the end of a hold. `delay_ms` is the delay that begins, during which nobody gets the lock.
    #[cold]
    #[inline(never)]
    pub(super) fn record_end(
        &mut self,
        change: &Change<'_>,
        owner: &[u8],
        grant: Grant,
        cause: ReleaseCause,
        delay_ms: Option<i64>,
    ) {
        let Some(history) = self.history.as_deref_mut() else { return };
        let &Change { db, key, actor, now, .. } = change;
        let is_released = cause == ReleaseCause::Released;
        if is_released && history.end_of_request(db, key, owner) {
            return;
        }
        let event = match cause {
            ReleaseCause::Released => Event::Released,
            ReleaseCause::Transferred => Event::Transferred,
            _ => Event::Lost,
        };
        let is_migrate = |name: &&[u8]| name.eq_ignore_ascii_case(b"migrate");
        let moves = cause == ReleaseCause::Deleted && actor.command.first().is_some_and(is_migrate);
        let what = Happening {
            db,
            grant: grant.number,
            cause: if moves { Cause::Migrated } else { recorded(cause) },
            ttl_ms: delay_ms,
            native: Some(grant.native),
            client: client(actor),
            ..Happening::new(event, key, owner)
        };
        history.record(now, what);
    }
}

impl LockRecords {
    #[cold]
    #[inline(never)]
    pub(super) fn record_grant(
        &mut self,
        (event, client): (Event, Option<u64>),
        place: (usize, &[u8], EntryId),
        owner: &[u8],
        grant: Grant,
        now: Now,
        context: &Context<'_>,
    ) {
        let what = (event, client, self.ledger.declared());
        self.subscribers.record_grant(what, place, owner, grant, now, context);
    }

    /// Records a lock that has come from another server, with the grant that it had there.
    pub(super) fn record_arrival(
        &mut self,
        (db, key, at): (usize, &[u8], EntryId),
        owner: &[u8],
        grant: Grant,
        now: Now,
        context: &Context<'_>,
    ) {
        let Some(history) = self.subscribers.history.as_deref_mut() else { return };
        let value = context.value(at);
        let what = Happening {
            db,
            cause: Cause::Migrated,
            client: Some(0),
            grant: grant.number,
            holds: holds(value, owner),
            ttl_ms: context.deadline(at).map(|deadline| deadline - now.wall_ms()),
            mode: mode(value, owner),
            native: Some(grant.native),
            ..Happening::new(Event::Acquired, key, owner)
        };
        history.record(now, what);
    }

    /// Handles a change of a key that adds or removes no owner.
    #[cold]
    #[inline(never)]
    pub(super) fn key_changed(
        &mut self,
        change: &Change<'_>,
        event: KeyEvent,
        is_granted: bool,
        context: &mut Context<'_>,
    ) {
        // The most frequent changes of locks never happen to queues, and native ones are known already.
        let is_count = event == events::HINCRBY;
        if is_count || event == events::EXPIRE {
            if self.sees_leases
                && !(is_count && is_granted)
                && let Some(at) = context.entry_like(self.last_taken, change.key)
            {
                self.lease_or_count_changed(change, is_count, at, context);
            }
            return;
        }
        if self.subscribers.history.is_some()
            && let Some(lock) = redisson::lock_of_queue(change.key)
        {
            return self.queue_changed(change, event, lock, context);
        }
        if self.subscribers.history.is_some() && LockRecords::is_of_permits(event) {
            self.semaphore_changed(change, Some(event), context);
        }
        match event {
            events::SET => self.string_set(change, context),
            // A text that is counted or written to does not name an owner.
            events::INCRBY | events::INCRBYFLOAT | events::APPEND | events::SETRANGE | events::SETBIT => {
                self.unleased.forget(change.db, change.key, b"");
            }
            events::PERSIST if self.subscribers.history.is_some() && !is_native(change.actor) => {
                if let Some(at) = context.entry(change.key) {
                    self.lease_changed(change, at, context);
                }
            }
            _ => {}
        }
    }

    /// Handles a new lease of a key, or a new count of an owner's holds.
    #[inline(always)]
    fn lease_or_count_changed(
        &mut self,
        change: &Change<'_>,
        is_count: bool,
        at: EntryId,
        context: &mut Context<'_>,
    ) {
        if self.subscribers.jeopardy_ms > 0 && !is_count && context.mark(at).is_some() {
            self.subscribers.watch_lease(change.key, at, change.now, context);
        }
        if self.subscribers.history.is_none() || is_native(change.actor) {
            return;
        }
        match is_count {
            true => self.count_changed(change, at, context),
            false => self.lease_changed(change, at, context),
        }
    }

    /// Handles a SET of a text: a hold begins, its owner renews it, or the key is no lock as yet.
    fn string_set(&mut self, change: &Change<'_>, context: &mut Context<'_>) {
        if self.key_set(change, context) || !self.text_renewed(change, context) {
            self.text_set(change, context);
        }
    }

    /// Begins a hold of a key that has a new text, which is its owner. LOCK.OBSERVE names the key; or its name means a
    /// lock, and the text replaces that of the former owner. Returns whether a hold begins.
    fn key_set(&mut self, change: &Change<'_>, context: &mut Context<'_>) -> bool {
        let &Change { db, key, now, .. } = change;
        let is_overwritten = || self.ledger.was_overwritten(db, key) && names_lock(key);
        if !self.ledger.observed.has(key) && !is_overwritten() {
            return false;
        }
        let Some(at) = context.entry(key).filter(|at| context.mark(*at).is_none()) else { return false };
        let Value::Str(text) = context.value(at) else { return false };
        let owner: Box<[u8]> = (*text.text()).into();
        let begins = *owner != *DELAY_FIELD;
        if begins {
            self.begin((db, key, at), None, (&owner, false), now, context);
        }
        begins
    }

    /// Records that a lock was set to the same text: a renewal, or the lease is taken away. Whether it is a lock.
    fn text_renewed(&mut self, change: &Change<'_>, context: &mut Context<'_>) -> bool {
        if self.subscribers.history.is_none() {
            return false;
        }
        let Some(at) = context.entry(change.key).filter(|at| context.mark(*at).is_some()) else {
            return false;
        };
        self.lease_changed(change, at, context);
        true
    }

    /// Handles a new text. A SET without a condition takes no lock, but was meant to if a comparison gives it back.
    fn text_set(&mut self, change: &Change<'_>, context: &Context<'_>) {
        let &Change { db, key, now, actor, .. } = change;
        if self.subscribers.history.is_some()
            && let Some(plain) = self.plain_sets.set(db, key, actor)
            && let Some(at) = context.entry(key)
            && let Value::Str(text) = context.value(at)
        {
            self.record_plain_set((db, key, now), &text.text(), plain);
        }
    }

    fn count_changed(&mut self, change: &Change<'_>, at: EntryId, context: &mut Context<'_>) {
        let &Change { db, key, now, actor, .. } = change;
        let (Some(mark), &[_, _, owner, by, ..]) = (context.mark(at), actor.command) else { return };
        let value = context.value(at);
        let (left, ups) = (holds(value, owner), number::parse_i64(by).unwrap_or(0));
        if ups == left {
            // The hold is new, and its grant has been recorded.
            return;
        }
        let Some(grant) = self.ledger.grant_of(db, key, (value, mark), owner) else { return };
        let event = if ups > 0 { Event::Reentered } else { Event::Released };
        if event == Event::Reentered {
            return self.record_grant((event, None), (db, key, at), owner, grant, now, context);
        }
        let (mode, native) = (mode(value, owner), Some(grant.native));
        let Some(history) = self.subscribers.history.as_deref_mut() else { return };
        let what = Happening {
            db,
            grant: grant.number,
            holds: left.max(0),
            mode,
            native,
            ..Happening::new(event, key, owner)
        };
        history.record(now, Happening { cause: Cause::Released, ..what });
    }

    fn lease_changed(&mut self, change: &Change<'_>, at: EntryId, context: &mut Context<'_>) {
        let &Change { db, key, now, actor, .. } = change;
        let ttl_ms = context.deadline(at).map(|deadline| deadline - now.wall_ms());
        let Some(mark) = context.mark(at) else { return self.late_lease(change, at, context) };
        if !self.unleased.is_empty() {
            self.note_late_lease(change, context.value(at));
        }
        // If a hold ends, the lease that it leaves to others is not a renewal.
        let is_end = self.ledger.declared().is_some();
        let Some(history) = self.subscribers.history.as_deref_mut().filter(|_| !is_end) else { return };
        // A renewal by the server itself is no part of the request that ran last.
        let is_of_request = client(actor).is_none();
        if is_of_request && ttl_ms.is_some_and(|ttl_ms| history.lease_of_request(db, key, ttl_ms)) {
            return;
        }
        let value = context.value(at);
        let owners = self.ledger.owners_of(db, key, (value, mark));
        let named = |owner: &[u8]| ReleaseCause::by(actor, owner) == ReleaseCause::Released;
        let only = owners.len() == 1;
        let renewed: Vec<_> = owners.into_iter().filter(|(owner, _)| only || named(owner)).collect();
        // A renewal for a connection that lives is not an act of the request that ran last.
        let what = (Event::Renewed, client(actor));
        for (owner, _) in renewed {
            if let Some(grant) = self.ledger.grant_of(db, key, (context.value(at), mark), &owner) {
                self.record_grant(what, (db, key, at), &owner, grant, now, context);
            }
        }
    }

    /// Begins a hold of a text that was set if absent, and gets a lease only now: that is a lock too.
    fn late_lease(&mut self, change: &Change<'_>, at: EntryId, context: &mut Context<'_>) {
        let &Change { db, key, now, .. } = change;
        if self.unleased.get(db, key, b"").is_none() {
            return;
        }
        let Value::Str(text) = context.value(at) else { return };
        let owner: Box<[u8]> = (*text.text()).into();
        self.begin((db, key, at), None, (&owner, false), now, context);
        self.note_late_lease(change, context.value(at));
    }

    /// Records that another request than the one that took the lock has set its lease. With this habit, a lock stays
    /// for ever when its client dies in between.
    fn note_late_lease(&mut self, change: &Change<'_>, value: &Value) {
        let &Change { db, key, now, .. } = change;
        let Some(&Unleased { request: taken_by, .. }) = self.unleased.get(db, key, b"") else { return };
        self.unleased.forget(db, key, b"");
        if let (Some(history), Value::Str(text)) = (self.subscribers.history.as_deref_mut(), value)
            && history.request() != taken_by
        {
            let owner = text.text();
            let habit = Happening::new(Event::Habit, key, &owner);
            history.record(now, Happening { db, cause: Cause::LateLease, ..habit });
        }
    }

    /// Whether a field that has been added is an owner's. Its form may say so, or its key may be known to be a lock.
    /// Otherwise a client must wait for the key as a lock, and this owner for other locks.
    pub(super) fn is_owner(&self, (db, key): (usize, &[u8]), field: &[u8], context: &Context<'_>) -> bool {
        if redisson::is_owner(field) {
            return true;
        }
        let is_known = (!self.ledger.observed.is_empty() && self.ledger.observed.has(key))
            || (self.subscribers.history.is_some() && self.ledger.was_native(db, key))
            || (context.is_waited_for_in_line(key, LOCK_LINE)
                && context.waits_as(db, redisson::owner_of(field)));
        is_known && field != MODE_FIELD && redisson::owner_of(field) != DELAY_FIELD
    }

    /// Records a change of the list of waiters of `lock`, a fair lock.
    fn queue_changed(&mut self, change: &Change<'_>, event: KeyEvent, lock: &[u8], context: &Context<'_>) {
        let &Change { db, key, now, actor, .. } = change;
        let is_move = [events::EXPIRE, events::PERSIST].contains(&event);
        let Some(history) = self.subscribers.history.as_deref_mut().filter(|_| !is_move) else { return };
        let before = self.fair_queues.take(db, key);
        let after: VecDeque<Owner> = match context.peek(key) {
            Some(Value::List(list)) => list.iter().map(Owner::from).collect(),
            _ => VecDeque::new(),
        };
        let (left, joined) = difference(&before, &after);
        let (native, client) = (if is_native(actor) { None } else { Some(false) }, client(actor));
        let left_queue = Happening::new(Event::LeftQueue, lock, b"");
        let what = Happening { db, mode: Mode::Fair, native, client, ..left_queue };
        for (at, owner) in left.iter().enumerate() {
            let is_again = left[..at].contains(owner);
            if !is_again && history.left_queue(db, lock, owner) {
                continue;
            }
            // An owner that is still in the queue has only changed places, or was in it twice.
            let is_there = is_again || joined.contains(owner);
            let cause = if is_there { Cause::None } else { left_by(actor, owner, event) };
            // A served owner has waited for the native command.
            let native = if cause == Cause::Served && native.is_none() { Some(true) } else { native };
            history.record(now, Happening { owner, cause, native, ..what });
        }
        for owner in &joined {
            history.record(now, Happening { owner, event: Event::Queued, ..what });
        }
        self.fair_queues.put(db, key, after);
    }
}
