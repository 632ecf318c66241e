//! `deadlock`: owners do not wait for each other. Who would close a cycle natively is refused: that is a lint, since
//! the next time the same order of locks may meet owners that cannot be told. A cycle of waits that was closed is a
//! suspect, also when the end of a lease has opened it again. Where one of them waited no longer by itself, as
//! `tryLock` does when its time is over, that was its way out, and it is a lint.

use super::super::history::{Cause, Entry, Event, Name, Ring};
use super::finding::{Finding, Level, words};
use super::invariant::Invariant;
use super::locks::View;
use super::waits::{Cycle, Step, Waits};
use crate::time::Now;
use std::collections::{BTreeMap, BTreeSet};

/// What has been found of a cycle.
#[derive(Clone, Debug)]
struct Found {
    level: Level,
    /// When it was closed.
    at_ms: i64,
    key: Name,
    /// The entries of the holds and waits in it.
    seqs: Vec<u64>,
    owners: Vec<Name>,
    text: String,
    steps: Vec<Step>,
}

/// What a cycle is known by: see [`names_of`].
type Names = Vec<(Name, Name)>;

#[derive(Debug, Default)]
pub(super) struct Deadlocks {
    waits: Waits,
    /// The entry whose effect is looked at with the next: until then the locks have not taken it in.
    last: Option<u64>,
    /// By the owners and locks in a cycle, in the order of their names: the first time.
    found: BTreeMap<Names, Found>,
    /// Those that are closed, by the owners and locks in them.
    closed: BTreeSet<(Name, Names)>,
    /// Who was refused, by which cycle in words.
    refused: BTreeSet<(Name, String)>,
}

/// What stands in a finding before the cycle.
fn told(ring: &Ring, cycle: &Cycle) -> String {
    let names = cycle.steps.iter().flat_map(|step| [step.owner, step.key]).chain([cycle.steps[0].owner]);
    names.map(|name| words(ring, name)).collect::<Vec<_>>().join(" -> ")
}

impl Deadlocks {
    /// Looks whether an entry that the locks have taken in has opened a cycle, or closed one.
    fn look(&mut self, view: View<'_>, seq: u64) {
        let Some(entry) = view.ring.get(seq) else { return };
        if !self.closed.is_empty() {
            self.look_at_closed(view, entry);
        }
        let closes = matches!(entry.event, Event::Queued | Event::Refused | Event::Acquired);
        if !closes || entry.owner == Name::NONE || entry.cause == Cause::Deadlock {
            return;
        }
        if let Some(cycle) = self.waits.cycle(view, entry.owner, None) {
            let text = format!("deadlock: {} waited for each other", told(view.ring, &cycle));
            self.add(view.ring, &cycle.steps, (Level::Suspect, seq, entry), text);
        }
    }

    /// A request was refused, or its wait was ended, since it closed a cycle.
    fn refused(&mut self, view: View<'_>, seq: u64, entry: &Entry) {
        let (who, lock) = (words(view.ring, entry.owner), words(view.ring, entry.key));
        let cycle = self.waits.cycle(view, entry.owner, Some(entry.key));
        let named = match (words(view.ring, entry.text), &cycle) {
            (text, Some(cycle)) if text.is_empty() => told(view.ring, cycle),
            (text, _) => text,
        };
        let text = format!("{who} was refused {lock}: DEADLOCK {named}");
        // Each is told of once; of a request for several locks each lock has an entry.
        let is_new = self.refused.insert((entry.owner, named));
        let cycle = cycle.map_or_else(Vec::new, |cycle| cycle.steps);
        let at_ms = view.ring.when(seq, entry).monotonic_ms;
        let closed = self.found.get_mut(&names_of(&cycle, entry));
        match closed {
            // It was closed by what the owner was just given, and ended at once.
            Some(found) if entry.event == Event::LeftQueue && found.at_ms == at_ms => {
                (found.level, found.text) = (Level::Lint, text);
            }
            _ if !is_new => {}
            _ => self.add(view.ring, &cycle, (Level::Lint, seq, entry), text),
        }
    }

    /// The closed cycles that an owner or a lock is in.
    fn closed_of(&self, name: Name) -> impl Iterator<Item = &Names> {
        let from = self.closed.range((name, Names::new())..);
        from.take_while(move |(of, _)| *of == name).map(|(_, names)| names)
    }

