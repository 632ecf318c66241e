//! Reset between two tests: every part of the engine returns to its initial state.

use super::engine::Engine;
use super::switches::Switches;
use crate::acl::Login;
use crate::clients::{Closing, Slot};
use crate::cluster::SlotKeys;
use crate::config::HostChanges;
use crate::limits::Limits;
use crate::locks;
use crate::member::TopologyRequest;
use crate::replication::Replication;
use crate::waits::TicketEnd;

/// The treatment of other clients in a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherClients {
    /// The clients are disconnected.
    Disconnected,
    /// The clients stay connected and subscribed. Their waits end as if they had timed out, and their WATCH as if a key
    /// had changed. Their commands queued since MULTI stay.
    Kept,
}

impl Engine {
    /// Restores the initial state. That covers keys, scripts, functions, the state of locks, statistics, the slow log,
    /// random choices, parameters, and the wall clock with its mode. The monotonic clock and client ids continue.
    /// `caller` stays connected and unchanged, except its watched keys.
    ///
    /// If the server cannot listen at its initial addresses again, it keeps the current ones.
    pub fn reset(&mut self, caller: Option<Slot>, others: OtherClients) {
        self.reset_faults(caller, others);
        self.change_replication(|control| control.end_failover());
        self.change_shutdown(|control| control.forget());
        self.end_replication();
        self.member.forget_broadcasts();
        self.reset_clients(caller, others);
        self.reset_users();
        self.pauses.unpause();
        self.follow_pauses();
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
        self.reset_config();
        self.begin_replication();
        if self.begin_view_anew().is_some() {
            SlotKeys::index(&mut self.keyspace, self.clock.now());
            self.cluster_changed();
        }
        let clients = self.sessions.live().count() as u64;
        self.observers.reset(&self.config, clients);
        self.change_tracking(|tracking| tracking.put_back(tracker));
        self.note_audience();
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

    /// Restores the initial users. Clients that stay keep their user if it is among these.
    fn reset_users(&mut self) {
        let users = self.start.users.clone();
        for slot in self.sessions.slots().collect::<Vec<_>>() {
            if let Login::As(id) = self.sessions.get(slot).login {
                let again = users.find(&self.users.get(id).name);
                self.sessions.get_mut(slot).login = again.map_or(Login::None, Login::As);
            }
        }
        self.users = users;
        self.rules_changed();
    }

    /// Restores the initial parameters.
    fn reset_config(&mut self) {
        let at_start = self.start.config.clone();
        let before = std::mem::replace(&mut self.config, at_start);
        let (now, host) = (&self.config, self.environment.host.clone());
        let moves = now.bind != before.bind || now.port != before.port || now.tls != before.tls;
        let changes = HostChanges { clients: false, tls: now.tls.port.is_some() && now.tls != before.tls };
        if moves && host.is_none_or(|host| host.follow(now, changes).is_err()) {
            self.config.bind = before.bind.clone();
            (self.config.port, self.config.tls) = (before.port, before.tls.clone());
        }
        self.environment.identity.process.port = self.config.shown_port();
        self.apply_config(&before);
        self.client_timers().timeout_changed();
    }
}
