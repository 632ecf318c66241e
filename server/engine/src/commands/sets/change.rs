//! The commands that change one set, or move a member between two.

use crate::commands::sample::{check_choice, distinct};
use crate::spec::{Args, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::{Tx, WrongType, events};
use lockwheel_store::values::Set;

const REMOVES: KeyFlags = KeyFlags::of(&[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::DELETE]);

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("sadd", -3, sadd as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["set"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::INSERT])])
        .about(
            "set",
            "1.0.0",
            "O(1) for each element added, so O(N) to add N elements when the command is called with \
             multiple arguments.",
        )
        .summary("Adds members to a set and tells how many are new.")
        .history(&[("2.4.0", "Accepts multiple `member` arguments.")])
        .syntax("key member [member ...]"),
    Row::new("srem", -3, srem as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["set"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::DELETE])])
        .about("set", "1.0.0", "O(N) where N is the number of members to be removed.")
        .summary("Removes members of a set and tells how many there were.")
        .history(&[("2.4.0", "Accepts multiple `member` arguments.")])
        .syntax("key member [member ...]"),
    Row::new("spop", -2, spop as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["set"])
        .keys(&[KeySpec::one(1, &[REMOVES])])
        .about(
            "set",
            "1.0.0",
            "Without the count argument O(1), otherwise O(N) where N is the value of the passed count.",
        )
        .summary("Removes random members of a set and returns them.")
        .history(&[("3.2.0", "Added the `count` argument.")])
        .syntax("key [count@3.2.0]")
        .tips(&["nondeterministic_output"])
        .errors(&["ERR syntax error", "ERR value is out of range, must be positive"]),
    Row::new("smove", 4, smove as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["set"])
        .keys(&[KeySpec::one(1, &[REMOVES]), KeySpec::one(2, &[KeyFlags::RW, KeyFlags::INSERT])])
        .about("set", "1.0.0", "O(1)")
        .summary("Moves a member from one set to another.")
        .syntax("source destination member"),
];

/// Adds members, at least one, to the set at `key`, which is created if absent. Returns the number of new members.
fn add(tx: &mut Tx<'_>, key: &[u8], members: &[&[u8]]) -> Result<usize, WrongType> {
    let edit = tx.write_or_new::<Set>(key)?;
    let (set, enc) = (edit.value, edit.encodings);
    match members.first() {
        Some(first) if set.is_empty() => *set = Set::for_members(first, members.len(), enc),
        _ => set.expect(members.len(), enc),
    }
    let added = members.iter().filter(|member| set.add(member, enc)).count();
    if added > 0 {
        tx.changed(key, events::SADD);
    }
    Ok(added)
}

fn sadd(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let added = add(tx, &args[1], args.from(2))?;
    reply.integer(added as i64);
    Ok(())
}

/// Removes members of the set at `key`, and the key with the last member. Returns the number of removed members.
fn remove(tx: &mut Tx<'_>, key: &[u8], members: &[&[u8]]) -> Result<usize, WrongType> {
    let removed = match tx.write::<Set>(key)? {
        None => 0,
        Some(edit) => members.iter().filter(|member| edit.value.remove(member)).count(),
    };
    if removed > 0 {
        tx.changed(key, events::SREM);
        tx.delete_if_empty(key);
    }
    Ok(removed)
}

fn srem(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let removed = remove(tx, &args[1], args.from(2))?;
    reply.integer(removed as i64);
    Ok(())
}

fn spop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    match args.len() {
        2 => pop_one(tx, &args[1], reply),
        3 => {
            let count = args.int(2).ok().and_then(|count| usize::try_from(count).ok());
            pop_many(tx, &args[1], count.ok_or(errors::OUT_OF_RANGE_POSITIVE)?, reply)
        }
        _ => Err(errors::SYNTAX),
    }
}

fn pop_one(tx: &mut Tx<'_>, key: &[u8], reply: &mut dyn Reply) -> Outcome {
    let is_propagated = tx.is_propagated();
    let Some(edit) = tx.write::<Set>(key)? else {
        reply.null();
        return Ok(());
    };
    // The number is below a `usize`, so it fits.
    let index = edit.rng.below(edit.value.len() as u64) as usize;
    let taken = take_replied(edit.value, &mut [index], is_propagated, reply);
    propagate_removed(tx, key, &taken);
    tx.changed(key, events::SPOP);
    tx.delete_if_empty(key);
    Ok(())
}

fn pop_many(tx: &mut Tx<'_>, key: &[u8], count: usize, reply: &mut dyn Reply) -> Outcome {
    let is_propagated = tx.is_propagated();
    match tx.write::<Set>(key)? {
        Some(edit) if count > 0 && count < edit.value.len() => {
            check_choice(count)?;
            reply.set(count);
            let mut chosen = distinct(edit.rng, edit.value.len(), count);
            let taken = take_replied(edit.value, &mut chosen, is_propagated, reply);
            propagate_removed(tx, key, &taken);
            tx.changed(key, events::SPOP);
        }
        Some(edit) if count > 0 => {
            reply.set(edit.value.len());
            edit.value.iter().for_each(|member| reply.bulk(&member));
            if let Some((set, _)) = tx.take(key) {
                tx.propagate(&[b"DEL", key]);
                tx.changed(key, events::SPOP);
                tx.changed(key, events::DEL);
                tx.free_later(set);
            }
        }
        _ => reply.set(0),
    }
    Ok(())
}

/// Replies the members with these distinct indexes, and removes them. They are replied first, so that the set stays as
/// it was if there is no memory for the reply. Returns the members if they are needed afterwards.
fn take_replied(
    set: &mut Set,
    indexes: &mut [usize],
    are_needed: bool,
    reply: &mut dyn Reply,
) -> Vec<Box<[u8]>> {
    indexes.iter().filter_map(|index| set.nth(*index)).for_each(|member| reply.bulk(&member));
    let members = indexes.iter().filter(|_| are_needed).filter_map(|index| set.nth(*index));
    let members = allocation::collect(members.map(|member| allocation::copy(&member)));
    // The last index is removed first, so that the indexes still to be removed do not change.
    indexes.sort_unstable_by(|one, other| other.cmp(one));
    indexes.iter().for_each(|index| _ = set.remove_nth(*index));
    members
}

/// Propagates the removal of these members, each by a request of its own as Redis does.
fn propagate_removed(tx: &mut Tx<'_>, key: &[u8], members: &[Box<[u8]>]) {
    members.iter().for_each(|member| tx.propagate(&[b"SREM", key, member]));
}

fn smove(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (source, destination, member) = (&args[1], &args[2], &args[3]);
    let Some(there) = tx.write::<Set>(source)?.map(|edit| edit.value.contains(member)) else {
        reply.integer(0);
        return Ok(());
    };
    tx.write::<Set>(destination)?;
    if there && source != destination {
        allocation::check_copies(member.len())?;
        remove(tx, source, &[member])?;
        add(tx, destination, &[member])?;
    }
    reply.integer(i64::from(there));
    Ok(())
}
