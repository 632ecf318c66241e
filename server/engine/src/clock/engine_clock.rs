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
    /// The instant as these clocks show it.
    now: Now,
    /// The same instant by the system's clocks.
    system: Now,
    /// The system's instant at the start.
    started: Now,
    timers: Timers,
    /// The advances that the running script or transaction has asked for.
    planned: PlannedAdvances,
    /// The advances that have stopped on their way.
    waiting: WaitingAdvances,
    /// The rule by which an advance that has stopped amid an instant fires the rest of it; nobody else does.
    amid: Option<ExpiryRule>,
    /// Whether the clock was advanced while this server hung, and not everything has fired yet that is due since.
    is_behind: bool,
    /// Number of times that the clocks began anew: an advance from before the last ends.
    resets: u64,
    /// The next look whether that advance goes on, in milliseconds of the system's monotonic clock.
    look_at_ms: i64,
    /// Number of leases of connections that have been renewed.
    renewed_leases: u64,
    stopwatch: Stopwatch,
    /// A request has been run at this instant.
    has_run: bool,
    /// The end of the last request before this instant, by the system's monotonic clock in microseconds.
    quiet_since_us: u64,
    /// Number of requests that have come, and the client that has sent the last.
    requests: u64,
    last_caller: u64,
}

/// Instants and the requests that run at them.
impl EngineClock {
    /// Begins at an instant of the system's clocks.
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

    /// The present instant, as the clocks show it.
    #[inline]
    pub fn now(&self) -> Now {
        self.now
    }

    /// The instant by the system's clocks at which the batch began, or was read again.
    #[inline]
    pub fn system(&self) -> Now {
        self.system
    }

    /// The system's instant at the start.
    pub(crate) fn started(&self) -> Now {
        self.started
    }

    /// The two clocks, for servers that follow them.
    pub fn clocks(&self) -> &Clock {
        &self.clocks
    }

    /// Returns the reading of both clocks at an instant of the system's.
    pub(crate) fn read(&self, system: Now) -> Now {
        self.clocks.read(system)
    }

    /// Whether the clocks run by themselves.
    pub(crate) fn runs(&self) -> bool {
        self.mode() == Mode::Real
    }

    /// Whether the clocks run.
    pub(crate) fn mode(&self) -> Mode {
        self.clocks.mode()
    }

    /// Mode, instant and offset, for `CLOCK.INFO`.
    pub(crate) fn info(&self) -> Info {
        self.clocks.info(self.system)
    }

    /// The engine's own timers.
    #[inline]
    pub(crate) fn timers(&self) -> &Timers {
        &self.timers
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn timers_mut(&mut self) -> &mut Timers {
        &mut self.timers
    }

    /// Sets a timer that is due in so many milliseconds of its clock. The keyspace gives it its order.
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

    /// Goes on at an instant of the system's clocks, at which the stopwatch shows `reading_ns`.
    #[inline]
    pub(crate) fn go_on_at(&mut self, system: Now, reading_ns: u64) {
        if std::mem::take(&mut self.has_run) {
            self.quiet_since_us = self.system.monotonic_us + self.stopwatch.ran_us();
        }
        self.system = system;
        self.now = self.clocks.read(system);
        self.stopwatch.begin(reading_ns);
    }

    /// A request of this client is about to run.
    #[inline]
    pub(crate) fn note_request(&mut self, client: u64) {
        self.has_run = true;
        self.requests += 1;
        self.last_caller = client;
    }

    /// The number of requests that have come, and the client that has sent the last.
    pub(crate) fn last_request(&self) -> (u64, u64) {
        (self.requests, self.last_caller)
    }

    /// Returns the end of the last request before this instant, by the system's monotonic clock in microseconds.
    pub(crate) fn quiet_since_us(&self) -> u64 {
        self.quiet_since_us
    }

    /// The last reading of the stopwatch, in nanoseconds: when the next command begins.
    #[inline]
    pub(crate) fn reading_ns(&self) -> u64 {
        self.stopwatch.reading_ns()
    }

    /// Takes a reading of the stopwatch at the end of a command that began at `began_ns`. Returns how long it took, in
    /// nanoseconds.
    #[inline]
    pub(crate) fn lap(&mut self, began_ns: u64, reading_ns: u64) -> u64 {
        self.stopwatch.lap(began_ns, reading_ns)
    }

    /// The running command makes the whole server sleep: that counts as its own time.
    pub(crate) fn sleep(&mut self, us: u64) {
        self.stopwatch.sleep(us);
    }

    /// The last step may have taken long, though no reading shows it yet.
    pub(crate) fn grow_stale(&mut self) {
        self.stopwatch.grow_stale();
    }

    /// Whether the instant is to be read again before the next command.
    #[inline]
    pub(crate) fn take_stale(&mut self) -> bool {
        self.stopwatch.take_stale()
    }

    /// Counts leases of connections that were renewed.
    pub(crate) fn note_renewed_leases(&mut self, count: u64) {
        self.renewed_leases += count;
    }

    /// The number of leases of connections that have been renewed.
    pub(crate) fn renewed_leases(&self) -> u64 {
        self.renewed_leases
    }
}

/// Deadlines.
impl EngineClock {
    /// The rule by which deadlines expire at the present instant.
    #[inline]
    pub(crate) fn rule(&self) -> ExpiryRule {
        self.amid.unwrap_or_else(|| self.clocks.expiry_rule())
    }

