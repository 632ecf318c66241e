//! The requests that wait, what each waits for, and the parts of a server that decide about them.

use super::count_waits::{CountOf, CountWaits};
use super::recent_requests::RecentRequests;
use super::state_counts::{StateCounts, StateOf};
use crate::clients::{HeldState, Request, Session, Sessions};
use crate::clock::{EngineClock, TimerKey, TimerKind};
use crate::faults::{Faults, Held, HeldPart, ReplyRule, RuleId};
use crate::locks::{HistoryReader, ListenerCount};
use crate::pubsub::PubSub;
use crate::replication::Replication;
use crate::spec::{Answer, Args, CommandId, CommandTable, Null, OnKeys, WaitClass};
use crate::statistics::Stats;
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Keyspace, Place, WaiterId};
use lockwheel_store::time::Now;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// The bits of a version that number the entries of one history: none has as many.
const HISTORY_BITS: u32 = 48;

/// A state of the server that a request waits for, as it was resolved when the request came.
pub(crate) trait StateAttempt: Debug + Send {
    /// Answers if the state has been reached; whether it has.
    fn attempt(&self, view: StateView<'_>, reply: &mut dyn Reply) -> bool;

    /// Whether an attempt may succeed now: a look that costs less than one, and may note what it has seen.
    fn may_be_reached(&self, _: StateView<'_>) -> bool {
        true
    }

    /// Returns the kind of state that decides. It stays so while the request waits.
    fn watches(&self) -> StateOf;

    /// Returns the count that the state is about, and the number that it has to rise to. It stays so while the request
    /// waits. `None`: the state is not reached by a count that rises.
    fn awaits_count(&self) -> Option<(CountOf, u64)> {
        None
    }

    /// Returns the commands whose calls on keys like this must be counted from now on.
    fn counts_keys(&self) -> Option<(&[CommandId], &[u8])> {
        None
    }

    /// Returns the silence that the request waits for, in milliseconds.
    fn awaits_silence_ms(&self) -> Option<i64> {
        None
    }

    /// Whether its client counts as one that waits.
    fn is_counted(&self) -> bool {
        false
    }

    /// Returns the answer when the timeout has passed, if not a null.
    fn on_timeout(&self, _: StateView<'_>) -> Option<Answer> {
        None
    }

    /// Returns how much longer the request waits when its timeout has passed, in milliseconds of real time. `None`: no
    /// longer.
    fn goes_on_for_ms(&self, _: StateView<'_>) -> Option<u64> {
        None
    }
}

/// The event after which a request that waits is tried again, and the subject of the wait.
#[derive(Debug)]
pub(crate) enum Retry {
    /// A signal of one of its keys.
    OnKeys(OnKeys),
    /// A change of the state that it is about: no key stands for that.
    Always(Box<dyn StateAttempt>),
    /// Never: the client waits while others react to an advance of the clock, and its timeout continues that.
    Advance,
    /// Never: a rule holds the request, or its reply.
    Held(Held),
    /// Never: it runs when clients are no longer paused; as rules have let it through, if they have seen it.
    Paused { is_seen: bool },
    /// Never: the server ends, or does not after all, and then it is answered.
    Ended,
    /// Never: all servers of the process do what the request of this number asks, and then it is answered.
    Broadcast(u64),
    /// Each millisecond: a piece of the history is read.
    Reading,
}

impl Retry {
    /// Whether CLIENT UNBLOCK leaves it as it is.
    pub(crate) fn outlasts_unblock(&self) -> bool {
        matches!(self, Retry::Held(_) | Retry::Ended | Retry::Reading | Retry::Broadcast(_))
            || self.is_paused()
    }

    /// Whether it waits until clients are no longer paused.
    pub(crate) fn is_paused(&self) -> bool {
        matches!(self, Retry::Paused { .. })
    }

