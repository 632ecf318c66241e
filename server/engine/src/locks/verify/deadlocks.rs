//! `deadlock`: no owners wait for each other.
//!
//! A native request that would close a cycle is refused. That is a lint: the same order of locks may later involve
//! owners that the server cannot refuse. A cycle of waits that was closed is a suspect, even if the end of a lease has
//! opened it again. A cycle is a lint if one of its owners gave up by itself, as `tryLock` does on timeout.

use super::super::history::{Cause, Entry, Event, Name, Ring};
use super::finding::{Finding, Severity, words};
use super::findings::Findings;
use super::invariant::Invariant;
use super::locks::View;
use super::waits::{Cycle, CycleStep, Waits};
use lockwheel_store::memory::{map_heap_bytes, set_heap_bytes, vec_heap_bytes};
use lockwheel_store::time::Now;
use std::collections::{BTreeMap, BTreeSet};
use std::task::Poll;

#[derive(Clone, Debug)]
struct Found {
    level: Severity,
    /// The monotonic time at which the cycle was closed.
    at_ms: i64,
    key: Name,
    /// The entries of the holds and waits in the cycle.
    seqs: Vec<u64>,
    owners: Vec<Name>,
    text: String,
    steps: Vec<CycleStep>,
}

impl Found {
    fn finding(&self) -> Finding {
        let Found { level, key, mut seqs, owners, text, .. } = self.clone();
        seqs.retain(|seq| *seq > 0);
        seqs.sort_unstable();
        seqs.dedup();
        Finding { level, invariant: "deadlock", key, seqs, owners, text }
    }
}

/// The key that identifies a cycle: see [`names_of`].
type Names = Vec<(Name, Name)>;

#[derive(Debug, Default)]
pub(super) struct Deadlocks {
    waits: Waits,
    /// The entry whose effect is examined before the next entry. Until then the locks have not taken it in.
    last: Option<u64>,
    /// The cycle for which the next entry's request was refused. `None` until the search has finished.
    of_refused: Option<Option<Cycle>>,
    /// The index in `found` of each cycle, by its owners and locks in the order of their names.
    places: BTreeMap<Names, usize>,
    found: Vec<Found>,
    /// The indices of the closed cycles, by each owner and lock in them.
    closed: BTreeSet<(Name, usize)>,
    /// The refused owners, each with the text of the cycle.
    refused: BTreeSet<(Name, String)>,
}

/// The maximum number of cycles that are tracked at once. Further cycles are only counted.
const MAX_CYCLES: usize = 64;
/// The maximum number of owners of a cycle that is tracked until it opens, and of steps that a text names.
const MAX_STEPS: usize = 32;

fn cycle_text(ring: &Ring, cycle: &Cycle) -> String {
    let steps = cycle.steps.iter().take(MAX_STEPS);
    let names = steps.flat_map(|step| [step.owner, step.key]).map(|name| words(ring, name));
    let more = cycle.steps.len().saturating_sub(MAX_STEPS);
    let more = (more > 0).then(|| format!("{more} others"));
    let first = words(ring, cycle.steps[0].owner);
    names.chain(more).chain([first]).collect::<Vec<_>>().join(" -> ")
}

impl Deadlocks {
    /// Checks whether the last entry has opened or closed a cycle. Returns whether the check has finished.
    fn look(&mut self, view: View<'_>, seq: u64, steps: &mut u64, findings: &mut Findings) -> bool {
        let Some(entry) = view.ring.get(seq) else { return true };
        if !self.closed.is_empty() && !self.waits.is_searching() {
            self.look_at_closed(view, entry);
        }
        let closes = matches!(entry.event, Event::Queued | Event::Refused | Event::Acquired);
        if !closes || entry.owner == Name::NONE || entry.cause == Cause::Deadlock {
            return true;
        }
        let Poll::Ready(cycle) = self.waits.cycle(view, (entry.owner, entry.key), steps) else {
            return false;
        };
        if let Some(cycle) = cycle {
            let text = format!("deadlock: {} waited for each other", cycle_text(view.ring, &cycle));
            self.add(view.ring, &cycle.steps, (Severity::Suspect, seq, entry), text, findings);
        }
        true
    }

    /// Whether the cycle because of which a request was refused is needed. If the room for refusals is used up, it is
    /// needed only for an ended wait, whose cycle may have been closed.
    fn uses_cycle(&self, entry: &Entry) -> bool {
        self.refused.len() < MAX_CYCLES || entry.event == Event::LeftQueue
    }

