//! A fault has acted.

use super::super::engine::Engine;
use super::subject::keys_of;
use crate::clients::Slot;
use crate::faults::RuleId;
use crate::locks::{self, Happening, HistoryEvent};
use crate::spec::{Args, CommandId};

/// What a rule has acted on.
#[derive(Clone, Copy, Debug)]
pub(super) enum ActedOn<'a> {
    /// A request that is about to run.
    Request(Slot, CommandId, Args<'a>),
    /// The reply of one that has run.
    Reply(Slot, CommandId, Args<'a>),
    /// A command of the transaction that runs.
    Queued(Slot, CommandId, Args<'a>),
    /// A message of the request that runs.
    Message,
}

impl Engine {
    /// A rule has acted. All acts pass here.
    pub(super) fn rule_acted(&mut self, rule: RuleId, on: ActedOn<'_>) {
        if let Some(hits) = self.faults.rules.count_hit(rule) {
            self.rule_hits(rule, hits);
        }
        if self.config.lock_history {
            self.note_fault(rule, on);
        }
    }

    /// A test has steered faults by this request, which the history of locks has with its words; while it is on.
    pub(crate) fn note_steering(&mut self, args: Args<'_>) {
        if !self.config.lock_history {
            return;
        }
        let mut text = args.all().join(&b' ');
        text[..args[0].len()].make_ascii_uppercase();
        let what =
            Happening { client: Some(0), text: &text, ..Happening::new(HistoryEvent::Fault, b"", b"") };
        locks::happened(&mut self.keyspace, self.clock.now(), what);
    }

    /// A client has been answered, and does not get it while its connection is not carried.
    #[inline]
    pub(in crate::core) fn note_unsent(&mut self, slot: Slot) {
        if self.faults.has_links {
            self.note_unsent_by_link(slot);
        }
    }

    #[cold]
    fn note_unsent_by_link(&mut self, slot: Slot) {
        if self.link(slot).holds_output || self.is_lost(slot) {
            let client = self.sessions.get(slot).id;
            locks::answer_kept(&mut self.keyspace, self.clock.now(), client, b"unsent");
        }
    }

    /// Writes what a rule has done into the history of locks, with the first key of the command.
    #[cold]
    fn note_fault(&mut self, rule: RuleId, on: ActedOn<'_>) {
        let holds = if matches!(on, ActedOn::Reply(..)) { locks::recorded(&mut self.keyspace) } else { 0 };
        if let ActedOn::Request(slot, command, args) | ActedOn::Reply(slot, command, args) = on {
            self.history().request(slot, command, args);
        }
        let (mut client, mut db, mut key) = (None, 0, &b""[..]);
        if let ActedOn::Request(slot, command, args)
        | ActedOn::Reply(slot, command, args)
        | ActedOn::Queued(slot, command, args) = on
        {
            let session = self.sessions.get(slot);
            (client, db) = (Some(session.id), session.db);
            key = keys_of(self.commands.get(command), args).first().copied().unwrap_or_default();
        }
        let Some(rule) = self.faults.rules.get(rule) else { return };
        let mut text = rule.action_text().to_vec();
        text.split_mut(|&byte| byte == b' ').take(1).for_each(<[u8]>::make_ascii_uppercase);
        let what =
            Happening { client, db, text: &text, holds, ..Happening::new(HistoryEvent::Fault, key, b"") };
        locks::happened(&mut self.keyspace, self.clock.now(), what);
    }
}
