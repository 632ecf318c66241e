//! Counts of commands run on keys that match a pattern. Counting begins with the first query of a pattern.

use crate::spec::CommandId;
use lockwheel_store::keyspace::glob;

/// The most counts. A further one replaces the oldest.
const MAX_COUNTS: usize = 256;

#[derive(Debug)]
struct Counted {
    commands: Vec<CommandId>,
    pattern: Box<[u8]>,
    calls: u64,
}

/// All counts, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct KeyCalls {
    counted: Vec<Counted>,
    /// The number of counts that were dropped.
    forgotten: u64,
}

impl KeyCalls {
    /// Begins to count calls of these commands on keys of the pattern, unless they are counted. O(patterns).
    pub(crate) fn begin(&mut self, commands: &[CommandId], pattern: &[u8]) {
        if self.find(commands, pattern).is_none() {
            if self.counted.len() == MAX_COUNTS {
                self.counted.remove(0);
                self.forgotten += 1;
            }
            self.counted.push(Counted { commands: commands.into(), pattern: pattern.into(), calls: 0 });
        }
    }

    /// The number of counted calls, 0 if they are not counted. O(patterns).
    pub(crate) fn calls(&self, commands: &[CommandId], pattern: &[u8]) -> u64 {
        self.find(commands, pattern).map_or(0, |counted| counted.calls)
    }

    fn find(&self, commands: &[CommandId], pattern: &[u8]) -> Option<&Counted> {
        self.counted.iter().find(|counted| *counted.pattern == *pattern && counted.commands == commands)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.counted.is_empty()
    }

    pub(crate) fn wants(&self, command: CommandId) -> bool {
        self.counted.iter().any(|counted| counted.commands.contains(&command))
    }

    /// The number of dropped counts. A dropped count is 0 from then on.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Counts a call of a command on these keys, and calls `rises` for each count that has risen. O(patterns * keys).
    pub(crate) fn called(
        &mut self,
        command: CommandId,
        keys: &[&[u8]],
        mut rises: impl FnMut(&[CommandId], &[u8], u64),
    ) {
        for counted in self.counted.iter_mut().filter(|counted| counted.commands.contains(&command)) {
            if keys.iter().any(|key| glob::matches(&counted.pattern, key, false)) {
                counted.calls += 1;
                rises(&counted.commands, &counted.pattern, counted.calls);
            }
        }
    }

    /// Restarts all counts at 0.
    pub(super) fn reset(&mut self) {
        self.counted.iter_mut().for_each(|counted| counted.calls = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_count_from_the_first_query_and_the_oldest_are_dropped() {
        let (get, set) = (CommandId::new(1), CommandId::new(2));
        let mut calls = KeyCalls::default();
        let mut risen = Vec::new();
        let mut called = |calls: &mut KeyCalls, command, keys: &[&[u8]]| {
            calls.called(command, keys, |_, pattern, count| risen.push((pattern.to_vec(), count)));
        };
        called(&mut calls, get, &[b"a"]);
        calls.begin(&[get], b"a*");
        calls.begin(&[get], b"a*");
        called(&mut calls, get, &[b"b", b"a1", b"a2"]);
        called(&mut calls, get, &[b"b"]);
        called(&mut calls, set, &[b"a"]);
        assert_eq!((calls.calls(&[get], b"a*"), calls.calls(&[set], b"a*"), calls.wants(set)), (1, 0, false));
        assert_eq!(risen, [(b"a*".to_vec(), 1)]);
        calls.reset();
        assert_eq!((calls.calls(&[get], b"a*"), calls.counted.len()), (0, 1));
        for n in 0..MAX_COUNTS {
            calls.begin(&[set], n.to_string().as_bytes());
        }
        assert_eq!((calls.counted.len(), calls.wants(get), calls.forgotten()), (MAX_COUNTS, false, 1));
    }
}
