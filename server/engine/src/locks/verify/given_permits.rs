//! `permits-bound` across several servers: together they never give out more permits of a semaphore than exist. Two
//! masters that both continue with the same permits violate this.
//!
//! A server knows only its own permits. The permits that are out are therefore computed from the entries of all
//! servers, as a lower bound. A returned permit counts as the one whose lease would have lasted longest. A leased
//! permit counts until its first lease ends. Its server may not live to record that end.

use super::super::history::{Cause, Entry, Event, Name};
use super::exclusion::at_node;
use super::finding::{Finding, Severity, words};
use super::findings::{Findings, MAX_SHOWN};
use super::invariant::Invariant;
use super::locks::View;
use lockwheel_store::memory::map_heap_bytes;
use std::collections::BTreeMap;

/// Permits that a server has given to an owner.
#[derive(Clone, Copy, Debug)]
struct Given {
    owner: Name,
    permits: i64,
}

/// The permits that a server has given of a semaphore.
#[derive(Debug, Default)]
struct OfServer {
    /// The permits that are out, by the end of their lease in wall milliseconds and by their entry.
    out: BTreeMap<(i64, u64), Given>,
    permits: i64,
}

impl OfServer {
    fn give(&mut self, of: (i64, u64), given: Given) {
        self.permits = self.permits.saturating_add(given.permits);
        self.out.insert(of, given);
    }

    fn end_leases(&mut self, wall_ms: i64) {
        while let Some(first) = self.out.first_entry().filter(|first| first.key().0 <= wall_ms) {
            self.permits = self.permits.saturating_sub(first.remove().permits);
        }
    }
}

#[derive(Debug, Default)]
struct Semaphore {
    by_server: BTreeMap<usize, OfServer>,
    /// The total number of permits, by the servers that know it.
    totals: BTreeMap<usize, i64>,
    /// Whether the total has changed by an unknown number of permits.
    is_unknown: bool,
}

impl Semaphore {
    fn end_leases(&mut self, wall_ms: i64) {
        self.by_server.values_mut().for_each(|of_server| of_server.end_leases(wall_ms));
        self.by_server.retain(|_, of_server| !of_server.out.is_empty());
    }

    /// Returns the owned memory in bytes. O(servers).
    fn memory(&self) -> usize {
        let out: usize = self.by_server.values().map(|of| map_heap_bytes(&of.out)).sum();
        map_heap_bytes(&self.by_server) + map_heap_bytes(&self.totals) + out
    }

    /// Takes permits back. Returns the number of returned permits that were never given.
    fn give_back(&mut self, mut permits: i64) -> i64 {
        while permits > 0 {
            let servers = self.by_server.values_mut().filter(|of_server| !of_server.out.is_empty());
            let last = servers.max_by_key(|of_server| of_server.out.last_key_value().map(|(of, _)| *of));
            let Some(of_server) = last else { break };
            let Some(mut last) = of_server.out.last_entry() else { break };
            let given = last.get_mut();
            let back = permits.min(given.permits);
            (permits, given.permits) = (permits - back, given.permits - back);
            if given.permits == 0 {
                last.remove();
            }
            of_server.permits = of_server.permits.saturating_sub(back);
        }
        self.by_server.retain(|_, of_server| !of_server.out.is_empty());
        permits
    }

    /// Returns the number of permits that are out beyond the total, if several servers have given permits.
    fn excess(&self) -> Option<i64> {
        let total = self.totals.values().max().filter(|_| !self.is_unknown)?;
        let out = self.by_server.values().fold(0_i64, |sum, of| sum.saturating_add(of.permits));
        (self.by_server.len() > 1 && out > *total).then(|| out.saturating_sub(*total))
    }

    /// Returns the first permits that are out, by their entries, and the number of all entries of such permits.
    fn shown(&self) -> (Vec<(u64, Given)>, usize) {
        let out = self.by_server.values().flat_map(|of| of.out.iter().take(MAX_SHOWN));
        let mut given: Vec<(u64, Given)> = out.map(|((_, seq), given)| (*seq, *given)).collect();
        given.sort_unstable_by_key(|(seq, _)| *seq);
        given.truncate(MAX_SHOWN);
        (given, self.by_server.values().map(|of| of.out.len()).sum())
    }
}

#[derive(Debug, Default)]
pub(super) struct GivenPermits {
    by_key: BTreeMap<Name, Semaphore>,
    owned_bytes: usize,
}

impl GivenPermits {
    fn take_in(&mut self, view: View<'_>, seq: u64, entry: &Entry) {
        let (place, wall_ms) = (view.ring.place_number(seq), view.ring.when(seq, entry).wall_ms);
        let semaphore = self.by_key.entry(entry.key).or_default();
        self.owned_bytes -= semaphore.memory();
        semaphore.end_leases(wall_ms);
        match (entry.cause, entry.total()) {
            (_, Some(total)) => drop(semaphore.totals.insert(place, total)),
            (Cause::Adjust, None) => semaphore.is_unknown = true,
            (_, None) => {}
        }
        match entry.cause {
            Cause::Acquire | Cause::Drain => {
                let end_ms = view.ring.lease_of(entry).map_or(i64::MAX, |ms| wall_ms.saturating_add(ms));
                let given = Given { owner: entry.owner, permits: entry.holds };
                semaphore.by_server.entry(place).or_default().give((end_ms, seq), given);
            }
            Cause::Release | Cause::Disconnected => {
                let of_nobody = semaphore.give_back(entry.holds);
                semaphore.is_unknown |= of_nobody > 0 && entry.total().is_none();
            }
            Cause::Adjust | Cause::Expired => {}
            // The server has become a replica: the permits that it has given are lost.
            Cause::FailedOver => {
                semaphore.by_server.remove(&place);
                semaphore.totals.remove(&place);
            }
            _ => {
                let totals = entry.total().map(|total| (place, total)).into_iter().collect();
                *semaphore = Semaphore { totals, ..Semaphore::default() };
            }
        }
        self.owned_bytes += semaphore.memory();
    }
}

impl Invariant for GivenPermits {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        if entry.event != Event::Permits || !view.ring.is_of_several() {
            return;
        }
        self.take_in(view, seq, entry);
        let is_given = matches!(entry.cause, Cause::Acquire | Cause::Drain);
        let excess = self.by_key.get(&entry.key).filter(|_| is_given);
        let Some((semaphore, excess)) = excess.and_then(|of| Some((of, of.excess()?))) else { return };
        let (given, all) = semaphore.shown();
        let mut told: Vec<String> = given
            .iter()
            .map(|(seq, given)| format!("{}{}", given.permits, at_node(view.ring, *seq)))
            .collect();
        if all > given.len() {
            told.push(format!("and {} more times", all - given.len()));
        }
        let mut owners: Vec<Name> = Vec::new();
        for (_, Given { owner, .. }) in &given {
            if *owner != Name::NONE && !owners.contains(owner) {
                owners.push(*owner);
            }
        }
        let (name, told) = (words(view.ring, entry.key), told.join(", "));
        findings.push(
            view.ring,
            Finding {
                level: Severity::Violation,
                invariant: "permits-bound",
                key: entry.key,
                seqs: given.iter().map(|(seq, _)| *seq).collect(),
                owners,
                text: format!("{name}: {excess} more permits than the total have been given out: {told}"),
            },
        );
    }

    fn memory(&self) -> usize {
        map_heap_bytes(&self.by_key) + self.owned_bytes
    }
}
