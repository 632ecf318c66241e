//! The waiting requests, the subject of each wait, and the parts of a server that decide about them.

use super::count_waits::{CountOf, CountWaits};
use super::recent_requests::RecentRequests;
use super::state_counts::{StateCounts, StateOf};
use crate::clients::{HeldState, Request, Session, Sessions};
use crate::clock::{EngineClock, TimerKey, TimerKind};
use crate::faults::{Faults, HeldPart, HeldTraffic, ReplyRule, RuleId};
use crate::locks::{HistoryReader, ListenerCount};
use crate::pubsub::PubSub;
use crate::replication::Replication;
use crate::spec::{Answer, Args, CommandError, CommandId, CommandTable, Null, OnKeys, WaitClass};
use crate::statistics::Stats;
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Keyspace, Place, WaiterId};
use lockwheel_store::time::Now;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// The number of bits in a version that hold the number of entries of one history. A history never has as many entries.
const HISTORY_BITS: u32 = 48;

/// A state of the server that a request waits for, as resolved when the request came.
pub(crate) trait StateAttempt: Debug + Send {
    /// Writes the answer if the state has been reached. Returns whether it has.
    fn attempt(&self, view: StateView<'_>, reply: &mut dyn Reply) -> bool;

    /// Whether an attempt may succeed now. This check is cheaper than an attempt, and may record what it has seen.
    fn may_be_reached(&self, _: StateView<'_>) -> bool {
        true
    }

    /// Returns the kind of state that decides. It does not change while the request waits.
    fn watches(&self) -> StateOf;

    /// Returns the count that the state depends on, and the number that it must reach. They do not change while the
    /// request waits. `None` if the state does not depend on a rising count.
    fn awaits_count(&self) -> Option<(CountOf, u64)> {
        None
    }

    /// Returns the commands whose calls on keys with this pattern must be counted from now on.
    fn counts_keys(&self) -> Option<(&[CommandId], &[u8])> {
        None
    }

    /// Returns the length of the silence that the request waits for, in milliseconds.
    fn awaits_silence_ms(&self) -> Option<i64> {
        None
    }

    /// Whether the client counts as a waiting one.
    fn is_counted(&self) -> bool {
        false
    }

    /// Returns the answer after the timeout, if it is not a null.
    fn on_timeout(&self, _: StateView<'_>) -> Option<Answer> {
        None
    }

    /// Returns the extension of the wait after its timeout, in milliseconds of real time. `None` if the wait ends.
    fn goes_on_for_ms(&self, _: StateView<'_>) -> Option<u64> {
        None
    }
}

/// The event after which a waiting request is retried, and the subject of the wait.
#[derive(Debug)]
pub(crate) enum Retry {
    /// A signal of one of its keys.
    OnKeys(OnKeys),
    /// A change of the state that the request waits for, which does not depend on a key.
    Always(Box<dyn StateAttempt>),
    /// Never. The client waits while others react to an advance of the clock. The timeout continues the advance.
    Advance,
    /// Never. A rule holds the request or its reply.
    Held(HeldTraffic),
    /// Never. The request runs after the pause of clients. `is_seen`: rules have already let it through.
    Paused { is_seen: bool },
    /// Never. The request is answered when the server ends or gives up ending.
    Ended,
    /// Never. It is answered when all servers of the process have done what this broadcast asks.
    Broadcast(u64),
    /// Each millisecond, to read a piece of the history.
    Reading,
}

impl Retry {
    /// Whether CLIENT UNBLOCK has no effect on the wait.
    pub(crate) fn outlasts_unblock(&self) -> bool {
        matches!(self, Retry::Held(_) | Retry::Ended | Retry::Reading | Retry::Broadcast(_))
            || self.is_paused()
    }

    pub(crate) fn is_paused(&self) -> bool {
        matches!(self, Retry::Paused { .. })
    }

