//! An advance of the clock on its way: a state machine without an engine.
//!
//! The conductor ([`core/advance.rs`](crate::core)) drives it. [`ClockAdvance::resume`] says how the advance goes on;
//! once it is on its way, each [`AdvanceStep`] is carried out and answered with what has happened, until it stops.

use super::change::ClockChange;
use super::fired::{Fired, ShownFired};
use super::piece::PieceBudget;
use super::recurrences::{Recurrences, RetriedKey};
use super::settle::{Settle, Settling};
use lockwheel_resp::Reply;
use lockwheel_store::time::{ClockError, ExpiryRule, Now};

/// The deadlines that a server by itself fires between two looks at the real time.
const DEADLINES_A_READING: u64 = 16;

/// Whether Redisson waiters get an unlock message if an advance of the clock ends the lease that they wait for: they
/// count its time on their own machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedissonWaiters {
    /// Waiters get the message of an unlock.
    #[default]
    Woken,
    /// Waiters get no message.
    LeftAsleep,
}

/// The state of an advance of the clock when it stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdvanceProgress {
    /// The advance has reached its end.
    Done,
    /// The advance goes on after this time, in microseconds of real time: clients may still react to what they were
    /// sent.
    WaitUs(u64),
}

/// The rest of an advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remaining {
    /// Microseconds of the clocks.
    Us(u64),
    /// Instants with deadlines.
    Instants(u64),
}

impl Remaining {
    /// Whether the advance goes as far as a deadline in so many microseconds.
    fn reaches(self, in_us: u64) -> bool {
        match self {
            Remaining::Us(us) => in_us <= us,
            Remaining::Instants(count) => count > 0,
        }
    }

    /// The advance goes to a deadline in so many microseconds.
    fn spend(&mut self, in_us: u64) {
        match self {
            Remaining::Us(us) => *us -= in_us,
            Remaining::Instants(count) => *count -= 1,
        }
    }
}

/// The reply at the end of an advance.
#[derive(Debug)]
enum AdvanceReply {
    /// The wall clock.
    Wall,
    /// The number of fired deadlines.
    Counts,
    /// The number and the fired deadlines, in order.
    What(Vec<ShownFired>),
}

/// The state of the servers that advance together, when an advance is to go on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    /// The system's monotonic clock, and when the last request ended by it, in microseconds.
    pub(crate) system_us: u64,
    pub(crate) quiet_since_us: u64,
    /// The rule of an advance that has stopped amid the present instant.
    pub(crate) amid: Option<ExpiryRule>,
    /// The rule by which deadlines expire at the present instant.
    pub(crate) rule: ExpiryRule,
    /// Number of times that the clocks began anew.
    pub(crate) resets: u64,
    /// The wall clock in milliseconds.
    pub(crate) wall_ms: i64,
    /// The range left to the clocks, in microseconds. `None`: they have left their range.
    pub(crate) room_us: Option<u64>,
}

/// The way in which an advance goes on.
#[derive(Debug)]
pub(crate) enum Opening {
    /// Not now, or no more.
    Stop(AdvanceProgress),
    /// Finish the present instant by another advance: then [`ClockAdvance::finished_instant`].
    FinishInstant(Box<ClockAdvance>),
    /// Change the clock: then [`ClockAdvance::changed`].
    Change(ClockChange),
    /// Advance by [`ClockAdvance::next`].
    Advance,
}

/// The next step of an advance on its way.
#[derive(Debug)]
pub(crate) enum AdvanceStep {
    /// Read the system's monotonic clock.
    ReadClock,
    /// Find the first deadline of all servers by [`ClockAdvance::rule`].
    FindDeadline,
    /// Move the clocks of all servers by so many microseconds.
    MoveBy(u64),
    /// Fire the deadline that was found, but no more than so many fields of one hash. [`ClockAdvance::see`] is called
    /// with it.
    Fire(usize),
    /// Retry the waiters of a key only after so many microseconds.
    RetryAfter(RetriedKey, u64),
    /// Let what servers have sent one another arrive.
    Exchange,
    /// Let what recurs go on as if so many milliseconds had passed.
    LeapOver(u64),
    /// Stop here.
    Stop(AdvanceProgress),
}

