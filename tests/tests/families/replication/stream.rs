//! The stream that a replica gets: command by command, what a real master sends.

use crate::replication::servers::{AnyServer, info};
use crate::replication::silent;
use crate::replication::snapshots::{read_line, read_snapshot};
use lockwheel_engine::spec::{Command, Flags};
use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::{Client, split};
use lockwheel_tests::differences;
use lockwheel_tests::differential::{Commands, Subject, rounds};
use lockwheel_tests::generate::Generator;
use lockwheel_tests::ours;
use lockwheel_tests::pair::{Answer, Exchange};
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use lockwheel_tests::shapes::until;

/// The channel of the messages that divide a stream.
const MARK: &str = "mark";
/// The greatest difference in milliseconds between times that count as the same.
const SKEW_MS: i64 = 60_000;
/// The least number that is a time of today in milliseconds.
pub(super) const TODAY_MS: i64 = 1_500_000_000_000;

/// A request of a stream.
pub(super) type Request = Vec<Vec<u8>>;

/// A master, a client, and the stream that its replica gets.
pub(super) struct Master {
    pub(super) client: Client,
    stream: Client,
    _server: AnyServer,
}

impl Master {
    pub(super) fn new(server: AnyServer) -> Master {
        // The stream acknowledges nothing, for however long a test takes.
        let mut client = Client::connect(server.addr());
        assert_eq!(client.line("CONFIG SET repl-timeout 1000000").to_string(), "+OK");
        let mut stream = silent::asking(&*server, b"PSYNC ? -1\r\n");
        assert!(read_line(&mut stream).starts_with("+FULLRESYNC "));
        read_snapshot(&mut stream);
        Master { client, stream: Client::over(stream), _server: server }
    }

    /// Returns the requests that have come before the next mark, without those that keep the connection alive.
    fn until_mark(&mut self) -> Vec<Request> {
        let mut requests = Vec::new();
        loop {
            let Reply::Array(words) = self.stream.read_frame() else { panic!("a request is an array") };
            let words: Request =
                words.iter().map(|word| word.as_bytes().expect("a word is a text").to_vec()).collect();
            match &*words[0] {
                b"PING" | b"ping" | b"REPLCONF" => {}
                b"PUBLISH" if words[1] == MARK.as_bytes() => return requests,
                _ => requests.push(words),
            }
        }
    }

    /// Runs a request and returns what replicas get for it.
    pub(super) fn run(&mut self, arguments: &[Vec<u8>]) -> Vec<Request> {
        self.try_run(arguments).0
    }

    /// Runs a request. Returns the requests that replicas get for it, and its answer.
    fn try_run(&mut self, arguments: &[Vec<u8>]) -> (Vec<Request>, Answer) {
        let mark = [&b"PUBLISH"[..], MARK.as_bytes(), b""];
        self.client.send(arguments);
        self.client.send(&mark);
        let reply = self.client.read_reply();
        let answer = Answer { reply, raw: self.client.raw().to_vec() };
        self.client.read_reply();
        (self.until_mark(), answer)
    }
}

/// A real master and one of ours. `None`: there is no real server on this machine.
fn masters() -> Option<[Master; 2]> {
    let real = RealServer::start(Kind::Redis, &["--repl-diskless-sync-delay", "0"])?;
    Some([Box::new(real) as AnyServer, Box::new(ours::server())].map(Master::new))
}

/// Whether two words are the same, or times of today that differ by little.
fn agree(one: &[u8], other: &[u8]) -> bool {
    let time = |word: &[u8]| std::str::from_utf8(word).ok()?.parse::<i64>().ok();
    one == other
        || time(one)
            .zip(time(other))
            .is_some_and(|(one, other)| one.min(other) > TODAY_MS && (one - other).abs() < SKEW_MS)
}

fn are_same(one: &[Request], other: &[Request]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| agree(one, other))
        })
}

fn text(requests: &[Request]) -> String {
    let line = |request: &Request| {
        let words: Vec<String> = request.iter().map(|word| word.escape_ascii().to_string()).collect();
        words.join(" ")
    };
    requests.iter().map(line).collect::<Vec<_>>().join("; ")
}

