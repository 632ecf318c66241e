//! Waits for counts: of blocked, subscribed or connected clients, and of calls.

use super::options::{
    AwaitOptions, COMPARISON_TEXTS, COUNT_TEXTS, Comparison, LIMIT_TEXTS, NumberGrammar, REACHED,
};
use super::{NAMED_ERRORS, row};
use crate::core::Handler;
use crate::spec::{
    Args, CommandError, CommandId, KeyFlags, KeySpec, Row, grammar, kept_pattern, no_such_command,
};
use crate::waits::{CountOf, StateAttempt, StateOf, StateView, StateWait};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::glob;

const BLOCKED: NumberGrammar =
    NumberGrammar::of(grammar!("count:0.. [EXACT | ATMOST] [KEY key] [LIMIT milliseconds:0..]"), "count");
const WAITERS: NumberGrammar =
    NumberGrammar::of(grammar!("key count:0.. [EXACT | ATMOST] [LIMIT milliseconds:0..]"), "count");
const SUBSCRIBERS: NumberGrammar =
    NumberGrammar::of(grammar!("channel count:0.. [EXACT | ATMOST] [LIMIT milliseconds:0..]"), "count");
const CLIENTS: NumberGrammar = NumberGrammar::of(
    grammar!("count:0.. [EXACT | ATMOST] [NAME pattern] [LIMIT milliseconds:0..]"),
    "count",
);
const CALLS: NumberGrammar = NumberGrammar::of(
    grammar!("command count:0.. [EXACT | ATMOST] [KEY pattern] [LIMIT milliseconds:0..]"),
    "count",
);

