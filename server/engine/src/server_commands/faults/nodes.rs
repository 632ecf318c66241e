//! Commands that kill, revive and cut off servers of a process.

use super::row;
use crate::core::{FaultCaller, Handler};
use crate::faults::{Apart, DataFate, FaultControl, FaultOutcome, FaultRequest, Link, NodeFault};
use crate::member::{ALONE, LAST, NO_SUCH_SERVER, TopologyMember};
use crate::spec::{Args, CommandError, CommandGrammar, ParsedArgs, Row, Symbol, grammar, symbols};
use lockwheel_resp::Reply;
use std::collections::BTreeSet;

const DOWN: &CommandGrammar = grammar!("server [milliseconds:0..] [KEEP]");
const MILLISECONDS: Symbol = DOWN.symbol("milliseconds");

symbols!(DOWN: KEEP);

pub(in crate::server_commands) const ROWS: &[Row<Handler>] = &[
    row("fault.down", -2, down)
        .about("control", "7.2.0", "O(N), N the keys of that server")
        .summary("Kills one of the servers in this process, as if that server's own process had ended.")
        .reply("OK.")
        .options(&[&[
            ("server", "The position of the server, from 0, or host:port."),
            ("milliseconds", "How long, on the clock of the servers. Without a time, until FAULT.UP."),
            ("KEEP", "Keeps the data of the server."),
        ]])
        .example(&["FAULT.DOWN 1", "FAULT.UP 1"])
        .help(&[
            "FAULT.DOWN <server> [<milliseconds>] [KEEP]",
            "    Cut the clients and links of a server, lose its data, and let its port refuse connections,",
            "    for that time or until FAULT.UP. With KEEP, the data stays. A server is named by its",
            "    position, from 0, or by host:port.",
        ])
        .grammar(DOWN)
        .errors(&[
            ALONE,
            NO_SUCH_SERVER,
            LAST,
            "ERR syntax error: *",
            "ERR value is not an integer or out of range: *",
            "ERR value is out of range, must be positive: *",
        ]),
    row("fault.up", 2, up)
        .about("control", "7.2.0", "O(1)")
        .summary("Brings back a server that FAULT.DOWN has killed.")
        .reply("An integer: 1 if the server was down, else 0.")
        .options(&[&[("server", "The position of the server, from 0, or host:port.")]])
        .example(&["FAULT.DOWN 1", "FAULT.UP 1", "FAULT.UP 1"])
        .help(&["FAULT.UP <server>", "    Bring the server back. Return whether it was down."])
        .syntax("server")
        .errors(&[ALONE, NO_SUCH_SERVER]),
];

fn down(_: &mut FaultControl<'_>, from: FaultCaller<'_>, args: Args<'_>, _: &mut dyn Reply) -> FaultOutcome {
    let parsed: ParsedArgs<'_> = DOWN.parse(args)?;
    let ms = parsed.number(MILLISECONDS)?;
    let node = from.member.find(&args[1])?;
    let data = if parsed.has(KEEP) { DataFate::Kept } else { DataFate::Lost };
    Ok(FaultRequest::Broadcast(NodeFault::Down { node, ms, data }))
}

fn up(_: &mut FaultControl<'_>, from: FaultCaller<'_>, args: Args<'_>, _: &mut dyn Reply) -> FaultOutcome {
    let node = from.member.find(&args[1])?;
    Ok(FaultRequest::Broadcast(NodeFault::Up { node }))
}

/// Parses a list of servers, such as `0,127.0.0.1:6380`, without duplicates.
fn servers(member: &TopologyMember, list: &[u8]) -> Result<Vec<usize>, CommandError> {
    let named = list.split(|byte| *byte == b',').map(|word| member.find(word));
    let servers: BTreeSet<usize> = named.collect::<Result<_, _>>()?;
    Ok(servers.into_iter().collect())
}

/// The peers from which servers are cut off.
pub(super) enum PartitionFrom<'a> {
    /// All servers that are not named.
    Others,
    Servers(&'a [u8]),
    Clients,
}

/// Cuts off the servers of a list.
pub(super) fn partition(
    member: &TopologyMember,
    list: &[u8],
    from: PartitionFrom<'_>,
    link: Link,
) -> FaultOutcome {
    let nodes = servers(member, list)?;
    let from = match from {
        PartitionFrom::Others => Apart::Others,
        PartitionFrom::Servers(list) => Apart::Nodes(servers(member, list)?),
        PartitionFrom::Clients => Apart::Clients,
    };
    Ok(FaultRequest::Broadcast(NodeFault::Part { nodes, from, link }))
}
