//! The state machine of an advance of the clock, without an engine. [`core/advance.rs`](crate::core) drives it:
//! [`ClockAdvance::resume`] says how the advance goes on; then each [`AdvanceStep`] is carried out and its outcome
//! reported, until the advance stops.

use super::change::ClockChange;
use super::fired::{Fired, ShownFired};
use super::piece::PieceBudget;
use super::recurrences::{Recurrences, RetriedKey};
use super::settle::{Settle, Settling};
use lockwheel_resp::Reply;
use lockwheel_store::time::{ClockError, ExpiryRule, Now};

/// Whether Redisson waiters get an unlock message if an advance of the clock ends the lease that they wait for.
/// Redisson measures the lease by the client's own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedissonWaiters {
    /// The waiters get an unlock message.
    #[default]
    Woken,
    /// The waiters get no message.
    LeftAsleep,
}

/// The state of an advance of the clock when it stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdvanceProgress {
    /// The advance has reached its end.
    Done,
    /// The advance continues after so many microseconds of real time: clients may still react to what they got.
    WaitUs(u64),
}

/// The remaining length of an advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remaining {
    /// Microseconds of the clocks.
    Us(u64),
    /// Instants with deadlines.
    Instants(u64),
}

impl Remaining {
    /// Whether the advance reaches a deadline that is `in_us` microseconds away.
    fn reaches(self, in_us: u64) -> bool {
        match self {
            Remaining::Us(us) => in_us <= us,
            Remaining::Instants(count) => count > 0,
        }
    }

    /// Subtracts the way to a deadline that is `in_us` microseconds away.
    fn spend(&mut self, in_us: u64) {
        match self {
            Remaining::Us(us) => *us -= in_us,
            Remaining::Instants(count) => *count -= 1,
        }
    }
}

#[derive(Debug)]
enum AdvanceReply {
    /// The instant of the wall clock.
    Wall,
    /// The number of fired deadlines.
    Counts,
    /// The fired deadlines, in order, with their number.
    What(Vec<ShownFired>),
}

/// The situation of the servers that advance together, when an advance is to continue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    /// The system's monotonic clock, and the end of the last request on it, in microseconds.
    pub(crate) system_us: u64,
    pub(crate) quiet_since_us: u64,
    /// The rule of an advance that has stopped amid the present instant.
    pub(crate) amid: Option<ExpiryRule>,
    /// The rule by which deadlines expire at the present instant.
    pub(crate) rule: ExpiryRule,
    pub(crate) resets: u64,
    /// The wall clock, in milliseconds.
    pub(crate) wall_ms: i64,
    /// The range left to the clocks, in microseconds. `None` if they have left their range.
    pub(crate) room_us: Option<u64>,
}

/// The way in which an advance continues.
#[derive(Debug)]
pub(crate) enum Opening {
    /// The advance does not continue, for now or for good.
    Stop(AdvanceProgress),
    /// Finish the present instant by another advance, and then call [`ClockAdvance::finished_instant`].
    FinishInstant(Box<ClockAdvance>),
    /// Change the clock, and then call [`ClockAdvance::changed`].
    Change(ClockChange),
    /// Advance by [`ClockAdvance::next`].
    Advance,
}

#[derive(Debug)]
pub(crate) enum AdvanceStep {
    /// Read the system's monotonic clock.
    ReadClock,
    /// Find the first deadline of all servers by [`ClockAdvance::rule`].
    FindDeadline,
    /// Move the clocks of all servers by this many microseconds.
    MoveBy(u64),
    /// Fire the deadline found, with at most so many fields of a hash. [`ClockAdvance::see`] is called for it.
    Fire(usize),
    /// Retry the waiters of a key only after this many microseconds.
    RetryAfter(RetriedKey, u64),
    /// Deliver what the servers have sent one another.
    Exchange,
    /// Move the recurring deadlines on as if this many milliseconds had passed.
    LeapOver(u64),
    Stop(AdvanceProgress),
}

/// The outcome of the last step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AdvanceEvent {
    /// The advance continues. `is_joint`: several servers advance together.
    GoOn {
        is_joint: bool,
    },
    /// The reading of the system's monotonic clock, in microseconds.
    Read(u64),
    /// The time to the first deadline that the clocks can reach. `wakes` counts how often clients were sent something.
    Found {
        in_us: Option<u64>,
        wakes: u64,
    },
    /// The deadline has fired. `deadlines`: the number of fields of a hash, or 1. `renewed`: the number of renewed
    /// leases. `has_served`: whether waiters were served.
    Fired {
        deadlines: usize,
        renewed: u64,
        has_served: bool,
    },
    Done,
}

