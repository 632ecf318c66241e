//! Whole strings: SET and GET in all forms, MSET, MGET.

use super::expiry::TimeForm;
use super::set_options::{Comparisons, Condition, DIGEST_LENGTH, SetOptions, Ttl};
use crate::spec::{Args, CommandError, DataHandler, Flags, Key, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::{CalledBy, EntryId, Tx, events};
use lockwheel_store::values::{Str, Value};

const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
const SYNTAX: &str = "ERR syntax error";

pub(super) const ROWS: &[Row<DataHandler>] = &[
    Row::new("get", 2, get as DataHandler)
        .flags(&[Flags::READONLY, Flags::FAST])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])])
        .about("string", "1.0.0", "O(1)")
        .summary("The string that a key holds.")
        .syntax("key"),
    set_row(set_with_comparisons)
        .history(SET_HISTORY)
        .syntax(
            "key value [condition: NX@2.6.12 | XX@2.6.12 | IFEQ comparison-value@8.1.0 | IFNE ifne-value@8.4.0 | \
             IFDEQ ifdeq-digest@8.4.0 | IFDNE ifdne-digest@8.4.0] [GET@6.2.0] \
             [expiration: EX seconds@2.6.12 | PX milliseconds@2.6.12 | EXAT unix-time-seconds@6.2.0 | \
             PXAT unix-time-milliseconds@6.2.0 | KEEPTTL@6.0.0]",
        )
        .errors(&[SYNTAX, NOT_AN_INTEGER, "ERR invalid expire time in 'set' command", DIGEST_LENGTH])
        .older(&[("8.4.0", SET)]),
    Row::new("setnx", 3, setnx as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::OW, KeyFlags::INSERT])])
        .about("string", "1.0.0", "O(1)")
        .summary("Sets a key to a string if there is no such key.")
        .syntax("key value"),
    Row::new("setex", 4, setex as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::OW, KeyFlags::UPDATE])])
        .about("string", "2.0.0", "O(1)")
        .summary("Sets a key to a string with a deadline, in seconds from now.")
        .syntax("key seconds value")
        .errors(&[NOT_AN_INTEGER, "ERR invalid expire time in 'setex' command"]),
    Row::new("psetex", 4, psetex as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::OW, KeyFlags::UPDATE])])
        .about("string", "2.6.0", "O(1)")
        .summary("Sets a key to a string with a deadline, in milliseconds from now.")
        .syntax("key milliseconds value")
        .errors(&[NOT_AN_INTEGER, "ERR invalid expire time in 'psetex' command"]),
    Row::new("getset", 3, getset as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE])])
        .about("string", "1.0.0", "O(1)")
        .summary("Sets a key to a string and answers the one it held.")
        .deprecated("6.2.0", "`SET` with the `!GET` argument")
        .syntax("key value"),
    Row::new("getdel", 2, getdel as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::DELETE])])
        .about("string", "6.2.0", "O(1)")
        .summary("Answers the string that a key holds and deletes the key.")
        .syntax("key"),
    Row::new("getex", -2, getex as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE])
            .notes("RW and UPDATE because it changes the TTL")])
        .about("string", "6.2.0", "O(1)")
        .summary("Answers the string that a key holds and sets or clears its deadline.")
        .syntax(
            "key [expiration: EX seconds | PX milliseconds | EXAT unix-time-seconds | \
             PXAT unix-time-milliseconds | PERSIST]",
        )
        .errors(&[SYNTAX, NOT_AN_INTEGER, "ERR invalid expire time in 'getex' command"]),
    Row::new("mget", -2, mget as DataHandler)
        .flags(&[Flags::READONLY, Flags::FAST])
        .categories(&["string"])
        .keys(&[KeySpec::range(1, -1, 1, &[KeyFlags::RO, KeyFlags::ACCESS])])
        .about("string", "1.0.0", "O(N) where N is the number of keys to retrieve.")
        .summary("The strings that several keys hold.")
        .syntax("key [key ...]")
        .tips(&["request_policy:multi_shard"]),
    Row::new("mset", -3, mset as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["string"])
        .keys(&[KeySpec::range(1, -1, 2, &[KeyFlags::OW, KeyFlags::UPDATE])])
        .about("string", "1.0.1", "O(N) where N is the number of keys to set.")
        .summary("Sets several keys to strings at once.")
        .syntax("key value [key value ...]")
        .tips(&["request_policy:multi_shard", "response_policy:all_succeeded"]),
    Row::new("msetnx", -3, msetnx as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["string"])
        .keys(&[KeySpec::range(1, -1, 2, &[KeyFlags::OW, KeyFlags::INSERT])])
        .about("string", "1.0.1", "O(N) where N is the number of keys to set.")
        .summary("Sets several keys to strings at once if none of them exists.")
        .syntax("key value [key value ...]")
        .tips(&["request_policy:multi_shard", "response_policy:agg_min"]),
];

