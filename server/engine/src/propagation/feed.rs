//! The subscriber that turns changes of keys into requests.

use super::touched::{Touch, Touched};
use super::unit::{Receivers, Unit};
use super::values::{is_newer_words, is_of_fields};
use crate::spec::{Args, Command};
use lockwheel_store::keyspace::{
    Change, Context, Event, Interests, KeyRequest, Keyspace, Propagated, PropagatedForm, Subscriber, What,
    events,
};
use lockwheel_store::time::Now;
use std::num::NonZeroU64;

/// The form of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FeedRules {
    /// Whether a receiver may be as old as Redis 7.0, so that forms which it lacks are left out.
    pub(crate) for_7_0: bool,
    /// The receivers that there are.
    pub(crate) receivers: Receivers,
}

impl FeedRules {
    /// Whether a receiver may not know this request, whose form Redis 7.0 lacks, so that the value of the key is
    /// propagated instead. A file is to be read by Redis 7.0, except for deadlines of fields.
    fn excludes_newer(self, words: &[&[u8]]) -> bool {
        self.for_7_0 || (self.receivers.file && !words.first().is_some_and(|name| is_of_fields(name)))
    }

    /// Returns whether values are propagated in a form for Redis 7.0, and to whom.
    fn form_of_values(self) -> (bool, Receivers) {
        (self.for_7_0, self.receivers)
    }
}

/// The collector of changes, active while anyone receives them.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    /// `None`: no changes are collected.
    rules: Option<FeedRules>,
    changes: Collected,
}

/// The changes collected since the last unit.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// The requests of commands that have ended.
    unit: Unit,
    /// The changes that the running command has made.
    touched: Touched,
    /// The changes of commands without a request, and those that the engine itself has made. The values go out before
    /// the next command with a request, so that many such commands on a key send its value once.
    pending: Touched,
    /// The messages of the engine itself that come behind the values of keys.
    messages: Unit,
    /// Whether the running command has reported the requests that have its effect.
    is_propagated: bool,
    /// The receivers of the running script's changes. `None`: all.
    limit: Option<Receivers>,
}

impl Feed {
    /// Ends a command, script or transaction, and passes its requests to `propagate`, if any are collected. Returns the
    /// result.
    #[inline]
    pub(crate) fn end_unit<T>(
        keyspace: &mut Keyspace,
        now: Now,
        propagate: impl FnOnce(&Unit) -> T,
    ) -> Option<T> {
        let mut feed = keyspace.propagator::<Feed>()?;
        if feed.changes.has_touched() {
            Feed::flush(keyspace, now);
            feed = keyspace.propagator::<Feed>()?;
        }
        let Collected { unit, messages, limit, is_propagated, .. } = &mut feed.changes;
        // A script or command that has panicked may have left these.
        (*limit, *is_propagated) = (None, false);
        if !messages.is_empty() {
            unit.append(messages);
        }
        let done = propagate(unit);
        unit.clear();
        Some(done)
    }

    /// Takes out the collected changes, if any are collected, so that later ones can be dropped.
    pub(crate) fn set_aside(keyspace: &mut Keyspace) -> Option<Collected> {
        keyspace.propagator::<Feed>().map(|feed| std::mem::take(&mut feed.changes))
    }

    /// Puts collected changes back and drops those since then, which are not propagated.
    pub(crate) fn put_back(keyspace: &mut Keyspace, before: Option<Collected>) {
        if let Some((feed, before)) = keyspace.propagator::<Feed>().zip(before) {
            feed.changes = before;
        }
    }

    /// Starts collecting the changes of a keyspace, in a form, or stops (`None`).
    pub(crate) fn turn(keyspace: &mut Keyspace, rules: Option<FeedRules>) {
        match keyspace.propagator::<Feed>() {
            Some(feed) if feed.rules == rules => return,
            Some(feed) if feed.rules.is_some() && rules.is_some() => return feed.rules = rules,
            Some(feed) => *feed = Feed { rules, ..Feed::default() },
            None if rules.is_some() => keyspace.subscribe(Box::new(Feed { rules, ..Feed::default() })),
            None => return,
        }
        keyspace.renew_interests();
    }

