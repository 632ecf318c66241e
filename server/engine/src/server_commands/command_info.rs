//! The entry of COMMAND INFO: a row in the reply's format.

use crate::spec::{Begin, Command, Find, Flags, KeyFlags, KeySpec, Version};
use lockwheel_resp::Reply;

/// The flags that are not shown before 7.0.
const NEW_IN_7: Flags = Flags::of(&[
    Flags::BLOCKING,
    Flags::NO_MANDATORY_KEYS,
    Flags::NO_ASYNC_LOADING,
    Flags::NO_MULTI,
    Flags::ALLOW_BUSY,
]);

/// Writes the entry of a command and its subcommands, in the format of this version.
pub(super) fn write(command: &Command, version: Version, reply: &mut dyn Reply) {
    if version == Version::V6_2 {
        reply.array(7);
        // One flag existed then but has since been hidden.
        return write_oldest(command, command.spec.flags - NEW_IN_7, reply);
    }
    reply.array(10);
    let row = command.spec;
    write_oldest(command, row.flags - Flags::MAY_REPLICATE, reply);
    reply.set(row.tips.len());
    row.tips.iter().for_each(|tip| reply.bulk(tip.as_bytes()));
    reply.set(row.keys.len());
    row.keys.iter().for_each(|spec| write_spec(spec, reply));
    match command.subcommands.len() {
        0 => reply.set(0),
        len => reply.array(len),
    }
    command.subcommands.iter().for_each(|sub| write(sub, version, reply));
}

/// Writes the part of an entry that exists since before 7.0, with the given flags.
fn write_oldest(command: &Command, told: Flags, reply: &mut dyn Reply) {
    reply.bulk(command.name.as_bytes());
    reply.integer(command.spec.arity.into());
    write_names(Flags::NAMES, |flag| told.contains(flag), reply);
    let range = KeyRange::of(command.spec.keys);
    reply.integer(range.first);
    reply.integer(range.last);
    reply.integer(range.step);
    let categories: Vec<&str> = command.categories.names().collect();
    reply.set(categories.len());
    categories.iter().for_each(|category| reply.status(format!("@{category}").as_bytes()));
}

pub(super) fn write_names<F: Copy>(names: &[(F, &str)], is_told: impl Fn(F) -> bool, reply: &mut dyn Reply) {
    let told = || names.iter().filter(|(flag, _)| is_told(*flag));
    reply.set(told().count());
    told().for_each(|(_, name)| reply.status(name.as_bytes()));
}

/// The keys of a command in the oldest format of COMMAND: a single range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct KeyRange {
    first: i64,
    /// The position of the last key. A negative position counts from the end.
    last: i64,
    step: i64,
}

impl KeyRange {
    /// Returns the range of a single spec; of several, joins adjacent ones with a step of 1 and drops others.
    fn of(specs: &[KeySpec]) -> Self {
        if let [spec] = specs
            && let Some((range, _)) = Self::of_one(spec)
        {
            return range;
        }
        let mut whole = KeyRange::default();
        for spec in specs {
            let Some((range, follows)) = Self::of_one(spec) else { continue };
            let is_next = whole.last == 0 || whole.last == follows;
            if range.step != 1 || !is_next {
                continue;
            }
            whole.first = if whole.first == 0 { range.first } else { whole.first.min(range.first) };
            // A range that ends at the last argument includes every other end.
            whole.last = if whole.last < 0 || range.last < 0 {
                whole.last.min(range.last).max(-1)
            } else {
                whole.last.max(range.last)
            };
            whole.step = 1;
        }
        whole
    }

    /// Returns the range of one spec, and the position before its first key.
    fn of_one(spec: &KeySpec) -> Option<(Self, i64)> {
        let (Begin::Index(first), Find::Range { last, step, .. }) = (spec.begin, spec.find) else {
            return None;
        };
        let first = first as i64;
        let last = if last >= 0 { first + i64::from(last) } else { last.into() };
        Some((KeyRange { first, last, step: step as i64 }, first - 1))
    }
}

fn write_spec(spec: &KeySpec, reply: &mut dyn Reply) {
    let has_notes = !spec.notes.is_empty();
    reply.map(3 + usize::from(has_notes));
    if has_notes {
        reply.bulk(b"notes");
        reply.bulk(spec.notes.as_bytes());
    }
    reply.bulk(b"flags");
    write_names(KeyFlags::NAMES, |flag| spec.flags.contains(flag), reply);
    reply.bulk(b"begin_search");
    match spec.begin {
        Begin::Index(index) => write_search("index", &[("index", index as i64)], reply),
        Begin::Keyword(keyword, from) => {
            write_type("keyword", 2, reply);
            reply.bulk(b"keyword");
            reply.bulk(keyword.as_bytes());
            reply.bulk(b"startfrom");
            reply.integer(from.into());
        }
        Begin::Unknown => write_search("unknown", &[], reply),
    }
    reply.bulk(b"find_keys");
    match spec.find {
        Find::Range { last, step, limit } => write_search(
            "range",
            &[("lastkey", last.into()), ("keystep", step as i64), ("limit", limit as i64)],
            reply,
        ),
        Find::Count { count, first, step } => write_search(
            "keynum",
            &[("keynumidx", count as i64), ("firstkey", first as i64), ("keystep", step as i64)],
            reply,
        ),
        Find::Unknown => write_search("unknown", &[], reply),
    }
}

fn write_type(kind: &str, fields: usize, reply: &mut dyn Reply) {
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(kind.as_bytes());
    reply.bulk(b"spec");
    reply.map(fields);
}

fn write_search(kind: &str, fields: &[(&str, i64)], reply: &mut dyn Reply) {
    write_type(kind, fields.len(), reply);
    for &(name, value) in fields {
        reply.bulk(name.as_bytes());
        reply.integer(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(specs: &[KeySpec]) -> (i64, i64, i64) {
        let range = KeyRange::of(specs);
        (range.first, range.last, range.step)
    }

    #[test]
    fn specs_become_one_range_where_they_can() {
        let one = |index| KeySpec::one(index, &[KeyFlags::RO]);
        assert_eq!(range(&[]), (0, 0, 0));
        assert_eq!(range(&[one(1)]), (1, 1, 1));
        assert_eq!(range(&[KeySpec::range(1, -1, 2, &[])]), (1, -1, 2));
        assert_eq!(range(&[one(1), one(2)]), (1, 2, 1));
        assert_eq!(range(&[one(1), KeySpec::range(2, -1, 1, &[])]), (1, -1, 1));
        assert_eq!(range(&[one(1), KeySpec::counted(2, &[])]), (1, 1, 1));
        assert_eq!(range(&[one(1), one(3)]), (1, 1, 1));
        assert_eq!(range(&[KeySpec::counted(2, &[])]), (0, 0, 0));
    }
}
