//! Persistence: files of SAVE and BGSAVE, loading at the start, and the exchange of both between servers.

use lockwheel::{Builder, Config, Server};
use lockwheel_tests::check::{Endpoint, Scenario};
use lockwheel_tests::client::Client;
use lockwheel_tests::family::await_blocked;
use lockwheel_tests::ours;
use lockwheel_tests::program;
use lockwheel_tests::rdb::file_of_version;
use lockwheel_tests::redis_server::{Kind, RealServer, find_in_path, is_wanted};
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A new directory, removed when dropped.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lockwheel-rdb-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("it can be made");
        Directory(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}

/// The builder of a server that saves in this directory, under this name.
fn keeping(directory: &Directory, name: &str) -> Builder {
    let mut config = Config::default();
    config.dir = directory.0.to_string_lossy().into_owned();
    name.clone_into(&mut config.saves.dbfilename);
    Server::builder().config(config).port(0)
}

/// Starts a server that saves in this directory.
fn server_in(directory: &Directory) -> Server {
    keeping(directory, "dump.rdb").start().expect("loopback has a free port")
}

/// Starts a server that loads this file.
fn server_with(file: &Path) -> Server {
    ours::builder().load(file).start().expect("the file is right")
}

fn ok(client: &mut Client, line: &str) {
    let reply = client.line(line);
    assert!(!reply.is_error(), "{line}: {reply}");
}

/// Keys of all types in their encodings, in two databases, some with a deadline; and a library.
fn fill(client: &mut Client) {
    let long = "y".repeat(100);
    for line in [
        "SET int 12345",
        "SET text hello EX 100000",
        "SET compressed aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "RPUSH list a b 3 -70000",
        "HSET hash f v g 1",
        "SADD integers 1 70000 5000000000",
        "SADD set a b 1",
        "SADD digits x 1",
        "SREM digits x",
        "ZADD zset 1 a 0.1 b inf c -3 d",
        "XADD stream 1-1 a 1 b 2",
        "XADD stream 1-2 a 3 b 4",
        "XADD stream 2-0 c 5",
        "XDEL stream 1-2",
        "XGROUP CREATE stream g 0",
        "XREADGROUP GROUP g c COUNT 1 STREAMS stream >",
        "XGROUP CREATECONSUMER stream g d",
        "PFADD hyperloglog a b c",
        "EXPIRE hash 100000",
        "SELECT 9",
        "SET other 1 PX 100000000",
    ] {
        ok(client, line);
    }
    for kind in ["HSET table f", "SADD large", "ZADD skiplist 2.5", "RPUSH long"] {
        ok(client, &format!("{kind} {long}"));
    }
    for number in 0..700 {
        ok(client, &format!("RPUSH quicklist {number} {long}{number}"));
        ok(client, &format!("ZADD many {number}.5 m{number}"));
    }
    ok(client, "SELECT 0");
    let library = "#!lua name=l\nredis.register_function('f', function() return 'here' end)";
    assert!(!client.cmd(&["FUNCTION", "LOAD", library]).is_error());
}

fn digest(client: &mut Client) -> String {
    client.line("DEBUG DIGEST").to_string()
}

/// Waits until no save is in progress.
fn await_saved(client: &mut Client) {
    let is_saving = |client: &mut Client| {
        let info = client.line("INFO persistence");
        String::from_utf8_lossy(info.as_bytes().expect("a text")).contains("rdb_bgsave_in_progress:1")
    };
    while is_saving(client) {}
}

#[test]
fn saved_data_are_loaded_by_a_reload_and_at_the_start() {
    let directory = Directory::new();
    let server = server_in(&directory);
    let mut client = Client::connect(server.addr());
    fill(&mut client);
    let saved = digest(&mut client);
    assert_eq!(client.line("SAVE").to_string(), "+OK");
    ok(&mut client, "SET later 1");
    for options in ["NOSAVE", "NOSAVE NOFLUSH MERGE"] {
        let later = client.line("EXISTS later").to_string();
        assert_eq!(client.line(&format!("DEBUG RELOAD {options}")).to_string(), "+OK");
        assert!(options.contains("MERGE") || later == ":1");
        assert_eq!(digest(&mut client), saved, "{options}");
    }
    assert_eq!(
        client.line("DEBUG RELOAD NOSAVE NOFLUSH").to_string(),
        "-ERR Error trying to load the RDB dump",
        "a key is there already"
    );
    assert_eq!(digest(&mut client), saved);
    ok(&mut client, "FUNCTION FLUSH");
    let again = server_with(&directory.file("dump.rdb"));
    let mut client = Client::connect(again.addr());
    assert_eq!(digest(&mut client), saved);
    assert_eq!(client.line("FCALL f 0").to_string(), "\"here\"");
    assert_eq!(client.line("SAVE").to_string(), "+OK");
}

