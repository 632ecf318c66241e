//! Control of a running server from anywhere in its process.

use crate::net::Shared;
use lockwheel_engine::Engine;
use lockwheel_engine::clock::{AdvanceProgress, ClockAdvance, ClockChange, Settle};
use lockwheel_engine::core::OtherClients;
use lockwheel_engine::locks::LockSnapshot;
use lockwheel_store::time::{ClockError, Now};
use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The shortest real pause between two pieces of a clock advance, in which other requests run.
const BETWEEN_PIECES: Duration = Duration::from_millis(1);

/// The result of a clock advance that let clients react.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turned {
    /// The number of deadlines that fired.
    pub fired: u64,
    /// Whether clients became quiet in time. False if the limit ended the waiting.
    pub settled: bool,
}

/// Access to the clock and the locks of a running server, from any thread; cheap to clone. Each call is one batch, like
/// a client's requests, and waits for running commands, even for a slow script. A handle does not keep the server
/// running, and shows its last state afterwards.
///
/// ```
/// use lockwheel::{Server, Time};
/// use std::thread;
/// use std::time::Duration;
///
/// let server = Server::builder().port(0).time(Time::Manual).start()?;
/// let handle = server.handle();
/// let turning = thread::spawn(move || handle.advance(Duration::from_secs(30)));
/// assert_eq!(turning.join().expect("it does not panic")?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Handle {
    pub(super) shared: Arc<Shared>,
}

