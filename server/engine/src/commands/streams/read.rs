//! XREAD and XREADGROUP, and their waits.

use super::deliver::{deliver, repeat};
use super::propagate::{Delivery, propagate_consumer, propagate_deliveries, propagate_position};
use super::read_options::{After, ReadOptions, StreamReader, no_group};
use super::replies::write_entries;
use crate::spec::{
    Args, Asking, Attempt, Begin, BlockingHandler, BlockingOutcome, CommandError, Find, Flags, Flow, Key,
    KeyFlags, KeySpec, Null, Row, TimeoutRule, Wait, WaitClass, errors,
};
use lockwheel_resp::{Protocol, Reply, allocation};
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::stream::{Group, Log, StreamId};
use lockwheel_store::values::{Stream, Value};
use smallvec::SmallVec;

const ERRORS: &[&str] = &[
    "ERR Invalid stream ID specified as stream command argument",
    "ERR value is not an integer or out of range",
    "ERR timeout is not an integer or out of range",
    "ERR timeout is negative",
    "ERR timeout is out of range",
    "ERR syntax error",
];

pub(in crate::commands) const ROWS: &[Row<BlockingHandler>] = &[
    Row::new("xread", -4, xread as BlockingHandler)
        .flags(&[Flags::READONLY, Flags::BLOCKING, Flags::MOVABLEKEYS])
        .categories(&["stream"])
        .keys(&[streams(1)])
        .slot_finder(find_streams)
        .about(
            "stream",
            "5.0.0",
            "For each stream mentioned: O(N) with N being the number of elements being returned, it means that \
             XREAD-ing with a fixed COUNT is O(1). Note that when the BLOCK option is used, XADD will pay O(M) time \
             in order to serve the M clients blocked on the stream getting new data.",
        )
        .summary("Gives the entries of streams after given ids, waiting for one if need be.")
        .syntax("[COUNT count] [BLOCK milliseconds] STREAMS (streams: key [key ...] id [id ...])")
        .errors(ERRORS),
    Row::new("xreadgroup", -7, xreadgroup as BlockingHandler)
        .flags(&[Flags::WRITE, Flags::BLOCKING, Flags::MOVABLEKEYS])
        .categories(&["stream"])
        .keys(&[streams(4)])
        .slot_finder(find_streams)
        .about(
            "stream",
            "5.0.0",
            "For each stream mentioned: O(M) with M being the number of elements returned. If M is constant (e.g. \
             always asking for the first 10 elements with COUNT), you can consider it O(1). On the other side when \
             XREADGROUP blocks, XADD will pay the O(N) time in order to serve the N clients blocked on the stream \
             getting new data.",
        )
        .summary(
            "Delivers new entries of streams to a consumer of a group, or its pending entries again; may \
             wait for a new entry.",
        )
        .syntax(
            "(GROUP group consumer) [COUNT count] [BLOCK milliseconds] [NOACK] \
             STREAMS (streams: key [key ...] id [id ...])",
        )
        .errors(ERRORS),
];

/// The first half of the arguments behind the word STREAMS.
const fn streams(from: i32) -> KeySpec {
    KeySpec {
        notes: "",
        flags: KeyFlags::of(&[KeyFlags::RO, KeyFlags::ACCESS]),
        begin: Begin::Keyword("STREAMS", from),
        find: Find::Range { last: -1, step: 1, limit: 2 },
    }
}

/// The options that may stand before the streams, with the number of their arguments.
const OPTIONS: [(&str, usize); 4] = [("block", 1), ("count", 1), ("group", 2), ("noack", 0)];

/// The streams of a request, as Redis finds them for their slots. Empty: too few ids, or an unknown option before.
fn find_streams(request: Args<'_>) -> Vec<Key> {
    let mut at = 1;
    while at < request.len() && !request.is(at, "streams") {
        let option = OPTIONS.iter().find(|(word, _)| request.is(at, word));
        let Some((_, arguments)) = option else { return Vec::new() };
        at += 1 + arguments;
    }
    let behind = request.len().saturating_sub(at + 1);
    let count = if behind.is_multiple_of(2) { behind / 2 } else { 0 };
    (at + 1..at + 1 + count).map(|position| (position, KeyFlags::empty())).collect()
}