    /// Whether its client counts as blocked. It stays so while it waits.
    fn counts(&self) -> bool {
        match self {
            Retry::OnKeys(on) => on.class.counts && !on.by_ticket,
            Retry::Always(state) => state.is_counted(),
            Retry::Advance | Retry::Held(_) => false,
            Retry::Broadcast(_) | Retry::Reading => false,
            Retry::Paused { .. } | Retry::Ended => true,
        }
    }
}

impl From<OnKeys> for Retry {
    fn from(on_keys: OnKeys) -> Self {
        Retry::OnKeys(on_keys)
    }
}

/// A request that waits.
#[derive(Debug)]
pub(crate) struct Blocked {
    pub(crate) command: CommandId,
    pub(crate) request: Request,
    /// Counts it among the client's memory.
    #[expect(dead_code, reason = "it counts until it is dropped")]
    held: HeldState,
    pub(crate) retry: Retry,
    /// The rules that may act on its answer.
    pub(crate) on_reply: Vec<ReplyRule>,
    /// The rule that has it executed once more, and answered then.
    pub(crate) again: Option<RuleId>,
    /// The answer on timeout.
    pub(crate) null: Null,
    pub(crate) timeout: Option<TimerKey>,
    /// Its place in the queues of its keys.
    pub(crate) place: Place,
    /// Its database.
    pub(crate) db: usize,
    /// Its beginning on the monotonic clock, in milliseconds.
    pub(crate) since_ms: i64,
    /// Time that its handler took until it began to wait, in nanoseconds.
    pub(crate) took_ns: u64,
}

impl Blocked {
    /// A request of a session that waits from now on, without a timeout. Its memory, and more bytes, count among the
    /// client's.
    pub(crate) fn new(
        (command, request): (CommandId, Request),
        retry: Retry,
        session: &Session,
        place: Place,
        (now, more_bytes): (Now, usize),
    ) -> Self {
        let mut held = HeldState::new(session.delivery.buffers());
        held.set(request.memory() + more_bytes);
        Blocked {
            command,
            request,
            held,
            retry,
            on_reply: Vec::new(),
            again: None,
            null: Null::Bulk,
            timeout: None,
            place,
            db: session.db,
            since_ms: now.monotonic_ms(),
            took_ns: 0,
        }
    }

    /// Gives a command that its handler has left undone, after so many nanoseconds, its timeout and the answer then.
    pub(crate) fn with_end(self, null: Null, timeout: Option<TimerKey>, took_ns: u64) -> Self {
        Blocked { null, timeout, took_ns, ..self }
    }
}

/// The requests that wait: of clients by their numbers, and of tickets.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    requests: BTreeMap<WaiterId, Blocked>,
    /// Number of those that count as blocked clients.
    counted: usize,
    /// Number of changes of that.
    changes: u64,
    /// Numbers that several waits are about.
    state_counts: StateCounts,
    /// Waits for a count to rise.
    count_waits: CountWaits,
    /// The clients that have sent requests while somebody waits for silence.
    recent_requests: RecentRequests,
}

/// The requests.
impl Waits {
    /// A request begins to wait, or continues to. O(log n).
    pub(crate) fn insert(&mut self, id: WaiterId, blocked: Blocked) {
        self.count(blocked.retry.counts(), true);
        if let Some(before) = self.requests.insert(id, blocked) {
            self.count(before.retry.counts(), false);
        }
    }

    fn count(&mut self, counts: bool, is_more: bool) {
        if counts {
            self.changes += 1;
            self.counted = if is_more { self.counted + 1 } else { self.counted - 1 };
        }
    }

    /// Takes a request that waits. O(log n).
    pub(crate) fn remove(&mut self, id: WaiterId) -> Option<Blocked> {
        let removed = self.requests.remove(&id)?;
        self.count(removed.retry.counts(), false);
        Some(removed)
    }

    /// Returns a request that waits. O(log n).
    pub(crate) fn get(&self, id: WaiterId) -> Option<&Blocked> {
        self.requests.get(&id)
    }

    /// Returns a request that waits, to be changed. O(log n).
    pub(crate) fn get_mut(&mut self, id: WaiterId) -> Option<&mut Blocked> {
        self.requests.get_mut(&id)
    }

    /// The timer of a request's timeout has fired.
    pub(crate) fn timer_fired(&mut self, id: WaiterId) {
        if let Some(blocked) = self.get_mut(id) {
            blocked.timeout = None;
        }
    }

    /// Returns what a client waits for. O(log n).
    pub(crate) fn retry_of(&self, client: u64) -> Option<&Retry> {
        self.get(client).map(|blocked| &blocked.retry)
    }

    /// Whether a rule holds something of a client.
    pub(crate) fn is_held(&self, client: u64) -> bool {
        matches!(self.retry_of(client), Some(Retry::Held(_)))
    }

    /// Whether a rule holds the request of a client, which has not been executed.
    pub(crate) fn holds_request_of(&self, client: u64) -> bool {
        matches!(self.retry_of(client), Some(Retry::Held(Held { part: HeldPart::Request, .. })))
    }