/// Lines whose propagation is compared, one after the other on the same data.
const LINES: &[&str] = &[
    "SADD s a",
    "SPOP s",
    "SADD s a b",
    "SPOP s 5",
    "SET k v EX 100",
    "SET k v NX",
    "SET k v XX GET",
    "SET k w GET EX 10",
    "SET k w KEEPTTL GET",
    "SET k2 w NX PX 5000000",
    "SET k2 w PXAT 99999999999999 XX",
    "SET k2 w EXAT 99999999999",
    "SETEX k 1000 v",
    "PSETEX k 10000000 v",
    "SETNX k z",
    "SETNX kn z",
    "GETSET k y",
    "GETDEL kn",
    "GETEX k",
    "GETEX k EX 100",
    "GETEX k PERSIST",
    "GETEX k PERSIST",
    "GETEX k EXAT 1",
    "SET k 1",
    "INCRBYFLOAT k 1.5",
    "EXPIRE k 1000",
    "EXPIRE k 100 NX",
    "EXPIRE k 2000 GT",
    "PEXPIREAT k 9999999999999",
    "EXPIRE k -1",
    "HSET h f 1",
    "HINCRBYFLOAT h f 1.5",
    "HSETNX h f2 1",
    "HDEL h zz",
    "DEL h k",
    "RPUSH l a b c d e f g h",
    "LPOP l 2",
    "RPOP l 0",
    "LMPOP 2 no l LEFT COUNT 1",
    "BLPOP no l 1",
    "BRPOP l 1",
    "BLMPOP 1 2 no l RIGHT COUNT 2",
    "RPUSH l a b c d e f g h",
    "BLMOVE l l2 LEFT RIGHT 1",
    "BRPOPLPUSH l l2 1",
    "LMOVE l l2 LEFT LEFT",
    "ZADD z 1 a 2 b 3 c 4 d 5 e 6 f",
    "BZPOPMIN z 1",
    "ZMPOP 1 z MIN",
    "BZMPOP 1 1 z MAX COUNT 20",
    "ZADD z INCR 1.5 a",
    "XADD x 1-1 f v",
    "XADD x 1-* f v",
    "XADD x MAXLEN ~ 10 2-1 f v",
    "XADD x MAXLEN ~ 1 LIMIT 5 3-1 f v",
    "XADD x MINID ~ 1-1 4-1 f v",
    "XTRIM x MAXLEN ~ 1",
    "XTRIM x MAXLEN ~ 0 LIMIT 0",
    "XADD x 5-1 f v",
    "XGROUP CREATE x g 0",
    "XADD x 6-1 f v",
    "XADD x 7-1 f v",
    "XREADGROUP GROUP g c COUNT 1 STREAMS x >",
    "XREADGROUP GROUP g c COUNT 2 STREAMS x >",
    "XREADGROUP GROUP g c STREAMS x 0",
    "XADD x 8-1 f v",
    "XREADGROUP GROUP g c3 NOACK STREAMS x >",
    "XCLAIM x g c9 0 6-1",
    "XCLAIM x g c9 0 6-1 IDLE 5 RETRYCOUNT 7 FORCE LASTID 9-1",
    "XDEL x 6-1",
    "XCLAIM x g c9 0 6-1",
    "XCLAIM x g c9 0 6-1 LASTID 10-1",
    "XAUTOCLAIM x g c10 0 0",
    "XAUTOCLAIM x g c10 0 0 JUSTID",
    "XSETID x 11-1 ENTRIESADDED 100 MAXDELETEDID 9-1",
    "FLUSHALL",
    "FLUSHDB ASYNC",
    "SWAPDB 0 1",
    "SELECT 3",
    "SET a 1",
    "COPY a b DB 4",
    "MOVE a 5",
    "SELECT 0",
    "GEOADD geo XX CH 1 1 a",
    "GEOADD geo CH 1 1 a 2 2 b",
    "GEORADIUS geo 1 1 10 km STORE geo3",
    "PFADD hll a b",
    "PFCOUNT hll",
    "PFCOUNT hll",
    "SET a 1",
    "SINTERSTORE a no1 no2",
    "SINTERSTORE a no1 no2",
    "EVAL \"return 1\" 0",
    "EVAL \"redis.call('set','a',1) return 1\" 0",
    "EVAL \"redis.call('set','a',1) redis.call('set','b',1,'px',1000000) redis.call('publish','c','m')\" 0",
    "EVAL \"redis.call('set','a',1) redis.call('select',2) redis.call('set','a',1)\" 0",
    "EVAL \"redis.set_repl(redis.REPL_NONE) redis.call('set','a',1) redis.set_repl(3) redis.call('set','b',1)\" 0",
    "EVAL \"redis.set_repl(redis.REPL_AOF) redis.call('set','a',1)\" 0",
    "EVAL \"redis.set_repl(redis.REPL_AOF) redis.call('set','a',1) redis.set_repl(3) redis.call('set','b',1)\" 0",
    "EVAL \"redis.set_repl(redis.REPL_REPLICA) redis.call('set','a',1)\" 0",
    "SET after 1",
    "EVAL \"redis.call('set','a',1) redis.call('incr','a') error('x')\" 0",
    "FUNCTION LOAD \"#!lua name=l\\nredis.register_function('f',function() return redis.call('set','x',1) end)\"",
    "FCALL f 0",
    "FUNCTION FLUSH",
    "SPUBLISH c m",
    "MULTI",
    "SET a 1",
    "EXEC",
    "CONFIG SET lazyfree-lazy-expire yes lazyfree-lazy-server-del yes lazyfree-lazy-user-del yes",
    "SADD s a",
    "SPOP s 5",
    "SET k 1",
    "GETDEL k",
    "SET k 1",
    "EXPIRE k -1",
    "SET k 1",
    "GETEX k PXAT 1",
];