static OF_STREAM: WaitClass = WaitClass {
    name: "stream",
    line: "stream",
    accepts: |value| matches!(value, Some(Value::Stream(_))),
    asking: Asking::All,
    out_of_turn: None,
    counts: true,
};

/// The waiters for entries of a group. They are notified if the group is removed.
static OF_GROUP: WaitClass = WaitClass {
    name: "stream group",
    line: "stream group",
    accepts: |_| true,
    asking: Asking::All,
    out_of_turn: None,
    counts: true,
};

fn xread(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    read(tx, args, false, reply)
}

fn xreadgroup(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    read(tx, args, true, reply)
}

fn read(tx: &mut Tx<'_>, args: Args<'_>, of_group: bool, reply: &mut dyn Reply) -> BlockingOutcome {
    let options = ReadOptions::parse(args, of_group, TimeoutRule::of(tx))?;
    let after = options.resolve(tx, args)?;
    let reading = Reading { options, after };
    if reading.serve(tx, args, reply)? {
        return Ok(Flow::Done);
    }
    let Some(timeout_ms) = reading.options.block else {
        reply.null_array();
        return Ok(Flow::Done);
    };
    let keys = reading.options.keys.clone();
    let class = if of_group { &OF_GROUP } else { &OF_STREAM };
    Ok(Wait::on_keys(keys, class, reading, timeout_ms, Null::Array).into())
}

/// A request to read, with the ids that `$` meant on its arrival.
#[derive(Debug)]
struct Reading {
    options: ReadOptions,
    /// The position from which each stream is read.
    after: SmallVec<[After; 4]>,
}

impl Attempt for Reading {
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        _waited_ms: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        for key in self.options.keys.clone() {
            self.check(tx, args, &args[key])?;
        }
        self.serve(tx, args, reply)
    }
}

impl Reading {
    /// Checks that the key can still be read from.
    fn check(&self, tx: &Tx<'_>, args: Args<'_>, key: &[u8]) -> Result<(), CommandError> {
        let stream = match tx.peek(key) {
            Some(Value::Stream(stream)) => Some(stream),
            Some(_) => return Err(errors::WRONG_TYPE),
            None => None,
        };
        let Some(reader) = self.options.reader else { return Ok(()) };
        let group = &args[reader.group];
        match stream.and_then(|stream| stream.groups.get(group)) {
            Some(_) => Ok(()),
            None => Err(no_group(key, group)),
        }
    }

