//! The life of an engine and its clients: batches begin, clients connect and disconnect, output is taken.

use super::engine::Engine;
use super::hooks::Hook;
use super::replication::deliver_propagated;
use crate::clients::{Closing, Outbox, Peer, Request, Session, Sessions, Slot};
use crate::config::Config;
use crate::locks::{self, HistoryCause, HistoryEvent};
use crate::member::TopologyRequest;
use crate::scripts::Scripts;
use crate::spec::CommandId;
use crate::statistics::{ConnectionEvent, Process};
use crate::waits::TicketEnd;
use lockwheel_store::time::{Mode, Now};

impl Engine {
    /// Returns the scripts, including the state of a running one that other threads may read.
    pub fn scripts(&self) -> &Scripts {
        &self.scripts
    }

    /// Returns the process figures of INFO, to be set.
    pub fn process_mut(&mut self) -> &mut Process {
        &mut self.environment.identity.process
    }

    /// Applies parameters changed by CONFIG SET. `before` holds the old ones.
    pub(crate) fn apply_config(&mut self, before: &Config) {
        if self.config.timeout != before.timeout {
            self.client_timers().timeout_changed();
        }
        if self.config.requirepass != before.requirepass {
            self.users.set_default_password(&self.config.requirepass);
        }
        if self.config.client_output_buffer_limit != before.client_output_buffer_limit {
            let clients = self.client_timers().output_limits_changed();
            clients.into_iter().for_each(|slot| self.change_output(slot, |output, slot| output.check(slot)));
        }
        if self.config.replication != before.replication {
            self.change_replication(|control| control.rules_changed());
            self.change_replication(|control| control.stream_changed());
        }
        if self.config.saves != before.saves {
            self.change_saves(|control| control.rules_changed());
        }
        if self.config.tracking_table_max_keys != before.tracking_table_max_keys {
            self.change_tracking(|tracking| tracking.apply_limit());
        }
        self.config.apply_to(&mut self.keyspace);
        self.configure_ledger();
        if self.config.lock_jeopardy > before.lock_jeopardy {
            locks::watch_leases(&mut self.keyspace, self.clock.now(), before.lock_jeopardy);
        }
        self.observers.configure(&self.config);
        self.limits_changed(before.maxmemory);
        if let Some(cluster) = self.cluster.as_deref_mut().filter(|_| self.config.cluster != before.cluster) {
            cluster.announce(&self.config);
            self.cluster_changed();
        }
        if self.config.cluster != before.cluster || self.config.replication != before.replication {
            self.member.ask(TopologyRequest::Announced);
        }
        self.rules_changed();
    }

    /// Counts an event of a connection.
    pub fn count_connection_event(&mut self, event: ConnectionEvent) {
        self.observers.stats.count_connection_event(event);
    }

    /// Counts `count` requests of a command that were refused with `BUSY` while a script was slow.
    pub fn refused_as_busy(&mut self, command: CommandId, count: u64) {
        let busy = self.scripts.busy();
        (0..count).for_each(|_| self.observers.stats.rejected(Some(command), busy.as_bytes()));
    }

    /// Begins a batch at a time of the system's clocks, and fires due deadlines, or a piece of many.
    pub fn begin(&mut self, system: Now) {
        self.batch += 1;
        self.keyspace.drop_garbage();
        self.clock.go_on_at(system, self.environment.stopwatch_ns());
        self.keyspace.go_on_at(self.clock.now(), self.clock.rule());
        if self.memory.is_due(system.monotonic_us) {
            self.look_at_memory();
            self.observers.sample_rates(&self.clock, &self.environment.identity);
        }
        self.fire_piece();
        if self.hooks.has(Hook::NextBatch) {
            self.begin_more();
        }
        if self.limits.evicts() {
            self.evict_piece();
        }
    }

    /// Continues work that was too much for one batch, and resumes the requests of clients that are no longer paused.
    #[cold]
    fn begin_more(&mut self) {
        let has_more = self.tracking().shrink();
        self.hooks.set(Hook::NextBatch, has_more);
        self.resume_paused();
        self.commit();
    }

    /// Whether parked requests resume by themselves; one may be endless, so it must not begin a client's own batch.
    #[inline]
    pub fn parks_requests(&self) -> bool {
        self.pauses.has_parked() || !self.faults.held.is_empty()
    }

    /// Whether some parked requests can resume now.
    #[inline]
    pub fn lets_requests_go_on(&self) -> bool {
        self.pauses.has_ended() && self.pauses.has_parked()
    }

    /// Continues a batch at a later time. Keys due since then are hidden, and fire when the next batch begins.
    pub fn go_on_at(&mut self, system: Now) {
        self.clock.go_on_at(system, self.environment.stopwatch_ns());
        self.keyspace.go_on_at(self.clock.now(), self.clock.rule());
        if self.clock.mode() == Mode::Real || self.clock.is_behind() {
            self.fire_due(0, self.clock.rule());
        }
    }

    /// Whether the work in the batch, since the last call, took long or wrote much: the clock must be read again.
    #[inline]
    pub fn is_stale(&mut self) -> bool {
        self.clock.take_stale()
    }

    /// Connects a new client. The slot is its handle until [`Engine::disconnect`].
    pub fn connect(&mut self, peer: Peer) -> Slot {
        let given = self.environment.host.as_ref().and_then(|host| host.session_id());
        self.connect_as(given.unwrap_or_else(|| self.sessions.next_id()), peer)
    }