/// The row of SET before its comparisons by digests.
const SET: Row<DataHandler> = set_row(set)
    .history(SET_HISTORY.split_at(SET_HISTORY.len() - 1).0)
    .syntax(
        "key value [condition: NX@2.6.12 | XX@2.6.12 | IFEQ comparison-value@8.1.0] [GET@6.2.0] \
         [expiration: EX seconds@2.6.12 | PX milliseconds@2.6.12 | EXAT unix-time-seconds@6.2.0 | \
         PXAT unix-time-milliseconds@6.2.0 | KEEPTTL@6.0.0]",
    )
    .errors(&[SYNTAX, NOT_AN_INTEGER, "ERR invalid expire time in 'set' command"]);

const SET_HISTORY: &[(&str, &str)] = &[
    ("2.6.12", "Added the `EX`, `PX`, `NX` and `XX` options."),
    ("6.0.0", "Added the `KEEPTTL` option."),
    ("6.2.0", "Added the `GET`, `EXAT` and `PXAT` option."),
    ("7.0.0", "Allowed the `NX` and `GET` options to be used together."),
    ("8.1.0", "Added the `IFEQ` option."),
    ("8.4.0", "Added the `IFNE`, `IFDEQ` and `IFDNE` options."),
];

/// The part of SET's row that all versions share.
const fn set_row(handler: DataHandler) -> Row<DataHandler> {
    Row::new("set", -3, handler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["string"])
        .keys(SET_KEYS)
        .key_finder(set_key)
        .about("string", "1.0.0", "O(1)")
        .summary("Sets a key to a string, optionally only if it is absent or present, and with a deadline.")
        .refusing_before("7.0.0", nx_with_get)
}

const SET_KEYS: &[KeySpec] =
    &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE, KeyFlags::VARIABLE_FLAGS])
        .notes("RW and ACCESS due to the optional `GET` argument")];

fn answer(value: Option<&Str>, reply: &mut dyn Reply) {
    match value {
        Some(value) => reply.bulk(&value.text()),
        None => reply.null(),
    }
}

fn get(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    answer(tx.read::<Str>(&args[1])?, reply);
    Ok(())
}

/// Sets a key to a string, with this deadline or none.
#[inline(always)]
pub(super) fn store(tx: &mut Tx<'_>, key: &[u8], value: &[u8], deadline_ms: Option<i64>) -> EntryId {
    // A timer that is about to be moved does not need to be cancelled.
    let at = tx.set(key, Value::Str(Str::new(value)), deadline_ms.is_some());
    if let Some(deadline) = deadline_ms {
        tx.set_deadline(key, deadline);
    }
    tx.changed(key, events::SET);
    if deadline_ms.is_some() {
        tx.notify(key, events::EXPIRE);
    }
    at
}

/// The key of SET, which is read only with GET.
fn set_key(args: Args<'_>) -> Vec<Key> {
    let reads = (3..args.len()).any(|at| args.is(at, "get"));
    let flags = if reads {
        &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE][..]
    } else {
        &[KeyFlags::OW, KeyFlags::UPDATE]
    };
    vec![(1, KeyFlags::of(flags))]
}