pub(super) const ROWS: &[Row<Handler>] = &[
    row("await.blocked", -2, blocked)
        .keys(&[KeySpec::after("KEY", 2, &[KeyFlags::RO])])
        .about("control", "7.2.0", "O(1), with KEY O(N), N the clients that wait for it")
        .summary("Waits until a given number of clients are blocked.")
        .reply(REACHED)
        .options(&[
            COUNT_TEXTS,
            COMPARISON_TEXTS,
            &[("KEY key", "Counts only clients that are blocked on this key.")],
            LIMIT_TEXTS,
        ])
        .example(&["AWAIT.BLOCKED 0 EXACT", "AWAIT.BLOCKED 1 LIMIT 50"])
        .help(&[
            "AWAIT.BLOCKED <count> [EXACT|ATMOST] [KEY <key>] [LIMIT <milliseconds>]",
            "    Wait until that many clients are blocked (on that key): at least, exactly, or at most.",
        ])
        .grammar(BLOCKED.grammar),
    row("await.waiters", -3, waiters)
        .keys(&[KeySpec::one(1, &[KeyFlags::RO])])
        .about("control", "7.2.0", "O(N), N the patterns of channels, and the entries of the history")
        .summary("Waits until a given number of clients wait for a lock, natively or on Redisson's channels.")
        .reply(REACHED)
        .options(&[COUNT_TEXTS, COMPARISON_TEXTS, LIMIT_TEXTS])
        .example(&[
            "LOCK.ACQUIRE order:42 alice PX 10000",
            "LOCK.ACQUIRE order:42 bob PX 10000 ASYNC",
            "AWAIT.WAITERS order:42 1",
            "AWAIT.WAITERS order:42 2 LIMIT 50",
        ])
        .help(&[
            "AWAIT.WAITERS <key> <count> [EXACT|ATMOST] [LIMIT <milliseconds>]",
            "    Wait until that many clients wait for the lock: natively, or subscribed to its channels.",
            "    While the history is on, a thread of Redisson counts once it has asked again after",
            "    subscribing.",
        ])
        .grammar(WAITERS.grammar),
    row("await.subscribers", -3, subscribers)
        .about("control", "7.2.0", "O(log N), N the channels")
        .summary("Waits until a channel has a given number of subscribers.")
        .reply(REACHED)
        .options(&[COUNT_TEXTS, COMPARISON_TEXTS, LIMIT_TEXTS])
        .example(&["AWAIT.SUBSCRIBERS news 0 EXACT", "AWAIT.SUBSCRIBERS news 1 LIMIT 50"])
        .help(&[
            "AWAIT.SUBSCRIBERS <channel> <count> [EXACT|ATMOST] [LIMIT <milliseconds>]",
            "    Wait until the channel has that many subscribers.",
        ])
        .grammar(SUBSCRIBERS.grammar),
    row("await.clients", -2, clients)
        .about("control", "7.2.0", "O(N), N the clients")
        .summary("Waits until a given number of clients are connected.")
        .reply(REACHED)
        .options(&[
            COUNT_TEXTS,
            COMPARISON_TEXTS,
            &[("NAME pattern", "Counts only clients whose name matches this glob pattern.")],
            LIMIT_TEXTS,
        ])
        .example(&["CLIENT SETNAME worker-1", "AWAIT.CLIENTS 1 NAME worker-*", "AWAIT.CLIENTS 2 LIMIT 50"])
        .help(&[
            "AWAIT.CLIENTS <count> [EXACT|ATMOST] [NAME <pattern>] [LIMIT <milliseconds>]",
            "    Wait until that many clients (whose name matches) are connected, including this client.",
        ])
        .grammar(CLIENTS.grammar)
        .errors(NAMED_ERRORS),
    row("await.calls", -3, calls)
        .about("control", "7.2.0", "O(1), with KEY O(N), N the patterns that were asked for")
        .summary("Waits until a command has run a given number of times since startup or CONFIG RESETSTAT.")
        .reply(REACHED)
        .options(&[
            &[("command", "The name of a command, such as `get` or `config|set`.")],
            COUNT_TEXTS,
            COMPARISON_TEXTS,
            &[("KEY pattern", "Counts calls on matching keys, from the first such AWAIT.CALLS on.")],
            LIMIT_TEXTS,
        ])
        .example(&["SET k v", "AWAIT.CALLS set 1", "AWAIT.CALLS get 1 LIMIT 50"])
        .help(&[
            "AWAIT.CALLS <command> <count> [EXACT|ATMOST] [KEY <pattern>] [LIMIT <milliseconds>]",
            "    Wait until the command, such as 'get' or 'config|set', has run that many times since",
            "    startup or CONFIG RESETSTAT. KEY: on matching keys, counted since the first such",
            "    AWAIT.CALLS.",
        ])
        .grammar(CALLS.grammar)
        .errors(&[
            "ERR syntax error: *",
            "ERR value is out of range, must be positive: *",
            "ERR value is not an integer or out of range: *",
            "ERR unknown command *",
            "ERR the pattern is longer than 4096 bytes",
        ]),
];

#[derive(Debug)]
struct Number {
    comparison: Comparison,
    number: u64,
    of: Counted,
}

/// The counted items. A key comes with its database.
#[derive(Debug)]
enum Counted {
    Blocked(Option<(usize, Box<[u8]>)>),
    Waiters(usize, Box<[u8]>),
    Subscribers(Box<[u8]>),
    Clients(Option<Box<[u8]>>),
    Calls(Box<[CommandId]>),
    KeyCalls(Box<[CommandId]>, Box<[u8]>),
}

impl Counted {
    fn name(&self) -> Vec<u8> {
        format!("{self:?}").into_bytes()
    }

    fn count(&self, view: StateView<'_>) -> u64 {
        let clients = match self {
            Counted::Blocked(key) => view.blocked_clients(key.as_ref().map(|(db, key)| (*db, &**key))),
            Counted::Waiters(db, key) => view.lock_waiters((*db, key)),
            Counted::Subscribers(channel) => view.pubsub.subscribers(channel),
            Counted::Clients(pattern) => {
                let matches =
                    |name: &[u8]| pattern.as_ref().is_none_or(|pattern| glob::matches(pattern, name, false));
                view.sessions.live().filter(|session| matches(&session.name)).count()
            }
            Counted::KeyCalls(commands, pattern) => return view.stats.key_calls.calls(commands, pattern),
            Counted::Calls(commands) => return view.stats.calls_of(commands),
        };
        clients as u64
    }
}

