//! OBJECT: the encodings and the accesses of keys. These commands do not count as accesses.

use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{AccessClock, Accesses, Measure, Tx};
use lockwheel_store::values::{Encoding, Value};

const NO_FREQUENCY: &str = "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note \
    that when switching between policies at runtime LRU and LFU data will take some time to adjust.";
const NO_IDLE_TIME: &str = "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when \
    switching between policies at runtime LRU and LFU data will take some time to adjust.";

pub(super) const ROWS: &[Row<DataHandler>] = &[Row::container("object", -2, OBJECT)
    .about("generic", "2.2.3", "Depends on subcommand.")
    .summary("Looks at how a key is held and accessed.")];

const LOOKED_AT: &[KeySpec] = &[KeySpec::one(2, &[KeyFlags::RO])];

const fn row(name: &'static str, handler: DataHandler, since: &'static str) -> Row<DataHandler> {
    Row::new(name, 3, handler)
        .flags(&[Flags::READONLY])
        .categories(&["keyspace"])
        .keys(LOOKED_AT)
        .about("generic", since, "O(1)")
        .syntax("key")
        .tips(&["nondeterministic_output"])
}

const OBJECT: &[Row<DataHandler>] = &[
    row("encoding", encoding, "2.2.3").summary("The representation of what a key holds.").help(&[
        "ENCODING <key>",
        "    Return the kind of internal representation used in order to store the value",
        "    associated with a <key>.",
    ]),
    row("freq", frequency, "4.0.0")
        .summary("Returns the logarithmic access frequency of a key, under an LFU maxmemory-policy.")
        .help(&[
            "FREQ <key>",
            "    Return the access frequency index of the <key>. The returned integer is",
            "    proportional to the logarithm of the recent access frequency of the key.",
        ])
        .errors(&[NO_FREQUENCY]),
    row("idletime", idle_time, "2.2.3")
        .summary("How many seconds ago a key was last accessed, under any other maxmemory-policy.")
        .help(&[
            "IDLETIME <key>",
            "    Return the idle time of the <key>, that is the approximated number of",
            "    seconds elapsed since the last access to the key.",
        ])
        .errors(&[NO_IDLE_TIME]),
    row("refcount", reference_count, "2.2.3")
        .summary("How many references there are to what a key holds: a small integer is shared by all.")
        .help(&[
            "REFCOUNT <key>",
            "    Return the number of references of the value associated with the specified",
            "    <key>.",
        ]),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .categories(&["keyspace"])
        .about("generic", "6.2.0", "O(1)")
        .summary("The subcommands of OBJECT."),
];

fn encoding(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    match tx.peek(&args[2]) {
        Some(value) => reply.bulk(value.encoding().name().as_bytes()),
        None => reply.null(),
    }
    Ok(())
}

/// Reads the key's access clock. The reading is valid only while access clocks measure `measure`.
fn read_clock(
    tx: &Tx<'_>,
    key: &[u8],
    (measure, otherwise): (Measure, &'static str),
    read: impl FnOnce(&Accesses, AccessClock) -> i64,
    reply: &mut dyn Reply,
) -> Outcome {
    let Some(clock) = tx.access_clock(key) else {
        reply.null();
        return Ok(());
    };
    if tx.accesses().measure() != measure {
        return Err(CommandError::text(otherwise));
    }
    reply.integer(read(tx.accesses(), clock));
    Ok(())
}

fn frequency(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let read = |accesses: &Accesses, clock| accesses.frequency(clock).into();
    read_clock(tx, &args[2], (Measure::Frequency, NO_FREQUENCY), read, reply)
}

fn idle_time(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    read_clock(tx, &args[2], (Measure::IdleTime, NO_IDLE_TIME), Accesses::idle_seconds, reply)
}

/// The number of integers, from 0 on, that Redis shares.
const SHARED_INTEGERS: i64 = 10_000;

fn reference_count(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let is_shared = |value: &Value| match value {
        Value::Str(text) if text.encoding() == Encoding::Int => {
            text.to_i64().is_some_and(|number| (0..SHARED_INTEGERS).contains(&number))
        }
        _ => false,
    };
    let shares = tx.shares_integers();
    match tx.peek(&args[2]) {
        Some(value) => reply.integer(if shares && is_shared(value) { i32::MAX.into() } else { 1 }),
        None => reply.null(),
    }
    Ok(())
}
