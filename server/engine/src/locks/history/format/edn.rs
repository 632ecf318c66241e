//! The history of a Jepsen test, in EDN: a vector of operations, one on each line.
//!
//! Each client is a process. A wait during which its client continues is a process of its own. Events that no client
//! asked for belong to `:nemesis`: expired leases, moved clocks, faults.

use super::operations::{HistoryLine, Phase, Steps};
use super::text::quote;
use crate::locks::history::entry::{Cause, Entry, Event, Mode};
use crate::locks::history::names::Name;
use crate::locks::history::ring::Ring;
use lockwheel_store::memory::tree_heap_bytes;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The conversion of entries into operations. First all entries are taken in, then the operations are written.
#[derive(Debug, Default)]
pub(in crate::locks) struct Operations {
    steps: Steps,
    processes: Processes,
    written: usize,
}

impl Operations {
    /// Takes an entry in. O(log n).
    pub(in crate::locks) fn take_in(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        self.steps.take_in(ring, seq, entry);
        self.processes.next = self.processes.next.max(entry.client + 1);
    }

    pub(in crate::locks) fn memory(&self) -> usize {
        let processes = self.processes.by_client.len() + self.processes.apart.len();
        self.steps.memory() + tree_heap_bytes(2, processes, size_of::<(u64, u64)>())
    }

    /// Writes up to `count` more operations, until the text has `full` bytes. Returns whether they were the last.
    pub(in crate::locks) fn write_some(
        &mut self,
        ring: &Ring,
        (count, full): (usize, usize),
        into: &mut Vec<u8>,
    ) -> bool {
        let mut text = String::from(if self.written == 0 { "[" } else { "" });
        for step in self.steps.all.iter().skip(self.written).take(count) {
            if into.len() + text.len() >= full {
                break;
            }
            text.push_str(if self.written == 0 { "{" } else { "\n {" });
            write_step(&mut text, ring, self.written, step, &mut self.processes);
            text.push('}');
            self.written += 1;
        }
        let is_end = self.written == self.steps.all.len();
        if is_end {
            text.push_str("]\n");
        }
        into.extend_from_slice(text.as_bytes());
        is_end
    }
}

/// The process of each client: its number, until the outcome of one of its operations is unknown. Then the client
/// continues as another process. A process does one operation at a time; parallel ones have processes of their own.
#[derive(Debug, Default)]
struct Processes {
    by_client: BTreeMap<u64, u64>,
    apart: BTreeMap<u64, u64>,
    /// A number above those of all clients and processes.
    next: u64,
}

impl Processes {
    /// Returns the process of a step that a client has asked for.
    fn of_step(&mut self, step: &HistoryLine, client: u64) -> u64 {
        if let Some(number) = step.apart {
            let process = *self.apart.entry(number).or_insert(self.next);
            self.next = self.next.max(process + 1);
            return process;
        }
        let process = self.by_client.get(&client).copied().unwrap_or(client);
        if step.phase == Phase::Info {
            self.by_client.insert(client, self.next);
            self.next += 1;
        }
        process
    }
}

fn write_step(text: &mut String, ring: &Ring, index: usize, step: &HistoryLine, processes: &mut Processes) {
    let (Some(entry), Some(at)) = (ring.get(step.entry), ring.get(step.at)) else { return };
    let nanos = step.at_ms.saturating_mul(1_000_000);
    // A step that is named after its event is no client's request.
    let is_of_nemesis = step.phase == Phase::Info && step.function == entry.event.name();
    let by_client = entry.client != 0 && !is_of_nemesis;
    let process = match by_client {
        true => processes.of_step(step, entry.client).to_string(),
        false => ":nemesis".to_owned(),
    };
    let (phase, function) = (step.phase.name(), step.function);
    let _infallible = write!(
        text,
        ":index {index} :time {nanos} :process {process} :type {phase} :f :{function} :value {{"
    );
    let mut separator = "";
    let mut begin = |text: &mut String, name: &str| {
        let _infallible = write!(text, "{separator}:{name} ");
        separator = " ";
    };
    let lease = if entry.event == Event::Permits { entry.text } else { Name::NONE };
    let said = if lease == Name::NONE { entry.text } else { Name::NONE };
    for (name, value) in [("key", entry.key), ("owner", entry.owner), ("text", said)] {
        if value != Name::NONE {
            begin(text, name);
            quote(text, ring.text(value));
        }
    }
    let known = step.phase != Phase::Invoke;
    let from_to = [("from", entry.ttl_ms), ("to", entry.holds)].map(|(name, value)| (name, Some(value)));
    let of_hold = [
        ("grant", (known && entry.grant > 0).then_some(entry.grant as i64)),
        ("holds", (known && entry.native().is_some()).then_some(entry.holds)),
    ];
    let of_permits = [("permits", Some(entry.holds)), ("left", entry.ttl().filter(|_| known))];
    let numbers = match entry.event {
        Event::Clock => from_to,
        Event::Permits => of_permits,
        _ => of_hold,
    };
    for (name, value) in numbers {
        if let Some(value) = value {
            begin(text, name);
            text.push_str(&value.to_string());
        }
    }
    if known && entry.mode != Mode::None {
        begin(text, "mode");
        let _infallible = write!(text, ":{}", entry.mode.name());
    }
    // If the wait ended without success, `entry` records only its beginning, and `at` has the cause.
    let cause = if at.event == Event::LeftQueue { at.cause } else { entry.cause };
    if known && cause != Cause::None {
        begin(text, "cause");
        let _infallible = write!(text, ":{}", cause.name());
    }
    text.push('}');
}