/// The outcome of the last step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AdvanceEvent {
    /// The advance goes on; of several servers, if it is joint.
    GoOn { is_joint: bool },
    /// The system's monotonic clock shows so many microseconds.
    Read(u64),
    /// The first deadline is in so many microseconds, if there is one that the clocks can reach. `wakes` counts how
    /// often clients were sent something.
    Found { in_us: Option<u64>, wakes: u64 },
    /// The deadline has fired: so many fields of a hash, or one; so many renewed leases; whether waiters were served.
    Fired { deadlines: usize, renewed: u64, has_served: bool },
    /// The step is done.
    Done,
}

/// The outcome that an advance waits for on its way.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The advance has stopped, and is to be continued.
    Stopped,
    /// The time at which its piece begins.
    ReadingStart,
    /// The next instant with deadlines.
    Seeking,
    /// The arrival at that instant.
    Moving,
    /// The deadline there.
    Firing,
    /// The waiters of a key are being put off.
    PuttingOff,
    /// Servers are exchanging what they send one another.
    Exchanging,
    /// The length of its piece is being read.
    ReadingLength,
    /// Whether more is due at the instant.
    Looking,
    /// The leap over what recurs.
    Leaping,
    /// The first deadline after the leap is being looked for.
    SeekingBeyond,
    /// The time at which clients begin to react. Then it goes to the deadline in so many microseconds.
    Reading { next: Option<u64>, wakes: u64 },
    /// Its end, at which nothing is due.
    Arriving,
}

/// An advance of the clock on its way: [`Engine::continue_advance`](crate::Engine::continue_advance) takes it to its
/// end.
#[derive(Debug)]
pub struct ClockAdvance {
    remaining: Remaining,
    /// A change of the clock with which it begins.
    change: Option<ClockChange>,
    /// The rule by which deadlines expire on its way.
    rule: ExpiryRule,
    waiters: RedissonWaiters,
    fired: u64,
    phase: Phase,
    piece: PieceBudget,
    /// Whether it is of several servers.
    is_joint: bool,
    /// Number of times that clients had been sent something when it came to its instant.
    wakes: u64,
    /// Whether it lets others be answered before everything has fired that is due at its instant.
    is_amid: bool,
    /// The wall clock at its last instant, in milliseconds.
    arrived_ms: Option<i64>,
    /// Number of times that the clocks had begun anew when it began.
    resets: Option<u64>,
    /// Another client has moved the clock to where the advance would leave its range.
    error: Option<ClockError>,
    recurrences: Recurrences,
    settling: Settling,
    reply: AdvanceReply,
    /// Whether its client no longer waits for it when it stops on its way.
    is_unblocked: bool,
    /// Whether it has disconnected its client, which has its answer first.
    has_killed: bool,
}

impl Default for ClockAdvance {
    /// An advance that goes nowhere.
    fn default() -> Self {
        ClockAdvance::to(Remaining::Us(0))
    }
}

/// Constructors.
impl ClockAdvance {
    fn to(remaining: Remaining) -> Self {
        ClockAdvance {
            remaining,
            change: None,
            rule: ExpiryRule::Reached,
            waiters: RedissonWaiters::default(),
            fired: 0,
            phase: Phase::Stopped,
            piece: PieceBudget::UNLIMITED,
            is_joint: false,
            wakes: 0,
            is_amid: false,
            arrived_ms: None,
            resets: None,
            error: None,
            recurrences: Recurrences::default(),
            settling: Settling::new(None),
            reply: AdvanceReply::Counts,
            is_unblocked: false,
            has_killed: false,
        }
    }

    /// An advance by so many microseconds, which the clocks can go.
    pub(super) fn by_us(us: u64) -> Self {
        ClockAdvance::to(Remaining::Us(us))
    }

    /// An advance to the next deadline, so many times; deadlines at one instant count once.
    pub fn to_next(count: u64) -> Self {
        ClockAdvance { reply: AdvanceReply::What(Vec::new()), ..ClockAdvance::to(Remaining::Instants(count)) }
    }

    /// An advance that changes the clock and fires all that is due then.
    pub fn changing(change: ClockChange) -> Self {
        let rule = change.rule();
        ClockAdvance { change: Some(change), rule, reply: AdvanceReply::Wall, ..ClockAdvance::default() }
    }

    /// An advance that fires what is left at the present instant, where deadlines expire by this rule.
    pub(crate) fn rest_of_instant(rule: ExpiryRule) -> Self {
        ClockAdvance { rule, ..ClockAdvance::default() }
    }