    /// Whether the client counts as blocked. This does not change during the wait.
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

#[derive(Debug)]
pub(crate) struct Blocked {
    pub(crate) command: CommandId,
    pub(crate) request: Request,
    /// Counts the request among the client's memory.
    #[expect(dead_code, reason = "it counts until it is dropped")]
    held: HeldState,
    pub(crate) retry: Retry,
    /// The rules that may act on the answer.
    pub(crate) on_reply: Vec<ReplyRule>,
    /// The rule that has the request executed once more and answered then.
    pub(crate) again: Option<RuleId>,
    /// The answer on timeout.
    pub(crate) null: Null,
    pub(crate) timeout: Option<TimerKey>,
    /// The place in the queues of the keys.
    pub(crate) place: Place,
    /// The database.
    pub(crate) db: usize,
    /// The beginning of the wait on the monotonic clock, in milliseconds.
    pub(crate) since_ms: i64,
    /// The time that the handler took before the wait, in nanoseconds.
    pub(crate) took_ns: u64,
}

impl Blocked {
    /// Returns a waiting request of a session, without a timeout; it and `more_bytes` count among the client's memory.
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

    /// Whether a retry can serve the request, by a look at few of its keys, or the error that ends the wait.
    pub(crate) fn may_be_served(&self, keyspace: &mut Keyspace, now: Now) -> Result<bool, CommandError> {
        let Retry::OnKeys(on) = &self.retry else { return Ok(true) };
        on.attempt.may_serve(&mut keyspace.tx(self.db, now), &|at| self.request.argument(at))
    }

    /// Adds the timeout of a command, the answer on timeout, and the time that the handler has taken in nanoseconds.
    pub(crate) fn with_end(self, null: Null, timeout: Option<TimerKey>, took_ns: u64) -> Self {
        Blocked { null, timeout, took_ns, ..self }
    }
}

/// The waiting requests: those of clients by their numbers, and those of tickets.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    requests: BTreeMap<WaiterId, Blocked>,
    /// The number of requests whose clients count as blocked.
    counted: usize,
    /// The number of changes of `counted`.
    changes: u64,
    /// Counts that several waits share.
    state_counts: StateCounts,
    count_waits: CountWaits,
    /// The recent requests of clients, while any client waits for silence.
    recent_requests: RecentRequests,
}

impl Waits {
    /// Adds a request that begins or continues to wait. O(log n).
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

    /// Removes a waiting request and returns it. O(log n).
    pub(crate) fn remove(&mut self, id: WaiterId) -> Option<Blocked> {
        let removed = self.requests.remove(&id)?;
        self.count(removed.retry.counts(), false);
        Some(removed)
    }

    /// Returns a waiting request. O(log n).
    pub(crate) fn get(&self, id: WaiterId) -> Option<&Blocked> {
        self.requests.get(&id)
    }

    /// Returns a waiting request for a change. O(log n).
    pub(crate) fn get_mut(&mut self, id: WaiterId) -> Option<&mut Blocked> {
        self.requests.get_mut(&id)
    }

    pub(crate) fn timer_fired(&mut self, id: WaiterId) {
        if let Some(blocked) = self.get_mut(id) {
            blocked.timeout = None;
        }
    }

    /// Returns the event that a client waits for. O(log n).
    pub(crate) fn retry_of(&self, client: u64) -> Option<&Retry> {
        self.get(client).map(|blocked| &blocked.retry)
    }

    /// Whether a rule holds a request or a reply of a client.
    pub(crate) fn is_held(&self, client: u64) -> bool {
        matches!(self.retry_of(client), Some(Retry::Held(_)))
    }

    /// Whether a rule holds the request of a client before it is executed.
    pub(crate) fn holds_request_of(&self, client: u64) -> bool {
        matches!(self.retry_of(client), Some(Retry::Held(HeldTraffic { part: HeldPart::Request, .. })))
    }

    /// Iterates over all waiting requests, those of the oldest client first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (WaiterId, &Blocked)> {
        self.requests.iter().map(|(id, blocked)| (*id, blocked))
    }

    /// Returns the clients that count as blocked, without those that are paused.
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

    /// Returns the bytes of the arguments of a waiting client; 0 for any other client. O(log n).
    pub(crate) fn argument_bytes(&self, client: u64) -> usize {
        self.get(client).map_or(0, |blocked| blocked.request.len())
    }
}

/// Waits for states of the server that do not depend on a key. Each is retried when the state may have changed. It
/// costs nothing while other clients send requests that do not affect the state.
///
/// Each kind of state has a version. It changes when any wait of the kind may have to be retried. Counts that rise by
/// one at a time wake only the waits for the number that is reached; see [`CountWaits`].
impl Waits {
    /// Records that a client waits for a state. `is_reached`: the count has reached its number, by this request itself.
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

    pub(crate) fn await_calls(&self) -> bool {
        self.count_waits.await_calls()
    }

