//! Commands that freeze, cut off or lose connections.

use super::nodes::{self, PartitionFrom};
use super::row;
use crate::core::{FaultCaller, Handler};
use crate::faults::{FaultControl, FaultOutcome, FaultRequest, Group, Link, NodeFault, Partition};
use crate::member::{ALONE, NO_SUCH_SERVER};
use crate::spec::{
    Args, CommandError, CommandGrammar, OptionTexts, ParsedArgs, Row, Symbol, grammar, symbols,
};
use lockwheel_resp::Reply;

const GROUP_ERRORS: &[&str] = &[
    "ERR syntax error: *",
    "ERR value is not an integer or out of range: *",
    "ERR value is out of range, must be positive: *",
];

/// The clients that a command names, with their meaning.
const GROUP_TEXTS: OptionTexts = &[
    ("client-id", "The client with this id."),
    ("NAME name-glob", "The clients whose name matches this glob pattern."),
    ("LIB library-glob", "The clients whose library matches this glob pattern."),
];

const FREEZE: &CommandGrammar =
    grammar!("(client-id:0.. | NAME name-glob | LIB library-glob) (milliseconds:0.. | FOREVER)");
const MILLISECONDS: Symbol = FREEZE.symbol("milliseconds");
const THAW: &CommandGrammar = grammar!("(client-id:0.. | NAME name-glob | LIB library-glob)");
const PARTITION: &CommandGrammar = grammar!(
    "((NAME name-glob | LIB library-glob | ADDR address | ALL) [IN | OUT | BOTH] | NODES servers \
     [FROM (servers | CLIENTS [IN | OUT | BOTH])])"
);

symbols!(PARTITION: IN, OUT, NODES, CLIENTS);

const FROM_SERVERS: Symbol = PARTITION.symbol("FROM servers");
const CLIENTS_IN: Symbol = PARTITION.symbol("CLIENTS IN");
const CLIENTS_OUT: Symbol = PARTITION.symbol("CLIENTS OUT");

struct GroupSymbols {
    id: Option<Symbol>,
    name: Symbol,
    library: Symbol,
    address: Option<Symbol>,
}

impl GroupSymbols {
    const fn of(grammar: &CommandGrammar) -> Self {
        GroupSymbols {
            id: grammar.find_symbol("client-id"),
            name: grammar.symbol("NAME"),
            library: grammar.symbol("LIB"),
            address: grammar.find_symbol("ADDR"),
        }
    }

    /// Returns the group of clients that a request names.
    fn group(&self, parsed: &ParsedArgs<'_>) -> Result<Group, CommandError> {
        let text = |symbol: Symbol| parsed.value(symbol).map(Box::from);
        if let Some(id) = self.id.map(|id| parsed.number(id)).transpose()?.flatten() {
            return Ok(Group::Id(id));
        }
        let name = text(self.name).map(Group::Name);
        let group = name.or_else(|| text(self.library).map(Group::Library));
        Ok(group.or_else(|| self.address.and_then(text).map(Group::Address)).unwrap_or(Group::All))
    }
}

