//! Requests and replies that are held, until their time has come or the test lets them go.

use super::super::engine::{Engine, Retry};
use super::super::hooks::Hook;
use super::super::parked::Blocked;
use super::held::{Held, HeldPart};
use crate::clients::{HeldState, Request, Slot};
use crate::clock::{Timer, TimerKey, TimerKind};
use crate::faults::RuleId;
use crate::spec::{Args, CommandId, Null};
use lockwheel_store::keyspace::Place;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Engine {
    /// Holds a client's request or reply, for so many milliseconds or until it is let go; what the client sends behind
    /// it waits too.
    pub(super) fn park_held(
        &mut self,
        slot: Slot,
        command: CommandId,
        request: Request,
        held: Held,
        delay_ms: Option<u64>,
    ) {
        let place = Place { rank: 0, arrival: self.keyspace.waiters.next_ticket() };
        let session = self.sessions.get_mut(slot);
        let (id, db) = (session.id, session.db);
        session.blocked = true;
        let mut memory = HeldState::new(session.delivery.buffers());
        memory.set(request.memory() + held.part.memory());
        let since_ms = self.clock.now().monotonic_ms();
        let timeout = delay_ms.map(|ms| self.set_fault_timer(TimerKind::Delay, id, ms));
        self.faults.held.add(held.rule, place.arrival, id);
        self.rule_holds(held.rule);
        let blocked = Blocked {
            command,
            request,
            held: memory,
            retry: Retry::Held(held),
            on_reply: Vec::new(),
            again: None,
            null: Null::Bulk,
            timeout,
            place,
            db,
            since_ms,
            took_ns: 0,
        };
        self.parked.insert(id, blocked);
        self.watch_idle(slot);
    }

    /// Sets a timer of a client that is due in so many milliseconds of the monotonic clock.
    pub(super) fn set_fault_timer(&mut self, kind: TimerKind, client: u64, ms: u64) -> TimerKey {
        let timer = Timer { kind, client, order: self.keyspace.next_order() };
        let due_ms = self.clock.now().monotonic_ms().saturating_add_unsigned(ms);
        if ms == 0 {
            // It is over at once, on frozen clocks too.
            self.hooks.set(Hook::NextBatch, true);
        }
        self.clock.timers_mut().insert(timer, due_ms)
    }

    /// How many requests and replies a rule holds.
    pub(crate) fn held_by(&self, rule: RuleId) -> usize {
        self.faults.held.count(rule)
    }

    /// Lets go what a rule holds, the longest held first, but no more than `most`; how many that were.
    pub(crate) fn let_go(&mut self, rule: RuleId, most: usize) -> usize {
        let clients = self.faults.held.of(rule);
        let mut gone_on = 0;
        for client in clients.into_iter().take(most) {
            gone_on += usize::from(self.go_on(client));
        }
        gone_on
    }

    /// Lets go everything that is held.
    pub(super) fn let_all_go(&mut self) {
        for client in self.faults.held.all() {
            self.go_on(client);
        }
    }

    /// The time has come for what is held of a client; its timer has fired.
    pub(in crate::core) fn delay_over(&mut self, client: u64) {
        if let Some(blocked) = self.parked.get_mut(client) {
            blocked.timeout = None;
        }
        self.go_on(client);
    }

    /// Whether something of a client is held.
    pub(in crate::core) fn is_held(&self, client: u64) -> bool {
        self.parked.get(client).is_some_and(|blocked| matches!(blocked.retry, Retry::Held(_)))
    }

    /// What is held of a client goes on; whether something was.
    pub(in crate::core) fn go_on(&mut self, client: u64) -> bool {
        let Some(slot) = self.sessions.find(client).filter(|_| self.is_held(client)) else { return false };
        let behind = self.faults.orphans.remove(&client);
        if behind.is_some() {
            self.sessions.set_gone(slot, false);
        }
        // A panic costs the client whose request it is, not who lets it go.
        let went_on = catch_unwind(AssertUnwindSafe(|| {
            let Some(blocked) = self.unblock(slot) else { return };
            let Retry::Held(held) = blocked.retry else { return };
            match held.part {
                HeldPart::Request => self.execute_held(slot, blocked.command, &blocked.request),
                HeldPart::Reply(bytes) => {
                    self.sessions.get_mut(slot).delivery.release(&bytes);
                    self.check_output_limit(slot);
                }
                HeldPart::Slices(reply) => {
                    self.send_slice(slot, blocked.command, blocked.request, held.rule, reply);
                    self.check_output_limit(slot);
                }
            }
        }));
        if went_on.is_err() {
            self.cut_off(slot);
        }
        match behind {
            Some(behind) => self.go_on_behind(slot, behind),
            None => self.wake(slot),
        }
        true
    }

    /// What a client that has gone had sent behind a held request arrives after that.
    fn go_on_behind(&mut self, slot: Slot, behind: VecDeque<Request>) {
        let behind = self.run_behind(slot, behind);
        let id = self.sessions.get(slot).id;
        if self.is_held(id) {
            self.sessions.set_gone(slot, true);
            self.faults.orphans.insert(id, behind);
        } else {
            self.disconnect(slot);
        }
    }

    /// Runs requests of a client that has gone, up to one that is held or has to wait: who waits and has gone is served
    /// no more. What is left.
    pub(in crate::core) fn run_behind(
        &mut self,
        slot: Slot,
        mut requests: VecDeque<Request>,
    ) -> VecDeque<Request> {
        let ran = catch_unwind(AssertUnwindSafe(|| {
            while self.sessions.get(slot).closing.is_none()
                && !self.sessions.get(slot).blocked
                && let Some(request) = requests.pop_front()
            {
                let _shown = self.execute(slot, &request.argv());
            }
        }));
        if ran.is_err() {
            self.cut_off(slot);
        }
        requests
    }

    /// Runs a request that was held, unless its client is paused meanwhile.
    pub(in crate::core) fn execute_held(&mut self, slot: Slot, command: CommandId, request: &Request) {
        let argv = request.argv();
        let args = Args::new(&argv);
        if self.pause_request(slot, args, true).is_some() {
            return;
        }
        let command = self.commands.get(command).clone();
        let has_cause = self.begin_cause(slot, &command, args);
        // What it makes of the server shows in the session, or comes from [`Engine::poll_output`].
        let _shown = self.execute_request(slot, &argv);
        if self.hooks.has(Hook::Caching) {
            self.end_caching(slot, args);
        }
        if has_cause {
            self.end_cause();
        }
    }

    /// A client has closed its connection. A request of it that is held was on its way before, and so were those behind
    /// it: the session stays until they have arrived. Whether that is so.
    pub(in crate::core) fn outlives_connection(&mut self, slot: Slot, behind: VecDeque<Request>) -> bool {
        let session = self.sessions.get_mut(slot);
        let id = session.id;
        let is_on_its_way = session.closing.is_none()
            && self.parked.get(id).is_some_and(|blocked| {
                matches!(&blocked.retry, Retry::Held(Held { part: HeldPart::Request, .. }))
            });
        if is_on_its_way {
            session.delivery.cut();
            self.sessions.set_gone(slot, true);
            self.faults.orphans.insert(id, behind);
        }
        is_on_its_way
    }
}
