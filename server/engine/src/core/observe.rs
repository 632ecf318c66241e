//! Reports to observers of calls that have ended, or have begun to wait.

use super::call::{Call, Origin};
use super::engine::{Engine, Environment};
use super::observers::Observers;
use crate::clients::{Sessions, Slot};
use crate::clock::EngineClock;
use crate::config::Config;
use crate::latency::LatencyEvent;
use crate::monitors;
use crate::spec::{Args, CommandId, CommandTable, Flags, Spec};
use crate::waits::{Blocked, Waits};
use lockwheel_resp::allocation;

/// The address that Redis shows for a call by a script.
const SCRIPT_ADDR: &str = "?:0";

/// The end of a call, after these nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallEnd {
    Done { took_ns: u64 },
    Waits { took_ns: u64 },
}

pub(crate) struct CallObserver<'e> {
    observers: &'e mut Observers,
    waits: &'e mut Waits,
    clock: &'e mut EngineClock,
    sessions: &'e Sessions,
    commands: &'e CommandTable,
    environment: &'e Environment,
    config: &'e Config,
}

impl CallObserver<'_> {
    /// Records the duration of a request served after a wait, without the wait.
    pub(super) fn served(&mut self, slot: Slot, blocked: &Blocked, began_ns: u64) {
        let served_ns = self.clock.lap(began_ns, self.environment.stopwatch_ns());
        let took_ns = served_ns + blocked.took_ns;
        self.observers.stats.served(blocked.command, served_ns, took_ns);
        self.note_latency(LatencyEvent::CommandUnblocking, served_ns);
        if self.observers.slow_log.wants(took_ns) {
            let call = Call::by(self.sessions.get(slot));
            self.log_slow(call, blocked.command, Args::new(&blocked.request.argv()), took_ns);
        }
    }

    /// Counts a call that has ended or begun to wait, and records a slow one.
    fn ended(&mut self, call: Call<'_>, command: CommandId, args: Args<'_>, end: CallEnd) {
        if let CallEnd::Waits { took_ns } = end {
            self.observers.stats.waits(command, took_ns);
        }
        self.waits.count_call(&mut self.observers.stats, self.commands, command, args);
        if let CallEnd::Done { took_ns } = end {
            let is_fast = self.commands.get(command).has(Flags::FAST);
            self.note_latency(
                if is_fast { LatencyEvent::FastCommand } else { LatencyEvent::Command },
                took_ns,
            );
            if self.observers.slow_log.wants(took_ns) {
                self.log_slow(call, command, args, took_ns);
            }
        }
    }

    /// Records a duration that may be an event of LATENCY.
    pub(super) fn note_latency(&mut self, event: LatencyEvent, took_ns: u64) {
        if took_ns >= self.observers.latency.threshold_ns() {
            let unix_time = self.environment.now(self.clock).wall_second();
            self.observers.latency.took(event, took_ns, unix_time);
        }
    }

    #[cold]
    fn log_slow(&mut self, call: Call<'_>, command: CommandId, args: Args<'_>, took_ns: u64) {
        let spec = self.commands.get(command).spec;
        if spec.has(Flags::SKIP_SLOWLOG) {
            return;
        }
        let argv = without_secrets(spec, args);
        let session = self.sessions.get(call.slot);
        let (addr, name) = match call.origin() {
            Origin::Script => (SCRIPT_ADDR, &b""[..]),
            _ => (session.peer.addr.as_str(), &*session.name),
        };
        let unix_time = self.environment.now(self.clock).wall_second();
        self.observers.slow_log.add(unix_time, took_ns, &argv, addr, name);
    }

    /// Returns the monitors' line for a call; `None` without memory for it.
    fn monitor_line(&self, call: Call<'_>, spec: &Spec, args: Args<'_>) -> Option<String> {
        let now = self.clock.read(self.environment.now(self.clock));
        let session = self.sessions.get(call.slot);
        let unix = format!("unix:{}", self.config.unixsocket);
        let by = match call.origin() {
            Origin::Script => "lua",
            _ if session.peer.unix => &unix,
            _ => &session.peer.addr,
        };
        let argv = without_secrets(spec, args);
        allocation::contain(|| monitors::line(now.wall_us, session.db, by, &argv)).ok()
    }
}

impl Engine {
    pub(super) fn call_observer(&mut self) -> CallObserver<'_> {
        CallObserver {
            observers: &mut self.observers,
            waits: &mut self.waits,
            clock: &mut self.clock,
            sessions: &self.sessions,
            commands: &self.commands,
            environment: &self.environment,
            config: &self.config,
        }
    }

    /// Reports a call that has begun to wait, or has ended and needs details.
    #[cold]
    pub(super) fn observe_call(
        &mut self,
        (call, command, args): (Call<'_>, CommandId, Args<'_>),
        end: CallEnd,
    ) {
        self.call_observer().ended(call, command, args, end);
        let spec = self.commands.get(command).spec;
        // Other commands are not shown, or are shown before those that they call.
        let is_shown = !spec.flags.intersects(Flags::of(&[Flags::SKIP_MONITOR, Flags::ADMIN]))
            && !self.sessions.get(call.slot).loads_file();
        if is_shown && !self.observers.monitors().is_empty() {
            self.show_monitors(call, spec, args);
        }
        if self.observers.remembers_keys {
            self.remember_keys(call, command, args);
        }
    }

    /// Shows monitors a script or a function that is about to run.
    #[inline]
    pub(crate) fn show_script(&mut self, call: Call<'_>, args: Args<'_>) {
        if !self.observers.monitors().is_empty()
            && let Some(command) = self.commands.resolve(args)
        {
            self.show_monitors(call, command.spec, args);
        }
    }

    #[cold]
    fn show_monitors(&mut self, call: Call<'_>, spec: &Spec, args: Args<'_>) {
        let line = self.call_observer().monitor_line(call, spec, args);
        let clients = self.observers.monitors().clients().to_vec();
        match line {
            Some(line) => self.send_to(&clients, line.len(), &|reply| reply.status(line.as_bytes())),
            // A monitor must not miss a call, so it is disconnected instead.
            None => {
                let slots: Vec<Slot> = clients.into_iter().filter_map(|id| self.sessions.find(id)).collect();
                slots.into_iter().for_each(|slot| self.cut_off(slot));
            }
        }
    }
}

/// Returns the arguments of a request, with a placeholder for each secret.
fn without_secrets<'a>(spec: &Spec, args: Args<'a>) -> Vec<&'a [u8]> {
    let mut argv = args.all().to_vec();
    for secret in spec.secrets.map_or_else(Vec::new, |secrets| secrets(args)) {
        argv[secret] = b"(redacted)";
    }
    argv
}