    /// Whether Redisson's waiters are woken: by default they are.
    #[must_use]
    pub fn waking(self, waiters: RedissonWaiters) -> Self {
        ClockAdvance { waiters, ..self }
    }

    /// Lets clients react on the way, if it says how.
    #[must_use]
    pub fn settling(self, settle: Option<Settle>) -> Self {
        ClockAdvance { settling: Settling::new(settle), ..self }
    }

    /// Lets other clients be answered on its way, when much is due: it goes on a millisecond of real time later.
    #[must_use]
    pub fn in_pieces(self) -> Self {
        ClockAdvance { piece: PieceBudget::LIMITED, ..self }
    }
}

/// The opening: what is left at the present instant, and a change of the clock, come before the way.
impl ClockAdvance {
    /// Goes on, where it can.
    pub(crate) fn resume(&mut self, situation: &Situation) -> Opening {
        self.settling.begin(situation.system_us);
        if let Some(wait_us) = self.settling.wait_us(situation.system_us, situation.quiet_since_us) {
            return Opening::Stop(AdvanceProgress::WaitUs(wait_us));
        }
        // Another client has had the rest of its last instant fired, or has begun anew.
        let is_over = self.is_amid && self.arrived_ms.is_some() && situation.amid.is_none();
        if is_over || *self.resets.get_or_insert(situation.resets) != situation.resets {
            self.is_amid = false;
            self.arrived_ms.get_or_insert(situation.wall_ms);
            return Opening::Stop(AdvanceProgress::Done);
        }
        if self.change.is_some() {
            let rest = ClockAdvance::rest_of_instant(situation.amid.unwrap_or(situation.rule));
            return Opening::FinishInstant(Box::new(ClockAdvance { piece: self.piece.clone(), ..rest }));
        }
        if let Some(rule) = situation.amid.filter(|_| self.arrived_ms.is_some()) {
            self.rule = rule;
        }
        // The request was in range, but another client may have moved the clock since.
        match self.remaining {
            Remaining::Us(us) if situation.room_us.is_none_or(|room_us| room_us < us) => {
                self.changed(Err(ClockError))
            }
            _ => Opening::Advance,
        }
    }

    /// Records that what was left at the present instant has fired, or a piece of it.
    pub(crate) fn finished_instant(&mut self, progress: AdvanceProgress) -> Opening {
        self.is_amid = progress != AdvanceProgress::Done;
        match self.change.take_if(|_| progress == AdvanceProgress::Done) {
            Some(change) => Opening::Change(change),
            None => Opening::Stop(progress),
        }
    }

    /// The clock was changed, unless it would have left its range.
    pub(crate) fn changed(&mut self, changed: Result<(), ClockError>) -> Opening {
        match changed {
            Ok(()) => Opening::Advance,
            Err(error) => {
                self.is_amid = false;
                self.error = Some(error);
                Opening::Stop(AdvanceProgress::Done)
            }
        }
    }
}

/// Its way, from one instant with deadlines to the next.
impl ClockAdvance {
    /// Returns what to do next, after this has happened.
    pub(crate) fn next(&mut self, event: AdvanceEvent) -> AdvanceStep {
        match (self.phase, event) {
            (_, AdvanceEvent::GoOn { is_joint }) => {
                self.is_joint = is_joint;
                if self.piece.is_limited() {
                    self.read_clock(Phase::ReadingStart)
                } else {
                    self.find(Phase::Seeking)
                }
            }
            (Phase::ReadingStart, AdvanceEvent::Read(now_us)) => {
                self.piece.begin_at(now_us);
                self.find(Phase::Seeking)
            }
            (Phase::Seeking, AdvanceEvent::Found { in_us, wakes }) => self.go_to(in_us, wakes),
            (Phase::Moving, AdvanceEvent::Done) => self.fire(),
            (Phase::Firing, AdvanceEvent::Fired { deadlines, renewed, has_served }) => {
                self.has_fired(deadlines as u64, renewed, has_served)
            }
            (Phase::PuttingOff, AdvanceEvent::Done) => self.exchange(),
            (Phase::Exchanging, AdvanceEvent::Done) if self.is_timed() => {
                self.read_clock(Phase::ReadingLength)
            }
            (Phase::Exchanging, AdvanceEvent::Done) => self.find(Phase::Looking),
            (Phase::ReadingLength, AdvanceEvent::Read(now_us)) => {
                self.piece.last_until(now_us, self.is_joint);
                self.find(Phase::Looking)
            }
            (Phase::Looking, AdvanceEvent::Found { in_us, wakes }) => self.look(in_us, wakes),
            (Phase::Leaping, AdvanceEvent::Done) => self.find(Phase::SeekingBeyond),
            (Phase::SeekingBeyond, AdvanceEvent::Found { in_us, wakes }) => self.react(in_us, wakes),
            (Phase::Reading { next, wakes }, AdvanceEvent::Read(now_us)) => {
                self.settling.await_silence(now_us);
                if let Some(wait_us) = self.settling.wait_us(now_us, 0) {
                    self.piece.renew();
                    return self.stop(AdvanceProgress::WaitUs(wait_us));
                }
                self.end_piece(next, wakes)
            }
            (Phase::Arriving, AdvanceEvent::Done) => self.stop(AdvanceProgress::Done),
            (phase, event) => unreachable!("{event:?} is no answer to {phase:?}"),
        }
    }

