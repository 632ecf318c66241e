//! What the engine tells the history of locks, while it is on: which request runs and what it was answered, who waits,
//! who comes and goes, how the clock was turned.

use super::engine::{Engine, Retry};
use super::parked::Blocked;
use crate::clients::Slot;
use crate::keyspace::Actor;
use crate::locks::{self, Answer, Happening, HistoryCause, HistoryEvent, HistoryRequest, LedgerSettings};
use crate::spec::{Args, CommandId, Flags};
use crate::time::Now;

/// The classes of waits that are for a lock, a semaphore, a latch or a rate; their waiters are recorded.
const CLASSES: &[&str] = &["lock", "semaphore", "latch", "rate"];

impl Engine {
    /// Makes the parameters of the ledger and the history hold.
    pub(super) fn configure_ledger(&mut self) {
        let config = &self.config;
        let history = config.lock_history.then_some(config.lock_history_max);
        let wakeup_limit_ms = config.lock_wakeup_limit;
        let settings = LedgerSettings { observes: config.lock_ledger, history, wakeup_limit_ms };
        locks::configure_ledger(&mut self.keyspace, settings);
    }

    /// A request is about to run; the history is on.
    #[cold]
    pub(super) fn note_request(&mut self, slot: Slot, command: CommandId, args: Args<'_>, waited_ms: u64) {
        let name = self.commands.get(command).spec.name;
        let session = self.sessions.get(slot);
        let (by, by_text) = match (name, args.get(1)) {
            ("eval" | "eval_ro", Some(text)) => (text, true),
            ("evalsha" | "evalsha_ro" | "fcall" | "fcall_ro", Some(name)) => (name, false),
            _ => (name.as_bytes(), false),
        };
        let client_name = &*session.name;
        let request = HistoryRequest { client: session.id, client_name, by, by_text, waited_ms };
        locks::request_begins(&mut self.keyspace, request);
    }

    /// The same of a request that MULTI may only queue.
    #[cold]
    pub(super) fn note_request_unless_queued(
        &mut self,
        slot: Slot,
        (command, flags): (CommandId, Flags),
        args: Args<'_>,
    ) {
        if self.sessions.get(slot).multi.is_none() || flags.contains(Flags::UNQUEUED) {
            self.note_request(slot, command, args, 0);
        }
    }

    /// A request that has waited is about to be tried again.
    #[cold]
    pub(super) fn note_retry(&mut self, slot: Slot, blocked: &Blocked<Retry>) {
        let waited_ms = (self.time.now.monotonic_ms() - blocked.since_ms).unsigned_abs();
        self.note_request(slot, blocked.command, Args::new(&blocked.request.argv()), waited_ms);
    }

    /// A request has been answered; the history is on.
    #[cold]
    pub(super) fn note_answer(&mut self, slot: Slot, args: Args<'_>, reply: &[u8]) {
        let (Some(answer), Some(command)) = (Answer::read(reply), self.commands.resolve(args)) else {
            return;
        };
        let (name, session) = (command.spec.name, self.sessions.get(slot));
        if session.multi.is_some() || !command.spec.accepts(args.len()) {
            return;
        }
        let actor = Actor { session: std::num::NonZeroU64::new(session.id), ..Actor::ENGINE };
        let mut tx = self.keyspace.tx_by(&actor, session.db, self.time.now);
        locks::call_ended(&mut tx, name, args, answer);
    }

    /// A client has begun to wait.
    pub(super) fn note_queued(&mut self, slot: Slot) {
        self.note_waiter(slot, HistoryEvent::Queued, HistoryCause::None);
    }

    /// A client that waits will do so no longer, without having been served.
    pub(super) fn note_left_queue(&mut self, slot: Slot, cause: HistoryCause) {
        self.note_waiter(slot, HistoryEvent::LeftQueue, cause);
    }

    fn note_waiter(&mut self, slot: Slot, event: HistoryEvent, cause: HistoryCause) {
        if !self.config.lock_history || !self.sessions.is_connected(slot) || !self.sessions.get(slot).blocked
        {
            return;
        }
        let client = self.sessions.get(slot).id;
        let Some(blocked) = self.parked.get(client) else { return };
        let Retry::OnKeys(on) = &blocked.retry else { return };
        if !CLASSES.contains(&on.class.name) {
            return;
        }
        let argv = blocked.request.argv();
        let owner = on.label.map_or(&b""[..], |label| argv[label]);
        for &key in &on.keys {
            let what = Happening {
                db: blocked.db,
                cause,
                native: Some(true),
                client: Some(client),
                ..Happening::new(event, argv[key], owner)
            };
            locks::happened(&mut self.keyspace, self.time.now, what);
        }
    }

    /// A client begins to listen to a channel, or stops that: so do Redisson's waiters.
    pub(crate) fn note_subscription(&mut self, slot: Slot, channel: &[u8], event: HistoryEvent) {
        if self.config.lock_history
            && let Some((key, owner)) = locks::lock_of_channel(channel)
        {
            let session = self.sessions.get(slot);
            let (client, db) = (Some(session.id), session.db);
            let what = Happening {
                db,
                client,
                native: Some(false),
                ..Happening::new(event, key, owner.unwrap_or_default())
            };
            locks::happened(&mut self.keyspace, self.time.now, what);
        }
    }

    /// A client has come, or is gone.
    pub(super) fn note_connection(&mut self, slot: Slot, event: HistoryEvent) {
        if self.config.lock_history && self.sessions.is_connected(slot) {
            let client = Some(self.sessions.get(slot).id);
            let what = Happening { client, ..Happening::new(event, b"", b"") };
            locks::happened(&mut self.keyspace, self.time.now, what);
        }
    }

    /// The clock was turned: before, it showed this.
    pub(super) fn note_turn(&mut self, before: Now) {
        if self.config.lock_history && before.wall_ms() != self.time.now.wall_ms() {
            let (from_ms, to_ms) = (before.wall_ms(), self.time.now.wall_ms());
            locks::clock_turned(&mut self.keyspace, self.time.now, from_ms, to_ms);
        }
    }
}
