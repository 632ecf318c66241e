//! The instant at which the engine is, and what moves it.

use super::advance::ClockAdvance;
use super::change::ClockChange;
use super::monotonic_timers::MonotonicTimers;
use super::planned::{PlannedAdvance, PlannedAdvances};
use super::stopwatch::Stopwatch;
use super::timers::{Timer, TimerKey, TimerKind, Timers};
use super::waiting::{AdvanceOwner, WaitingAdvances};
use crate::spec::CommandError;
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::time::{Clock, ClockError, Deadlines, ExpiryRule, Info, Mode, Now};

/// An advance that has stopped amid an instant goes on a millisecond later. If it has not after this time, the other
/// servers of a topology look whether its server is there. In milliseconds of real time.
const LOOK_MS: i64 = 100;

/// The instant of the present batch, the two clocks that a test moves, and the engine's own timers.
#[derive(Debug)]
pub struct EngineClock {
    /// The two clocks that a test moves.
    clocks: Clock,
    now: Now,
    /// The present instant by the system's clocks.
    system: Now,
    started: Now,
    timers: Timers,
    /// The advances that the running script or transaction has asked for.
    planned: PlannedAdvances,
    /// The advances that have stopped on their way.
    waiting: WaitingAdvances,
    /// The rule of an advance that has stopped amid an instant. Only that advance fires the rest of the instant.
    amid: Option<ExpiryRule>,
    /// Whether the clock was advanced while this server hung, and not all deadlines since have fired yet.
    is_behind: bool,
    /// The number of resets of the clocks. An advance from before the last reset ends.
    resets: u64,
    /// The next check whether a stopped advance continues, in milliseconds of the system's monotonic clock.
    look_at_ms: i64,
    /// The number of renewed leases of connections.
    renewed_leases: u64,
    stopwatch: Stopwatch,
    /// Whether a request has run at this instant.
    has_run: bool,
    /// The end of the last request before this instant, by the system's monotonic clock in microseconds.
    quiet_since_us: u64,
    /// The number of requests so far, and the client of the last one.
    requests: u64,
    last_caller: u64,
}

impl EngineClock {
    /// Returns the clock at an instant of the system's clocks.
    pub(crate) fn new(clocks: Clock, system: Now) -> Self {
        let now = clocks.read(system);
        EngineClock {
            clocks,
            now,
            system,
            started: system,
            timers: Timers::default(),
            planned: PlannedAdvances::default(),
            waiting: WaitingAdvances::default(),
            amid: None,
            is_behind: false,
            resets: 0,
            look_at_ms: 0,
            renewed_leases: 0,
            stopwatch: Stopwatch::default(),
            has_run: false,
            quiet_since_us: system.monotonic_us,
            requests: 0,
            last_caller: 0,
        }
    }

    /// Returns the present instant, as the clocks show it.
    #[inline]
    pub fn now(&self) -> Now {
        self.now
    }

    /// Returns the instant by the system's clocks at which the batch began, or at which it was last read.
    #[inline]
    pub fn system(&self) -> Now {
        self.system
    }

    pub(crate) fn started(&self) -> Now {
        self.started
    }

    /// Returns the two clocks, for servers that follow them.
    pub fn clocks(&self) -> &Clock {
        &self.clocks
    }

    /// Returns both clocks' readings at an instant of the system's clocks.
    pub(crate) fn read(&self, system: Now) -> Now {
        self.clocks.read(system)
    }

    pub(crate) fn runs(&self) -> bool {
        self.mode() == Mode::Real
    }

    pub(crate) fn mode(&self) -> Mode {
        self.clocks.mode()
    }

    /// Returns the mode, instant and offset, for `CLOCK.INFO`.
    pub(crate) fn info(&self) -> Info {
        self.clocks.info(self.system)
    }

    #[inline]
    pub(crate) fn timers(&self) -> &Timers {
        &self.timers
    }

    #[inline]
    pub(crate) fn timers_mut(&mut self) -> &mut Timers {
        &mut self.timers
    }