    /// Wakes the waits for a count that has risen to this number. O(log n + woken waits).
    pub(crate) fn count_rises(&mut self, of: &CountOf, number: u64) {
        self.count_waits.rises(of, number);
    }

    pub(crate) fn take_reached(&mut self) -> Vec<WaiterId> {
        self.count_waits.take_reached()
    }

    pub(crate) fn begin_round(&mut self) {
        self.state_counts.begin();
    }

    /// Ends the retries of all waits for states of this kind.
    pub(crate) fn end_round(&mut self, of: StateOf) {
        self.state_counts.end(of);
        if of == StateOf::Silence {
            self.recent_requests.make_room();
        }
    }

    /// Records the last request for clients that wait for silence.
    pub(crate) fn note_heard(&mut self, clock: &EngineClock, sessions: &Sessions) {
        let (requests, caller) = clock.last_request();
        let name = sessions.find(caller).map(|slot| &*sessions.get(slot).name);
        self.recent_requests.note(requests, name, sessions.name_bytes(), clock.system().monotonic_ms());
    }

    /// Counts the call of a command that was run or has begun to wait, and wakes the waits for that number.
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
                // The pattern is kept even when no client waits any more.
                if count_waits.await_key_calls() {
                    count_waits.rises(&CountOf::KeyCalls(commands.into(), pattern.into()), calls);
                }
            });
        }
    }
}

/// Returns the number of waits for a kind of state. O(1).
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
    /// Returns the number of waiting clients, of a key (of database `db`) if given. Observers (AWAIT) are not counted.
    pub(crate) fn blocked_clients(self, key: Option<(usize, &[u8])>) -> usize {
        match key {
            None => self.waits.counted,
            Some((db, key)) => {
                let counts = |id| self.waits.class_of(id).is_some_and(|class| class.counts);
                self.keyspace.waiters.queue(db, key).filter(|(_, waiter)| counts(waiter.id)).count()
            }
        }
    }

    /// Returns the number of clients that wait with a timeout, without observers (AWAIT), whose timeouts are real time.
    pub(crate) fn waits_with_timeout(self) -> usize {
        self.clock.timers().count(TimerKind::Wait)
    }

    /// Returns the number of clients that wait for a lock, natively or by subscriptions.
    pub(crate) fn lock_waiters(self, lock: (usize, &[u8])) -> usize {
        let count = |known: &mut ListenerCount| known.count(self.keyspace, self.pubsub, lock);
        self.blocked_clients(Some(lock)) + self.waits.state_counts.of_listeners(lock, count)
    }

    /// Returns the number with this name, as computed by `count`. It is computed only once while waits are retried.
    pub(crate) fn counted_once(self, name: impl FnOnce() -> Vec<u8>, count: impl FnOnce() -> u64) -> u64 {
        self.waits.state_counts.get(name, count)
    }

    /// Returns the number of waits for a kind of state. O(1).
    pub(crate) fn waiting_for(self, kind: StateOf) -> usize {
        waiting_for(self.keyspace, kind)
    }

    /// Returns the recent requests, which are recorded while any client waits for silence.
    pub(crate) fn recent_requests(&self) -> &RecentRequests {
        &self.waits.recent_requests
    }

    /// Whether the state that a request waits for may be reached. Always true for any other request.
    pub(crate) fn may_be_reached(self, id: WaiterId) -> bool {
        match self.waits.get(id).map(|blocked| &blocked.retry) {
            Some(Retry::Always(state)) => state.may_be_reached(self),
            _ => true,
        }
    }

    /// Whether the count that a state depends on has reached its number.
    pub(crate) fn has_risen(self, state: &dyn StateAttempt) -> bool {
        state.awaits_count().is_some_and(|(of, number)| self.count_of(&of) >= number)
    }

    /// Returns the present value of a count; 0 for a rule that no longer exists.
    fn count_of(self, of: &CountOf) -> u64 {
        match of {
            CountOf::Calls(commands) => self.stats.calls_of(commands),
            CountOf::KeyCalls(commands, pattern) => self.stats.key_calls.calls(commands, pattern),
            CountOf::Hits(rule) => self.faults.rules.get(*rule).map_or(0, |rule| rule.counts.hits),
            CountOf::Held(rule) => self.faults.held.count(*rule) as u64,
        }
    }

    /// Returns a version that changes whenever a state of this kind may have changed. O(1).
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
            // The history tells whether a thread of Redisson waits by a subscription.
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
