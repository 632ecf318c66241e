//! Hand-off under contention: a lock goes from hand to hand while others wait, and each hand-over is counted and
//! timed.
//!
//! Every party is a client of its own, as if in its own process. The holder releases when everybody else waits; the
//! hand-over ends when one of them holds the lock and all others wait again; then who released queues again. So each
//! release meets the same number of waiters, and what is counted is all that one turn costs. Readers go in together,
//! behind a writer: their turn is `readers`.

mod native;
mod readers;
mod scripted;
pub(crate) mod scripts;

use super::Target;
use super::client::Client;
use super::crowd::{Crowd, WaiterIndex};
use super::results::{Handoff, LockKind};
use super::samples::Samples;
use super::wire::Reply;
use crate::servers::cpu::Sample;
use native::Native;
use scripted::Scripted;
use std::io;
use std::time::{Duration, Instant};

/// Turns before those that count.
const WARM_UP: usize = 5;

/// The longest until all waiters wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Which way with locks.
    pub kind: LockKind,
    /// How many wait while one holds, at least 1.
    pub waiters: usize,
    /// How many turns are measured, at least 1.
    pub handoffs: usize,
}

/// A way to wait for, take and give back one lock. Parties are numbered from 0; the connections of party `n` begin at
/// place `n * connections_per_party()`.
trait Locking {
    /// Connections of each party.
    fn connections_per_party(&self) -> usize;

    /// How many waiters each release wakes that lets one in or, where all who wait are readers, all.
    fn messages_per_release(&self) -> u64;

    /// How many waiters the server knows as blocked clients while all wait.
    fn blocked(&self) -> u64;

    /// How many waiters have been woken until now: messages that came, or blocking commands that were answered.
    fn wake_ups(&self) -> u64;

    /// How many parties are on the way between holding, waiting and being out.
    fn busy(&self) -> usize;

    /// A party that is out takes the lock or begins to wait.
    fn join(&mut self, crowd: &mut Crowd, who: usize) -> io::Result<()>;

    /// The holder gives the lock back.
    fn release(&mut self, crowd: &mut Crowd, who: usize) -> io::Result<()>;

    /// Something came on a connection; the party that holds the lock since then, if one does.
    fn acknowledge_wake(
        &mut self,
        crowd: &mut Crowd,
        place: WaiterIndex,
        reply: &Reply,
    ) -> io::Result<Option<usize>>;
}

/// Lets a lock go from hand to hand.
///
/// # Errors
/// When a connection fails or the server answers what no sound server would.
pub fn run(target: &Target, plan: &Plan) -> io::Result<Handoff> {
    let mut control = Client::connect(target.address)?;
    control.call(&[b"FLUSHALL"])?;
    let parties = plan.waiters + 1;
    match plan.kind {
        kind if kind.is_native() => turns(target, plan, &mut Native::new(&mut control, parties, kind)?),
        kind => turns(target, plan, &mut Scripted::new(&mut control, parties, kind)?),
    }
}

/// What one turn took.
struct Turn {
    /// From the release to the next holder's knowing, or the last one's of many.
    grant: Duration,
    /// From the release until everybody waits again.
    settled: Duration,
}

