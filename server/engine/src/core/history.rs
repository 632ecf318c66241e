//! Entries for the history of locks: requests and replies, waits, connections, and moves of the clock.

use super::engine::Engine;
use super::hooks::Hook;
use crate::clients::{Request, Sessions, Slot};
use crate::faults::Faults;
use crate::locks::{
    self, Happening, HistoryBy, HistoryCause, HistoryEvent, HistoryRequest, LedgerSettings, ReplySummary,
    VerifyLimits,
};
use crate::scripts::Scripts;
use crate::spec::{Args, CommandError, CommandId, CommandTable, Flags};
use crate::waits::{Blocked, Retry, Waits};
use lockwheel_store::keyspace::{Actor, Keyspace, WaiterId, ticket_of, waiter_of};
use lockwheel_store::time::Now;

/// The wait lines for locks, semaphores, latches and rates, whose waiters are recorded.
const LINES: &[&str] = &["lock", "semaphore", "latch", "rate"];
/// The wait lines whose served waiters appear in no other entry.
const UNTOLD_LINES: &[&str] = &["latch", "rate"];

impl Engine {
    #[inline]
    pub(crate) fn history(&mut self) -> HistoryNotes<'_> {
        HistoryNotes {
            is_on: self.config.lock_history,
            now: self.clock.now(),
            keyspace: &mut self.keyspace,
            sessions: &self.sessions,
            waits: &self.waits,
            commands: &self.commands,
            scripts: &self.scripts,
            faults: &self.faults,
        }
    }

    pub(super) fn configure_ledger(&mut self) {
        let config = &self.config;
        let history = config.lock_history.then_some(config.lock_history_max);
        let waits = config.lock_waits;
        let limits = VerifyLimits { wakeup_ms: waits.wakeup_limit, herd: waits.herd_limit };
        let settings = LedgerSettings {
            observes: config.lock_ledger,
            history,
            limits,
            jeopardy_ms: config.lock_jeopardy,
            stamps: self.member.stamps().cloned(),
        };
        self.hooks.set(Hook::History, config.lock_history);
        locks::configure_ledger(&mut self.keyspace, settings);
    }
}

/// A writer of history entries, with the parts that they describe.
pub(crate) struct HistoryNotes<'e> {
    pub(super) is_on: bool,
    pub(super) now: Now,
    pub(super) keyspace: &'e mut Keyspace,
    pub(super) sessions: &'e Sessions,
    waits: &'e Waits,
    pub(super) commands: &'e CommandTable,
    scripts: &'e Scripts,
    pub(super) faults: &'e Faults,
}

/// A writer of the beginnings of requests, with few parts, since each request needs one.
pub(super) struct RequestNotes<'e> {
    pub(super) keyspace: &'e mut Keyspace,
    pub(super) sessions: &'e Sessions,
    pub(super) commands: &'e CommandTable,
}

impl RequestNotes<'_> {
    /// Records a request that is about to run. The history is on.
    #[cold]
    pub(super) fn request(&mut self, slot: Slot, command: CommandId, args: Args<'_>) {
        self.run(slot, command, args, (0, None));
    }

    /// Records a request that is about to run, possibly after a wait or with a ticket.
    fn run(
        &mut self,
        slot: Slot,
        command: CommandId,
        args: Args<'_>,
        (waited_ms, ticket): (u64, Option<u64>),
    ) {
        let name = self.commands.get(command).spec.name;
        let session = self.sessions.get(slot);
        let by = match (name, args.get(1)) {
            ("eval" | "eval_ro", Some(text)) => HistoryBy::Text(text),
            ("evalsha" | "evalsha_ro" | "fcall" | "fcall_ro", Some(name)) => HistoryBy::Script(name),
            _ => HistoryBy::Command(command, name),
        };
        let client_name = &*session.name;
        let request = HistoryRequest { client: session.id, client_name, by, waited_ms, ticket };
        locks::request_begins(self.keyspace, request);
    }

    /// Records a request that is about to run, unless MULTI only queues it.
    #[cold]
    pub(super) fn request_unless_queued(
        &mut self,
        slot: Slot,
        (command, flags): (CommandId, Flags),
        args: Args<'_>,
    ) {
        if self.sessions.get(slot).multi.is_none() || flags.contains(Flags::UNQUEUED) {
            self.request(slot, command, args);
        }
    }

    /// Records a refused request, so that later entries are not attributed to its predecessor.
    #[cold]
    pub(super) fn refused_request(&mut self, slot: Slot, command: Option<CommandId>, args: Args<'_>) {
        if let Some(command) = command {
            self.request(slot, command, args);
        }
    }
}

