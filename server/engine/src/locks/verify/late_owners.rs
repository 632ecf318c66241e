//! `mutual-exclusion` as a suspect, and `renew-after-loss`: an owner renews or releases a lock that it has lost. It may
//! have believed until then that it held the lock, which matters if another had it meanwhile.

use super::super::history::{Entry, Event};
use super::exclusion;
use super::finding::{Finding, Severity, words};
use super::findings::Findings;
use super::invariant::Invariant;
use super::locks::View;

#[derive(Debug)]
pub(super) struct LateOwners;

impl Invariant for LateOwners {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        let does = match entry.event {
            Event::ReleaseRefused => "gave back",
            Event::RenewalRefused => "renewed",
            _ => return,
        };
        let (key, owner) = (entry.key, entry.owner);
        let Some(lock) = view.lock(key) else { return };
        let Some((lost, Event::Lost)) = lock.end_of(&view.locks.owners, owner) else { return };
        let [name, who] = [key, owner].map(|name| words(view.ring, name));
        let finding = match lock.taken_by_another(&view.locks.owners, lost, owner) {
            Some((taken, other)) => {
                let other_name = words(view.ring, other);
                Finding {
                    level: Severity::Suspect,
                    invariant: exclusion::NAME,
                    key,
                    seqs: vec![lost, taken, seq],
                    owners: vec![owner, other],
                    text: format!(
                        "{who} {does} {name} after it had lost it and {other_name} had taken it: {who} may \
                         have believed that it still held the lock"
                    ),
                }
            }
            None => Finding {
                level: Severity::Lint,
                invariant: "renew-after-loss",
                key,
                seqs: vec![lost, seq],
                owners: vec![owner],
                text: format!("{who} {does} {name} after it had lost it; nobody else had taken it"),
            },
        };
        findings.push(view.ring, finding);
    }
}
