//! The pauses of a server. A prober sends PING every half millisecond, whether or not the last one was answered.
//! Meanwhile the table of keys grows through many keys, all keys expire within a second, or FLUSHALL frees them.

use super::background::yield_to_the_measurement;
use super::client::Client;
use super::results::{Pause, Strain};
use super::samples::Samples;
use super::{Target, wire};
use lockwheel_resp::write_request;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The interval between two PINGs.
const EVERY: Duration = Duration::from_micros(500);

/// The time of probing before and after the event.
const MARGIN: Duration = Duration::from_millis(300);

/// The time of probing without any event.
const NOTHING: Duration = Duration::from_secs(3);

/// The longest wait for replies to PINGs at the end.
const PATIENCE: Duration = Duration::from_secs(30);

/// The period over which the deadlines of keys that expire together are spread, in ms.
const SPREAD_MS: u64 = 1000;

/// The time after the last deadline within which the server must remove the keys.
const CLEARED_WITHIN: Duration = Duration::from_secs(10);

/// A first estimate of the number of keys loaded per second. The deadlines come after the loading.
const LOADED_A_SECOND: usize = 100_000;

/// The expected reply.
const PONG: &[u8] = b"+PONG\r\n";

/// Puts a server under a strain and measures how long PINGs wait. Flushes the server's database first.
///
/// # Errors
/// Returns an error if a connection fails or the server replies with an error.
pub fn run(target: &Target, strain: Strain, keys: usize) -> io::Result<Pause> {
    let mut control = Client::connect(target.address)?;
    control.call(&[b"FLUSHALL"])?;
    match strain {
        Strain::Nothing | Strain::Growth => {}
        Strain::Flush => load(&mut control, keys, None)?,
        Strain::Expiry => await_expiry(&mut control, keys)?,
    }
    let stop = Arc::new(AtomicBool::new(false));
    let strained = thread::Builder::new().name("strain".to_string()).spawn({
        let stop = stop.clone();
        move || {
            yield_to_the_measurement();
            let done = exert(&mut control, strain, keys);
            thread::sleep(MARGIN);
            stop.store(true, Ordering::Relaxed);
            done
        }
    })?;
    let probed = Prober::connect(target.address)?.run(&stop);
    let done = strained.join().map_err(|_| io::Error::other("the thread of the strain panicked"))?;
    done?;
    let mut prober = probed?;
    let [p50_us, p99_us, longest_us] = prober.waits.quantiles([0.5, 0.99, 1.0]);
    Ok(Pause {
        server: target.name.clone(),
        strain,
        keys,
        probes: prober.waits.len(),
        p50_us,
        p99_us,
        longest_us,
        own_longest_us: prober.own.quantile(1.0),
    })
}

/// Sets keys that expire together, and returns shortly before they expire.
fn await_expiry(control: &mut Client, keys: usize) -> io::Result<()> {
    let mut lead_ms = 1000 + 1000 * (keys / LOADED_A_SECOND) as u64;
    loop {
        let begin = now_ms() + lead_ms;
        load(control, keys, Some(begin))?;
        let left = Duration::from_millis(begin.saturating_sub(now_ms()));
        if left > MARGIN {
            thread::sleep(left - MARGIN);
            return Ok(());
        }
        // Loading took longer than expected: try again with more time.
        control.call(&[b"FLUSHALL"])?;
        lead_ms *= 2;
    }
}

/// Exerts the strain while the prober runs.
fn exert(control: &mut Client, strain: Strain, keys: usize) -> io::Result<()> {
    match strain {
        Strain::Nothing => thread::sleep(NOTHING),
        Strain::Growth => load(control, keys, None)?,
        Strain::Flush => {
            thread::sleep(MARGIN);
            control.call(&[b"FLUSHALL"])?;
        }
        Strain::Expiry => {
            thread::sleep(MARGIN + Duration::from_millis(SPREAD_MS));
            let begin = Instant::now();
            while begin.elapsed() < CLEARED_WITHIN && control.call(&[b"DBSIZE"])? != wire::Reply::Integer(0) {
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
    Ok(())
}

/// Sets keys. If `deadlines` gives a time in ms since 1970, the keys expire within a second from then on.
fn load(control: &mut Client, keys: usize, deadlines: Option<u64>) -> io::Result<()> {
    control.load(keys, |out, number| {
        let key = format!("pause:{number}");
        match deadlines {
            None => write_request(&[b"SET", key.as_bytes(), b"0123456789"], out),
            Some(begin) => {
                let deadline = (begin + number as u64 % SPREAD_MS).to_string();
                write_request(&[b"SET", key.as_bytes(), b"0123456789", b"PXAT", deadline.as_bytes()], out);
            }
        }
    })
}

/// A prober that sends PINGs.
struct Prober {
    stream: TcpStream,
    outgoing: Vec<u8>,
    /// The number of bytes of the next reply that have been read.
    matched: usize,
    /// The due times of the PINGs that have not been answered.
    due: VecDeque<Instant>,
    /// The time from when each PING was due to its reply.
    waits: Samples,
    /// The time from when each PING was due to its sending.
    own: Samples,
}

impl Prober {
    fn connect(address: SocketAddr) -> io::Result<Prober> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Prober {
            stream,
            outgoing: Vec::new(),
            matched: 0,
            due: VecDeque::new(),
            waits: Samples::default(),
            own: Samples::default(),
        })
    }

    /// Sends PINGs until it is stopped, then waits for the last replies.
    fn run(mut self, stop: &AtomicBool) -> io::Result<Prober> {
        let mut next = Instant::now();
        let mut asks = true;
        let mut last_sign = next;
        while asks || !self.due.is_empty() {
            asks = asks && !stop.load(Ordering::Relaxed);
            let now = Instant::now();
            while asks && next <= now {
                self.outgoing.extend_from_slice(b"*1\r\n$4\r\nPING\r\n");
                self.due.push_back(next);
                self.own.add(now - next);
                next += EVERY;
            }
            self.flush()?;
            if self.take()? {
                last_sign = Instant::now();
            } else if last_sign.elapsed() > PATIENCE {
                return Err(io::Error::new(ErrorKind::TimedOut, "no reply to PING"));
            }
            self.sleep(next.saturating_duration_since(Instant::now()))?;
        }
        Ok(self)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.outgoing.is_empty() {
            return Ok(());
        }
        match self.stream.write(&self.outgoing) {
            Ok(length) => drop(self.outgoing.drain(..length)),
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Reads the available bytes. Returns whether there were any.
    fn take(&mut self) -> io::Result<bool> {
        let mut chunk = [0; 4096];
        let length = match self.stream.read(&mut chunk) {
            Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server hung up")),
            Ok(length) => length,
            Err(error) if is_passing(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        let now = Instant::now();
        for byte in &chunk[..length] {
            if *byte != PONG[self.matched] {
                let text = chunk[..length].escape_ascii();
                return Err(io::Error::other(format!("PING was answered `{text}`")));
            }
            self.matched += 1;
            if self.matched == PONG.len() {
                self.matched = 0;
                let due =
                    self.due.pop_front().ok_or_else(|| io::Error::other("a PONG that nobody asked for"))?;
                self.waits.add(now - due);
            }
        }
        Ok(true)
    }

    /// Sleeps until data arrives, at most until the next PING is due.
    fn sleep(&self, time: Duration) -> io::Result<()> {
        let time = time.min(EVERY);
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
        let mut sockets = [PollFd::new(&self.stream, PollFlags::IN)];
        match poll(&mut sockets, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
