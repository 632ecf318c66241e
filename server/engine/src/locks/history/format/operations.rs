//! What clients asked for, from the entries of a history: when each request was read, and how it ended.
//!
//! A request that waited was read where it began to wait, any other where it had its effect: requests run one at a
//! time. A reply that a fault has held or lost never came, as far as its client knows.

use super::super::entry::{Cause, Entry, Event};
use super::super::ring::Ring;
use std::collections::BTreeMap;

/// How an operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Invoke,
    Ok,
    Fail,
    /// Nobody knows; or it is no client's.
    Info,
}

impl Phase {
    pub(super) fn name(self) -> &'static str {
        match self {
            Phase::Invoke => ":invoke",
            Phase::Ok => ":ok",
            Phase::Fail => ":fail",
            Phase::Info => ":info",
        }
    }
}

/// A line of the history: `entry` says what was asked for, `at` when that was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    pub(super) phase: Phase,
    pub(super) function: &'static str,
    pub(super) entry: &'a Entry,
    pub(super) at: &'a Entry,
}

/// What an entry's request was for, and how it ended; `None` when no client asked for it.
fn asked(entry: &Entry) -> Option<(&'static str, Phase)> {
    if entry.client == 0 {
        return None;
    }
    Some(match entry.event {
        Event::Acquired | Event::Reentered => ("acquire", Phase::Ok),
        Event::Refused => ("acquire", Phase::Fail),
        Event::Released => ("release", Phase::Ok),
        Event::ReleaseRefused => ("release", Phase::Fail),
        Event::Renewed => ("renew", Phase::Ok),
        Event::RenewalRefused => ("renew", Phase::Fail),
        Event::Converted => ("convert", Phase::Ok),
        Event::Transferred => ("transfer", Phase::Ok),
        Event::Permits if entry.cause == Cause::Acquire => ("acquire", Phase::Ok),
        Event::Permits if entry.cause == Cause::Release => ("release", Phase::Ok),
        Event::Permits if entry.cause == Cause::Drain => ("drain", Phase::Ok),
        Event::Permits if entry.cause == Cause::Init => ("init", Phase::Ok),
        Event::Permits if entry.cause == Cause::Adjust => ("adjust", Phase::Ok),
        Event::Entered => ("enter", Phase::Ok),
        Event::Left => ("leave", Phase::Ok),
        Event::Fenced => ("write", Phase::Ok),
        Event::FenceRefused => ("write", Phase::Fail),
        _ => return None,
    })
}

/// What a client that waits has asked for; `None` of those that wait for latches and rates, of whose end the history
/// does not tell.
fn waits_for(ring: &Ring, entry: &Entry) -> Option<&'static str> {
    match ring.text(entry.by) {
        b"lock.convert" => Some("convert"),
        by if by.starts_with(b"lock.") || by.starts_with(b"sem.") => Some("acquire"),
        _ => None,
    }
}

/// Whether a fault kept the reply of the request before it from its client.
fn keeps_reply(ring: &Ring, entry: &Entry) -> bool {
    let action = ring.text(entry.text).to_ascii_lowercase();
    let actions: [&[u8]; 6] =
        [b"dropreply", b"holdreply", b"delayreply", b"closeafter", b"truncate", b"unsent"];
    entry.event == Event::Fault && actions.iter().any(|known| action.starts_with(known))
}

/// The steps of these entries, in order.
pub(super) fn steps<'a>(ring: &'a Ring, entries: &[(u64, &'a Entry)]) -> Vec<Step<'a>> {
    let mut steps: Vec<Step<'a>> = Vec::with_capacity(entries.len() * 2);
    // Clients that wait: which step is the invocation.
    let mut waiting: BTreeMap<u64, Step<'a>> = BTreeMap::new();
    // The steps that are answers, by their entries: faults may still take them back.
    let mut answers: BTreeMap<u64, usize> = BTreeMap::new();
    for &(seq, entry) in entries {
        let client = entry.client;
        match entry.event {
            Event::Queued if client != 0 && entry.native == Some(true) => {
                let Some(function) = waits_for(ring, entry) else { continue };
                let invoked = Step { phase: Phase::Invoke, function, entry, at: entry };
                waiting.insert(client, invoked);
                steps.push(invoked);
                continue;
            }
            Event::LeftQueue | Event::Disconnect if entry.cause != Cause::Served => {
                if let Some(invoked) = waiting.remove(&client) {
                    let gone = entry.event == Event::Disconnect || entry.cause == Cause::Disconnected;
                    let phase = if gone { Phase::Info } else { Phase::Fail };
                    steps.push(Step { phase, at: entry, ..invoked });
                    continue;
                }
            }
            Event::Fault if keeps_reply(ring, entry) => {
                for at in ring.unanswered(seq).filter_map(|(seq, _)| answers.get(&seq)) {
                    steps[*at].phase = Phase::Info;
                }
            }
            _ => {}
        }
        let Some((function, phase)) = asked(entry) else {
            if !matches!(entry.event, Event::Queued | Event::LeftQueue) {
                let function = entry.event.name();
                steps.push(Step { phase: Phase::Info, function, entry, at: entry });
            }
            continue;
        };
        if waiting.remove(&client).is_none() {
            steps.push(Step { phase: Phase::Invoke, function, entry, at: entry });
        }
        answers.insert(seq, steps.len());
        steps.push(Step { phase, function, entry, at: entry });
    }
    steps
}