pub(in crate::server_commands) const ROWS: &[Row<Handler>] = &[
    row("fault.freezeclient", -3, freeze)
        .about("control", "7.2.0", "O(N), N the clients")
        .summary("Neither reads from clients nor writes to them, as if their processes were paused.")
        .reply("An integer: the number of frozen clients.")
        .options(&[
            GROUP_TEXTS,
            &[("milliseconds", "How long, on the monotonic clock."), ("FOREVER", "Until FAULT.THAWCLIENT.")],
        ])
        .example(&["FAULT.FREEZECLIENT NAME worker-* 5000"])
        .help(&[
            "FAULT.FREEZECLIENT <id>|NAME <glob>|LIB <glob> <milliseconds>|FOREVER",
            "    Freeze clients that are connected. Return how many.",
        ])
        .grammar(FREEZE)
        .errors(&[
            "ERR syntax error: *",
            "ERR value is not an integer or out of range: *",
            "ERR value is out of range, must be positive: *",
        ]),
    row("fault.thawclient", -2, thaw)
        .about("control", "7.2.0", "O(N), N the clients")
        .summary("Thaws clients that FAULT.FREEZECLIENT has frozen.")
        .reply("An integer: the number of thawed clients.")
        .options(&[GROUP_TEXTS])
        .example(&["FAULT.THAWCLIENT NAME worker-*"])
        .help(&["FAULT.THAWCLIENT <id>|NAME <glob>|LIB <glob>", "    Thaw frozen clients. Return how many."])
        .grammar(THAW)
        .errors(GROUP_ERRORS),
    row("fault.partition", -2, partition)
        .about("control", "7.2.0", "O(N), N the clients")
        .summary("Cuts the server off from clients, including new clients, in one direction or both.")
        .reply(
            "An integer: the number of clients that are cut off now. With NODES, the number of \
             held connections.",
        )
        .options(&[&[
            ("NAME name-glob", "The clients whose name matches this glob pattern."),
            ("LIB library-glob", "The clients whose library matches this glob pattern."),
            ("ADDR address", "The clients at this address."),
            ("ALL", "All clients."),
            ("IN", "Holds what clients send."),
            ("OUT", "Holds what clients are sent."),
            ("BOTH", "Holds both. This is the default."),
            (
                "NODES servers",
                "Servers of this process, by position or host:port, with commas between \
                 them.",
            ),
            ("FROM servers", "The servers from which they are cut off. Without FROM, all others."),
            ("CLIENTS", "With FROM: cuts the servers off from their clients."),
        ]])
        .example(&["FAULT.PARTITION NAME worker-*", "FAULT.HEAL"])
        .help(&[
            "FAULT.PARTITION NAME <glob>|LIB <glob>|ADDR <address>|ALL [IN|OUT|BOTH]",
            "    Cut the server off from these clients, except this client and exempt ones. Return how many.",
            "FAULT.PARTITION NODES <server>[,<server> ...] [FROM <server>[,<server> ...]|CLIENTS [IN|OUT|BOTH]]",
            "    Cut servers of this process off from others, or from their clients. Return how many",
            "    connections are held.",
        ])
        .grammar(PARTITION)
        .errors(&[
            "ERR syntax error: *",
            "ERR too many partitions: the maximum is 1000",
            "ERR the partitions would take more than 1048576 bytes together",
            ALONE,
            NO_SUCH_SERVER,
        ]),
    row("fault.heal", 1, heal)
        .about("control", "7.2.0", "O(N), N the clients")
        .summary("Ends all partitions; the command itself gets through a partition.")
        .reply("An integer: the number of ended partitions.")
        .example(&["FAULT.PARTITION NAME worker-* IN", "FAULT.HEAL", "FAULT.HEAL"])
        .help(&["FAULT.HEAL", "    End all partitions. Return how many there were."]),
];

fn freeze(
    control: &mut FaultControl<'_>,
    from: FaultCaller<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> FaultOutcome {
    const GROUP: GroupSymbols = GroupSymbols::of(FREEZE);
    let parsed: ParsedArgs<'_> = FREEZE.parse(args)?;
    let (group, ms) = (GROUP.group(&parsed)?, parsed.number(MILLISECONDS)?);
    let connections = &mut control.faults.connections;
    let clients = connections.members(control.sessions, &group, from.client);
    connections.freeze(&clients, ms, &mut control.step);
    reply.integer(clients.len() as i64);
    Ok(FaultRequest::Steered)
}

fn thaw(
    control: &mut FaultControl<'_>,
    from: FaultCaller<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> FaultOutcome {
    const GROUP: GroupSymbols = GroupSymbols::of(THAW);
    let group = GROUP.group(&THAW.parse(args)?)?;
    let connections = &mut control.faults.connections;
    let clients = connections.members(control.sessions, &group, from.client);
    reply.integer(connections.thaw(&clients, &mut control.step) as i64);
    Ok(FaultRequest::Steered)
}

/// Returns the link that `IN`, `OUT` or `BOTH` (the default) selects.
fn link(parsed: &ParsedArgs<'_>) -> Link {
    let input = Link { holds_input: true, ..Link::default() };
    let output = Link { holds_output: true, ..Link::default() };
    let links = [(IN, input), (OUT, output), (CLIENTS_IN, input), (CLIENTS_OUT, output)];
    parsed.one_of(&links).unwrap_or(Link::HELD)
}

fn partition(
    control: &mut FaultControl<'_>,
    from: FaultCaller<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> FaultOutcome {
    const GROUP: GroupSymbols = GroupSymbols::of(PARTITION);
    let parsed: ParsedArgs<'_> = PARTITION.parse(args)?;
    let link = link(&parsed);
    if let Some(servers) = parsed.value(NODES) {
        let apart = match parsed.value(FROM_SERVERS) {
            Some(servers) => PartitionFrom::Servers(servers),
            None if parsed.has(CLIENTS) => PartitionFrom::Clients,
            None => PartitionFrom::Others,
        };
        return nodes::partition(from.member, servers, apart, link);
    }
    let group = GROUP.group(&parsed)?;
    let connections = &mut control.faults.connections;
    let members = connections.members(control.sessions, &group, from.client).len();
    connections.part(Partition { group, link, spared: from.client }, &mut control.step)?;
    reply.integer(members as i64);
    Ok(FaultRequest::Steered)
}

fn heal(
    control: &mut FaultControl<'_>,
    from: FaultCaller<'_>,
    _: Args<'_>,
    reply: &mut dyn Reply,
) -> FaultOutcome {
    if from.member.is_joined() {
        return Ok(FaultRequest::Broadcast(NodeFault::Heal));
    }
    reply.integer(control.faults.connections.heal(&mut control.step) as i64);
    Ok(FaultRequest::Steered)
}
