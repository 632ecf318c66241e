//! Requests that are refused after a background save has failed, and the paths of saves: as in redis-server.

use lockwheel::{Config, Server};
use lockwheel_engine::config::Permission;
use lockwheel_tests::client::Client;
use lockwheel_tests::differences;
use lockwheel_tests::ours;
use lockwheel_tests::pair::Pair;
use lockwheel_tests::redis_server::{Kind, RealServer};
use std::fs;
use std::path::{Path, PathBuf};

const OPTIONS: [&str; 4] = ["--enable-protected-configs", "yes", "--save", "3600 1000000"];

/// Both servers, each in its own directory.
struct Both {
    real: RealServer,
    ours: Server,
    directory: PathBuf,
}

impl Both {
    /// Starts both servers. Returns `None` if there is no redis-server.
    fn start(name: &str) -> Option<Both> {
        let real = RealServer::start(Kind::Redis, &OPTIONS)?;
        let directory = std::env::temp_dir().join(format!("lockwheel-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("it can be made");
        let mut config = Config::default();
        config.enable_protected_configs = Permission::Yes;
        config.saves.points = ["3600", "1000000"].map(str::to_owned).into();
        let ours = ours::configured(config).start().expect("loopback has a free port");
        let mut client = Client::connect(ours.addr());
        let set = client.cmd(&["CONFIG", "SET", "dir", &directory.to_string_lossy()]);
        assert_eq!(set.to_string(), "+OK");
        Some(Both { real, ours, directory })
    }

    fn pair(&self) -> Pair {
        let connect = |address| Client::connect_resp3(address);
        Pair::new(connect(self.real.addr()), connect(self.ours.addr()), differences::against(Kind::Redis))
    }

    /// Performs the same change in both directories.
    fn in_both(&self, change: impl Fn(&Path)) {
        change(self.real.directory());
        change(&self.directory);
    }
}

impl Drop for Both {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.directory);
    }
}

/// Runs a background save on both servers. Returns whether it succeeded.
fn save(pair: &mut Pair) -> bool {
    pair.check("BGSAVE");
    let info = |client: &mut Client| {
        let info = client.line("INFO persistence");
        String::from_utf8_lossy(info.as_bytes().expect("a text")).into_owned()
    };
    let (real, ours) = pair.clients();
    [real, ours].map(|client| {
        while info(client).contains("rdb_bgsave_in_progress:1") {}
        info(client).contains("rdb_last_bgsave_status:ok")
    }) == [true; 2]
}

const REQUESTS: [&str; 18] = [
    "SET k v",
    "GET k",
    "PING",
    "PUBLISH c m",
    "XREAD COUNT 1 STREAMS s 0",
    "EVAL 'return redis.call([[SET]], KEYS[1], 1)' 1 k",
    "EVAL 'return redis.pcall([[SET]], KEYS[1], 1)' 1 k",
    "EVAL 'return redis.call([[PING]])' 0",
    "EVAL_RO 'return redis.call([[GET]], KEYS[1])' 1 k",
    "EVAL '#!lua\nreturn 1' 0",
    "EVAL '#!lua flags=no-writes\nreturn 1' 0",
    "BLPOP l 0.01",
    "DEL k",
    "FLUSHALL",
    "FUNCTION FLUSH",
    "PFCOUNT h",
    "CONFIG GET stop-writes-on-bgsave-error",
    "CLIENT GETNAME",
];

/// Sends each request, inside and outside a transaction.
fn ask_all(pair: &mut Pair) {
    for request in REQUESTS {
        pair.check(request);
        pair.check("MULTI").check(request).check("EXEC");
    }
}

#[test]
fn after_a_failed_save_writes_are_refused_as_by_redis() {
    let Some(both) = Both::start("failed-saves") else { return };
    let mut pair = both.pair();
    pair.check("CONFIG SET dbfilename taken").check("SET k v").check("XADD s 1-1 f v");
    both.in_both(|directory| fs::create_dir(directory.join("taken")).expect("it can be made"));
    assert!(!save(&mut pair));
    ask_all(&mut pair);
    let [_, ours] = { pair.check("SET k v").last() };
    assert!(ours.reply.to_string().starts_with("-MISCONF "), "{}", ours.reply);
    for [no, yes] in [
        ["stop-writes-on-bgsave-error no", "stop-writes-on-bgsave-error yes"],
        ["save ''", "save '60 1000000'"],
    ] {
        pair.check(&format!("CONFIG SET {no}")).check("SET k v");
        ask_all(&mut pair);
        pair.check(&format!("CONFIG SET {yes}")).check("SET k v");
    }
    // A transaction that was queued before the failure is refused as a whole.
    pair.check("CONFIG SET save ''").check("MULTI").check("SET k w").check("PING");
    let mut other = both.pair();
    other.check("CONFIG SET save '60 1000000'");
    pair.check("EXEC").check("GET k");
    both.in_both(|directory| fs::remove_dir(directory.join("taken")).expect("it is empty"));
    assert!(save(&mut pair));
    ask_all(&mut pair);
}

#[test]
fn config_set_dir_replies_as_on_redis() {
    let Some(both) = Both::start("directories") else { return };
    let mut pair = both.pair();
    both.in_both(|directory| {
        fs::create_dir(directory.join("sub")).expect("it can be made");
        fs::write(directory.join("file"), "").expect("it can be made");
    });
    for dir in ["nowhere", "''", "file", "sub/../nowhere", "/dev/null"] {
        pair.check(&format!("CONFIG SET dir {dir}"));
        let [_, ours] = pair.last();
        assert!(ours.reply.is_error(), "{dir}: {}", ours.reply);
    }
    let told = |pair: &mut Pair| {
        let (real, ours) = pair.clients();
        [real, ours].map(|client| {
            let reply = client.cmd(&["CONFIG", "GET", "dir"]).to_string();
            reply.trim_end_matches(['"', '}', ']']).to_string()
        })
    };
    let before = told(&mut pair);
    pair.check("CONFIG SET dir sub");
    assert_eq!(told(&mut pair), before.clone().map(|path| path + "/sub"));
    pair.check("SET k v").check("SAVE");
    both.in_both(|directory| assert!(directory.join("sub/dump.rdb").is_file()));
    // All parameters of a request are set, or none.
    pair.check("CONFIG SET dir .. maxclients none");
    assert_eq!(told(&mut pair), before.clone().map(|path| path + "/sub"));
    pair.check("CONFIG SET dir ..");
    assert_eq!(told(&mut pair), before);
}