    /// Limits the changes of the running script to these receivers. `None`: all receivers.
    pub(crate) fn limit(keyspace: &mut Keyspace, receivers: Option<Receivers>) {
        if let Some(feed) = keyspace.propagator::<Feed>() {
            let present = feed.rules.map_or(Receivers::ALL, |rules| rules.receivers);
            feed.changes.limit = receivers.map(|receivers| receivers.and(present));
        }
    }

    /// Adds a request of a session that is propagated as it is, in place of the running command. `None`: a message of
    /// the engine itself.
    pub(crate) fn add_request(
        keyspace: &mut Keyspace,
        db: usize,
        (words, receivers): (&[&[u8]], Receivers),
        session: Option<NonZeroU64>,
    ) {
        let Some(feed) = keyspace.propagator::<Feed>() else { return };
        let Some(rules) = feed.rules else { return };
        let receivers = receivers.and(rules.receivers);
        let changes = &mut feed.changes;
        if session.is_some() {
            changes.is_propagated = true;
            changes.add_for(db, words, false, receivers);
            changes.unit.is_caused_by(session);
        } else {
            let unit = changes.unit_for_message();
            unit.add(db, words, receivers);
            unit.note_command();
        }
        keyspace.request_propagated(session.is_some());
    }

    /// Prepares for a command of a script or transaction: if it has a request, the values that are pending go out
    /// before. O(values).
    #[cold]
    pub(crate) fn begin_command(keyspace: &mut Keyspace, command: &Command, now: Now) {
        if !command.is_deterministic || !keyspace.is_propagation_due() {
            return;
        }
        let Some(feed) = keyspace.propagator::<Feed>() else { return };
        // A command that has unwound may have left this.
        feed.changes.is_propagated = false;
        if feed.changes.has_touched() {
            Feed::flush(keyspace, now);
        }
    }

    /// Adds the effect of a command that has ended, if it has changed keys: the request as it is, or the values of the
    /// keys. O(bytes of the request, or of the names of the keys); O(1) for a command that has changed nothing.
    pub(crate) fn end_command(
        keyspace: &mut Keyspace,
        (db, command): (usize, &Command),
        args: Args<'_>,
        now: Now,
    ) {
        keyspace.set_command_propagated();
        let Some(feed) = keyspace.propagator::<Feed>() else { return };
        let rules = feed.rules;
        let changes = &mut feed.changes;
        if std::mem::take(&mut changes.is_propagated) {
            changes.touched.clear();
            return;
        }
        if changes.touched.is_empty() {
            return;
        }
        let words = args.all();
        let is_newer = command.is_deterministic && is_newer_words(words);
        if command.is_deterministic && !(is_newer && rules.is_some_and(|rules| rules.excludes_newer(words))) {
            changes.touched.clear();
            changes.add_for(db, words, false, rules.map_or(Receivers::ALL, |rules| rules.receivers));
            if is_newer {
                changes.unit.note_newer_form();
            }
        } else if changes.limit.is_some() {
            Feed::flush(keyspace, now);
        } else if !changes.pending.append(&mut changes.touched) {
            changes.unit.lose();
        }
    }

    /// Adds the values of all keys that have changed without a request. O(values).
    fn flush(keyspace: &mut Keyspace, now: Now) {
        let Some(feed) = keyspace.propagator::<Feed>() else { return };
        let (for_7_0, present) = feed.rules.map_or((false, Receivers::ALL), FeedRules::form_of_values);
        let mut changes = std::mem::take(&mut feed.changes);
        changes.unit.note_command();
        let Collected { unit, touched, pending, limit, .. } = &mut changes;
        for (changes, receivers) in [(touched, limit.unwrap_or(present)), (pending, present)] {
            if receivers.are_any() {
                let (structure, keys) = changes.distinct();
                structure.iter().for_each(|change| unit.add_structure(change, receivers));
                keys.into_iter().for_each(|place| unit.add_value(keyspace, place, (now, for_7_0), receivers));
            }
            changes.clear();
        }
        Feed::put_back(keyspace, Some(changes));
    }
}

