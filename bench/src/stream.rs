//! Pipelined requests for an in-process engine, and the way in which a connection feeds them to it.

use crate::memory_host::MemoryHost;
use crate::workloads::{JOB, ORDER, ORDER_TEXT};
use crate::{LOCK, UNLOCK, lock_library};
use lockwheel::Config;
use lockwheel_engine::Engine;
use lockwheel_engine::clients::{Outbox, Peer, Slot};
use lockwheel_engine::core::{DataLoad, Output, Progress};
use lockwheel_resp::{Batch, RequestLimits, RequestParser, write_request};
use lockwheel_store::time::Now;
use std::sync::Arc;

/// The names of streams that [`Stream::new`] supports.
pub const NAMES: &[&str] = &[
    "ping",
    "set",
    "get",
    "hset",
    "zadd",
    "xadd",
    "lock_pair_evalsha",
    "lock_pair_eval",
    "lock_pair_fcall",
    "lock_pair_native",
    "cjson",
    "cmsgpack",
];

/// The parameter of [`Client::configure`] that attaches a replica.
pub const REPLICA: &str = "one-replica";
/// The parameter of [`Client::configure`] that gives the engine an append-only file, with `appendfsync no`. With the
/// value `no`, the engine has the same host and no file.
pub const APPEND_ONLY: &str = "append-only";

/// The number of requests that the client sends before it waits for their replies.
pub const PIPELINE: usize = 16;
/// The number of keys that a stream uses in turn.
const KEYS: usize = 1000;
/// The number of Redis streams to which entries are added: as many as a server has connections that add.
const ENTRIES_IN: usize = 50;
/// The time between two batches, in microseconds. It moves deadlines as in a server.
const STEP_US: u32 = 20;
const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";