    /// Looks whether an entry has opened cycles, and how.
    fn look_at_closed(&mut self, view: View<'_>, entry: &Entry) {
        let names: BTreeSet<Names> = match entry.event {
            Event::Disconnect => self.closed.iter().map(|(_, names)| names.clone()).collect(),
            _ => {
                let meant = [entry.key, self.waits.known(view.ring, entry.owner)];
                meant.into_iter().flat_map(|name| self.closed_of(name)).cloned().collect()
            }
        };
        for names in names {
            let Some(found) = self.found.get_mut(&names) else { continue };
            let Some(how) = opened(&self.waits, view, &found.steps, entry) else { continue };
            if let (Opened::By(owner), Level::Suspect) = (how, found.level) {
                found.level = Level::Lint;
                found.text = format!("{}, until {} waited no longer", found.text, words(view.ring, owner));
            }
            for name in names.iter().flat_map(|(owner, key)| [owner, key]) {
                self.closed.remove(&(*name, names.clone()));
            }
        }
    }

    fn add(
        &mut self,
        ring: &Ring,
        steps: &[Step],
        (level, closed, entry): (Level, u64, &Entry),
        text: String,
    ) {
        let mut owners: Vec<Name> = steps.iter().map(|step| step.owner).collect();
        if owners.is_empty() {
            owners.push(entry.owner);
        }
        let mut seqs: Vec<u64> = steps.iter().flat_map(|step| [step.waits, step.holds]).collect();
        seqs.push(closed);
        let names = names_of(steps, entry);
        if self.found.get(&names).is_some_and(|known| known.level >= level) {
            return;
        }
        if level == Level::Suspect {
            let each = names.iter().flat_map(|(owner, key)| [*owner, *key]);
            self.closed.extend(each.map(|name| (name, names.clone())));
        }
        let (at_ms, key, steps) = (ring.when(closed, entry).monotonic_ms, entry.key, steps.to_vec());
        self.found.insert(names, Found { level, at_ms, key, seqs, owners, text, steps });
    }
}

/// How a cycle was opened.
#[derive(Clone, Copy, Debug)]
enum Opened {
    /// This owner gave way by itself.
    By(Name),
    /// A lease has ended, or somebody else has done it.
    Otherwise,
}

/// Whether a cycle is open after an entry that has been taken in, and how it came to be.
fn opened(waits: &Waits, view: View<'_>, steps: &[Step], entry: &Entry) -> Option<Opened> {
    let by_others = [Cause::Unblocked, Cause::Disconnected, Cause::Evicted, Cause::Deadlock];
    for (at, step) in steps.iter().enumerate() {
        let next = steps[(at + 1) % steps.len()].owner;
        let holds = |owner| {
            let fields = view.lock(step.key).into_iter().flat_map(|lock| lock.holds.keys());
            fields.copied().any(|field| waits.known(view.ring, field) == owner)
        };
        let gives_way = if !waits.waits_for(view.ring, step.owner, step.key) && !holds(step.owner) {
            let by_itself = entry.event != Event::Disconnect && !by_others.contains(&entry.cause);
            by_itself.then_some(step.owner)
        } else if !holds(next) {
            (entry.event == Event::Released && entry.client != 0).then_some(next)
        } else {
            continue;
        };
        return Some(gives_way.map_or(Opened::Otherwise, Opened::By));
    }
    None
}

/// What a cycle is known by, wherever it begins: its owners and locks. That of which nothing more is known than who was
/// refused has but one.
fn names_of(steps: &[Step], entry: &Entry) -> Names {
    let mut names: Names = steps.iter().map(|step| (step.owner, step.key)).collect();
    if names.is_empty() {
        names.push((entry.owner, entry.key));
    }
    names.sort_unstable();
    names
}

impl Invariant for Deadlocks {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, _: &mut Vec<Finding>) {
        if let Some(last) = self.last.replace(seq) {
            self.look(view, last);
        }
        let is_refused = matches!(entry.event, Event::Refused | Event::LeftQueue);
        if is_refused && entry.cause == Cause::Deadlock {
            self.refused(view, seq, entry);
        }
        self.waits.take_in(view.ring, seq, entry);
    }

    fn end(&mut self, view: View<'_>, _: Now, findings: &mut Vec<Finding>) {
        if let Some(last) = self.last.take() {
            self.look(view, last);
        }
        for found in std::mem::take(&mut self.found).into_values() {
            let Found { level, key, mut seqs, owners, text, .. } = found;
            seqs.retain(|seq| *seq > 0);
            seqs.sort_unstable();
            seqs.dedup();
            findings.push(Finding { level, invariant: "deadlock", key, seqs, owners, text });
        }
    }
}