/// The outcome for which an advance waits.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// No outcome. The advance has stopped and must be continued.
    Stopped,
    /// The reading of the clock at the beginning of a piece.
    ReadingStart,
    /// The search for the next instant with deadlines.
    Seeking,
    /// The move to that instant.
    Moving,
    /// The firing of the deadline there.
    Firing,
    /// The postponement of the waiters of a key.
    PuttingOff,
    /// The exchange between the servers.
    Exchanging,
    /// The reading of the clock that measures the piece.
    ReadingLength,
    /// The search for more deadlines at the instant.
    Looking,
    /// The leap over recurring deadlines.
    Leaping,
    /// The search for the first deadline after the leap.
    SeekingBeyond,
    /// The reading of the clock when clients begin to react, before the deadline in `next` microseconds.
    Reading { next: Option<u64>, wakes: u64 },
    /// The move to the end of the advance, at which nothing is due.
    Arriving,
}

/// An advance of the clock. [`Engine::continue_advance`](crate::Engine::continue_advance) takes it to its end.
#[derive(Debug)]
pub struct ClockAdvance {
    remaining: Remaining,
    /// The change of the clock with which the advance begins.
    change: Option<ClockChange>,
    /// The rule by which deadlines expire on the way.
    rule: ExpiryRule,
    waiters: RedissonWaiters,
    fired: u64,
    phase: Phase,
    piece: PieceBudget,
    /// Whether several servers advance together.
    is_joint: bool,
    /// The number of times that clients had been sent something when the advance reached its instant.
    wakes: u64,
    /// Whether the advance has stopped amid an instant's deadlines, so that other clients are answered.
    is_amid: bool,
    /// The wall clock at the last instant, in milliseconds.
    arrived_ms: Option<i64>,
    resets: Option<u64>,
    /// The error if another client has moved the clock so that the advance would leave its range.
    error: Option<ClockError>,
    recurrences: Recurrences,
    settling: Settling,
    reply: AdvanceReply,
    /// Whether the client no longer waits when the advance stops on the way.
    is_unblocked: bool,
    /// Whether the advance has disconnected its own client. The client first gets its reply.
    has_killed: bool,
}

impl Default for ClockAdvance {
    /// Returns an advance of no length.
    fn default() -> Self {
        ClockAdvance::to(Remaining::Us(0))
    }
}

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

    /// Returns an advance by this many microseconds, which must be within the range of the clocks.
    pub(super) fn by_us(us: u64) -> Self {
        ClockAdvance::to(Remaining::Us(us))
    }

    /// Returns an advance over `count` instants with deadlines. Deadlines at one instant count once.
    pub fn to_next(count: u64) -> Self {
        ClockAdvance { reply: AdvanceReply::What(Vec::new()), ..ClockAdvance::to(Remaining::Instants(count)) }
    }

    /// Returns an advance that changes the clock and fires everything that is due then.
    pub fn changing(change: ClockChange) -> Self {
        let rule = change.rule();
        ClockAdvance { change: Some(change), rule, reply: AdvanceReply::Wall, ..ClockAdvance::default() }
    }

    pub(crate) fn rest_of_instant(rule: ExpiryRule) -> Self {
        ClockAdvance { rule, ..ClockAdvance::default() }
    }

    /// Sets whether Redisson's waiters are woken. The default is to wake them.
    #[must_use]
    pub fn waking(self, waiters: RedissonWaiters) -> Self {
        ClockAdvance { waiters, ..self }
    }

    /// Lets clients react on the way, if `settle` is given.
    #[must_use]
    pub fn settling(self, settle: Option<Settle>) -> Self {
        ClockAdvance { settling: Settling::new(settle), ..self }
    }

    /// Lets other clients be answered when much is due; the advance continues a millisecond of real time later.
    #[must_use]
    pub fn in_pieces(self) -> Self {
        ClockAdvance { piece: PieceBudget::LIMITED, ..self }
    }
}

