//! What clients get while a slow script holds the engine.
//!
//! Commands that change only their session (AUTH, HELLO, MULTI…), SCRIPT KILL, FUNCTION KILL and SHUTDOWN NOSAVE are
//! run by the script's own thread, from the armed hook: for its own sockets at once, for those of other threads from a
//! queue. Only the engine knows what a client may do by now, and whether it is still one. Everything else is answered
//! `BUSY` at once.

use super::contain::contained;
use super::hooks::{Hooks, Point};
use super::session_status::SessionStatus;
use lockwheel_engine::Engine;
use lockwheel_engine::clients::Slot;
use lockwheel_engine::core::Origin;
use lockwheel_engine::core::permit::{Caller, Reason, Refusal, decide};
use lockwheel_engine::spec::{Args, CommandId, CommandTable};
use lockwheel_engine::statistics::ConnectionEvent;
use lockwheel_scripting::EntryKind;
use std::sync::atomic::{AtomicU64, Ordering};

/// Work on the engine that does not disturb a running script: it touches sessions only. It notifies its sender itself,
/// if that waits.
pub(super) struct Job {
    /// The session that it is for: skipped if that has disconnected.
    session: Option<Slot>,
    work: Box<dyn FnOnce(&mut Engine) + Send>,
}

impl Job {
    /// For the whole server.
    pub(super) fn new(work: impl FnOnce(&mut Engine) + Send + 'static) -> Self {
        Job { session: None, work: Box::new(work) }
    }

    /// Counts what has happened to a connection.
    pub(super) fn count(event: ConnectionEvent) -> Self {
        Job::new(move |engine| engine.count_connection_event(event))
    }

    /// For a session, skipped once that has disconnected.
    pub(super) fn of(session: Slot, work: impl FnOnce(&mut Engine) + Send + 'static) -> Self {
        Job { session: Some(session), work: Box::new(work) }
    }

    /// Whether it has to wait: it is for the session whose script is running, to which nothing is done in the midst of
    /// its request, least of all its end.
    pub(super) fn must_wait(&self, engine: &Engine) -> bool {
        self.session.is_some_and(|slot| engine.scripts().run_for(slot))
    }

    pub(super) fn run(self, engine: &mut Engine, hooks: &Hooks) {
        if self.session.is_none_or(|slot| engine.sessions().is_connected(slot)) {
            contained("deferred work", || {
                hooks.reach(Point::Deferred);
                (self.work)(engine);
            });
        }
    }
}

/// How a request is handled while a script is slow.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WhileBusy {
    /// The script's thread runs it.
    Queue,
    /// It is answered `BUSY`.
    Refuse(CommandId),
}

/// A client that makes a request while a script is slow, as its connection knows it.
struct Waiting {
    status: SessionStatus,
    running: EntryKind,
}

impl Caller for Waiting {
    const ORIGIN: Origin = Origin::Client;

    fn is_authenticated(&self) -> bool {
        self.status.is_authenticated
    }

    fn is_in_transaction(&self) -> bool {
        self.status.in_transaction
    }

    fn has_control(&self) -> bool {
        self.status.has_control
    }

    fn is_subscribed(&self) -> bool {
        self.status.is_subscribed
    }

    fn busy(&self) -> Option<EntryKind> {
        Some(self.running)
    }
}

/// How a request is answered while a script or a function is slow, of a session in this state. On a server that is not
/// open to all (`Engine::is_open`) the engine is asked, whatever the request: only it knows what a user may do by now.
pub(super) fn answer(
    table: &CommandTable,
    argv: &[&[u8]],
    status: SessionStatus,
    running: EntryKind,
) -> WhileBusy {
    match decide(&Waiting { status, running }, table, Args::new(argv)) {
        Ok(_) => WhileBusy::Queue,
        Err(Refusal { reason: Reason::Busy(_), command: Some(command), .. }) => {
            match &*table.get(command).name {
                // It ends the transaction, though without running it.
                "exec" => WhileBusy::Queue,
                _ => WhileBusy::Refuse(command),
            }
        }
        // The engine finds the error.
        Err(_) => WhileBusy::Queue,
    }
}

/// How many requests were refused without the engine, by command, until the engine has counted them.
pub(super) struct Refused(Box<[AtomicU64]>);

impl Refused {
    pub(super) fn new(table: &CommandTable) -> Self {
        Refused(table.iter_all().map(|_| AtomicU64::new(0)).collect())
    }

    pub(super) fn add(&self, command: CommandId) {
        self.0[command.index()].fetch_add(1, Ordering::Relaxed);
    }

    /// Adds them to the engine's counters.
    pub(super) fn report(&self, engine: &mut Engine, table: &CommandTable) {
        for (count, command) in self.0.iter().zip(table.iter_all()) {
            let count = count.swap(0, Ordering::Relaxed);
            if count > 0 {
                engine.refused_as_busy(command.id, count);
            }
        }
    }
}
