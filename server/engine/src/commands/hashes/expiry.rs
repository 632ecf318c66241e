//! Deadlines of fields: HEXPIRE, HTTL and the like, HPERSIST.

use super::fields::{FieldArguments, NUMFIELDS};
use crate::commands::expiry::{Conditions, GT_WITH_LT, NX_WITH_OTHERS, TimeForm, seconds};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::Hash;
use smallvec::SmallVec;

const UPDATES: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])];
const READS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])];
const COMPLEXITY: &str = "O(N) where N is the number of specified fields.";

/// The errors of HEXPIRE and similar commands.
macro_rules! expire_errors {
    ($command:literal) => {
        &[
            "ERR Unsupported option *",
            NX_WITH_OTHERS,
            GT_WITH_LT,
            "ERR value is not an integer or out of range",
            NUMFIELDS,
            concat!("ERR invalid expire time in '", $command, "' command"),
        ]
    };
}

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    expire_row("hexpire", hexpire)
        .summary("Gives fields of a hash a deadline, in seconds from now.")
        .syntax(
            "key seconds [condition: NX | XX | GT | LT] \
             FIELDS (fields: numfields:integer field [field ...])",
        )
        .errors(expire_errors!("hexpire")),
    expire_row("hpexpire", hpexpire)
        .summary("Gives fields of a hash a deadline, in milliseconds from now.")
        .syntax(
            "key milliseconds [condition@9.0.0: NX | XX | GT | LT] \
             FIELDS (fields: numfields:integer#0 field [field ...])",
        )
        .errors(expire_errors!("hpexpire")),
    expire_row("hexpireat", hexpireat)
        .summary("Gives fields of a hash a deadline, a Unix time in seconds.")
        .syntax(
            "key unix-time-seconds:integer [condition@9.0.0: NX | XX | GT | LT] \
             FIELDS (fields: numfields:integer#0 field [field ...])",
        )
        .errors(expire_errors!("hexpireat")),
    expire_row("hpexpireat", hpexpireat)
        .summary("Gives fields of a hash a deadline, a Unix time in milliseconds.")
        .syntax(
            "key unix-time-milliseconds:integer [condition@9.0.0: NX | XX | GT | LT] \
             FIELDS (fields: numfields:integer#0 field [field ...])",
        )
        .errors(expire_errors!("hpexpireat")),
    read_row("httl", httl)
        .summary("The time that fields have left, in seconds; -1: no deadline, -2: no such field."),
    read_row("hpttl", hpttl)
        .summary("The time that fields have left, in milliseconds; -1: no deadline, -2: no such field."),
    read_row("hexpiretime", hexpiretime)
        .summary("The deadlines of fields as Unix times in seconds; -1: no deadline, -2: no such field."),
    read_row("hpexpiretime", hpexpiretime).summary(
        "The deadlines of fields as Unix times in milliseconds; -1: no deadline, -2: no such field.",
    ),
    write_row("hpersist", -5, hpersist)
        .summary("Removes the deadlines of fields of a hash.")
        .syntax("key FIELDS (fields: numfields:integer#0 field [field ...])")
        .errors(&["ERR syntax error", "ERR value is not an integer or out of range", NUMFIELDS]),
];

const fn write_row(name: &'static str, arity: i32, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, arity, handler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["hash"])
        .keys(UPDATES)
        .about("hash", "9.0.0", COMPLEXITY)
}

const fn expire_row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    write_row(name, -6, handler)
}

const fn read_row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -5, handler)
        .flags(&[Flags::READONLY, Flags::FAST])
        .categories(&["hash"])
        .keys(READS)
        .about("hash", "9.0.0", COMPLEXITY)
        .syntax("key FIELDS (fields: numfields:integer#0 field [field ...])")
        .errors(&["ERR syntax error", "ERR value is not an integer or out of range"])
}

/// The replies for a field.
const NO_FIELD: i64 = -2;
const NO_DEADLINE: i64 = -1;
const REFUSED: i64 = 0;
const DONE: i64 = 1;
const GONE: i64 = 2;

/// The least time. A deadline may be in the past, but not before the epoch.
pub(super) const LEAST: i64 = 0;

fn hexpire(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    give_deadlines(tx, args, TimeForm::SECONDS, "hexpire", reply)
}

fn hpexpire(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    give_deadlines(tx, args, TimeForm::MILLISECONDS, "hpexpire", reply)
}

fn hexpireat(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    give_deadlines(tx, args, TimeForm::UNIX_SECONDS, "hexpireat", reply)
}

fn hpexpireat(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    give_deadlines(tx, args, TimeForm::UNIX_MILLISECONDS, "hpexpireat", reply)
}

