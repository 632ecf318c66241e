//! XINFO.

use super::manage_groups::no_such_group;
use super::replies::{write_entries, write_entry, write_id};
use crate::spec::{
    Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors, unknown_or_arity,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Stream;
use lockwheel_store::values::stream::{Consumer, Entry, Group, Log, StreamId};

const READS: &[KeySpec] = &[KeySpec::one(2, &[KeyFlags::RO, KeyFlags::ACCESS])];

/// The default number of elements of each list in XINFO STREAM FULL.
const COUNT: usize = 10;

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[Row::container("xinfo", -2, XINFO)
    .about("stream", "5.0.0", "Depends on subcommand.")
    .summary("Tells of streams, their groups and consumers.")];

const XINFO: &[Row<DataHandler>] = &[
    Row::new("consumers", 4, consumers as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["stream"])
        .keys(READS)
        .about("stream", "5.0.0", "O(1)")
        .summary("Describes the consumers of a group.")
        .history(&[("7.2.0", "Added the `inactive` field, and changed the meaning of `idle`.")])
        .syntax("key group=groupname")
        .tips(&["nondeterministic_output"])
        .help(&["CONSUMERS <key> <groupname>", "    Show consumers of <groupname>."])
        .errors(&["ERR no such key", "NOGROUP No such consumer group 'name' for key name 'key'"]),
    Row::new("groups", 3, groups as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["stream"])
        .keys(READS)
        .about("stream", "5.0.0", "O(1)")
        .summary("Describes the groups of a stream.")
        .history(&[("7.0.0", "Added the `entries-read` and `lag` fields")])
        .syntax("key")
        .help(&["GROUPS <key>", "    Show the stream consumer groups."])
        .errors(&["ERR no such key"]),
    Row::new("stream", -3, stream as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["stream"])
        .keys(READS)
        .about("stream", "5.0.0", "O(1)")
        .summary("Describes a stream.")
        .history(&[
            ("6.0.0", "Added the `FULL` modifier."),
            (
                "7.0.0",
                "Added the `max-deleted-entry-id`, `entries-added`, `recorded-first-entry-id`, \
                 `entries-read` and `lag` fields",
            ),
            ("7.2.0", "Added the `active-time` field, and changed the meaning of `seen-time`."),
        ])
        .syntax("key [FULL (full: [COUNT count])]")
        .help(&["STREAM <key> [FULL [COUNT <count>]", "    Show information about the stream."])
        .errors(&[
            "ERR no such key",
            "ERR value is not an integer or out of range",
            "ERR unknown subcommand or wrong number of arguments for 'subcommand'. Try XINFO HELP.",
        ]),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .categories(&["stream"])
        .about("stream", "5.0.0", "O(1)")
        .summary("Explains the subcommands."),
];

fn find<'t>(tx: &'t mut Tx<'_>, args: Args<'_>) -> Result<&'t Stream, CommandError> {
    tx.read::<Stream>(&args[2])?.ok_or(errors::NO_SUCH_KEY)
}

fn consumers(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let now_ms = tx.now().wall_ms();
    let group = find(tx, args)?.groups.get(&args[3]).ok_or_else(|| no_such_group(&args[3], &args[2]))?;
    let since = |ms: i64| now_ms.saturating_sub(ms).max(0);
    reply.array(group.consumers().len());
    for (_, consumer) in group.consumers() {
        reply.map(4);
        reply.bulk(b"name");
        reply.bulk(consumer.name());
        number(b"pending", consumer.pending().len() as i64, reply);
        number(b"idle", since(consumer.seen_ms), reply);
        number(b"inactive", consumer.active_ms.map_or(-1, since), reply);
    }
    Ok(())
}

fn groups(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let stream = find(tx, args)?;
    reply.array(stream.groups.len());
    for (name, group) in stream.groups.iter() {
        reply.map(6);
        reply.bulk(b"name");
        reply.bulk(name);
        number(b"consumers", group.consumers().len() as i64, reply);
        number(b"pending", group.pending().len() as i64, reply);
        write_progress(&stream.log, group, reply);
    }
    Ok(())
}

/// Writes the progress of a group: three pairs.
fn write_progress(log: &Log, group: &Group, reply: &mut dyn Reply) {
    id(b"last-delivered-id", group.last_id, reply);
    reply.bulk(b"entries-read");
    match group.entries_read {
        Some(read) => reply.integer(read as i64),
        None => reply.null(),
    }
    reply.bulk(b"lag");
    match lag(log, group) {
        Some(lag) => reply.integer(lag),
        None => reply.null(),
    }
}

