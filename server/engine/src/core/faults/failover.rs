//! A replica that lags and takes over; a server that restarts without what it kept.

use super::super::call::Call;
use super::super::engine::Engine;
use super::super::progress::{Crash, Stop};
use crate::clients::{Closing, Slot};
use crate::clock::TimerKind;
use crate::faults::GrantNumbers;
use crate::locks;
use crate::member::TopologyRequest;
use crate::spec::Args;
use lockwheel_store::keyspace::Actor;
use lockwheel_store::rdb::{self, Writer};
use lockwheel_store::values::Value;

impl Engine {
    /// From now on writes reach no replica: those to keys that match the pattern, or all. Replicas have what there is
    /// now; each key is kept as it is when it is first written. O(1).
    pub(crate) fn lag(&mut self, pattern: Option<&[u8]>) {
        self.keyspace.begin_lag(pattern);
    }

    /// A replica takes over, with what it has: writes since it began to lag are lost, the script cache is empty, and
    /// all connections are cut but the caller's and those that rules do not see.
    pub(crate) fn fail_over(&mut self, call: Call<'_>, args: Args<'_>, numbers: GrantNumbers) {
        self.cut_others(call.slot);
        let (actor, now) = (call.actor(args), self.clock.now());
        locks::failing_over(&mut self.keyspace, |keyspace| keyspace.go_back(are_same, &actor, now));
        if let Ok(runtime) = self.scripts.idle() {
            runtime.flush();
        }
        self.renumber(numbers);
    }

    /// The server restarts without what it kept: keys, scripts, functions and connections are gone, but the caller's
    /// and those that rules do not see. Nobody is let in for so many milliseconds of the monotonic clock.
    pub(crate) fn restart(&mut self, call: Call<'_>, args: Args<'_>, down_ms: u64, numbers: GrantNumbers) {
        self.cut_others(call.slot);
        self.begin_without_data(Some(&call.actor(args)), down_ms, numbers);
    }

    /// All connections are cut but the caller's and those that rules do not see, and nobody is let in for so many
    /// milliseconds of the monotonic clock: as behind a broken network, or after a restart that has kept everything.
    pub(crate) fn interrupt(&mut self, call: Call<'_>, down_ms: u64, numbers: GrantNumbers) {
        self.cut_others(call.slot);
        let knows_history = match self.was_killed() {
            true => self.faults.has_kept_history,
            false => self.replication().knows_its_history(),
        };
        if down_ms > 0 {
            self.let_in();
            self.let_nobody_in(down_ms);
            self.faults.has_kept_history = knows_history;
        } else if self.was_killed() && self.member.is_joined() {
            self.begin_again();
        } else {
            self.let_in();
        }
        self.renumber(numbers);
    }

    /// Begins as a process that has kept nothing but its configuration, after so many milliseconds.
    fn begin_without_data(&mut self, actor: Option<&Actor<'_>>, down_ms: u64, numbers: GrantNumbers) {
        let master = self.followed().map(|(host, port)| (host.to_owned(), port));
        let comes_up = down_ms == 0 && self.was_killed() && self.member.is_joined();
        if master.is_some() {
            self.end_replication();
            self.forget_data_history();
        }
        self.keyspace.end_lag();
        self.lose_all(actor, master.is_some());
        let seed = self.start.seed;
        self.scripts.reset(&self.config, seed);
        self.let_in();
        if down_ms > 0 {
            self.let_nobody_in(down_ms);
        }
        self.renumber(numbers);
        if comes_up {
            self.faults.has_kept_history = false;
            return self.begin_again();
        }
        // One of several servers that is down follows its master when it comes up.
        if let Some((host, port)) = master.filter(|_| down_ms == 0 || !self.member.is_joined()) {
            self.follow(host, port, false);
        }
    }

    /// A crash of this server alone: it ends as if its process had ended, or restarts.
    pub fn crash_alone(&mut self, crash: Crash) {
        let Crash::Restart(down_ms) = crash else {
            self.stop = Some(Stop::Shutdown);
            return;
        };
        self.cut_but(|_, _| false);
        self.begin_without_data(None, down_ms, GrantNumbers::GoOn);
        self.commit();
    }