/// Before 7.0, NX and GET could not be used together.
fn nx_with_get(args: Args<'_>) -> Option<CommandError> {
    let options = SetOptions::of_set(args, Comparisons::Equality).ok()?;
    (options.get && matches!(options.condition, Some(Condition::Absent))).then_some(errors::SYNTAX)
}

fn set(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if args.len() > 3 {
        return set_with_options(tx, args, Comparisons::Equality, reply);
    }
    store(tx, &args[1], &args[2], None);
    reply.ok();
    Ok(())
}

fn set_with_comparisons(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    set_with_options(tx, args, Comparisons::All, reply)
}

#[inline(never)]
fn set_with_options(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    comparisons: Comparisons,
    reply: &mut dyn Reply,
) -> Outcome {
    let (key, value) = (&args[1], &args[2]);
    let options = SetOptions::of_set(args, comparisons)?;
    let deadline = options.deadline_ms(tx, args, "set")?;
    if let (true, Some(Condition::Compared(comparison))) = (options.get, options.condition)
        && let Some(Value::Str(text)) = tx.peek(key)
    {
        // A wrong digest is refused before anything is replied.
        comparison.holds(args, Some(&text.text()))?;
    }
    if options.get {
        answer(tx.read::<Str>(key)?, reply);
    }
    let wanted = match options.condition {
        None => true,
        Some(Condition::Absent) => !tx.access(key),
        Some(Condition::Present) => tx.exists(key),
        Some(Condition::Compared(comparison)) => {
            let edit = tx.write::<Str>(key)?;
            comparison.holds(args, edit.as_ref().map(|edit| edit.value.text()).as_deref())?
        }
    };
    if wanted && options.ttl == Ttl::Keep && options.condition != Some(Condition::Absent) {
        tx.set(key, Value::Str(Str::new(value)), true);
        tx.changed(key, events::SET);
    } else if wanted {
        let is_absent = match options.condition {
            Some(condition) => condition == Condition::Absent,
            None => deadline.is_some() && is_known_absent(tx, key, value),
        };
        let at = store(tx, key, value, deadline);
        if is_absent {
            tx.set_if_absent(at, key, value);
        }
    }
    if wanted {
        propagate_set(tx, args, options, deadline);
    }
    match (options.get, wanted) {
        (true, _) => {}
        (false, true) => reply.ok(),
        (false, false) => reply.null(),
    }
    Ok(())
}

/// Propagates a SET that has an effect: with an absolute deadline, without GET and comparisons that 7.0 lacks.
fn propagate_set(tx: &mut Tx<'_>, args: Args<'_>, options: SetOptions, deadline_ms: Option<i64>) {
    let (key, value) = (&args[1], &args[2]);
    match (deadline_ms, options.condition) {
        (Some(at_ms), _) => tx.propagate_with(&[b"SET", key, value, b"PXAT"], at_ms),
        (None, Some(Condition::Compared(_))) if options.ttl == Ttl::Keep => {
            tx.propagate(&[b"SET", key, value, b"KEEPTTL"]);
        }
        (None, Some(Condition::Compared(_))) => tx.propagate(&[b"SET", key, value]),
        (None, _) if options.get && tx.is_propagated() => {
            let is_kept = |(at, word): &(usize, &&[u8])| *at < 3 || !word.eq_ignore_ascii_case(b"get");
            let words = args.all().iter().enumerate().filter(is_kept).map(|(_, word)| *word);
            tx.propagate(&allocation::collect(words));
        }
        (None, _) => {}
    }
}

/// Whether a script that found keys absent sets one of them to an argument: SET NX in two steps.
#[inline(never)]
fn is_known_absent(tx: &Tx<'_>, key: &[u8], value: &[u8]) -> bool {
    let CalledBy::Script(inputs) = tx.called_by() else { return false };
    inputs.found_none.get()
        && inputs.keys.contains(&key)
        && inputs.arguments.contains(&value)
        && !tx.exists(key)
}

