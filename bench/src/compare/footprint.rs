//! Memory of keys, start-up time and idle memory of servers, each measured on fresh processes.

use crate::cli::Compare;
use crate::error::{Error, Result};
use crate::load::{Arg, Expect, Limit, Load, Order, Plan, Step};
use crate::results::{Memory, Startup};
use crate::servers::affinity::Layout;
use crate::servers::{Candidate, Client, Located, Server};
use crate::workloads;
use std::thread;
use std::time::{Duration, Instant};

/// The number of requests in a batch while keys are loaded.
const LOAD_PIPELINE: usize = 64;
/// The time without shrinking after which memory counts as settled, the longest wait for that, and the interval of
/// reading.
const SETTLED: Duration = Duration::from_secs(3);
const MAX_SETTLE_TIME: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The idle time before a server's idle memory is read.
const IDLE: Duration = Duration::from_millis(200);

/// A kind of data to keep in memory, with one piece for each number.
struct Kind {
    name: String,
    /// The request that makes one piece, and the scripts that it needs.
    step: Step,
    scripts: Vec<String>,
    /// Whether each piece is a key. Otherwise all pieces are in one key.
    is_key: bool,
}

/// Returns the kinds of pieces: keys that the first requests of workloads make, and the parts of large values.
fn kinds() -> Result<Vec<Kind>> {
    let rows = workloads::all()?;
    let key = |name: &str, workload: &str| {
        let row = rows.iter().find(|row| row.name == workload);
        let row = row.ok_or_else(|| Error::other(format!("no workload makes {name}")))?;
        let (name, scripts) = (name.to_owned(), row.scripts.clone());
        Ok(Kind { name, step: row.turn[0].clone(), scripts, is_key: true })
    };
    let part = |name: &str, request: &str, expect: Expect| {
        let args: Vec<Arg<'_>> = request.split(' ').map(Arg::Text).collect();
        let step = Step::new(&args, expect)?;
        Ok(Kind { name: name.to_owned(), step, scripts: Vec::new(), is_key: false })
    };
    let new = || Expect::exact(":1\r\n");
    Ok(vec![
        key("strings", "set")?,
        key("locks", "lock:evalsha")?,
        part("stream entries", "XADD key * field v{n:9}", Expect::Begins(b"$".to_vec()))?,
        part("set members", "SADD key member:{n:9}", new()?)?,
        part("sorted-set members", "ZADD key {n} member:{n:9}", new()?)?,
    ])
}

/// Loads pieces of each kind into a fresh process of each server, then empties the server.
///
/// # Errors
/// Returns an error if a server does not start or replies wrongly.
pub(super) fn memory(
    candidates: &[Candidate],
    options: &Compare,
    layout: &Layout,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<Memory>> {
    let mut found = Vec::new();
    for kind in kinds()? {
        let name = &kind.name;
        for candidate in startable(candidates) {
            let memory = fill(candidate, &kind, options, layout);
            let Some(memory) =
                memory.map_err(|error| error.in_run(&format!("{name} on {}", candidate.name)))?
            else {
                continue;
            };
            say(&format!("{name} on {}: {:.1} bytes each", candidate.name, memory.per_key()));
            found.push(memory);
        }
    }
    Ok(found)
}

/// Measures one kind on one server. Returns `None` if the system does not report the memory of a process.
fn fill(candidate: &Candidate, kind: &Kind, options: &Compare, layout: &Layout) -> Result<Option<Memory>> {
    let server = Server::start(candidate, options.server_threads, layout)?;
    let mut client = server.client()?;
    for script in &kind.scripts {
        client.call(&[b"SCRIPT", b"LOAD", script.as_bytes()])?;
    }
    let mut load = Load::connect(server.addr, options.connections, 1, &layout.load)?;
    thread::sleep(IDLE);
    let Some(before) = server.resident() else { return Ok(None) };
    load.run(&Plan {
        steps: std::slice::from_ref(&kind.step),
        pipeline: LOAD_PIPELINE,
        order: Order::Once,
        keys: options.memory_keys,
        seed: options.seed,
        counter: 0,
        limit: Limit::default(),
        rate: None,
    })?;
    let keys = if kind.is_key { options.memory_keys } else { 1 };
    client.expect(&[b"DBSIZE"], format!(":{keys}\r\n").as_bytes())?;
    let Some(loaded) = server.resident() else { return Ok(None) };
    client.expect(&[b"FLUSHALL"], b"+OK\r\n")?;
    let flushed = settled(&server, &mut client)?.unwrap_or(loaded);
    let server = candidate.name.clone();
    Ok(Some(Memory { server, kind: kind.name.clone(), keys: options.memory_keys, before, loaded, flushed }))
}

/// Returns the least memory of a server, once the memory shrinks no further. An occasional PING keeps the server awake,
/// as clients do.
fn settled(server: &Server, client: &mut Client) -> Result<Option<u64>> {
    let begin = Instant::now();
    let Some(mut least) = server.resident() else { return Ok(None) };
    let mut since = begin;
    while since.elapsed() < SETTLED && begin.elapsed() < MAX_SETTLE_TIME {
        thread::sleep(LOOK_EVERY);
        client.expect(&[b"PING"], b"+PONG\r\n")?;
        let Some(now) = server.resident() else { return Ok(None) };
        if now < least {
            (least, since) = (now, Instant::now());
        }
    }
    Ok(Some(least))
}

/// Starts each server repeatedly, in turn.
///
/// # Errors
/// Returns an error if a server does not start.
pub(super) fn startup(
    candidates: &[Candidate],
    options: &Compare,
    layout: &Layout,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<Startup>> {
    let candidates: Vec<&Candidate> = startable(candidates).collect();
    let new = |candidate: &&Candidate| Startup {
        server: candidate.name.clone(),
        seconds: Vec::new(),
        idle: Vec::new(),
    };
    let mut found: Vec<Startup> = candidates.iter().map(new).collect();
    for _ in 0..options.starts {
        for (candidate, startup) in candidates.iter().zip(&mut found) {
            let server = Server::start(candidate, options.server_threads, layout)?;
            startup.seconds.extend(server.startup.map(|time| time.as_secs_f64()));
            thread::sleep(IDLE);
            startup.idle.extend(server.resident());
        }
    }
    say(&format!("every server started {} times", options.starts));
    Ok(found)
}

/// Returns the candidates that are programs.
fn startable(candidates: &[Candidate]) -> impl Iterator<Item = &Candidate> {
    candidates.iter().filter(|candidate| !matches!(candidate.place, Located::Running(_)))
}
