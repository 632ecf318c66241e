//! Whole databases: DBSIZE, FLUSHDB, FLUSHALL.

use crate::keyspace::Tx;
use crate::spec::{Args, CommandError, DataHandler, Flags, Outcome, Row, errors};
use lockwheel_resp::Reply;

const FLUSH_TIPS: &[&str] = &["request_policy:all_shards", "response_policy:all_succeeded"];

/// The rows of this file.
pub(super) const ROWS: &[Row<DataHandler>] = &[
    Row::new("dbsize", 1, dbsize as DataHandler)
        .flags(&[Flags::READONLY, Flags::FAST])
        .categories(&["keyspace"])
        .about("server", "1.0.0", "O(1)")
        .summary("How many keys the database has.")
        .tips(&["request_policy:all_shards", "response_policy:agg_sum"]),
    Row::new("flushdb", -1, flushdb as DataHandler)
        .flags(&[Flags::WRITE])
        .categories(&["keyspace", "dangerous"])
        .about("server", "1.0.0", "O(N) where N is the number of keys in the selected database")
        .summary("Deletes all keys of the database. ASYNC and SYNC mean the same.")
        .history(&[
            ("4.0.0", "Added the `ASYNC` flushing mode modifier."),
            ("6.2.0", "Added the `SYNC` flushing mode modifier."),
        ])
        .syntax("[async: ASYNC@4.0.0 | SYNC@6.2.0]")
        .tips(FLUSH_TIPS)
        .errors(&["ERR syntax error"]),
    Row::new("flushall", -1, flushall as DataHandler)
        .flags(&[Flags::WRITE])
        .categories(&["keyspace", "dangerous"])
        .about("server", "1.0.0", "O(N) where N is the total number of keys in all databases")
        .summary("Deletes all keys of all databases. ASYNC and SYNC mean the same.")
        .history(&[
            ("4.0.0", "Added the `ASYNC` flushing mode modifier."),
            ("6.2.0", "Added the `SYNC` flushing mode modifier."),
        ])
        .syntax("[async: ASYNC@4.0.0 | SYNC@6.2.0]")
        .tips(FLUSH_TIPS)
        .errors(&["ERR syntax error"]),
];

fn dbsize(tx: &mut Tx<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(tx.len() as i64);
    Ok(())
}

/// A flush takes one word, which makes no difference here: every key is gone when the reply is written.
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
    let home = tx.db();
    for db in 0..tx.databases() {
        tx.select(db);
        tx.flush();
    }
    tx.select(home);
    reply.ok();
    Ok(())
}
