//! `unanswered-acquire`: an owner whose granted request was not answered does not know that it holds the lock. It must
//! release all of its holds before it continues: if it only tries again, one release is too few.

use super::super::history::{Cause, Entry, Event, Name, Ring};
use super::finding::{Finding, Severity, words};
use super::findings::Findings;
use super::invariant::Invariant;
use super::locks::View;
use lockwheel_store::memory::{map_heap_bytes, vec_heap_bytes};
use lockwheel_store::time::Now;
use std::collections::BTreeMap;

/// The texts of the faults that hold an answer on a frozen or partitioned connection, and that end this.
const UNSENT: &[u8] = b"unsent";
const OVER: [&[u8]; 2] = [b"FAULT.HEAL", b"FAULT.THAWCLIENT"];

/// Commands that change a lease without naming an owner: any client may send them.
const NAMELESS: [&[u8]; 6] = [b"expire", b"pexpire", b"expireat", b"pexpireat", b"persist", b"getex"];

/// An acquisition that was not answered.
#[derive(Clone, Copy, Debug)]
struct Unanswered {
    acquired: u64,
    client: u64,
    fault: u64,
    text: Name,
    /// The entry at which the owner first took the lock again.
    again: Option<u64>,
}

/// Acquisitions that were not answered, by lock and owner, until the owner is known to know of its hold.
#[derive(Debug, Default)]
pub(super) struct UnansweredAcquires {
    open: BTreeMap<(Name, Name), Unanswered>,
    /// The locks and owners of requests on frozen or partitioned connections. Some of these acquisitions have ended.
    unsent: Vec<(Name, Name)>,
}

/// Whether an owner no longer holds its lock.
fn ends_hold(entry: &Entry) -> bool {
    match entry.event {
        Event::Released => entry.holds == 0,
        event => matches!(event, Event::Lost | Event::Transferred),
    }
}

impl UnansweredAcquires {
    /// Records the locks that a request acquired and did not release itself, though its answer was kept back.
    fn kept(&mut self, ring: &Ring, fault: u64, entry: &Entry) {
        let mut entries: Vec<_> = ring.unanswered(fault).collect();
        entries.reverse();
        for (seq, before) in entries.into_iter().filter(|(_, before)| before.client == entry.client) {
            let of = (before.key, before.owner);
            if matches!(before.event, Event::Acquired | Event::Reentered)
                && !matches!(before.cause, Cause::Swapped | Cause::Migrated)
            {
                let new =
                    Unanswered { acquired: seq, client: before.client, fault, text: entry.text, again: None };
                if ring.text(entry.text) == UNSENT && !self.open.contains_key(&of) {
                    self.unsent.push(of);
                }
                self.open.entry(of).or_insert(new);
            } else if ends_hold(before) && self.open.get(&of).is_some_and(|one| one.fault == fault) {
                self.open.remove(&of);
            }
        }
    }

    fn fault(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        let word = ring.text(entry.text).split(|&byte| byte == b' ').next().unwrap_or_default();
        if ring.keeps_answer(entry) {
            self.kept(ring, seq, entry);
        } else if OVER.contains(&word) {
            for of in std::mem::take(&mut self.unsent) {
                if self.open.get(&of).is_some_and(|one| ring.text(one.text) == UNSENT) {
                    self.open.remove(&of);
                }
            }
        }
    }

    /// Removes an acquisition if an entry shows that its owner knows of the hold.
    fn follow(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        let of = (entry.key, entry.owner);
        let Some(one) = self.open.get_mut(&of) else { return };
        let knows = match entry.event {
            Event::Reentered => {
                one.again.get_or_insert(seq);
                false
            }
            Event::Renewed => {
                let is_its = entry.client == one.client || !NAMELESS.contains(&ring.text(entry.by));
                one.again.is_none() && entry.client != 0 && is_its
            }
            Event::Released => entry.holds == 0,
            Event::Refused => entry.cause == Cause::Error,
            Event::Acquired | Event::Lost | Event::Converted | Event::Transferred => true,
            _ => false,
        };
        if knows {
            self.open.remove(&of);
        }
    }
}

fn finding(view: View<'_>, (key, owner): (Name, Name), one: Unanswered, lost: Option<u64>) -> Finding {
    let [who, lock, fault] = [owner, key, one.text].map(|name| words(view.ring, name));
    let then = match (one.again, lost) {
        (Some(_), None) => "took it again, and has not released all its holds",
        (Some(_), Some(_)) => "took it again, and did not release all its holds before the lease expired",
        (None, None) => "still holds it, perhaps without knowing",
        (None, Some(_)) => "held it until the lease expired, perhaps without knowing",
    };
    Finding {
        level: Severity::Suspect,
        invariant: "unanswered-acquire",
        key,
        seqs: [one.acquired, one.fault].into_iter().chain(one.again).chain(lost).collect(),
        owners: vec![owner],
        text: format!("{who} was given {lock} by a request whose reply was withheld ({fault}), and {then}"),
    }
}

impl Invariant for UnansweredAcquires {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        if entry.event == Event::Fault {
            return self.fault(view.ring, seq, entry);
        }
        let of = (entry.key, entry.owner);
        if (entry.event, entry.cause) == (Event::Lost, Cause::Expired)
            && let Some(&one) = self.open.get(&of)
        {
            findings.push(view.ring, finding(view, of, one, Some(seq)));
        }
        self.follow(view.ring, seq, entry);
    }

    fn end(&mut self, view: View<'_>, _: Now, findings: &mut Findings) {
        for (&of, &one) in &self.open {
            findings.push(view.ring, finding(view, of, one, None));
        }
    }

    fn memory(&self) -> usize {
        map_heap_bytes(&self.open) + vec_heap_bytes(&self.unsent)
    }
}
