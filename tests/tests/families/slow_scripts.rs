//! Scripts with a single step that takes long: other clients still get `BUSY`, and a client can rely on the reply that
//! a script was killed. Also tests the time that a script sees.

use lockwheel::Server;
use lockwheel_tests::client::Client;
use lockwheel_tests::differences::newer::as_in_7_2;
use lockwheel_tests::ours::{manual_server, server};
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

const BUSY: &str = "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";

/// A server that considers every script slow at once, with this number of threads.
fn hasty_server(threads: usize) -> Server {
    let server = Server::builder().port(0).seed(7).threads(threads).start().expect("a server starts");
    set_busy_threshold(server.addr());
    server
}

fn set_busy_threshold(addr: SocketAddr) {
    assert_eq!(Client::connect(addr).line("CONFIG SET busy-reply-threshold 1").to_string(), "+OK");
}

/// A script whose reply a separate thread awaits.
struct Running {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Reply>,
}

impl Running {
    fn start(addr: SocketAddr, script: &str) -> Running {
        let ended = Arc::new(AtomicBool::new(false));
        let (script, tell) = (script.to_owned(), ended.clone());
        let thread = std::thread::spawn(move || {
            let mut client = Client::connect(addr);
            client.send(&["EVAL", &script, "0"]);
            let reply = client.read_reply();
            tell.store(true, Ordering::Release);
            reply
        });
        Running { ended, thread }
    }

    /// Sends a request until the server answers that it is busy, at most as long as the script runs.
    fn until_busy(&self, client: &mut Client) -> bool {
        while client.line("PING").to_string() != BUSY {
            if self.ended.load(Ordering::Acquire) {
                return false;
            }
        }
        true
    }

    fn reply(self) -> String {
        self.thread.join().expect("it reads a reply").to_string()
    }
}

/// Scripts that end by themselves after some seconds, in fewer steps than an interpreter would count. The list `l`, the
/// sets `s` and `z` and the places `g` are long.
const DEAR: &[&str] = &[
    "for i = 1, 4000 do redis.call('lpos', 'l', 'none') end",
    "for i = 1, 400 do redis.call('sunion', 's', 'z') end",
    "for i = 1, 400 do redis.call('zunion', 2, 's', 'z') end",
    "for i = 1, 4000 do redis.call('zintercard', 2, 's', 'z') end",
    "for i = 1, 400 do redis.call('geosearch', 'g', 'FROMLONLAT', 0, 0, 'BYRADIUS', 3e4, 'km', 'ASC') end",
    "for i = 1, 400 do redis.call('lrange', 'l', 0, -1) end",
    "local s = string.rep('a = 1 ', 2e5) for i = 1, 200 do loadstring(s) end",
    "local s = string.rep('1', 2e7) for i = 1, 200 do tonumber(s) end",
    "local s = string.rep('x', 2e7) for i = 1, 200 do redis.sha1hex(s) end",
    "local p = string.rep('*?', 50000) for i = 1, 4000 do redis.call('keys', p) end",
    "local t = {1} for i = 1, 30 do t = {t, t} end return t",
    "local t = {1} for i = 1, 30 do t = {map = {a = t, b = t}} end return t",
    "local t = {err = 'MINE x'} for i = 1, 30 do t = {t, t} end return t",
    "local t = {} for i = 1, 5e6 do t[i] = i end return {t, t, t, t}",
];

fn check_busy_and_kill(threads: usize) {
    let server = hasty_server(threads);
    let mut client = Client::connect(server.addr());
    let fill = "for i = 0, 199999, 1000 do local t = {} for j = 1, 1000 do t[j] = i + j end \
        redis.call('rpush', 'l', unpack(t)) redis.call(i < 100000 and 'sadd' or 'scard', 's', unpack(t, 1, \
        i < 100000 and 1000 or 0)) redis.call('sadd', 'z', unpack(t)) \
        local g = {} for j = 1, 100 do g[3 * j - 2], g[3 * j - 1], g[3 * j] = j, i % 85, i + j end \
        redis.call('geoadd', 'g', unpack(g)) end \
        for i = 1, 1000 do redis.call('set', string.rep('k', 40) .. i, 1) end";
    assert_eq!(client.cmd(&["EVAL", fill, "0"]).to_string(), "(nil)");
    for script in DEAR {
        let running = Running::start(server.addr(), script);
        assert!(running.until_busy(&mut client), "{script} came to its end and nobody was told");
        assert_eq!(client.line("SCRIPT KILL").to_string(), "+OK", "{script}");
        let reply = running.reply();
        assert!(
            reply.starts_with("-ERR Script killed by user with SCRIPT KILL..."),
            "{script}: {reply:.200}"
        );
        assert_eq!(client.line("PING").to_string(), "+PONG");
    }
}

#[test]
fn clients_get_busy_in_expensive_commands_and_can_kill_on_one_thread() {
    check_busy_and_kill(1);
}

#[test]
fn clients_get_busy_in_expensive_commands_and_can_kill_on_two_threads() {
    check_busy_and_kill(2);
}

