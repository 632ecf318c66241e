//! A turn of the clock on its way: how far it still goes, what has fired, and whether it lets clients react.

use super::clock_change::ClockChange;
use crate::keyspace::KeyTimer;
use crate::locks::known_name;
use crate::time::{ClockError, Now, Over};
use crate::timers::{Timer, TimerKind};
use lockwheel_resp::Reply;
use std::time::Duration;

/// Whether Redisson waiters get an unlock message when turning the clock ends the lease they wait for: they
/// count its time on their own machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedissonWaiters {
    /// They get the message of an unlock.
    #[default]
    Woken,
    /// They get none.
    LeftAsleep,
}

/// How long until a turn of the clock can be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnProgress {
    /// It has reached its end.
    Done,
    /// In so many microseconds of real time: clients may still react to what they were sent.
    WaitUs(u64),
}

/// How a turn of the clock lets clients react: after each instant at which one was sent something, it continues only
/// when no request has come for a while. In microseconds of real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settle {
    quiet_us: u64,
    limit_us: u64,
}

impl Settle {
    /// The longest that a turn lasts by default.
    pub const DEFAULT_LIMIT: Duration = Duration::from_secs(5);

    /// Waits after each such instant until no request has come for `quiet`; when the turn has lasted for `limit` it
    /// goes to its end without waiting.
    pub fn new(quiet: Duration, limit: Duration) -> Self {
        let [quiet_us, limit_us] =
            [quiet, limit].map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        Settle { quiet_us, limit_us }
    }
}