impl ClockAdvance {
    /// Continues the advance, if possible.
    pub(crate) fn resume(&mut self, situation: &Situation) -> Opening {
        self.settling.begin(situation.system_us);
        if let Some(wait_us) = self.settling.wait_us(situation.system_us, situation.quiet_since_us) {
            return Opening::Stop(AdvanceProgress::WaitUs(wait_us));
        }
        // Another client has had the rest of the last instant fired, or has reset the clocks.
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

    /// Records that the rest of the present instant, or a piece of it, has fired.
    pub(crate) fn finished_instant(&mut self, progress: AdvanceProgress) -> Opening {
        self.is_amid = progress != AdvanceProgress::Done;
        match self.change.take_if(|_| progress == AdvanceProgress::Done) {
            Some(change) => Opening::Change(change),
            None => Opening::Stop(progress),
        }
    }

    /// Records that the clock was changed, or that it would have left its range.
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

impl ClockAdvance {
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

    /// Whether to read the real time that the piece has taken. Servers that advance together do so after each deadline,
    /// because they notify one another of it. A single server does so after several.
    fn is_timed(&self) -> bool {
        self.piece.is_limited() && (self.is_joint || self.piece.is_reading_due())
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

    /// Moves to the next instant with deadlines, or to the end of the advance.
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

    /// Whether the advance reaches a deadline that is `in_us` microseconds away. If so, the way to it is subtracted.
    fn reaches(&mut self, in_us: u64) -> bool {
        // The advance is already at this instant and fires the rest of it.
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

    /// Records a deadline that is firing.
    pub(crate) fn see(&mut self, fired: Fired<'_>) {
        self.fired += 1;
        self.piece.spend(1);
        self.recurrences.see(fired);
        if let AdvanceReply::What(what) = &mut self.reply {
            what.push(fired.shown());
        }
    }

    /// Records a fired deadline. Each field of a hash and each renewed lease beyond the first counts as another one.
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

    /// Fires the deadlines that are still due at the instant, unless the piece has been used up.
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

    /// Lets clients react to what they were sent. The clock is read first, because firing may have taken long.
    fn react(&mut self, next: Option<u64>, wakes: u64) -> AdvanceStep {
        if self.settling.take_sent() {
            return self.read_clock(Phase::Reading { next, wakes });
        }
        self.end_piece(next, wakes)
    }

    /// Lets other clients be answered if the piece has been used up and the advance continues after it.
    fn end_piece(&mut self, next: Option<u64>, wakes: u64) -> AdvanceStep {
        if self.piece.take_spent() && next.is_some_and(|in_us| self.remaining.reaches(in_us)) {
            return self.stop(AdvanceProgress::WaitUs(0));
        }
        self.go_to(next, wakes)
    }

    /// Records that the advance has stopped, or has ended by a panic (`None`), with the wall clock at `wall_ms`. If it
    /// has stopped amid an instant, returns the rule by which the rest is due.
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

impl ClockAdvance {
    pub(crate) fn rule(&self) -> ExpiryRule {
        self.rule
    }

    /// Whether the advance publishes no messages to Redisson's waiters.
    pub(crate) fn is_quiet(&self) -> bool {
        self.waiters == RedissonWaiters::LeftAsleep
    }

    pub(crate) fn is_amid(&self) -> bool {
        self.is_amid
    }

    /// Returns the wall clock at the last instant, in milliseconds since the epoch; `now` before that.
    ///
    /// # Errors
    /// Returns an error if another client has moved the clock so that the advance would leave its range.
    pub fn wall_ms(&self, now: Now) -> Result<i64, ClockError> {
        self.error.map_or(Ok(self.arrived_ms.unwrap_or(now.wall_ms())), Err)
    }

    /// Returns the number of deadlines that have fired.
    pub fn fired(&self) -> u64 {
        self.fired
    }

    /// Whether the clients always fell silent before the limit.
    pub fn is_settled(&self) -> bool {
        self.settling.is_settled()
    }

    /// Takes the advance to its end without waiting for its client, but with stops for other clients.
    pub(crate) fn unblock(&mut self) {
        self.settling.cut();
        self.is_unblocked = true;
    }

    pub(crate) fn is_unblocked(&self) -> bool {
        self.is_unblocked
    }

    /// Records that the advance has disconnected its own client, which first gets its reply.
    pub(crate) fn note_killed(&mut self) {
        self.has_killed = true;
    }

    pub(crate) fn has_killed(&self) -> bool {
        self.has_killed
    }

    /// Writes the reply at the end of the advance. Fails as [`ClockAdvance::wall_ms`].
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
