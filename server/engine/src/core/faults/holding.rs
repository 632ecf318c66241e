//! Held requests and replies, until their time has come or the test releases them.

use super::super::engine::Engine;
use super::super::hooks::Hook;
use crate::clients::{Request, Slot};
use crate::clock::TimerKind;
use crate::faults::{HeldPart, HeldTraffic};
use crate::spec::{Args, CommandId};
use crate::waits::{Blocked, CountOf, Retry};
use lockwheel_store::keyspace::Place;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Engine {
    /// Holds a client's request or reply for these milliseconds or until its release. Later requests wait, too.
    pub(super) fn park_held(
        &mut self,
        slot: Slot,
        request: (CommandId, Request),
        held: HeldTraffic,
        delay_ms: Option<u64>,
    ) {
        let place = Place { rank: 0, arrival: self.keyspace.waiters.next_ticket() };
        let session = self.sessions.get_mut(slot);
        let id = session.id;
        session.blocked = true;
        let (timeout, count) = self.change_faults(|control, _| {
            let timeout = delay_ms.map(|ms| control.step.set_timer(TimerKind::Delay, id, ms));
            (timeout, control.faults.held.add(held.rule, place.arrival, id))
        });
        self.waits.count_rises(&CountOf::Held(held.rule), count as u64);
        let (session, memory) = (self.sessions.get(slot), (self.clock.now(), held.part.memory()));
        let mut blocked = Blocked::new(request, Retry::Held(held), session, place, memory);
        blocked.timeout = timeout;
        self.waits.insert(id, blocked);
        self.watch_idle(slot);
    }

    /// Releases the held request or reply of a client. Returns whether there was one.
    pub(in crate::core) fn go_on(&mut self, client: u64) -> bool {
        let Some(slot) = self.sessions.find(client).filter(|_| self.waits.is_held(client)) else {
            return false;
        };
        let behind = self.faults.held.take_orphan(client);
        if behind.is_some() {
            self.sessions.set_gone(slot, false);
        }
        // A panic costs the client of the request, not the one that releases it.
        let went_on = catch_unwind(AssertUnwindSafe(|| {
            let Some(blocked) = self.unblock(slot) else { return };
            let Retry::Held(HeldTraffic { rule, part }) = blocked.retry else { return };
            if let HeldPart::Request = part {
                return self.execute_held(slot, blocked.command, &blocked.request);
            }
            if let Some((part, then_ms)) = part.send(&mut self.sessions.get_mut(slot).delivery) {
                let request = (blocked.command, blocked.request);
                self.park_held(slot, request, HeldTraffic { rule, part }, Some(then_ms));
            }
            self.change_output(slot, |output, slot| output.check(slot));
        }));
        if went_on.is_err() {
            self.cut_off(slot);
        }
        let Some(behind) = behind else {
            self.sessions.wake(slot);
            return true;
        };
        // The later requests of a disconnected client follow.
        let behind = self.run_behind(slot, behind);
        if self.waits.is_held(client) {
            self.sessions.set_gone(slot, true);
            self.faults.held.add_orphan(client, behind);
        } else {
            self.disconnect(slot);
        }
        true
    }

    /// Runs a disconnected client's requests up to one that is held or must wait in vain, and returns the rest.
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

    /// Runs a released request, unless its client has been paused meanwhile.
    pub(in crate::core) fn execute_held(&mut self, slot: Slot, command: CommandId, request: &Request) {
        let argv = request.argv();
        let args = Args::new(&argv);
        if self.pause_request(slot, args, true).is_some() {
            return;
        }
        let command = self.commands.get(command).clone();
        let has_cause = self.rule_judge().begin_cause(slot, &command, args);
        // Effects on the server show in the session, or come from [`Engine::poll_output`].
        let _shown = self.execute_request(slot, &argv);
        if self.hooks.has(Hook::Caching) {
            self.end_caching(slot, args);
        }
        if has_cause {
            self.rule_judge().end_cause();
        }
    }

    /// Handles the close behind a held request. Returns whether the session stays until earlier requests have run.
    pub(in crate::core) fn outlives_connection(&mut self, slot: Slot, behind: VecDeque<Request>) -> bool {
        let session = self.sessions.get_mut(slot);
        let id = session.id;
        let is_on_its_way = session.closing.is_none() && self.waits.holds_request_of(id);
        if is_on_its_way {
            session.delivery.cut();
            self.sessions.set_gone(slot, true);
            self.faults.held.add_orphan(id, behind);
        }
        is_on_its_way
    }
}
