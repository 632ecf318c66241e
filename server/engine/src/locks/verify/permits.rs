//! `permits-bound`: the permits of a semaphore that are left and those that are held are all that there are.

use super::super::history::{Cause, Entry, Event, Name};
use super::finding::{Finding, Level, words};
use super::invariant::Invariant;
use super::locks::View;
use std::collections::BTreeMap;

/// How many permits each semaphore has in all, and the entry that shows it.
#[derive(Debug, Default)]
pub(super) struct Permits {
    in_all: BTreeMap<Name, (i64, u64)>,
}

impl Invariant for Permits {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Vec<Finding>) {
        let (Event::Permits, Some(left)) = (entry.event, entry.ttl()) else { return };
        let shown = left.saturating_add_unsigned(entry.grant);
        let known = self.in_all.entry(entry.key).or_insert((shown, seq));
        match entry.cause {
            Cause::Init => *known = (shown, seq),
            Cause::Adjust => *known = (known.0.saturating_add(entry.holds), seq),
            _ => {}
        }
        if shown != known.0 {
            let (name, held, in_all) = (words(view.ring, entry.key), entry.grant, known.0);
            findings.push(Finding {
                level: Level::Violation,
                invariant: "permits-bound",
                key: entry.key,
                seqs: if known.1 == seq { vec![seq] } else { vec![known.1, seq] },
                owners: if entry.owner == Name::NONE { Vec::new() } else { vec![entry.owner] },
                text: format!("{name} has {left} permits left and {held} held, which are not {in_all}"),
            });
            *known = (shown, seq);
        }
    }
}
