//! `fair-order`: a fair lock goes to the head of its queue. `queue-leak`: an entry in it whose client is gone.

use super::super::history::{Cause, Entry, Event, Mode, Name};
use super::finding::{Finding, Severity, words};
use super::findings::Findings;
use super::invariant::Invariant;
use super::locks::View;
use super::own_channels::OwnChannels;
use lockwheel_store::memory::map_heap_bytes;
use lockwheel_store::time::Now;
use std::collections::BTreeMap;

/// The owner that left each fair queue last, the listeners to owners' channels, and the lock just transferred.
#[derive(Debug, Default)]
pub(super) struct FairOrder {
    left: BTreeMap<Name, Name>,
    channels: OwnChannels,
    given: Option<Name>,
}

impl Invariant for FairOrder {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        self.channels.take_in(entry, entry.owner);
        match entry.event {
            Event::LeftQueue if entry.mode == Mode::Fair => {
                self.left.insert(entry.key, entry.owner);
                // An owner that was removed after it got the lock no longer blocks the queue.
                let lock = view.lock(entry.key);
                let is_holder = lock.is_some_and(|lock| lock.holds.contains(entry.owner));
                if entry.cause == Cause::Evicted && !is_holder {
                    let [lock, owner] = [entry.key, entry.owner].map(|name| words(view.ring, name));
                    let text = format!("{owner} was taken out of the queue of {lock} by its score");
                    let of = (entry.key, entry.owner);
                    findings.push(view.ring, Finding::new(Severity::Suspect, "skew", of, vec![seq], text));
                }
            }
            Event::Acquired if self.given != Some(entry.key) && !is_brought(view, entry) => {
                self.granted(view, seq, entry, findings);
            }
            _ => {}
        }
        self.given = (entry.event == Event::Transferred).then_some(entry.key);
    }

    fn end(&mut self, view: View<'_>, _: Now, findings: &mut Findings) {
        for (&key, lock) in &view.locks.by_key {
            let fair = lock.waiting.fair();
            let leaked = fair.filter(|one| self.channels.is_left(key, one.owner, one.client));
            for waiting in leaked {
                let [name, owner] = [key, waiting.owner].map(|name| words(view.ring, name));
                let text = format!("{owner} is still in the queue of {name}, but its connection is closed");
                let (of, seqs) = ((key, waiting.owner), vec![waiting.seq]);
                findings.push(view.ring, Finding::new(Severity::Lint, "queue-leak", of, seqs, text));
            }
        }
    }

    fn memory(&self) -> usize {
        map_heap_bytes(&self.left) + self.channels.memory()
    }
}

/// Whether a hold came from another place with its key or its database. It was granted there.
fn is_brought(view: View<'_>, entry: &Entry) -> bool {
    const BRING: [&[u8]; 6] = [b"rename", b"renamenx", b"move", b"copy", b"restore", b"restore-asking"];
    matches!(entry.cause, Cause::Swapped | Cause::Migrated) || BRING.contains(&view.ring.text(entry.by))
}

impl FairOrder {
    fn granted(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        let left = self.left.remove(&entry.key);
        let was_head = left.is_some_and(|owner| owner == entry.owner);
        let Some(waiting) = view.lock(entry.key).map(|lock| &lock.waiting) else { return };
        let Some(head) = waiting.first_fair() else { return };
        if head.owner == entry.owner || was_head || self.channels.is_left(entry.key, head.owner, head.client)
        {
            return;
        }
        // While a native waiter is not in the fair queue, native requests are served by priority, then by arrival. The
        // head may stand behind a request for several locks there, even though this lock is free.
        if entry.native() == Some(true) && waiting.has_plain_native() {
            return;
        }
        let [lock, owner, first] = [entry.key, entry.owner, head.owner].map(|name| words(view.ring, name));
        findings.push(
            view.ring,
            Finding {
                level: Severity::Violation,
                invariant: "fair-order",
                key: entry.key,
                seqs: vec![head.seq, seq],
                owners: vec![head.owner, entry.owner],
                text: format!("{owner} was granted {lock} while {first} was the head of its queue"),
            },
        );
    }
}