/// One request and the beginning of its reply.
type Operation = (Vec<u8>, &'static str);

/// A cycle of requests.
pub struct Stream {
    batches: Vec<Pipeline>,
}

struct Pipeline {
    requests: Vec<u8>,
    /// The beginnings of the replies to the first and to the last request.
    first: &'static str,
    last: &'static str,
}

impl Stream {
    /// Creates the stream of this name and prepares `client` for it. Returns `None` if there is no such name.
    pub fn new(name: &str, client: &mut Client) -> Option<Self> {
        let set = |n: usize| request(&["SET", &key(n), "value:1234"]);
        let hset = |n: usize| request(&["HSET", &key(n), "field", "value:1234"]);
        let zadd = |n: usize| request(&["ZADD", "zset", &n.to_string(), &key(n)]);
        match name {
            "get" => (0..KEYS).for_each(|n| client.prepare(&set(n), "+OK\r\n")),
            "hset" => (0..KEYS).for_each(|n| client.prepare(&hset(n), ":1\r\n")),
            "zadd" => (0..KEYS).for_each(|n| client.prepare(&zadd(n), ":1\r\n")),
            _ => {}
        }
        Some(match name {
            "ping" => Self::of(|_| (request(&["PING"]), "+PONG\r\n")),
            "set" => Self::of(|n| (set(n), "+OK\r\n")),
            "get" => Self::of(|n| (request(&["GET", &key(n)]), "$10\r\nvalue:1234\r\n")),
            "hset" => Self::of(|n| (hset(n), ":0\r\n")),
            "zadd" => Self::of(|n| (zadd(n), ":0\r\n")),
            "xadd" => Self::of(|n| (xadd(n), if n % 2 == 0 { "$1" } else { "\r\n" })),
            "lock_pair_evalsha" => {
                let [lock, unlock] = [LOCK, UNLOCK].map(|script| client.load(script));
                Self::of(|n| script("EVALSHA", [&lock, &unlock], n))
            }
            "lock_pair_eval" => Self::of(|n| script("EVAL", [LOCK, UNLOCK], n)),
            "lock_pair_fcall" => {
                client.prepare(&request(&["FUNCTION", "LOAD", &lock_library()]), "$5\r\nlocks\r\n");
                Self::of(|n| script("FCALL", ["lock", "unlock"], n))
            }
            "lock_pair_native" => Self::of(|n| match n % 2 {
                0 => (request(&["LOCK.ACQUIRE", &lock(n), OWNER]), "*10\r\n$5\r\ntoken\r\n:"),
                _ => (request(&["LOCK.RELEASE", &lock(n), OWNER]), ":0\r\n"),
            }),
            "cjson" => {
                let order = client.load(ORDER);
                Self::of(|n| {
                    let text = ORDER_TEXT.replace("{n:9}", &format!("{n:09}"));
                    (request(&["EVALSHA", &order, "0", &text]), ":304\r\n")
                })
            }
            "cmsgpack" => {
                let job = client.load(JOB);
                let id = |n| format!("job-{n:09}");
                Self::of(|n| (request(&["EVALSHA", &job, "0", &id(n), "1700000000000"]), ":19\r\n"))
            }
            _ => return None,
        })
    }

    /// Creates a stream with two operations for each key.
    fn of(operation: impl Fn(usize) -> Operation) -> Self {
        let operations: Vec<Operation> = (0..2 * KEYS).map(operation).collect();
        let batches = operations.chunks_exact(PIPELINE).map(|operations| Pipeline {
            requests: operations.iter().flat_map(|(request, _)| request).copied().collect(),
            first: operations.first().map_or("", |(_, answer)| answer),
            last: operations.last().map_or("", |(_, answer)| answer),
        });
        Stream { batches: batches.collect() }
    }
}

/// Returns a request that locks, or, for odd `n`, unlocks, by a script or a function.
fn script(command: &str, [take, give]: [&str; 2], n: usize) -> Operation {
    let lock = lock(n);
    let channel = format!("redisson_lock__channel:{{{lock}}}");
    match n % 2 {
        0 => (request(&[command, take, "1", &lock, "30000", OWNER]), "$-1\r\n"),
        _ => (request(&[command, give, "2", &lock, &channel, "0", "30000", OWNER]), ":1\r\n"),
    }
}

/// Returns a request that adds an entry with an id of the server. Only the length and the end of its reply are known.
fn xadd(n: usize) -> Vec<u8> {
    let stream = format!("stream:{}", n % ENTRIES_IN);
    request(&["XADD", &stream, "*", "field", "value:1234", "number", &n.to_string()])
}

fn key(n: usize) -> String {
    format!("key:{:012}", n % KEYS)
}

/// Returns the lock of operation `n`, and of the next one if `n` is even.
fn lock(n: usize) -> String {
    format!("lock:{}", n / 2)
}

/// Encodes a request as on the wire.
pub fn request(words: &[&str]) -> Vec<u8> {
    let mut request = Vec::new();
    write_request(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>(), &mut request);
    request
}

/// An engine without sockets, and a connection to it.
pub struct Client {
    engine: Engine,
    slot: Slot,
    /// The connection of a replica.
    replica: Option<Slot>,
    /// The host that keeps an append-only file.
    host: Option<Arc<MemoryHost>>,
    parser: RequestParser,
    batch: Batch,
    now: Now,
    output: Outbox,
}

impl Client {
    /// Creates a connection to an empty engine.
    pub fn new() -> Self {
        let now = Now { wall_us: 1_000_000_000_000, monotonic_us: 0 };
        let mut engine = Engine::new(Config::default(), 7, now);
        let slot = engine.connect(Peer::default());
        Client {
            engine,
            slot,
            replica: None,
            host: None,
            parser: RequestParser::new(),
            batch: Batch::new(),
            now,
            output: Outbox::default(),
        }
    }

    /// Runs `operations` requests of a stream, rounded up to whole pipelines.
    ///
    /// # Errors
    /// Returns a message if a reply is not as expected.
    pub fn run(&mut self, stream: &Stream, operations: usize) -> Result<(), String> {
        for pipeline in stream.batches.iter().cycle().take(operations.div_ceil(PIPELINE)) {
            let answers = self.send(&pipeline.requests);
            let ends = answers.get(answers.len().saturating_sub(pipeline.last.len())..).unwrap_or_default();
            if !answers.starts_with(pipeline.first.as_bytes()) || ends != pipeline.last.as_bytes() {
                return Err(format!("not {}: {}", pipeline.first, answers.escape_ascii()));
            }
        }
        let errors = self.send(&request(&["INFO", "errorstats"]));
        match errors.windows(10).any(|word| word == b"errorstat_") {
            true => Err(format!("errors: {}", errors.escape_ascii())),
            false => Ok(()),
        }
    }

    /// Runs the requests of one read. Returns their replies, valid until the next call.
    pub fn send(&mut self, input: &[u8]) -> &[u8] {
        self.now.wall_us += i64::from(STEP_US);
        self.now.monotonic_us += u64::from(STEP_US);
        let Client { engine, slot, replica, host, parser, batch, now, output } = self;
        host.iter().for_each(|host| host.set_now(*now));
        if let Some(replica) = *replica {
            output.clear();
            engine.take_output(replica, output);
        }
        output.clear();
        let parsed = parser.parse(input, &RequestLimits::default(), batch);
        debug_assert!(parsed.is_ok() && batch.consumed() == input.len(), "the streams are whole requests");
        engine.begin(*now);
        for index in 0..batch.len() {
            let progress = batch.with_arguments(index, input, |argv| engine.execute(*slot, argv));
            debug_assert_eq!(progress, Progress::Continue);
        }
        engine.take_output(*slot, output);
        output.bytes()
    }

    /// Loads a script and returns its digest.
    fn load(&mut self, script: &str) -> String {
        let answer = self.send(&request(&["SCRIPT", "LOAD", script]));
        String::from_utf8_lossy(answer).chars().skip(5).take(40).collect()
    }

    /// Sets parameters of the engine. Each name is followed by its value. With [`REPLICA`] and `yes`, a replica follows
    /// the engine. With [`APPEND_ONLY`] and `yes`, the engine keeps an append-only file.
    ///
    /// # Panics
    /// Panics if a parameter does not exist or cannot have that value.
    pub fn configure(&mut self, parameters: &[String]) {
        for pair in parameters.chunks(2) {
            match pair.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                [REPLICA, "yes"] => self.attach_replica(),
                [REPLICA, _] => {}
                [APPEND_ONLY, value] => self.keep_log(value),
                ref words => self.prepare(&request(&[&["CONFIG", "SET"], words].concat()), "+OK\r\n"),
            }
        }
    }

    /// Attaches a replica. It has a copy of the data and reads the replication stream before each batch.
    ///
    /// # Panics
    /// Panics if the replica gets no copy within a minute of the engine's time.
    fn attach_replica(&mut self) {
        let replica = self.engine.connect(Peer::default());
        self.engine.begin(self.now);
        self.engine.execute(replica, &[b"REPLCONF", b"capa", b"psync2"]);
        self.engine.execute(replica, &[b"PSYNC", b"?", b"-1"]);
        let mut received = Vec::new();
        for _ in 0..60 {
            self.pass_second();
            self.output.clear();
            self.engine.take_output(replica, &mut self.output);
            received.extend_from_slice(self.output.bytes());
            if has_copy(&received) {
                self.engine.execute(replica, &[b"REPLCONF", b"ACK", b"0"]);
                self.replica = Some(replica);
                return;
            }
        }
        panic!("no copy of the data: {}", received.escape_ascii());
    }

    /// Has the engine keep an append-only file, which is never synced, if `value` is `yes`.
    ///
    /// # Panics
    /// Panics if the file has no base within a minute of the engine's time.
    fn keep_log(&mut self, value: &str) {
        let host = Arc::new(MemoryHost::default());
        host.set_now(self.now);
        self.engine.set_host(host.clone());
        self.host = Some(host);
        let load = DataLoad::begin(&mut self.engine, None, true).expect("there are no files");
        load.finish(&mut self.engine).expect("the host takes every file");
        self.prepare(&request(&["CONFIG", "SET", "appendfsync", "no", "appendonly", value]), "+OK\r\n");
        for _ in 0..60 {
            self.pass_second();
            let figures = self.send(&request(&["INFO", "persistence"]));
            let has_line = |line: &[u8]| figures.windows(line.len()).any(|part| part == line);
            if value != "yes" || (has_line(b"aof_enabled:1") && has_line(b"aof_rewrite_in_progress:0")) {
                return;
            }
        }
        panic!("no base of the append-only file");
    }

    /// Lets a second of the engine's time pass, and finishes the work that is due.
    fn pass_second(&mut self) {
        self.now.wall_us += 1_000_000;
        self.now.monotonic_us += 1_000_000;
        self.host.iter().for_each(|host| host.set_now(self.now));
        self.engine.begin(self.now);
        while !matches!(self.engine.poll_output(), Output::Idle { .. }) {}
    }

    /// Runs a request before the measurement.
    ///
    /// # Panics
    /// Panics if the reply has another beginning.
    fn prepare(&mut self, request: &[u8], answer: &str) {
        let got = self.send(request);
        assert!(got.starts_with(answer.as_bytes()), "{}", got.escape_ascii());
    }
}

/// Whether a copy of the data has come whole: its length between `$` and a line's end, and as many bytes.
fn has_copy(received: &[u8]) -> bool {
    let mut parts = received.splitn(2, |byte| *byte == b'$');
    let Some(announced) = parts.nth(1) else { return false };
    let Some(end) = announced.windows(2).position(|bytes| bytes == b"\r\n") else { return false };
    let (len, data) = announced.split_at(end);
    let len = std::str::from_utf8(len).ok().and_then(|len| len.parse::<usize>().ok());
    len.is_some_and(|len| data.len() >= len + 2)
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}
