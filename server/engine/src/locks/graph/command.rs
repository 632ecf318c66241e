//! `LOCK.GRAPH`: the waits of owners for each other, and the cycles among them.

use super::super::listening::ListeningHandler;
use super::room::Room;
use super::wait_graph::{LockWaits, WaitGraph};
use super::{cycles, dot, search};
use crate::pubsub::PubSub;
use crate::spec::{Args, CommandGrammar, Flags, Outcome, ParsedArgs, Row, grammar, symbols};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;

const GRAPH: &CommandGrammar = grammar!("[DOT] [INFERRED]");

symbols!(GRAPH: DOT, INFERRED);

/// The rows of the command that sees subscriptions too.
pub(in crate::locks) const LISTENING_ROWS: &[Row<ListeningHandler>] =
    &[Row::new("lock.graph", -1, graph as ListeningHandler)
        .flags(&[Flags::READONLY])
        .categories(&["lock"])
        .about(
            "lock",
            "7.2.0",
            "O(N log N), N the waiters, the holders of what they wait for and the channels",
        )
        .summary("Returns the wait-for graph (which owners wait for which holders) and its cycles.")
        .reply(
            "A map: `locks`, an array of maps with `key`, `holders`, `ahead` and `waiters`; \
             `left-out`, the number of owners without room; `cycles`, an array of texts. With \
             DOT, a text.",
        )
        .options(&[&[
            ("DOT", "Replies with a text for Graphviz."),
            ("INFERRED", "Also shows waiters on Redisson's channels, found by the history."),
        ]])
        .example(&[
            "LOCK.ACQUIRE order:42 alice PX 10000",
            "LOCK.ACQUIRE order:42 bob PX 10000 ASYNC",
            "LOCK.GRAPH",
        ])
        .help(&[
            "LOCK.GRAPH [DOT] [INFERRED]",
            "    Return which owners wait for which holders in this database, and the cycles among them.",
            "    DOT: as text for Graphviz. INFERRED: also waiters on Redisson's channels, found by their",
            "    last refused script in the history, or as a client.",
        ])
        .help_after("lock.info")
        .grammar(GRAPH)
        .errors(&["ERR syntax error: *"])];

fn graph(tx: &mut Tx<'_>, pubsub: &PubSub, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let options: ParsedArgs<'_> = GRAPH.parse(args)?;
    let mut graph = WaitGraph::of_tx(tx, pubsub, options.has(INFERRED));
    if options.has(DOT) {
        let mut room = Room::new(dot::cost);
        graph.leave_out(&mut room);
        reply.bulk(&dot::text(&graph.locks, room.left_out()));
        return Ok(());
    }
    // The cycles are shown apart from the locks, and have a room of the same size.
    let mut rooms = [Room::new(<[u8]>::len), Room::new(<[u8]>::len)];
    let cycles = cycles::find(&graph.locks, &mut rooms[1]);
    graph.leave_out(&mut rooms[0]);
    let left_out = rooms.iter().map(Room::left_out).sum();
    reply.map(3);
    reply.bulk(b"locks");
    reply.array(graph.locks.len());
    graph.locks.iter().for_each(|lock| write(lock, reply));
    field(reply, "left-out", left_out);
    reply.bulk(b"cycles");
    reply.array(cycles.len());
    cycles.iter().for_each(|cycle| reply.bulk(&search::text(cycle)));
    Ok(())
}

fn write(lock: &LockWaits, reply: &mut dyn Reply) {
    reply.map(4);
    reply.bulk(b"key");
    reply.bulk(&lock.key);
    for (name, owners) in [("holders", &lock.holders), ("ahead", &lock.ahead)] {
        reply.bulk(name.as_bytes());
        reply.array(owners.len());
        owners.iter().for_each(|owner| reply.bulk(owner));
    }
    reply.bulk(b"waiters");
    reply.array(lock.waiters.len());
    for waiter in &lock.waiters {
        reply.map(4);
        reply.bulk(b"waiter");
        reply.bulk(&waiter.owner);
        reply.bulk(b"kind");
        reply.bulk(waiter.kind.as_bytes());
        field(reply, "holders", waiter.holders);
        field(reply, "ahead", waiter.ahead);
    }
}

fn field(reply: &mut dyn Reply, name: &str, count: usize) {
    reply.bulk(name.as_bytes());
    reply.integer(i64::try_from(count).unwrap_or(i64::MAX));
}