/// What fired at a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fired<'a> {
    /// A key expired.
    Expiry(&'a [u8]),
    /// Fields of a hash expired.
    Fields(&'a [u8]),
    /// Something else about a key of a database was due.
    KeyTimer(KeyTimer, usize, &'a [u8]),
    /// The wait of a client ended.
    Timeout(u64),
    /// The wait of a ticket has timed out.
    Ticket(u64),
    /// A client had been idle for too long.
    Idle(u64),
    /// The leases of a client were renewed.
    Renewal(u64),
    /// A fault of a client ended: what was delayed goes on, what was frozen thaws, what was lost is cut.
    Fault(u64),
    /// Clients were no longer paused.
    PauseEnd,
    /// The time was over in which the master's part was handed over.
    Failover,
    /// Those who wait for a lock were held back no longer.
    HandOff,
    /// The server let clients in again.
    Restart,
    /// Something has arrived from another server of this process.
    Arrival,
    /// A sentinel has looked at what it watches.
    Sentinel,
    /// A node of a cluster has looked at the others.
    Cluster,
}

impl Fired<'_> {
    /// What fires when a timer on the monotonic clock is due.
    pub(super) fn of(timer: Timer) -> Self {
        match timer.kind {
            TimerKind::Ticket => Fired::Ticket(timer.client),
            TimerKind::Idle => Fired::Idle(timer.client),
            TimerKind::Lease => Fired::Renewal(timer.client),
            TimerKind::Delay | TimerKind::Thaw | TimerKind::Cut => Fired::Fault(timer.client),
            TimerKind::Pause => Fired::PauseEnd,
            TimerKind::Failover => Fired::Failover,
            TimerKind::HandOff => Fired::HandOff,
            TimerKind::Restart => Fired::Restart,
            TimerKind::Arrival => Fired::Arrival,
            TimerKind::Sentinel => Fired::Sentinel,
            TimerKind::Cluster => Fired::Cluster,
            // What runs in real time is not among them.
            TimerKind::Wait
            | TimerKind::RealWait
            | TimerKind::Output
            | TimerKind::Save
            | TimerKind::Replication
            | TimerKind::Shutdown
            | TimerKind::Turn => Fired::Timeout(timer.client),
        }
    }

    fn own(self) -> OwnedFired {
        match self {
            Fired::Expiry(key) => OwnedFired::Key("expiry", key.into()),
            Fired::Fields(key) => OwnedFired::Key("fields", key.into()),
            Fired::KeyTimer(KeyTimer::Lease, _, key) => OwnedFired::Key("lease", key.into()),
            Fired::KeyTimer(KeyTimer::Jeopardy, _, key) => {
                OwnedFired::Key("jeopardy", known_name(key).into())
            }
            Fired::KeyTimer(KeyTimer::Retry, _, key) => OwnedFired::Key("retry", known_name(key).into()),
            Fired::Timeout(client) => OwnedFired::Client("timeout", client),
            Fired::Ticket(ticket) => OwnedFired::Client("ticket", ticket),
            Fired::Idle(client) => OwnedFired::Client("idle", client),
            Fired::Renewal(client) => OwnedFired::Client("renewal", client),
            Fired::Fault(client) => OwnedFired::Client("fault", client),
            Fired::PauseEnd => OwnedFired::Client("pause", 0),
            Fired::Failover => OwnedFired::Client("failover", 0),
            Fired::HandOff => OwnedFired::Client("handoff", 0),
            Fired::Restart => OwnedFired::Client("restart", 0),
            Fired::Arrival => OwnedFired::Client("arrival", 0),
            Fired::Sentinel => OwnedFired::Client("sentinel", 0),
            Fired::Cluster => OwnedFired::Client("cluster", 0),
        }
    }
}

/// The same as a reply shows it: its kind, and whose it was.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OwnedFired {
    Key(&'static str, Box<[u8]>),
    Client(&'static str, u64),
}

/// How far a turn still goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// So many microseconds.
    Us(u64),
    /// To so many instants with deadlines.
    Instants(u64),
}

impl Left {
    /// Whether it goes as far as a deadline in so many microseconds.
    pub(super) fn reaches(self, in_us: u64) -> bool {
        match self {
            Left::Us(us) => in_us <= us,
            Left::Instants(count) => count > 0,
        }
    }

    /// It has gone to a deadline that was so many microseconds on.
    pub(super) fn spend(&mut self, in_us: u64) {
        match self {
            Left::Us(us) => *us -= in_us,
            Left::Instants(count) => *count -= 1,
        }
    }
}

/// How often a turn fires one after the other what recurs for ever: leases of connections are renewed, and who stands
/// in a fair queue is kept there.
const MOST_RECURRENCES: u64 = 65_536;

/// The most deadlines that a turn fires before it lets other clients be answered: about a tenth of a second's work.
const MAX_FIRED_AT_ONCE: u64 = 131_072;

/// The longest piece in microseconds of real time, for servers that share the clock: they tell one another of each
/// deadline.
const MAX_PIECE_US: u64 = 100_000;

/// The answer at the end of a turn.
#[derive(Debug)]
enum TurnAnswer {
    /// The wall clock.
    Wall,
    /// The number of deadlines that have fired.
    Counts,
    /// The number and the fired deadlines, in order.
    What(Vec<OwnedFired>),
}

/// A turn of the clock on its way: [`Engine::continue_turning`](super::Engine::continue_turning) takes it to its end.
#[derive(Debug)]
pub struct ClockTurn {
    pub(super) left: Left,
    /// A change of the clock with which it begins.
    change: Option<ClockChange>,
    /// The rule by which deadlines are over on its way.
    over: Over,
    pub(super) waiters: RedissonWaiters,
    fired: u64,
    /// Number of deadlines fired since the turn last let others be answered, if it does so.
    fired_at_once: Option<u64>,
    /// The instant at which the turn last went on, by the system's monotonic clock.
    piece_began_us: u64,
    /// Whether it lets others be answered before all has fired that is due at its instant.
    is_amid: bool,
    /// The wall clock at the last instant of the turn, in milliseconds.
    arrived_ms: Option<i64>,
    /// Number of times that the clocks had begun anew when the turn began.
    resets: Option<u64>,
    /// Another client has moved the clock to where the turn would leave its range.
    error: Option<ClockError>,
    /// Whether clients were sent something at its instant, or at those since it last let them react.
    has_sent: bool,
    /// How many of these recur for ever, since it last leapt over those to come.
    recurrences: u64,
    /// Whether it has leapt over such.
    leapt: bool,
    /// The key whose waiters were retried last, until it is known whether that was in vain.
    retried: Option<(usize, Box<[u8]>)>,
    answer: TurnAnswer,
    settle: Option<Settle>,
    /// When the limit ends, and when clients were last sent something, by the system's monotonic clock.
    limit_at_us: Option<u64>,
    told_at_us: Option<u64>,
    is_settled: bool,
    /// Whether its client no longer waits for it when it stops on its way.
    is_unblocked: bool,
    /// Whether it has disconnected its client, which has its answer first.
    has_killed: bool,
}

impl Default for ClockTurn {
    /// A turn that goes nowhere.
    fn default() -> Self {
        ClockTurn::to(Left::Us(0))
    }
}

impl ClockTurn {
    fn to(left: Left) -> Self {
        ClockTurn {
            left,
            change: None,
            over: Over::Reached,
            waiters: RedissonWaiters::default(),
            fired: 0,
            fired_at_once: None,
            piece_began_us: 0,
            is_amid: false,
            arrived_ms: None,
            resets: None,
            error: None,
            has_sent: false,
            recurrences: 0,
            leapt: false,
            retried: None,
            answer: TurnAnswer::Counts,
            settle: None,
            limit_at_us: None,
            told_at_us: None,
            is_settled: true,
            is_unblocked: false,
            has_killed: false,
        }
    }

    /// A turn by so many microseconds, which the clocks can be turned.
    pub(super) fn by_us(us: u64) -> Self {
        ClockTurn::to(Left::Us(us))
    }

    /// A turn to the next deadline, so many times; deadlines at one instant count once.
    pub fn to_next(count: u64) -> Self {
        ClockTurn { answer: TurnAnswer::What(Vec::new()), ..ClockTurn::to(Left::Instants(count)) }
    }

    /// A turn that changes the clock and fires all that is due then.
    pub fn changing(change: ClockChange) -> Self {
        let (over, answer) = (change.over(), TurnAnswer::Wall);
        ClockTurn { change: Some(change), over, answer, ..ClockTurn::default() }
    }

    /// A turn that fires what is left at the present instant, where deadlines are over by this rule.
    pub(super) fn rest_of_instant(over: Over) -> Self {
        ClockTurn { over, ..ClockTurn::default() }
    }

    /// A turn that fires what is left at the present instant before this one changes the clock, if it is to do that.
    pub(super) fn before_change(&self, over: Over) -> Option<ClockTurn> {
        self.change.as_ref()?;
        Some(ClockTurn { fired_at_once: self.fired_at_once, ..ClockTurn::rest_of_instant(over) })
    }

    /// Whether Redisson's waiters are woken: by default they are.
    #[must_use]
    pub fn waking(self, waiters: RedissonWaiters) -> Self {
        ClockTurn { waiters, ..self }
    }

    /// Lets clients react on the way, if it says how.
    #[must_use]
    pub fn settling(self, settle: Option<Settle>) -> Self {
        ClockTurn { settle, ..self }
    }

    /// Lets other clients be answered on its way, when much is due: it goes on a millisecond of real time later.
    #[must_use]
    pub fn in_pieces(self) -> Self {
        ClockTurn { fired_at_once: Some(0), ..self }
    }

    /// Returns how many deadlines fire before it lets others be answered.
    pub(super) fn most_at_once(&self) -> usize {
        let fired = self.fired_at_once.map(|fired| MAX_FIRED_AT_ONCE.saturating_sub(fired).max(1));
        fired.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
    }

    /// The change of the clock that it has not made yet.
    pub(super) fn take_change(&mut self) -> Option<ClockChange> {
        self.change.take()
    }

    /// The rule by which deadlines are over on its way.
    pub(super) fn over(&self) -> Over {
        self.over
    }

    /// Whether it goes on after clocks have begun anew so many times: a turn from before that has ended.
    pub(super) fn outlives(&mut self, resets: u64) -> bool {
        *self.resets.get_or_insert(resets) == resets
    }

    /// It has come to its last instant, where the wall clock stands so.
    pub(super) fn arrive(&mut self, wall_ms: i64) {
        self.arrived_ms.get_or_insert(wall_ms);
    }

    /// Whether nothing is left of its way.
    pub(super) fn is_at_end(&self) -> bool {
        matches!(self.left, Left::Us(0) | Left::Instants(0))
    }

    /// Whether it has come to its last instant before.
    pub(super) fn has_arrived(&self) -> bool {
        self.arrived_ms.is_some()
    }

    /// Deadlines are over by this rule from now on.
    pub(super) fn follow_rule(&mut self, over: Over) {
        self.over = over;
    }

    /// It would leave the range of a clock.
    pub(super) fn fail(&mut self, error: ClockError) {
        self.error = Some(error);
    }

    /// Returns where the wall clock stood when it came to its last instant, in milliseconds since the epoch; `now`
    /// before that.
    ///
    /// # Errors
    /// When another client has moved the clock to where the turn would leave its range.
    pub fn wall_ms(&self, now: Now) -> Result<i64, ClockError> {
        self.error.map_or(Ok(self.arrived_ms.unwrap_or(now.wall_ms())), Err)
    }

    /// It no longer stops amid an instant.
    pub(super) fn leave_instant(&mut self) {
        self.is_amid = false;
    }

    /// It lets others be answered, though more is due at its instant.
    pub(super) fn stop_amid(&mut self) {
        self.is_amid = true;
    }

    /// Whether it has stopped amid an instant.
    pub(crate) fn is_amid(&self) -> bool {
        self.is_amid
    }

    /// The rule by which more is over at the instant amid which it has stopped, if it has.
    pub(super) fn amid(&self) -> Option<Over> {
        self.is_amid.then_some(self.over)
    }

    /// Goes on to a deadline in so many microseconds, if it reaches that; whether it does.
    pub(super) fn goes_to(&mut self, in_us: u64) -> bool {
        // The rest of an instant at which it has been.
        if std::mem::take(&mut self.is_amid) && in_us == 0 {
            return true;
        }
        let reaches = self.left.reaches(in_us);
        if reaches {
            self.left.spend(in_us);
        }
        reaches
    }

    /// Whether it lets others be answered on its way.
    pub(super) fn is_in_pieces(&self) -> bool {
        self.fired_at_once.is_some()
    }

    /// It goes on at `now_us` of the system's monotonic clock.
    pub(super) fn go_on_at(&mut self, now_us: u64) {
        self.piece_began_us = now_us;
    }

    /// Its piece lasts until `now_us` of that clock.
    pub(super) fn last_until(&mut self, now_us: u64) {
        if now_us.saturating_sub(self.piece_began_us) >= MAX_PIECE_US {
            self.works(MAX_FIRED_AT_ONCE);
        }
    }

    /// Others are answered before it goes on.
    pub(super) fn begin_piece(&mut self) {
        self.fired_at_once = self.fired_at_once.map(|_| 0);
    }

    /// Whether it is to let others be answered now.
    pub(super) fn ends_piece(&mut self) -> bool {
        let ends = self.fired_at_once.is_some_and(|fired| fired >= MAX_FIRED_AT_ONCE);
        if ends {
            self.fired_at_once = Some(0);
        }
        ends
    }

    /// Counts leases of connections that were renewed at a deadline.
    pub(super) fn renewed(&mut self, leases: u64) {
        let more = leases.saturating_sub(1);
        self.recurrences += more;
        self.works(more);
    }

    /// Counts this much more work at a deadline than a single one takes.
    pub(super) fn works(&mut self, more: u64) {
        self.fired_at_once = self.fired_at_once.map(|fired| fired + more);
    }

    /// How many deadlines have fired.
    pub fn fired(&self) -> u64 {
        self.fired
    }

    /// Whether it never went on, for its limit, before the clients were quiet.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Something is firing.
    pub(super) fn see(&mut self, fired: Fired<'_>) {
        self.fired += 1;
        self.fired_at_once = self.fired_at_once.map(|fired| fired + 1);
        match fired {
            Fired::Renewal(_) | Fired::Sentinel | Fired::Cluster => self.recurrences += 1,
            Fired::KeyTimer(KeyTimer::Retry, db, key) => self.retried = Some((db, key.into())),
            _ => {}
        }
        if let TurnAnswer::What(what) = &mut self.answer {
            what.push(fired.own());
        }
    }

    /// What was seen has fired; `served` says whether a waiter was. A key is to be retried after the turn, when that
    /// was in vain now and the turn leaps over what recurs.
    pub(super) fn put_off(&mut self, served: bool) -> Option<(usize, Box<[u8]>)> {
        let retried = self.retried.take().filter(|_| !served)?;
        self.recurrences += 1;
        self.leapt.then_some(retried)
    }

    /// Whether so much has recurred that it leaps over what is to come of it; then it counts anew.
    pub(super) fn leaps(&mut self) -> bool {
        let leaps = self.recurrences >= MOST_RECURRENCES;
        if leaps {
            self.recurrences = 0;
            self.leapt = true;
        }
        leaps
    }

    /// The turn has begun, at `now_us` of the system's monotonic clock; or it had already.
    pub(super) fn begin(&mut self, now_us: u64) {
        if let Some(settle) = self.settle {
            self.limit_at_us.get_or_insert(now_us.saturating_add(settle.limit_us));
        }
    }

    /// Whether it lets clients react to what they are sent.
    pub(super) fn settles(&self) -> bool {
        self.settle.is_some()
    }

    /// Whether clients have been sent something at its instant.
    pub(super) fn note_sent(&mut self, has_sent: bool) {
        self.has_sent |= has_sent && self.settles();
    }

    /// Whether clients have been sent something since this was asked last.
    pub(super) fn take_sent(&mut self) -> bool {
        std::mem::take(&mut self.has_sent)
    }

    /// Clients have been sent something, at `now_us` of the system's monotonic clock.
    pub(super) fn tell(&mut self, now_us: u64) {
        self.told_at_us = Some(now_us);
    }

    /// How long the turn has to wait from `now_us` on before it continues, in microseconds of real time, when the last
    /// request ended at `quiet_since_us`; `None` when it can. Past its limit it does not wait any more.
    pub(super) fn wait_us(&mut self, now_us: u64, quiet_since_us: u64) -> Option<u64> {
        let quiet_at_us = self.told_at_us?.max(quiet_since_us).saturating_add(self.settle?.quiet_us);
        if quiet_at_us <= now_us {
            self.told_at_us = None;
            return None;
        }
        let limit_at_us = self.limit_at_us.unwrap_or(u64::MAX);
        if limit_at_us <= now_us {
            self.cut();
            return None;
        }
        Some(quiet_at_us.min(limit_at_us) - now_us)
    }

    /// It goes to its end without letting clients react any more. Others are answered on its way nevertheless.
    pub(super) fn cut(&mut self) {
        self.settle = None;
        self.told_at_us = None;
        self.is_settled = false;
    }

    /// Does the same; its client no longer waits for it when it stops on its way.
    pub(super) fn unblock(&mut self) {
        self.cut();
        self.is_unblocked = true;
    }

    /// Whether its client no longer waits for it when it stops on its way.
    pub(super) fn is_unblocked(&self) -> bool {
        self.is_unblocked
    }

    /// Notes that it has disconnected its client, which has its answer first.
    pub(super) fn note_killed(&mut self) {
        self.has_killed = true;
    }

    /// Whether it has disconnected its client.
    pub(super) fn has_killed(&self) -> bool {
        self.has_killed
    }

    /// Answers whoever has asked for the turn, at its end.
    ///
    /// # Errors
    /// See [`ClockTurn::wall_ms`].
    pub(crate) fn write(&self, now: Now, reply: &mut dyn Reply) -> Result<(), ClockError> {
        let wall_ms = self.wall_ms(now)?;
        match &self.answer {
            TurnAnswer::Wall => reply.integer(wall_ms),
            TurnAnswer::Counts => self.write_counts(3, wall_ms, reply),
            TurnAnswer::What(_) if self.fired == 0 => reply.null(),
            TurnAnswer::What(what) => {
                self.write_counts(4, wall_ms, reply);
                write_fired(what, reply);
            }
        }
        Ok(())
    }

    fn write_counts(&self, fields: usize, wall_ms: i64, reply: &mut dyn Reply) {
        reply.map(fields);
        reply.bulk(b"wall");
        reply.integer(wall_ms);
        reply.bulk(b"fired");
        reply.integer(self.fired as i64);
        reply.bulk(b"settled");
        reply.integer(i64::from(self.is_settled));
    }
}

/// Writes the field of what has fired.
fn write_fired(what: &[OwnedFired], reply: &mut dyn Reply) {
    reply.bulk(b"what");
    reply.array(what.len());
    for fired in what {
        reply.array(2);
        match fired {
            OwnedFired::Key(kind, key) => {
                reply.bulk(kind.as_bytes());
                reply.bulk(key);
            }
            OwnedFired::Client(kind, client) => {
                reply.bulk(kind.as_bytes());
                reply.integer(*client as i64);
            }
        }
    }
}