    /// Connects a new client with an unused id, chosen by the caller, which knows the order of accepted connections.
    pub fn connect_as(&mut self, id: u64, peer: Peer) -> Slot {
        self.observers.stats.connections_received += 1;
        let login = self.users.first_login();
        // On frozen clocks, an outage lasts only while some client, maybe of another server of the process, can move
        // them. Otherwise the server would stay unreachable.
        self.let_in_without_clients();
        let is_refused = self.faults.outage.is_down(self.clock.now().monotonic_ms());
        let (now, account) = (self.clock.now(), &self.memory.clients);
        let slot = self.sessions.add(id, |slot| Session::new(id, slot, peer, login, now, account));
        if is_refused {
            let session = self.sessions.get_mut(slot);
            session.close(Closing::Now);
            session.is_unrecorded = true;
        }
        self.watch_idle(slot);
        self.history().connection(slot, HistoryEvent::Connect);
        self.commit();
        slot
    }

    /// Recovers from a panic in a command of this client: disconnects it and commits the effects so far.
    pub fn recover(&mut self, slot: Slot) {
        self.stop = None;
        self.clock.take_planned();
        self.tracking().hold(None);
        let session = self.sessions.get_mut(slot);
        session.delivery.cut_reply();
        self.faults.forget_causes();
        self.cut_off(slot);
        self.commit();
    }

    /// Frees everything that belongs to a disconnected client, unless a request of it is still held.
    pub fn disconnect(&mut self, slot: Slot) {
        self.disconnect_behind(slot, Vec::new());
    }

    /// Disconnects a client whose last requests have not run. They follow a request that is still held, or a wait that
    /// has ended unnoticed by the connection.
    pub fn disconnect_behind(&mut self, slot: Slot, requests: Vec<Vec<Vec<u8>>>) {
        let request = |argv: Vec<Vec<u8>>| Request::new(&argv.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let mut behind = requests.into_iter().map(request).collect();
        if !self.scripts.is_running() {
            behind = self.run_behind(slot, behind);
        }
        if self.outlives_connection(slot, behind) {
            self.let_in_without_clients();
            return self.commit();
        }
        let id = self.sessions.get(slot).id;
        self.change_faults(|control, _| control.faults.forget_client(id, &mut control.step));
        self.history().left_queue(slot, HistoryCause::Disconnected);
        self.give_up_wait(slot);
        self.end_tickets(self.sessions.get(slot).id, TicketEnd::GivenUp);
        self.client_timers().leave_leases(slot);
        self.cluster.iter_mut().for_each(|cluster| cluster.forget_client(id));
        self.sessions.get_mut(slot).unwatch(&mut self.keyspace);
        self.set_monitor(slot, false);
        self.change_tracking(|tracking| tracking.leave(slot));
        self.change_replication(|control| control.leave(slot));
        self.change_subscriptions(slot, |its| its.end_all(HistoryCause::Disconnected));
        self.client_timers().cancel_all(slot);
        self.history().connection(slot, HistoryEvent::Disconnect);
        self.sessions.remove(slot);
        self.let_in_without_clients();
        self.commit();
    }

    /// Disconnects a client at once: no more of its requests run, and no output is sent.
    pub(crate) fn cut_off(&mut self, slot: Slot) {
        if self.sessions.get(slot).is_master {
            return self.change_replication(|control| control.link_down("it was cut"));
        }
        self.history().left_queue(slot, HistoryCause::Disconnected);
        self.give_up_wait(slot);
        self.end_tickets(self.sessions.get(slot).id, TicketEnd::GivenUp);
        self.client_timers().leave_leases(slot);
        self.sessions.get_mut(slot).unwatch(&mut self.keyspace);
        self.set_monitor(slot, false);
        self.change_tracking(|tracking| tracking.leave(slot));
        self.change_replication(|control| control.leave(slot));
        self.change_subscriptions(slot, |its| its.end_all(HistoryCause::Disconnected));
        let session = self.sessions.get_mut(slot);
        session.multi = None;
        session.delivery.cut();
        session.close(Closing::Now);
        self.watch_idle(slot);
        self.sessions.wake(slot);
    }

    pub(crate) fn set_monitor(&mut self, slot: Slot, is_shown: bool) -> bool {
        let session = self.sessions.get_mut(slot);
        let changes = std::mem::replace(&mut session.is_monitor, is_shown) != is_shown;
        if changes {
            self.observers.set_monitor(session.id, is_shown);
            self.watch_idle(slot);
        }
        changes
    }

    /// Forgets a client whose [`Engine::disconnect`] has panicked.
    pub fn forget(&mut self, slot: Slot) {
        self.sessions.remove(slot);
        self.let_in_without_clients();
    }

    /// Appends the output of a session to the unwritten output in `into`. An empty buffer is swapped instead.
    pub fn take_output(&mut self, slot: Slot, into: &mut Outbox) {
        if self.sessions.get(slot).is_replica {
            deliver_propagated(self);
        }
        let session = self.sessions.get_mut(slot);
        if session.is_replica && !self.replication.feed_lacked(session, &self.memory.stream) {
            self.cut_off(slot);
        }
        let session = self.sessions.get_mut(slot);
        session.delivery.take(into);
        session.woken = false;
    }

    /// Returns the sessions.
    #[inline]
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Returns the sessions, in which connections keep state.
    #[inline]
    pub fn sessions_mut(&mut self) -> &mut Sessions {
        &mut self.sessions
    }
}
