//! The extent to which Redis promises a reply, command by command.

use crate::reply::Reply;
use crate::state::payloads_agree;

/// The way in which two replies to one command are compared. Errors and nulls are always compared exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The whole reply is promised.
    Exact,
    /// The elements are promised, their order is not.
    Unordered,
    /// The elements are promised at every depth, their order is not.
    DeeplyUnordered,
    /// The pairs of a flat array or map are promised, their order is not.
    UnorderedPairs,
    /// A cursor and a part of a collection. The whole collection is compared, in any order, if both scans went from
    /// start to end.
    Scan {
        /// Whether the elements come in pairs.
        pairs: bool,
        /// Whether the command began with cursor 0. Any other cursor has a meaning only to its own server.
        from_start: bool,
    },
    /// The type and the number of elements are promised, the values are not.
    Shape,
    /// A serialized value, in the forms of two versions.
    Payload,
    /// Everything is promised except the times of deliveries and consumers, which change by the millisecond.
    Deliveries,
    /// An integer that changes with time, in units of the given number of milliseconds.
    Near {
        /// Milliseconds in a unit.
        unit_ms: u64,
    },
}

/// Returns the comparison for a command with its arguments.
pub fn comparison_of(arguments: &[Vec<u8>]) -> Comparison {
    let upper = |index: usize| arguments.get(index).map_or(Vec::new(), |word| word.to_ascii_uppercase());
    let (name, first) = (upper(0), upper(1));
    let cursor_is_0 = |index: usize| arguments.get(index).is_some_and(|cursor| cursor == b"0");
    match (name.as_slice(), first.as_slice()) {
        (b"KEYS" | b"SMEMBERS" | b"SINTER" | b"SUNION" | b"SDIFF" | b"HKEYS" | b"HVALS", _)
        | (b"PUBSUB", b"CHANNELS")
        | (b"COMMAND", b"LIST") => Comparison::Unordered,
        (b"FUNCTION", b"LIST") => Comparison::DeeplyUnordered,
        (b"HGETALL", _) | (b"CONFIG", b"GET") => Comparison::UnorderedPairs,
        (b"SCAN", _) => Comparison::Scan { pairs: false, from_start: cursor_is_0(1) },
        (b"SSCAN", _) => Comparison::Scan { pairs: false, from_start: cursor_is_0(2) },
        (b"HSCAN" | b"ZSCAN", _) => Comparison::Scan { pairs: true, from_start: cursor_is_0(2) },
        (b"SPOP" | b"SRANDMEMBER" | b"RANDOMKEY" | b"HRANDFIELD" | b"ZRANDMEMBER", _)
        | (b"TIME" | b"INFO" | b"HELLO", _)
        | (b"CLIENT", b"ID" | b"INFO" | b"LIST")
        | (b"COMMAND", b"COUNT")
        | (b"FUNCTION", b"DUMP")
        | (b"LASTSAVE", _)
        | (b"MEMORY", _) => Comparison::Shape,
        (b"XADD", _) if arguments.iter().any(|word| word == b"*") => Comparison::Shape,
        (b"XPENDING", _) | (b"XINFO", b"CONSUMERS" | b"STREAM") => Comparison::Deliveries,
        (b"TTL" | b"EXPIRETIME", _) | (b"OBJECT", b"IDLETIME" | b"FREQ") => {
            Comparison::Near { unit_ms: 1000 }
        }
        (b"PTTL" | b"PEXPIRETIME", _) => Comparison::Near { unit_ms: 1 },
        (b"DUMP", _) => Comparison::Payload,
        _ => Comparison::Exact,
    }
}

impl Comparison {
    /// Whether two replies agree under this comparison. Times may differ by `skew_ms` and the rounding of a unit.
    pub fn agree(self, real: &Reply, ours: &Reply, skew_ms: u64) -> bool {
        if real == ours {
            return true;
        }
        if real.is_error() || ours.is_error() {
            return false;
        }
        match self {
            Comparison::Exact => false,
            Comparison::Unordered => real.clone().sorted() == ours.clone().sorted(),
            Comparison::DeeplyUnordered => deeply_sorted(real.clone()) == deeply_sorted(ours.clone()),
            Comparison::UnorderedPairs => real.clone().sorted_pairs() == ours.clone().sorted_pairs(),
            Comparison::Scan { pairs, from_start } => scans_agree(real, ours, pairs, from_start),
            Comparison::Shape => shapes_agree(real, ours),
            Comparison::Payload => match (real.as_bytes(), ours.as_bytes()) {
                (Some(real), Some(ours)) => payloads_agree(real, ours),
                _ => false,
            },
            Comparison::Deliveries => deliveries_agree(real, ours, skew_ms),
            Comparison::Near { unit_ms } => match (real.as_int(), ours.as_int()) {
                // Negative values are codes: no key, no deadline.
                (Some(real), Some(ours)) => {
                    real >= 0 && ours >= 0 && real.abs_diff(ours) <= skew_ms / unit_ms + 1
                }
                _ => false,
            },
        }
    }
}

