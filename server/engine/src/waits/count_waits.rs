//! Waits for counts that rise by one at a time; each is woken by the step that reaches its number. If a count restarts
//! or is no longer kept, all waits of its kind are woken; see [`StateOf`](super::StateOf).

use crate::faults::RuleId;
use crate::spec::CommandId;
use lockwheel_store::keyspace::WaiterId;
use std::collections::{BTreeMap, BTreeSet};

/// A count that rises by one at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CountOf {
    Calls(Box<[CommandId]>),
    /// The calls of these commands on keys that match this pattern.
    KeyCalls(Box<[CommandId]>, Box<[u8]>),
    /// The acts of a rule.
    Hits(RuleId),
    /// The requests and replies that a rule holds. This count can also fall.
    Held(RuleId),
}

/// The waits for counts, by the numbers that the counts must reach.
#[derive(Debug, Default)]
pub(crate) struct CountWaits {
    waits: BTreeMap<CountOf, BTreeMap<u64, BTreeSet<WaiterId>>>,
    /// The lists of commands whose calls are awaited, under each of their commands. They are forgotten together.
    lists: BTreeMap<CommandId, BTreeSet<Box<[CommandId]>>>,
    of_calls: usize,
    of_key_calls: usize,
    /// The waits whose numbers have been reached since the last call of [`CountWaits::take_reached`].
    reached: Vec<WaiterId>,
}

impl CountWaits {
    /// Records that a client waits until a count reaches a number. O(log n).
    pub(crate) fn add(&mut self, of: CountOf, number: u64, id: WaiterId) {
        if let CountOf::Calls(list) = &of {
            self.of_calls += 1;
            for command in list {
                self.lists.entry(*command).or_default().insert(list.clone());
            }
        }
        self.of_key_calls += usize::from(matches!(of, CountOf::KeyCalls(..)));
        self.waits.entry(of).or_default().entry(number).or_default().insert(id);
    }

    /// Records that a client no longer waits for a count. O(log n).
    pub(crate) fn remove(&mut self, of: &CountOf, number: u64, id: WaiterId) {
        let Some(numbers) = self.waits.get_mut(of) else { return };
        let was_there = numbers.get_mut(&number).is_some_and(|ids| ids.remove(&id));
        if numbers.get(&number).is_some_and(BTreeSet::is_empty) {
            numbers.remove(&number);
        }
        if numbers.is_empty() {
            self.waits.remove(of);
        }
        self.of_key_calls -= usize::from(was_there && matches!(of, CountOf::KeyCalls(..)));
        if was_there && matches!(of, CountOf::Calls(_)) {
            self.of_calls -= 1;
            if self.of_calls == 0 {
                self.lists.clear();
            }
        }
    }

    pub(crate) fn await_calls(&self) -> bool {
        self.of_calls > 0
    }

    pub(crate) fn await_key_calls(&self) -> bool {
        self.of_key_calls > 0
    }

    /// Returns the awaited lists that contain a command. O(log n + lists).
    pub(crate) fn lists_with(&self, command: CommandId) -> Vec<Box<[CommandId]>> {
        self.lists.get(&command).map_or_else(Vec::new, |lists| lists.iter().cloned().collect())
    }

    /// Wakes the waits for a count that has risen to this number. O(log n + woken waits).
    pub(crate) fn rises(&mut self, of: &CountOf, number: u64) {
        if let Some(ids) = self.waits.get(of).and_then(|numbers| numbers.get(&number)) {
            self.reached.extend(ids);
        }
    }

    /// Wakes a client that has begun to wait for a number that may already be reached.
    pub(crate) fn look_at(&mut self, id: WaiterId) {
        self.reached.push(id);
    }

    pub(crate) fn take_reached(&mut self) -> Vec<WaiterId> {
        std::mem::take(&mut self.reached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reaching_a_count_wakes_its_waiters() {
        let [get, set] = [1, 2].map(CommandId::new);
        let (of_get, of_both) = (CountOf::Calls([get].into()), CountOf::Calls([set, get].into()));
        let mut waits = CountWaits::default();
        waits.add(of_get.clone(), 5, 1);
        waits.add(of_get.clone(), 6, 2);
        waits.add(of_both.clone(), 6, 3);
        assert_eq!((waits.lists_with(get).len(), waits.lists_with(set).len()), (2, 1));
        waits.rises(&of_get, 4);
        assert_eq!(waits.take_reached(), []);
        waits.rises(&of_get, 5);
        waits.rises(&of_both, 6);
        assert_eq!((waits.take_reached(), waits.take_reached()), (vec![1, 3], vec![]));
        waits.remove(&of_get, 6, 2);
        waits.rises(&of_get, 6);
        assert_eq!(waits.take_reached(), []);
        waits.remove(&of_get, 5, 1);
        waits.remove(&of_get, 5, 1);
        assert!(waits.await_calls());
        waits.remove(&of_both, 6, 3);
        let of_keys = CountOf::KeyCalls([get].into(), b"k*".as_slice().into());
        waits.add(of_keys.clone(), 1, 4);
        assert!(waits.await_key_calls());
        waits.remove(&of_keys, 1, 4);
        waits.remove(&of_keys, 1, 4);
        assert!(!waits.await_key_calls());
        assert!(!waits.await_calls() && waits.lists_with(get).is_empty() && waits.waits.is_empty());
    }
}
