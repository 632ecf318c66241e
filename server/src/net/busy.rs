//! What clients get while a slow script holds the engine.
//!
//! SCRIPT KILL and SHUTDOWN NOSAVE need no engine: they act on the block that the script's runtime shares. Commands
//! that change only their session (AUTH, HELLO, MULTI…) are queued and run by the script's own thread, from the hook
//! that has been armed. Everything else is answered `BUSY` at once.

use crate::engine::{BusyPort, Engine};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Something to be done with the engine that does not disturb the running script: it touches sessions only.
pub(super) type Job = Box<dyn FnOnce(&mut Engine) + Send>;

/// The queue of such work.
#[derive(Clone, Default)]
pub(super) struct Jobs(Arc<Mutex<VecDeque<Job>>>);

impl Jobs {
    pub(super) fn push(&self, job: Job) {
        self.0.lock().push_back(job);
    }

    fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Does what is queued. The script's own thread calls it from the hook; and whoever holds the engine next, for
    /// what the script left behind when it ended.
    pub(super) fn drain(&self, engine: &mut Engine) {
        loop {
            let Some(job) = self.0.lock().pop_front() else { return };
            job(engine);
        }
    }
}

/// The engine's end of the queue.
pub(super) struct Port(pub(super) Jobs);

impl BusyPort for Port {
    fn serve(&mut self, engine: &mut Engine) {
        if self.0.is_empty() {
            return;
        }
        // Those who are answered are woken here. A worker keeps whom it has woken last for itself, and this one is
        // busy with the script: others take its place.
        tokio::task::block_in_place(|| self.0.drain(engine));
    }
}

/// What can be answered without the engine.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Stop the script.
    Kill,
    /// End the server.
    Shutdown,
    /// Let the script's thread run it.
    Queue,
    /// `BUSY`.
    Refuse,
}

/// How a request is answered while a script is slow. `authenticated` is the session's.
pub(super) fn answer(table: &crate::engine::CommandTable, argv: &[&[u8]], authenticated: bool) -> Answer {
    let args = crate::table::Args::new(argv);
    let Some(command) = table.resolve(args) else { return Answer::Queue };
    match &*command.name {
        "script|kill" if authenticated && args.len() == 2 => Answer::Kill,
        "shutdown" if authenticated && args.is(1, "nosave") => Answer::Shutdown,
        _ if !authenticated || command.has(crate::table::flags::ALLOW_BUSY) => Answer::Queue,
        _ if command.handler.is_none() || !command.row.accepts(args.len()) => Answer::Queue,
        _ => Answer::Refuse,
    }
}
