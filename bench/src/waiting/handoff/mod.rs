//! Hand-off under contention: a lock passes between clients while others wait, and each hand-off is counted and timed.
//!
//! Every party is a separate client, as if in its own process. The holder releases when all others wait. The hand-off
//! ends when one of them holds the lock and all others wait again. The former holder then queues again. So each release
//! meets the same number of waiters, and the counts are the whole cost of one turn. Readers enter together, behind a
//! writer; `readers` describes their turn.

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

/// The number of turns before the measured ones.
const WARM_UP: usize = 5;

/// The longest wait until all waiters wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// The plan of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The kind of lock.
    pub kind: LockKind,
    /// The number of waiters while one party holds the lock, at least 1.
    pub waiters: usize,
    /// The number of measured turns, at least 1.
    pub handoffs: usize,
}

/// A way to wait for, take and release one lock. Parties are numbered from 0. The connections of party `n` begin at
/// index `n * connections_per_party()`.
trait Locking {
    /// Returns the number of connections of each party.
    fn connections_per_party(&self) -> usize;

    /// Returns the number of waiters that a release wakes when it lets one in. If all waiters are readers, it lets all
    /// in.
    fn messages_per_release(&self) -> u64;

    /// Returns the number of blocked clients that the server reports while all wait.
    fn blocked(&self) -> u64;

    /// Returns the number of woken waiters so far: received messages, or answered blocking commands.
    fn wake_ups(&self) -> u64;

    /// Returns the number of parties between holding, waiting and being out.
    fn busy(&self) -> usize;

    /// Lets a party that is out take the lock or begin to wait.
    fn join(&mut self, crowd: &mut Crowd, who: usize) -> io::Result<()>;

    /// Lets the holder release the lock.
    fn release(&mut self, crowd: &mut Crowd, who: usize) -> io::Result<()>;

    /// Handles a reply on a connection. Returns the party that holds the lock from now on, if one does.
    fn acknowledge_wake(
        &mut self,
        crowd: &mut Crowd,
        place: WaiterIndex,
        reply: &Reply,
    ) -> io::Result<Option<usize>>;
}

/// Measures the hand-offs of a lock.
///
/// # Errors
/// Returns an error if a connection fails, or if a reply is none that a correct server would send.
pub fn run(target: &Target, plan: &Plan) -> io::Result<Handoff> {
    let mut control = Client::connect(target.address)?;
    control.call(&[b"FLUSHALL"])?;
    let parties = plan.waiters + 1;
    match plan.kind {
        kind if kind.is_native() => turns(target, plan, &mut Native::new(&mut control, parties, kind)?),
        kind => turns(target, plan, &mut Scripted::new(&mut control, parties, kind)?),
    }
}

/// The times of one turn.
struct Turn {
    /// The time from the release until the next holder knows of its grant, or the last of many holders.
    grant: Duration,
    /// The time from the release until all others wait again.
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

/// Brings all parties in, one after the other. Returns the holder of the lock.
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

/// Waits until the server has read the requests of the waiters. A blocked client has no reply that would show that.
fn asleep(control: &mut Client, locking: &impl Locking) -> io::Result<()> {
    let begin = Instant::now();
    while control.info("clients", "blocked_clients")? != locking.blocked() {
        if begin.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("{} clients never blocked", locking.blocked())));
        }
    }
    Ok(())
}

/// Measures one release, until the lock has a new holder and all others wait.
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

/// Lets all parties finish their current step.
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