    /// Sets a timer that is due in `ms` milliseconds of its clock. The keyspace gives it its order.
    pub(crate) fn set_timer(
        &mut self,
        keyspace: &mut Keyspace,
        (kind, client): (TimerKind, u64),
        ms: u64,
    ) -> TimerKey {
        let now = if kind.is_real() { self.system } else { self.now };
        let timer = Timer { kind, client, order: keyspace.next_order() };
        // Saturates on overflow.
        self.timers.insert(timer, now.monotonic_ms().saturating_add_unsigned(ms))
    }

    /// Returns the timers of the monotonic clock, for a part that sets its own. The keyspace gives them their order.
    pub(crate) fn monotonic_timers<'e>(&'e mut self, keyspace: &'e mut Keyspace) -> MonotonicTimers<'e> {
        MonotonicTimers::new(self.now().monotonic_ms(), &mut self.timers, keyspace)
    }

    /// Continues at an instant of the system's clocks, at which the stopwatch shows `reading_ns`.
    #[inline]
    pub(crate) fn go_on_at(&mut self, system: Now, reading_ns: u64) {
        if std::mem::take(&mut self.has_run) {
            self.quiet_since_us = self.system.monotonic_us + self.stopwatch.ran_us();
        }
        self.system = system;
        self.now = self.clocks.read(system);
        self.stopwatch.begin(reading_ns);
    }

    #[inline]
    pub(crate) fn note_request(&mut self, client: u64) {
        self.has_run = true;
        self.requests += 1;
        self.last_caller = client;
    }

    pub(crate) fn last_request(&self) -> (u64, u64) {
        (self.requests, self.last_caller)
    }

    /// Returns the end of the last request before this instant, by the system's monotonic clock in microseconds.
    pub(crate) fn quiet_since_us(&self) -> u64 {
        self.quiet_since_us
    }

    /// Returns the last reading of the stopwatch, in nanoseconds, at which the next command begins.
    #[inline]
    pub(crate) fn reading_ns(&self) -> u64 {
        self.stopwatch.reading_ns()
    }

    /// Records the reading at the end of a command that began at `began_ns`. Returns its duration, in nanoseconds.
    #[inline]
    pub(crate) fn lap(&mut self, began_ns: u64, reading_ns: u64) -> u64 {
        self.stopwatch.lap(began_ns, reading_ns)
    }

    /// Records that the running command makes the whole server sleep, which counts as its own time.
    pub(crate) fn sleep(&mut self, us: u64) {
        self.stopwatch.sleep(us);
    }

    /// Records that the last step may have taken long although no reading shows it yet.
    pub(crate) fn grow_stale(&mut self) {
        self.stopwatch.grow_stale();
    }

    /// Whether the instant is to be read again before the next command.
    #[inline]
    pub(crate) fn take_stale(&mut self) -> bool {
        self.stopwatch.take_stale()
    }

    pub(crate) fn note_renewed_leases(&mut self, count: u64) {
        self.renewed_leases += count;
    }

    pub(crate) fn renewed_leases(&self) -> u64 {
        self.renewed_leases
    }
}

impl EngineClock {
    #[inline]
    pub(crate) fn rule(&self) -> ExpiryRule {
        self.amid.unwrap_or_else(|| self.clocks.expiry_rule())
    }

    /// Returns the rule in force if no advance has stopped amid the instant.
    #[inline]
    pub(crate) fn usual_rule(&self) -> ExpiryRule {
        self.clocks.expiry_rule()
    }

    /// Returns the time until the first of these deadlines expires by this rule, in microseconds of the clocks. `None`
    /// if there is none, or if it is out of the clocks' range.
    pub(crate) fn reachable_in_us(&self, deadlines: Deadlines, rule: ExpiryRule) -> Option<u64> {
        let in_us = self.now.us_until(deadlines, rule)?;
        self.room_us().is_some_and(|room_us| in_us <= room_us).then_some(in_us)
    }

    /// Returns the range left to both clocks, in microseconds. `None` if they have left their range.
    pub(crate) fn room_us(&self) -> Option<u64> {
        self.clocks.room_us(self.system)
    }

    /// Returns when the first timer in real time fires, in microseconds of the system's monotonic clock.
    pub(crate) fn next_real_us(&mut self) -> Option<u64> {
        let real = Deadlines { wall_ms: None, monotonic_ms: self.timers.next_deadline(true) };
        self.system.us_until(real, ExpiryRule::Past).map(|us| self.system.monotonic_us.saturating_add(us))
    }

