//! The loading of the data at the start: clients are answered meanwhile, as by redis-server.

use super::{Directory, Keeper, Kept, ask, info, request};
use lockwheel_tests::client::Client;
use lockwheel_tests::redis_server::free_port;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};

/// The number of keys in the files.
const KEYS: usize = 3000;

/// The options with which a load lasts until a test ends it.
const SLOW: [&str; 4] = ["--key-load-delay", "20000", "--loading-process-events-interval-bytes", "1024"];

/// A program that loads its data, killed when dropped.
struct Loading {
    child: Child,
    port: u16,
}

impl Loading {
    /// Starts a program in a directory with data. Returns once it accepts clients. `None`: it is not installed.
    fn start(keeper: Keeper, directory: &Directory, options: &[&str]) -> Option<Loading> {
        let path = keeper.path()?;
        loop {
            let port = free_port();
            let mut command = Command::new(&path);
            command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "3600 1"]);
            command
                .args(["--enable-debug-command", "yes", "--dir"])
                .arg(&directory.0)
                .args(SLOW)
                .args(options);
            let (input, output) = (Stdio::null(), Stdio::piped());
            let mut child =
                command.stdin(input).stdout(output).stderr(Stdio::null()).spawn().expect("it starts");
            while child.try_wait().expect("it is a child").is_none() {
                if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                    return Some(Loading { child, port });
                }
            }
            let mut log = String::new();
            child.stdout.take().expect("it is a pipe").read_to_string(&mut log).expect("the log is text");
            assert!(log.contains("Address already in use"), "{keeper:?}: {log}");
        }
    }

    fn client(&self) -> Client {
        Client::connect((Ipv4Addr::LOCALHOST, self.port))
    }

    /// Waits until the program has ended. Returns its exit code and its log.
    fn end(mut self) -> (Option<i32>, String) {
        let mut log = String::new();
        let out = self.child.stdout.as_mut().expect("it is a pipe");
        out.read_to_string(&mut log).expect("the log is text");
        (self.child.wait().expect("it is a child").code(), log)
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        // Errors mean that the program has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    Saved,
    Base,
    Increment,
}

impl File {
    /// Returns a directory with such a file of many keys.
    fn write(self) -> Directory {
        let directory = Directory::new();
        let appendonly = if self == File::Saved { "no" } else { "yes" };
        let options = ["--appendonly", appendonly, "--rdbcompression", "no"];
        // Our saved files are of 7.2: redis-server of 7.0 reads its own.
        let by_redis = (self == File::Saved).then(|| Kept::of(Keeper::Redis, &directory, &options)).flatten();
        let kept = by_redis.unwrap_or_else(|| Kept::ours(&directory, &options));
        let mut client = kept.client();
        // Redis looks at its clients after each kilobyte of a saved file.
        let value = "v".repeat(1024);
        let keys: Vec<u8> = (0..KEYS).flat_map(|key| request(&format!("SET key:{key} {value}"))).collect();
        client.send_raw(&keys);
        for _ in 0..KEYS {
            assert!(client.try_read_frame().expect("it is there").is_some());
        }
        match self {
            File::Saved => assert_eq!(ask(&mut client, "SAVE"), "+OK"),
            File::Base => {
                ask(&mut client, "BGREWRITEAOF");
                super::await_rewrite(&mut client);
            }
            File::Increment => {}
        }
        kept.kill();
        directory
    }

    fn options(self) -> [&'static str; 2] {
        ["--appendonly", if self == File::Saved { "no" } else { "yes" }]
    }
}

/// Requests, and how a server that loads its data answers them.
const REQUESTS: &str = "PING GET_a SET_a_b DBSIZE SAVE BGSAVE BGREWRITEAOF EXEC WAIT_0_0 REPLICAOF_NO_ONE PSYNC_?_-1 \
    SYNC EVAL_return(1)_0 SCRIPT_EXISTS_a SCRIPT_FLUSH FUNCTION_LIST FUNCTION_STATS FUNCTION_FLUSH MEMORY_DOCTOR \
    MEMORY_USAGE_a CONFIG_SET_appendonly_yes CONFIG_SET_maxclients_5000_appendonly_no CONFIG_SET_maxclients_5000 \
    CONFIG_GET_maxclients SELECT_1 ECHO_a TIME_a LASTSAVE_a ROLE PUBLISH_a_b WATCH_a UNWATCH ACL_WHOAMI nosuch GET \
    SHUTDOWN_ABORT FLUSHALL FAILOVER SWAPDB_0_1 CLIENT_GETNAME SUBSCRIBE_x QUIT";