    /// Whether the real time that its piece has taken is looked at now: after each deadline where servers notify one
    /// another of it, else after some.
    fn is_timed(&self) -> bool {
        let is_next = self.is_joint || self.fired.is_multiple_of(DEADLINES_A_READING);
        is_next && self.piece.is_limited()
    }

    fn find(&mut self, phase: Phase) -> AdvanceStep {
        self.phase = phase;
        AdvanceStep::FindDeadline
    }

    fn read_clock(&mut self, phase: Phase) -> AdvanceStep {
        self.phase = phase;
        AdvanceStep::ReadClock
    }

    fn stop(&mut self, progress: AdvanceProgress) -> AdvanceStep {
        self.phase = Phase::Stopped;
        AdvanceStep::Stop(progress)
    }

    /// Goes to the next instant with deadlines, or to its end.
    fn go_to(&mut self, next: Option<u64>, wakes: u64) -> AdvanceStep {
        if let Some(in_us) = next
            && self.reaches(in_us)
        {
            self.wakes = wakes;
            self.phase = Phase::Moving;
            return AdvanceStep::MoveBy(in_us);
        }
        match std::mem::replace(&mut self.remaining, Remaining::Us(0)) {
            Remaining::Us(us) if us > 0 => {
                self.phase = Phase::Arriving;
                AdvanceStep::MoveBy(us)
            }
            _ => self.stop(AdvanceProgress::Done),
        }
    }

    /// Whether it goes on to a deadline in so many microseconds; then that is spent.
    fn reaches(&mut self, in_us: u64) -> bool {
        // The rest of an instant at which it has been.
        if std::mem::take(&mut self.is_amid) && in_us == 0 {
            return true;
        }
        let reaches = self.remaining.reaches(in_us);
        if reaches {
            self.remaining.spend(in_us);
        }
        reaches
    }

    fn fire(&mut self) -> AdvanceStep {
        self.phase = Phase::Firing;
        AdvanceStep::Fire(self.piece.left())
    }

    /// A deadline is firing.
    pub(crate) fn see(&mut self, fired: Fired<'_>) {
        self.fired += 1;
        self.piece.spend(1);
        self.recurrences.see(fired);
        if let AdvanceReply::What(what) = &mut self.reply {
            what.push(fired.shown());
        }
    }

    /// Records what has fired. Each field of a hash and each renewed lease beyond the first counts as another deadline.
    fn has_fired(&mut self, deadlines: u64, renewed: u64, has_served: bool) -> AdvanceStep {
        let more = renewed.saturating_sub(1);
        self.piece.spend(deadlines.saturating_sub(1) + more);
        self.recurrences.add(more);
        match (self.recurrences.put_off(has_served), self.remaining) {
            (Some(key), Remaining::Us(us)) => {
                self.phase = Phase::PuttingOff;
                AdvanceStep::RetryAfter(key, us)
            }
            _ => self.exchange(),
        }
    }

    fn exchange(&mut self) -> AdvanceStep {
        self.phase = Phase::Exchanging;
        AdvanceStep::Exchange
    }

    /// Fires what is still due at its instant, unless that is too much for one piece.
    fn look(&mut self, next: Option<u64>, wakes: u64) -> AdvanceStep {
        let is_more_due = next == Some(0);
        if is_more_due && self.piece.take_spent() {
            self.is_amid = true;
        } else if is_more_due {
            return self.fire();
        }
        self.settling.note_sent(wakes != self.wakes);
        if self.is_amid {
            return self.stop(AdvanceProgress::WaitUs(0));
        }
        if self.recurrences.take_leap() {
            let Remaining::Us(us) = self.remaining else { return self.stop(AdvanceProgress::Done) };
            self.phase = Phase::Leaping;
            return AdvanceStep::LeapOver(us / 1000);
        }
        self.react(next, wakes)
    }