fn turns(target: &Target, plan: &Plan, locking: &mut impl Locking) -> io::Result<Handoff> {
    let mut control = Client::connect(target.address)?;
    let parties = plan.waiters + 1;
    let mut crowd = Crowd::connect(target.address, parties * locking.connections_per_party())?;
    let mut holder = gather(&mut crowd, locking, parties)?;
    let mut turn = |crowd: &mut Crowd, locking: &mut _| match plan.kind.is_shared() {
        true => readers::turn(crowd, locking, plan.waiters),
        false => turn(crowd, locking, &mut holder),
    };
    for _ in 0..WARM_UP {
        turn(&mut crowd, locking)?;
    }
    let (mut grants, mut settles) = (Samples::default(), Samples::default());
    asleep(&mut control, locking)?;
    let commands = control.commands_run()?;
    let used = || target.pid.and_then(Sample::of);
    let (requests, wake_ups, before) = (crowd.requests(), locking.wake_ups(), used());
    for _ in 0..plan.handoffs {
        let Turn { grant, settled } = turn(&mut crowd, locking)?;
        grants.add(grant);
        settles.add(settled);
    }
    let each = |total: u64| total as f64 / plan.handoffs as f64;
    let cpu = before.zip(used()).map(|(before, after)| before.until(&after).total);
    asleep(&mut control, locking)?;
    let commands = control.commands_run()? - commands;
    let [p50_us, p99_us, max_us] = grants.quantiles([0.5, 0.99, 1.0]);
    Ok(Handoff {
        server: target.name.clone(),
        kind: plan.kind,
        waiters: plan.waiters,
        handoffs: plan.handoffs,
        requests_each: each(crowd.requests() - requests),
        commands_each: each(commands),
        wake_ups_each: each(locking.wake_ups() - wake_ups),
        p50_us,
        p99_us,
        max_us,
        settled_p50_us: settles.quantile(0.5),
        cpu_us_each: cpu.map(|cpu| each(cpu.as_nanos() as u64) / 1e3),
    })
}

/// Brings everybody in, one after the other; the one who holds the lock.
fn gather(crowd: &mut Crowd, locking: &mut impl Locking, parties: usize) -> io::Result<usize> {
    locking.join(crowd, 0)?;
    let mut holder = None;
    while holder.is_none() {
        holder = hear(crowd, locking)?;
    }
    for who in 1..parties {
        locking.join(crowd, who)?;
        rest(crowd, locking)?;
    }
    holder.ok_or_else(|| io::Error::other("nobody holds the lock"))
}

/// Waits until the server has read what the waiters sent: who blocks has no reply that says so.
fn asleep(control: &mut Client, locking: &impl Locking) -> io::Result<()> {
    let begin = Instant::now();
    while control.info("clients", "blocked_clients")? != locking.blocked() {
        if begin.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("{} clients never blocked", locking.blocked())));
        }
    }
    Ok(())
}

/// One release, until the lock has a new holder and everybody else waits.
fn turn(crowd: &mut Crowd, locking: &mut impl Locking, holder: &mut usize) -> io::Result<Turn> {
    let (woken, wakes) = (locking.wake_ups(), locking.messages_per_release());
    let begin = Instant::now();
    locking.release(crowd, *holder)?;
    let mut granted = None;
    while granted.is_none() || locking.busy() > 0 || locking.wake_ups() - woken < wakes {
        if let Some(who) = hear(crowd, locking)?
            && let Some((other, _)) = granted.replace((who, begin.elapsed()))
        {
            return Err(io::Error::other(format!("parties {other} and {who} were both given the lock")));
        }
    }
    let settled = begin.elapsed();
    let (next, grant) = granted.ok_or_else(|| io::Error::other("nobody was given the lock"))?;
    locking.join(crowd, std::mem::replace(holder, next))?;
    rest(crowd, locking)?;
    Ok(Turn { grant, settled })
}

/// Lets everybody finish what they do.
fn rest(crowd: &mut Crowd, locking: &mut impl Locking) -> io::Result<()> {
    while locking.busy() > 0 {
        if let Some(who) = hear(crowd, locking)? {
            return Err(io::Error::other(format!("party {who} was given a lock that is held")));
        }
    }
    Ok(())
}

fn hear(crowd: &mut Crowd, locking: &mut impl Locking) -> io::Result<Option<usize>> {
    let (place, reply) = crowd.hear()?;
    if let Reply::Error(text) = &reply {
        return Err(io::Error::other(format!("a party was answered `{}`", text.escape_ascii())));
    }
    locking.acknowledge_wake(crowd, place, &reply)
}