impl Collected {
    /// Whether keys have changed without a request so far.
    fn has_touched(&self) -> bool {
        !self.touched.is_empty() || !self.pending.is_empty()
    }

    /// Adds a request of the running command, or of the engine itself (`is_own`).
    fn add_for(&mut self, db: usize, words: &[&[u8]], is_own: bool, wanted: Receivers) {
        let receivers = match self.limit {
            Some(limit) if !is_own => limit.and(wanted),
            _ => wanted,
        };
        if receivers.are_any() {
            self.unit.add(db, words, receivers);
        }
        if !is_own {
            self.unit.note_command();
        }
    }

    /// Returns the unit for a message of the engine itself, behind all changes so far.
    #[inline]
    fn unit_for_message(&mut self) -> &mut Unit {
        let is_next = self.messages.is_empty() && !self.has_touched();
        if is_next { &mut self.unit } else { &mut self.messages }
    }

    fn touched_by(&mut self, is_own: bool) -> &mut Touched {
        if is_own { &mut self.pending } else { &mut self.touched }
    }

    /// Records a changed key.
    fn key_changed(&mut self, change: &Change<'_>, event: Option<Event>, is_own: bool) {
        // The engine propagates the removal of keys and fields that are due, and of evicted keys, beside the event.
        if is_own && event.is_some_and(is_removal) {
            return;
        }
        if !self.touched_by(is_own).add_key(change.db, change.key) {
            self.unit.lose();
        }
    }

    /// Adds a request in place of the running command, or for a change by the engine itself.
    fn propagated(&mut self, db: usize, words: &[&[u8]], is_own: bool, rules: FeedRules) {
        let is_newer = is_newer_words(words);
        let is_of_fields = is_newer && words.first().is_some_and(|name| is_of_fields(name));
        if is_newer && !is_of_fields && rules.excludes_newer(words) {
            // The value is propagated instead.
            return;
        }
        self.is_propagated |= !is_own;
        if let [b"DEL" | b"UNLINK", key] = words
            && is_own
        {
            self.pending.forget_last(db, key);
        }
        let replicas = !(rules.for_7_0 && is_of_fields);
        let receivers = Receivers { replicas, ..Receivers::ALL }.and(rules.receivers);
        if !words.is_empty() && receivers.are_any() {
            self.add_for(db, words, is_own, receivers);
            if is_newer && receivers.replicas {
                self.unit.note_newer_form();
            }
        }
    }

    /// Adds requests in place of the value of a key that the running command, or the engine itself (`is_own`), has
    /// changed. If the value of another key is to be propagated before, so is that of this key.
    fn key_propagated(
        &mut self,
        (db, key): (usize, &[u8]),
        requests: &[KeyRequest<'_>],
        is_own: bool,
        present: Receivers,
    ) {
        let Collected { touched, pending, .. } = self;
        let (changed, others) = if is_own { (pending, touched) } else { (touched, pending) };
        if others.is_empty() && changed.is_only_of(db, key) {
            changed.clear();
            let limit = self.limit.filter(|_| !is_own);
            let receivers = limit.map_or(present, |limit| limit.and(present));
            self.unit.add_of_key((db, key), requests, receivers);
        } else if !changed.add_key(db, key) {
            self.unit.lose();
        }
    }

    /// Records a change of whole databases.
    fn structure_changed(&mut self, change: Touch, is_own: bool) {
        if !self.touched_by(is_own).add(change) {
            self.unit.lose();
        }
    }
}

fn is_removal(event: Event) -> bool {
    [events::EXPIRED, events::EVICTED, events::HEXPIRED].contains(&event)
}

impl Subscriber for Feed {
    fn interests(&self) -> Interests {
        match self.rules {
            Some(_) => Interests::KEYS.with(Interests::QUIET).with(Interests::PROPAGATION),
            None => Interests::NONE,
        }
    }

    fn is_propagator(&self) -> bool {
        true
    }

