//! Replies to clients while a slow script holds the engine.
//!
//! Some commands change only their session (AUTH, HELLO, MULTI…) or end the script or the server: SCRIPT KILL, FUNCTION
//! KILL, SHUTDOWN NOSAVE. The script's own thread runs them from the armed hook: those of its sockets at once, others
//! from a queue. Only the engine knows what a client may do, and whether it exists. Any other request gets `BUSY`.

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

/// Work on sessions alone, which does not disturb a running script. It notifies a waiting sender itself.
pub(super) struct Job {
    /// The work is skipped once this session has disconnected.
    session: Option<Slot>,
    work: Box<dyn FnOnce(&mut Engine) + Send>,
}

impl Job {
    pub(super) fn new(work: impl FnOnce(&mut Engine) + Send + 'static) -> Self {
        Job { session: None, work: Box::new(work) }
    }

    pub(super) fn count(event: ConnectionEvent) -> Self {
        Job::new(move |engine| engine.count_connection_event(event))
    }

    pub(super) fn of(session: Slot, work: impl FnOnce(&mut Engine) + Send + 'static) -> Self {
        Job { session: Some(session), work: Box::new(work) }
    }

    /// Whether the work must wait: its session runs the current script, and must neither change nor end meanwhile.
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

#[derive(Debug, PartialEq, Eq)]
pub(super) enum WhileBusy {
    /// The thread of the script runs the request.
    Queue,
    /// The request is answered `BUSY`.
    Refuse(CommandId),
}

struct Waiting {
    status: SessionStatus,
    /// Whether the script runs while the data are being loaded.
    is_loading: bool,
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

    fn is_kept_waiting(&self) -> bool {
        self.is_loading
    }

    fn busy(&self) -> Option<EntryKind> {
        Some(self.running)
    }
}

/// Decides how to answer a request of a session in this state while a script is slow. The flag says whether data are
/// being loaded. Only valid if the server is open to all (`Engine::is_open`); else the engine alone knows the
/// permissions of a user.
pub(super) fn answer(
    table: &CommandTable,
    argv: &[&[u8]],
    (status, is_loading): (SessionStatus, bool),
    running: EntryKind,
) -> WhileBusy {
    match decide(&Waiting { status, is_loading, running }, table, Args::new(argv)) {
        Ok(_) => WhileBusy::Queue,
        Err(Refusal { reason: Reason::Busy(_), command: Some(command), .. }) => {
            match &*table.get(command).name {
                // EXEC ends the transaction, though without running it.
                "exec" => WhileBusy::Queue,
                _ => WhileBusy::Refuse(command),
            }
        }
        // The engine finds the error.
        Err(_) => WhileBusy::Queue,
    }
}

/// Counts, per command, of requests refused without the engine, until the engine takes them over.
pub(super) struct Refused(Box<[AtomicU64]>);

impl Refused {
    pub(super) fn new(table: &CommandTable) -> Self {
        Refused(table.iter_all().map(|_| AtomicU64::new(0)).collect())
    }

    pub(super) fn add(&self, command: CommandId) {
        self.0[command.index()].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn report(&self, engine: &mut Engine, table: &CommandTable) {
        for (count, command) in self.0.iter().zip(table.iter_all()) {
            let count = count.swap(0, Ordering::Relaxed);
            if count > 0 {
                engine.refused_as_busy(command.id, count);
            }
        }
    }
}
