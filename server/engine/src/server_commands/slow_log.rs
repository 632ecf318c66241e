//! SLOWLOG: the log of slow calls.

use crate::core::Handler;
use crate::slow_log::{SlowLog, SlowLogEntry};
use crate::spec::{Args, CommandError, Flags, Outcome, Row, unknown_or_arity};
use lockwheel_resp::Reply;

/// The default number of entries of SLOWLOG GET.
const COUNT: usize = 10;
const FLAGS: Flags = Flags::of(&[Flags::ADMIN, Flags::LOADING, Flags::STALE]);

pub(super) const ROWS: &[Row<Handler>] = &[Row::container("slowlog", -2, SLOWLOG)
    .about("server", "2.2.12", "Depends on subcommand.")
    .summary("Tells of the calls that took long.")];

const SLOWLOG: &[Row<Handler>] = &[
    Row::new("get", -2, Handler::SlowLog(get))
        .flags(&[FLAGS])
        .about("server", "2.2.12", "O(N) where N is the number of entries returned")
        .summary("Returns the slow calls, the latest first.")
        .history(&[("4.0.0", "Added client IP address, port and name to the reply.")])
        .help(&[
            "GET [<count>]",
            "    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
            "    Entries are made of:",
            "    id, timestamp, time in microseconds, arguments array, client IP and port,",
            "    client name",
        ])
        .syntax("[count]")
        .tips(&["request_policy:all_nodes", "nondeterministic_output"])
        .errors(&[
            "ERR count should be greater than or equal to -1",
            "ERR unknown subcommand or wrong number of arguments for 'subcommand'. Try SLOWLOG HELP.",
        ]),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .about("server", "6.2.0", "O(1)")
        .summary("Explains the subcommands."),
    Row::new("len", 2, Handler::SlowLog(len))
        .flags(&[FLAGS])
        .about("server", "2.2.12", "O(1)")
        .summary("Counts the entries.")
        .help(&["LEN", "    Return the length of the slowlog."])
        .tips(&["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"]),
    Row::new("reset", 2, Handler::SlowLog(reset))
        .flags(&[FLAGS])
        .about("server", "2.2.12", "O(N) where N is the number of entries in the slowlog")
        .summary("Forgets all entries.")
        .help(&["RESET", "    Reset the slowlog."])
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"]),
];

fn get(log: &mut SlowLog, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    const WRONG_COUNT: CommandError = CommandError::text("ERR count should be greater than or equal to -1");
    let count = match args.len() {
        2 => COUNT,
        3 => match args.int(2).map_err(|_| WRONG_COUNT)? {
            -1 => usize::MAX,
            count => usize::try_from(count).map_err(|_| WRONG_COUNT)?,
        },
        _ => return Err(unknown_or_arity(args)),
    };
    reply.array(log.len().min(count));
    log.iter().take(count).for_each(|entry| write(entry, reply));
    Ok(())
}

fn write(entry: &SlowLogEntry, reply: &mut dyn Reply) {
    reply.array(6);
    reply.integer(entry.id as i64);
    reply.integer(entry.unix_time);
    reply.integer(entry.took_us as i64);
    reply.array(entry.arguments.len());
    entry.arguments.iter().for_each(|argument| reply.bulk(argument));
    reply.bulk(entry.addr.as_bytes());
    reply.bulk(&entry.name);
}

fn len(log: &mut SlowLog, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(log.len() as i64);
    Ok(())
}

fn reset(log: &mut SlowLog, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    log.reset();
    reply.ok();
    Ok(())
}
