//! Several clients of a real server and of ours: the frames that each receives because of one request, compared one by
//! one.

use lockwheel::Config;
use lockwheel_tests::client::{Client, Protocol, split};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use std::net::SocketAddr;

/// The end mark of a connection's frames, answered by PING or ECHO.
const MARKER: &[u8] = b"(that is all)";

/// The end mark between MULTI and EXEC: the answer to another MULTI.
const NESTED: &str = "ERR MULTI calls can not be nested";

/// Clients of one server.
struct Clients {
    all: Vec<Client>,
    ids: Vec<i64>,
    /// The numbers of those that are gone.
    gone: Vec<i64>,
    /// Whether each client is between MULTI and EXEC.
    queueing: Vec<bool>,
}

impl Clients {
    fn new(address: SocketAddr, protocols: &[Protocol]) -> Self {
        let mut all: Vec<Client> =
            protocols.iter().map(|&protocol| Client::connect_with(address, protocol)).collect();
        let ids = all.iter_mut().map(|client| client.line("CLIENT ID").as_int().expect("a number")).collect();
        let queueing = vec![false; all.len()];
        Clients { all, ids, gone: Vec::new(), queueing }
    }

    /// Sends a line, in which `$1` is the number of client 1. Reads the frames that each client then receives, the
    /// sender first.
    fn frames_after(&mut self, sender: usize, line: &str) -> Vec<Vec<Reply>> {
        let ids = self.ids.clone();
        let name = |word: Vec<u8>| match word.strip_prefix(b"$") {
            Some(index) => ids
                [String::from_utf8_lossy(index).parse::<usize>().expect("the number of a client")]
            .to_string()
            .into_bytes(),
            None => word,
        };
        let words: Vec<Vec<u8>> = split(line).into_iter().map(name).collect();
        self.all[sender].send(&words);
        match line {
            "MULTI" => self.queueing[sender] = true,
            "EXEC" | "DISCARD" | "RESET" => self.queueing[sender] = false,
            _ => {}
        }
        // Broadcasts follow the batch of requests, so the marker is sent in its own batch.
        let mut first =
            if line.contains("SUBSCRIBE") { Vec::new() } else { until_reply(&mut self.all[sender]) };
        let clients = self.all.len();
        // The messages to the others are on their way once the sender has its answer.
        let mut told: Vec<Vec<Reply>> =
            (0..clients).map(|at| (sender + at) % clients).map(|at| self.until_marker(at)).collect();
        first.append(&mut told[0]);
        told[0] = first;
        // Numbers of clients differ between the servers.
        let is_broken = |frame: &Reply| match frame {
            Reply::Push(items) => items.len() == 2 && matches!(items[1], Reply::Int(_)),
            _ => false,
        };
        let tells_numbers = |frame: &Reply| line.starts_with("CLIENT ") || is_broken(frame);
        let named = told.iter_mut().flatten().filter(|frame| tells_numbers(frame));
        let known = [self.ids.clone(), self.gone.clone()].concat();
        named.for_each(|frame| renamed(frame, &known));
        told
    }

    fn until_marker(&mut self, index: usize) -> Vec<Reply> {
        let client = &mut self.all[index];
        match self.queueing[index] {
            // The marker is not queued, and leaves the transaction as it is.
            true => client.send_line("MULTI"),
            false => client.send(&[b"PING".as_slice(), MARKER]),
        }
        let mut frames = Vec::new();
        loop {
            let frame = client.read_frame();
            let is_marker = match &frame {
                Reply::Bulk(text) => text == MARKER,
                Reply::Error(text) => text == NESTED,
                Reply::Array(items) => items.last().and_then(Reply::as_bytes) == Some(MARKER),
                _ => false,
            };
            if is_marker {
                return frames;
            }
            frames.push(frame);
        }
    }
}

/// Returns a client's frames up to its reply.
fn until_reply(client: &mut Client) -> Vec<Reply> {
    let is_message = |frame: &Reply| match frame {
        Reply::Push(_) => true,
        Reply::Array(items) => items.first().and_then(Reply::as_bytes) == Some(b"message".as_slice()),
        _ => false,
    };
    let mut frames = vec![client.read_frame()];
    while is_message(&frames[frames.len() - 1]) {
        frames.push(client.read_frame());
    }
    frames
}

/// Replaces clients' numbers by their indexes.
fn renamed(reply: &mut Reply, ids: &[i64]) {
    match reply {
        Reply::Int(number) => {
            if let Some(at) = ids.iter().position(|id| id == number) {
                *number = 1_000_000 + at as i64;
            }
        }
        Reply::Array(items) | Reply::Push(items) => items.iter_mut().for_each(|item| renamed(item, ids)),
        Reply::Map(fields) => fields.iter_mut().for_each(|(_, value)| renamed(value, ids)),
        _ => {}
    }
}

