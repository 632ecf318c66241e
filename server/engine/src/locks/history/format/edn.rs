//! The history of a Jepsen test, in EDN: a vector of operations, one a line.
//!
//! A client is a process, and so is a wait during which its client goes on. What nobody asked for is `:nemesis`':
//! leases that ran out, turned clocks, faults.

use super::operations::{Phase, Step, steps};
use super::text::quote;
use crate::locks::history::entry::{Cause, Entry, Event, Mode};
use crate::locks::history::names::Name;
use crate::locks::history::ring::Ring;
use std::collections::BTreeMap;
use std::fmt::Write;

/// These entries as operations.
pub(in crate::locks) fn text(ring: &Ring, entries: &[(u64, &Entry)]) -> String {
    let steps = steps(ring, entries);
    let mut processes = Processes::of(entries);
    let mut text = String::from("[");
    for (index, step) in steps.iter().enumerate() {
        text.push_str(if index == 0 { "{" } else { "\n {" });
        write_step(&mut text, ring, index, step, &mut processes);
        text.push('}');
    }
    text.push_str("]\n");
    text
}

/// Which process each client is: itself, until nobody knows how an operation of it has ended. Such a process does
/// nothing more, so that the client is another one from then on. A process does one thing at a time: what a client does
/// besides is a process of its own.
struct Processes {
    by_client: BTreeMap<u64, u64>,
    apart: BTreeMap<u64, u64>,
    next: u64,
}

impl Processes {
    fn of(entries: &[(u64, &Entry)]) -> Self {
        let last = entries.iter().map(|(_, entry)| entry.client).max().unwrap_or(0);
        Processes { by_client: BTreeMap::new(), apart: BTreeMap::new(), next: last + 1 }
    }

    /// The process that does this.
    fn of_step(&mut self, step: &Step<'_>) -> u64 {
        if let Some(number) = step.apart {
            let process = *self.apart.entry(number).or_insert(self.next);
            self.next = self.next.max(process + 1);
            return process;
        }
        let client = step.entry.client;
        let process = self.by_client.get(&client).copied().unwrap_or(client);
        if step.phase == Phase::Info {
            self.by_client.insert(client, self.next);
            self.next += 1;
        }
        process
    }
}

fn write_step(text: &mut String, ring: &Ring, index: usize, step: &Step<'_>, processes: &mut Processes) {
    let (entry, nanos) = (step.entry, step.at_ms.saturating_mul(1_000_000));
    let by_client = entry.client != 0 && !is_of_nemesis(step);
    let process = if by_client { processes.of_step(step).to_string() } else { ":nemesis".to_owned() };
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
    // What has ended in vain was only asked for by the other entry.
    let cause = if step.at.event == Event::LeftQueue { step.at.cause } else { entry.cause };
    if known && cause != Cause::None {
        begin(text, "cause");
        let _infallible = write!(text, ":{}", cause.name());
    }
    text.push('}');
}

/// Whether a step is nobody's request.
fn is_of_nemesis(step: &Step<'_>) -> bool {
    step.phase == Phase::Info && step.function == step.entry.event.name()
}
