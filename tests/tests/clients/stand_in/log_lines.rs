//! The lines of a log for which harnesses wait, in our log and in that of a real redis-server.

use crate::stand_in::Directory;
use crate::stand_in::argument_lists::{each_server, until};
use lockwheel_tests::client::Client;
use lockwheel_tests::redis_server::free_port;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server whose log is a file. Dropping it kills the process.
struct Logged {
    child: Child,
    log: String,
    port: u16,
}

impl Logged {
    fn start(server: &Path, directory: &Directory, name: &str, arguments: &[&str]) -> Logged {
        Logged::at(free_port(), server, directory, name, arguments)
    }

    fn at(port: u16, server: &Path, directory: &Directory, name: &str, arguments: &[&str]) -> Logged {
        let log = directory.file(&format!("{name}.log"));
        let out = File::create(&log).expect("the directory can be written");
        let mut command = Command::new(server);
        command.current_dir(&directory.0).args(arguments).args(["--port", &port.to_string()]);
        command.stdin(Stdio::null()).stderr(out.try_clone().expect("a file can be shared")).stdout(out);
        Logged { child: command.spawn().expect("it starts"), log, port }
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.log).expect("it is text")
    }

    /// Waits for the last of these texts; the others stand before it, or anywhere.
    #[track_caller]
    fn says(&self, texts: &[&str]) {
        let last = texts.last().expect("there is one");
        until(|| self.text().contains(last), &format!("{last} in {}", self.log));
        let log = self.text();
        for text in texts {
            assert!(log.contains(text), "{text} in\n{log}");
        }
    }

    fn client(&self) -> Client {
        self.says(&["eady to accept connections"]);
        let mut client = Client::connect((Ipv4Addr::LOCALHOST, self.port));
        client.line("AUTH pw");
        client
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(sent.expect("there is a kill").success());
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        // Errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const MASTER: &[&str] = &["--save", "", "--dbfilename", "m.rdb", "--repl-diskless-sync-delay", "0"];

fn master(server: &Path, directory: &Directory) -> Logged {
    let master = Logged::start(server, directory, "m", &[MASTER, &["--requirepass \"pw\""]].concat());
    master.says(&[
        "oO0OoO0OoO0Oo",
        "Redis version=",
        "just started",
        "Configuration loaded",
        "monotonic clock: ",
        &format!("* Running mode=standalone, port={}.\n", master.port),
        "Server initialized",
        "* Ready to accept connections",
    ]);
    master
}

/// A replica of that master.
fn replica(server: &Path, directory: &Directory, master: &Logged) -> Logged {
    let place = format!("127.0.0.1 {}", master.port);
    let arguments = ["--save", "", "--dbfilename", "r.rdb", "--slaveof", &place, "--masterauth \"pw\""];
    Logged::start(server, directory, "r", &arguments)
}

#[test]
fn a_master_and_its_replica_log_their_links() {
    each_server(|server| {
        let directory = Directory::new();
        let master = master(server, &directory);
        let replica = replica(server, &directory, &master);
        replica.says(&[
            &format!("* Connecting to MASTER 127.0.0.1:{}\n", master.port),
            "* MASTER <-> REPLICA sync started\n",
            "* Non blocking connect for SYNC fired the event.\n",
            "* Master replied to PING, replication can continue...\n",
            "* Partial resynchronization not possible (no cached master)\n",
            "* Full resync from master: ",
            "* MASTER <-> REPLICA sync: receiving ",
            "* MASTER <-> REPLICA sync: Flushing old data\n",
            "* MASTER <-> REPLICA sync: Loading DB in memory\n",
            "* Done loading RDB, keys loaded: 0, keys expired: 0.\n",
            "* MASTER <-> REPLICA sync: Finished with success\n",
        ]);
        let name = format!("127.0.0.1:{}", replica.port);
        master.says(&[
            &format!("* Replica {name} asks for synchronization\n"),
            &format!("* Full resync requested by replica {name}\n"),
            "* Replication backlog created, my new replication IDs are '",
            "* Starting BGSAVE for SYNC with target: replicas sockets\n",
            &format!("* Synchronization with replica {name} succeeded\n"),
        ]);
        assert_eq!(replica.client().line("REPLICAOF NO ONE").to_string(), "+OK");
        replica.says(&[
            " Connection with master lost.\n",
            "* Caching the disconnected master state.\n",
            "* Discarding previously cached master state.\n",
            " Setting secondary replication ID to ",
            "* MASTER MODE enabled (user request from 'id=",
        ]);
        assert_eq!(replica.client().line(&format!("REPLICAOF 127.0.0.1 {}", master.port)).to_string(), "+OK");
        replica.says(&[
            "* Before turning into a replica, using my own master parameters to synthesize a cached master",
            &format!("* REPLICAOF 127.0.0.1:{} enabled (user request from 'id=", master.port),
            "* Trying a partial resynchronization (request ",
        ]);
        master.says(&[&format!(" Connection with replica {name} lost.\n")]);
    });
}

#[test]
fn a_reload_is_logged_like_a_load() {
    each_server(|server| {
        let directory = Directory::new();
        let arguments = &[MASTER, &["--requirepass pw", "--enable-debug-command", "yes"]].concat();
        let logged = Logged::start(server, &directory, "reload", arguments);
        let mut client = logged.client();
        assert_eq!(client.line("SET a 1").to_string(), "+OK");
        let counted = |text: &str| logged.text().matches(text).count();
        for (times, request) in [(1, "DEBUG RELOAD"), (2, "DEBUG RELOAD NOSAVE")] {
            assert_eq!(client.line(request).to_string(), "+OK");
            let last = "# DB reloaded by DEBUG RELOAD\n";
            until(|| counted(last) == times, &format!("{last} in {}", logged.log));
            for line in [
                "* Loading RDB produced by version ",
                "* RDB age 0 seconds\n",
                "* RDB memory usage when created ",
                "* Done loading RDB, keys loaded: 1, keys expired: 0.\n",
            ] {
                assert_eq!(counted(line), times, "{line} in\n{}", logged.text());
            }
        }
    });
}

#[test]
fn an_http_request_is_logged_once() {
    each_server(|server| {
        let directory = Directory::new();
        let logged = master(server, &directory);
        for request in ["POST / HTTP/1.1", "Host: localhost", "post"] {
            logged.client().send_raw(format!("{request}\r\n").as_bytes());
        }
        logged.says(&[
            "# Possible SECURITY ATTACK detected. It looks like somebody is sending POST or Host: commands to Redis. \
             This is likely due to an attacker attempting to use Cross Protocol Scripting to compromise your Redis \
             instance. Connection aborted.\n",
        ]);
        assert_eq!(logged.client().line("PING").to_string(), "+PONG");
        assert_eq!(logged.text().matches("SECURITY ATTACK").count(), 1, "{}", logged.text());
    });
}

#[test]
fn an_unconnected_replica_logs_what_it_discards() {
    each_server(|server| {
        let directory = Directory::new();
        let logged = master(server, &directory);
        for place in ["127.0.0.1 1", "NO ONE"] {
            assert_eq!(logged.client().line(&format!("REPLICAOF {place}")).to_string(), "+OK");
        }
        logged.says(&[
            "* Discarding previously cached master state.\n",
            "* MASTER MODE enabled (user request from '",
        ]);
    });
}

#[test]
fn a_small_maxmemory_is_logged_as_a_warning() {
    const WARNING: &str =
        "# WARNING: You specified a maxmemory value that is less than 1MB (current value is ";
    each_server(|server| {
        let directory = Directory::new();
        let small = Logged::start(server, &directory, "small", &["--maxmemory", "1048575"]);
        small.says(&[&format!("{WARNING}1048575 bytes). Are you sure this is what you really want?\n")]);
        let usual = Logged::start(server, &directory, "usual", &["--maxmemory", "1mb"]);
        assert_eq!(usual.client().line("CONFIG SET maxmemory 500").to_string(), "+OK");
        usual.says(&[
            "# WARNING: the new maxmemory value set via CONFIG SET (500) is smaller than the current memory",
        ]);
        assert!(!usual.text().contains(WARNING), "{}", usual.text());
    });
}

#[test]
fn saves_loads_and_shutdown_are_logged() {
    each_server(|server| {
        let directory = Directory::new();
        let saved = master(server, &directory);
        let mut client = saved.client();
        assert_eq!(client.line("SET a 1").to_string(), "+OK");
        assert_eq!(client.line("BGSAVE").to_string(), "+Background saving started");
        saved.says(&[
            "* Background saving started by pid ",
            "* DB saved on disk\n",
            "* Background saving terminated with success\n",
        ]);
        client.send(&["SHUTDOWN", "SAVE"]);
        saved.says(&[
            "User requested shutdown...\n",
            "* Saving the final RDB snapshot before exiting.\n",
            "# Redis is now ready to exit, bye bye...\n",
        ]);
        let loaded = Logged::start(server, &directory, "loaded", MASTER);
        loaded.says(&[
            "* Loading RDB produced by version ",
            "* RDB age ",
            "* RDB memory usage when created ",
            "* Done loading RDB, keys loaded: 1, keys expired: 0.\n",
            "* DB loaded from disk: ",
            "* Ready to accept connections",
        ]);
        loaded.signal("-TERM");
        let second = ":signal-handler (";
        loaded.says(&[
            second,
            ") Received SIGTERM scheduling shutdown...\n",
            "User requested shutdown...\n",
            "bye bye",
        ]);
    });
}

/// Sends a request that runs too long. Requires one line about that, with this name, and one about its end by `kill`.
fn is_slow_and_killed(logged: &Logged, request: &[&str], kill: &str, name: &str) {
    const SLOW: &str = "# Slow script detected: still in execution after ";
    const KILLED: &str = "# Lua script killed by user with SCRIPT KILL.\n";
    let count = |text: &str| logged.text().matches(text).count();
    let (slow, killed) = (count(SLOW), count(KILLED));
    let mut runner = logged.client();
    runner.send(request);
    let end = format!(
        " milliseconds. You can try killing the script using the {kill} command. Script name is: {name}.\n"
    );
    until(|| count(&end) == 1, &format!("{end} in {}", logged.log));
    // The request stays slow while others are served.
    let mut killer = logged.client();
    for _ in 0..10 {
        assert!(killer.line("PING").to_string().starts_with("-BUSY"), "{request:?}");
    }
    assert_eq!((count(SLOW), count(KILLED)), (slow + 1, killed), "{}", logged.text());
    assert_eq!(killer.line(kill).to_string(), "+OK");
    assert!(runner.read_reply().to_string().starts_with("-ERR Script killed by user with SCRIPT KILL..."));
    assert_eq!((count(SLOW), count(KILLED)), (slow + 1, killed + 1), "{}", logged.text());
}

#[test]
fn slow_and_killed_scripts_are_logged() {
    const SCRIPT: &str = "while true do end";
    const OTHER: &str = "redis.call('GET', 'k') while true do end";
    const LIBRARY: &str = "#!lua name=l\nredis.register_function('Spins', function() while true do end end)";
    each_server(|server| {
        let directory = Directory::new();
        let arguments = &[MASTER, &["--requirepass pw", "--busy-reply-threshold", "20"]].concat();
        let logged = Logged::start(server, &directory, "slow", arguments);
        let sha = |text: &str| sha1_smol::Sha1::from(text).digest().to_string();
        is_slow_and_killed(&logged, &["EVAL", SCRIPT, "0"], "SCRIPT KILL", &sha(SCRIPT));
        let mut client = logged.client();
        assert_eq!(client.cmd(&["SCRIPT", "LOAD", OTHER]).to_string(), format!("\"{}\"", sha(OTHER)));
        let upper = sha(OTHER).to_uppercase();
        is_slow_and_killed(&logged, &["EVALSHA_RO", &upper, "0"], "SCRIPT KILL", &sha(OTHER));
        assert_eq!(client.cmd(&["FUNCTION", "LOAD", LIBRARY]).to_string(), "\"l\"");
        is_slow_and_killed(&logged, &["FCALL", "spins", "0"], "FUNCTION KILL", "Spins");
    });
}

#[test]
fn errors_at_startup_are_logged() {
    each_server(|server| {
        let directory = Directory::new();
        let holder = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let port = holder.local_addr().expect("it is bound").port();
        let taken = Logged::at(port, server, &directory, "taken", &["--bind", "127.0.0.1"]);
        taken.says(&[
            &format!("# Warning: Could not create server TCP listening socket 127.0.0.1:{port}: bind: Address already"),
            &format!("# Failed listening on port {port} (TCP), aborting.\n"),
        ]);
        fs::write(directory.file("broken.rdb"), "REDIS0009xx").expect("the directory can be written");
        let broken = Logged::start(server, &directory, "broken", &["--dbfilename", "broken.rdb"]);
        broken.says(&[
            "# Short read or OOM loading DB. Unrecoverable error, aborting now.\n",
            "Unexpected EOF",
        ]);
    });
}

#[test]
fn a_sentinel_logs_its_events() {
    each_server(|server| {
        let directory = Directory::new();
        let master = master(server, &directory);
        let replica = replica(server, &directory, &master);
        let place = format!("127.0.0.1 {}", master.port);
        replica.says(&["sync: Finished with success\n"]);
        let file = format!("sentinel monitor main {place} 1\nsentinel auth-pass main pw\n");
        fs::write(directory.file("s.conf"), file).expect("the directory can be written");
        let sentinel = Logged::start(server, &directory, "s", &["s.conf", "--sentinel"]);
        sentinel.says(&[
            "* Running mode=sentinel, port=",
            " Sentinel ID is ",
            &format!("# +monitor master main {place} quorum 1\n"),
            &format!("* +slave slave 127.0.0.1:{0} 127.0.0.1 {0} @ main {place}\n", replica.port),
        ]);
        assert!(!sentinel.text().contains("Ready to accept connections"), "{}", sentinel.text());
    });
}