#[test]
fn each_command_is_sent_as_by_a_real_master() {
    let Some(mut masters) = masters() else { return };
    let mut wrong = Vec::new();
    let mut opens = false;
    for line in LINES {
        let arguments = split(line);
        opens |= *line == "MULTI";
        if opens {
            masters.iter_mut().for_each(|master| _ = master.client.line(line));
            opens = *line != "EXEC";
            if opens {
                continue;
            }
        }
        let mark = if line == &"EXEC" { vec![b"PING".to_vec()] } else { arguments };
        let [real, ours] = masters.each_mut().map(|master| master.run(&mark));
        if !are_same(&real, &ours) {
            wrong.push(format!("{line}\n  real: {}\n  ours: {}", text(&real), text(&ours)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A master of ours, and the names of the commands that replicas get for each of these lines.
#[track_caller]
fn check_names(steps: &[(&str, &[&str])]) {
    let mut master = Master::new(Box::new(ours::server()));
    for (line, expected) in steps {
        let sent = master.run(&split(line));
        let names: Vec<String> =
            sent.iter().map(|words| String::from_utf8_lossy(&words[0]).into_owned()).collect();
        assert_eq!(&names, expected, "{line}: {}", text(&sent));
    }
}

#[test]
fn a_consumer_without_entries_is_sent() {
    check_names(&[
        ("XGROUP CREATE x g $ MKSTREAM", &["SELECT", "XGROUP"]),
        ("XREADGROUP GROUP g c STREAMS x >", &["XGROUP"]),
        ("XREADGROUP GROUP g c STREAMS x >", &[]),
    ]);
}

#[test]
fn newer_commands_are_sent_as_older_ones() {
    check_names(&[
        ("MSET a 1 b 2", &["SELECT", "MSET"]),
        ("SET a 2 IFEQ 1", &["SET"]),
        ("DELIFEQ a 2", &["DEL"]),
        ("HSET h f v g w", &["HSET"]),
        // This replica may be as old as Redis 7.0.
        ("HPEXPIRE h 1000000 FIELDS 1 f", &[]),
        ("HGETDEL h FIELDS 1 f", &["HDEL"]),
    ]);
}

/// Requests that wait, each with one that serves them.
const SERVED: &[(&[&str], &str)] = &[
    (&["BLPOP l 0"], "RPUSH l a"),
    (&["BLPOP l 0", "BRPOP l 0"], "RPUSH l a b c"),
    (
        &["BLMOVE l l2 LEFT RIGHT 0", "BLPOP l2 0"],
        "EVAL \"redis.call('rpush','l','a') redis.call('incr','n')\" 0",
    ),
    (&["BRPOPLPUSH l l2 0"], "LPUSH l a"),
    (&["BLMPOP 0 2 l l3 RIGHT COUNT 3"], "RPUSH l3 a b"),
    (&["BZPOPMIN z 0", "BZPOPMAX z 0"], "ZADD z 1 a 2 b 3 c"),
    (&["BZMPOP 0 1 z MAX COUNT 2"], "ZADD z 5 a"),
    (&["XREADGROUP GROUP g c BLOCK 0 STREAMS x >", "XREAD BLOCK 0 STREAMS x $"], "XADD x 5-1 f v"),
];

#[test]
fn served_waiters_are_sent_as_by_a_real_master() {
    let Some(mut masters) = masters() else { return };
    for (waiting, serving) in SERVED {
        let sent = masters.each_mut().map(|master| {
            master.run(&split("XGROUP CREATE x g $ MKSTREAM"));
            let mut clients: Vec<Client> = Vec::new();
            for line in *waiting {
                let mut client = Client::connect(master.client.peer());
                client.send_line(line);
                clients.push(client);
                let count = clients.len().to_string();
                until("it waits", || info(&mut master.client, "clients", "blocked_clients") == count);
            }
            let sent = master.run(&split(serving));
            clients.iter_mut().for_each(|client| _ = client.read_reply());
            // Commands that are sent for waiters may come after the mark.
            let sent = [sent, master.run(&split("FLUSHALL"))].concat();
            master.run(&split("PING"));
            sent
        });
        // A consumer that waits exists in Redis 7.2 already.
        let [real, ours] = sent.map(without_consumers);
        assert!(are_same(&real, &ours), "{serving}\n  real: {}\n  ours: {}", text(&real), text(&ours));
    }
}

/// Commands that are not sent, or whose replication is tested elsewhere.
const LEFT_OUT: &[&str] = &[
    "select",
    "script|flush",
    "function|kill",
    "subscribe",
    "psubscribe",
    "ssubscribe",
    "flushall",
    "swapdb",
];

fn is_sent(subject: &Subject) -> bool {
    let command: &Command = &subject.command;
    subject.at_random()
        && subject.is_of_redis_server()
        && !subject.is_of_transactions()
        && !command.has(Flags::BLOCKING)
        && command.spec.flags.intersects(Flags::of(&[Flags::WRITE, Flags::MAY_REPLICATE]))
        && !LEFT_OUT.contains(&subject.name())
}

/// Whether a request sets a deadline that has passed, or may pass while the test runs.
fn is_short_lived(requests: &[Request]) -> bool {
    requests.iter().any(|words| {
        let is_timed = words.iter().any(|word| {
            [&b"PXAT"[..], b"PEXPIREAT", b"RESTORE"].iter().any(|name| word.eq_ignore_ascii_case(name))
        });
        let number = |word: &Vec<u8>| std::str::from_utf8(word).ok()?.parse::<i64>().ok();
        is_timed && words.iter().filter_map(number).any(|number| number < TODAY_MS * 2)
    })
}

/// Returns what a real master sends at once: it removes a key whose deadline is in the past only later.
fn without_removal(sent: Vec<Request>) -> Vec<Request> {
    match &sent[..] {
        [_, set, removal, _] if is_short_lived(&sent) && *removal[0] == *b"DEL" => vec![set.clone()],
        _ => sent,
    }
}

/// Leaves out new consumers. Redis 7.2 creates a consumer before its first entry, so one master may have it already.
fn without_consumers(sent: Vec<Request>) -> Vec<Request> {
    let is_end = |words: &Request| matches!(&*words[0], b"MULTI" | b"EXEC");
    let had = sent.len();
    let mut sent: Vec<Request> = sent.into_iter().filter(|words| !creates_consumer(words)).collect();
    // One request needs no transaction.
    if sent.len() < had && sent.len() == 3 {
        sent.retain(|words| !is_end(words));
    }
    sent
}

fn creates_consumer(words: &Request) -> bool {
    words.get(1).is_some_and(|word| word.eq_ignore_ascii_case(b"CREATECONSUMER"))
}

/// Whether only one of the masters refuses a request, by a declared difference.
fn is_declared_refusal(exchange: &Exchange<'_>) -> bool {
    exchange.real.reply.is_error() != exchange.ours.reply.is_error()
        && differences::against(Kind::Redis).iter().any(|difference| (difference.applies)(exchange))
}

#[test]
fn random_commands_are_sent_as_by_a_real_master() {
    let Some(mut masters) = masters() else { return };
    let all = Commands::all();
    let subjects: Vec<&Subject> = all.iter().filter(|subject| is_sent(subject)).collect();
    let mut generator = Generator::new(11);
    let mut wrong = Vec::new();
    for _ in 0..8000 * rounds() {
        let subject = *generator.rng().pick(&subjects);
        let row = subject.command.spec;
        let arguments = generator.command(subject.name(), row.group, &subject.syntax).arguments;
        let [(real, real_answer), (ours, our_answer)] =
            masters.each_mut().map(|master| master.try_run(&arguments));
        let exchange = Exchange { arguments: &arguments, real: &real_answer, ours: &our_answer };
        let (mut real, mut ours) = (real, without_removal(ours));
        if !(creates_consumer(&arguments) && real_answer.reply == our_answer.reply) {
            (real, ours) = (without_consumers(real), without_consumers(ours));
        }
        let chooses = subject.chooses(&arguments) || is_declared_refusal(&exchange);
        if !chooses && !are_same(&real, &ours) && wrong.len() < 20 {
            let line: Vec<String> = arguments.iter().map(|word| word.escape_ascii().to_string()).collect();
            wrong.push(format!("{}\n  real: {}\n  ours: {}", line.join(" "), text(&real), text(&ours)));
        }
        if chooses || is_short_lived(&real) || is_short_lived(&ours) {
            let keys = [vec![b"DEL".to_vec()], subject.keys(&arguments)].concat();
            masters.iter_mut().for_each(|master| _ = master.run(&keys));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