    /// Returns the rule in force when no advance has stopped amid the instant.
    #[inline]
    pub(crate) fn usual_rule(&self) -> ExpiryRule {
        self.clocks.expiry_rule()
    }

    /// Returns the time until the first of these deadlines expires by this rule, in microseconds of the clocks. `None`:
    /// there is none, or the clocks cannot be advanced so far.
    pub(crate) fn reachable_in_us(&self, deadlines: Deadlines, rule: ExpiryRule) -> Option<u64> {
        let in_us = self.now.us_until(deadlines, rule)?;
        self.room_us().is_some_and(|room_us| in_us <= room_us).then_some(in_us)
    }

    /// Returns the range left to both clocks, in microseconds. `None`: they have left their range.
    pub(crate) fn room_us(&self) -> Option<u64> {
        self.clocks.room_us(self.system)
    }

    /// The system's monotonic instant, in microseconds, at which the first timer in real time fires.
    pub(crate) fn next_real_us(&mut self) -> Option<u64> {
        let real = Deadlines { wall_ms: None, monotonic_ms: self.timers.next_deadline(true) };
        self.system.us_until(real, ExpiryRule::Past).map(|us| self.system.monotonic_us.saturating_add(us))
    }

    /// The system's monotonic instant, in microseconds, at which this deadline of the wall clock or the first timer of
    /// the monotonic clock fires; `None` while the clocks stand still.
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

/// Moving the clocks.
impl EngineClock {
    /// An advance of both clocks by `ms`, which has not begun.
    ///
    /// # Errors
    /// Returns an error if a clock would leave its range.
    pub fn advance_by(&self, ms: u64) -> Result<ClockAdvance, ClockError> {
        let target = self.clocks.after(self.system, ms)?;
        Ok(ClockAdvance::by_us(target.monotonic_us - self.now.monotonic_us))
    }

    /// An advance that changes the clock and fires all that is due then; it has not begun.
    ///
    /// # Errors
    /// Returns an error if the clock would leave its range.
    pub fn advance_changing(&self, change: ClockChange) -> Result<ClockAdvance, ClockError> {
        change.apply(&mut self.clocks.clone(), self.system)?;
        Ok(ClockAdvance::changing(change))
    }

    /// Moves both clocks by so many microseconds; whether that has moved them.
    pub(crate) fn move_by(&mut self, us: u64) -> bool {
        // The target was within the range, and so is everything on the way to it.
        let moves = us > 0 && self.clocks.advance_us(self.system, us).is_ok();
        if moves {
            self.now = self.clocks.read(self.system);
        }
        moves
    }

    /// Changes the clocks. Deadlines that this passes are due, and fire afterwards.
    ///
    /// # Errors
    /// Returns an error if a clock would leave its range; then they are as before.
    pub(crate) fn change(&mut self, change: &ClockChange) -> Result<(), ClockError> {
        change.apply(&mut self.clocks, self.system)?;
        self.stop_advance(None);
        self.now = self.clocks.read(self.system);
        Ok(())
    }

    /// Follows the clocks of the other servers, at an instant of the system's; the engine has hung while they went on.
    /// `keeps_change`: a client has changed its own clocks before, and the others will follow that.
    pub(crate) fn catch_up(&mut self, clocks: &Clock, system: Now, keeps_change: bool) {
        self.stop_advance(None);
        if keeps_change {
            let behind_us =
                clocks.read(system).monotonic_us.saturating_sub(self.clocks.read(system).monotonic_us);
            // The other clock is as far already.
            let _in_range = self.clocks.advance_us(system, behind_us);
        } else {
            self.clocks = clocks.clone();
        }
        self.is_behind = true;
    }

    /// Whether the clock was advanced while this server hung, and not everything has fired yet that is due since.
    #[inline]
    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// A piece of what is due has fired, or all of it.
    #[inline]
    pub(crate) fn note_fired(&mut self, is_left: bool) {
        self.is_behind &= is_left;
    }

    /// Begins the clocks as at the start; the monotonic one continues from where it is.
    pub(crate) fn reset(&mut self, at_start: &Clock) {
        self.waiting.clear_detached();
        self.planned = PlannedAdvances::default();
        (self.amid, self.is_behind) = (None, false);
        self.resets += 1;
        self.clocks.restart(at_start, self.system);
        self.now = self.clocks.read(self.system);
    }

