//! Entries on faults for the history of locks.

use super::super::history::HistoryNotes;
use crate::clients::Slot;
use crate::faults::RuleId;
use crate::locks::{self, Happening, HistoryEvent};
use crate::spec::{Args, CommandId};

/// The maximum number of keys in an entry of the history.
pub(super) const MAX_NAMED_KEYS: usize = 100;

#[derive(Clone, Copy, Debug)]
pub(in crate::core) enum ActedOn<'a> {
    Request(Slot, CommandId, Args<'a>),
    Reply(Slot, CommandId, Args<'a>),
    Queued(Slot, CommandId, Args<'a>),
    Message,
}

impl HistoryNotes<'_> {
    pub(in crate::core) fn steering(&mut self, args: Args<'_>) {
        if self.is_on {
            let mut text = args.all().join(&b' ');
            text[..args[0].len()].make_ascii_uppercase();
            self.fault(&text);
        }
    }

    /// Records keys, as many as fit, that the replica at this index has not received. `is_all`: there are no more.
    pub(crate) fn lost_keys(&mut self, replica: usize, mut keys: Vec<Vec<u8>>, is_all: bool) {
        let is_all = is_all && keys.len() <= MAX_NAMED_KEYS;
        keys.truncate(MAX_NAMED_KEYS);
        if !self.is_on || (keys.is_empty() && is_all) {
            return;
        }
        let mut text = format!("LOST {replica} ").into_bytes();
        text.extend_from_slice(&keys.join(&b' '));
        if !is_all {
            text.extend_from_slice(b" ...");
        }
        self.fault(&text);
    }

    /// Records a fault that no client's request has met.
    fn fault(&mut self, text: &[u8]) {
        let what = Happening { client: Some(0), text, ..Happening::new(HistoryEvent::Fault, b"", b"") };
        locks::happened(self.keyspace, self.now, what);
    }

    /// Records an action of a rule, with the first key of the command. Every action is recorded here.
    #[cold]
    pub(in crate::core) fn rule_acted(&mut self, rule: RuleId, on: ActedOn<'_>) {
        if !self.is_on {
            return;
        }
        let action = self.faults.rules.get(rule).map(|rule| rule.action_text().to_vec());
        let holds = if matches!(on, ActedOn::Reply(..)) { locks::recorded(self.keyspace) } else { 0 };
        if let ActedOn::Request(slot, command, args) | ActedOn::Reply(slot, command, args) = on {
            self.requests().request(slot, command, args);
        }
        let (mut client, mut db, mut key) = (None, 0, &b""[..]);
        if let ActedOn::Request(slot, command, args)
        | ActedOn::Reply(slot, command, args)
        | ActedOn::Queued(slot, command, args) = on
        {
            let session = self.sessions.get(slot);
            (client, db) = (Some(session.id), session.db);
            key = self.commands.get(command).keys_of(args).next().unwrap_or_default();
        }
        let Some(mut text) = action else { return };
        text.split_mut(|&byte| byte == b' ').take(1).for_each(<[u8]>::make_ascii_uppercase);
        let what =
            Happening { client, db, text: &text, holds, ..Happening::new(HistoryEvent::Fault, key, b"") };
        locks::happened(self.keyspace, self.now, what);
    }
}