impl StateAttempt for Number {
    fn watches(&self) -> StateOf {
        match &self.of {
            Counted::Blocked(_) => StateOf::Waits,
            Counted::Waiters(..) => StateOf::Listeners,
            Counted::Subscribers(_) => StateOf::Subscribers,
            Counted::Clients(_) => StateOf::Clients,
            Counted::Calls(_) | Counted::KeyCalls(..) => StateOf::Calls,
        }
    }

    fn awaits_count(&self) -> Option<(CountOf, u64)> {
        // A number of calls only falls when the statistics are reset.
        let rises = matches!(self.comparison, Comparison::AtLeast | Comparison::Exactly);
        let of = match &self.of {
            Counted::Calls(commands) => CountOf::Calls(commands.clone()),
            Counted::KeyCalls(commands, pattern) => CountOf::KeyCalls(commands.clone(), pattern.clone()),
            Counted::Blocked(_) | Counted::Waiters(..) => return None,
            Counted::Subscribers(_) | Counted::Clients(_) => return None,
        };
        rises.then_some((of, self.number))
    }

    fn counts_keys(&self) -> Option<(&[CommandId], &[u8])> {
        match &self.of {
            Counted::KeyCalls(commands, pattern) => Some((commands, pattern)),
            _ => None,
        }
    }

    fn attempt(&self, view: StateView<'_>, reply: &mut dyn Reply) -> bool {
        let count = view.counted_once(|| self.of.name(), || self.of.count(view));
        let is_reached = self.comparison.holds(count, self.number);
        if is_reached {
            reply.integer(1);
        }
        is_reached
    }
}

/// Creates a wait until a count meets the condition of the options.
fn until_number(of: Counted, options: &AwaitOptions<'_>) -> StateWait {
    let AwaitOptions { comparison, number, limit_ms, .. } = *options;
    StateWait::new(Number { comparison, number, of }, limit_ms)
}

fn blocked(_: StateView<'_>, db: usize, args: Args<'_>) -> Result<StateWait, CommandError> {
    let options = BLOCKED.parse(args)?;
    let key = options.key.map(|key| (db, key.into()));
    Ok(until_number(Counted::Blocked(key), &options))
}

fn waiters(_: StateView<'_>, db: usize, args: Args<'_>) -> Result<StateWait, CommandError> {
    let options = WAITERS.parse(args)?;
    Ok(until_number(Counted::Waiters(db, args[1].into()), &options))
}

fn subscribers(_: StateView<'_>, _: usize, args: Args<'_>) -> Result<StateWait, CommandError> {
    let options = SUBSCRIBERS.parse(args)?;
    Ok(until_number(Counted::Subscribers(args[1].into()), &options))
}

fn clients(_: StateView<'_>, _: usize, args: Args<'_>) -> Result<StateWait, CommandError> {
    let options = CLIENTS.parse(args)?;
    let pattern = options.name.map(Box::from);
    Ok(until_number(Counted::Clients(pattern), &options))
}

fn calls(view: StateView<'_>, _: usize, args: Args<'_>) -> Result<StateWait, CommandError> {
    let options = CALLS.parse(args)?;
    let Some(command) = view.commands.find_full(&args[1]) else {
        return Err(no_such_command(view.commands, &args[1]));
    };
    let subcommands = command.subcommands.iter().map(|subcommand| subcommand.id);
    let commands: Box<[CommandId]> = std::iter::once(command.id).chain(subcommands).collect();
    let counted = match options.key {
        Some(pattern) => Counted::KeyCalls(commands, kept_pattern(pattern)?.into()),
        None => Counted::Calls(commands),
    };
    Ok(until_number(counted, &options))
}