/// Returns the reply with all its arrays sorted, the innermost first.
fn deeply_sorted(reply: Reply) -> Reply {
    match reply {
        Reply::Array(elements) => Reply::Array(elements.into_iter().map(deeply_sorted).collect()).sorted(),
        Reply::Map(pairs) => {
            Reply::Map(pairs.into_iter().map(|(key, value)| (key, deeply_sorted(value))).collect())
        }
        other => other,
    }
}

fn scans_agree(real: &Reply, ours: &Reply, pairs: bool, from_start: bool) -> bool {
    let (Reply::Array(real), Reply::Array(ours)) = (real, ours) else { return false };
    let ([real_cursor, real_items], [our_cursor, our_items]) = (real.as_slice(), ours.as_slice()) else {
        return false;
    };
    if !matches!((real_cursor, our_cursor), (Reply::Bulk(_), Reply::Bulk(_))) {
        return false;
    }
    let at_end = |cursor: &Reply| cursor.as_bytes() == Some(b"0");
    if !from_start || !at_end(real_cursor) || !at_end(our_cursor) {
        return matches!((real_items, our_items), (Reply::Array(_), Reply::Array(_)));
    }
    let sort = if pairs { Reply::sorted_pairs } else { Reply::sorted };
    sort(real_items.clone()) == sort(our_items.clone())
}

/// Whether the types are equal, and for aggregates also the number and types of the elements.
fn shapes_agree(real: &Reply, ours: &Reply) -> bool {
    match (real, ours) {
        (Reply::Array(real), Reply::Array(ours))
        | (Reply::Set(real), Reply::Set(ours))
        | (Reply::Push(real), Reply::Push(ours)) => {
            real.len() == ours.len() && real.iter().zip(ours).all(|(real, ours)| shapes_agree(real, ours))
        }
        (Reply::Map(real), Reply::Map(ours)) => {
            let values = real.iter().zip(ours);
            real.len() == ours.len() && values.clone().all(|(real, ours)| shapes_agree(&real.1, &ours.1))
        }
        _ => std::mem::discriminant(real) == std::mem::discriminant(ours),
    }
}

/// Keys whose values are times, or elapsed times, in milliseconds.
const TIMES: [&[u8]; 4] = [b"idle", b"inactive", b"seen-time", b"active-time"];

/// Whether the replies are equal except for times, which may lie `skew_ms` apart.
pub fn deliveries_agree(real: &Reply, ours: &Reply, skew_ms: u64) -> bool {
    let near = |real: &Reply, ours: &Reply| match (real.as_int(), ours.as_int()) {
        (Some(real), Some(ours)) => {
            (real < 0) == (ours < 0) && real.abs_diff(ours) <= skew_ms.saturating_add(1)
        }
        _ => false,
    };
    let is_time = |key: Option<&Reply>| key.and_then(Reply::as_bytes).is_some_and(|key| TIMES.contains(&key));
    let agree = |real: &Reply, ours: &Reply| deliveries_agree(real, ours, skew_ms);
    match (real, ours) {
        (Reply::Map(real), Reply::Map(ours)) => {
            let mut pairs = real.iter().zip(ours);
            let pair = |(real, ours): (&(Reply, Reply), &(Reply, Reply))| {
                let both = (&real.1, &ours.1);
                real.0 == ours.0
                    && if is_time(Some(&real.0)) { near(both.0, both.1) } else { agree(both.0, both.1) }
            };
            real.len() == ours.len() && pairs.all(pair)
        }
        (Reply::Array(real), Reply::Array(ours)) if real.len() == ours.len() => {
            let time = time_of_delivery(real).filter(|_| time_of_delivery(ours).is_some());
            (0..real.len()).all(|at| {
                let before = at.checked_sub(1).and_then(|before| real.get(before));
                let both = (&real[at], &ours[at]);
                let may_move = time == Some(at) || is_time(before);
                if may_move { near(both.0, both.1) || both.0 == both.1 } else { agree(both.0, both.1) }
            })
        }
        _ => real == ours,
    }
}