impl Handle {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Handle { shared }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Engine) -> T) -> T {
        self.shared.with_engine(work)
    }

    /// Stops both the wall clock and the monotonic clock. Returns the wall clock, in milliseconds since the epoch.
    ///
    /// ```
    /// # let server = lockwheel::Server::builder().port(0).start()?;
    /// let stopped_at = server.handle().freeze();
    /// assert_eq!(server.handle().wall_ms(), stopped_at);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn freeze(&self) -> i64 {
        self.change_in_range(ClockChange::Freeze)
    }

    /// Lets both clocks run again from their current times. Returns the wall clock, in milliseconds since the epoch.
    ///
    /// ```
    /// # let server = lockwheel::Server::builder().port(0).start()?;
    /// let stopped_at = server.handle().freeze();
    /// assert!(server.handle().resume() >= stopped_at);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resume(&self) -> i64 {
        self.change_in_range(ClockChange::Resume)
    }

    /// Moves both clocks. Every deadline on the way fires at its own instant, in order. Returns the number that fired;
    /// their effects are then on their way to the clients' sockets.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # let server = lockwheel::Server::builder().port(0).time(lockwheel::Time::Manual).start()?;
    /// let before = server.handle().wall_ms();
    /// server.handle().advance(Duration::from_secs(1))?;
    /// assert_eq!(server.handle().wall_ms(), before + 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns a [`ClockError`] if a clock would leave its range of some 146,000 years. Neither clock has moved then.
    pub fn advance(&self, by: Duration) -> Result<u64, ClockError> {
        let ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        let advance = self.with(|engine| engine.clock().advance_by(ms))?;
        Ok(self.take_to_end(advance)?.fired)
    }

    /// Moves both clocks to the next deadline and fires all due there. Returns their number, or `None` without any.
    ///
    /// ```
    /// # let server = lockwheel::Server::builder().port(0).time(lockwheel::Time::Manual).start()?;
    /// assert_eq!(server.handle().next(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next(&self) -> Option<u64> {
        let fired = self.take_to_end(ClockAdvance::to_next(1)).ok()?.fired;
        (fired > 0).then_some(fired)
    }

    /// Does what [`Handle::advance`] does, but after each instant at which clients were sent something, waits until
    /// they have been quiet. Clients that react in their own time thus do so at that instant. Blocks only this thread.
    ///
    /// ```
    /// # use std::time::Duration;
    /// use lockwheel::Settle;
    ///
    /// # let server = lockwheel::Server::builder().port(0).time(lockwheel::Time::Manual).start()?;
    /// let settle = Settle::new(Duration::from_millis(20), Settle::DEFAULT_LIMIT);
    /// let turned = server.handle().advance_settled(Duration::from_secs(1), settle)?;
    /// assert_eq!((turned.fired, turned.settled), (0, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns a [`ClockError`] if a clock would leave its range. Neither clock has moved then.
    pub fn advance_settled(&self, by: Duration, settle: Settle) -> Result<Turned, ClockError> {
        let ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        let advance = self.with(|engine| engine.clock().advance_by(ms))?.settling(Some(settle));
        self.take_to_end(advance)
    }

    /// Does what [`Handle::next`] does, and waits until the clients have been quiet after the last message.
    ///
    /// ```
    /// # use std::time::Duration;
    /// use lockwheel::Settle;
    ///
    /// # let server = lockwheel::Server::builder().port(0).time(lockwheel::Time::Manual).start()?;
    /// let settle = Settle::new(Duration::from_millis(20), Settle::DEFAULT_LIMIT);
    /// assert_eq!(server.handle().next_settled(settle), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_settled(&self, settle: Settle) -> Option<Turned> {
        let turned = self.take_to_end(ClockAdvance::to_next(1).settling(Some(settle))).ok()?;
        (turned.fired > 0).then_some(turned)
    }

    /// Runs a clock advance to its end. Other requests are served between its pieces.
    fn take_to_end(&self, advance: ClockAdvance) -> Result<Turned, ClockError> {
        let advance = self.in_pieces_to_end(advance);
        advance.wall_ms(self.now())?;
        Ok(Turned { fired: advance.fired(), settled: advance.is_settled() })
    }

    fn in_pieces_to_end(&self, advance: ClockAdvance) -> ClockAdvance {
        let mut advance = advance.in_pieces();
        while let AdvanceProgress::WaitUs(us) = self.shared.continue_advance(&mut advance) {
            thread::sleep(Duration::from_micros(us).max(BETWEEN_PIECES));
        }
        advance
    }

    fn change(&self, advance: ClockAdvance) -> Result<i64, ClockError> {
        self.in_pieces_to_end(advance).wall_ms(self.now())
    }

    /// Makes a change that is never out of range. Returns the wall clock right after it.
    fn change_in_range(&self, change: ClockChange) -> i64 {
        self.change(ClockAdvance::changing(change)).unwrap_or_else(|_| self.wall_ms())
    }

    /// Restores the state at the start, as CONTROL.RESET does, for the next test on the same server.
    ///
    /// ```
    /// use lockwheel::OtherClients;
    ///
    /// # let server = lockwheel::Server::builder().port(0).time(lockwheel::Time::Manual).start()?;
    /// let started_at = server.handle().wall_ms();
    /// server.handle().step(-5000)?;
    /// server.handle().reset(OtherClients::Disconnected);
    /// assert_eq!(server.handle().wall_ms(), started_at);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset(&self, clients: OtherClients) {
        self.with(|engine| engine.reset(None, clients));
    }

    /// Moves the wall clock alone by `ms` milliseconds, perhaps backward, as if the system's clock were set. Returns it
    /// in milliseconds since the epoch.
    ///
    /// ```
    /// # let server = lockwheel::Server::builder().port(0).time(lockwheel::Time::Manual).start()?;
    /// let before = server.handle().wall_ms();
    /// assert_eq!(server.handle().step(-5000)?, before - 5000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns a [`ClockError`] if the wall clock would leave its range.
    pub fn step(&self, ms: i64) -> Result<i64, ClockError> {
        let advance = self.with(|engine| engine.clock().advance_changing(ClockChange::Step(ms)))?;
        self.change(advance)
    }

    /// Returns the wall clock, in milliseconds since the epoch.
    pub fn wall_ms(&self) -> i64 {
        self.now().wall_ms()
    }

    fn now(&self) -> Now {
        self.with(|engine| engine.clock().now())
    }

    /// Returns the state of a lock of database 0, as LOCK.INFO does: the holders (native or Redisson's), the remaining
    /// lease and the waiters. O(n), n the holders, the waiters and the patterns that clients are subscribed to.
    ///
    /// ```
    /// use lockwheel::LockMode;
    ///
    /// # let server = lockwheel::Server::builder().port(0).start()?;
    /// let lock = server.handle().lock("orders");
    /// assert_eq!((lock.mode, lock.holders.len(), lock.waiters.len()), (LockMode::Free, 0, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lock(&self, name: impl AsRef<[u8]>) -> LockSnapshot {
        self.with(|engine| engine.lock_snapshot(0, name.as_ref()))
    }

    /// Returns the current state of a lock of another database; `None` if the server has no such database.
    ///
    /// ```
    /// # let server = lockwheel::Server::builder().port(0).start()?;
    /// assert!(server.handle().lock_in(15, "orders").is_some());
    /// assert!(server.handle().lock_in(16, "orders").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lock_in(&self, database: usize, name: impl AsRef<[u8]>) -> Option<LockSnapshot> {
        self.with(|engine| {
            let exists = database < engine.config.databases;
            exists.then(|| engine.lock_snapshot(database, name.as_ref()))
        })
    }

    /// Returns the number of blocked clients that keys have woken since the start. Timeouts do not count.
    pub fn unblocked_clients(&self) -> u64 {
        self.with(|engine| engine.unblocked_clients())
    }

    /// Returns how often a timer has woken the process since the start; never before a deadline.
    pub fn timer_wakes(&self) -> u64 {
        self.shared.timer_wakes()
    }

    /// Asks the server to end, as SHUTDOWN does, and returns at once. [`Server::wait`](crate::Server::wait) and
    /// [`Builder::serve`](crate::Builder::serve) then return.
    ///
    /// ```
    /// # let server = lockwheel::Server::builder().port(0).start()?;
    /// server.handle().shutdown();
    /// server.wait();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shutdown(&self) {
        self.shared.end();
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}
