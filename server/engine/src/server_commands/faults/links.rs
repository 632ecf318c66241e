//! Connections that carry nothing.

use super::{milliseconds, nodes, row, together_row};
use crate::core::{Call, Engine, Handler, Retry};
use crate::faults::{Group, Link, NodeFault, Partition, is_number, parse_group};
use crate::member::{ALONE, NO_SUCH_SERVER};
use crate::spec::{Args, CommandError, Flow, Outcome, Row, errors};
use lockwheel_resp::Reply;

const GROUP_ERRORS: &[&str] = &["ERR syntax error: *", "ERR value is out of range, must be positive: *"];

/// The rows of this file.
pub(in crate::server_commands) const ROWS: &[Row<Handler>] = &[
    row("fault.freezeclient", -3, freeze)
        .about("control", "7.2.0", "O(N), N the clients")
        .summary("Reads nothing from clients and writes nothing to them, as if their processes were paused.")
        .help(&[
            "FAULT.FREEZECLIENT <id>|NAME <glob>|LIB <glob> <milliseconds>|FOREVER",
            "    Freeze clients that are connected. How many.",
        ])
        .syntax("(client-id | NAME name-glob | LIB library-glob) (milliseconds | FOREVER)")
        .errors(&[
            "ERR syntax error: *",
            "ERR value is not an integer or out of range: *",
            "ERR value is out of range, must be positive: *",
        ]),
    row("fault.thawclient", -2, thaw)
        .about("control", "7.2.0", "O(N), N the clients")
        .summary("Ends what FAULT.FREEZECLIENT has begun.")
        .help(&[
            "FAULT.THAWCLIENT <id>|NAME <glob>|LIB <glob>",
            "    Thaw frozen clients. How many.",
        ])
        .syntax("(client-id | NAME name-glob | LIB library-glob)")
        .errors(GROUP_ERRORS),
    together_row("fault.partition", -2, partition)
        .about("control", "7.2.0", "O(N), N the clients")
        .summary("Cuts the server off from clients, new ones included, in one direction or both.")
        .help(&[
            "FAULT.PARTITION NAME <glob>|LIB <glob>|ADDR <address>|ALL [IN|OUT|BOTH]",
            "    Cut the server off from these clients but this one and those that are exempt. How many they are now.",
            "FAULT.PARTITION NODES <server>[,<server> ...] [FROM <server>[,<server> ...]|CLIENTS [IN|OUT|BOTH]]",
            "    Cut servers of this process off from others, or from their clients. How many connections are held.",
        ])
        .syntax(
            "((NAME name-glob | LIB library-glob | ADDR address | ALL) [IN | OUT | BOTH] | NODES servers \
             [(FROM servers | FROM CLIENTS [IN | OUT | BOTH])])",
        )
        .errors(&[
            "ERR syntax error: *",
            "ERR there can be no more than 1000 partitions",
            "ERR all partitions can take no more than 1048576 bytes",
            ALONE,
            NO_SUCH_SERVER,
        ]),
    together_row("fault.heal", 1, heal)
        .about("control", "7.2.0", "O(N), N the clients")
        .summary("Ends all partitions, through which it gets itself.")
        .help(&["FAULT.HEAL", "    End all partitions. How many there were."]),
];

/// The clients that FREEZECLIENT and THAWCLIENT name, and the argument behind them.
fn clients(engine: &Engine, call: Call<'_>, args: Args<'_>) -> Result<(Vec<u64>, usize), CommandError> {
    let (group, at) = parse_group(args, 1)?;
    match group {
        Group::All | Group::Address(_) => Err(errors::SYNTAX),
        group => Ok((engine.members(&group, call.session), at)),
    }
}

fn freeze(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (clients, at) = clients(engine, call, args)?;
    if args.len() != at + 1 {
        return Err(errors::SYNTAX);
    }
    let ms = if args.is(at, "forever") { None } else { Some(milliseconds(args, at)?) };
    engine.freeze_clients(&clients, ms);
    engine.note_steering(args);
    reply.integer(clients.len() as i64);
    Ok(())
}

fn thaw(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (clients, at) = clients(engine, call, args)?;
    if args.len() != at {
        return Err(errors::SYNTAX);
    }
    let thawed = engine.thaw_clients(&clients);
    engine.note_steering(args);
    reply.integer(thawed as i64);
    Ok(())
}

/// What `IN`, `OUT` or `BOTH` at the end, or nothing, does to connections.
fn link_at(args: Args<'_>, at: usize) -> Result<Link, CommandError> {
    match args.get(at) {
        None => Ok(Link::HELD),
        Some(_) if args.is(at, "both") => Ok(Link::HELD),
        Some(_) if args.is(at, "in") => Ok(Link { holds_input: true, ..Link::default() }),
        Some(_) if args.is(at, "out") => Ok(Link { holds_output: true, ..Link::default() }),
        Some(_) => Err(errors::SYNTAX),
    }
}

fn partition(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    if args.is(1, "nodes") {
        return nodes::partition(engine, call, args, link_at);
    }
    if args.get(1).is_some_and(is_number) {
        return Err(errors::SYNTAX);
    }
    let (group, at) = parse_group(args, 1)?;
    if args.len() > at + 1 {
        return Err(errors::SYNTAX);
    }
    let link = link_at(args, at)?;
    let members = engine.members(&group, call.session).len();
    engine.part(Partition { group, link, spared: call.session })?;
    engine.note_steering(args);
    reply.integer(members as i64);
    Ok(Flow::Done)
}

fn heal(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    if engine.member().is_joined() {
        return engine.broadcast_fault(call, args, NodeFault::Heal);
    }
    let healed = engine.heal();
    engine.note_steering(args);
    reply.integer(healed as i64);
    Ok(Flow::Done)
}
