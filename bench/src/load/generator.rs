//! The loop that drives connections. A closed loop sends a batch after the replies to the last one. An open loop sends
//! at a rate, whatever the server does.

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

/// The longest latency that can be recorded, in nanoseconds: a minute.
const MAX_LATENCY_NS: u64 = 60_000_000_000;
/// The number of significant digits of a latency.
const LATENCY_DIGITS: u8 = 3;
/// The time without replies after which a server counts as dead.
const MAX_SILENCE: Duration = Duration::from_secs(20);
/// The time before the next intended send from which the loop waits actively: a sleep ends up to a millisecond late.
const SPIN: Duration = Duration::from_millis(2);

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The requests of a turn, which all concern one key.
    pub steps: &'a [Step],
    /// The number of requests in a batch.
    pub pipeline: usize,
    /// The order in which keys are chosen.
    pub order: Order,
    /// The number of keys over all connections; at least the number of connections.
    pub keys: u64,
    /// The seed of every random choice.
    pub seed: u64,
    /// The initial value of counters.
    pub counter: u64,
    /// The end of the run.
    pub limit: Limit,
    /// The number of requests a second over all connections, sent on schedule whatever the server does. `None` means as
    /// many as the server answers.
    pub rate: Option<f64>,
}

/// The end of a run, which is when any of these limits is reached. Turns that have begun are completed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limit {
    /// The number of requests.
    pub ops: Option<u64>,
    /// The duration.
    pub time: Option<Duration>,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The number of answered requests, all with right replies.
    pub ops: u64,
    /// The time from the first request to the last reply.
    pub elapsed: Duration,
    /// The latency of each batch, in nanoseconds: from its sending to its last reply. At a rate it counts from the time
    /// at which the batch should have been sent.
    pub latency: Histogram<u64>,
    /// The CPU time of the generator's thread, if the system reports it.
    pub cpu: Option<Duration>,
    /// The highest counter, at which the next run begins.
    pub counter: u64,
}

/// The connections of one thread.
pub struct Generator {
    poll: Poll,
    connections: Vec<Connection>,
    /// The number of connections of all generators.
    total: u64,
}

/// The intended times of sending. Batch k of this generator is due at start + k * interval, on connection k modulo the
/// number of connections.
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

/// A run in progress.
struct Run {
    start: Instant,
    end: Option<Instant>,
    ops_max: u64,
    ops: u64,
    /// The number of connections with a batch in progress.
    busy: usize,
    ends: bool,
    latency: Histogram<u64>,
    schedule: Option<Schedule>,
}

impl Generator {
    /// Opens the connections with the numbers `own`, out of `total`.
    ///
    /// # Errors
    /// Returns an error if the server does not accept, or if the system provides no more sockets.
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

    /// Runs a plan to its end. No batch is in progress afterwards.
    ///
    /// # Errors
    /// Returns an error at the first wrong reply, or if the server closes a connection or is silent for 20 seconds.
    pub fn run(&mut self, plan: &Plan<'_>) -> Result<Outcome> {
        let total = self.total;
        self.connections.iter_mut().for_each(|connection| connection.begin(plan, total));
        let cpu_before = cpu::own_thread();
        let start = Instant::now();
        let own_share = self.connections.len() as f64 / total as f64;
        let latency = Histogram::new_with_bounds(1, MAX_LATENCY_NS, LATENCY_DIGITS)
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
                if run.busy > 0 && heard.elapsed() > MAX_SILENCE {
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

    /// Sends the batches that are due. Returns how long to sleep until the next one is due.
    fn arrivals(&mut self, run: &mut Run) -> Result<Duration> {
        let now = Instant::now();
        let over = run.ends || run.is_over(now);
        let Some(schedule) = &mut run.schedule else { return Ok(MAX_SILENCE) };
        if over {
            if !run.ends {
                run.ends = true;
                run.abandon(&mut self.connections, now)?;
            }
            return Ok(MAX_SILENCE);
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
                wrong.expected.push_str(&format!(" within {} s", MAX_SILENCE.as_secs()));
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

    /// Records a complete batch and sends the connection's next one.
    fn answered(&mut self, connection: &mut Connection, ops: usize, now: Instant) -> Result<()> {
        self.note(now.saturating_duration_since(connection.since));
        self.ops += ops as u64;
        // An open loop ends with its schedule, which also completes the turns of idle connections.
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

    /// Ends a run at a rate. Batches that were never sent count with their waiting time so far. Turns that have begun
    /// on idle connections are completed.
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