#[test]
fn a_server_that_loads_its_data_answers_as_redis_does() {
    let directory = File::Saved.write();
    let mut answers = Vec::new();
    for keeper in [Keeper::Ours, Keeper::Redis] {
        let Some(server) = Loading::start(keeper, &directory, &[]) else { return };
        let answer = |line: &str| {
            let mut client = server.client();
            format!("{line}: {}", ask(&mut client, &line.replace('_', " ")))
        };
        answers.push(REQUESTS.split_whitespace().map(answer).collect::<Vec<_>>());
        let mut client = server.client();
        let transaction = ["MULTI", "ECHO a", "GET a", "EXEC"].map(|line| ask(&mut client, line));
        answers.last_mut().expect("it was added").extend(transaction);
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0][0], "PING: -LOADING Redis is loading the dataset in memory");
}

#[test]
fn our_own_controls_wait_for_the_data() {
    let directory = File::Saved.write();
    let server = Loading::start(Keeper::Ours, &directory, &[]).expect("it is there");
    let mut client = server.client();
    for line in
        ["CONTROL.RESET", "CLOCK.FREEZE", "FAULT.LIST", "DEBUG RELOAD", "DEBUG LOADAOF", "DEBUG POPULATE 9"]
    {
        assert_eq!(ask(&mut client, line), "-LOADING Redis is loading the dataset in memory", "{line}");
    }
}

/// Ends the load, and waits until the server is ready. Returns the number of keys.
fn finish(server: &Loading) -> String {
    let mut client = server.client();
    assert_eq!(ask(&mut client, "CONFIG SET key-load-delay 0"), "+OK");
    while info(&mut client, "loading") == "1" {}
    ask(&mut client, "DBSIZE")
}

/// Returns the fields of INFO about a load, with their values.
fn fields(client: &mut Client) -> Vec<(String, f64)> {
    let info = client.line("INFO persistence");
    let text = String::from_utf8_lossy(info.as_bytes().expect("a text")).into_owned();
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    let of_load = pairs.filter(|(name, _)| name.contains("loading"));
    of_load.map(|(name, value)| (name.to_owned(), value.parse().expect("a number"))).collect()
}

#[test]
fn info_tells_how_far_the_load_is() {
    for (keeper, file) in [
        (Keeper::Ours, File::Saved),
        (Keeper::Redis, File::Saved),
        (Keeper::Ours, File::Base),
        (Keeper::Ours, File::Increment),
    ] {
        let directory = file.write();
        let Some(server) = Loading::start(keeper, &directory, &file.options()) else { return };
        let mut client = server.client();
        let told = loop {
            let told = fields(&mut client);
            if told[5].1 > 0.0 {
                break told;
            }
        };
        let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
        let expected = "loading async_loading loading_start_time loading_total_bytes loading_rdb_used_mem \
                        loading_loaded_bytes loading_loaded_perc loading_eta_seconds";
        assert_eq!(names.join(" "), expected, "{keeper:?}, {file:?}");
        let values: Vec<f64> = told.iter().map(|(_, value)| *value).collect();
        let [1.0, 0.0, start, total, used, loaded, percent, _] = values[..] else {
            panic!("{keeper:?}, {file:?}: {told:?}");
        };
        assert!(start > 0.0 && loaded < total && percent < 100.0, "{keeper:?}, {file:?}: {told:?}");
        assert!(used > 0.0, "{keeper:?}, {file:?}: {told:?}");
        assert_eq!(finish(&server), format!(":{KEYS}"), "{keeper:?}, {file:?}");
        assert_eq!(fields(&mut client).len(), 2, "{keeper:?}, {file:?}");
    }
}

#[test]
fn the_file_goes_on_after_the_load() {
    for file in [File::Base, File::Increment] {
        let directory = file.write();
        let server = Loading::start(Keeper::Ours, &directory, &file.options()).expect("it is there");
        assert_eq!(finish(&server), format!(":{KEYS}"));
        assert_eq!(ask(&mut server.client(), "SET later 1"), "+OK");
        drop(server);
        let kept = Kept::ours(&directory, &[]);
        assert_eq!(ask(&mut kept.client(), "DBSIZE"), format!(":{}", KEYS + 1), "{file:?}");
    }
}

