//! Ranges of bits: BITCOUNT, BITPOS.

use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::{Str, bits};
use std::ops::Range;

const READS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])];
const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
const SYNTAX: &str = "ERR syntax error";
const NOT_A_BIT: &str = "ERR The bit argument must be 1 or 0.";

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    bitcount_row(bitcount)
        .history(&[("7.0.0", "Added the `BYTE|BIT` option.")])
        .syntax("key [index: start end [index_unit@7.0.0: BYTE | BIT]]"),
    bitpos_row(bitpos)
        .history(&[("7.0.0", "Added the `BYTE|BIT` option.")])
        .syntax("key bit:integer [index: start [end_index: end [index_unit@7.0.0: BYTE | BIT]]]"),
];

const fn bitcount_row(handler: DataHandler) -> Row<DataHandler> {
    Row::new("bitcount", -2, handler)
        .flags(&[Flags::READONLY])
        .categories(&["bitmap"])
        .keys(READS)
        .about("bitmap", "2.6.0", "O(N)")
        .summary("Counts the bits that are set in a string, or in a range of its bytes or bits.")
        .errors(&[NOT_AN_INTEGER, SYNTAX])
}

const fn bitpos_row(handler: DataHandler) -> Row<DataHandler> {
    Row::new("bitpos", -3, handler)
        .flags(&[Flags::READONLY])
        .categories(&["bitmap"])
        .keys(READS)
        .about("bitmap", "2.8.7", "O(N)")
        .summary("Finds the first bit that is 0, or 1, in a string or in a range of its bytes or bits.")
        .errors(&[NOT_AN_INTEGER, SYNTAX, NOT_A_BIT])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Byte,
    Bit,
}

impl Unit {
    fn parse(args: Args<'_>, index: usize) -> Result<Self, CommandError> {
        match args.len() {
            len if len <= index => Ok(Unit::Byte),
            _ if args.is(index, "bit") => Ok(Unit::Bit),
            _ if args.is(index, "byte") => Ok(Unit::Byte),
            _ => Err(errors::SYNTAX),
        }
    }

    const fn bits(self) -> u64 {
        match self {
            Unit::Byte => 8,
            Unit::Bit => 1,
        }
    }

    /// The bits from position `start` to `end`, both included, of a string of `len` bytes. Negative positions count
    /// from the end. Positions before the beginning mean the first, and positions behind the end mean the last.
    fn range(self, start: i64, end: i64, len: usize) -> Range<u64> {
        // Memory holds fewer than `i64::MAX` bits.
        let len = (len as u64 * 8 / self.bits()) as i64;
        let place = |at: i64| if at < 0 { (len + at).max(0) } else { at };
        let (start, end) = (place(start), place(end).min(len - 1));
        if start > end { 0..0 } else { start as u64 * self.bits()..(end as u64 + 1) * self.bits() }
    }
}

fn bitcount(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (start, end) = match args.len() {
        2 => (0, -1),
        4 | 5 => (args.int(2)?, args.int(3)?),
        _ => return Err(errors::SYNTAX),
    };
    let unit = Unit::parse(args, 4)?;
    let count = tx.read::<Str>(&args[1])?.map_or(0, |value| {
        let text = value.text();
        let is_crossed = start < 0 && end < 0 && start > end;
        let range = if is_crossed { 0..0 } else { unit.range(start, end, text.len()) };
        bits::count_ones(&text, range)
    });
    reply.integer(count as i64);
    Ok(())
}

fn bitpos(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let on = match args.int(2)? {
        bit @ (0 | 1) => bit == 1,
        _ => return Err(CommandError::text(NOT_A_BIT)),
    };
    if args.len() > 6 {
        return Err(errors::SYNTAX);
    }
    let start = if args.len() > 3 { args.int(3)? } else { 0 };
    let unit = Unit::parse(args, 5)?;
    let has_end = args.len() > 4;
    let end = if has_end { args.int(4)? } else { -1 };
    let position = match tx.read::<Str>(&args[1])? {
        // An absent key counts as endless zero bits.
        None => (!on).then_some(0),
        Some(value) => {
            let text = value.text();
            let range = unit.range(start, end, text.len());
            // Without an explicit end, the first 0 of a string of ones is behind the string.
            let behind = (!on && !has_end && !range.is_empty()).then_some(range.end);
            bits::first_bit(&text, range, on).or(behind)
        }
    };
    reply.integer(position.map_or(-1, |position| position as i64));
    Ok(())
}
