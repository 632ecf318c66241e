//! The loop that drives connections: closed (a batch follows the replies to the last) or open (at a rate, whatever
//! the server does).

use super::Step;
use super::connection::Connection;
use super::keys::Order;
use crate::error::{Error, Result};
use crate::servers::cpu;
use hdrhistogram::Histogram;
use mio::{Events, Interest, Poll, Token};
use std::net::SocketAddr;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The longest latency that is told apart, in nanoseconds: a minute.
const LATENCY_MAX: u64 = 60_000_000_000;
/// Digits of a latency that are kept.
const LATENCY_DIGITS: u8 = 3;
/// A server that says nothing for so long is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(20);
/// Nearer than this the next intended time is waited for awake: a sleep ends up to a millisecond late.
const SPIN: Duration = Duration::from_millis(2);

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The requests of a turn; a turn has one key.
    pub steps: &'a [Step],
    /// Requests a batch.
    pub pipeline: usize,
    /// How keys are chosen.
    pub order: Order,
    /// How many keys there are, over all connections; not fewer than connections.
    pub keys: u64,
    /// Decides all chance.
    pub seed: u64,
    /// Where counters begin.
    pub counter: u64,
    /// When the run ends.
    pub limit: Limit,
    /// Requests a second, over all connections, sent at their times whatever the server does; `None`: as many as the
    /// server answers.
    pub rate: Option<f64>,
}

/// When a run ends: when any of these is reached. Turns that have begun are ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limit {
    /// Requests.
    pub ops: Option<u64>,
    /// Time.
    pub time: Option<Duration>,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Requests that were answered, all rightly.
    pub ops: u64,
    /// From the first request to the last reply.
    pub elapsed: Duration,
    /// Of each batch, in nanoseconds: from when it was sent (at a rate: should have been) to its last reply.
    pub latency: Histogram<u64>,
    /// CPU time of the generator's thread, where the system tells.
    pub cpu: Option<Duration>,
    /// The highest counter, where the next run's begin.
    pub counter: u64,
}

/// One thread's connections.
pub struct Generator {
    poll: Poll,
    connections: Vec<Connection>,
    /// All connections, of all generators.
    total: u64,
}

/// Intended times: batch k of this generator at start + k * interval, on connection k modulo their number.
struct Schedule {
    start: Instant,
    interval: Duration,
    next: u64,
}

impl Schedule {
    fn at(&self, batch: u64) -> Instant {
        self.start + Duration::from_nanos((self.interval.as_nanos() as u64).saturating_mul(batch))
    }
}

/// A run under way.
struct Run {
    start: Instant,
    end: Option<Instant>,
    ops_max: u64,
    ops: u64,
    /// Connections with a batch under way.
    busy: usize,
    ends: bool,
    latency: Histogram<u64>,
    schedule: Option<Schedule>,
}

impl Generator {
    /// Opens connections with the numbers `own`, of `total`.
    ///
    /// # Errors
    /// When the server does not accept, or the system gives no more sockets.
    pub fn connect(addr: SocketAddr, own: Range<u64>, total: u64) -> Result<Generator> {
        let poll = Poll::new().map_err(Error::io("open an epoll instance"))?;
        let mut connections = Vec::new();
        for number in own {
            let mut connection = Connection::open(addr, number)?;
            let token = Token(connections.len());
            let interest = Interest::READABLE | Interest::WRITABLE;
            let registry = poll.registry();
            registry.register(connection.socket(), token, interest).map_err(Error::io("watch a socket"))?;
            connections.push(connection);
        }
        Ok(Generator { poll, connections, total })
    }

    /// Runs a plan to its end: afterwards nothing is under way.
    ///
    /// # Errors
    /// At the first wrong reply, when the server closes a connection or says nothing for 20 seconds.
    pub fn run(&mut self, plan: &Plan<'_>) -> Result<Outcome> {
        let total = self.total;
        self.connections.iter_mut().for_each(|connection| connection.begin(plan, total));
        let cpu_before = cpu::own_thread();
        let start = Instant::now();
        let own_share = self.connections.len() as f64 / total as f64;
        let latency = Histogram::new_with_bounds(1, LATENCY_MAX, LATENCY_DIGITS)
            .map_err(|error| Error::other(format!("a histogram: {error}")))?;
        let schedule = plan.rate.map(|rate| Schedule {
            start,
            interval: Duration::from_secs_f64(plan.pipeline as f64 / (rate * own_share)),
            next: 0,
        });
        let mut run = Run {
            start,
            end: plan.limit.time.map(|time| start + time),
            ops_max: plan.limit.ops.map_or(u64::MAX, |ops| (ops as f64 * own_share).ceil() as u64),
            ops: 0,
            busy: 0,
            ends: false,
            latency,
            schedule,
        };
        if run.schedule.is_none() {
            for connection in &mut self.connections {
                run.busy += usize::from(connection.send(start, false)? > 0);
            }
        }
        self.drive(&mut run)?;
        Ok(Outcome {
            ops: run.ops,
            elapsed: run.start.elapsed(),
            latency: run.latency,
            cpu: cpu_before.zip(cpu::own_thread()).map(|(before, after)| after.saturating_sub(before)),
            counter: self.connections.iter().map(Connection::counter).max().unwrap_or(plan.counter),
        })
    }

