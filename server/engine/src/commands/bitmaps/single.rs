//! Single bits: SETBIT, GETBIT.

use super::offset::{BAD_OFFSET, bytes_of, parse_offset};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::{Str, bits};

const BAD_BIT: &str = "ERR bit is not an integer or out of range";

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("setbit", 4, setbit as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["bitmap"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE])])
        .about("bitmap", "2.2.0", "O(1)")
        .summary("Sets or clears a bit of a string, padded with zero bytes, and returns the old bit.")
        .syntax("key offset value:integer")
        .errors(&[BAD_OFFSET, BAD_BIT]),
    Row::new("getbit", 3, getbit as DataHandler)
        .flags(&[Flags::READONLY, Flags::FAST])
        .categories(&["bitmap"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])])
        .about("bitmap", "2.2.0", "O(1)")
        .summary("Returns a bit of a string; bits beyond its end are 0.")
        .syntax("key offset")
        .errors(&[BAD_OFFSET]),
];

fn setbit(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let offset = parse_offset(args, 2, tx.max_string())?;
    let on = match args.int(3) {
        Ok(bit @ (0 | 1)) => bit == 1,
        _ => return Err(CommandError::text(BAD_BIT)),
    };
    let (bytes, grows) = bytes_of(tx, key, offset)?;
    let was_on = bits::set_bit(bytes, offset, on);
    if grows || was_on != on {
        tx.changed(key, events::SETBIT);
    }
    reply.integer(i64::from(was_on));
    Ok(())
}

fn getbit(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let offset = parse_offset(args, 2, tx.max_string())?;
    let value = tx.read::<Str>(&args[1])?;
    reply.integer(i64::from(value.is_some_and(|value| bits::bit(&value.text(), offset))));
    Ok(())
}
