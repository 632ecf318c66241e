//! Commands on fields and their deadlines in one step: HGETEX, HSETEX; and HGETDEL, which gets and deletes fields.

use super::expiry::{LEAST, fields_gone, propagate_deadline, propagate_persistence, propagate_removed};
use super::fields::{FieldArguments, NUMFIELDS};
use super::read::bulk_or_null;
use crate::commands::set_options::{Ttl, TtlWords};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::Hash;

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("hgetex", -5, hgetex as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["hash"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE])])
        .about("hash", "9.0.0", "O(N) where N is the number of specified fields.")
        .summary("Returns the values of fields of a hash and sets or removes their deadlines.")
        .syntax(
            "key [expiration: EX seconds | PX milliseconds | EXAT unix-time-seconds | \
             PXAT unix-time-milliseconds | PERSIST] FIELDS (fields: numfields:integer#0 field [field ...])",
        )
        .errors(&[
            "ERR syntax error",
            "ERR value is not an integer or out of range",
            "ERR invalid expire time in 'hgetex' command",
            NUMFIELDS,
        ]),
    Row::new("hsetex", -6, hsetex as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["hash"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::INSERT])])
        .about("hash", "9.0.0", "O(N) where N is the number of specified fields.")
        .summary("Sets fields of a hash and their deadlines, on conditions.")
        .syntax(
            "key [key-condition: NX | XX] [fields-condition: FNX | FXX] [expiration: EX seconds | \
             PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL] \
             FIELDS (fields: numfields:integer#0 (data: field value) [(data: field value) ...])",
        )
        .errors(&[
            "ERR syntax error",
            "ERR value is not an integer or out of range",
            "ERR invalid expire time in 'hsetex' command",
            NUMFIELDS,
        ]),
    Row::new("hgetdel", -5, hgetdel as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["hash"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::DELETE])])
        .about("hash", "9.1.0", "O(N) where N is the number of fields to be retrieved and deleted.")
        .summary("Returns the values of fields of a hash and removes the fields.")
        .syntax("key FIELDS (fields: numfields:integer#0 field [field ...])")
        .errors(&["ERR syntax error", "ERR value is not an integer or out of range", NUMFIELDS]),
];

fn hgetex(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let fields = FieldArguments::find(args, 2)?;
    let mut ttl = TtlWords::default();
    ttl.read_all(
        args,
        2..fields.at,
        |args, at| {
            if args.is(at, "persist") { Some(Ttl::Persist) } else { None }
        },
    )?;
    let fields = fields.read(args, 1)?;
    let found = tx.read::<Hash>(key)?.is_some();
    let deadline_ms = deadline(tx, args, ttl.get(), "hgetex")?;
    reply.array(fields.len());
    if !found {
        fields.iter().for_each(|_| reply.null());
        return Ok(());
    }
    let past = deadline_ms.is_some_and(|deadline| deadline <= tx.now().wall_ms());
    let (mut changed, mut gone) = (false, false);
    for field in fields {
        let Some(edit) = tx.write::<Hash>(key)? else { break };
        let value = edit.value.get(field);
        bulk_or_null(value, reply);
        match deadline_ms {
            _ if value.is_none() => {}
            Some(_) if past => gone |= tx.expire_field(key, field),
            Some(deadline_ms) => changed |= tx.set_field_deadline(key, field, deadline_ms),
            None if ttl.get() == Ttl::Persist => changed |= edit.value.clear_deadline(field),
            None => {}
        }
    }
    if changed {
        tx.changed(key, if deadline_ms.is_some() { events::HEXPIRE } else { events::HPERSIST });
        match deadline_ms {
            Some(deadline_ms) => propagate_deadline(tx, key, fields, deadline_ms),
            None => propagate_persistence(tx, key, fields),
        }
    }
    if gone {
        fields_gone(tx, key);
        propagate_removed(tx, key, fields);
    }
    Ok(())
}

/// The deadline that an option sets, in wall milliseconds.
fn deadline(tx: &Tx<'_>, args: Args<'_>, ttl: Ttl, command: &str) -> Result<Option<i64>, CommandError> {
    match ttl {
        Ttl::Set(form, at) => form.read_deadline_ms(tx, args, at, LEAST, command).map(Some),
        _ => Ok(None),
    }
}

/// The conditions of HSETEX: whether the key, and all of the fields, must exist or must not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SetConditions {
    key: Option<bool>,
    fields: Option<bool>,
}

