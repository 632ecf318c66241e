//! A replica whose disk cannot be written: it must not go on as if it kept what its master sends.

use super::super::engine::Engine;
use super::super::hooks::Hook;
use super::super::progress::{Crash, Stop};
use crate::spec::{Args, Flags};

const WARNING_INTERVAL_MS: i64 = 10_000;

/// Whether a request of the master ends this server, since the disk cannot be written and the request is a write.
#[inline]
pub(super) fn ends_server(engine: &mut Engine, words: &[Vec<u8>]) -> bool {
    let is_disk_failing = engine.hooks.has(Hook::NotSaved) || engine.hooks.has(Hook::NotAppended);
    is_disk_failing && ends_server_on_failing_disk(engine, words)
}

#[cold]
fn ends_server_on_failing_disk(engine: &mut Engine, words: &[Vec<u8>]) -> bool {
    let argv: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
    let command = if argv.is_empty() { None } else { engine.commands.resolve(Args::new(&argv)) };
    if !command.is_some_and(|command| command.has(Flags::WRITE)) {
        return false;
    }
    if engine.config.replication.ignore_disk_errors {
        let now_ms = engine.clock.system().monotonic_ms();
        if engine.persistence.takes_warning(now_ms, WARNING_INTERVAL_MS) {
            tracing::warn!("Replica is applying a command even though it is unable to write to disk.");
        }
        return false;
    }
    tracing::error!("Guru Meditation: Replica was unable to write command to disk.");
    let crash = if engine.config.shutdown.exits_on_panic { Crash::Exit } else { Crash::Abort };
    engine.stop = Some(Stop::Crash(crash));
    true
}
