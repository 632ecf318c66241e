//! Whole databases: DBSIZE, FLUSHDB, FLUSHALL, SWAPDB.

use crate::spec::{Args, CommandError, DataHandler, Flags, Outcome, Row, errors};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;

pub(super) const ROWS: &[Row<DataHandler>] = &[
    Row::new("dbsize", 1, dbsize as DataHandler)
        .flags(&[Flags::READONLY, Flags::FAST])
        .categories(&["keyspace"])
        .about("server", "1.0.0", "O(1)")
        .summary("How many keys the database has.")
        .tips(&["request_policy:all_shards", "response_policy:agg_sum"]),
    flush_row("flushdb", flushdb)
        .about("server", "1.0.0", "O(N) where N is the number of keys in the selected database")
        .summary("Deletes all keys of the database. ASYNC and SYNC mean the same."),
    flush_row("flushall", flushall)
        .about("server", "1.0.0", "O(N) where N is the total number of keys in all databases")
        .summary("Deletes all keys of all databases. ASYNC and SYNC mean the same."),
    Row::new("swapdb", 3, swapdb as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["keyspace", "dangerous"])
        .about(
            "server",
            "4.0.0",
            "O(N) where N is the count of clients watching or blocking on keys from both databases.",
        )
        .summary("Exchanges the keys of two databases; clients stay where they are.")
        .syntax("index1 index2")
        .errors(&[
            "ERR invalid first DB index",
            "ERR invalid second DB index",
            "ERR DB index is out of range",
        ]),
];

const fn flush_row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -1, handler)
        .flags(&[Flags::WRITE])
        .categories(&["keyspace", "dangerous"])
        .history(&[
            ("4.0.0", "Added the `ASYNC` flushing mode modifier."),
            ("6.2.0", "Added the `SYNC` flushing mode modifier."),
        ])
        .syntax("[async: ASYNC@4.0.0 | SYNC@6.2.0]")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .errors(&["ERR syntax error"])
}

fn dbsize(tx: &mut Tx<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(tx.len() as i64);
    Ok(())
}

/// Checks the mode of a flush. Both modes are the same here: every key is gone before the reply is written.
fn check_mode(args: Args<'_>) -> Result<(), CommandError> {
    let known = args.len() == 1 || (args.len() == 2 && (args.is(1, "async") || args.is(1, "sync")));
    if known { Ok(()) } else { Err(errors::SYNTAX) }
}

fn flushdb(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    check_mode(args)?;
    tx.flush();
    reply.ok();
    Ok(())
}

fn flushall(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    check_mode(args)?;
    tx.flush_all();
    reply.ok();
    Ok(())
}

fn swapdb(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if tx.in_cluster() {
        return Err(CommandError::text("ERR SWAPDB is not allowed in cluster mode"));
    }
    let index = |at, error| match args.int(at) {
        Ok(number) if i32::try_from(number).is_ok() => Ok(number),
        _ => Err(CommandError::text(error)),
    };
    let (one, other) = (index(1, "ERR invalid first DB index")?, index(2, "ERR invalid second DB index")?);
    let exists = |number: &i64| (0..tx.databases() as i64).contains(number);
    if ![one, other].iter().all(exists) {
        return Err(errors::DB_OUT_OF_RANGE);
    }
    tx.swap(one as usize, other as usize);
    reply.ok();
    Ok(())
}