    /// All keys are gone, as with the process; what a replica had its master has still.
    fn lose_all(&mut self, actor: Option<&Actor<'_>>, is_replica: bool) {
        let now = self.clock.now();
        let flush = |engine: &mut Engine| {
            locks::failing_over(&mut engine.keyspace, |keyspace| match actor {
                Some(actor) => keyspace.tx_by(actor, 0, now).flush_all(),
                None => keyspace.tx(0, now).flush_all(),
            });
        };
        if is_replica { self.as_another_did(flush) } else { flush(self) }
    }

    fn let_nobody_in(&mut self, ms: u64) {
        let until_ms = self.clock.now().monotonic_ms().saturating_add_unsigned(ms);
        (self.faults.down_until_ms, self.faults.has_kept_history) = (Some(until_ms), false);
        self.faults.down_timer =
            (!self.member.is_joined()).then(|| self.set_fault_timer(TimerKind::Restart, 0, ms));
        self.follow_doors();
    }

    /// Lets the system refuse clients while nobody is let in, and lets them connect otherwise.
    pub(super) fn follow_doors(&mut self) {
        let are_closed = self.was_killed();
        if are_closed != std::mem::replace(&mut self.faults.are_doors_closed, are_closed)
            && let Some(host) = &self.environment.host
        {
            host.let_clients_in(!are_closed);
        }
    }

    /// A client has left. While nobody is let in, and the clock stands, it may have been the last that could move it:
    /// without one, clients are let in again.
    pub(in crate::core) fn let_in_without_clients(&mut self) {
        if self.is_down() && !self.clock_runs() {
            if self.member.is_joined() {
                self.member.ask(TopologyRequest::Refused);
            } else if !self.has_clients(&[]) {
                self.let_in();
            }
        }
    }

    /// The server is up again; its timer has fired.
    pub(in crate::core) fn restart_over(&mut self) {
        self.faults.down_timer = None;
        self.let_in();
    }

    /// Clients are let in again, if they were not.
    pub(super) fn let_in(&mut self) {
        self.faults.down_until_ms = None;
        if let Some(timer) = self.faults.down_timer.take() {
            self.clock.timers_mut().cancel(timer);
        }
        self.follow_doors();
    }

    /// Whether nobody is let in at present.
    #[inline]
    pub(in crate::core) fn is_down(&self) -> bool {
        self.faults.down_until_ms.is_some_and(|until_ms| self.clock.now().monotonic_ms() < until_ms)
    }

    /// A client comes. Whether nobody is let in at present: on frozen clocks only while somebody is connected who can
    /// move them, or the server would never be reached again. That may be a client of another server of the process.
    pub(in crate::core) fn refuses_connections(&mut self) -> bool {
        self.let_in_without_clients();
        self.is_down()
    }

    /// Whether a client is connected; the sessions of other servers are none, nor is the one of a master's stream.
    pub(crate) fn has_clients(&self, links: &[Slot]) -> bool {
        self.sessions.slots().filter(|slot| !links.contains(slot)).any(|slot| {
            let session = self.sessions.get(slot);
            let is_there = session.closing != Some(Closing::Now) && !session.is_master;
            is_there && !self.faults.orphans.contains_key(&session.id)
        })
    }

    /// Cuts all connections but this one and those that rules do not see.
    fn cut_others(&mut self, caller: Slot) {
        self.cut_but(|engine, slot| {
            slot == caller || engine.faults.exempt.contains(&engine.sessions.get(slot).id)
        });
    }

    fn cut_but(&mut self, is_spared: impl Fn(&Engine, Slot) -> bool) {
        for slot in self.sessions.slots().collect::<Vec<_>>() {
            let id = self.sessions.get(slot).id;
            if self.faults.orphans.contains_key(&id) {
                self.unblock(slot);
                self.disconnect(slot);
            } else if !is_spared(self, slot) && self.sessions.get(slot).closing != Some(Closing::Now) {
                self.cut_off(slot);
            }
        }
    }

    fn renumber(&mut self, numbers: GrantNumbers) {
        if numbers == GrantNumbers::Restart {
            locks::restart_numbers(&mut self.keyspace.tx(0, self.clock.now()));
        }
    }
}

/// Whether two values have the same bytes in a dump.
fn are_same(one: &Value, other: &Value) -> bool {
    dumped(one) == dumped(other)
}

/// The bytes of a value in a dump.
pub(super) fn dumped(value: &Value) -> Vec<u8> {
    let mut writer = Writer::new();
    rdb::write_value(value, &mut writer);
    writer.written().to_vec()
}