impl HistoryNotes<'_> {
    pub(super) fn requests(&mut self) -> RequestNotes<'_> {
        RequestNotes { keyspace: self.keyspace, sessions: self.sessions, commands: self.commands }
    }

    /// Records a queued command that is about to run, as a request of its own. The history is on.
    #[cold]
    pub(crate) fn queued_call(&mut self, slot: Slot, command: CommandId, args: Args<'_>) {
        let of_transaction = locks::recorded_from(self.keyspace);
        self.requests().request(slot, command, args);
        locks::request_goes_on(self.keyspace, of_transaction);
    }

    #[cold]
    pub(crate) fn queued_answer(&mut self, slot: Slot, command: CommandId, args: Args<'_>, reply: &[u8]) {
        if let Some(answer) = ReplySummary::read(reply) {
            self.refused_answer(slot, self.commands.get(command).spec.name, args, answer);
        }
    }

    /// Records the retry of a waiting request, possibly with a ticket.
    #[cold]
    pub(super) fn retry(&mut self, slot: Slot, blocked: &Blocked, ticket: Option<u64>) {
        let waited_ms = (self.now.monotonic_ms() - blocked.since_ms).unsigned_abs();
        self.requests().run(slot, blocked.command, Args::new(&blocked.request.argv()), (waited_ms, ticket));
    }

    /// Records that a retried request was served or got an error.
    #[cold]
    pub(super) fn retried(&mut self, slot: Slot, is_error: bool) {
        let blocked = self.waits.get(self.sessions.get(slot).id);
        if is_error {
            self.left_queue(slot, HistoryCause::Error);
        } else if let Some(Retry::OnKeys(on)) = blocked.map(|blocked| &blocked.retry)
            // A conversion to a mode that its owner already holds has no other entry either.
            && (UNTOLD_LINES.contains(&on.class.line) || locks::recorded(self.keyspace) == 0)
        {
            self.left_queue(slot, HistoryCause::Served);
        }
        self.unsent(slot);
    }

    /// Records a reply that cannot be sent while a fault affects the connection.
    #[inline]
    pub(super) fn unsent(&mut self, slot: Slot) {
        if self.faults.connections.has_any() && self.is_on {
            let session = self.sessions.get(slot);
            let link = self.faults.connections.link(session);
            if link.holds_output || link.is_lost {
                locks::answer_kept(self.keyspace, self.now, session.id, b"unsent");
            }
        }
    }

    /// Records the reply to a request. The history is on.
    #[cold]
    pub(super) fn answer(&mut self, slot: Slot, args: Args<'_>, reply: &[u8]) {
        let session = self.sessions.get(slot);
        if !locks::has_script_acted(self.keyspace, session.db, args, reply)
            && let (Some(answer), None) = (ReplySummary::read(reply), &session.multi)
        {
            // A request with an error reply may not have run.
            let command = match answer {
                ReplySummary::Error(_) => {
                    self.commands.resolve(args).filter(|command| command.spec.accepts(args.len()))
                }
                _ => session.last_command.map(|command| self.commands.get(command)),
            };
            if let Some(name) = command.map(|command| command.spec.name) {
                self.refused_answer(slot, name, args, answer);
            }
        }
        self.unsent(slot);
    }

    fn refused_answer(&mut self, slot: Slot, name: &str, args: Args<'_>, answer: ReplySummary<'_>) {
        let session = self.sessions.get(slot);
        let actor = Actor { session: std::num::NonZeroU64::new(session.id), ..Actor::ENGINE };
        let mut tx = self.keyspace.tx_by(&actor, session.db, self.now);
        let source = self.scripts.source(name, args);
        locks::call_ended(&mut tx, name, args, (answer, source));
    }

    pub(super) fn queued(&mut self, slot: Slot) {
        self.waiter(slot, HistoryEvent::Queued, HistoryCause::None);
    }

    /// Records the end of a client's wait, served only if the cause says so.
    pub(super) fn left_queue(&mut self, slot: Slot, cause: HistoryCause) {
        self.waiter(slot, HistoryEvent::LeftQueue, cause);
    }

    fn waiter(&mut self, slot: Slot, event: HistoryEvent, cause: HistoryCause) {
        if !self.is_on || !self.sessions.is_connected(slot) || !self.sessions.get(slot).blocked {
            return;
        }
        self.wait(self.sessions.get(slot).id, (event, cause), b"");
    }

    /// Records that a wait of a client or ticket ends with an error. For a deadlock, the entry names the cycle.
    pub(super) fn cancelled(&mut self, waiter: WaiterId, cause: HistoryCause, error: &CommandError) {
        if self.is_on {
            let cycle =
                error.as_bytes().strip_prefix(b"DEADLOCK ").filter(|_| cause == HistoryCause::Deadlock);
            self.wait(waiter, (HistoryEvent::LeftQueue, cause), cycle.unwrap_or_default());
        }
    }

    /// Records that a ticket's request has begun to wait or, with a cause, was given up unserved.
    pub(super) fn ticket(&mut self, ticket: u64, left: Option<HistoryCause>) {
        if self.is_on {
            let event = if left.is_some() { HistoryEvent::LeftQueue } else { HistoryEvent::Queued };
            self.wait(waiter_of(ticket), (event, left.unwrap_or(HistoryCause::None)), b"");
        }
    }

    fn wait(&mut self, waiter: WaiterId, (event, cause): (HistoryEvent, HistoryCause), text: &[u8]) {
        let Some(blocked) = self.waits.get(waiter) else { return };
        let Retry::OnKeys(on) = &blocked.retry else { return };
        if !LINES.contains(&on.class.line) {
            return;
        }
        let client = self.keyspace.waiters.tickets.client_of(waiter);
        let argv = blocked.request.argv();
        let owner = on.label.map_or(&b""[..], |label| argv[label]);
        for &key in &on.keys {
            let what = Happening {
                db: blocked.db,
                cause,
                text,
                native: Some(true),
                client: Some(client),
                ticket: Some(ticket_of(waiter).unwrap_or(0)),
                mode: locks::noted_mode(on.class),
                ..Happening::new(event, argv[key], owner)
            };
            locks::happened(self.keyspace, self.now, what);
        }
    }

    pub(super) fn connection(&mut self, slot: Slot, event: HistoryEvent) {
        if !self.is_on || !self.sessions.is_connected(slot) {
            return;
        }
        let session = self.sessions.get(slot);
        if !session.is_unrecorded {
            let client = Some(session.id);
            let what = Happening { client, ..Happening::new(event, b"", b"") };
            locks::happened(self.keyspace, self.now, what);
        }
    }

    /// Records that the running request begins or ends an advance of the clock.
    pub(super) fn advancing(&mut self, is_advancing: bool) {
        if self.is_on {
            locks::request_turns(self.keyspace, is_advancing);
        }
    }

    /// Records that a waiting client's clock advance continues, as its request.
    pub(super) fn advance_goes_on(&mut self, client: u64) {
        if self.is_on
            && let (Some(blocked), Some(slot)) = (self.waits.get(client), self.sessions.find(client))
        {
            let (command, request) = (blocked.command, Request::new(&blocked.request.argv()));
            self.requests().request(slot, command, Args::new(&request.argv()));
        }
    }
}