    /// The number of times that the clocks began anew.
    pub(crate) fn resets(&self) -> u64 {
        self.resets
    }

    /// The clocks that are shared began anew so many times.
    pub(crate) fn set_resets(&mut self, resets: u64) {
        self.resets = resets;
    }
}

/// Advances that have stopped, and those to come.
impl EngineClock {
    /// The rule by which an advance that has stopped amid an instant fires the rest of it, if one has.
    #[inline]
    pub(crate) fn amid(&self) -> Option<ExpiryRule> {
        self.amid
    }

    /// An advance has stopped: amid an instant, where deadlines expire by this rule, or not.
    pub(crate) fn stop_advance(&mut self, amid: Option<ExpiryRule>) {
        self.amid = amid;
        self.look_later();
    }

    fn look_later(&mut self) {
        self.look_at_ms = self.system.monotonic_ms().saturating_add(LOOK_MS);
    }

    /// Returns when to look whether an advance that has stopped amid an instant goes on, in microseconds of the
    /// system's monotonic clock.
    pub(crate) fn look_at_us(&self) -> u64 {
        self.look_at_ms.unsigned_abs().saturating_mul(1000)
    }

    /// Whether that time has come; if so, the next look is due later.
    pub(crate) fn takes_look(&mut self) -> bool {
        let is_due = self.amid.is_some() && self.look_at_ms <= self.system.monotonic_ms();
        if is_due {
            self.look_later();
        }
        is_due
    }

    /// A client begins to wait for an advance.
    pub(crate) fn await_advance(&mut self, client: u64, advance: Box<ClockAdvance>) {
        self.waiting.begin(client, advance);
    }

    /// Lets an advance go on without its client, in so many microseconds of real time.
    pub(crate) fn detach(&mut self, advance: Box<ClockAdvance>, us: u64, keyspace: &mut Keyspace) {
        let number = self.waiting.detach(advance);
        self.set_timer(keyspace, (TimerKind::Advance, number), us.div_ceil(1000));
    }

    /// A client no longer waits for its advance, if it has one that has stopped: that goes on without it.
    pub(crate) fn leave_advance(&mut self, client: u64, keyspace: &mut Keyspace) {
        if let Some(advance) = self.forget_advance(client) {
            self.detach(advance, 0, keyspace);
        }
    }

    /// Lets an advance fire what is left at the present instant.
    pub(crate) fn fire_rest_of_instant(&mut self, keyspace: &mut Keyspace) {
        let rest = ClockAdvance::rest_of_instant(self.rule()).in_pieces();
        self.detach(Box::new(rest), 0, keyspace);
    }

    /// Takes an advance that has stopped, to continue it. `None`: it goes on already, or a reset has ended it.
    pub(crate) fn take_advance(&mut self, owner: AdvanceOwner) -> Option<Box<ClockAdvance>> {
        self.waiting.take(owner)
    }

    /// The advance that a client waits for, unless it goes on.
    pub(crate) fn awaited_advance(&mut self, client: u64) -> Option<&mut ClockAdvance> {
        self.waiting.get_mut(client)
    }

    /// An advance that a client waits for has stopped again. It comes back if the client no longer waits.
    pub(crate) fn put_back(
        &mut self,
        client: u64,
        advance: Box<ClockAdvance>,
    ) -> Result<(), Box<ClockAdvance>> {
        self.waiting.put_back(client, advance)
    }

    /// A client no longer waits for its advance. Returns the advance, unless that goes on.
    pub(crate) fn forget_advance(&mut self, client: u64) -> Option<Box<ClockAdvance>> {
        self.waiting.end(client)
    }

    /// Whether a client is killed by what its own advance has brought about, as by a sentinel that promotes its server:
    /// it gets the reply before it is disconnected.
    pub(crate) fn note_killed(&mut self, client: u64) -> bool {
        self.waiting.note_killed(client)
    }

    /// Plans an advance for the end of the running script or transaction.
    ///
    /// # Errors
    /// Returns an error if a clock would leave its range after those that are planned already, or if there are too
    /// many.
    pub(crate) fn plan(&mut self, planned: PlannedAdvance) -> Result<(), CommandError> {
        self.planned.plan(planned, &self.clocks, self.system)
    }

    /// Whether advances are planned.
    #[inline]
    pub(crate) fn has_planned(&self) -> bool {
        !self.planned.is_empty()
    }

    /// Takes the planned advances, in order.
    pub(crate) fn take_planned(&mut self) -> Vec<PlannedAdvance> {
        self.planned.take()
    }

    /// Makes a planned advance. `None`: another client has changed the clock since, and it would leave its range.
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