    /// Lets clients react to what they were sent. Firing may have taken long: the clock is read.
    fn react(&mut self, next: Option<u64>, wakes: u64) -> AdvanceStep {
        if self.settling.take_sent() {
            return self.read_clock(Phase::Reading { next, wakes });
        }
        self.end_piece(next, wakes)
    }

    /// Lets others be answered, if its piece is spent and it goes on after that.
    fn end_piece(&mut self, next: Option<u64>, wakes: u64) -> AdvanceStep {
        if self.piece.take_spent() && next.is_some_and(|in_us| self.remaining.reaches(in_us)) {
            return self.stop(AdvanceProgress::WaitUs(0));
        }
        self.go_to(next, wakes)
    }

    /// Records that it has stopped, or has ended by a panic (`None`), with the wall clock at `wall_ms`. Returns the
    /// rule by which more is due at its instant, if it has stopped amid one.
    pub(crate) fn stopped(&mut self, progress: Option<AdvanceProgress>, wall_ms: i64) -> Option<ExpiryRule> {
        let has_ended = !matches!(progress, Some(AdvanceProgress::WaitUs(_)));
        if has_ended {
            self.is_amid = false;
        }
        if has_ended || matches!(self.remaining, Remaining::Us(0) | Remaining::Instants(0)) {
            self.arrived_ms.get_or_insert(wall_ms);
        }
        self.is_amid.then_some(self.rule)
    }
}

/// Queries.
impl ClockAdvance {
    /// The rule by which deadlines expire on its way.
    pub(crate) fn rule(&self) -> ExpiryRule {
        self.rule
    }

    /// Whether it publishes no messages to Redisson's waiters.
    pub(crate) fn is_quiet(&self) -> bool {
        self.waiters == RedissonWaiters::LeftAsleep
    }

    /// Whether it has stopped amid an instant.
    pub(crate) fn is_amid(&self) -> bool {
        self.is_amid
    }

    /// Returns the wall clock at its last instant, in milliseconds since the epoch; `now` before that.
    ///
    /// # Errors
    /// Returns an error if another client has moved the clock to where the advance would leave its range.
    pub fn wall_ms(&self, now: Now) -> Result<i64, ClockError> {
        self.error.map_or(Ok(self.arrived_ms.unwrap_or(now.wall_ms())), Err)
    }

    /// The number of deadlines that have fired.
    pub fn fired(&self) -> u64 {
        self.fired
    }

    /// Whether the clients were always quiet before its limit.
    pub fn is_settled(&self) -> bool {
        self.settling.is_settled()
    }

    /// Lets it go to its end without clients reacting any more. Its client no longer waits when it stops on its way;
    /// others are answered there nevertheless.
    pub(crate) fn unblock(&mut self) {
        self.settling.cut();
        self.is_unblocked = true;
    }

    /// Whether its client no longer waits for it when it stops on its way.
    pub(crate) fn is_unblocked(&self) -> bool {
        self.is_unblocked
    }

    /// Notes that it has disconnected its client, which has its answer first.
    pub(crate) fn note_killed(&mut self) {
        self.has_killed = true;
    }

    /// Whether it has disconnected its client.
    pub(crate) fn has_killed(&self) -> bool {
        self.has_killed
    }

    /// Writes the reply to the request for it, at its end.
    ///
    /// # Errors
    /// See [`ClockAdvance::wall_ms`].
    pub(crate) fn write(&self, now: Now, reply: &mut dyn Reply) -> Result<(), ClockError> {
        let wall_ms = self.wall_ms(now)?;
        match &self.reply {
            AdvanceReply::Wall => reply.integer(wall_ms),
            AdvanceReply::Counts => self.write_counts(3, wall_ms, reply),
            AdvanceReply::What(_) if self.fired == 0 => reply.null(),
            AdvanceReply::What(what) => {
                self.write_counts(4, wall_ms, reply);
                reply.bulk(b"what");
                reply.array(what.len());
                what.iter().for_each(|fired| fired.write(reply));
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
        reply.integer(i64::from(self.is_settled()));
    }
}

#[cfg(test)]
mod tests;
