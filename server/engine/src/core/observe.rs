//! What is told of a call when it has ended, to those who listen.

use super::call::{Call, Origin};
use super::engine::Engine;
use crate::spec::{Args, CommandId, Flags};

/// The address of the client that calls for a script, as Redis shows it.
const SCRIPT_ADDR: &str = "?:0";

impl Engine {
    /// Adds a call that took long to SLOWLOG, now that it has ended.
    #[cold]
    pub(super) fn log_slow(&mut self, call: Call<'_>, command: CommandId, args: Args<'_>, took_ns: u64) {
        let spec = self.table.get(command).spec;
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
        let unix_time = self.system_now().wall_us.div_euclid(1_000_000);
        self.observers.slow_log.add(unix_time, took_ns, &argv, addr, name);
    }
}