impl SetConditions {
    fn read(&mut self, args: Args<'_>, at: usize) -> Result<bool, CommandError> {
        let words = [("nx", true, false), ("xx", true, true), ("fnx", false, false), ("fxx", false, true)];
        let Some((_, of_key, there)) = words.into_iter().find(|(word, ..)| args.is(at, word)) else {
            return Ok(false);
        };
        let condition = if of_key { &mut self.key } else { &mut self.fields };
        if condition.is_some_and(|before| before != there) {
            return Err(errors::SYNTAX);
        }
        *condition = Some(there);
        Ok(true)
    }

    fn hold_for_key(self, hash: Option<&Hash>) -> bool {
        self.key.is_none_or(|there| hash.is_some() == there)
    }

    fn hold_for_fields(self, hash: Option<&Hash>, pairs: &[[&[u8]; 2]]) -> bool {
        let is_there = |field: &[u8]| hash.is_some_and(|hash| hash.contains(field));
        self.fields.is_none_or(|there| pairs.iter().all(|[field, _]| is_there(field) == there))
    }
}

fn hsetex(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let fields = FieldArguments::find(args, 2)?;
    let (mut ttl, mut conditions, mut at) = (TtlWords::default(), SetConditions::default(), 2);
    while at < fields.at {
        at = if conditions.read(args, at)? {
            at + 1
        } else {
            ttl.read(
                args,
                at,
                fields.at,
                |args, at| {
                    if args.is(at, "keepttl") { Some(Ttl::Keep) } else { None }
                },
            )?
        };
    }
    let (pairs, []) = fields.read(args, 2)?.as_chunks::<2>() else {
        return Err(CommandError::text(NUMFIELDS));
    };
    if !conditions.hold_for_key(tx.write::<Hash>(key)?.map(|edit| &*edit.value)) {
        reply.integer(0);
        return Ok(());
    }
    let deadline_ms = deadline(tx, args, ttl.get(), "hsetex")?;
    if !conditions.hold_for_fields(tx.write::<Hash>(key)?.map(|edit| &*edit.value), pairs) {
        reply.integer(0);
        return Ok(());
    }
    set_pairs(tx, key, pairs, ttl.get() == Ttl::Keep)?;
    tx.changed(key, events::HSET);
    if let Some(deadline_ms) = deadline_ms {
        give_deadline(tx, key, pairs, deadline_ms);
    }
    reply.integer(1);
    Ok(())
}

fn set_pairs(tx: &mut Tx<'_>, key: &[u8], pairs: &[[&[u8]; 2]], keep: bool) -> Outcome {
    let edit = tx.write_or_new::<Hash>(key)?;
    let (hash, encodings, at) = (edit.value, edit.encodings, edit.at);
    hash.expect(pairs.len(), encodings);
    let mut new = 0;
    for [field, value] in pairs {
        let is_new = match keep {
            true => hash.set_keeping(field, value, encodings),
            false => hash.set(field, value, encodings),
        };
        new += usize::from(is_new);
    }
    if new > 0 {
        pairs.iter().for_each(|[field, _]| tx.field_added(at, key, field));
    }
    Ok(())
}

/// Gives the fields that were set a deadline, or removes them if it has passed.
fn give_deadline(tx: &mut Tx<'_>, key: &[u8], pairs: &[[&[u8]; 2]], deadline_ms: i64) {
    tx.changed(key, events::HEXPIRE);
    if deadline_ms > tx.now().wall_ms() {
        for [field, _] in pairs {
            tx.set_field_deadline(key, field, deadline_ms);
        }
        return;
    }
    for [field, _] in pairs {
        tx.expire_field(key, field);
    }
    fields_gone(tx, key);
}

fn hgetdel(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let fields = FieldArguments::alone(args, CommandError::text(NUMFIELDS))?;
    let key = &args[1];
    tx.write::<Hash>(key)?;
    reply.array(fields.len());
    let mut removed = false;
    for field in fields {
        let Some(edit) = tx.write::<Hash>(key)? else {
            reply.null();
            continue;
        };
        let value = edit.value.get(field);
        bulk_or_null(value, reply);
        if value.is_none() {
            continue;
        }
        if edit.is_marked {
            let at = edit.at;
            tx.field_removed(at, key, field);
        }
        removed |= tx.write::<Hash>(key)?.is_some_and(|edit| edit.value.remove(field));
    }
    if removed {
        tx.changed(key, events::HDEL);
        tx.delete_if_empty(key);
        propagate_removed(tx, key, fields);
    }
    Ok(())
}