/// A client that waits for a key is not served by a loaded file that has it, but by the next command that creates it.
fn waits_through_a_reload<S: Endpoint>(s: &mut Scenario<S>) {
    s.check("RPUSH l file", ":1").check("SAVE", "+OK").check("DEL l", ":1");
    s.on("list").send("BLPOP l 0");
    await_blocked(s, 1);
    s.check("DEBUG RELOAD NOSAVE", "+OK").check("LRANGE l 0 -1", r#"["file"]"#);
    s.check("DEBUG RELOAD", "+OK").check("LLEN l", ":1").check("DEL l", ":1");
    s.check("RPUSH l command", ":1");
    s.on("list").expect(r#"["l", "command"]"#);
    s.check("LLEN l", ":0");
}

#[test]
fn tokens_go_on_after_those_of_a_saved_file() {
    let directory = Directory::new();
    let server = server_in(&directory);
    let mut client = Client::connect(server.addr());
    let token = |client: &mut Client, name: &str| {
        let grant = client.line(&format!("LOCK.ACQUIRE {name} owner PX 100000"));
        grant.into_elements().expect("a map")[1].as_int().expect("a token")
    };
    let last = ["a", "b", "c"].map(|name| token(&mut client, name))[2];
    ok(&mut client, "SAVE");
    let file = directory.file("dump.rdb");
    let next = keeping(&directory, "other.rdb").load(&file).start().expect("the file is right");
    let next = token(&mut Client::connect(next.addr()), "d");
    assert!(next > last, "{next} after {last}");
}

#[test]
fn a_reload_serves_nobody() {
    let (one, other) = (Directory::new(), Directory::new());
    waits_through_a_reload(&mut Scenario::new([server_in(&one), server_in(&other)]));
    let real = || RealServer::start(Kind::Redis, &["--enable-debug-command", "yes"]);
    if let Some(mut scenario) = Scenario::start(real) {
        waits_through_a_reload(&mut scenario);
    }
}

/// The number of three keys that a master and its replica have when the master was reset with one of them.
fn kept_through_a_reload(master: &dyn Endpoint, replica: &dyn Endpoint) -> [String; 2] {
    let [mut master, mut replica] = [(master, 0), (replica, master.addr().port())].map(|(server, port)| {
        let mut client = Client::connect(server.addr());
        if port != 0 {
            ok(&mut client, &format!("REPLICAOF 127.0.0.1 {port}"));
        }
        client
    });
    // The first WAIT ends once no child saves for the replica: until then, SAVE would be refused.
    for line in
        ["SET a 1", "WAIT 1 0", "SAVE", "SET b 1", "WAIT 1 0", "DEBUG RELOAD NOSAVE", "SET c 1", "WAIT 1 0"]
    {
        ok(&mut master, line);
    }
    [&mut master, &mut replica].map(|client| client.line("EXISTS a b c").to_string())
}

#[test]
fn a_reload_keeps_the_data_of_replicas() {
    let (one, other) = (Directory::new(), Directory::new());
    let ours = kept_through_a_reload(&server_in(&one), &server_in(&other));
    assert_eq!(ours, [":2", ":3"]);
    let real = || {
        RealServer::start(Kind::Redis, &["--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0"])
    };
    if let (Some(master), Some(replica)) = (real(), real()) {
        assert_eq!(kept_through_a_reload(&master, &replica), ours);
    }
}

#[test]
fn files_go_from_server_to_server() {
    for kind in [Kind::Redis, Kind::Valkey] {
        let options = ["--enable-debug-command", "yes"];
        let Some(real) = RealServer::start(kind, &options) else { continue };
        let mut theirs = Client::connect(real.addr());
        fill(&mut theirs);
        assert_eq!(theirs.line("SAVE").to_string(), "+OK");
        let directory = Directory::new();
        let file = directory.file("theirs.rdb");
        fs::copy(real.directory().join("dump.rdb"), &file).expect("it was saved");
        let own = keeping(&directory, "dump.rdb").load(&file).start().expect("the file is right");
        let mut own = Client::connect(own.addr());
        if kind == Kind::Redis {
            assert_eq!(digest(&mut own), digest(&mut theirs));
        }
        assert_eq!(own.line("FCALL f 0").to_string(), "\"here\"");
        // The way back, without the contents for which Redis 7.0 has no form.
        if kind == Kind::Redis {
            ok(&mut own, "DEL set digits stream");
            ok(&mut theirs, "DEL set digits stream");
            ok(&mut own, "SELECT 9");
            ok(&mut own, "SELECT 0");
        }
        let expected = digest(&mut theirs);
        assert_eq!(own.line("SAVE").to_string(), "+OK");
        let saved = fs::read(directory.file("dump.rdb")).expect("it was saved");
        let saved = if kind == Kind::Redis { file_of_version(&saved, 10) } else { saved };
        fs::write(real.directory().join("dump.rdb"), saved).expect("it can be written");
        assert_eq!(theirs.line("DEBUG RELOAD NOSAVE").to_string(), "+OK");
        assert_eq!(digest(&mut theirs), expected);
    }
}

#[test]
fn a_background_save_has_the_data_of_its_start() {
    let directory = Directory::new();
    let server = server_in(&directory);
    let mut client = Client::connect(server.addr());
    ok(&mut client, "DEBUG POPULATE 2000 key 10");
    ok(&mut client, "CONFIG SET rdb-key-save-delay 1");
    let before = digest(&mut client);
    assert_eq!(client.line("BGSAVE").to_string(), "+Background saving started");
    for line in ["BGSAVE", "BGSAVE SCHEDULE", "SAVE"] {
        assert_eq!(client.line(line).to_string(), "-ERR Background save already in progress");
    }
    for number in 0..2000 {
        match number % 4 {
            0 => ok(&mut client, &format!("SET key:{number} changed")),
            1 => ok(&mut client, &format!("DEL key:{number}")),
            2 => ok(&mut client, &format!("RENAME key:{number} moved:{number}")),
            _ => ok(&mut client, &format!("SET new:{number} 1")),
        }
    }
    ok(&mut client, "SWAPDB 0 3");
    ok(&mut client, "FLUSHALL");
    await_saved(&mut client);
    let again = server_with(&directory.file("dump.rdb"));
    assert_eq!(digest(&mut Client::connect(again.addr())), before);
    assert_eq!(
        fs::read_dir(&directory.0).expect("it is there").count(),
        1,
        "nothing is left beside the file"
    );
}

/// A server in a test's own process reads a file only if told to.
#[test]
fn a_test_server_starts_without_data() {
    let directory = Directory::new();
    let server = server_in(&directory);
    let mut client = Client::connect(server.addr());
    ok(&mut client, "SET k v");
    ok(&mut client, "SAVE");
    assert!(directory.file("dump.rdb").exists());
    let again = server_in(&directory);
    assert_eq!(Client::connect(again.addr()).line("DBSIZE").to_string(), ":0");
}

/// Starts the program in this directory, with an append-only file and a save point that every write reaches. Returns it
/// with its port.
fn with_save_point(directory: &Directory) -> (Child, u16) {
    let mut command = Command::new(program::path());
    command.args(["--port", "0", "--save", "1 1", "--dir"]).arg(&directory.0).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let ready = program::ready_line(&mut BufReader::new(child.stdout.take().expect("a pipe")));
    let port = ready.trim_end().rsplit_once("port=").and_then(|(_, port)| port.parse().ok());
    (child, port.unwrap_or_else(|| panic!("not ready: {ready}")))
}

/// A harness that stops a server leaves no file that the next server would read; a file is written only on request.
#[test]
fn save_points_are_reported_and_shutdown_saves_only_on_request() {
    for (before, end, saves) in [
        ("PING", "-TERM", false),
        ("PING", "-INT", false),
        ("PING", "SHUTDOWN", false),
        ("PING", "SHUTDOWN NOSAVE", false),
        ("PING", "SHUTDOWN SAVE", true),
        ("CONFIG SET shutdown-on-sigterm save", "-TERM", true),
        ("CONFIG SET shutdown-on-sigterm save", "-INT", false),
        ("CONFIG SET shutdown-on-sigterm save", "SHUTDOWN", false),
        ("CONFIG SET shutdown-on-sigint save", "-INT", true),
    ] {
        let directory = Directory::new();
        let (mut child, port) = with_save_point(&directory);
        let mut client = Client::connect(("127.0.0.1", port));
        assert_eq!(client.line("CONFIG GET save").to_string(), "[\"save\", \"1 1\"]");
        ok(&mut client, before);
        ok(&mut client, "SET k v");
        if end.starts_with('-') {
            let told = Command::new("kill").args([end, &child.id().to_string()]).status();
            assert!(told.expect("it is a program everywhere").success());
        } else {
            client.send_line(end);
        }
        assert!(child.wait().expect("it is a child").success(), "{before}, {end}");
        let files = fs::read_dir(&directory.0).expect("it is there").flatten();
        let names: Vec<_> = files.map(|file| file.file_name()).collect();
        assert_eq!(names, vec!["dump.rdb"; usize::from(saves)], "{before}, {end}");
    }
}

#[test]
fn a_save_that_fails_changes_nothing() {
    let directory = Directory::new();
    fs::create_dir(directory.file("taken")).expect("it can be made");
    let server = keeping(&directory, "taken").start().expect("it starts");
    let mut client = Client::connect(server.addr());
    ok(&mut client, "SET k v");
    assert_eq!(client.line("SAVE").to_string(), "-ERR");
    assert_eq!(client.line("DEBUG RELOAD").to_string(), "-ERR");
    assert_eq!(client.line("DEBUG RELOAD NOSAVE").to_string(), "-ERR Error trying to load the RDB dump");
    assert_eq!(client.line("SHUTDOWN SAVE").to_string(), "-ERR Errors trying to SHUTDOWN. Check logs.");
    assert_eq!(client.line("BGSAVE").to_string(), "+Background saving started");
    await_saved(&mut client);
    let info = client.line("INFO persistence");
    assert!(String::from_utf8_lossy(info.as_bytes().expect("a text")).contains("rdb_last_bgsave_status:err"));
    assert_eq!(client.line("GET k").to_string(), "\"v\"");
}

#[test]
fn a_broken_file_is_refused_as_a_whole() {
    let directory = Directory::new();
    let server = server_in(&directory);
    let mut client = Client::connect(server.addr());
    fill(&mut client);
    ok(&mut client, "SAVE");
    let file = fs::read(directory.file("dump.rdb")).expect("it was saved");
    let broken = directory.file("broken.rdb");
    for len in [0, 5, 9, 40, file.len() / 2, file.len() - 1] {
        fs::write(&broken, &file[..len]).expect("it can be written");
        let error = ours::builder().load(&broken).start().expect_err("it is cut off").to_string();
        let lines: Vec<&str> = error.lines().collect();
        let [what, place, end] = lines[..] else { panic!("{len}: {error}") };
        assert_eq!(
            what, "Short read or OOM loading DB. Unrecoverable error, aborting now.",
            "{len}: {error}"
        );
        let named = format!("Fatal error loading the DB '{}': Invalid argument. Exiting.", broken.display());
        assert_eq!(end, named);
        let place = place.strip_prefix("Internal error in RDB reading offset ").expect("a place");
        let (offset, cause) = place.split_once(" -> ").expect("a cause");
        assert!(offset.parse().is_ok_and(|offset: usize| offset <= len), "{len}: {error}");
        assert_eq!(cause, "Unexpected EOF reading RDB file", "{len}: {error}");
    }
    let none = directory.file("none.rdb");
    let error = ours::builder().load(&none).start().expect_err("there is none");
    let named =
        format!("Fatal error loading the DB '{}': No such file or directory. Exiting.", none.display());
    assert_eq!(error.to_string(), named);
    // The existing data stay.
    let before = digest(&mut client);
    fs::write(directory.file("dump.rdb"), &file[..file.len() / 2]).expect("it can be written");
    assert_eq!(client.line("DEBUG RELOAD NOSAVE").to_string(), "-ERR Error trying to load the RDB dump");
    assert_eq!(digest(&mut client), before);
}

#[test]
fn expired_keys_are_not_loaded() {
    let directory = Directory::new();
    let server = server_in(&directory);
    let mut client = Client::connect(server.addr());
    for line in ["CLOCK.FREEZE", "CLOCK.SET 1000", "SET over 1 PX 5000", "SET stays 1", "SAVE"] {
        ok(&mut client, line);
    }
    let again = server_with(&directory.file("dump.rdb"));
    let mut client = Client::connect(again.addr());
    assert_eq!(client.line("KEYS *").to_string(), "[\"stays\"]");
    let info = client.line("INFO persistence");
    let info = String::from_utf8_lossy(info.as_bytes().expect("a text")).into_owned();
    assert!(info.contains("rdb_last_load_keys_expired:1\r\nrdb_last_load_keys_loaded:1\r\n"), "{info}");
}

#[test]
fn redis_cli_writes_the_file_that_it_receives() {
    let Some(program) = find_in_path("redis-cli").filter(|_| is_wanted("redis-cli")) else { return };
    let directory = Directory::new();
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    fill(&mut client);
    for (option, keys) in [("--rdb", true), ("--functions-rdb", false)] {
        let file = directory.file("cli.rdb");
        let output = Command::new(&program)
            .args(["-p", &server.port().to_string(), option])
            .arg(&file)
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let again = server_with(&file);
        let mut again = Client::connect(again.addr());
        assert_eq!(digest(&mut again) == digest(&mut client), keys, "{option}");
        assert_eq!(again.line("FCALL f 0").to_string(), "\"here\"");
    }
}
