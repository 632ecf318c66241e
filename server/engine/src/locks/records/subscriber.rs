//! The records as the keyspace's subscriber. Only a key's content matters, as a script or a bare SET may take a lock.

use super::super::ledger::{MAX_RELEASES, Marked, names_lock};
use super::super::redisson::{self, MODE_FIELD};
use super::super::wait_queue::LOCK_LINE;
use super::lock_records::LockRecords;
use super::unleased::Unleased;
use lockwheel_store::keyspace::{
    Cause, Change, Context, EntryId, Flushed, Interests, KeyTimer, Mark, Removal, Subscriber, What,
};
use lockwheel_store::values::Value;
use std::collections::BTreeSet;

impl Subscriber for LockRecords {
    fn interests(&self) -> Interests {
        let is_recorded = self.subscribers.history.is_some();
        let mut interests = if is_recorded { Interests::ALL_VALUES } else { Interests::VALUES };
        if self.ledger.observes {
            interests = interests.with(Interests::ADDED);
        }
        if self.sees_leases || !self.ledger.observed.is_empty() {
            interests = interests.with(Interests::KEYS);
        }
        if is_recorded {
            interests = interests.with(Interests::EXCHANGES);
        }
        interests
    }

    fn memory(&self) -> usize {
        self.bytes()
    }

    fn is_marker(&self) -> bool {
        true
    }

    fn changed(&mut self, change: &Change<'_>, context: &mut Context<'_>) {
        self.subscribers.news.listen(context);
        let is_granted = std::mem::take(&mut self.is_granted);
        match change.what {
            What::FieldAdded { at, field } => self.field_added(change, *at, field, context),
            What::FieldRaised { field } => self.ledger.read_leases.mix(change.db, change.key, field),
            What::Redated => self.redated(change, context),
            What::FieldRemoved { at, field, cause } => {
                self.ledger.end(change, *at, (field, *cause), context, &mut self.subscribers);
            }
            What::SetIfAbsent { at, text } => self.set_if_absent(change, *at, text, context),
            What::Copied { .. } => self.copied(change, context),
            What::Restored { at, mark } => self.restored(change, *at, *mark, context),
            What::Replaced { at, before } => self.replaced(change, *at, before, context),
            What::Removed(removal) => self.removed(change, removal, context),
            What::Flushed(flushed) => self.all_gone(change, *flushed, context),
            What::Swapped { one, other } => self.exchanged(*one, *other, context),
            What::Leaving { .. } => self.leave(change, context),
            What::Arrived { .. } => self.arrive(change, context),
            What::Changed { event: Some(event) } => self.key_changed(change, *event, is_granted, context),
            What::Changed { event: None } | What::ChangedQuietly => {}
        }
        self.subscribers.leases.tell(context);
        self.subscribers.news.tell(context);
        self.subscribers.delays.tell(context);
        if self.subscribers.history.is_none() {
            context.set_idle(self.is_quiet());
        }
    }
}

impl LockRecords {
    /// Handles an exchange of two databases: their waiters stay, but the locks may have other holders.
    fn exchanged(&mut self, one: usize, other: usize, context: &Context<'_>) {
        self.swapped(one, other);
        for db in [one, other] {
            for (label, key) in context.labels_in(db) {
                self.subscribers.news.hold_changed(db, key, label);
            }
        }
    }

    /// Handles a field that has been added to a hash, perhaps an owner's. O(1) for all others. Inlined, as is the end
    /// of a key: scripts do these two things with locks most.
    #[inline(always)]
    fn field_added(&mut self, change: &Change<'_>, at: EntryId, field: &[u8], context: &mut Context<'_>) {
        let before = context.mark(at);
        if !self.ledger.read_leases.is_empty() {
            self.ledger.read_leases.mix(change.db, change.key, field);
        }
        let is_new = match before {
            None => self.is_owner((change.db, change.key), field, context),
            Some(mark) => {
                let grant = self.ledger.grant_of(change.db, change.key, (context.value(at), mark), field);
                field != MODE_FIELD && grant.is_none()
            }
        };
        if is_new {
            self.begin((change.db, change.key, at), before, (field, false), change.now, context);
            (self.is_granted, self.last_taken) = (true, at);
        }
    }

    /// Handles a marked text that has another deadline: perhaps it is the lease of a reader.
    #[cold]
    #[inline(never)]
    fn redated(&mut self, change: &Change<'_>, context: &Context<'_>) {
        if let Some(at) = context.entry(change.key)
            && let Some(Marked::ReadLease(number)) = context.mark(at).map(Marked::read)
            && let Some(ends_ms) = context.deadline(at)
        {
            self.ledger.read_leases.redate(number, ends_ms);
        }
    }

    /// Handles a text that was set by SET NX. With a lease (EX, PX), that is how clients take a lock without a LOCK
    /// command. A text without a lease may be something else, unless the key is named after a lock.
    #[inline(never)]
    fn set_if_absent(&mut self, change: &Change<'_>, at: EntryId, text: &[u8], context: &mut Context<'_>) {
        let has_lease = context.has_deadline(at);
        if let Some(history) = self.subscribers.history.as_deref().filter(|_| !has_lease) {
            self.unleased.remember(change.db, change.key, b"", Unleased::new(history.request()));
        }
        if context.mark(at).is_some() {
            // The key is observed, and the SET has been seen already.
        } else if has_lease || names_lock(change.key) {
            self.begin((change.db, change.key, at), None, (text, false), change.now, context);
        }
        if !has_lease {
            self.subscribers.news.lint((change.db, change.key), text, "no-lease");
        }
    }