/// Clients of a real server and of ours, which receive the same frames.
pub(crate) struct ServerPair {
    servers: [Clients; 2],
    sent: String,
    _real: RealServer,
    _ours: lockwheel::Server,
}

impl ServerPair {
    /// Whether a client is between MULTI and EXEC.
    pub(crate) fn is_queueing(&self, client: usize) -> bool {
        self.servers[0].queueing[client]
    }

    /// Starts with a client for each protocol. Returns `None` if there is no redis-server.
    pub(crate) fn start(protocols: &[Protocol]) -> Option<Self> {
        let real = RealServer::start(Kind::Redis, &["--enable-debug-command", "yes"])?;
        // Each server has its own file.
        let mut config = Config::default();
        config.dir = real.directory().to_string_lossy().into_owned();
        "ours.rdb".clone_into(&mut config.saves.dbfilename);
        let ours = ours::configured(config).start().expect("loopback has a free port");
        let servers = [real.addr(), ours.addr()].map(|address| Clients::new(address, protocols));
        Some(ServerPair { servers, sent: String::new(), _real: real, _ours: ours })
    }

    /// Lets the first client disconnect another one, which is then no longer among them.
    fn kill(&mut self, index: usize) {
        for clients in &mut self.servers {
            let id = clients.ids.remove(index);
            clients.gone.push(id);
            clients.queueing.remove(index);
            drop(clients.all.remove(index));
            // The client may be gone already.
            let _killed = clients.all[0].line(&format!("CLIENT KILL ID {id}"));
        }
    }

    /// Sends a client's line, and requires that both servers send everybody the same frames. Returns these.
    #[track_caller]
    pub(crate) fn same(&mut self, sender: usize, line: &str) -> Vec<Vec<Reply>> {
        self.sent.push_str(&format!("{sender}> {line}\n"));
        let [real, ours] = self.servers.each_mut().map(|clients| clients.frames_after(sender, line));
        assert!(real == ours, "{}\n real: {real:?}\n ours: {ours:?}", self.sent);
        ours
    }
}

/// Runs lines `n> words`, n the client, on both servers.
#[track_caller]
fn lines(protocols: &[Protocol], script: &str) {
    let Some(mut servers) = ServerPair::start(protocols) else { return };
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (sender, words) = line.split_once("> ").expect("a line is `n> words`");
        servers.same(sender.parse().expect("the number of a client"), words);
    }
}

const THREE: Protocol = Protocol::Resp3;
const TWO: Protocol = Protocol::Resp2;

#[test]
fn client_tracking_checks_its_options_as_redis_does() {
    lines(
        &[TWO],
        "0> CLIENT TRACKING foo
         0> CLIENT TRACKING on foo
         0> CLIENT TRACKING on redirect
         0> CLIENT TRACKING on redirect 99999
         0> CLIENT TRACKING on redirect -1
         0> CLIENT TRACKING on redirect x
         0> CLIENT TRACKING on redirect $0 redirect $0
         0> CLIENT TRACKING on redirect $0
         0> CLIENT GETREDIR
         0> CLIENT TRACKINGINFO
         0> CLIENT TRACKING on prefix a
         0> CLIENT TRACKING on bcast
         0> CLIENT TRACKING off
         0> CLIENT GETREDIR
         0> CLIENT TRACKING on bcast optin
         0> CLIENT TRACKING on optin optout
         0> CLIENT TRACKING off redirect 99999
         0> CLIENT TRACKING foo bcast prefix a
         0> CLIENT CACHING yes
         0> CLIENT CACHING foo
         0> CLIENT TRACKING on optin
         0> CLIENT CACHING no
         0> CLIENT CACHING foo
         0> CLIENT TRACKING on optout
         0> CLIENT TRACKING on bcast
         0> CLIENT TRACKING on
         0> CLIENT TRACKINGINFO
         0> CLIENT TRACKING on noloop
         0> CLIENT TRACKINGINFO
         0> CLIENT TRACKING off
         0> CLIENT TRACKING on optout
         0> CLIENT CACHING yes
         0> CLIENT TRACKING on bcast prefix b
         0> CLIENT TRACKING off
         0> CLIENT TRACKINGINFO
         0> CLIENT TRACKING on bcast prefix b prefix a prefix c
         0> CLIENT TRACKING on bcast prefix ab
         0> CLIENT TRACKING on bcast prefix z prefix ab
         0> CLIENT TRACKING on bcast prefix \"\"
         0> CLIENT TRACKING on bcast prefix x prefix y noloop
         0> CLIENT TRACKINGINFO
         0> CLIENT TRACKING on bcast
         0> CLIENT TRACKINGINFO
         0> RESET
         0> CLIENT TRACKINGINFO",
    );
}