    fn propagated(&mut self, what: &Propagated<'_>) -> bool {
        let Some(rules) = self.rules else { return false };
        let (changes, is_own) = (&mut self.changes, what.actor.command.is_empty());
        match what.form {
            PropagatedForm::Request(words) => changes.propagated(what.db, words, is_own, rules),
            PropagatedForm::OfKey(key, requests) => {
                changes.key_propagated((what.db, key), requests, is_own, rules.receivers);
            }
            PropagatedForm::Message(channel, message) => {
                let receivers = Receivers::REPLICAS.and(rules.receivers);
                changes.unit_for_message().add_message(channel, message, receivers);
            }
        }
        changes.unit.is_caused_by(what.actor.session);
        changes.is_propagated || !changes.touched.is_empty()
    }

    fn changed(&mut self, change: &Change<'_>, context: &mut Context<'_>) {
        if self.rules.is_none() {
            return;
        }
        let is_own = change.actor.command.is_empty();
        let changes = &mut self.changes;
        match change.what {
            What::Changed { event } => changes.key_changed(change, *event, is_own),
            What::ChangedQuietly => changes.key_changed(change, None, is_own),
            What::Flushed(flushed) if flushed.is_rest => {
                changes.structure_changed(Touch::AllFlushed, is_own);
            }
            What::Flushed(_) => changes.structure_changed(Touch::Flushed(change.db), is_own),
            What::Swapped { one, other } => {
                changes.structure_changed(Touch::Swapped(*one, *other), is_own);
            }
            _ => return,
        }
        changes.unit.is_caused_by(change.actor.session);
        context.set_propagation_due();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwheel_store::keyspace::{Actor, CalledBy, Tx};
    use lockwheel_store::values::{Str, Value};

    const COMMAND: Actor<'static> =
        Actor { session: None, called_by: CalledBy::Client, command: &[b"native"] };

    fn keyspace() -> Keyspace {
        let mut keyspace = Keyspace::new(1, 7);
        Feed::turn(&mut keyspace, Some(FeedRules { for_7_0: true, receivers: Receivers::ALL }));
        keyspace
    }

    fn set(tx: &mut Tx<'_>, key: &[u8]) {
        tx.set(key, Value::Str(Str::new(b"1")), false);
        tx.changed(key, events::SET);
    }

    fn set_by_request(tx: &mut Tx<'_>, key: &[u8]) {
        set(tx, key);
        tx.propagate_key(key, &[KeyRequest::Set(b"1")]);
    }

    /// Ends the unit. Returns the names of its commands and their keys.
    fn sent(keyspace: &mut Keyspace) -> String {
        let mut stream = Vec::new();
        Feed::end_unit(keyspace, Now::default(), |unit| _ = unit.write(Some(0), |_| true, &mut stream));
        let text = String::from_utf8_lossy(&stream).into_owned();
        let words = text.split("\r\n").filter(|word| word.chars().all(char::is_alphabetic));
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn changes_by_the_engine_itself_are_requests_too() {
        for actor in [COMMAND, Actor::ENGINE] {
            let mut keyspace = keyspace();
            let mut tx = keyspace.tx_by(&actor, 0, Now::default());
            [b"a", b"b"].iter().for_each(|key| set_by_request(&mut tx, *key));
            assert_eq!(sent(&mut keyspace), "MULTI SET a SET b EXEC", "{actor:?}");
        }
    }

    #[test]
    fn beside_another_value_a_key_is_propagated_as_a_value() {
        for (first, second) in [(COMMAND, COMMAND), (COMMAND, Actor::ENGINE), (Actor::ENGINE, COMMAND)] {
            let mut keyspace = keyspace();
            set(&mut keyspace.tx_by(&first, 0, Now::default()), b"a");
            set_by_request(&mut keyspace.tx_by(&second, 0, Now::default()), b"b");
            let sent = sent(&mut keyspace);
            let restored: Vec<&str> =
                sent.split(' ').filter(|word| ["a", "b", "SET"].contains(word)).collect();
            assert_eq!(restored.concat().len(), 2, "{sent}");
            assert!(sent.starts_with("MULTI RESTORE"), "{sent}");
        }
    }
}