fn give_deadlines(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    form: TimeForm,
    command: &str,
    reply: &mut dyn Reply,
) -> Outcome {
    let key = &args[1];
    let fields = FieldArguments::find(args, 3)?;
    let (conditions, at) = (Conditions::parse(args, 3..fields.at)?, fields.at);
    let fields = fields.read(args, 1)?;
    let deadline_ms = form.read_deadline_ms(tx, args, 2, LEAST, command)?;
    tx.write::<Hash>(key)?;
    reply.array(fields.len());
    let (mut set, mut gone): (bool, SmallVec<[&[u8]; 8]>) = (false, SmallVec::new());
    for field in fields {
        let done = give_deadline(tx, key, field, conditions, deadline_ms)?;
        set |= done == DONE;
        if done == GONE {
            gone.push(field);
        }
        reply.integer(done);
    }
    if set {
        tx.changed(key, events::HEXPIRE);
        propagate_conditional(tx, key, args.all().get(3..at).unwrap_or_default(), fields, deadline_ms);
    }
    if !gone.is_empty() {
        fields_gone(tx, key);
        propagate_removed(tx, key, &gone);
    }
    Ok(())
}

/// Gives a field a deadline, or removes the field if the deadline has passed. Returns the reply.
fn give_deadline(
    tx: &mut Tx<'_>,
    key: &[u8],
    field: &[u8],
    conditions: Conditions,
    deadline_ms: i64,
) -> Result<i64, CommandError> {
    let Some(hash) = tx.write::<Hash>(key)?.map(|edit| edit.value) else { return Ok(NO_FIELD) };
    if !hash.contains(field) {
        return Ok(NO_FIELD);
    }
    if !conditions.hold(hash.deadline(field), deadline_ms) {
        return Ok(REFUSED);
    }
    if tx.has_passed(deadline_ms) {
        tx.expire_field(key, field);
        return Ok(GONE);
    }
    tx.set_field_deadline(key, field, deadline_ms);
    Ok(DONE)
}

fn propagate_conditional(
    tx: &mut Tx<'_>,
    key: &[u8],
    conditions: &[&[u8]],
    fields: &[&[u8]],
    deadline_ms: i64,
) {
    if tx.is_propagated() {
        let [at, count] = [deadline_ms, fields.len() as i64].map(|number| number.to_string());
        let [at, count] = [at.as_bytes(), count.as_bytes()];
        tx.propagate_parts(&[&[b"HPEXPIREAT", key, at], conditions, &[b"FIELDS", count], fields]);
    }
}

/// Propagates a deadline of fields, in wall milliseconds.
pub(super) fn propagate_deadline(tx: &mut Tx<'_>, key: &[u8], fields: &[&[u8]], deadline_ms: i64) {
    propagate_conditional(tx, key, &[], fields, deadline_ms);
}

/// Propagates the removal of fields. Fields that did not exist have no effect.
pub(super) fn propagate_removed(tx: &mut Tx<'_>, key: &[u8], fields: &[&[u8]]) {
    tx.propagate_parts(&[&[b"HDEL", key], fields]);
}

pub(super) fn propagate_persistence(tx: &mut Tx<'_>, key: &[u8], fields: &[&[u8]]) {
    if tx.is_propagated() {
        let count = fields.len().to_string();
        tx.propagate_parts(&[&[b"HPERSIST", key, b"FIELDS", count.as_bytes()], fields]);
    }
}

/// Reports that fields of a key were removed because their deadlines had passed.
pub(super) fn fields_gone(tx: &mut Tx<'_>, key: &[u8]) {
    tx.changed(key, events::HEXPIRED);
    tx.delete_if_empty(key);
}

fn httl(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    tell(tx, args, |deadline, now| seconds(left(deadline, now)), reply)
}

fn hpttl(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    tell(tx, args, left, reply)
}

fn hexpiretime(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    tell(tx, args, |deadline, _| seconds(deadline), reply)
}

fn hpexpiretime(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    tell(tx, args, |deadline, _| deadline, reply)
}

fn left(deadline_ms: i64, now_ms: i64) -> i64 {
    deadline_ms.saturating_sub(now_ms).max(0)
}

/// Replies, for each field, the result of `of` for its deadline and the present instant, in wall milliseconds.
fn tell(tx: &mut Tx<'_>, args: Args<'_>, of: impl Fn(i64, i64) -> i64, reply: &mut dyn Reply) -> Outcome {
    let fields = FieldArguments::alone(args, errors::SYNTAX)?;
    let now_ms = tx.now().wall_ms();
    let hash = tx.read::<Hash>(&args[1])?;
    reply.array(fields.len());
    for field in fields {
        let answer = match hash.filter(|hash| hash.contains(field)) {
            None => NO_FIELD,
            Some(hash) => hash.deadline(field).map_or(NO_DEADLINE, |deadline| of(deadline, now_ms)),
        };
        reply.integer(answer);
    }
    Ok(())
}

fn hpersist(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let fields = FieldArguments::alone(args, CommandError::text(NUMFIELDS))?;
    let key = &args[1];
    let mut hash = tx.write::<Hash>(key)?.map(|edit| edit.value);
    reply.array(fields.len());
    let mut any = false;
    for field in fields {
        let answer = match hash.as_mut().filter(|hash| hash.contains(field)) {
            None => NO_FIELD,
            Some(hash) => {
                if hash.clear_deadline(field) {
                    DONE
                } else {
                    NO_DEADLINE
                }
            }
        };
        any |= answer == DONE;
        reply.integer(answer);
    }
    if any {
        tx.changed(key, events::HPERSIST);
        propagate_persistence(tx, key, fields);
    }
    Ok(())
}
