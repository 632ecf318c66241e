//! The keys and the channels of a request, found by the row of its command.

use super::args::Args;
use super::flags::KeyFlags;
use super::keys::{Begin, Find, Key, KeySpec};
use super::row::Spec;
use std::ops::Range;

impl Spec {
    /// Whether requests of the command may name keys.
    pub fn has_keys(&self) -> bool {
        self.keys.iter().any(is_key)
    }

    /// The keys of a request. Empty if the request names no key, or is malformed where keys should be. O(arguments).
    pub fn find_keys(&self, request: Args<'_>) -> Vec<Key> {
        // Incomplete specs come before the key finder, as in Redis.
        let is_incomplete = self.keys.iter().any(|spec| spec.flags.contains(KeyFlags::INCOMPLETE));
        if let Some(find) = self.key_finder.filter(|_| !is_incomplete) {
            return find(request);
        }
        let mut keys = self.specified_keys(request).unwrap_or_else(|| match self.key_finder {
            Some(find) => find(request),
            None => self.all_counted_as_by_c(request),
        });
        if let Some(word) = self.reading_word {
            let reads = (1..request.len()).any(|at| request.is(at, word));
            for (_, flags) in &mut keys {
                flags.remove(KeyFlags::VARIABLE_FLAGS);
                flags.set(KeyFlags::ACCESS, reads);
            }
        }
        keys
    }

    /// The keys that a request touches: those that Redis lists, then the unlisted ones. O(arguments).
    pub(crate) fn find_touched_keys(&self, request: Args<'_>) -> Vec<Key> {
        let mut keys = self.find_keys(request);
        for key in self.unlisted_keys.map_or_else(Vec::new, |find| find(request)) {
            if keys.iter().all(|(position, _)| *position != key.0) {
                keys.push(key);
            }
        }
        keys
    }

    /// Whether keys or shard channels decide to which node of a cluster a request of the command belongs.
    pub(crate) fn is_routed(&self) -> bool {
        !self.keys.is_empty() || self.key_finder.is_some()
    }

    /// The positions of the keys or shard channels that decide to which node a request belongs. O(arguments).
    pub(crate) fn find_routed(&self, request: Args<'_>) -> Vec<usize> {
        if let Some(find) = self.slot_finder.or(self.key_finder) {
            return find(request).into_iter().map(|(position, _)| position).collect();
        }
        match self.range_of_all() {
            Some((first, last)) => {
                let len = request.len() as i64;
                let last = if last < 0 { len + i64::from(last) } else { last.into() };
                let step = if self.keys.len() == 1 { self.keys[0].step() } else { 1 };
                let is_whole = last < len && last >= first as i64;
                if is_whole { (first..=last as usize).step_by(step).collect() } else { Vec::new() }
            }
            None => self.find_in_order_of_slots(request).into_iter().map(|(position, _)| position).collect(),
        }
    }

    /// The keys in the order in which Redis looks up their slots: counted keys first. An invalid number yields no key.
    fn find_in_order_of_slots(&self, request: Args<'_>) -> Vec<Key> {
        let are_counted = self.keys.iter().any(|spec| matches!(spec.find, Find::Count { .. }));
        if are_counted { self.all_counted_as_by_c(request) } else { self.find_keys(request) }
    }

    /// The first and the last of all keys, if they are one range, as in COMMAND; a negative last counts from the end.
    fn range_of_all(&self) -> Option<(usize, i32)> {
        let mut all: Option<(usize, i32)> = None;
        for spec in self.keys {
            let (Begin::Index(begin), Find::Range { last, step, .. }) = (spec.begin, spec.find) else {
                return None;
            };
            let last = if last < 0 { last } else { last + begin as i32 };
            all = match all {
                _ if step != 1 && self.keys.len() > 1 => return None,
                None => Some((begin, last)),
                Some((_, before)) if before != begin as i32 - 1 => return None,
                // A last key that is counted from the end is behind all others.
                Some((first, before)) => Some((first.min(begin), (before as u32).max(last as u32) as i32)),
            };
        }
        all
    }

    /// The positions of the channels in a request. O(1).
    pub fn channel_positions(&self, request: Args<'_>) -> Range<usize> {
        let Some(channels) = self.channels else { return 0..0 };
        let end = if channels.to_the_end { request.len() } else { request.len().min(channels.first + 1) };
        channels.first.min(end)..end
    }

