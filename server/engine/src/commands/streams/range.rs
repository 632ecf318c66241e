//! XLEN, XRANGE and XREVRANGE.

use super::ids::{parse_start, parse_stop};
use super::replies::write_entries;
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Stream;

const READS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])];

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("xlen", 2, xlen as DataHandler)
        .flags(&[Flags::READONLY, Flags::FAST])
        .categories(&["stream"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO])])
        .about("stream", "5.0.0", "O(1)")
        .summary("The number of entries of a stream.")
        .syntax("key"),
    range_row("xrange", xrange)
        .about(
            "stream",
            "5.0.0",
            "O(N) with N being the number of elements being returned. If N is constant (e.g. always asking for the \
             first 10 elements with COUNT), you can consider it O(1).",
        )
        .summary("Gives the entries of a stream with ids in a range.")
        .syntax("key start:string end:string [COUNT count]"),
    range_row("xrevrange", xrevrange)
        .about(
            "stream",
            "5.0.0",
            "O(N) with N being the number of elements returned. If N is constant (e.g. always asking for the first \
             10 elements with COUNT), you can consider it O(1).",
        )
        .summary("Gives the entries of a stream with ids in a range, the last one first.")
        .syntax("key end:string start:string [COUNT count]"),
];

const fn range_row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -4, handler)
        .flags(&[Flags::READONLY])
        .categories(&["stream"])
        .keys(READS)
        .history(&[("6.2.0", "Added exclusive ranges.")])
        .errors(&[
            "ERR Invalid stream ID specified as stream command argument",
            "ERR invalid start ID for the interval",
            "ERR invalid end ID for the interval",
            "ERR value is not an integer or out of range",
            "ERR syntax error",
        ])
}

fn xlen(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(tx.read::<Stream>(&args[1])?.map_or(0, Stream::len) as i64);
    Ok(())
}

fn xrange(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    range(tx, args, false, reply)
}

fn xrevrange(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    range(tx, args, true, reply)
}

fn range(tx: &mut Tx<'_>, args: Args<'_>, is_back: bool, reply: &mut dyn Reply) -> Outcome {
    let (first, last) = if is_back { (3, 2) } else { (2, 3) };
    let (start, end) = (parse_start(&args[first])?, parse_stop(&args[last])?);
    let count = parse_count(args)?;
    let Some(stream) = tx.read::<Stream>(&args[1])? else {
        reply.array(0);
        return Ok(());
    };
    if count == Some(0) {
        reply.null_array();
        return Ok(());
    }
    let most = count.unwrap_or(usize::MAX);
    if start > end {
        reply.array(0);
    } else if is_back {
        write_entries(stream.log.range_back(start, end), most, reply);
    } else {
        write_entries(stream.log.range(start, end), most, reply);
    }
    Ok(())
}

/// Reads `[COUNT count]` from argument 4 on. The option may be repeated, and a negative count counts as 0.
fn parse_count(args: Args<'_>) -> Result<Option<usize>, CommandError> {
    let (mut at, mut count) = (4, None);
    while at < args.len() {
        if !args.is(at, "count") || at + 1 == args.len() {
            return Err(errors::SYNTAX);
        }
        count = Some(usize::try_from(args.int(at + 1)?).unwrap_or(0));
        at += 2;
    }
    Ok(count)
}
