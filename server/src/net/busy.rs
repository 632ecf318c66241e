//! What clients get while a slow script holds the engine.
//!
//! SCRIPT KILL and SHUTDOWN NOSAVE need no engine: they act on the block that the script's runtime shares. Commands
//! that change only their session (AUTH, HELLO, MULTI…) are queued and run by the script's own thread, from the hook
//! that has been armed. Everything else is answered `BUSY` at once.

use crate::engine::{BusyPort, Engine};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

/// Something to be done with the engine that does not disturb the running script: it touches sessions only. It comes
/// back with how to tell the one who waits for it.
pub(super) type Job = Box<dyn FnOnce(&mut Engine) -> Answered + Send>;
/// Tells somebody that a job is done.
pub(super) type Answered = Box<dyn FnOnce() + Send>;

/// The queue of such work.
#[derive(Default)]
pub(super) struct Jobs {
    waiting: Mutex<VecDeque<Job>>,
    /// Jobs that are done and whose owners have not been told. The watchdog tells them: a task that the script's own
    /// worker woke would wait for that worker.
    done: Mutex<Vec<Answered>>,
    watchdog: OnceLock<Thread>,
}

impl Jobs {
    pub(super) fn push(&self, job: Job) {
        self.waiting.lock().push_back(job);
    }

    /// Does what is queued. The script's own thread calls it from the hook; and whoever holds the engine next, for
    /// what the script left behind when it ended.
    pub(super) fn drain(&self, engine: &mut Engine) {
        loop {
            let Some(job) = self.waiting.lock().pop_front() else { break };
            let answered = job(engine);
            self.done.lock().push(answered);
        }
        if !self.done.lock().is_empty()
            && let Some(thread) = self.watchdog.get()
        {
            thread.unpark();
        }
    }

    /// Tells those whose jobs are done. Called by the watchdog alone.
    pub(super) fn tell(&self) {
        let done = std::mem::take(&mut *self.done.lock());
        done.into_iter().for_each(|answered| answered());
    }

    /// The current thread is the watchdog.
    pub(super) fn told_by_this_thread(&self) {
        self.watchdog.get_or_init(thread::current);
    }
}

/// The engine's end of the queue.
pub(super) struct Port(pub(super) Arc<Jobs>);

impl BusyPort for Port {
    fn serve(&mut self, engine: &mut Engine) {
        self.0.drain(engine);
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