    /// Returns the instant at which this deadline of the wall clock or the first timer of the monotonic clock fires.
    /// The unit is microseconds of the system's monotonic clock. `None` while the clocks stand still.
    pub(crate) fn next_virtual_us(&mut self, wall_ms: Option<i64>) -> Option<u64> {
        let deadlines = Deadlines { wall_ms, monotonic_ms: self.timers.next_deadline(false) };
        let us = self.clocks.until(self.system, deadlines)?;
        Some(self.system.monotonic_us.saturating_add(us))
    }

    /// Takes the next timer in real time that is due, if there is one.
    pub(crate) fn pop_real(&mut self) -> Option<Timer> {
        self.timers.pop_due(true, ExpiryRule::Past.until_ms(self.system.monotonic_ms()))
    }
}

impl EngineClock {
    /// Returns an advance of both clocks by `ms`, which has not begun.
    ///
    /// # Errors
    /// Returns an error if a clock would leave its range.
    pub fn advance_by(&self, ms: u64) -> Result<ClockAdvance, ClockError> {
        let target = self.clocks.after(self.system, ms)?;
        Ok(ClockAdvance::by_us(target.monotonic_us - self.now.monotonic_us))
    }

    /// Returns an advance that changes the clock and fires everything that is due then. It has not begun.
    ///
    /// # Errors
    /// Returns an error if the clock would leave its range.
    pub fn advance_changing(&self, change: ClockChange) -> Result<ClockAdvance, ClockError> {
        change.apply(&mut self.clocks.clone(), self.system)?;
        Ok(ClockAdvance::changing(change))
    }

    /// Moves both clocks by this many microseconds. Returns whether they have moved.
    pub(crate) fn move_by(&mut self, us: u64) -> bool {
        // The target was within the range, and so is everything on the way to it.
        let moves = us > 0 && self.clocks.advance_us(self.system, us).is_ok();
        if moves {
            self.now = self.clocks.read(self.system);
        }
        moves
    }

    /// Changes the clocks. Deadlines that they pass fire afterwards. Fails, without a change, out of the clocks' range.
    pub(crate) fn change(&mut self, change: &ClockChange) -> Result<(), ClockError> {
        change.apply(&mut self.clocks, self.system)?;
        self.stop_advance(None);
        self.now = self.clocks.read(self.system);
        Ok(())
    }

    /// Follows the clocks of the other servers, at an instant of the system's clocks, after the engine has hung.
    /// `keeps_change`: a client has changed this engine's clocks before, and the others will follow that change.
    pub(crate) fn catch_up(&mut self, clocks: &Clock, system: Now, keeps_change: bool) {
        self.stop_advance(None);
        if keeps_change {
            let behind_us =
                clocks.read(system).monotonic_us.saturating_sub(self.clocks.read(system).monotonic_us);
            // The other clock has already reached this instant.
            let _in_range = self.clocks.advance_us(system, behind_us);
        } else {
            self.clocks = clocks.clone();
        }
        self.is_behind = true;
    }

    /// Whether the clock was advanced while this server hung, and not all deadlines since have fired yet.
    #[inline]
    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Records that due deadlines have fired. `is_left`: whether some are left.
    #[inline]
    pub(crate) fn note_fired(&mut self, is_left: bool) {
        self.is_behind &= is_left;
    }

    /// Resets the clocks to their start. The monotonic clock continues from its present instant.
    pub(crate) fn reset(&mut self, at_start: &Clock) {
        self.waiting.clear_detached();
        self.planned = PlannedAdvances::default();
        (self.amid, self.is_behind) = (None, false);
        self.resets += 1;
        self.clocks.restart(at_start, self.system);
        self.now = self.clocks.read(self.system);
    }

    pub(crate) fn resets(&self) -> u64 {
        self.resets
    }

    pub(crate) fn set_resets(&mut self, resets: u64) {
        self.resets = resets;
    }
}

impl EngineClock {
    /// Returns the rule of an advance that has stopped amid an instant; only that advance fires the rest.
    #[inline]
    pub(crate) fn amid(&self) -> Option<ExpiryRule> {
        self.amid
    }