#[test]
fn a_reload_invalidates_all_keys_once() {
    lines(
        &[THREE, THREE, THREE, TWO],
        "0> CLIENT TRACKING on
         1> CLIENT TRACKING on bcast
         3> SET k 1
         0> GET k
         3> WATCH k
         3> MULTI
         3> PING
         2> DEBUG RELOAD
         3> EXEC
         3> WATCH nothing
         3> MULTI
         3> PING
         2> DEBUG RELOAD
         3> EXEC
         2> SET k 2
         0> GET k
         2> DEBUG RELOAD NOSAVE
         2> SET k 3
         0> GET k
         2> SET k 4
         0> DEBUG RELOAD
         0> DEBUG RELOAD NOSAVE
         0> DEBUG RELOAD NOSAVE NOFLUSH MERGE",
    );
}

#[test]
fn a_tracking_client_gets_one_invalidation_per_read_key() {
    lines(
        &[THREE, THREE, TWO],
        "0> CLIENT TRACKING on
         0> GET k
         1> SET k 1
         1> SET k 2
         0> MGET k j k
         0> SET k 3
         1> DEL j
         1> DEL j
         0> HGETALL h
         1> HSET h f v
         0> SUNION a b c
         2> SADD c x
         0> GET a
         1> DEL nothing
         0> LPOP l
         1> RPUSH l x
         0> EXISTS k l
         1> EXPIRE k 100
         1> PERSIST l
         1> RENAME l m
         0> TYPE m
         1> RENAME m l
         0> SELECT 3
         0> GET k
         2> SET k other
         0> GET k
         2> SWAPDB 0 3
         2> FLUSHDB
         0> GET k
         2> FLUSHALL
         0> FLUSHALL
         0> FLUSHDB
         0> SET x v
         0> CLIENT TRACKING off
         0> GET k
         1> SET k 1
         0> CLIENT TRACKING on
         1> SET k 2
         0> GET x
         0> CLIENT TRACKING off
         0> CLIENT TRACKING on
         1> SET x 1",
    );
}

#[test]
fn invalidations_follow_the_end_of_scripts_and_transactions() {
    lines(
        &[THREE, THREE],
        "0> CLIENT TRACKING on
         0> GET k
         0> MULTI
         0> SET k 1
         0> GET k
         0> SET k 2
         0> FLUSHDB
         0> FLUSHDB
         0> EXEC
         0> EVAL \"redis.call('get', 'x')\" 2 k j
         1> MSET x 1 k 1 j 1
         0> EVAL \"redis.call('set', 'x', 1)\" 2 k j
         1> MSET x 1 k 1 j 1
         0> EVAL_RO \"return redis.call('ping')\" 1 k
         1> SET k 1
         0> EVAL_RO \"return redis.call('get', KEYS[1])\" 1 k
         0> EVAL \"redis.call('set', KEYS[1], 1) return redis.call('get', KEYS[1])\" 1 k
         1> SET k 1
         0> MULTI
         0> EVAL \"return redis.call('get', KEYS[1])\" 1 k
         0> EXEC
         1> MULTI
         1> SET k 1
         1> SET j 1
         1> EXEC
         0> WATCH k
         1> SET k 2
         0> UNWATCH
         0> LRANGE k 0 -1
         1> SET k 3",
    );
}

#[test]
fn client_caching_chooses_the_tracked_requests() {
    lines(
        &[THREE, THREE],
        "0> CLIENT TRACKING on optin
         0> GET k
         1> SET k 1
         0> CLIENT CACHING yes
         0> CLIENT TRACKINGINFO
         0> CLIENT ID
         0> GET k
         1> SET k 2
         0> CLIENT CACHING yes
         0> MULTI
         0> GET k
         0> GET j
         0> EXEC
         1> SET j 1
         1> SET k 1
         0> CLIENT TRACKING off
         0> CLIENT TRACKING on optout
         0> GET k
         1> SET k 2
         0> CLIENT CACHING no
         0> GET k
         1> SET k 2
         0> CLIENT CACHING no
         0> NOSUCH
         0> GET k
         1> SET k 2",
    );
}

