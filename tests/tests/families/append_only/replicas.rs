//! The files of replicas: the requests of the master's stream, and writes of a replica's own clients.

use super::restarts::{run_all, state};
use super::{Directory, Keeper, Kept, ask, await_rewrite, info, is_checked, request};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

#[test]
fn a_replica_keeps_a_file_of_its_own() {
    let (of_master, of_replica) = (Directory::new(), Directory::new());
    let (master, replica) = (Kept::ours(&of_master, &[]), Kept::ours(&of_replica, &[]));
    assert_eq!(ask(&mut replica.client(), "SET lost 1"), "+OK");
    run_all(&master);
    let mut client = replica.client();
    assert_eq!(ask(&mut client, &format!("REPLICAOF 127.0.0.1 {}", master.port)), "+OK");
    while info(&mut client, "master_link_status") != "up" {}
    let mut writer = master.client();
    for line in ["MULTI", "SET t 1", "SELECT 5", "SET u 2", "PUBLISH c m", "EXEC", "HSET h5 f v g w"] {
        ask(&mut writer, line);
    }
    assert_eq!(ask(&mut writer, "HPEXPIRE h5 1000000 FIELDS 1 f"), "[:1]");
    assert_eq!(ask(&mut writer, "WAITAOF 1 1 0"), "[:1, :1]");
    let before = state(&master);
    assert_eq!(state(&replica), before);
    replica.kill();
    assert_ne!(is_checked(&of_replica), Some(false));
    let replica = Kept::ours(&of_replica, &[]);
    assert_eq!(state(&replica), before);
    let mut client = replica.client();
    ask(&mut client, "SELECT 5");
    assert_ne!(ask(&mut client, "HPTTL h5 FIELDS 1 f"), "[:-1]");
}

#[test]
fn a_replica_appends_the_writes_of_its_own_clients() {
    let (of_master, of_replica) = (Directory::new(), Directory::new());
    let (master, replica) = (Kept::ours(&of_master, &[]), Kept::ours(&of_replica, &[]));
    let mut client = replica.client();
    assert_eq!(ask(&mut client, &format!("REPLICAOF 127.0.0.1 {}", master.port)), "+OK");
    while info(&mut client, "master_link_status") != "up" {}
    await_rewrite(&mut client);
    assert_eq!(ask(&mut client, "CONFIG SET replica-read-only no"), "+OK");
    for line in ["SET own 1", "INCR n"] {
        ask(&mut client, line);
    }
    let mut writer = master.client();
    for line in ["MULTI", "INCR m", "SELECT 3", "INCR m", "EXEC"] {
        ask(&mut writer, line);
    }
    for line in ["SELECT 0", "INCR m", "SADD s a", "SPOP s", "EVAL 'redis.call([[INCR]], [[m]])' 0"] {
        ask(&mut writer, line);
    }
    assert_eq!(ask(&mut writer, "WAIT 1 0"), ":1");
    assert_eq!(ask(&mut client, "INCR n"), ":2");
    let before = state(&replica);
    replica.kill();
    assert_ne!(is_checked(&of_replica), Some(false));
    let replica = Kept::ours(&of_replica, &[]);
    assert_eq!(state(&replica), before);
    assert_eq!(ask(&mut replica.client(), "MGET own n m"), "[\"1\", \"2\", \"3\"]");
}

/// Accepts a replica, and answers its introduction up to PSYNC. Returns the offset that it asks for.
fn accept(listener: &TcpListener) -> (TcpStream, usize) {
    let (mut stream, _) = listener.accept().expect("a replica comes");
    let mut lines = BufReader::new(stream.try_clone().expect("a handle")).lines().map_while(Result::ok);
    while let Some(line) = lines.next() {
        let answer = match line.to_ascii_uppercase().as_str() {
            "PING" => "+PONG\r\n",
            "REPLCONF" => "+OK\r\n",
            "PSYNC" => {
                let offset = lines.by_ref().nth(3).expect("an offset");
                return (stream, offset.parse().unwrap_or(0));
            }
            _ => continue,
        };
        stream.write_all(answer.as_bytes()).expect("it reads");
    }
    panic!("the replica has gone");
}