    /// Records that an advance has stopped. `amid`: the rule of the instant's remaining deadlines, if any.
    pub(crate) fn stop_advance(&mut self, amid: Option<ExpiryRule>) {
        self.amid = amid;
        self.look_later();
    }

    fn look_later(&mut self) {
        self.look_at_ms = self.system.monotonic_ms().saturating_add(LOOK_MS);
    }

    /// Returns when to check whether such an advance continues, in microseconds of the system's monotonic clock.
    pub(crate) fn look_at_us(&self) -> u64 {
        self.look_at_ms.unsigned_abs().saturating_mul(1000)
    }

    /// Whether that check is due. If so, the next one is scheduled.
    pub(crate) fn takes_look(&mut self) -> bool {
        let is_due = self.amid.is_some() && self.look_at_ms <= self.system.monotonic_ms();
        if is_due {
            self.look_later();
        }
        is_due
    }

    pub(crate) fn await_advance(&mut self, client: u64, advance: Box<ClockAdvance>) {
        self.waiting.begin(client, advance);
    }

    /// Lets an advance continue without its client, after `us` microseconds of real time.
    pub(crate) fn detach(&mut self, advance: Box<ClockAdvance>, us: u64, keyspace: &mut Keyspace) {
        let number = self.waiting.detach(advance);
        self.set_timer(keyspace, (TimerKind::Advance, number), us.div_ceil(1000));
    }

    /// Records that a client no longer waits. Its advance, if it has stopped, continues without the client.
    pub(crate) fn leave_advance(&mut self, client: u64, keyspace: &mut Keyspace) {
        if let Some(advance) = self.forget_advance(client) {
            self.detach(advance, 0, keyspace);
        }
    }

    /// Schedules an advance that fires the deadlines left at the present instant.
    pub(crate) fn fire_rest_of_instant(&mut self, keyspace: &mut Keyspace) {
        let rest = ClockAdvance::rest_of_instant(self.rule()).in_pieces();
        self.detach(Box::new(rest), 0, keyspace);
    }

    /// Takes an advance that has stopped, to continue it. `None` if it already continues, or if a reset has ended it.
    pub(crate) fn take_advance(&mut self, owner: AdvanceOwner) -> Option<Box<ClockAdvance>> {
        self.waiting.take(owner)
    }

    /// Returns the advance that a client waits for, unless it is being continued.
    pub(crate) fn awaited_advance(&mut self, client: u64) -> Option<&mut ClockAdvance> {
        self.waiting.get_mut(client)
    }

    /// Puts an advance back that has stopped again. Returns it as an error if its client no longer waits.
    pub(crate) fn put_back(
        &mut self,
        client: u64,
        advance: Box<ClockAdvance>,
    ) -> Result<(), Box<ClockAdvance>> {
        self.waiting.put_back(client, advance)
    }

    /// Records that a client no longer waits. Returns its advance, unless that is being continued.
    pub(crate) fn forget_advance(&mut self, client: u64) -> Option<Box<ClockAdvance>> {
        self.waiting.end(client)
    }

    /// Whether a client is killed by its own advance, as when a sentinel promotes its server. It gets its reply first.
    pub(crate) fn note_killed(&mut self, client: u64) -> bool {
        self.waiting.note_killed(client)
    }

    /// Plans an advance for the end of the running script or transaction. Fails if a clock would leave its range after
    /// the advances that are planned already, or if there are too many of them.
    pub(crate) fn plan(&mut self, planned: PlannedAdvance) -> Result<(), CommandError> {
        self.planned.plan(planned, &self.clocks, self.system)
    }

    #[inline]
    pub(crate) fn has_planned(&self) -> bool {
        !self.planned.is_empty()
    }

    pub(crate) fn take_planned(&mut self) -> Vec<PlannedAdvance> {
        self.planned.take()
    }

    /// Returns the advance for a plan; `None` if it would leave the range of a clock changed since.
    pub(crate) fn planned_advance(&self, planned: PlannedAdvance) -> Option<ClockAdvance> {
        let advance = match planned {
            PlannedAdvance::Advance { ms, waiters } => {
                self.advance_by(ms).map(|advance| advance.waking(waiters))
            }
            PlannedAdvance::Step(ms) => self.advance_changing(ClockChange::Step(ms)),
        };
        advance.ok()
    }
}