    /// Records a request that was refused, or whose wait was ended, because it closed a cycle.
    fn refused(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        let is_full = self.refused.len() == MAX_CYCLES;
        if !self.uses_cycle(entry) {
            self.of_refused = None;
            return findings.leave_out(view.ring, Severity::Lint, entry.key, 1);
        }
        let (who, lock) = (words(view.ring, entry.owner), words(view.ring, entry.key));
        let cycle = self.of_refused.take().flatten();
        let named = match (words(view.ring, entry.text), &cycle) {
            (text, Some(cycle)) if text.is_empty() => cycle_text(view.ring, cycle),
            (text, _) => text,
        };
        let text = format!("{who} was refused {lock}: DEADLOCK {named}");
        // Each refusal is reported once. A request for several locks has an entry for each lock.
        let is_new = !is_full && self.refused.insert((entry.owner, named));
        let cycle = cycle.map_or_else(Vec::new, |cycle| cycle.steps);
        let at_ms = view.ring.when(seq, entry).monotonic_ms;
        let place = self.places.get(&names_of(&cycle, entry));
        let closed = place.and_then(|place| self.found.get_mut(*place));
        match closed {
            // The cycle was closed by the lock that the owner was just given, and ended at once.
            Some(found) if entry.event == Event::LeftQueue && found.at_ms == at_ms => {
                (found.level, found.text) = (Severity::Lint, text);
            }
            _ if is_full => findings.leave_out(view.ring, Severity::Lint, entry.key, 1),
            _ if !is_new => {}
            _ => self.add(view.ring, &cycle, (Severity::Lint, seq, entry), text, findings),
        }
    }

    /// Returns the closed cycles that contain an owner or a lock.
    fn closed_of(&self, name: Name) -> impl Iterator<Item = usize> {
        self.closed.range((name, 0)..=(name, usize::MAX)).map(|(_, place)| *place)
    }

    /// Checks whether an entry has opened cycles, and in which way.
    fn look_at_closed(&mut self, view: View<'_>, entry: &Entry) {
        let places: BTreeSet<usize> = match entry.event {
            Event::Disconnect => self.closed.iter().map(|(_, place)| *place).collect(),
            _ => {
                let meant = [entry.key, self.waits.known(view, entry.owner)];
                meant.into_iter().flat_map(|name| self.closed_of(name)).collect()
            }
        };
        for place in places {
            let Some(found) = self.found.get_mut(place) else { continue };
            let Some(how) = opened(&self.waits, view, &found.steps, entry) else { continue };
            if let (Opened::By(owner), Severity::Suspect) = (how, found.level) {
                found.level = Severity::Lint;
                found.text = format!("{}, until {} stopped waiting", found.text, words(view.ring, owner));
            }
            for name in found.steps.iter().flat_map(|step| [step.owner, step.key]) {
                self.closed.remove(&(name, place));
            }
        }
    }

    /// Returns an index for another cycle. If `found` is full, the oldest closed cycle is reported and replaced.
    fn free_place(&mut self, ring: &Ring, findings: &mut Findings) -> Option<usize> {
        if self.found.len() < MAX_CYCLES {
            return Some(self.found.len());
        }
        let open = (0..self.found.len()).filter(|place| !self.is_closed(*place));
        let place = open.min_by_key(|place| self.found[*place].at_ms)?;
        self.places.retain(|_, of| *of != place);
        findings.push(ring, self.found[place].finding());
        Some(place)
    }

    /// Whether a cycle is still closed, and so tracked until it opens.
    fn is_closed(&self, place: usize) -> bool {
        let first = self.found[place].steps.first();
        first.is_some_and(|step| self.closed.contains(&(step.owner, place)))
    }

