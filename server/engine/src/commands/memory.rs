//! MEMORY: what keys take.

use crate::keyspace::Tx;
use crate::spec::{Args, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::Reply;

/// The rows of this file.
pub(super) const ROWS: &[Row<DataHandler>] = &[Row::container("memory", -2, MEMORY)
    .about("server", "4.0.0", "Depends on subcommand.")
    .summary("Looks at what takes memory.")];

const MEMORY: &[Row<DataHandler>] = &[
    Row::new("usage", -3, usage as DataHandler)
        .flags(&[Flags::READONLY])
        .keys(&[KeySpec::one(2, &[KeyFlags::RO])])
        .about("server", "4.0.0", "O(N) where N is the number of samples.")
        .summary("The bytes of memory that a key takes with its value.")
        .help(&[
            "USAGE <key> [SAMPLES <count>]",
            "    Return memory in bytes used by <key> and its value. Nested values are",
            "    sampled up to <count> times (default: 5, 0 means sample all).",
        ])
        .syntax("key [SAMPLES count]")
        .errors(&["ERR syntax error", "ERR value is not an integer or out of range"]),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .about("server", "4.0.0", "O(1)")
        .summary("The subcommands of MEMORY."),
];

/// O(1): values know what they take.
fn usage(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    for option in (3..args.len()).step_by(2) {
        if !args.is(option, "samples") || option + 1 == args.len() || args.int(option + 1)? < 0 {
            return Err(errors::SYNTAX);
        }
    }
    match tx.memory(&args[2]) {
        Some(bytes) => reply.integer(bytes as i64),
        None => reply.null(),
    }
    Ok(())
}
