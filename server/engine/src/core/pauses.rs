//! Pauses of clients: requests are parked, and keys do not expire meanwhile.

use super::dispatch::Client;
use super::engine::Engine;
use super::hooks::Hook;
use super::permit::decide;
use super::progress::Progress;
use crate::clients::{Closing, Request, Slot};
use crate::pauses::{PauseKind, may_replicate};
use crate::spec::{Args, CommandId, Flags};
use crate::waits::{Blocked, Retry};
use lockwheel_store::keyspace::Place;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Engine {
    /// Handles the begin or end of a pause: keys stop or resume expiring, and parked requests resume in the next batch.
    pub(super) fn follow_pauses(&mut self) {
        let order = || self.keyspace.next_order();
        if !self.pauses.take_change(self.clock.timers_mut(), order) {
            return;
        }
        self.hooks.set(Hook::Pause, self.pauses.kind().is_some());
        if self.pauses.has_ended() {
            self.hooks.set(Hook::NextBatch, true);
        }
        // Due keys stay hidden while clients are paused; on a replica, until the master deletes them.
        self.keyspace.pause_expiry(self.hooks.keep_keys() || self.following.is_some());
        let until_ms = self.clock.usual_rule().until_ms(self.clock.now().wall_ms());
        self.set_expiry_backlog(Some(until_ms));
    }

    /// Parks a request if its client is paused. `is_seen`: rules have let it through.
    #[inline]
    pub(super) fn pause_request(&mut self, slot: Slot, args: Args<'_>, is_seen: bool) -> Option<Progress> {
        let kind = self.pauses.kind()?;
        // No pause ends while a script is slow, and this request may be the one that kills it.
        if self.scripts.is_running() { None } else { self.pause_as(kind, slot, args, is_seen) }
    }

    #[cold]
    fn pause_as(&mut self, kind: PauseKind, slot: Slot, args: Args<'_>, is_seen: bool) -> Option<Progress> {
        let session = self.sessions.get(slot);
        // Replicas only send acknowledgements.
        if session.closing == Some(Closing::Now) || session.is_replica {
            return None;
        }
        let command = decide(&Client { engine: self, session, limited: true }, &self.commands, args).ok()?;
        let is_paused = match kind {
            PauseKind::All => true,
            PauseKind::Write => {
                may_replicate((&self.commands, &self.scripts), session.multi.as_ref(), (command, args))
            }
        };
        if !is_paused || command.has(Flags::CONTROL) {
            return None;
        }
        let command = command.id;
        self.park_paused(slot, command, Request::new(args.all()), is_seen);
        Some(Progress::Blocked)
    }

    fn park_paused(&mut self, slot: Slot, command: CommandId, request: Request, is_seen: bool) {
        let place = Place { rank: 0, arrival: self.keyspace.waiters.next_ticket() };
        let session = self.sessions.get_mut(slot);
        session.blocked = true;
        session.last_command = Some(command);
        session.last_active = self.clock.now();
        self.pauses.park(place.arrival, session.id);
        let now = (self.clock.now(), 0);
        let blocked = Blocked::new((command, request), Retry::Paused { is_seen }, session, place, now);
        self.waits.insert(session.id, blocked);
        self.watch_idle(slot);
    }

    /// Runs the requests of clients no longer paused, in order of arrival. A new pause parks the rest again.
    pub(super) fn resume_paused(&mut self) {
        for client in self.pauses.take_resumed() {
            let Some(slot) = self.sessions.find(client) else { continue };
            // A panic costs the client of the request.
            let ran = catch_unwind(AssertUnwindSafe(|| {
                let Some(blocked) = self.unblock(slot) else { return };
                if let Retry::Paused { is_seen: true } = blocked.retry {
                    self.execute_held(slot, blocked.command, &blocked.request);
                } else {
                    // Effects on the server show in the session, or come from [`Engine::poll_output`].
                    let _shown = self.execute(slot, &blocked.request.argv());
                }
            }));
            if ran.is_err() {
                self.cut_off(slot);
            }
            if self.sessions.is_connected(slot) {
                self.sessions.wake(slot);
            }
        }
    }
}
