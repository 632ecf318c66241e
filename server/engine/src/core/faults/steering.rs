//! What a test does with rules.

use super::super::engine::Engine;
use super::super::hooks::Hook;
use super::state::Faults;
use crate::clients::{Closing, Slot};
use crate::core::OtherClients;
use crate::spec::{Args, CommandError, Flags, no_such_command};

impl Engine {
    /// Adds the rule of a request: its name and its words.
    ///
    /// # Errors
    /// When the words are no rule, there is one of this name, or there are too many.
    pub(crate) fn add_rule(&mut self, args: Args<'_>) -> Result<(), CommandError> {
        let commands = &self.commands;
        let resolve = |name: &[u8]| {
            let command = commands.find_full(name).ok_or_else(|| no_such_command(commands, name))?;
            match command.has(Flags::CONTROL) {
                true => Err(CommandError::new(format!(
                    "ERR rules do not see '{}', which steers a test",
                    command.name
                ))),
                false => Ok(command.name.clone()),
            }
        };
        self.faults.rules.add(args, &resolve)?;
        self.note_rules();
        Ok(())
    }

    /// Rules have come, gone, or acted for the last time.
    pub(super) fn note_rules(&mut self) {
        let any_live = self.faults.rules.any_live();
        self.faults.sees_messages = any_live && self.faults.rules.any_on_messages();
        self.hooks.set(Hook::Rules, any_live);
    }

    /// Removes a rule; what it holds goes on. Whether there was one.
    pub(crate) fn remove_rule(&mut self, name: &[u8]) -> bool {
        let Some(rule) = self.faults.rules.remove(name) else { return false };
        self.note_rules();
        self.let_go(rule, usize::MAX);
        true
    }

    /// Removes all rules; how many there were.
    pub(crate) fn remove_rules(&mut self) -> usize {
        let names: Vec<Box<[u8]>> = self.faults.rules.iter().map(|rule| rule.name.clone()).collect();
        names.iter().filter(|name| self.remove_rule(name)).count()
    }

    /// Whether rules see the requests of a client.
    pub(crate) fn set_exempt(&mut self, client: u64, is_exempt: bool) {
        if is_exempt {
            self.faults.exempt.insert(client);
        } else {
            self.faults.exempt.remove(&client);
        }
        if self.faults.has_links {
            self.links_changed();
        }
    }

    /// Drops the request or reply of a client that a rule holds, and the client's connection if there still is one.
    pub(in crate::core) fn drop_held(&mut self, slot: Slot) {
        let id = self.sessions.get(slot).id;
        if self.faults.orphans.contains_key(&id) {
            self.unblock(slot);
            self.disconnect(slot);
        } else {
            self.cut_off(slot);
        }
    }

    /// Drops what rules hold of other servers of the process, with their connections.
    pub(in crate::core) fn drop_held_of_servers(&mut self) {
        let held = self.faults.held.all().into_iter().filter_map(|client| self.sessions.find(client));
        for slot in held.collect::<Vec<_>>() {
            if self.sessions.get(slot).peer.in_process {
                self.drop_held(slot);
            }
        }
    }

    /// Begins anew: no rule, nothing held, every connection carried. A black hole is cut, because what was lost on it
    /// does not come back. Exempt clients stay so.
    pub(in crate::core) fn reset_faults(&mut self, caller: Option<Slot>, others: OtherClients) {
        if others == OtherClients::Kept {
            self.let_all_go();
        }
        for slot in self.sessions.slots().collect::<Vec<_>>() {
            let id = self.sessions.get(slot).id;
            if self.faults.orphans.contains_key(&id) {
                self.drop_held(slot);
            } else if self.faults.lost.contains_key(&id)
                && caller != Some(slot)
                && self.sessions.get(slot).closing != Some(Closing::Now)
            {
                self.cut_off(slot);
            }
        }
        self.keyspace.end_lag();
        self.let_in();
        let timers = self.faults.frozen.values().chain(self.faults.lost.values()).flatten();
        timers.for_each(|timer| self.clock.timers_mut().cancel(*timer));
        let had_links = self.faults.has_links;
        let exempt = std::mem::take(&mut self.faults.exempt);
        let held = std::mem::take(&mut self.faults.held);
        self.faults = Faults { exempt, held, ..Faults::new(self.start.seed) };
        self.note_rules();
        if had_links {
            self.links_changed();
        }
    }
}