/// The number of entries that are still to be delivered to a group, if it can be known.
fn lag(log: &Log, group: &Group) -> Option<i64> {
    let added = log.entries_added();
    if added == 0 {
        return Some(0);
    }
    let counted = group.entries_read.filter(|_| !log.has_gap_from(group.last_id));
    let read = counted.or_else(|| log.count_up_to(group.last_id))?;
    Some(added.wrapping_sub(read) as i64)
}

fn stream(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let stream = find(tx, args)?;
    match parse_full(args)? {
        None => write_short(stream, reply),
        Some(count) => write_full(stream, count, reply),
    }
    Ok(())
}

/// Reads `[FULL [COUNT count]]`. Returns the number of elements of each list, or `None` for the short form.
fn parse_full(args: Args<'_>) -> Result<Option<usize>, CommandError> {
    let is_full = args.len() == 4 || args.len() == 6;
    if args.len() == 3 {
        return Ok(None);
    }
    if !is_full || !args.is(3, "full") || (args.len() == 6 && !args.is(4, "count")) {
        return Err(unknown_or_arity(args));
    }
    if args.len() == 4 {
        return Ok(Some(COUNT));
    }
    Ok(Some(match usize::try_from(args.int(5)?) {
        Err(_) => COUNT,
        Ok(0) => usize::MAX,
        Ok(count) => count,
    }))
}

fn number(name: &[u8], value: i64, reply: &mut dyn Reply) {
    reply.bulk(name);
    reply.integer(value);
}

fn id(name: &[u8], id: StreamId, reply: &mut dyn Reply) {
    reply.bulk(name);
    write_id(id, reply);
}

/// Writes the part that both forms have: seven pairs.
fn write_counters(log: &Log, reply: &mut dyn Reply) {
    number(b"length", log.len() as i64, reply);
    number(b"radix-tree-keys", log.node_count() as i64, reply);
    number(b"radix-tree-nodes", log.radix_nodes() as i64, reply);
    id(b"last-generated-id", log.last_id(), reply);
    id(b"max-deleted-entry-id", log.max_deleted_id(), reply);
    number(b"entries-added", log.entries_added() as i64, reply);
    id(b"recorded-first-entry-id", log.first_id(), reply);
}

fn write_short(stream: &Stream, reply: &mut dyn Reply) {
    let log = &stream.log;
    reply.map(10);
    write_counters(log, reply);
    number(b"groups", stream.groups.len() as i64, reply);
    let mut edge = |name: &[u8], entry: Option<Entry<'_>>| {
        reply.bulk(name);
        match entry {
            Some(entry) => write_entry(&entry, reply),
            None => reply.null(),
        }
    };
    edge(b"first-entry", log.range(StreamId::MIN, StreamId::MAX).next());
    edge(b"last-entry", log.range_back(StreamId::MIN, StreamId::MAX).next());
}

fn write_full(stream: &Stream, count: usize, reply: &mut dyn Reply) {
    reply.map(9);
    write_counters(&stream.log, reply);
    reply.bulk(b"entries");
    write_entries(stream.log.range(StreamId::MIN, StreamId::MAX), count, reply);
    reply.bulk(b"groups");
    reply.array(stream.groups.len());
    for (name, group) in stream.groups.iter() {
        write_group(&stream.log, name, group, count, reply);
    }
}

fn write_group(log: &Log, name: &[u8], group: &Group, count: usize, reply: &mut dyn Reply) {
    reply.map(7);
    reply.bulk(b"name");
    reply.bulk(name);
    write_progress(log, group, reply);
    number(b"pel-count", group.pending().len() as i64, reply);
    reply.bulk(b"pending");
    reply.array(group.pending().len().min(count));
    for (&id, pending) in group.pending().iter().take(count) {
        reply.array(4);
        write_id(id, reply);
        reply.bulk(group.consumer(pending.consumer).map_or(b"", Consumer::name));
        reply.integer(pending.delivered_ms);
        reply.integer(pending.deliveries as i64);
    }
    reply.bulk(b"consumers");
    reply.array(group.consumers().len());
    for (_, consumer) in group.consumers() {
        write_consumer(group, consumer, count, reply);
    }
}

fn write_consumer(group: &Group, consumer: &Consumer, count: usize, reply: &mut dyn Reply) {
    reply.map(5);
    reply.bulk(b"name");
    reply.bulk(consumer.name());
    number(b"seen-time", consumer.seen_ms, reply);
    number(b"active-time", consumer.active_ms.unwrap_or(-1), reply);
    number(b"pel-count", consumer.pending().len() as i64, reply);
    reply.bulk(b"pending");
    let pending = consumer.pending().take(count);
    reply.array(pending.len());
    for id in pending {
        let pending = group.pending().get(&id);
        reply.array(3);
        write_id(id, reply);
        reply.integer(pending.map_or(0, |pending| pending.delivered_ms));
        reply.integer(pending.map_or(0, |pending| pending.deliveries as i64));
    }
}