    /// Gives the owners that held one key the other key, as a lock of its own.
    #[inline(never)]
    fn copied(&mut self, change: &Change<'_>, context: &mut Context<'_>) {
        let What::Copied { at, from_db, from, mark, moved } = *change.what else { return };
        let value = context.value(at);
        let owners = mark.map_or_else(Vec::new, |mark| self.ledger.owners_of(from_db, from, (value, mark)));
        if moved {
            let removal = Removal { value, mark, cause: Cause::Command };
            let of_from = Change { db: from_db, key: from, ..*change };
            self.unleased.forget(from_db, from, b"");
            if self.subscribers.history.is_some() {
                self.semaphore_gone(&of_from, Cause::Command, context);
            }
            let noted = self.end_all(&of_from, removal, context);
            noted.tell(from_db, from, context);
        }
        if mark.is_none() && context.is_waited_for_in_line(change.key, LOCK_LINE) {
            self.restored(change, at, None, context);
        }
        for (owner, native) in owners {
            self.begin((change.db, change.key, at), context.mark(at), (&owner, native), change.now, context);
        }
    }

    /// Begins the holds of the owners of a lock that has come from elsewhere, or come back. O(fields).
    #[inline(never)]
    fn restored(&mut self, change: &Change<'_>, at: EntryId, mark: Option<Mark>, context: &mut Context<'_>) {
        let is_lock = matches!(mark.map(Marked::read), Some(Marked::One(_) | Marked::Several));
        let owners: Vec<Box<[u8]>> = match context.value(at) {
            Value::Hash(hash) => {
                let is_owner =
                    |field: &&[u8]| is_lock || self.is_owner((change.db, change.key), field, context);
                let owners = redisson::owners(hash).filter(is_owner);
                owners.map(Box::from).collect()
            }
            Value::Str(text) if is_lock => vec![(*text.text()).into()],
            _ => return,
        };
        for owner in owners {
            self.begin((change.db, change.key, at), context.mark(at), (&owner, false), change.now, context);
        }
    }

    /// Handles a new value of a key that may be a lock. An owner whose text stays continues to hold it.
    #[inline(never)]
    fn replaced(&mut self, change: &Change<'_>, at: EntryId, before: &Value, context: &mut Context<'_>) {
        self.semaphore_replaced(change, before, context);
        if let (Value::Str(before), Value::Str(after)) = (before, context.value(at)) {
            let (before, after) = (before.text(), after.text());
            self.text_replaced(change, &before, &after);
            if *before == *after {
                return;
            }
        }
        self.unleased.forget(change.db, change.key, b"");
        let removal = Removal { value: before, mark: context.take_mark(at), cause: Cause::Overwrite };
        let noted = self.end_all(change, removal, context);
        noted.tell(change.db, change.key, context);
    }

    #[inline(always)]
    fn removed(&mut self, change: &Change<'_>, removal: &Removal<'_>, context: &mut Context<'_>) {
        if let Some(Marked::ReadLease(number)) = removal.mark.map(Marked::read)
            && let Some(lease) = self.ledger.read_leases.take(number)
            && matches!(removal.cause, Cause::Deadline { .. })
        {
            return context.follow_up(lease.key, lease.owner);
        }
        // Permits are counted in texts, and their leases are in sorted sets.
        if self.subscribers.history.is_some() && matches!(removal.value, Value::Str(_) | Value::ZSet(_)) {
            self.semaphore_gone(change, removal.cause, context);
            self.text_removed(change, removal);
        }
        let noted = self.end_all(change, *removal, context);
        noted.tell(change.db, change.key, context);
        if self.subscribers.jeopardy_ms > 0 {
            context.cancel_key_timer(change.db, change.key, KeyTimer::Jeopardy);
        }
        if removal.cause == (Cause::Deadline { turned: true }) && context.has_audience() {
            wake_listeners(change.key, removal.value, context);
        }
    }

    /// Handles the loss of all keys of a database. The ledger remembers as many losses as if the keys had gone one by
    /// one, and all losses of keys that are waited for. O(these losses).
    #[inline(never)]
    fn all_gone(&mut self, change: &Change<'_>, flushed: Flushed<'_>, context: &mut Context<'_>) {
        let waited_for: BTreeSet<&[u8]> = flushed.waited_for().map(|(key, _)| key).collect();
        let others = flushed.marked().filter(|(key, _)| !waited_for.contains(key)).take(MAX_RELEASES);
        for (key, removal) in others.chain(flushed.waited_for()) {
            let noted = self.end_all(&Change { key, ..*change }, removal, context);
            noted.tell(change.db, key, context);
        }
        self.semaphores_flushed(change);
        self.queues_flushed(change);
        self.flushed(change.db);
    }
}

/// Wakes clients that wait by Redisson's means, when the manual clock has ended the lease of a lock. These clients
/// measure the lease on their own machine, so they cannot know. To them it is a spurious wake-up.
#[cold]
fn wake_listeners(key: &[u8], value: &Value, context: &mut Context<'_>) {
    let Value::Hash(hash) = value else { return };
    let queue = context.peek(&redisson::queue_key(key));
    let messages: Vec<_> = redisson::wake_messages(key, hash, queue).collect();
    for (channel, message) in messages {
        context.publish(&channel, message);
    }
}
