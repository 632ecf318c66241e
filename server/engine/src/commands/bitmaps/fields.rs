//! BITFIELD, BITFIELD_RO.

use super::offset::{BAD_OFFSET, bytes_of, parse_field_offset};
use crate::spec::{
    Args, CommandError, DataHandler, Flags, Key, KeyFlags, KeySpec, Outcome, Row, errors, quotable,
};
use lockwheel_resp::{Reply, number};
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::Str;
use lockwheel_store::values::bits::{BitField, Fit, Overflow};

const BAD_KIND: &str = "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 \
                        is.";
const BAD_OVERFLOW: &str = "ERR Invalid OVERFLOW type specified";
const ONLY_GET: &str = "ERR BITFIELD_RO only supports the GET subcommand";
const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
const SYNTAX: &str = "ERR syntax error";

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("bitfield", -2, bitfield as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["bitmap"])
        .keys(&[KeySpec::one(
            1,
            &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE, KeyFlags::VARIABLE_FLAGS],
        )
        .notes("This command allows both access and modification of the key")])
        .key_finder(bitfield_key)
        .about("bitmap", "3.2.0", "O(1) for each subcommand specified")
        .summary("Reads, sets and increments integers of any width among the bits of a string.")
        .syntax(
            "key [(operation: GET encoding offset | (write: [OVERFLOW (WRAP | SAT | FAIL)] \
             (write_operation: SET encoding offset value:integer | INCRBY encoding offset increment))) ...]",
        )
        .errors(&[SYNTAX, BAD_KIND, BAD_OFFSET, BAD_OVERFLOW, NOT_AN_INTEGER]),
    Row::new("bitfield_ro", -2, bitfield_ro as DataHandler)
        .flags(&[Flags::READONLY, Flags::FAST])
        .categories(&["bitmap"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])])
        .about("bitmap", "6.0.0", "O(1) for each subcommand specified")
        .summary("Reads integers of any width among the bits of a string.")
        .syntax("key [GET encoding offset [GET encoding offset ...]]")
        .errors(&[SYNTAX, BAD_KIND, BAD_OFFSET, ONLY_GET]),
];

/// The key of BITFIELD, which is only read if all steps are GET.
fn bitfield_key(args: Args<'_>) -> Vec<Key> {
    let (mut at, mut only_reads) = (2, true);
    while at < args.len() && only_reads {
        let left = args.len() - at - 1;
        let words = if args.is(at, "get") { 2 } else { 1 };
        only_reads = (words == 2 || args.is(at, "overflow")) && left >= words;
        at += words + 1;
    }
    let flags = if only_reads { KeyFlags::RO } else { KeyFlags::RW | KeyFlags::UPDATE };
    vec![(1, flags | KeyFlags::ACCESS)]
}

#[derive(Clone, Copy, Debug)]
struct Step {
    field: BitField,
    offset: u64,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Get,
    Set(i64, Overflow),
    Increment(i64, Overflow),
}

impl Step {
    /// The last bit of the field that the step writes, if it writes a field.
    fn last_written(&self) -> Option<u64> {
        match self.what {
            What::Get => None,
            What::Set(..) | What::Increment(..) => Some(self.offset + self.field.bits() - 1),
        }
    }

    /// Runs the step on bytes with its whole field. Returns the reply, if any, and whether the field has changed.
    fn write(&self, bytes: &mut [u8]) -> (Option<i64>, bool) {
        let before = self.field.get(bytes, self.offset);
        let (fit, answers_before) = match self.what {
            What::Get => return (Some(before), false),
            What::Set(value, overflow) => (self.field.fit_value(value, overflow), true),
            What::Increment(by, overflow) => (self.field.fit_sum(before, by, overflow), false),
        };
        let Fit::Value(after) = fit else { return (None, false) };
        self.field.set(bytes, self.offset, after);
        (Some(if answers_before { before } else { after }), before != after)
    }
}

/// Reads a field's kind: `u8`, `i16`. Bytes behind a NUL are ignored, as in C.
fn parse_kind(args: Args<'_>, index: usize) -> Result<BitField, CommandError> {
    let parse = |kind: &[u8]| {
        let (sign, width) = kind.split_first()?;
        let is_signed = match sign {
            b'i' => true,
            b'u' => false,
            _ => return None,
        };
        BitField::new(is_signed, number::parse_i64(quotable(width))?)
    };
    args.get(index).and_then(parse).ok_or(CommandError::text(BAD_KIND))
}

fn parse_overflow(args: Args<'_>, index: usize) -> Result<Overflow, CommandError> {
    let known = [("wrap", Overflow::Wrap), ("sat", Overflow::Saturate), ("fail", Overflow::Fail)];
    let found = known.iter().find(|(word, _)| args.is(index, word));
    found.map(|(_, overflow)| *overflow).ok_or(CommandError::text(BAD_OVERFLOW))
}

fn parse_steps(args: Args<'_>, max: usize) -> Result<Vec<Step>, CommandError> {
    let (mut steps, mut overflow, mut at) = (Vec::new(), Overflow::default(), 2);
    while at < args.len() {
        let following = args.len() - at - 1;
        if args.is(at, "overflow") && following >= 1 {
            overflow = parse_overflow(args, at + 1)?;
            at += 2;
            continue;
        }
        let writes = !args.is(at, "get");
        let increments = args.is(at, "incrby");
        let is_known = !writes || increments || args.is(at, "set");
        if !is_known || following < 2 + usize::from(writes) {
            return Err(errors::SYNTAX);
        }
        let field = parse_kind(args, at + 1)?;
        let offset = parse_field_offset(args, at + 2, field.bits(), max)?;
        let what = match writes {
            false => What::Get,
            true if increments => What::Increment(args.int(at + 3)?, overflow),
            true => What::Set(args.int(at + 3)?, overflow),
        };
        steps.push(Step { field, offset, what });
        at += 3 + usize::from(writes);
    }
    Ok(steps)
}

fn bitfield(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let steps = parse_steps(args, tx.max_string())?;
    let Some(last) = steps.iter().filter_map(Step::last_written).max() else {
        return read_fields(tx, args, &steps, reply);
    };
    let (bytes, mut has_changed) = bytes_of(tx, &args[1], last)?;
    let grows = std::mem::take(&mut has_changed);
    reply.array(steps.len());
    for step in &steps {
        // A field that is only read may lie beyond the bytes.
        let (answer, changes) = step.write(bytes);
        has_changed |= changes || (grows && answer.is_some() && step.last_written().is_some());
        match answer {
            Some(value) => reply.integer(value),
            None => reply.null(),
        }
    }
    let len = bytes.len();
    if has_changed {
        tx.changed(&args[1], events::SETBIT);
    } else if grows {
        // Redis propagates nothing here, so that a later APPEND has another result on a replica.
        tx.propagate_length(&args[1], len);
    }
    Ok(())
}

fn bitfield_ro(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let steps = parse_steps(args, tx.max_string())?;
    if steps.iter().any(|step| step.last_written().is_some()) {
        return Err(CommandError::text(ONLY_GET));
    }
    read_fields(tx, args, &steps, reply)
}

/// Replies fields that are only read. The key is not created.
fn read_fields(tx: &mut Tx<'_>, args: Args<'_>, steps: &[Step], reply: &mut dyn Reply) -> Outcome {
    let value = tx.read::<Str>(&args[1])?;
    let text = value.map(Str::text);
    let bytes = text.as_deref().unwrap_or_default();
    reply.array(steps.len());
    steps.iter().for_each(|step| reply.integer(step.field.get(bytes, step.offset)));
    Ok(())
}