#[test]
fn after_the_reply_to_a_kill_the_script_has_no_effect() {
    for threads in [1, 2, 4] {
        let server = hasty_server(threads);
        let mut client = Client::connect(server.addr());
        for attempt in 0..50 {
            let script = format!(
                "local t = {{}} for i = 1, 7000 do t[i] = i + 0.5 end for i = 1, {} do end \
                 redis.call('rpush', 'k', unpack(t)) return 1",
                40_000 * attempt
            );
            let running = Running::start(server.addr(), &script);
            let killed = running.until_busy(&mut client) && client.line("SCRIPT KILL").to_string() == "+OK";
            let reply = running.reply();
            assert_eq!(reply.contains("Script killed by user"), killed, "{attempt}: {reply}");
            assert_eq!(client.line("DEL k").to_string(), if killed { ":0" } else { ":1" }, "{attempt}");
        }
    }
}

/// The answers of one server to a few requests, while a script is slow and after it.
fn kills_in_transactions(addr: SocketAddr) -> Vec<String> {
    set_busy_threshold(addr);
    let mut client = Client::connect(addr);
    let mut answers = Vec::new();
    let mut ask = |client: &mut Client, lines: &[&str]| {
        lines.iter().for_each(|line| answers.push(format!("{line}: {}", client.line(line))));
    };
    ask(&mut client, &["MULTI", "SCRIPT KILL", "EXEC"]);
    for lines in [
        &["MULTI", "SCRIPT KILL", "EXEC", "EXEC", "DISCARD"][..],
        &["MULTI", "PING", "SCRIPT KILL", "EXEC", "DISCARD"],
        &["MULTI", "SCRIPT KILL", "SHUTDOWN NOSAVE", "SCRIPT KILL", "DISCARD"],
        &["EXEC", "MULTI", "MULTI", "SCRIPT KILL now", "DISCARD"],
    ] {
        let running = Running::start(addr, "while true do end");
        assert!(running.until_busy(&mut client));
        ask(&mut client, lines);
        ask(&mut client, &["SCRIPT KILL"]);
        assert!(running.reply().contains("Script killed by user"));
        ask(&mut client, &["EXEC", "PING"]);
    }
    answers
}

#[test]
fn a_kill_within_a_transaction_is_queued_as_by_redis() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let expected = kills_in_transactions(real.addr());
    for threads in [1, 2] {
        let server = hasty_server(threads);
        assert_eq!(kills_in_transactions(server.addr()), expected);
    }
}

/// Waits until TIME has advanced by this number of microseconds. Returns the number of readings.
fn waiting_for_time(us: u64) -> String {
    format!(
        "local function now() local t = redis.call('time') return t[1] * 1000000 + t[2] end \
         local start, looks = now(), 0 \
         while now() < start + {us} do looks = looks + 1 end "
    )
}

#[test]
fn a_script_that_polls_the_time_ends_once_it_is_slow() {
    let server = hasty_server(1);
    let script = format!("{} return looks > 0", waiting_for_time(50_000));
    assert_eq!(Client::connect(server.addr()).cmd(&["EVAL", &script, "0"]).to_string(), ":1");
}

#[test]
fn a_script_that_polls_the_time_ends_with_the_default_threshold() {
    let server = server();
    let script = format!("{} return looks > 0", waiting_for_time(5_000));
    assert_eq!(Client::connect(server.addr()).cmd(&["EVAL", &script, "0"]).to_string(), ":1");
}

#[test]
fn the_time_does_not_advance_in_a_script_that_is_not_slow() {
    let script = "local a = redis.call('time') for i = 1, 1e6 do end local b = redis.call('time') \
        return a[1] == b[1] and a[2] == b[2]";
    let stands = |address| Client::connect(address).cmd(&["EVAL", script, "0"]).to_string();
    assert_eq!(stands(server().addr()), ":1");
    for &kind in as_in_7_2("TIME does not advance within a script") {
        if let Some(real) = RealServer::start(kind, &[]) {
            assert_eq!(stands(real.addr()), ":1");
        }
    }
}

#[test]
fn only_the_time_advances_in_a_slow_script() {
    let server = hasty_server(1);
    let mut client = Client::connect(server.addr());
    let script = format!(
        "redis.call('set', 'k', 'v', 'px', 10) {} redis.call('set', 'l', 'v', 'px', 10) \
         return {{redis.call('pttl', 'k'), redis.call('get', 'k'), redis.call('pttl', 'l'), \
         redis.call('pexpiretime', 'l') - redis.call('pexpiretime', 'k'), redis.call('dbsize')}}",
        waiting_for_time(50_000)
    );
    assert_eq!(client.cmd(&["EVAL", &script, "0"]).to_string(), "[:10, \"v\", :10, :0, :2]");
    assert_eq!(client.line("DBSIZE").to_string(), ":0", "they are due as soon as the script has ended");
}

#[test]
fn a_frozen_clock_does_not_advance_in_a_slow_script() {
    let server = manual_server();
    set_busy_threshold(server.addr());
    let mut client = Client::connect(server.addr());
    let running = Running::start(server.addr(), &waiting_for_time(1));
    assert!(running.until_busy(&mut client));
    assert_eq!(client.line("SCRIPT KILL").to_string(), "+OK");
    assert!(running.reply().contains("Script killed by user"));
}
