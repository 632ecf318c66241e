//! The lateness of events of expired keys.
//!
//! Keys with known deadlines lie among many keys that expire much later. A subscriber records when each event arrives.
//! Deadlines and arrivals are times of the wall clock. Therefore the server must be on this machine, or have an equally
//! exact clock.

use super::Target;
use super::background::{self, Background};
use super::client::Client;
use super::results::Lateness;
use super::samples::Samples;
use lockwheel_resp::write_request;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The channel of the event.
const EVENT: &[u8] = b"__keyevent@0__:expired";

/// The time after which the far keys begin to expire: they expire in one to two hours.
const FAR_MS: u64 = 3_600_000;

/// The time from the loading of the probes to the first deadline. Loading takes a part of it.
const LEAD_MS: u64 = 1000;

/// The interval of checks for the end while no message arrives.
const GLANCE: Duration = Duration::from_millis(100);

/// The plan of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The number of keys with far deadlines.
    pub timers: usize,
    /// The number of keys that expire.
    pub probes: usize,
    /// The period over which their deadlines are spread.
    pub spread: Duration,
    /// Whether GETs and SETs run meanwhile.
    pub loaded: bool,
    /// The time after the last deadline for which events are still awaited.
    pub give_up: Duration,
}

/// Measures the lateness. Flushes the server's database first.
///
/// # Errors
/// Returns an error if a connection fails, or if the server does not support such notifications.
pub fn run(target: &Target, plan: &Plan) -> io::Result<Lateness> {
    let mut control = Client::connect(target.address)?;
    control.call(&[b"FLUSHALL"])?;
    control.call(&[b"CONFIG", b"SET", b"notify-keyspace-events", b"Ex"])?;
    let far = now_ms() + FAR_MS;
    control.load(plan.timers, |out, number| {
        let deadline = far + spread(number, plan.timers, FAR_MS);
        set(out, &format!("timer:{number}"), deadline);
    })?;
    let mut subscriber = Client::connect(target.address)?;
    subscriber.call(&[b"SUBSCRIBE", EVENT])?;
    subscriber.set_patience(GLANCE)?;
    let background = if plan.loaded { Some(Background::start(target.address)?) } else { None };
    let deadlines = deadlines(plan);
    control.load(deadlines.len(), |out, number| set(out, &format!("probe:{number}"), deadlines[number]))?;
    let lateness = listen(target, plan, &mut subscriber, &deadlines)?;
    if let Some(background) = background {
        background.stop()?;
    }
    control.call(&[b"CONFIG", b"SET", b"notify-keyspace-events", b""])?;
    control.call(&[b"FLUSHALL"])?;
    Ok(lateness)
}

/// Returns pseudo-random deadlines, in ms since 1970, with the same distances in each run.
fn deadlines(plan: &Plan) -> Vec<u64> {
    let begin = now_ms() + LEAD_MS;
    let spread_ms = u64::try_from(plan.spread.as_millis()).unwrap_or(u64::MAX).max(1);
    let mut random = 7;
    (0..plan.probes).map(|_| begin + background::next(&mut random) % spread_ms).collect()
}

fn listen(target: &Target, plan: &Plan, subscriber: &mut Client, deadlines: &[u64]) -> io::Result<Lateness> {
    let mut samples = Samples::default();
    let mut waited_for = vec![true; deadlines.len()];
    let last = deadlines.iter().max().copied().unwrap_or_default();
    let end_us = last as f64 * 1e3 + plan.give_up.as_secs_f64() * 1e6;
    while samples.len() < deadlines.len() && now_us() < end_us {
        let Some(reply) = subscriber.receive()? else { continue };
        let arrival = now_us();
        let Some((_, key)) = reply.message() else { continue };
        let number = std::str::from_utf8(key).ok().and_then(|key| key.strip_prefix("probe:")?.parse().ok());
        if let Some(number) = number.filter(|&number: &usize| number < deadlines.len())
            && std::mem::take(&mut waited_for[number])
        {
            samples.add_us(arrival - deadlines[number] as f64 * 1e3);
        }
    }
    let (now, missing) = (now_us(), deadlines.len() - samples.len());
    for (deadline, _) in deadlines.iter().zip(&waited_for).filter(|(_, waits)| **waits) {
        samples.add_us(now - *deadline as f64 * 1e3);
    }
    let [p50_us, p99_us, p999_us, max_us] = samples.quantiles([0.5, 0.99, 0.999, 1.0]);
    Ok(Lateness {
        server: target.name.clone(),
        timers: plan.timers,
        loaded: plan.loaded,
        probes: plan.probes,
        missing,
        p50_us,
        p99_us,
        p999_us,
        max_us,
    })
}

/// Scales a number from `0..of` to `0..to`.
fn spread(number: usize, of: usize, to: u64) -> u64 {
    number as u64 * to / of.max(1) as u64
}

fn set(out: &mut Vec<u8>, key: &str, deadline: u64) {
    write_request(&[b"SET", key.as_bytes(), b"1", b"PXAT", deadline.to_string().as_bytes()], out);
}

fn now_us() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1e6
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
