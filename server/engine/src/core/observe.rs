//! What observers get to know of a call that has ended, or has begun to wait.

use super::call::{Call, Origin};
use super::engine::Engine;
use crate::clients::Slot;
use crate::latency::Event;
use crate::monitors;
use crate::spec::{Args, CommandId, Flags, Spec};
use crate::statistics::Totals;
use crate::waits::Blocked;
use lockwheel_resp::allocation;

/// The address of the client that calls for a script, as Redis shows it.
const SCRIPT_ADDR: &str = "?:0";

impl Engine {
    /// Records the duration of a request served after a wait: its run time, without the wait.
    pub(super) fn observe_served(&mut self, slot: Slot, blocked: &Blocked, began_ns: u64) {
        let served_ns = self.lap(began_ns);
        let took_ns = served_ns + blocked.took_ns;
        self.observers.stats.served(blocked.command, served_ns, took_ns);
        self.note_latency(Event::CommandUnblocking, served_ns);
        if self.observers.slow_log.wants(took_ns) {
            let call = Call::by(self.sessions.get(slot));
            self.log_slow(call, blocked.command, Args::new(&blocked.request.argv()), took_ns);
        }
    }

    /// Tells the observers that want details of a call that has ended.
    #[cold]
    pub(super) fn observe_more(&mut self, call: Call<'_>, command: CommandId, args: Args<'_>, took_ns: u64) {
        self.waits.count_call(&mut self.observers.stats, &self.commands, command, args);
        self.show_call(call, command, args);
        let is_fast = self.commands.get(command).has(Flags::FAST);
        self.note_latency(if is_fast { Event::FastCommand } else { Event::Command }, took_ns);
        if self.observers.remembers_keys {
            self.remember_keys(call, command, args);
        }
        if self.observers.slow_log.wants(took_ns) {
            self.log_slow(call, command, args, took_ns);
        }
    }

    /// Tells the observers of a call that has begun to wait, after so many nanoseconds.
    pub(super) fn observe_waiting(
        &mut self,
        call: Call<'_>,
        command: CommandId,
        args: Args<'_>,
        took_ns: u64,
    ) {
        self.observers.stats.waits(command, took_ns);
        self.waits.count_call(&mut self.observers.stats, &self.commands, command, args);
        if self.observers.remembers_keys {
            self.remember_keys(call, command, args);
        }
        self.show_call(call, command, args);
    }

    /// Something has taken so long that it may be an event of LATENCY.
    pub(super) fn note_latency(&mut self, event: Event, took_ns: u64) {
        if took_ns >= self.observers.latency.threshold_ns() {
            let unix_time = self.system_now().wall_second();
            self.observers.latency.took(event, took_ns, unix_time);
        }
    }

    /// What has been done since the start.
    pub(crate) fn totals(&self) -> Totals {
        let traffic = (self.environment.identity.process.traffic)();
        Totals { commands: self.observers.stats.commands_processed(), traffic }
    }

    /// Records how much has been done until now.
    #[cold]
    pub(super) fn sample_rates(&mut self) {
        let totals = self.totals();
        self.observers.rates.sample(self.clock.system().monotonic_us, totals);
    }

    /// Shows monitors a call, unless it is one that they are not shown, or are shown before what it calls.
    fn show_call(&mut self, call: Call<'_>, command: CommandId, args: Args<'_>) {
        let spec = self.commands.get(command).spec;
        if !spec.flags.intersects(Flags::of(&[Flags::SKIP_MONITOR, Flags::ADMIN])) {
            self.show_monitors(call, spec, args);
        }
    }

    /// Shows monitors a script or a function that is about to run.
    #[inline]
    pub(crate) fn show_script(&mut self, call: Call<'_>, args: Args<'_>) {
        if !self.observers.monitors().is_empty() {
            self.show_request(call, args);
        }
    }

    #[cold]
    fn show_request(&mut self, call: Call<'_>, args: Args<'_>) {
        if let Some(command) = self.commands.resolve(args) {
            self.show_monitors(call, command.spec, args);
        }
    }

    #[cold]
    fn show_monitors(&mut self, call: Call<'_>, spec: &Spec, args: Args<'_>) {
        if self.observers.monitors().is_empty() {
            return;
        }
        let now = self.clock.read(self.system_now());
        let session = self.sessions.get(call.slot);
        let unix = format!("unix:{}", self.config.unixsocket);
        let by = match call.origin() {
            Origin::Script => "lua",
            _ if session.peer.unix => &unix,
            _ => &session.peer.addr,
        };
        let argv = without_secrets(spec, args);
        let line = allocation::contain(|| monitors::line(now.wall_us, session.db, by, &argv));
        let clients = self.observers.monitors().clients().to_vec();
        let Ok(line) = line else {
            // Who is shown every call but one is not told the truth.
            let slots: Vec<Slot> = clients.into_iter().filter_map(|id| self.sessions.find(id)).collect();
            return slots.into_iter().for_each(|slot| self.cut_off(slot));
        };
        self.send_to(&clients, line.len(), &|reply| reply.status(line.as_bytes()));
    }

    /// Adds a call that took long to SLOWLOG, now that it has ended.
    #[cold]
    pub(super) fn log_slow(&mut self, call: Call<'_>, command: CommandId, args: Args<'_>, took_ns: u64) {
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
        let unix_time = self.system_now().wall_second();
        self.observers.slow_log.add(unix_time, took_ns, &argv, addr, name);
    }
}

/// The arguments of a request, with a word in the place of each secret.
fn without_secrets<'a>(spec: &Spec, args: Args<'a>) -> Vec<&'a [u8]> {
    let mut argv = args.all().to_vec();
    for secret in spec.secrets.map_or_else(Vec::new, |secrets| secrets(args)) {
        argv[secret] = b"(redacted)";
    }
    argv
}
