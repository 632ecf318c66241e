//! Commands for lagging replicas, failovers and restarts.

use super::row;
use crate::core::{FaultCaller, Handler};
use crate::faults::{FaultControl, FaultOutcome, FaultRequest, GrantNumbers, NodeFault};
use crate::member::{ALONE, NO_SUCH_SERVER};
use crate::spec::{
    Args, CommandError, CommandGrammar, ParsedArgs, Row, Symbol, grammar, kept_pattern, symbols,
};
use lockwheel_resp::Reply;

/// In a topology, a whole link lags, with all keys.
const NO_KEYS: CommandError = CommandError::text(NO_KEYS_ERROR);
const NO_KEYS_ERROR: &str =
    "ERR FAULT.LAG does not accept KEY in a topology, where the lag applies to all keys";

const FAILOVER: &CommandGrammar = grammar!("[server] [TOKENS]");
const SERVER: Symbol = FAILOVER.symbol("server");
const FAILOVER_TOKENS: Symbol = FAILOVER.symbol("TOKENS");
const LAG: &CommandGrammar = grammar!("[(KEY key-glob | milliseconds:0..)]");
const MILLISECONDS: Symbol = LAG.symbol("milliseconds");
const RESTART: &CommandGrammar = grammar!("[DOWN milliseconds:0..] [KEEP] [TOKENS]");

symbols!(LAG: KEY);
symbols!(RESTART: DOWN, KEEP, TOKENS);

pub(in crate::server_commands) const ROWS: &[Row<Handler>] = &[
    row("fault.failover", -1, failover)
        .about("control", "7.2.0", "O(N), N the keys written since FAULT.LAG and their values")
        .summary("Makes a replica take over, without the writes since FAULT.LAG.")
        .reply("OK.")
        .options(&[&[
            (
                "server",
                "The replica that takes over, by position or host:port. Without a server, \
                 the first replica.",
            ),
            ("TOKENS", "The numbers of grants start anew."),
        ]])
        .example(&[
            "FAULT.LAG",
            "SET order:42 alice NX PX 10000",
            "FAULT.FAILOVER",
            "SET order:42 bob NX PX 10000",
        ])
        .help(&[
            "FAULT.FAILOVER [TOKENS]",
            "    Restore the keys as at FAULT.LAG, forget scripts, and cut other connections. TOKENS: the",
            "    numbers of grants start anew.",
            "FAULT.FAILOVER [<server>] [TOKENS]",
            "    With several servers in one process: make a replica the master with the data that it has.",
            "    The clients of the old master are cut, and the old master follows the new one.",
        ])
        .grammar(FAILOVER)
        .errors(&[
            "ERR syntax error: *",
            ALONE,
            NO_SUCH_SERVER,
            "ERR the server is not a replica of a server in this topology",
            "ERR no replica in this topology can take over",
        ]),
    row("fault.lag", -1, lag)
        .about("control", "7.2.0", "O(1); then the first write of a key copies its value")
        .summary("Stops the replication of all later writes, or delays it.")
        .reply("OK.")
        .options(&[&[
            ("KEY key-glob", "Only keys that match this glob pattern lag."),
            (
                "milliseconds",
                "The delay of replication, on the clock of the servers. Without a delay, \
                 replication stops.",
            ),
        ]])
        .example(&["SET order:42 alice", "FAULT.LAG", "SET order:42 bob", "FAULT.FAILOVER", "GET order:42"])
        .help(&[
            "FAULT.LAG [KEY <glob>]",
            "    From now on, keep writes (to matching keys) from the replicas.",
            "FAULT.LAG <milliseconds>",
            "    With several servers in one process: send everything to replicas that much later.",
        ])
        .grammar(LAG)
        .errors(&[
            "ERR syntax error: *",
            NO_KEYS_ERROR,
            "ERR the pattern is longer than 4096 bytes",
            ALONE,
            "ERR value is not an integer or out of range: *",
            "ERR value is out of range, must be positive: *",
        ]),
    row("fault.restart", -1, restart)
        .about("control", "7.2.0", "O(N), N the clients")
        .summary("Simulates the restart of a server that has saved nothing; clocks and fault rules stay.")
        .reply("OK.")
        .options(&[&[
            ("DOWN milliseconds", "Refuses connections for that time of the monotonic clock."),
            ("KEEP", "Keeps keys, scripts and functions; only connections end."),
            ("TOKENS", "The numbers of grants start anew."),
        ]])
        .example(&["SET k v", "FAULT.RESTART", "GET k"])
        .help(&[
            "FAULT.RESTART [DOWN <milliseconds>] [KEEP] [TOKENS]",
            "    Drop keys, scripts, functions and other connections; with KEEP only the connections. DOWN:",
            "    refuse connections for that time. TOKENS: the numbers of grants start anew.",
        ])
        .grammar(RESTART)
        .errors(&[
            "ERR syntax error: *",
            "ERR value is not an integer or out of range: *",
            "ERR value is out of range, must be positive: *",
        ]),
];

fn lag(_: &mut FaultControl<'_>, from: FaultCaller<'_>, args: Args<'_>, _: &mut dyn Reply) -> FaultOutcome {
    let parsed: ParsedArgs<'_> = LAG.parse(args)?;
    let (ms, pattern) = (parsed.number(MILLISECONDS)?, parsed.value(KEY));
    if pattern.is_some() && from.member.is_joined() {
        return Err(NO_KEYS);
    }
    if ms.is_some() || from.member.is_joined() {
        return Ok(FaultRequest::Broadcast(NodeFault::Lag { ms }));
    }
    let pattern = pattern.map(kept_pattern).transpose()?;
    Ok(FaultRequest::Lag(pattern.map(<[u8]>::to_vec)))
}

/// Returns the effect on grant numbers that `TOKENS`, or its absence, selects.
fn numbers(begin_anew: bool) -> GrantNumbers {
    if begin_anew { GrantNumbers::Restart } else { GrantNumbers::GoOn }
}

fn failover(
    _: &mut FaultControl<'_>,
    from: FaultCaller<'_>,
    args: Args<'_>,
    _: &mut dyn Reply,
) -> FaultOutcome {
    let parsed: ParsedArgs<'_> = FAILOVER.parse(args)?;
    let numbers = numbers(parsed.has(FAILOVER_TOKENS));
    let server = parsed.value(SERVER);
    if from.member.is_joined() || server.is_some() {
        let node = server.map(|server| from.member.find(server)).transpose()?;
        return Ok(FaultRequest::Broadcast(NodeFault::FailOver { node, numbers }));
    }
    Ok(FaultRequest::FailOver(numbers))
}

fn restart(_: &mut FaultControl<'_>, _: FaultCaller<'_>, args: Args<'_>, _: &mut dyn Reply) -> FaultOutcome {
    let parsed: ParsedArgs<'_> = RESTART.parse(args)?;
    let down_ms = parsed.number(DOWN)?.unwrap_or(0);
    let numbers = numbers(parsed.has(TOKENS));
    Ok(FaultRequest::Restart { down_ms, keeps_data: parsed.has(KEEP), numbers })
}
