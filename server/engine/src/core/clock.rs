//! The execution of clock orders: waits of clients for an advance, and advances without a client.

use super::call::{Call, Origin};
use super::engine::Engine;
use crate::clients::{Closing, Slot};
use crate::clock::{
    AdvanceOwner, AdvanceProgress, ClockAdvance, ClockHandler, ClockOrder, EngineClock, write_info,
};
use crate::finally::finally;
use crate::member::{Broadcast, TopologyRequest};
use crate::spec::{Args, CommandError, Flow, Null, Wait};
use crate::waits::Retry;
use lockwheel_resp::Reply;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The error if another client has moved the clock out of the request's range.
const MOVED: &[u8] = b"ERR time is out of range: another client has moved the clock meanwhile";

#[cfg(test)]
mod tests;

impl Engine {
    /// Returns the clock.
    pub fn clock(&self) -> &EngineClock {
        &self.clock
    }
}

impl Engine {
    pub(super) fn run_on_clock(
        &mut self,
        run: ClockHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Result<Flow<Retry>, CommandError> {
        match run(&mut self.clock, call.origin() == Origin::Script, args)? {
            ClockOrder::Planned => reply.ok(),
            ClockOrder::Advance(advance) => return self.begin_advance(call, advance, reply),
            // The next deadline of all servers counts, since they share the clock.
            ClockOrder::Inform if self.member.is_joined() => {
                return Ok(Retry::of_broadcast(self.member.broadcast(call.session, Broadcast::Clock)));
            }
            ClockOrder::Inform => {
                let mut schedule = self.schedule();
                let (next_ms, pending) = (schedule.next_in_ms(), schedule.pending());
                write_info(self.clock.info(), next_ms, pending, reply);
            }
        }
        Ok(Flow::Done)
    }

    /// Advances the clock for a client, which waits while others react.
    fn begin_advance(
        &mut self,
        call: Call<'_>,
        mut advance: Box<ClockAdvance>,
        reply: &mut dyn Reply,
    ) -> Result<Flow<Retry>, CommandError> {
        // A transaction cannot wait.
        if call.origin() == Origin::Client {
            advance = Box::new(advance.in_pieces());
        }
        let mut wait_ms = None;
        if self.member.is_joined() {
            self.member.ask(TopologyRequest::Advance(AdvanceOwner::Client(call.session)));
        } else {
            let AdvanceProgress::WaitUs(us) = self.advance_for(call.slot, &mut advance) else {
                advance.write(self.clock.now(), reply)?;
                return Ok(Flow::Done);
            };
            wait_ms = Some(us.div_ceil(1000));
        }
        if call.origin() == Origin::Client {
            self.clock.await_advance(call.session, advance);
        }
        Ok(Wait { real_time: true, ..Wait::new(Retry::Advance, wait_ms, Null::Bulk) }.into())
    }

    /// Advances the clock as an ended script or transaction has asked. Its effects come first, at their own instant.
    #[inline]
    pub(crate) fn advance_as_planned(&mut self, slot: Slot) {
        if self.clock.has_planned() {
            self.make_planned_advances(slot);
        }
    }

    #[cold]
    fn make_planned_advances(&mut self, slot: Slot) {
        self.commit();
        for planned in self.clock.take_planned() {
            if self.member.is_joined() {
                self.member.ask(TopologyRequest::Planned(planned));
            } else if let Some(mut advance) = self.clock.planned_advance(planned) {
                self.advance_for(slot, &mut advance);
            }
        }
    }

    /// Continues an advance for a client whose request runs. The client stays active and is the cause in the history,
    /// whatever the advance passes.
    fn advance_for(&mut self, slot: Slot, advance: &mut ClockAdvance) -> AdvanceProgress {
        self.client_timers().cancel_idle(slot);
        self.history().advancing(true);
        let advanced = |engine: &mut Engine| engine.continue_advance(advance);
        let progress = finally(self, advanced, |engine| engine.history().advancing(false));
        self.sessions.get_mut(slot).last_active = self.clock.now();
        self.watch_idle(slot);
        progress
    }
}

impl Engine {
    /// Continues a stopped advance whose time has come.
    pub(super) fn continue_stopped(&mut self, owner: AdvanceOwner) {
        if self.member.is_joined() {
            return self.member.ask(TopologyRequest::Advance(owner));
        }
        let Some(mut advance) = self.take_advance(owner) else { return };
        match (catch_unwind(AssertUnwindSafe(|| self.continue_advance(&mut advance))), owner) {
            (Ok(progress), _) => self.end_advance(owner, advance, progress),
            // A panic disconnects the advancing client, which would otherwise wait forever.
            (Err(_), AdvanceOwner::Client(client)) => {
                self.history().advancing(false);
                self.sessions.find(client).into_iter().for_each(|slot| self.cut_off(slot));
            }
            (Err(_), AdvanceOwner::Detached(_)) => {}
        }
    }

    /// Takes a stopped advance, to continue it. `None` if it runs already, or a reset has ended it.
    pub(crate) fn take_advance(&mut self, owner: AdvanceOwner) -> Option<Box<ClockAdvance>> {
        let advance = self.clock.take_advance(owner)?;
        if let AdvanceOwner::Client(client) = owner {
            self.history().advance_goes_on(client);
            self.history().advancing(true);
        }
        Some(advance)
    }

    /// Lets an advance wait again, or answers its client. Commits nothing: a transaction may have continued it.
    pub(crate) fn end_advance(
        &mut self,
        owner: AdvanceOwner,
        advance: Box<ClockAdvance>,
        progress: AdvanceProgress,
    ) {
        let AdvanceOwner::Client(client) = owner else {
            return self.end_detached_advance(advance, progress);
        };
        self.history().advancing(false);
        let waits = self.clock.put_back(client, advance);
        match (waits, self.sessions.find(client), progress) {
            (Ok(()), Some(slot), AdvanceProgress::WaitUs(us)) => {
                let Some(advance) = self.clock.awaited_advance(client) else { return };
                // A client that its own advance has disconnected may wait between pieces, but not while others settle.
                if advance.has_killed() && us > 0 {
                    return self.cut_off(slot);
                }
                if advance.is_unblocked() {
                    return self.end_wait(slot);
                }
                self.wait_control().wait_real(client, us.div_ceil(1000));
            }
            (Ok(()), Some(slot), AdvanceProgress::Done) => self.answer_advance(slot),
            // The client has disconnected or no longer waits.
            (Err(advance), ..) => self.end_detached_advance(advance, progress),
            (Ok(()), None, _) => {}
        }
    }

    fn answer_advance(&mut self, slot: Slot) {
        let Some(advance) = self.clock.forget_advance(self.sessions.get(slot).id) else { return };
        if self.unblock(slot).is_none() {
            return;
        }
        let now = self.clock.now();
        self.change_output(slot, |output, slot| {
            output.answer(slot, |reply| {
                if advance.write(now, reply).is_err() {
                    reply.error(MOVED);
                }
            })
        });
        if advance.has_killed() {
            self.sessions.get_mut(slot).close(Closing::AfterOutput);
        }
    }

    /// Lets a continued advance without a client wait again, or ends it.
    pub(crate) fn end_detached_advance(&mut self, advance: Box<ClockAdvance>, progress: AdvanceProgress) {
        if let AdvanceProgress::WaitUs(us) = progress {
            self.clock.detach(advance, us, &mut self.keyspace);
        }
        self.commit();
    }
}
