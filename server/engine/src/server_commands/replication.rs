//! Replication, on a server that has no replicas and is nobody's: who wants a snapshot and nothing after it has one.

use crate::clients::{Content, Session};
use crate::core::{Call, Engine, Handler, Retry};
use crate::spec::{Args, CommandError, Flags, Flow, Null, Outcome, Row, Wait, errors, quotable};
use lockwheel_resp::Reply;

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("role", 1, Handler::Stateless(role))
        .flags(&[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["admin", "dangerous"])
        .about("server", "2.8.12", "O(1)")
        .summary("Tells the server's part in replication: always the master's."),
    Row::new("wait", 3, Handler::BlockingEngine(wait))
        .flags(&[Flags::BLOCKING])
        .categories(&["connection"])
        .about("generic", "3.0.0", "O(1)")
        .summary(
            "Waits until so many replicas have this client's writes; there are none, so for the whole time.",
        )
        .syntax("numreplicas timeout:integer")
        .tips(&["request_policy:all_shards", "response_policy:agg_min"])
        .errors(&[
            "ERR timeout is negative",
            "ERR timeout is not an integer or out of range",
            "ERR value is not an integer or out of range",
        ]),
    Row::new("waitaof", 4, Handler::BlockingEngine(waitaof))
        .flags(&[Flags::BLOCKING])
        .categories(&["connection"])
        .about("generic", "7.2.0", "O(1)")
        .summary(
            "Waits until this client's writes are on the disks of so many servers. There is none that writes any.",
        )
        .syntax("numlocal numreplicas timeout:integer")
        .tips(&["request_policy:all_shards", "response_policy:agg_min"])
        .errors(&[
            "ERR value is not an integer or out of range",
            LOCAL_OUT_OF_RANGE,
            "ERR value is out of range, must be positive",
            "ERR timeout is negative",
            "ERR timeout is not an integer or out of range",
            NO_APPEND_ONLY_FILE,
        ]),
    Row::new("replicaof", 3, Handler::Stateless(replicaof))
        .flags(&[OF_MASTERS, Flags::STALE, Flags::NO_ASYNC_LOADING])
        .about("server", "5.0.0", "O(1)")
        .summary("Says whose replica the server is: nobody's, which is all that it can be.")
        .syntax("(args: (host-port: host port) | (no-one: NO ONE))")
        .errors(&[INVALID_PORT, NOT_SUPPORTED]),
    Row::new("slaveof", 3, Handler::Stateless(replicaof))
        .flags(&[OF_MASTERS, Flags::STALE, Flags::NO_ASYNC_LOADING])
        .about("server", "1.0.0", "O(1)")
        .summary("The same as REPLICAOF.")
        .deprecated("5.0.0", "`REPLICAOF`")
        .syntax("(args: (host-port: host port) | (no-one: NO ONE))")
        .errors(&[INVALID_PORT, NOT_SUPPORTED]),
    Row::new("failover", -1, Handler::Stateless(failover))
        .flags(&[OF_MASTERS, Flags::STALE])
        .about("server", "6.2.0", "O(1)")
        .summary("Hands the master's part over to a replica, of which there is none.")
        .syntax("[TO (target: host port [FORCE])] [ABORT] [TIMEOUT milliseconds]")
        .errors(&[
            "ERR syntax error",
            "ERR value is not an integer or out of range",
            FAILOVER_TIMEOUT,
            NO_FAILOVER,
            NO_REPLICAS,
        ]),
    Row::new("replconf", -1, Handler::Session(replconf))
        .flags(&[OF_MASTERS, Flags::LOADING, Flags::STALE, Flags::ALLOW_BUSY])
        .about("server", "3.0.0", "O(1)")
        .summary("What a replica tells of itself.")
        .internal()
        .syntax("[option value [option value ...]]")
        .errors(&[
            "ERR syntax error",
            "ERR value is not an integer or out of range",
            "ERR Unrecognized REPLCONF option: *",
            SNAPSHOT_ONLY_RANGE,
            "ERR Unsupported rdb-filter-only option: *",
        ]),
    Row::new("psync", -3, Handler::Engine(psync))
        .flags(&[OF_MASTERS, Flags::NO_ASYNC_LOADING, Flags::NO_MULTI])
        .about("server", "2.8.0", "")
        .summary("Asks for all keys and the stream of changes; the stream there is not.")
        .syntax("replicationid offset")
        .errors(&["ERR value is not an integer or out of range", NOT_SUPPORTED]),
    Row::new("sync", 1, Handler::Engine(sync))
        .flags(&[OF_MASTERS, Flags::NO_ASYNC_LOADING, Flags::NO_MULTI])
        .about("server", "1.0.0", "")
        .summary("The same, with another answer.")
        .errors(&[NOT_SUPPORTED]),
];

const OF_MASTERS: Flags = Flags::of(&[Flags::ADMIN, Flags::NOSCRIPT]);

const LOCAL_OUT_OF_RANGE: &str = "ERR value is out of range, value must between 0 and 1";
const NO_APPEND_ONLY_FILE: &str =
    "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.";
const SNAPSHOT_ONLY_RANGE: &str = "ERR value is out of range, value must between 0 and 1";
const INVALID_PORT: &str = "ERR Invalid master port";
const NOT_SUPPORTED: &str = "ERR Replication is not supported";
const FAILOVER_TIMEOUT: &str = "ERR FAILOVER timeout must be greater than 0";
const NO_FAILOVER: &str = "ERR No failover in progress.";
const NO_REPLICAS: &str = "ERR FAILOVER requires connected replicas.";