/// Whether a key holds exactly this string.
pub(super) fn holds(tx: &mut Tx<'_>, key: &[u8], text: &[u8]) -> Result<bool, CommandError> {
    Ok(tx.write::<Str>(key)?.is_some_and(|edit| *edit.value.text() == *text))
}

fn setnx(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let wanted = !tx.access(&args[1]);
    if wanted {
        let at = store(tx, &args[1], &args[2], None);
        tx.set_if_absent(at, &args[1], &args[2]);
    }
    reply.integer(i64::from(wanted));
    Ok(())
}

fn setex(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    set_with_deadline(tx, args, TimeForm::SECONDS, "setex", reply)
}

fn psetex(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    set_with_deadline(tx, args, TimeForm::MILLISECONDS, "psetex", reply)
}

fn set_with_deadline(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    form: TimeForm,
    command: &str,
    reply: &mut dyn Reply,
) -> Outcome {
    let deadline = form.read_deadline_ms(tx, args, 2, 1, command)?;
    store(tx, &args[1], &args[3], Some(deadline));
    tx.propagate_with(&[b"SET", &args[1], &args[3], b"PXAT"], deadline);
    reply.ok();
    Ok(())
}

fn getset(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    answer(tx.read::<Str>(&args[1])?, reply);
    store(tx, &args[1], &args[2], None);
    tx.propagate(&[b"SET", &args[1], &args[2]]);
    Ok(())
}

fn getdel(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    answer(tx.read::<Str>(&args[1])?, reply);
    if tx.delete(&args[1]) {
        tx.propagate_removal(&args[1], |lazy| lazy.user_del);
    }
    Ok(())
}

fn getex(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let options = SetOptions::of_getex(args)?;
    // A missing key, or a key of the wrong type, takes precedence over a wrong time.
    let deadline = options.deadline_ms(tx, args, "getex");
    let Some(value) = tx.read::<Str>(key)? else {
        reply.null();
        return Ok(());
    };
    let deadline = deadline?;
    reply.bulk(&value.text());
    match (options.ttl, deadline) {
        (Ttl::Set(form, _), Some(deadline)) if form.is_absolute() && tx.has_passed(deadline) => {
            tx.delete(key);
            tx.propagate_removal(key, |lazy| lazy.expire);
        }
        (_, Some(deadline)) => {
            tx.set_deadline(key, deadline);
            tx.changed(key, events::EXPIRE);
            tx.propagate_with(&[b"PEXPIREAT", key], deadline);
        }
        (Ttl::Persist, None) if tx.clear_deadline(key) => {
            tx.changed(key, events::PERSIST);
            tx.propagate(&[b"PERSIST", key]);
        }
        _ => {}
    }
    Ok(())
}

fn mget(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.array(args.len() - 1);
    for key in args.from(1) {
        // A key of another type counts as missing.
        answer(tx.read::<Str>(key).unwrap_or_default(), reply);
    }
    Ok(())
}

fn pairs<'a>(args: Args<'a>, command: &str) -> Result<&'a [[&'a [u8]; 2]], CommandError> {
    match args.from(1).as_chunks() {
        (pairs, []) => Ok(pairs),
        _ => Err(CommandError::arity(command)),
    }
}

fn mset(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    for [key, value] in pairs(args, "mset")? {
        store(tx, key, value, None);
    }
    reply.ok();
    Ok(())
}

fn msetnx(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let pairs = pairs(args, "msetnx")?;
    let wanted = !pairs.iter().any(|[key, _]| tx.access(key));
    if wanted {
        for [key, value] in pairs {
            let at = store(tx, key, value, None);
            tx.set_if_absent(at, key, value);
        }
    }
    reply.integer(i64::from(wanted));
    Ok(())
}
