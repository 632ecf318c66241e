//! CLIENT PAUSE: requests are parked until the pause ends, and keys do not expire meanwhile.

use super::dispatch::Client;
use super::engine::{Engine, Retry};
use super::hooks::Hook;
use super::parked::Blocked;
use super::pause_state::PauseKind;
use super::permit::decide;
use super::progress::Progress;
use crate::clients::{Closing, HeldState, Request, Slot};
use crate::clock::{Timer, TimerKind};
use crate::keyspace::Place;
use crate::spec::{Args, Command, CommandId, Flags, Null};
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Engine {
    /// Pauses clients until an instant of the monotonic clock, in milliseconds. A pause that there is lasts until the
    /// later of both ends, and is as strict as the stricter of both.
    pub(crate) fn pause(&mut self, kind: PauseKind, until_ms: i64) {
        let before = self.pausing.pause.take();
        if let Some((_, timer, _)) = before {
            self.clock.timers_mut().cancel(timer);
        }
        let (kind, until_ms) =
            before.map_or((kind, until_ms), |(old, _, old_ms)| (kind.max(old), until_ms.max(old_ms)));
        let timer = Timer { kind: TimerKind::Pause, client: 0, order: self.keyspace.next_order() };
        let timer = self.clock.timers_mut().insert(timer, until_ms);
        self.pausing.pause = Some((kind, timer, until_ms));
        self.hooks.set(Hook::Pause, true);
        self.pause_expiry_if_needed();
        self.hide_all_due();
    }

    /// Keys that are due stay hidden while clients are paused, and on a replica until its master says that they are
    /// gone.
    pub(super) fn pause_expiry_if_needed(&mut self) {
        self.keyspace.pause_expiry(self.hooks.has(Hook::Pause) || self.following.is_some());
    }

    /// Pauses who would write until the master's part is handed over, or no longer. It is no pause that a client ends.
    pub(super) fn pause_for_failover(&mut self, fails_over: bool) {
        if std::mem::replace(&mut self.pausing.fails_over, fails_over) != fails_over {
            self.own_pause_changed(fails_over);
        }
    }

    /// A pause that no client ends has begun, or ended.
    pub(super) fn own_pause_changed(&mut self, begins: bool) {
        if !begins {
            return self.end_pause();
        }
        self.hooks.set(Hook::Pause, true);
        self.pause_expiry_if_needed();
        self.hide_all_due();
    }

    /// Ends the pause, if there is one. Who was paused goes on when the next batch begins.
    pub(crate) fn unpause(&mut self) {
        if let Some((_, timer, _)) = self.pausing.pause.take() {
            self.clock.timers_mut().cancel(timer);
            self.end_pause();
        }
    }

    /// The pause is over; its timer has fired.
    pub(super) fn pause_over(&mut self) {
        self.pausing.pause = None;
        self.end_pause();
        self.resume_paused();
    }

    fn end_pause(&mut self) {
        self.hooks.set(Hook::Pause, self.pausing.kind().is_some());
        self.pause_expiry_if_needed();
        self.hide_all_due();
        self.pausing.is_over = true;
        self.hooks.set(Hook::NextBatch, true);
    }

    /// Hides all keys that are due at this instant.
    fn hide_all_due(&mut self) {
        let until_ms = self.clock.usual_rule().until_ms(self.clock.now().wall_ms());
        self.set_expiry_backlog(Some(until_ms));
    }

    /// Whether keys expire when their deadlines come, and not only when they are named.
    pub(super) fn expires_actively(&self) -> bool {
        self.switches.expires_actively && !self.hooks.has(Hook::Pause) && self.following.is_none()
    }

    /// Parks a request if its client is paused; `is_seen`: rules have let it through.
    #[inline]
    pub(super) fn pause_request(&mut self, slot: Slot, args: Args<'_>, is_seen: bool) -> Option<Progress> {
        let kind = self.pausing.kind()?;
        // While a script is slow no pause ends, and what is run beside it may be what stops it.
        if self.scripts.is_running() { None } else { self.pause_as(kind, slot, args, is_seen) }
    }

    #[cold]
    fn pause_as(&mut self, kind: PauseKind, slot: Slot, args: Args<'_>, is_seen: bool) -> Option<Progress> {
        let session = self.sessions.get(slot);
        // What replicas say is how far they are.
        if session.closing == Some(Closing::Now) || session.is_replica {
            return None;
        }
        let command = decide(&Client { engine: self, session, limited: true }, &self.commands, args).ok()?;
        let is_paused = match kind {
            PauseKind::All => true,
            PauseKind::Write => self.may_replicate(slot, command, args),
        };
        if !is_paused || command.has(Flags::CONTROL) {
            return None;
        }
        let command = command.id;
        self.park_paused(slot, command, Request::new(args.all()), is_seen);
        Some(Progress::Blocked)
    }

    /// Whether replicas might have to be told what a request does.
    fn may_replicate(&self, slot: Slot, command: &Command, args: Args<'_>) -> bool {
        let replicates = |command: &Command, args: Args<'_>| {
            command.spec.flags.intersects(Flags::WRITE.union(Flags::MAY_REPLICATE))
                && !self.runs_without_writes(command, args)
        };
        if command.name != "exec" {
            return replicates(command, args);
        }
        let queue = self.sessions.get(slot).multi.as_ref().map_or(&[][..], |multi| multi.queue());
        queue.iter().any(|(id, request)| replicates(self.commands.get(*id), Args::new(&request.argv())))
    }

    /// Whether a request runs a script or a function that has declared that it does not write.
    fn runs_without_writes(&self, command: &Command, args: Args<'_>) -> bool {
        match &*command.name {
            "eval" => self
                .scripts
                .runtime()
                .is_some_and(|runtime| runtime.flags_of(&args[1]).is_some_and(|flags| flags.no_writes)),
            "evalsha" => self.scripts.runtime().is_some_and(|runtime| {
                runtime.find(&args[1]).is_some_and(|script| runtime.flags(script).no_writes)
            }),
            "fcall" => {
                self.scripts.libraries().find(&args[1]).is_some_and(|function| function.flags.no_writes)
            }
            _ => false,
        }
    }

    fn park_paused(&mut self, slot: Slot, command: CommandId, request: Request, is_seen: bool) {
        let place = Place { rank: 0, arrival: self.keyspace.waiters.next_ticket() };
        let session = self.sessions.get_mut(slot);
        session.blocked = true;
        session.last_command = Some(command);
        session.last_active = self.clock.now();
        let (id, db) = (session.id, session.db);
        let mut held = HeldState::new(session.delivery.buffers());
        held.set(request.memory());
        self.pausing.parked.insert(place.arrival, id);
        let blocked = Blocked {
            command,
            request,
            held,
            retry: Retry::Paused { is_seen },
            on_reply: Vec::new(),
            again: None,
            null: Null::Bulk,
            timeout: None,
            place,
            db,
            since_ms: self.clock.now().monotonic_ms(),
            took_ns: 0,
        };
        self.parked.insert(id, blocked);
        self.watch_idle(slot);
    }

    /// A client whose request was parked is no longer paused, or is gone.
    pub(super) fn forget_paused(&mut self, arrival: u64) {
        self.pausing.parked.remove(&arrival);
    }

    /// Whether a client's request is parked until the pause ends.
    pub(super) fn is_paused(&self, client: u64) -> bool {
        self.parked.get(client).is_some_and(|blocked| matches!(blocked.retry, Retry::Paused { .. }))
    }

    /// Runs the requests of clients that are no longer paused, the longest parked first. They are parked again when one
    /// of them pauses the others.
    pub(super) fn resume_paused(&mut self) {
        if !std::mem::take(&mut self.pausing.is_over) {
            return;
        }
        for client in self.pausing.parked.values().copied().collect::<Vec<_>>() {
            let Some(slot) = self.sessions.find(client) else { continue };
            // A panic costs the client whose request it is.
            let ran = catch_unwind(AssertUnwindSafe(|| {
                let Some(blocked) = self.unblock(slot) else { return };
                if let Retry::Paused { is_seen: true } = blocked.retry {
                    self.execute_held(slot, blocked.command, &blocked.request);
                } else {
                    // What it makes of the server shows in the session, or comes from [`Engine::poll_output`].
                    let _shown = self.execute(slot, &blocked.request.argv());
                }
            }));
            if ran.is_err() {
                self.cut_off(slot);
            }
            if self.sessions.is_connected(slot) {
                self.wake(slot);
            }
        }
    }
}
