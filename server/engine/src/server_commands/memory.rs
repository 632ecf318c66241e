//! MEMORY: the memory of keys and of the server.

use super::memory_doctor;
use super::memory_figures::{MemoryFigures, Overhead};
use crate::core::{Handler, MemoryView, ServerHandler};
use crate::locks;
use crate::spec::{Args, CommandError, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use crate::statistics::Process;
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Keyspace, Tx};

pub(super) const ROWS: &[Row<Handler>] = &[Row::container("memory", -2, MEMORY)
    .about("server", "4.0.0", "Depends on subcommand.")
    .summary("Looks at what takes memory.")];

const TIPS: &[&str] = &["nondeterministic_output", "request_policy:all_shards", "response_policy:special"];
const SLOW: &str = "Depends on how much memory is allocated, could be slow";

const MEMORY: &[Row<Handler>] = &[
    Row::new("doctor", 2, Handler::Server(&ServerHandler::Memory(doctor)))
        .about("server", "4.0.0", "O(1)")
        .summary("Reports problems of memory use in sentences.")
        .help(&["DOCTOR", "    Return memory problems reports."])
        .tips(TIPS),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .about("server", "4.0.0", "O(1)")
        .summary("The subcommands of MEMORY."),
    Row::new("malloc-stats", 2, Handler::Server(&ServerHandler::Process(malloc_stats)))
        .about("server", "4.0.0", SLOW)
        .summary("Gives the allocator's own report.")
        .help(&["MALLOC-STATS", "    Return internal statistics report from the memory allocator."])
        .tips(TIPS),
    Row::new("purge", 2, Handler::Server(&ServerHandler::Process(purge)))
        .about("server", "4.0.0", SLOW)
        .summary("Returns unused memory of the allocator to the system.")
        .help(&["PURGE", "    Attempt to purge dirty pages for reclamation by the allocator."])
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"]),
    Row::new("stats", 2, Handler::Server(&ServerHandler::Memory(stats)))
        .about("server", "4.0.0", "O(1)")
        .summary("Returns the memory use of each part of the server.")
        .help(&["STATS", "    Return information about the memory usage of the server."])
        .tips(TIPS),
    Row::new("usage", -3, Handler::Data(usage))
        .flags(&[Flags::READONLY])
        .keys(&[KeySpec::one(2, &[KeyFlags::RO])])
        .about("server", "4.0.0", "O(N) where N is the number of samples.")
        .summary("The bytes of memory that a key takes with its value.")
        .help(&[
            "USAGE <key> [SAMPLES <count>]",
            "    Return memory in bytes used by <key> and its value. Nested values are",
            "    sampled up to <count> times (default: 5, 0 means sample all).",
        ])
        .syntax("key [SAMPLES count]")
        .errors(&["ERR syntax error", "ERR value is not an integer or out of range"]),
];

fn doctor(view: &MemoryView<'_>, reply: &mut dyn Reply) {
    reply.verbatim(*b"txt", memory_doctor::report(view).as_bytes());
}

fn malloc_stats(process: &Process, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    match &process.allocator {
        Some(allocator) => reply.verbatim(*b"txt", (allocator.report)().as_bytes()),
        None => reply.bulk(b"Stats not supported for the current allocator"),
    }
    Ok(())
}

fn purge(process: &Process, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if process.allocator.as_ref().is_some_and(|allocator| !(allocator.purge)()) {
        return Err(CommandError::text("ERR Error purging dirty pages"));
    }
    reply.ok();
    Ok(())
}

/// The number of fields of MEMORY STATS, without its databases.
const FIELDS: usize = 29;

fn stats(view: &MemoryView<'_>, reply: &mut dyn Reply) {
    let figures = MemoryFigures::of(view);
    let (keyspace, scripts) = (view.parts.keyspace, view.parts.scripts);
    let used: Vec<usize> = (0..keyspace.databases()).filter(|&db| keyspace.sizes(db).0 > 0).collect();
    reply.map(FIELDS + used.len());
    number(reply, "peak.allocated", figures.peak);
    number(reply, "total.allocated", figures.total);
    number(reply, "startup.allocated", figures.startup);
    number(reply, "replication.backlog", figures.backlog);
    number(reply, "clients.slaves", figures.replicas);
    number(reply, "clients.normal", figures.normal_clients());
    number(reply, "cluster.links", 0);
    number(reply, "aof.buffer", view.append_only.pending() as u64);
    let cached = scripts.runtime().map_or(0, |runtime| runtime.cached_bytes());
    number(reply, "lua.caches", cached as u64);
    number(reply, "functions.caches", scripts.libraries().bytes() as u64);
    number(reply, "locks.past", locks::past_bytes(keyspace) as u64);
    number(reply, "locks.fences", locks::fence_bytes(keyspace) as u64);
    used.iter().for_each(|&db| database(keyspace, db, reply));
    number(reply, "overhead.total", figures.overhead);
    let keys: usize = used.iter().map(|&db| keyspace.sizes(db).0).sum();
    number(reply, "keys.count", keys as u64);
    number(reply, "keys.bytes-per-key", if keys > 0 { figures.since_startup() / keys as u64 } else { 0 });
    number(reply, "dataset.bytes", figures.dataset());
    ratio(reply, "dataset.percentage", figures.dataset_percent());
    ratio(reply, "peak.percentage", figures.peak_percent());
    number(reply, "allocator.allocated", figures.allocator.allocated);
    number(reply, "allocator.active", figures.allocator.active);
    number(reply, "allocator.resident", figures.allocator.resident);
    overhead(reply, "allocator-fragmentation", figures.allocator_fragmentation());
    overhead(reply, "allocator-rss", figures.allocator_rss());
    overhead(reply, "rss-overhead", figures.rss_overhead());
    let fragmentation = figures.fragmentation();
    ratio(reply, "fragmentation", fragmentation.ratio);
    difference(reply, "fragmentation.bytes", fragmentation.bytes);
}

/// Writes the overhead of a database, besides its keys and values.
fn database(keyspace: &Keyspace, db: usize, reply: &mut dyn Reply) {
    let (tables, deadlines) = keyspace.overhead(db);
    reply.bulk(format!("db.{db}").as_bytes());
    reply.map(3);
    number(reply, "overhead.hashtable.main", tables as u64);
    number(reply, "overhead.hashtable.expires", deadlines as u64);
    number(reply, "overhead.hashtable.slot-to-keys", 0);
}

fn number(reply: &mut dyn Reply, name: &str, bytes: u64) {
    difference(reply, name, i64::try_from(bytes).unwrap_or(i64::MAX));
}

fn difference(reply: &mut dyn Reply, name: &str, bytes: i64) {
    reply.bulk(name.as_bytes());
    reply.integer(bytes);
}

fn ratio(reply: &mut dyn Reply, name: &str, ratio: f64) {
    reply.bulk(name.as_bytes());
    reply.double(ratio);
}

fn overhead(reply: &mut dyn Reply, name: &str, overhead: Overhead) {
    ratio(reply, &format!("{name}.ratio"), overhead.ratio);
    difference(reply, &format!("{name}.bytes"), overhead.bytes);
}

/// Replies with the memory of a value. O(1): values keep track of their size.
fn usage(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    for option in (3..args.len()).step_by(2) {
        if !args.is(option, "samples") || option + 1 == args.len() || args.int(option + 1)? < 0 {
            return Err(errors::SYNTAX);
        }
    }
    match tx.memory(&args[2]) {
        Some(bytes) => reply.integer(bytes as i64),
        None => reply.null(),
    }
    Ok(())
}
