//! Reset between two tests: every part of the engine returns to its initial state.

use super::engine::{Engine, Host, OtherClients};
use super::switches::Switches;
use crate::clients::{Closing, Slot};
use crate::cluster::SlotKeys;
use crate::config::{Config, HostChanges};
use crate::limits::Limits;
use crate::locks;
use crate::member::TopologyRequest;
use crate::replication::Replication;
use crate::waits::TicketEnd;

impl Engine {
    /// Restores the initial state: keys, scripts, functions, locks, statistics, the slow log, random choices,
    /// parameters, and the wall clock with its mode. The monotonic clock and client ids continue. `caller` keeps all
    /// but its watched keys. If the server cannot listen as before, it keeps its current addresses.
    pub fn reset(&mut self, caller: Option<Slot>, others: OtherClients) {
        self.reset_faults(caller, others);
        self.change_replication(|control| control.end_failover());
        self.change_shutdown(|control| control.forget());
        self.end_replication();
        self.member.forget_broadcasts();
        self.reset_clients(caller, others);
        let users = self.start.users.clone();
        self.sessions.log_in_again(&self.users, &users);
        self.users = users;
        self.rules_changed();
        self.pauses.unpause();
        self.follow_pauses();
        self.change_append_only(|control| {
            control.give_up_rewrite();
            control.delay_flushes(0);
        });
        self.change_saves(|control| control.reset());
        let seed = self.start.seed;
        let tracker = self.tracking().take();
        self.keyspace.reset(seed);
        locks::subscribe(&mut self.keyspace, seed);
        self.sessions.take_leaving();
        for slot in self.sessions.slots().collect::<Vec<_>>() {
            self.client_timers().set_lease(slot, None);
        }
        self.environment.identity.reset(self.keyspace.rng());
        self.replication = Replication::new(self.keyspace.rng());
        self.scripts.reset(&self.start.config, seed);
        self.clock.reset(&self.start.config.clock(self.clock.started()));
        self.member.ask(TopologyRequest::ClockChanged);
        self.member.ask(TopologyRequest::Reset);
        self.keyspace.go_on_at(self.clock.now(), self.clock.usual_rule());
        self.switches = Switches::default();
        let host = self.environment.host.clone();
        let before = restore_config(&mut self.config, &self.start.config, host.as_deref());
        self.environment.identity.process.port = self.config.shown_port();
        self.change_append_only(|control| control.configure(&before.append_only, false));
        self.apply_config(&before);
        self.client_timers().timeout_changed();
        self.begin_replication();
        if self.begin_view_anew().is_some() {
            SlotKeys::index(&mut self.keyspace, self.clock.now());
            self.cluster_changed();
        }
        let clients = self.sessions.live().count() as u64;
        self.observers.reset(&self.config, clients);
        self.change_tracking(|tracking| tracking.put_back(tracker));
        self.note_audience();
        self.change_append_only(|control| control.begin_anew());
        self.limits = Limits::default();
        self.memory.reset_peak();
        self.look_at_memory();
    }

    fn reset_clients(&mut self, caller: Option<Slot>, others: OtherClients) {
        for slot in self.sessions.slots().collect::<Vec<_>>() {
            let is_caller = caller == Some(slot);
            if !is_caller && others == OtherClients::Disconnected {
                self.cut_off(slot);
                self.sessions.get_mut(slot).is_unrecorded = true;
                continue;
            }
            let id = self.sessions.get(slot).id;
            let mut is_paused = false;
            if let Some(blocked) = self.waits.get_mut(id) {
                blocked.again = None;
                is_paused = blocked.retry.is_paused();
            }
            if !is_caller && self.sessions.get(slot).closing != Some(Closing::Now) && !is_paused {
                self.end_wait(slot);
            }
            self.end_tickets(id, TicketEnd::TimedOut);
            let watches = !self.sessions.get(slot).watched.is_empty();
            self.sessions.get_mut(slot).unwatch(&mut self.keyspace);
            self.sessions.get_mut(slot).watch_broken = watches;
        }
    }
}

/// Restores the parameters of the start, except addresses that the host cannot listen at. Returns those before.
fn restore_config(config: &mut Config, at_start: &Config, host: Option<&dyn Host>) -> Config {
    let before = std::mem::replace(config, at_start.clone());
    let moves = config.bind != before.bind || config.port != before.port || config.tls != before.tls;
    let has_other_tls = config.tls.port.is_some() && config.tls != before.tls;
    let changes = HostChanges { clients: false, tls: has_other_tls };
    if moves && host.is_none_or(|host| host.follow(config, changes).is_err()) {
        config.bind = before.bind.clone();
        (config.port, config.tls) = (before.port, before.tls.clone());
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_without_a_host_keeps_the_port() {
        let (mut at_start, mut config) = (Config::default(), Config::default());
        (at_start.port, at_start.maxclients) = (1, 7);
        (config.port, config.maxclients) = (2, 8);
        let before = restore_config(&mut config, &at_start, None);
        assert_eq!((before.port, before.maxclients), (2, 8));
        assert_eq!((config.port, config.maxclients), (2, 7));
    }
}