    /// All requests, the oldest client first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (WaiterId, &Blocked)> {
        self.requests.iter().map(|(id, blocked)| (*id, blocked))
    }

    /// Returns the clients that count as blocked, but for those that are paused.
    pub(crate) fn blocked_clients(&self) -> Vec<u64> {
        let all = self.iter().filter(|(_, blocked)| blocked.retry.counts() && !blocked.retry.is_paused());
        all.map(|(id, _)| id).collect()
    }

    /// Returns the class of the keys that a request waits for. O(log n).
    pub(crate) fn class_of(&self, id: WaiterId) -> Option<&'static WaitClass> {
        match self.retry_of(id)? {
            Retry::OnKeys(on) => Some(on.class),
            Retry::Always(_) | Retry::Advance => None,
            Retry::Held(_) | Retry::Paused { .. } | Retry::Ended => None,
            Retry::Broadcast(_) | Retry::Reading => None,
        }
    }

    /// Returns the bytes of the arguments of a client that waits, 0 of any other. O(log n).
    pub(crate) fn argument_bytes(&self, client: u64) -> usize {
        self.get(client).map_or(0, |blocked| blocked.request.len())
    }
}

/// Waits for states of the server that no key stands for: each is retried when what it is about has changed, and none
/// costs anything while others send requests that do not matter to it.
///
/// Each kind of state has a version, which changes when any wait of the kind may have to be looked at. Counts that rise
/// by one at a time wake those alone who wait for the number that is reached: see [`CountWaits`].
impl Waits {
    /// A client begins to wait for a state. `is_reached`: the count that this is about has risen to it since the
    /// request was tried; the request itself has been counted.
    pub(crate) fn begin_state(
        &mut self,
        keyspace: &mut Keyspace,
        state: &dyn StateAttempt,
        id: WaiterId,
        is_reached: bool,
    ) {
        keyspace.waiters.add_unkeyed(state.watches() as usize, id);
        if let Some(ms) = state.awaits_silence_ms() {
            self.recent_requests.expect(ms);
        }
        if let Some((of, number)) = state.awaits_count() {
            if is_reached {
                self.count_waits.look_at(id);
            }
            self.count_waits.add(of, number, id);
        }
    }

    /// A client no longer waits for a state.
    pub(crate) fn end_state(&mut self, keyspace: &mut Keyspace, state: &dyn StateAttempt, id: WaiterId) {
        let kind = state.watches();
        keyspace.waiters.remove_unkeyed(kind as usize, id);
        if let Some((of, number)) = state.awaits_count() {
            self.count_waits.remove(&of, number, id);
        }
        match kind {
            StateOf::Silence if waiting_for(keyspace, kind) == 0 => self.recent_requests.forget(),
            StateOf::Listeners if waiting_for(keyspace, kind) == 0 => self.state_counts.forget_listeners(),
            _ => {}
        }
    }

    /// Whether somebody waits for calls of commands.
    pub(crate) fn await_calls(&self) -> bool {
        self.count_waits.await_calls()
    }

    /// A count has risen to this number. O(log n), and the waits that this wakes.
    pub(crate) fn count_rises(&mut self, of: &CountOf, number: u64) {
        self.count_waits.rises(of, number);
    }

    /// Takes the waits whose counts have risen to their numbers.
    pub(crate) fn take_reached(&mut self) -> Vec<WaiterId> {
        self.count_waits.take_reached()
    }

    /// Waits for states of one kind are retried from now on.
    pub(crate) fn begin_round(&mut self) {
        self.state_counts.begin();
    }

    /// All waits for states of this kind have been retried.
    pub(crate) fn end_round(&mut self, of: StateOf) {
        self.state_counts.end(of);
        if of == StateOf::Silence {
            self.recent_requests.make_room();
        }
    }

    /// Notes the last request for those who wait for silence.
    pub(crate) fn note_heard(&mut self, clock: &EngineClock, sessions: &Sessions) {
        let (requests, caller) = clock.last_request();
        let name = sessions.find(caller).map(|slot| &*sessions.get(slot).name);
        self.recent_requests.note(requests, name, sessions.name_bytes(), clock.system().monotonic_ms());
    }

    /// A command was run, or has begun to wait: counts it for those who ask for its keys, and wakes those who wait for
    /// so many calls.
    pub(crate) fn count_call(
        &mut self,
        stats: &mut Stats,
        commands: &CommandTable,
        command: CommandId,
        args: Args<'_>,
    ) {
        let count_waits = &mut self.count_waits;
        for list in count_waits.lists_with(command) {
            let calls = stats.calls_of(&list);
            count_waits.rises(&CountOf::Calls(list), calls);
        }
        if stats.key_calls.wants(command) {
            let positions = commands.get(command).key_positions(args);
            let keys: Vec<&[u8]> = positions.into_iter().map(|at| &args[at]).collect();
            stats.key_calls.called(command, &keys, |commands, pattern, calls| {
                // The question is kept when nobody waits any more.
                if count_waits.await_key_calls() {
                    count_waits.rises(&CountOf::KeyCalls(commands.into(), pattern.into()), calls);
                }
            });
        }
    }
}

/// The number of waits for a kind of state. O(1).
fn waiting_for(keyspace: &Keyspace, kind: StateOf) -> usize {
    keyspace.waiters.unkeyed_count(kind as usize)
}