fn role(_: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.array(3);
    reply.bulk(b"master");
    reply.integer(0);
    reply.array(0);
    Ok(())
}

/// No replica ever has a write: waiting for none is answered at once, anything else at the timeout.
fn wait(
    _: &mut Engine,
    _: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let replicas = args.int(1)?;
    let timeout = args.int(2).map_err(|_| errors::TIMEOUT_NOT_AN_INTEGER)?;
    if timeout < 0 {
        return Err(errors::TIMEOUT_NEGATIVE);
    }
    // Redis keeps the lowest 32 bits of the number.
    if replicas <= 0 || replicas as i32 <= 0 {
        reply.integer(0);
        return Ok(Flow::Done);
    }
    let timeout_ms = (timeout > 0).then(|| timeout.unsigned_abs());
    Ok(Wait::new(Retry::Never, timeout_ms, Null::Zero).into())
}

/// No file and no replica ever has a write: waiting for none is answered at once, anything else at the timeout.
fn waitaof(
    _: &mut Engine,
    _: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let local = args.int_in(1, 0, 1, CommandError::text(LOCAL_OUT_OF_RANGE))?;
    let replicas = args.count(2)?;
    let timeout = args.int(3).map_err(|_| errors::TIMEOUT_NOT_AN_INTEGER)?;
    if timeout < 0 {
        return Err(errors::TIMEOUT_NEGATIVE);
    }
    if local > 0 {
        return Err(CommandError::text(NO_APPEND_ONLY_FILE));
    }
    if replicas == 0 {
        Null::TwoZeros.write(reply);
        return Ok(Flow::Done);
    }
    let timeout_ms = (timeout > 0).then_some(timeout.unsigned_abs());
    Ok(Wait::new(Retry::Never, timeout_ms, Null::TwoZeros).into())
}

fn replicaof(args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if args.is(1, "no") && args.is(2, "one") {
        reply.ok();
        return Ok(());
    }
    args.int_in(2, 0, 65535, CommandError::text(INVALID_PORT))
        .map_err(|_| CommandError::text(INVALID_PORT))?;
    Err(CommandError::text(NOT_SUPPORTED))
}

fn failover(args: Args<'_>, _: &mut dyn Reply) -> Outcome {
    if args.len() == 2 && args.is(1, "abort") {
        return Err(CommandError::text(NO_FAILOVER));
    }
    let (mut at, mut has_target, mut has_timeout) = (1, false, false);
    while at < args.len() {
        if args.is(at, "timeout") && at + 1 < args.len() && !has_timeout {
            args.int_in(at + 1, 1, i64::MAX, CommandError::text(FAILOVER_TIMEOUT))?;
            has_timeout = true;
            at += 2;
        } else if args.is(at, "to") && at + 2 < args.len() && !has_target {
            args.int(at + 2)?;
            has_target = true;
            at += 3;
        } else if args.is(at, "force") {
            at += 1;
        } else {
            return Err(errors::SYNTAX);
        }
    }
    Err(CommandError::text(NO_REPLICAS))
}

/// What a replica tells is accepted up to what is unknown; no replica is made by that.
fn replconf(session: &mut Session, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if args.len().is_multiple_of(2) {
        return Err(errors::SYNTAX);
    }
    for at in (1..args.len()).step_by(2) {
        match &*args[at].to_ascii_lowercase() {
            b"listening-port" => drop(args.int(at + 1)?),
            b"rdb-only" => {
                let only = args.int_in(at + 1, 0, 1, CommandError::text(SNAPSHOT_ONLY_RANGE))?;
                session.replica.snapshot_only = only == 1;
            }
            b"rdb-filter-only" => session.replica.content = content_of(&args[at + 1])?,
            b"ip-address" | b"capa" | b"version" => {}
            // Between a master and its replicas these have no answer.
            b"ack" | b"getack" => return Ok(()),
            _ => {
                let unknown = b"ERR Unrecognized REPLCONF option: ";
                return Err(CommandError::new([unknown, quotable(&args[at])].concat()));
            }
        }
    }
    reply.ok();
    Ok(())
}

/// What the words of a filter let through.
fn content_of(filter: &[u8]) -> Result<Content, CommandError> {
    let mut content = Content::Nothing;
    for word in filter.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
        if !word.eq_ignore_ascii_case(b"functions") {
            let unsupported = b"ERR Unsupported rdb-filter-only option: ";
            return Err(CommandError::new([unsupported, quotable(word)].concat()));
        }
        content = Content::Functions;
    }
    Ok(content)
}

fn psync(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    args.int(2)?;
    let file = snapshot_for(engine, call)?;
    reply.status(format!("FULLRESYNC {} 0", engine.environment.identity.replication_id).as_bytes());
    reply.bulk(&file);
    Ok(())
}

fn sync(engine: &mut Engine, call: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.bulk(&snapshot_for(engine, call)?);
    Ok(())
}

/// The file for a client that wants nothing after it.
fn snapshot_for(engine: &Engine, call: Call<'_>) -> Result<Vec<u8>, CommandError> {
    let wishes = engine.session(call.slot).replica;
    if !wishes.snapshot_only {
        return Err(CommandError::text(NOT_SUPPORTED));
    }
    Ok(engine.file_of(wishes.content))
}