#[test]
fn a_shutdown_during_the_load_saves_nothing() {
    for keeper in [Keeper::Ours, Keeper::Redis] {
        let directory = File::Saved.write();
        let file = || fs::read(directory.0.join("dump.rdb")).expect("it is there");
        let before = file();
        for line in ["SHUTDOWN", "SHUTDOWN SAVE"] {
            let Some(server) = Loading::start(keeper, &directory, &[]) else { return };
            let words: Vec<&str> = line.split(' ').collect();
            server.client().send(&words);
            let (code, log) = server.end();
            assert_eq!(code, Some(0), "{keeper:?}, {line}: {log}");
            assert!(log.contains("is now ready to exit, bye bye..."), "{keeper:?}, {line}: {log}");
            assert!(!log.contains("eady to accept connections"), "{keeper:?}, {line}: {log}");
            assert!(file() == before, "{keeper:?}, {line}: the file has changed");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_load() {
    for keeper in [Keeper::Ours, Keeper::Redis] {
        let directory = File::Saved.write();
        let Some(server) = Loading::start(keeper, &directory, &[]) else { return };
        // The load has begun.
        assert!(ask(&mut server.client(), "GET k").contains("LOADING"));
        let killed = Command::new("kill").arg(server.child.id().to_string()).status();
        assert!(killed.expect("it starts").success());
        let (code, log) = server.end();
        assert_eq!(code, Some(0), "{keeper:?}: {log}");
        assert!(
            log.contains("Received shutdown signal during loading, scheduling shutdown."),
            "{keeper:?}: {log}"
        );
    }
}

#[test]
fn a_file_that_turns_out_broken_ends_the_process() {
    for keeper in [Keeper::Ours, Keeper::Redis] {
        let directory = File::Saved.write();
        let path = directory.0.join("dump.rdb");
        let mut bytes = fs::read(&path).expect("it is there");
        bytes.truncate(bytes.len() - 100);
        fs::write(&path, bytes).expect("it can be written");
        let Some(server) = Loading::start(keeper, &directory, &[]) else { return };
        assert_eq!(ask(&mut server.client(), "CONFIG SET key-load-delay 0"), "+OK");
        let (code, log) = server.end();
        assert_eq!(code, Some(1), "{keeper:?}: {log}");
        assert!(
            log.contains("Short read or OOM loading DB. Unrecoverable error, aborting now."),
            "{keeper:?}: {log}"
        );
    }
}

#[test]
fn a_slow_script_of_the_file_does_not_hide_the_load() {
    for keeper in [Keeper::Ours, Keeper::Redis] {
        let directory = Directory::new();
        let script = "redis.call('SET', 'k', 'v') if redis.call('GET', 'k') then while true do end end";
        let mut requests = lockwheel_tests::client::encode(&["SELECT", "0"]);
        requests.extend(lockwheel_tests::client::encode(&["EVAL", script, "1", "k"]));
        directory.write("appendonly.aof.1.incr.aof", requests);
        directory.write("appendonly.aof.manifest", "file appendonly.aof.1.incr.aof seq 1 type i\n");
        let options = ["--appendonly", "yes", "--lua-time-limit", "10"];
        let Some(server) = Loading::start(keeper, &directory, &options) else { return };
        let mut client = server.client();
        assert_eq!(ask(&mut client, "PING"), "-LOADING Redis is loading the dataset in memory", "{keeper:?}");
        client.send(&["SHUTDOWN", "NOSAVE"]);
        let (code, log) = server.end();
        assert_eq!(code, Some(0), "{keeper:?}: {log}");
    }
}

#[test]
fn the_announcement_comes_after_the_load() {
    let directory = File::Increment.write();
    let port_file = directory.0.join("port");
    let port_option = port_file.to_string_lossy().into_owned();
    let options = [&File::Increment.options()[..], &["--port-file", &port_option]].concat();
    let mut server = Loading::start(Keeper::Ours, &directory, &options).expect("it is there");
    assert_eq!(info(&mut server.client(), "loading"), "1");
    assert!(!port_file.exists(), "it is announced before the data are there");
    assert_eq!(finish(&server), format!(":{KEYS}"));
    let mut lines = BufReader::new(server.child.stdout.take().expect("it is a pipe")).lines();
    assert!(lines.any(|line| line.expect("the log is text").contains("Ready to accept connections")));
    assert!(port_file.exists());
}

#[test]
fn a_replica_follows_its_master_after_the_load() {
    let (of_master, directory) = (Directory::new(), File::Increment.write());
    let master = Kept::ours(&of_master, &[]);
    assert_eq!(ask(&mut master.client(), "SET of-master 1"), "+OK");
    let address = format!("127.0.0.1 {}", master.port);
    let options = [&File::Increment.options()[..], &["--replicaof", &address]].concat();
    let server = Loading::start(Keeper::Ours, &directory, &options).expect("it is there");
    let mut client = server.client();
    assert_eq!(info(&mut client, "master_link_status"), "down");
    assert_eq!(ask(&mut client, "CONFIG SET key-load-delay 0"), "+OK");
    while info(&mut client, "master_link_status") != "up" {}
    assert_eq!(ask(&mut client, "KEYS *"), "[\"of-master\"]");
}

#[test]
fn keys_do_not_expire_during_the_load() {
    let directory = Directory::new();
    let mut requests = request("SET due v PXAT 1000");
    (0..KEYS).for_each(|key| requests.extend(request(&format!("SET key:{key} v"))));
    requests.extend(request("PERSIST due"));
    directory.write("appendonly.aof.1.incr.aof", requests);
    directory.write("appendonly.aof.manifest", "file appendonly.aof.1.incr.aof seq 1 type i\n");
    let server = Loading::start(Keeper::Ours, &directory, &["--appendonly", "yes"]).expect("it is there");
    assert_eq!(info(&mut server.client(), "loading"), "1");
    assert_eq!(finish(&server), format!(":{}", KEYS + 1));
    assert_eq!(ask(&mut server.client(), "GET due"), "\"v\"");
}
