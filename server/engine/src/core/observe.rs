//! What observers get to know of a call that has ended.

use super::call::{Call, Origin};
use super::engine::{Engine, Retry};
use super::parked::Blocked;
use crate::clients::Slot;
use crate::spec::{Args, CommandId, Flags};

/// The address of the client that calls for a script, as Redis shows it.
const SCRIPT_ADDR: &str = "?:0";

impl Engine {
    /// Records the duration of a request served after a wait: its run time, without the wait.
    pub(super) fn observe_served(&mut self, slot: Slot, blocked: &Blocked<Retry>, began_ns: u64) {
        let took_ns = self.lap(began_ns);
        self.observers.stats.served(blocked.command, took_ns);
        let took_ns = took_ns + blocked.took_ns;
        if self.observers.slow_log.wants(took_ns) {
            let call = Call::by(self.sessions.get(slot));
            self.log_slow(call, blocked.command, Args::new(&blocked.request.argv()), took_ns);
        }
    }

    /// Tells the observers that want details of a call that has ended.
    #[cold]
    pub(super) fn observe_more(&mut self, call: Call<'_>, command: CommandId, args: Args<'_>, took_ns: u64) {
        self.count_keys(command, args);
        if self.observers.remembers_keys {
            self.remember_keys(call, command, args);
        }
        if self.observers.slow_log.wants(took_ns) {
            self.log_slow(call, command, args, took_ns);
        }
    }

    /// A command was run, or has begun to wait: counts it for those who ask for its keys.
    pub(super) fn count_keys(&mut self, command: CommandId, args: Args<'_>) {
        if self.observers.stats.key_calls.wants(command) {
            let positions = self.commands.get(command).key_positions(args);
            let keys: Vec<&[u8]> = positions.into_iter().map(|at| &args[at]).collect();
            self.observers.stats.key_calls.called(command, &keys);
        }
    }

    /// Adds a call that took long to SLOWLOG, now that it has ended.
    #[cold]
    pub(super) fn log_slow(&mut self, call: Call<'_>, command: CommandId, args: Args<'_>, took_ns: u64) {
        let spec = self.commands.get(command).spec;
        if spec.has(Flags::SKIP_SLOWLOG) {
            return;
        }
        let mut argv = args.all().to_vec();
        for secret in spec.secrets.map_or_else(Vec::new, |secrets| secrets(args)) {
            argv[secret] = b"(redacted)";
        }
        let session = self.sessions.get(call.slot);
        let (addr, name) = match call.origin() {
            Origin::Script => (SCRIPT_ADDR, &b""[..]),
            _ => (session.peer.addr.as_str(), &*session.name),
        };
        let unix_time = self.system_now().wall_second();
        self.observers.slow_log.add(unix_time, took_ns, &argv, addr, name);
    }
}
