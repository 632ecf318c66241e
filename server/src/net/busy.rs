//! What clients get while a slow script holds the engine.
//!
//! SCRIPT KILL and SHUTDOWN NOSAVE need no engine: they act on the block that the script's runtime shares. Commands
//! that change only their session (AUTH, HELLO, MULTI…) are run by the script's own thread, from the hook that has
//! been armed: for its own sockets at once, for those of other threads from a queue. Everything else is answered
//! `BUSY` at once.

use crate::engine::Engine;
use parking_lot::Mutex;
use std::collections::VecDeque;

/// Something to be done with the engine that does not disturb the running script: it touches sessions only. It tells
/// the one who waits for it, if somebody does.
pub(super) type Job = Box<dyn FnOnce(&mut Engine) + Send>;

/// The queue of such work.
#[derive(Default)]
pub(super) struct Jobs(Mutex<VecDeque<Job>>);

impl Jobs {
    pub(super) fn push(&self, job: Job) {
        self.0.lock().push_back(job);
    }

    /// Does what is queued. The script's own thread calls it from the hook; and whoever holds the engine next, for
    /// what the script left behind when it ended.
    pub(super) fn drain(&self, engine: &mut Engine) {
        loop {
            let Some(job) = self.0.lock().pop_front() else { break };
            job(engine);
        }
    }
}

/// How a request fares while a script is slow.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It stops the script.
    Kill,
    /// It ends the server.
    Shutdown,
    /// The script's thread runs it.
    Queue,
    /// It is answered `BUSY`.
    Refuse,
}

/// How a request is answered while a script is slow. `authenticated` is the session's.
pub(super) fn answer(table: &crate::engine::CommandTable, argv: &[&[u8]], authenticated: bool) -> Refusal {
    let args = crate::table::Args::new(argv);
    let Some(command) = table.resolve(args) else { return Refusal::Queue };
    match &*command.name {
        "script|kill" if authenticated && args.len() == 2 => Refusal::Kill,
        "shutdown" if authenticated && args.is(1, "nosave") => Refusal::Shutdown,
        _ if !authenticated || command.has(crate::table::flags::ALLOW_BUSY) => Refusal::Queue,
        _ if command.handler.is_none() || !command.row.accepts(args.len()) => Refusal::Queue,
        _ => Refusal::Refuse,
    }
}