    fn drive(&mut self, run: &mut Run) -> Result<()> {
        let mut events = Events::with_capacity(self.connections.len().clamp(64, 4096));
        let mut heard = run.start;
        loop {
            let timeout = self.arrivals(run)?;
            if run.busy == 0 && (run.ends || run.schedule.is_none()) {
                return Ok(());
            }
            match self.poll.poll(&mut events, Some(timeout)) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                other => other.map_err(Error::io("wait for sockets"))?,
            }
            if events.is_empty() {
                if run.busy > 0 && heard.elapsed() > SILENCE_MAX {
                    return Err(self.silence());
                }
                continue;
            }
            for event in &events {
                let connection = &mut self.connections[event.token().0];
                if event.is_writable() {
                    connection.flush()?;
                }
                if event.is_readable()
                    && let Some(ops) = connection.receive()?
                {
                    heard = Instant::now();
                    run.answered(connection, ops, heard)?;
                }
            }
        }
    }

    /// Sends what is due; how long to sleep for what is due next.
    fn arrivals(&mut self, run: &mut Run) -> Result<Duration> {
        let now = Instant::now();
        let over = run.ends || run.is_over(now);
        let Some(schedule) = &mut run.schedule else { return Ok(SILENCE_MAX) };
        if over {
            if !run.ends {
                run.ends = true;
                run.abandon(&mut self.connections, now)?;
            }
            return Ok(SILENCE_MAX);
        }
        loop {
            let at = schedule.at(schedule.next);
            if at > now {
                let left = at - now;
                return Ok(if left < SPIN { Duration::ZERO } else { left.saturating_sub(SPIN) });
            }
            let index = (schedule.next % self.connections.len() as u64) as usize;
            schedule.next += 1;
            let connection = &mut self.connections[index];
            if connection.is_busy() {
                connection.due.push_back(at);
            } else {
                run.busy += usize::from(connection.send(at, false)? > 0);
            }
        }
    }

    fn silence(&self) -> Error {
        match self.connections.iter().find_map(Connection::unanswered) {
            Some(mut wrong) => {
                wrong.expected.push_str(&format!(" within {} s", SILENCE_MAX.as_secs()));
                Error::Reply(Box::new(wrong))
            }
            None => Error::other("no reply is expected, and none comes"),
        }
    }
}

impl Run {
    /// Whether a limit is reached.
    fn is_over(&self, now: Instant) -> bool {
        self.ops >= self.ops_max || self.end.is_some_and(|end| now >= end)
    }

    /// A batch is complete: notes it and sends the connection's next.
    fn answered(&mut self, connection: &mut Connection, ops: usize, now: Instant) -> Result<()> {
        self.note(now.saturating_duration_since(connection.since));
        self.ops += ops as u64;
        // An open loop ends where arrivals do, which also ends the turns of idle connections.
        self.ends |= self.schedule.is_none() && self.is_over(now);
        let since = match (&self.schedule, self.ends) {
            (None, _) | (_, true) => Some(now),
            (Some(_), false) => connection.due.pop_front(),
        };
        let sent = match since {
            Some(since) => connection.send(since, self.ends)?,
            None => 0,
        };
        self.busy -= usize::from(sent == 0);
        Ok(())
    }

    /// The run at a rate ends: batches that were never sent count with how long they have waited, and turns that have
    /// begun on idle connections are ended.
    fn abandon(&mut self, connections: &mut [Connection], now: Instant) -> Result<()> {
        for connection in connections {
            for at in std::mem::take(&mut connection.due) {
                self.note(now.saturating_duration_since(at));
            }
            if !connection.is_busy() {
                self.busy += usize::from(connection.send(now, true)? > 0);
            }
        }
        Ok(())
    }

    fn note(&mut self, latency: Duration) {
        self.latency.saturating_record((latency.as_nanos() as u64).max(1));
    }
}