    /// The keys that the specs find. `None` if the request does not fit one of the specs.
    fn specified_keys(&self, request: Args<'_>) -> Option<Vec<Key>> {
        let mut keys = Vec::new();
        for spec in self.keys.iter().filter(|spec| is_key(spec)) {
            let found = spec.positions(request)?;
            // A spec that does not find its keyword is not incomplete, as in Redis.
            let is_incomplete = spec.flags.contains(KeyFlags::INCOMPLETE) && !found.is_empty();
            keys.extend(found.into_iter().map(|position| (position, spec.flags)));
            if is_incomplete {
                return None;
            }
        }
        Some(keys)
    }

    fn all_counted_as_by_c(&self, request: Args<'_>) -> Vec<Key> {
        self.keys.iter().find_map(|spec| self.counted_as_by_c(spec, request)).unwrap_or_default()
    }

    /// The keys of a request whose number of keys no command would accept. Redis looks for them a second time and reads
    /// the number as C's `atoi` does. These keys have no flags and come before the others.
    fn counted_as_by_c(&self, spec: &KeySpec, request: Args<'_>) -> Option<Vec<Key>> {
        let (Begin::Index(begin), Find::Count { count, first, step }) = (spec.begin, spec.find) else {
            return None;
        };
        let keys = usize::try_from(atoi(request.get(begin + count)?)).ok()?;
        let room = request.len().saturating_sub(begin + first) / step.max(1);
        if keys == 0 || keys > room {
            return None;
        }
        let counted = (0..keys).map(|key| begin + first + key * step);
        let others = self.keys.iter().filter_map(|spec| match spec.begin {
            Begin::Index(index) if matches!(spec.find, Find::Range { .. }) => Some(index),
            _ => None,
        });
        Some(counted.chain(others).map(|position| (position, KeyFlags::empty())).collect())
    }
}

fn is_key(spec: &KeySpec) -> bool {
    !spec.flags.contains(KeyFlags::NOT_KEY)
}

/// The number that C's `atoi` reads: the digits in front of the first byte that is no digit, in 32 bits.
pub(crate) fn atoi(text: &[u8]) -> i32 {
    let text = match text.iter().position(|byte| !byte.is_ascii_whitespace() && *byte != 0x0b) {
        Some(start) => &text[start..],
        None => return 0,
    };
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit()).map(|byte| i64::from(byte - b'0'));
    let append = |number: i64, digit: i64| {
        let number = number.saturating_mul(10);
        if negative { number.saturating_sub(digit) } else { number.saturating_add(digit) }
    };
    digits.fold(0, append) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Row;

    const UNION: Spec = Row::<()>::container("x", -4, &[])
        .keys(&[KeySpec::one(1, &[KeyFlags::OW]), KeySpec::counted(2, &[KeyFlags::RO])])
        .spec;

    #[track_caller]
    fn check(spec: &Spec, request: &str, expected: &[usize]) {
        let words: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
        let keys = spec.find_keys(Args::new(&words));
        assert_eq!(keys.into_iter().map(|(position, _)| position).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn numbers_of_keys_are_read_twice() {
        check(&UNION, "x d 2 a b", &[1, 3, 4]);
        check(&UNION, "x d 2x a b", &[3, 4, 1]);
        check(&UNION, "x d 4294967297 a b", &[1, 3]);
        for wrong in ["0", "3", "-1", "x", "9223372036854775807", "99999999999999999999", ""] {
            check(&UNION, &format!("x d {wrong} a b"), &[]);
        }
        check(&UNION, "x d", &[]);
        check(&UNION, "x d 1", &[]);
    }

    #[test]
    fn numbers_of_c() {
        for (text, number) in [
            ("", 0),
            (" \t+12x", 12),
            ("-7", -7),
            ("- 7", 0),
            ("2147483648", i32::MIN),
            ("9999999999999999999999", -1),
            ("-9999999999999999999999", 0),
        ] {
            assert_eq!(atoi(text.as_bytes()), number, "{text}");
        }
    }

    #[test]
    fn arguments_that_are_no_keys_are_not_found() {
        const CHANNELS: Spec =
            Row::<()>::container("x", -2, &[]).keys(&[KeySpec::range(1, -1, 1, &[KeyFlags::NOT_KEY])]).spec;
        assert!(!CHANNELS.has_keys());
        check(&CHANNELS, "x a b", &[]);
    }
}
