//! Strings compared and deleted, or set with options, in one step: DELIFEQ, MSETEX.

use super::set_options::{Condition, SetOptions, Ttl};
use super::strings::{holds, store};
use crate::spec::{
    Args, CommandError, DataHandler, Find, Flags, Key, KeyFlags, KeySpec, Outcome, Row, errors,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::{Str, Value};

const NUMKEYS: &str = "ERR invalid numkeys value or out of range";

pub(super) const ROWS: &[Row<DataHandler>] = &[
    Row::new("delifeq", 3, delifeq as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RM, KeyFlags::DELETE])])
        .about("string", "9.0.0", "O(1)")
        .summary("Deletes a key if it holds this string.")
        .syntax("key value"),
    Row::new("msetex", -4, msetex as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::MOVABLEKEYS])
        .categories(&["string"])
        .keys(&[KeySpec {
            find: Find::Count { count: 0, first: 1, step: 2 },
            ..KeySpec::counted(1, &[KeyFlags::OW, KeyFlags::UPDATE])
        }])
        .key_finder(find_keys)
        .about("string", "9.1.0", "O(N) where N is the number of keys to set.")
        .summary("Sets several keys to strings at once, with a deadline, if none or all of them exist.")
        .syntax(
            "numkeys (data: key value) [(data: key value) ...] [condition: NX | XX] [expiration: EX seconds | \
             PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
        )
        .tips(&["request_policy:multi_shard", "response_policy:all_succeeded"])
        .errors(&[
            NUMKEYS,
            "ERR syntax error",
            "ERR value is not an integer or out of range",
            "ERR invalid expire time in 'msetex' command",
        ]),
];

fn delifeq(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let wanted = holds(tx, key, &args[2])?;
    let is_deleted = wanted && tx.delete(key);
    if is_deleted {
        tx.propagate_removal(key, |lazy| lazy.user_del);
    }
    reply.integer(i64::from(is_deleted));
    Ok(())
}

fn number_of_keys(args: Args<'_>) -> Result<usize, CommandError> {
    let wrong = CommandError::text(NUMKEYS);
    let keys = args.int_in(1, 1, i64::from(i32::MAX), wrong.clone()).map_err(|_| wrong)?;
    // The number is positive, so it fits.
    Ok(keys as usize)
}

/// The keys of a request of MSETEX, if there are as many as announced. The last key may lack its value.
fn find_keys(args: Args<'_>) -> Vec<Key> {
    let flags = KeyFlags::of(&[KeyFlags::OW, KeyFlags::UPDATE]);
    let keys = number_of_keys(args).ok().filter(|keys| 2 * keys < args.len()).unwrap_or(0);
    (0..keys).map(|index| (2 + 2 * index, flags)).collect()
}

fn msetex(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let end = 2 + 2 * number_of_keys(args)?;
    let words = args.all().get(2..end).ok_or(errors::SYNTAX)?;
    let (pairs, _) = words.as_chunks::<2>();
    let options = SetOptions::of_msetex(args, end)?;
    let deadline_ms = options.deadline_ms(tx, args, "msetex")?;
    let mut there = pairs.iter().map(|[key, _]| tx.access(key));
    let wanted = match options.condition {
        Some(Condition::Absent) => !there.any(|is| is),
        Some(_) => there.all(|is| is),
        None => true,
    };
    if wanted {
        for [key, value] in pairs {
            if options.ttl == Ttl::Keep {
                tx.set(key, Value::Str(Str::new(value)), true);
                tx.changed(key, events::SET);
                tx.propagate(&[b"SET", key, value, b"KEEPTTL"]);
                continue;
            }
            let at = store(tx, key, value, deadline_ms);
            match deadline_ms {
                Some(at_ms) => tx.propagate_with(&[b"SET", key, value, b"PXAT"], at_ms),
                None => tx.propagate(&[b"SET", key, value]),
            }
            if options.condition == Some(Condition::Absent) {
                tx.set_if_absent(at, key, value);
            }
        }
    }
    reply.integer(i64::from(wanted));
    Ok(())
}