#[test]
fn bcast_invalidates_by_prefix_and_noloop_skips_own_changes() {
    lines(
        &[THREE, THREE, THREE],
        "0> CLIENT TRACKING on bcast prefix a: prefix b:
         1> CLIENT TRACKING on bcast noloop
         2> SET a:1 x
         2> MSET b:2 x a:3 x c:1 x b:1 x
         1> SET a:1 x
         0> SET a:1 x
         1> EVAL \"redis.call('set', KEYS[1], 1)\" 1 a:1
         1> MULTI
         1> SET a:1 1
         1> SET b:1 1
         1> EXEC
         2> FLUSHALL
         1> FLUSHALL
         1> SET a:1 1 EX 100
         2> DEL a:1
         0> CLIENT TRACKING on bcast prefix c
         2> MSET b:2 x a:3 x c:1 x b:1 x
         0> CLIENT TRACKING off
         2> MSET b:2 x a:3 x c:1 x b:1 x
         0> CLIENT TRACKING on noloop
         0> MGET k1 k2
         0> SET k1 x
         0> EVAL \"redis.call('set', KEYS[1], 1)\" 1 k2
         0> GET k1
         2> SET k1 x",
    );
}

#[test]
fn invalidations_are_redirected_to_another_client() {
    lines(
        &[TWO, TWO, THREE, THREE],
        "0> CLIENT TRACKING on redirect $1
         0> GET k
         3> SET k 1
         1> SUBSCRIBE __redis__:invalidate
         0> GET k
         3> SET k 1
         0> GET k
         0> SET k 2
         3> FLUSHALL
         2> CLIENT TRACKING on redirect $1
         2> GET k
         0> GET k
         3> SET k 5
         1> UNSUBSCRIBE
         2> GET k
         3> SET k 5
         1> SUBSCRIBE another
         2> GET k
         3> SET k 5
         0> CLIENT TRACKING off
         0> CLIENT TRACKING on redirect $2 bcast
         3> MSET x 1 y 2
         2> CLIENT TRACKING off
         2> CLIENT TRACKING on redirect $2
         2> GET k
         2> SET k 1",
    );
}

#[test]
fn a_broken_redirection_is_reported() {
    let Some(mut servers) = ServerPair::start(&[THREE, TWO, THREE]) else { return };
    servers.same(0, "CLIENT TRACKING on redirect $1");
    servers.same(0, "GET k");
    servers.kill(1);
    servers.same(1, "SET k 1");
    servers.same(1, "SET k 1");
    servers.same(0, "GET k");
    servers.same(0, "SET k 1");
    servers.same(0, "CLIENT GETREDIR");
    servers.same(1, "FLUSHALL");
    servers.same(0, "CLIENT TRACKING on");
    servers.same(0, "CLIENT TRACKINGINFO");
}

/// A client that names an expired key is notified behind the reply, and others are, too.
#[test]
fn an_expired_key_is_invalidated_after_the_reply() {
    lines(
        &[THREE, THREE, TWO],
        "0> DEBUG SET-ACTIVE-EXPIRE 0
         0> CLIENT TRACKING on
         1> CLIENT TRACKING on
         0> MULTI
         0> MSET x 1 y 2 z 3 v 4 w 5
         0> PEXPIRE y 1
         0> PEXPIRE z 1
         0> PEXPIRE v 1
         0> PEXPIRE w 1
         0> MGET x y z v w
         0> EVAL \"return redis.call('get', KEYS[1])\" 1 w
         0> EXEC
         0> DEBUG SLEEP 0.01
         0> MGET x y z
         1> EXISTS v
         0> GET y
         0> EVAL \"return redis.call('get', KEYS[1])\" 1 w
         0> SET y 1
         1> SET y 1
         2> CLIENT TRACKING on REDIRECT $0
         2> MULTI
         2> SET x 1 PX 1
         2> GET x
         2> EXEC
         0> DEBUG SLEEP 0.01
         0> STRLEN x",
    );
}

#[test]
fn keyspace_events_follow_the_invalidation_of_a_key() {
    lines(
        &[THREE, THREE],
        "0> CONFIG SET notify-keyspace-events KEA
         0> CLIENT TRACKING on
         0> PSUBSCRIBE *
         0> GET k
         1> SET k 1
         0> GET k
         1> APPEND k 1
         0> GET k
         1> DEL k
         0> MGET k j
         1> EVAL \"redis.call('publish', 'c', 1) redis.call('set', KEYS[1], 1) redis.call('publish', 'c', 2)\" 1 k
         0> MGET k j
         1> COPY k j
         0> MGET k j
         1> LPUSH l x
         0> LRANGE l 0 -1
         1> LPUSH l y",
    );
}