    fn add(
        &mut self,
        ring: &Ring,
        steps: &[CycleStep],
        (level, closed, entry): (Severity, u64, &Entry),
        text: String,
        findings: &mut Findings,
    ) {
        let names = names_of(steps, entry);
        let place = self.places.get(&names).copied();
        if place.is_some_and(|place| self.found[place].level >= level) {
            return;
        }
        let Some(place) = place.or_else(|| self.free_place(ring, findings)) else {
            return findings.leave_out(ring, level, entry.key, 1);
        };
        let mut owners: Vec<Name> = steps.iter().map(|step| step.owner).collect();
        if owners.is_empty() {
            owners.push(entry.owner);
        }
        let mut seqs: Vec<u64> = steps.iter().flat_map(|step| [step.waits, step.holds]).collect();
        seqs.push(closed);
        if level == Severity::Suspect && steps.len() <= MAX_STEPS {
            let each = steps.iter().flat_map(|step| [step.owner, step.key]);
            self.closed.extend(each.map(|name| (name, place)));
        }
        let (at_ms, key, steps) = (ring.when(closed, entry).monotonic_ms, entry.key, steps.to_vec());
        let found = Found { level, at_ms, key, seqs, owners, text, steps };
        self.places.insert(names, place);
        match self.found.get_mut(place) {
            Some(known) => *known = found,
            None => self.found.push(found),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Opened {
    /// This owner gave up its wait or its hold by itself.
    By(Name),
    /// A lease ended, or another party opened the cycle.
    Otherwise,
}

/// Returns the way in which a cycle was opened, if it is open after an entry that the locks have taken in.
fn opened(waits: &Waits, view: View<'_>, steps: &[CycleStep], entry: &Entry) -> Option<Opened> {
    let by_others = [Cause::Unblocked, Cause::Disconnected, Cause::Evicted, Cause::Migrated, Cause::Deadlock];
    for (at, step) in steps.iter().enumerate() {
        let next = steps[(at + 1) % steps.len()].owner;
        let holds = |owner| {
            let mut fields = view.locks.owners.fields_of(owner);
            view.lock(step.key).is_some_and(|lock| fields.any(|field| lock.holds.contains(field)))
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

/// Returns the key that identifies a cycle, whichever step comes first: its owners and locks, sorted. If only the
/// refused request of a cycle is known, the key is the owner and the lock of that request.
fn names_of(steps: &[CycleStep], entry: &Entry) -> Names {
    let mut names: Names = steps.iter().map(|step| (step.owner, step.key)).collect();
    if names.is_empty() {
        names.push((entry.owner, entry.key));
    }
    names.sort_unstable();
    names
}

/// Whether an owner was refused a lock, or its wait for the lock was ended, because it closed a cycle.
fn is_refused(entry: &Entry) -> bool {
    matches!(entry.event, Event::Refused | Event::LeftQueue) && entry.cause == Cause::Deadlock
}

impl Invariant for Deadlocks {
    fn prepare(
        &mut self,
        view: View<'_>,
        next: Option<(u64, &Entry)>,
        steps: &mut u64,
        findings: &mut Findings,
    ) -> bool {
        if let Some(last) = self.last {
            if !self.look(view, last, steps, findings) {
                return false;
            }
            self.last = None;
        }
        let next = next.filter(|(_, entry)| is_refused(entry) && self.uses_cycle(entry));
        if let Some((_, entry)) = next
            && self.of_refused.is_none()
        {
            match self.waits.cycle_by(view, (entry.owner, entry.key), steps) {
                Poll::Ready(cycle) => self.of_refused = Some(cycle),
                Poll::Pending => return false,
            }
        }
        true
    }

    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        self.last = Some(seq);
        if is_refused(entry) {
            self.refused(view, seq, entry, findings);
        }
        self.waits.take_in(view, seq, entry);
    }

    fn end(&mut self, view: View<'_>, _: Now, findings: &mut Findings) {
        for place in std::mem::take(&mut self.places).into_values() {
            findings.push(view.ring, self.found[place].finding());
        }
        self.tell_given_up(view, findings);
    }

    fn memory(&self) -> usize {
        let owned = |found: &Found| {
            // The names of a cycle are also a key of `places`.
            let steps = vec_heap_bytes(&found.steps) + found.steps.len() * size_of::<(Name, Name)>();
            steps + vec_heap_bytes(&found.seqs) + vec_heap_bytes(&found.owners) + found.text.capacity()
        };
        let found: usize = self.found.iter().map(owned).sum();
        let refused: usize = self.refused.iter().map(|(_, text)| text.capacity()).sum();
        let maps =
            map_heap_bytes(&self.places) + set_heap_bytes(&self.closed) + set_heap_bytes(&self.refused);
        self.waits.memory() + maps + vec_heap_bytes(&self.found) + found + refused
    }
}

impl Deadlocks {
    /// Reports that some searches for a cycle were given up, so further cycles may exist.
    fn tell_given_up(&self, view: View<'_>, findings: &mut Findings) {
        let (searches @ 1.., Some(seq)) = (self.waits.given_up, view.ring.next().checked_sub(1)) else {
            return;
        };
        let text = format!("{searches} searches for a deadlock were given up: too many owners hold and wait");
        let (level, seqs, owners) = (Severity::Lint, vec![seq], Vec::new());
        let key = view.ring.get(seq).map_or(Name::NONE, |entry| entry.key);
        findings.push(view.ring, Finding { level, invariant: "deadlock", key, seqs, owners, text });
    }
}