#[test]
fn a_transaction_of_the_master_that_a_lost_link_cuts_is_appended_once() {
    /// The offset of the snapshot.
    const BEGIN: usize = 100;
    const BEGUN: [&str; 4] = ["SELECT 0", "SET z 0", "MULTI", "INCR a"];
    const REST: [&str; 6] = ["INCR b", "EXEC", "SET after 1", "MULTI", "INCR m", "EXEC"];
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = listener.local_addr().expect("it listens").port();
    let directory = Directory::new();
    let kept = Kept::ours(&directory, &[]);
    let mut client = kept.client();
    assert_eq!(ask(&mut client, &format!("REPLICAOF 127.0.0.1 {port}")), "+OK");
    let snapshot = [&b"REDIS0010\xff"[..], &[0; 8]].concat();
    let full = format!("+FULLRESYNC {} {BEGIN}\r\n${}\r\n", "a".repeat(40), snapshot.len());
    let begun = BEGUN.map(request).concat();
    let (mut stream, _) = accept(&listener);
    stream.write_all(&[full.as_bytes(), &snapshot, &begun].concat()).expect("it reads");
    while ask(&mut client, "GET z") == "(nil)" {}
    drop(stream);
    let (mut stream, offset) = accept(&listener);
    let whole = [begun, REST.map(request).concat()].concat();
    let rest = &whole[offset - BEGIN - 1..];
    stream.write_all(&[b"+CONTINUE\r\n", rest].concat()).expect("it reads");
    while ask(&mut client, "GET m") == "(nil)" {}
    assert_eq!(ask(&mut client, "MGET a b after m"), "[\"1\", \"1\", \"1\", \"1\"]");
    kept.kill();
    assert_ne!(is_checked(&directory), Some(false));
    let kept = Kept::ours(&directory, &[]);
    assert_eq!(ask(&mut kept.client(), "MGET a b after m"), "[\"1\", \"1\", \"1\", \"1\"]");
}

/// Returns a master, and a replica of it whose last save has failed.
fn with_failing_disk(
    keeper: Keeper,
    (of_master, of_replica): (&Directory, &Directory),
    options: &[&str],
) -> Option<(Kept, Kept)> {
    // A directory cannot be replaced by a file.
    std::fs::create_dir(of_replica.0.join("dump.rdb")).expect("it can be made");
    let options = [&["--save", "3600 1000000", "--repl-diskless-load", "swapdb"], options].concat();
    let (master, replica) = (Kept::of(keeper, of_master, &[])?, Kept::of(keeper, of_replica, &options)?);
    let mut client = replica.client();
    assert_eq!(ask(&mut client, &format!("REPLICAOF 127.0.0.1 {}", master.port)), "+OK");
    while info(&mut client, "master_link_status") != "up" {}
    await_rewrite(&mut client);
    while !ask(&mut client, "BGSAVE").starts_with('+') {}
    while info(&mut client, "rdb_last_bgsave_status") != "err" {}
    Some((master, replica))
}

#[test]
fn a_replica_whose_disk_fails_ends_at_the_next_write_of_its_master() {
    for keeper in [Keeper::Ours, Keeper::Redis] {
        for (options, code) in [(&[][..], None), (&["--use-exit-on-panic", "yes"], Some(1))] {
            let (of_master, of_replica) = (Directory::new(), Directory::new());
            let started = with_failing_disk(keeper, (&of_master, &of_replica), options);
            let Some((master, mut replica)) = started else { return };
            assert_eq!(ask(&mut master.client(), "SET a 1"), "+OK");
            let status = replica.child.wait().expect("it is a child");
            assert_eq!(status.code(), code, "{keeper:?}");
            let mut log = String::new();
            replica.out.read_to_string(&mut log).expect("the log is text");
            let line = "Guru Meditation: Replica was unable to write command to disk.";
            assert!(log.contains(line), "{keeper:?}: {log}");
        }
    }
}

#[test]
fn a_replica_may_ignore_that_its_disk_fails() {
    for keeper in [Keeper::Ours, Keeper::Redis] {
        let (of_master, of_replica) = (Directory::new(), Directory::new());
        let options = ["--replica-ignore-disk-write-errors", "yes"];
        let started = with_failing_disk(keeper, (&of_master, &of_replica), &options);
        let Some((master, replica)) = started else { return };
        let mut writer = master.client();
        assert_eq!(ask(&mut writer, "SET a 1"), "+OK");
        assert_eq!(ask(&mut writer, "SET b 1"), "+OK");
        let mut client = replica.client();
        while ask(&mut client, "GET b") == "(nil)" {}
        client.send(&["SHUTDOWN", "NOSAVE"]);
        let log = replica.rest_of_log();
        let line = "Replica is applying a command even though it is unable to write to disk.";
        assert_eq!(log.iter().filter(|log| log.ends_with(line)).count(), 1, "{keeper:?}: {log:#?}");
    }
}
