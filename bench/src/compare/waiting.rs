//! The waiting workloads, server by server.

use super::run::Contender;
use crate::error::{Error, Result};
use crate::results::Results;
use crate::servers::Server;
use crate::waiting::client::Client;
use crate::waiting::options::Options;
use crate::waiting::results::{LockKind, Strain};
use crate::waiting::wire::Reply;
use crate::waiting::{Target, handoff, lateness, pauses};
use std::io;
use std::time::Duration;

/// The names of these measurements among the workloads.
pub(super) const HANDOFF: &str = "handoff";
pub(super) const EXPIRY: &str = "expiry";
pub(super) const PAUSES: &str = "pauses";

/// The number of keys a second whose expiry is watched.
const PROBES_A_SECOND: f64 = 1000.0;

/// The lateness beyond which an event is no longer awaited.
const GIVE_UP: Duration = Duration::from_secs(20);

/// The divisors of timers and probes for other servers, whose events come seconds late.
const OTHERS_TIMERS: usize = 100;
const OTHERS_PROBES: usize = 10;

/// Runs the measurements that `wants` selects, and adds their results.
pub(super) fn measure(
    contenders: &[Contender],
    options: &Options,
    wants: impl Fn(&str) -> bool,
    results: &mut Results,
    say: &mut dyn FnMut(&str),
) -> Result<()> {
    let targets = contenders.iter().map(|contender| target(&contender.server));
    let targets = targets.collect::<io::Result<Vec<Target>>>().map_err(Error::io("ask for COMMAND INFO"))?;
    if wants(HANDOFF) {
        hand_off(&targets, options, results, say)?;
    }
    if wants(EXPIRY) {
        expire(&targets, options, results, say)?;
    }
    if wants(PAUSES) {
        pause(&targets, options, results, say)?;
    }
    Ok(())
}

/// Describes the server for these measurements.
fn target(server: &Server) -> io::Result<Target> {
    let command = Client::connect(server.addr)?.call(&[b"COMMAND", b"INFO", b"LOCK.ACQUIRE"])?;
    let native = command.elements().first().is_some_and(|info| *info != Reply::Null);
    Ok(Target { name: server.name.clone(), address: server.addr, pid: server.pid(), native })
}

fn hand_off(
    targets: &[Target],
    options: &Options,
    results: &mut Results,
    say: &mut dyn FnMut(&str),
) -> Result<()> {
    for kind in LockKind::ALL {
        for &waiters in &options.waiters {
            for target in targets.iter().filter(|target| target.native || !kind.is_native()) {
                let plan = handoff::Plan { kind, waiters, handoffs: options.handoffs };
                let what = format!("{HANDOFF}: {}, {waiters} waiters, {}", kind.name(), target.name);
                let found = handoff::run(target, &plan).map_err(Error::io(what.clone()))?;
                say(&format!(
                    "{what}: {} requests, {} wake-ups, p50 {:.0} us, p99 {:.0} us",
                    found.requests_each, found.wake_ups_each, found.p50_us, found.p99_us
                ));
                results.handoffs.push(found);
            }
        }
    }
    Ok(())
}

fn expire(
    targets: &[Target],
    options: &Options,
    results: &mut Results,
    say: &mut dyn FnMut(&str),
) -> Result<()> {
    for target in targets {
        for loaded in [false, true] {
            let (timers, probes) = match target.native {
                true => (options.timers, options.probes),
                false => (options.timers / OTHERS_TIMERS, options.probes.div_ceil(OTHERS_PROBES)),
            };
            let spread = Duration::from_secs_f64(probes as f64 / PROBES_A_SECOND);
            let plan = lateness::Plan { timers, probes, spread, loaded, give_up: GIVE_UP };
            let state = if loaded { "under load" } else { "idle" };
            let what = format!("{EXPIRY}: {timers} timers, {state}, {}", target.name);
            let found = lateness::run(target, &plan).map_err(Error::io(what.clone()))?;
            say(&format!("{what}: p50 {:.0} us, p99 {:.0} us late", found.p50_us, found.p99_us));
            results.lateness.push(found);
        }
    }
    Ok(())
}

fn pause(
    targets: &[Target],
    options: &Options,
    results: &mut Results,
    say: &mut dyn FnMut(&str),
) -> Result<()> {
    for strain in Strain::ALL {
        for target in targets {
            let what = format!("{PAUSES}: {}, {}", strain.name(), target.name);
            let found = pauses::run(target, strain, options.pause_keys).map_err(Error::io(what.clone()))?;
            say(&format!("{what}: p99 {:.0} us, longest {:.0} us", found.p99_us, found.longest_us));
            results.pauses.push(found);
        }
    }
    Ok(())
}
