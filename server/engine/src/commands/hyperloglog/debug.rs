//! PFDEBUG, PFSELFTEST: commands for tests.

use super::{CORRUPTED, NO_SKETCH, self_test, sketch, sketch_mut};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, quotable};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Str;
use lockwheel_store::values::hyperloglog::{Run, Runs, no_registers};
use std::fmt::Write;

const NO_KEY: &str = "ERR The specified key does not exist";
const NOT_SPARSE: &str = "ERR HLL encoding is not sparse";

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("pfdebug", 3, pfdebug as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::ADMIN])
        .categories(&["hyperloglog"])
        .keys(&[KeySpec::one(2, &[KeyFlags::RW, KeyFlags::ACCESS])])
        .about("hyperloglog", "2.8.9", "N/A")
        .summary("Looks into a HyperLogLog: its registers, its runs, its encoding; or makes it dense.")
        .internal()
        .syntax("subcommand key")
        .errors(&["ERR Unknown PFDEBUG subcommand 'name'", NO_KEY, NOT_SPARSE, NO_SKETCH, CORRUPTED]),
    Row::new("pfselftest", 1, pfselftest as DataHandler)
        .flags(&[Flags::ADMIN])
        .categories(&["hyperloglog"])
        .about("hyperloglog", "2.8.9", "N/A")
        .summary("Tests that HyperLogLogs keep registers and estimate well.")
        .internal(),
];

fn pfdebug(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let Some(edit) = tx.write::<Str>(&args[2])? else { return Err(CommandError::text(NO_KEY)) };
    let mut changed = sketch_mut(edit.value, edit.encodings)?;
    if args.is(1, "encoding") {
        reply.status(changed.layout().name().as_bytes());
    } else if args.is(1, "todense") {
        let is_changed = changed.make_dense()?;
        reply.integer(i64::from(is_changed));
        tx.count_quiet_changes(&args[2], usize::from(is_changed));
    } else if args.is(1, "getreg") {
        let is_changed = changed.make_dense()?;
        let mut registers = no_registers();
        sketch(&edit.value.text())?.raise(&mut registers)?;
        reply.array(registers.len());
        registers.iter().for_each(|value| reply.integer((*value).into()));
        tx.count_quiet_changes(&args[2], usize::from(is_changed));
    } else if args.is(1, "decode") {
        let text = edit.value.text();
        let runs = sketch(&text)?.runs().ok_or(CommandError::text(NOT_SPARSE))?;
        reply.bulk(decoded(runs).as_bytes());
    } else {
        let text = [b"ERR Unknown PFDEBUG subcommand '", quotable(&args[1]), b"'"].concat();
        return Err(CommandError::new(text));
    }
    Ok(())
}

/// Runs as words: `z:3`, `Z:16000` for a run of two bytes, `v:2,1` for one register with the value 2.
fn decoded(runs: Runs<'_>) -> String {
    let mut text = String::new();
    for run in runs {
        match run {
            Run::Zeros(len) => write!(text, "z:{len} "),
            Run::ManyZeros(len) => write!(text, "Z:{len} "),
            Run::Values { value, len } => write!(text, "v:{value},{len} "),
        }
        .expect("a text can be written to");
    }
    text.pop();
    text
}

fn pfselftest(tx: &mut Tx<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let seed = tx.rng().next_u64();
    self_test::run(seed).map_err(|failure| CommandError::new(failure.to_string()))?;
    reply.ok();
    Ok(())
}