    /// Replies the entries that exist. Returns whether there are any. All keys have been looked up.
    fn serve(&self, tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Result<bool, CommandError> {
        let mut ready: SmallVec<[(usize, StreamId); 4]> = SmallVec::new();
        for (key, &after) in self.options.keys.clone().zip(&self.after) {
            // If a stream is named twice, the same entries are not delivered twice to the group.
            let before = ready.iter().rev().find(|(other, _)| {
                args[*other] == args[key]
                    && self.after[other - self.options.keys.start] == After::LastDelivered
            });
            if let Some(start) = self.first_to_read(tx, args, key, after, before.map(|(_, start)| *start))? {
                ready.push((key, start));
            }
        }
        if ready.is_empty() {
            return Ok(false);
        }
        if reply.protocol() == Protocol::Resp3 {
            reply.map(ready.len());
        } else {
            reply.array(ready.len());
        }
        for (key, start) in ready {
            if reply.protocol() == Protocol::Resp2 {
                reply.array(2);
            }
            reply.bulk(&args[key]);
            let is_history = self.after[key - self.options.keys.start] != After::LastDelivered;
            self.write(tx, args, (key, start), is_history, reply)?;
        }
        Ok(true)
    }

    /// The id from which a stream is to be read, if there is an entry. `delivered`: the id from which an earlier part
    /// of this request reads the undelivered entries of the group. The consumer is created if absent.
    fn first_to_read(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        key: usize,
        after: After,
        delivered: Option<StreamId>,
    ) -> Result<Option<StreamId>, CommandError> {
        let key = &args[key];
        let Some(reader) = self.options.reader else {
            let After::Id(id) = after else { return Ok(None) };
            let Some(stream) = tx.read::<Stream>(key)? else { return Ok(None) };
            return Ok(if stream.log.has_above(id) { id.next() } else { None });
        };
        let now_ms = tx.now().wall_ms();
        let Some(edit) = tx.write::<Stream>(key)? else { return Ok(None) };
        let (start, is_new) = {
            let (log, group) = edit.value.split(&args[reader.group]);
            let Some(mut group) = group else { return Ok(None) };
            let (consumer, is_new) = group.find_or_add(&args[reader.consumer], now_ms);
            group.seen(consumer, now_ms);
            let start = match after {
                After::Id(id) => id.next(),
                After::LastDelivered => {
                    let last = |start| log.range(start, StreamId::MAX).take(self.most()).last();
                    let last_id = delivered.and_then(last).map_or(group.last_id, |entry| entry.id());
                    if log.has_above(last_id) { last_id.next() } else { None }
                }
            };
            (start, is_new)
        };
        if is_new {
            tx.changed_quietly(key, events::XGROUP_CREATECONSUMER);
        }
        let is_delivered = after == After::LastDelivered && start.is_some() && !reader.no_ack;
        if is_new && !is_delivered {
            propagate_consumer(tx, key, &args[reader.group], &args[reader.consumer]);
        }
        Ok(start)
    }

    /// The greatest number of entries to read from a stream.
    fn most(&self) -> usize {
        if self.options.count == 0 { usize::MAX } else { self.options.count }
    }

    /// Replies the entries of a stream from an id on.
    fn write(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        (key, start): (usize, StreamId),
        is_history: bool,
        reply: &mut dyn Reply,
    ) -> Result<(), CommandError> {
        let most = self.most();
        match self.options.reader {
            None => {
                if let Some(Value::Stream(stream)) = tx.peek(&args[key]) {
                    write_entries(stream.log.range(start, StreamId::MAX), most, reply);
                }
            }
            Some(reader) => self.write_pending(tx, args, reader, (key, start), is_history, reply)?,
        }
        Ok(())
    }

    /// Delivers the entries of a stream to a consumer from an id on.
    fn write_pending(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        StreamReader { group, consumer, no_ack }: StreamReader,
        (key, start): (usize, StreamId),
        is_history: bool,
        reply: &mut dyn Reply,
    ) -> Result<(), CommandError> {
        let (now_ms, most, is_propagated) = (tx.now().wall_ms(), self.most(), tx.is_propagated());
        let (key, name) = (&args[key], &args[group]);
        let Some(edit) = tx.write::<Stream>(key)? else { return Ok(()) };
        let (mut deliveries, mut position) = (Vec::new(), None);
        if let (log, Some(mut group)) = edit.value.split(name)
            && let Some(consumer) = group.find(&args[consumer])
        {
            let from = group.last_id;
            match is_history {
                true => repeat(log, &mut group, consumer, (start, most), now_ms, reply),
                false => deliver(log, &mut group, consumer, (most, no_ack), now_ms, reply),
            }
            if is_propagated && !is_history && no_ack {
                position = Some((group.last_id, group.entries_read));
            } else if is_propagated && !is_history {
                deliveries = delivered_since(log, &group, from);
            }
        }
        tx.count_quiet_changes(key, 1);
        // A repeated delivery is not propagated, as in Redis.
        tx.propagate(&[]);
        propagate_deliveries(tx, key, name, &deliveries);
        position.into_iter().for_each(|position| propagate_position(tx, key, name, position));
        Ok(())
    }
}

fn delivered_since(log: &Log, group: &Group, after: StreamId) -> Vec<Delivery> {
    let Some(start) = after.next() else { return Vec::new() };
    let ids = log.range(start, group.last_id).map(|entry| entry.id());
    allocation::collect(ids.filter_map(|id| Delivery::of(group, id, id)))
}