/// Returns the index of the delivery time in a pending entry. An entry has an id, a consumer, a time and a count; the
/// consumer may be missing.
fn time_of_delivery(entry: &[Reply]) -> Option<usize> {
    let is = |at: usize, int: bool| entry.get(at).is_some_and(|item| item.as_int().is_some() == int);
    match entry.len() {
        4 if is(0, false) && is(1, false) && is(2, true) && is(3, true) => Some(2),
        3 if is(0, false) && is(1, true) && is(2, true) => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::split;
    use crate::reply::decode3;

    fn reply(wire: &str) -> Reply {
        decode3(wire.as_bytes()).unwrap().unwrap().0
    }

    #[track_caller]
    fn agree(line: &str, real: &str, ours: &str, expected: bool) {
        let comparison = comparison_of(&split(line));
        assert_eq!(comparison.agree(&reply(real), &reply(ours), 1000), expected, "{line}: {comparison:?}");
    }

    #[test]
    fn order_is_free_only_where_it_is_not_promised() {
        let (ab, ba) = ("*2\r\n+a\r\n+b\r\n", "*2\r\n+b\r\n+a\r\n");
        agree("smembers s", ab, ba, true);
        agree("SMEMBERS s", ab, "*2\r\n+a\r\n+a\r\n", false);
        agree("LRANGE l 0 -1", ab, ba, false);
        agree("CONFIG GET x", "*4\r\n+a\r\n+1\r\n+b\r\n+2\r\n", "*4\r\n+b\r\n+2\r\n+a\r\n+1\r\n", true);
        agree("HGETALL h", "*4\r\n+a\r\n+1\r\n+b\r\n+2\r\n", "*4\r\n+b\r\n+1\r\n+a\r\n+2\r\n", false);
        agree("HGETALL h", "%2\r\n+a\r\n+1\r\n+b\r\n+2\r\n", "%2\r\n+b\r\n+2\r\n+a\r\n+1\r\n", true);
    }

    #[test]
    fn scans_agree_when_both_are_complete() {
        let scan = |cursor: &str, items: &str| format!("*2\r\n$1\r\n{cursor}\r\n{items}");
        let (ab, ba) = ("*2\r\n+a\r\n+b\r\n", "*2\r\n+b\r\n+a\r\n");
        agree("SCAN 0", &scan("0", ab), &scan("0", ba), true);
        agree("SCAN 0", &scan("0", ab), &scan("0", "*0\r\n"), false);
        agree("SCAN 0", &scan("7", ab), &scan("0", "*0\r\n"), true);
        agree("SCAN 7", &scan("0", ab), &scan("0", "*0\r\n"), true);
        agree("HSCAN h 0", &scan("0", ab), &scan("0", ba), false);
        agree("SCAN 0", &scan("0", ab), "-ERR invalid cursor\r\n", false);
    }

    #[test]
    fn random_choices_have_the_same_shape() {
        agree("SRANDMEMBER s", "$1\r\na\r\n", "$1\r\nb\r\n", true);
        agree("SRANDMEMBER s", "$1\r\na\r\n", "_\r\n", false);
        agree("SRANDMEMBER s 2", "*1\r\n$1\r\na\r\n", "*1\r\n$1\r\nb\r\n", true);
        agree("SRANDMEMBER s 2", "*1\r\n$1\r\na\r\n", "*0\r\n", false);
        agree("SRANDMEMBER s x", "-ERR a\r\n", "-ERR b\r\n", false);
    }

    #[test]
    fn deliveries_agree_but_for_their_times() {
        let pending =
            |idle: u64, count: u64| format!("*1\r\n*4\r\n$3\r\n1-1\r\n$1\r\nc\r\n:{idle}\r\n:{count}\r\n");
        agree("XPENDING x g - + 10", &pending(5, 1), &pending(900, 1), true);
        agree("XPENDING x g - + 10", &pending(5, 1), &pending(1900, 1), false);
        agree("XPENDING x g - + 10", &pending(5, 1), &pending(5, 2), false);
        let consumer = |idle: i64| format!("*1\r\n%2\r\n$4\r\nidle\r\n:{idle}\r\n$7\r\npending\r\n:1\r\n");
        agree("XINFO CONSUMERS x g", &consumer(5), &consumer(800), true);
        agree("XINFO CONSUMERS x g", &consumer(-1), &consumer(0), false);
        agree("XADD x * f v", "$3\r\n5-1\r\n", "$3\r\n6-1\r\n", true);
        agree("XADD x 5-* f v", "$3\r\n5-1\r\n", "$3\r\n5-2\r\n", false);
    }

    #[test]
    fn times_are_near_and_codes_are_exact() {
        agree("PTTL k", ":100000000\r\n", ":99999000\r\n", true);
        agree("PTTL k", ":100000000\r\n", ":99998900\r\n", false);
        agree("TTL k", ":100000\r\n", ":99999\r\n", true);
        agree("TTL k", ":100000\r\n", ":99997\r\n", false);
        agree("PTTL k", ":100000000\r\n", ":100000\r\n", false);
        agree("TTL k", ":-1\r\n", ":-2\r\n", false);
        agree("TTL k", ":-1\r\n", ":0\r\n", false);
    }
}
