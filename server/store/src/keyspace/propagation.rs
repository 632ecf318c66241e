//! Propagation: the form in which replicas get a command.
//!
//! A command that has the same effect everywhere and at any time is propagated as it is. Any other (a random choice, a
//! relative time, rounding) calls [`Tx::propagate`] with a request that has. A command that Redis lacks reports, by
//! [`Tx::propagate_key`], the requests that change its keys alike. Its other keys are propagated as values.

use super::actor::Actor;
use super::interests::Interests;
use super::keyspace::Keyspace;
use super::lazy_removals::LazyRemovals;
use super::propagated::{KeyRequest, Propagated, PropagatedForm};
use super::subscriber::Subscriber;
use super::tx::Tx;
use crate::values::IntText;
use lockwheel_resp::{allocation, number};
use std::any::Any;

impl Keyspace {
    /// Reports what is propagated to the collector, if there is one.
    #[inline(never)]
    fn report_propagated(&mut self, what: &Propagated<'_>) {
        if let Some(collector) = self.propagator.and_then(|at| self.subscriptions.get_mut(at)) {
            self.is_command_unpropagated |= collector.subscriber.propagated(what);
            self.is_propagation_due = true;
        }
    }

    /// The collector of what is propagated, if it is of this type. O(1).
    #[inline]
    pub fn propagator<T: Subscriber>(&mut self) -> Option<&mut T> {
        let collector = self.subscriptions.get_mut(self.propagator?)?;
        (&mut *collector.subscriber as &mut dyn Any).downcast_mut()
    }

    /// Propagates the removal of a key by the engine itself.
    #[inline]
    pub(super) fn propagate_own_removal(&mut self, db: usize, key: &[u8], is_lazy: bool) {
        if self.interests.any(Interests::PROPAGATION) {
            self.report_own_request(db, &[LazyRemovals::command(is_lazy), key]);
        }
    }

    /// Propagates a request for a change by the engine itself.
    #[cold]
    #[inline(never)]
    pub(super) fn report_own_request(&mut self, db: usize, words: &[&[u8]]) {
        let form = PropagatedForm::Request(words);
        self.report_propagated(&Propagated { db, form, actor: &Actor::ENGINE });
    }
}

impl Tx<'_> {
    /// Whether commands are propagated now. If not, the caller need not make the request for [`Tx::propagate`].
    #[inline]
    pub fn is_propagated(&self) -> bool {
        self.keyspace.interests.any(Interests::PROPAGATION)
    }

    /// Propagates a request in place of the running command. Several requests are propagated in the order of the calls.
    /// A command that has called this is not propagated as it is. An empty request: the command is not propagated.
    #[inline]
    pub fn propagate(&mut self, words: &[&[u8]]) {
        if self.is_propagated() {
            self.report_propagated(words);
        }
    }

    /// Propagates a request whose last word is a number in place of the running command.
    #[inline]
    pub fn propagate_with(&mut self, words: &[&[u8]], number: i64) {
        if self.is_propagated() {
            self.report_parts(&[words, &[&IntText::new(number)]]);
        }
    }

    /// Propagates requests in place of the value of a key, which the running command, or the engine itself, has changed
    /// since the last call. Call this before another key changes; otherwise the value is propagated all the same.
    /// Changes of other keys are propagated as before.
    #[inline]
    pub fn propagate_key(&mut self, key: &[u8], requests: &[KeyRequest<'_>]) {
        if self.is_propagated() {
            self.report_key_propagated(key, requests);
        }
    }

    /// Propagates that the string of a key has this length, in bytes, and ends with a zero byte.
    pub fn propagate_length(&mut self, key: &[u8], len: usize) {
        if self.is_propagated() {
            let mut last = Vec::new();
            number::write_usize(len.saturating_sub(1), &mut last);
            self.report_propagated(&[b"SETRANGE", key, &last, b"\0"]);
        }
    }

    /// Propagates the words of all parts, one after the other, as one request in place of the running command. Unwinds
    /// if there is no memory for the list of words.
    pub fn propagate_parts(&mut self, parts: &[&[&[u8]]]) {
        if self.is_propagated() {
            self.report_parts(parts);
        }
    }

    /// Propagates a key's removal in place of the running command: UNLINK if lazy for this kind, or else DEL.
    pub fn propagate_removal(&mut self, key: &[u8], is_lazy: impl FnOnce(LazyRemovals) -> bool) {
        let command = LazyRemovals::command(is_lazy(self.keyspace.lazy_removals));
        self.propagate(&[command, key]);
    }

    #[cold]
    #[inline(never)]
    fn report_parts(&mut self, parts: &[&[&[u8]]]) {
        // Most requests are short; their words are listed without an allocation.
        let mut few: [&[u8]; 8] = [&[]; 8];
        let len = parts.iter().map(|part| part.len()).sum();
        let words = || parts.iter().flat_map(|part| part.iter().copied());
        match few.get_mut(..len) {
            Some(few) => {
                few.iter_mut().zip(words()).for_each(|(place, word)| *place = word);
                self.report_propagated(few);
            }
            None => self.report_propagated(&allocation::collect(words())),
        }
    }

    #[cold]
    #[inline(never)]
    fn report_key_propagated(&mut self, key: &[u8], requests: &[KeyRequest<'_>]) {
        self.report_form(PropagatedForm::OfKey(key, requests));
    }

    #[cold]
    #[inline(never)]
    fn report_propagated(&mut self, words: &[&[u8]]) {
        self.report_form(PropagatedForm::Request(words));
    }

    /// Reports what is propagated, in this form.
    #[inline]
    pub(super) fn report_form(&mut self, form: PropagatedForm<'_>) {
        self.keyspace.report_propagated(&Propagated { db: self.db, form, actor: self.actor });
    }
}