/// The parts of a server whose state requests wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateView<'e> {
    pub(crate) waits: &'e Waits,
    pub(crate) keyspace: &'e Keyspace,
    pub(crate) pubsub: &'e PubSub,
    pub(crate) sessions: &'e Sessions,
    pub(crate) commands: &'e CommandTable,
    pub(crate) stats: &'e Stats,
    pub(crate) faults: &'e Faults,
    pub(crate) replication: &'e Replication,
    pub(crate) clock: &'e EngineClock,
}

impl StateView<'_> {
    /// Returns the number of clients that wait; with a key (of database `db`), of those that wait for that. Observers
    /// (AWAIT) are not counted.
    pub(crate) fn blocked_clients(self, key: Option<(usize, &[u8])>) -> usize {
        match key {
            None => self.waits.counted,
            Some((db, key)) => {
                let counts = |id| self.waits.class_of(id).is_some_and(|class| class.counts);
                self.keyspace.waiters.queue(db, key).filter(|(_, waiter)| counts(waiter.id)).count()
            }
        }
    }

    /// Returns the number of clients that wait with a timeout; observers (AWAIT), whose time is real, are not counted.
    pub(crate) fn waits_with_timeout(self) -> usize {
        self.clock.timers().count(TimerKind::Wait)
    }

    /// Returns the number of clients that wait for a lock, natively or by subscriptions.
    pub(crate) fn lock_waiters(self, lock: (usize, &[u8])) -> usize {
        let count = |known: &mut ListenerCount| known.count(self.keyspace, self.pubsub, lock);
        self.blocked_clients(Some(lock)) + self.waits.state_counts.of_listeners(lock, count)
    }

    /// Returns the number of this name, which `count` counts: once, while waits are retried.
    pub(crate) fn counted_once(self, name: impl FnOnce() -> Vec<u8>, count: impl FnOnce() -> u64) -> u64 {
        self.waits.state_counts.get(name, count)
    }

    /// Returns the number of waits for a kind of state. O(1).
    pub(crate) fn waiting_for(self, kind: StateOf) -> usize {
        waiting_for(self.keyspace, kind)
    }

    /// Returns the requests while somebody waits for silence.
    pub(crate) fn recent_requests(&self) -> &RecentRequests {
        &self.waits.recent_requests
    }

    /// Whether the state that a request waits for may be reached. Of any other request: yes.
    pub(crate) fn may_be_reached(self, id: WaiterId) -> bool {
        match self.waits.get(id).map(|blocked| &blocked.retry) {
            Some(Retry::Always(state)) => state.may_be_reached(self),
            _ => true,
        }
    }

    /// Whether the count that a state is about has risen to its number.
    pub(crate) fn has_risen(self, state: &dyn StateAttempt) -> bool {
        state.awaits_count().is_some_and(|(of, number)| self.count_of(&of) >= number)
    }

    /// Returns a count as it is now; 0 of a rule that is gone.
    fn count_of(self, of: &CountOf) -> u64 {
        match of {
            CountOf::Calls(commands) => self.stats.calls_of(commands),
            CountOf::KeyCalls(commands, pattern) => self.stats.key_calls.calls(commands, pattern),
            CountOf::Hits(rule) => self.faults.rules.get(*rule).map_or(0, |rule| rule.counts.hits),
            CountOf::Held(rule) => self.faults.held.count(*rule) as u64,
        }
    }

    /// Returns a number that changes whenever a state of a kind may have changed. O(1).
    pub(crate) fn version_of(self, of: StateOf) -> u64 {
        let of_waits = || self.waits.changes.wrapping_add(self.keyspace.waiters.changes());
        let of_history = || {
            let history = HistoryReader::of(self.keyspace);
            let entries = |history: HistoryReader<'_>| history.last().wrapping_add(history.first());
            history.map_or(0, |history| (history.number() << HISTORY_BITS).wrapping_add(entries(history)))
        };
        match of {
            StateOf::Waits => of_waits(),
            StateOf::Listeners if self.pubsub.subscriptions() == 0 => {
                of_waits().wrapping_add(self.pubsub.changes())
            }
            // The history tells whether a thread of Redisson's waits by a subscription.
            StateOf::Listeners => of_waits().wrapping_add(self.pubsub.changes()).wrapping_add(of_history()),
            StateOf::Subscribers => self.pubsub.changes(),
            StateOf::Clients => self.sessions.changes(),
            StateOf::History => of_history(),
            StateOf::Calls => self.stats.recounts(),
            StateOf::Rules => self.faults.rules.removals(),
            StateOf::Replicas => self.replication.acknowledgements(),
            StateOf::Silence => self.recent_requests().overflows(),
        }
    }
}
