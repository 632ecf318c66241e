//! Serialized values: DUMP, RESTORE.

use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::{Reply, allocation, number};
use lockwheel_store::keyspace::{AccessClock, Accesses, Measure, Tx};
use lockwheel_store::rdb::{self, Reader, payload};
use lockwheel_store::values::Value;

const INVALID_TTL: &str = "ERR Invalid TTL value, must be >= 0";
const INVALID_IDLETIME: &str = "ERR Invalid IDLETIME value, must be >= 0";
const INVALID_FREQ: &str = "ERR Invalid FREQ value, must be >= 0 and <= 255";
const WRONG_FOOTER: &str = "ERR DUMP payload version or checksum are wrong";
const BAD_FORMAT: &str = "ERR Bad data format";

const RESTORE_COMPLEXITY: &str = "O(1) to create the new key and additional O(N*M) to reconstruct the serialized \
    value, where N is the number of Redis objects composing the value and M their average size. For small string \
    values the time complexity is thus O(1)+O(1*M) where M is small, so simply O(1). However for sorted set values \
    the complexity is O(N*M*log(N)) because inserting values into sorted sets is O(log(N)).";
const RESTORE_HISTORY: &[(&str, &str)] = &[
    ("3.0.0", "Added the `REPLACE` modifier."),
    ("5.0.0", "Added the `ABSTTL` modifier."),
    ("5.0.0", "Added the `IDLETIME` and `FREQ` options."),
];
const RESTORE_SYNTAX: &str =
    "key ttl serialized-value [REPLACE@3.0.0] [ABSTTL@5.0.0] [IDLETIME seconds@5.0.0] [FREQ frequency@5.0.0]";
const RESTORED: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::OW, KeyFlags::UPDATE])];
const RESTORE_ERRORS: &[&str] = &[
    "ERR syntax error",
    "BUSYKEY Target key name already exists.",
    "ERR value is not an integer or out of range",
    INVALID_TTL,
    INVALID_IDLETIME,
    INVALID_FREQ,
    WRONG_FOOTER,
    BAD_FORMAT,
];

pub(super) const ROWS: &[Row<DataHandler>] = &[
    Row::new("dump", 2, dump as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["keyspace"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])])
        .about(
            "generic",
            "2.6.0",
            "O(1) to access the key and additional O(N*M) to serialize it, where N is the number of Redis objects \
             composing the value and M their average size. For small string values the time complexity is thus \
             O(1)+O(1*M) where M is small, so simply O(1).",
        )
        .summary("What a key holds, as bytes that RESTORE reads.")
        .syntax("key")
        .tips(&["nondeterministic_output"]),
    Row::new("restore", -4, restore as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["keyspace", "dangerous"])
        .keys(RESTORED)
        .about("generic", "2.6.0", RESTORE_COMPLEXITY)
        .summary("Creates a key from the payload of DUMP, with a remaining time to live in milliseconds.")
        .history(RESTORE_HISTORY)
        .syntax(RESTORE_SYNTAX)
        .errors(RESTORE_ERRORS),
    Row::new("restore-asking", -4, restore as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::ASKING])
        .categories(&["keyspace", "dangerous"])
        .keys(RESTORED)
        .about("server", "3.0.0", RESTORE_COMPLEXITY)
        .summary("RESTORE, as one node of a cluster sends it to another.")
        .history(RESTORE_HISTORY)
        .internal()
        .syntax(RESTORE_SYNTAX)
        .errors(RESTORE_ERRORS),
];

fn dump(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    match tx.get(&args[1]) {
        Some(value) => reply.bulk(&rdb::dump(value)),
        None => reply.null(),
    }
    Ok(())
}

/// The words of RESTORE behind the payload.
#[derive(Clone, Copy, Debug, Default)]
struct RestoreOptions {
    replace: bool,
    absolute: bool,
    /// The idle time, in seconds. Only this or `frequency` may be given.
    idle_seconds: Option<i64>,
    frequency: Option<u8>,
}

impl RestoreOptions {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        let mut at = 4;
        while at < args.len() {
            let has_value = at + 1 < args.len();
            if args.is(at, "replace") {
                options.replace = true;
            } else if args.is(at, "absttl") {
                options.absolute = true;
            } else if args.is(at, "idletime") && has_value && options.frequency.is_none() {
                at += 1;
                let range = CommandError::text(INVALID_IDLETIME);
                options.idle_seconds = Some(args.int_in(at, 0, i64::MAX, range)?);
            } else if args.is(at, "freq") && has_value && options.idle_seconds.is_none() {
                at += 1;
                let range = CommandError::text(INVALID_FREQ);
                // The range is that of the type, so the number fits.
                options.frequency = Some(args.int_in(at, 0, 255, range)? as u8);
            } else {
                return Err(errors::SYNTAX);
            }
            at += 1;
        }
        Ok(options)
    }

    /// The access clock of the key, if the request gives the kind that is measured now. The other kind is ignored.
    fn access_clock(self, accesses: &Accesses) -> Option<AccessClock> {
        match accesses.measure() {
            Measure::IdleTime => self.idle_seconds.map(|seconds| accesses.clock_of_idle(seconds)),
            Measure::Frequency => self.frequency.map(|frequency| accesses.clock_of_frequency(frequency)),
        }
    }
}

/// Restores a key. The request is checked, and the value made, before the keyspace changes.
fn restore(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let options = RestoreOptions::parse(args)?;
    let key = &args[1];
    if !options.replace && tx.access(key) {
        return Err(errors::BUSY_KEY);
    }
    let ttl = args.int_in(2, 0, i64::MAX, CommandError::text(INVALID_TTL))?;
    let value = read(tx, &args[3])?;
    let now_ms = tx.now().wall_ms();
    // Redis adds without a check of the range: a sum that wraps around has passed.
    let deadline = if options.absolute { ttl } else { ttl.wrapping_add(now_ms) };
    match (ttl > 0).then_some(deadline) {
        Some(deadline) if tx.has_passed(deadline) => {
            if tx.delete(key) {
                tx.propagate(&[b"DEL", key]);
            }
        }
        deadline => {
            let at = tx.restore(key, value, deadline);
            propagate_restored(tx, args, options, deadline);
            if let Some(clock) = options.access_clock(tx.accesses()) {
                tx.set_access_clock(at, clock);
            }
        }
    }
    reply.ok();
    Ok(())
}

fn propagate_restored(tx: &mut Tx<'_>, args: Args<'_>, options: RestoreOptions, deadline_ms: Option<i64>) {
    let Some(deadline_ms) = deadline_ms.filter(|_| !options.absolute && tx.is_propagated()) else { return };
    let mut at = Vec::new();
    number::write_i64(deadline_ms, &mut at);
    tx.propagate_parts(&[&[&args[0], &args[1], &at], args.from(3), &[b"ABSTTL"]]);
}

fn read(tx: &Tx<'_>, bytes: &[u8]) -> Result<Value, CommandError> {
    let body = payload::open(bytes).map_err(|_| CommandError::text(WRONG_FOOTER))?;
    // Bytes behind the value are ignored, as in Redis.
    let mut reader = Reader::new(body).with_max_string(tx.max_string());
    // Nothing has changed yet, so a value can be refused for lack of memory.
    let value = allocation::contain(|| rdb::read_value(&mut reader, tx.encodings()))?;
    if value.is_err() && reader.lacks_memory() {
        return Err(errors::INSUFFICIENT_MEMORY);
    }
    value.map_err(|_| CommandError::text(BAD_FORMAT))
}

#[cfg(test)]
mod tests;
