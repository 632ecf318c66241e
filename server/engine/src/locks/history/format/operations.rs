//! The operations of clients, from the entries of a history: when each request was read, and how it ended.
//!
//! Requests run one at a time. A request that waited was read at the entry where it began to wait, any other at the
//! entry of its effect. If a fault held or lost a reply, its client never received it.

use super::super::entry::{Cause, Entry, Event};
use super::super::names::Name;
use super::super::ring::Ring;
use lockwheel_store::memory::{tree_heap_bytes, vec_heap_bytes};
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Invoke,
    Ok,
    Fail,
    /// The outcome is unknown, or the operation is no client's.
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

/// A line of the history. `entry` records the request, and `at` its time. Both are numbers of entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct HistoryLine {
    pub(super) phase: Phase,
    pub(super) function: &'static str,
    pub(super) entry: u64,
    pub(super) at: u64,
    /// The time in milliseconds of the monotonic clock.
    pub(super) at_ms: i64,
    /// The number of the operation, if it has a process of its own.
    pub(super) apart: Option<u64>,
}

/// Returns the function and the outcome of an entry's request, or `None` if no client asked for it.
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

/// Whether a waiting client has asked for a lock, for permits, or to convert a hold. Latches and rates do not count.
fn is_acquisition(ring: &Ring, entry: &Entry) -> bool {
    let by = ring.text(entry.by);
    by.starts_with(b"lock.") || by.starts_with(b"sem.")
}

/// The identity of an operation: its client, its lock, and its ticket.
type Operation = (u64, Name, Option<i64>);

#[derive(Debug, Default)]
pub(super) struct Steps {
    /// The steps in order. A fault may still change those that are answers.
    pub(super) all: Vec<HistoryLine>,
    /// The invocations whose operations have not ended yet, each with its number.
    open: BTreeMap<Operation, VecDeque<(u64, HistoryLine)>>,
    opened: u64,
    /// The number of open invocations for which each client itself waits.
    asking: BTreeMap<u64, usize>,
    /// The steps that are answers, by their entries. Faults may still revoke them.
    answers: BTreeMap<u64, usize>,
    /// The number of operations that have processes of their own.
    apart: u64,
    /// The time of the current entry on the monotonic clock.
    now_ms: i64,
}

fn operation(entry: &Entry) -> Operation {
    (entry.client, entry.key, entry.ticket())
}

impl Steps {
    /// Returns the memory in bytes. O(1).
    pub(super) fn memory(&self) -> usize {
        let open = tree_heap_bytes(
            1,
            self.open.len(),
            size_of::<(Operation, VecDeque<(u64, HistoryLine)>, u64, HistoryLine)>(),
        );
        let others = self.asking.len() + self.answers.len();
        vec_heap_bytes(&self.all) + open + tree_heap_bytes(2, others, size_of::<(u64, usize)>())
    }

    /// Takes an entry in. O(log n).
    pub(super) fn take_in(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        let at_ms = ring.when(seq, entry).monotonic_ms;
        self.now_ms = at_ms;
        match entry.event {
            Event::Queued if entry.client != 0 && entry.native() == Some(true) => {
                if is_acquisition(ring, entry) {
                    let invoked = self.invoke("acquire", seq, entry);
                    self.opened += 1;
                    *self.asking.entry(entry.client).or_default() += usize::from(invoked.apart.is_none());
                    self.open.entry(operation(entry)).or_default().push_back((self.opened, invoked));
                }
                return;
            }
            Event::LeftQueue if entry.native() == Some(true) && entry.cause != Cause::Served => {
                let is_gone = entry.cause == Cause::Disconnected;
                if let Some(invoked) = self.take_open(entry) {
                    let phase = if is_gone { Phase::Info } else { Phase::Fail };
                    self.all.push(HistoryLine { phase, at: seq, at_ms, ..invoked });
                }
                return;
            }
            Event::Queued | Event::LeftQueue => return,
            Event::Disconnect if self.is_left_open(seq, entry) => return,
            Event::Fault if ring.keeps_answer(entry) => {
                for at in ring.unanswered(seq).filter_map(|(seq, _)| self.answers.get(&seq)) {
                    self.all[*at].phase = Phase::Info;
                }
            }
            _ => {}
        }
        let Some((function, phase)) = asked(entry) else {
            let (phase, function) = (Phase::Info, entry.event.name());
            return self.all.push(HistoryLine { phase, function, entry: seq, at: seq, at_ms, apart: None });
        };
        let invoked = self.take_open(entry).unwrap_or_else(|| self.invoke(function, seq, entry));
        self.answers.insert(seq, self.all.len());
        self.all.push(HistoryLine { phase, function, entry: seq, at: seq, at_ms, ..invoked });
    }

    /// Adds an invocation, as a process of its own if its client waits for another answer, or continues while it waits.
    fn invoke(&mut self, function: &'static str, seq: u64, entry: &Entry) -> HistoryLine {
        let asks = self.asking.get(&entry.client).is_some_and(|asking| *asking > 0);
        let is_apart = entry.ticket().is_some() || asks;
        self.apart += u64::from(is_apart);
        let apart = is_apart.then_some(self.apart);
        let at_ms = self.now_ms;
        let invoked = HistoryLine { phase: Phase::Invoke, function, entry: seq, at: seq, at_ms, apart };
        self.all.push(invoked);
        invoked
    }

    /// Removes and returns the open invocation that an entry ends, if there is one.
    fn take_open(&mut self, entry: &Entry) -> Option<HistoryLine> {
        let open = self.open.get_mut(&operation(entry))?;
        let (_, invoked) = open.pop_front()?;
        if open.is_empty() {
            self.open.remove(&operation(entry));
        }
        if let Some(asking) = self.asking.get_mut(&entry.client).filter(|_| invoked.apart.is_none()) {
            *asking -= 1;
        }
        Some(invoked)
    }

    /// Ends the open operations of a client that is gone, with an unknown outcome. Returns whether there were any.
    fn is_left_open(&mut self, seq: u64, entry: &Entry) -> bool {
        let first = (entry.client, Name::NONE, None);
        let mut left: Vec<(u64, HistoryLine)> = Vec::new();
        while let Some((&of, _)) = self.open.range(first..).next().filter(|(of, _)| of.0 == entry.client) {
            left.extend(self.open.remove(&of).unwrap_or_default());
        }
        self.asking.remove(&entry.client);
        left.sort_unstable_by_key(|(number, _)| *number);
        let at_ms = self.now_ms;
        let unknown =
            left.iter().map(|(_, invoked)| HistoryLine { phase: Phase::Info, at: seq, at_ms, ..*invoked });
        self.all.extend(unknown);
        !left.is_empty()
    }
}
