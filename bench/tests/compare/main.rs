//! Tests of the comparison with Lockwheel, and with servers that reply wrongly.

mod fake;
mod open_loop;

use fake::Fake;
use lockwheel::Server;
use lockwheel_bench::cli::Compare;
use lockwheel_bench::results::Results;
use lockwheel_bench::{compare, report, workloads};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::process::{Command, Output};

/// Returns options for a few hundred requests to the server at this address only.
fn options(addr: SocketAddr) -> Compare {
    Compare {
        urls: vec![format!("redis://{addr}")],
        only: vec![addr.to_string()],
        pipeline: vec![1, 3],
        connections: 4,
        keys: 100,
        rounds: 1,
        warm_up: 0.0,
        ops: Some(300),
        ..Compare::default_options().expect("no option is required")
    }
}

fn own_server() -> Server {
    Server::builder().port(0).seed(7).start().expect("loopback has a free port")
}

fn names(workloads: &[&str]) -> Vec<String> {
    workloads.iter().map(|name| (*name).to_string()).collect()
}

#[test]
fn every_workload_gets_right_replies_only() {
    let server = own_server();
    let all: Vec<String> = workloads::all().unwrap().into_iter().map(|row| row.name).collect();
    let options = Compare { workloads: all.clone(), ..options(server.addr()) };
    let results = compare::run(&options, &mut |_| {}).unwrap();
    let measured: BTreeSet<(String, usize)> =
        results.runs.iter().map(|run| (run.workload.clone(), run.pipeline)).collect();
    let expected = all.iter().flat_map(|name| [(name.clone(), 1), (name.clone(), 3)]).collect();
    assert_eq!(measured, expected);
    assert!(results.runs.iter().all(|run| run.ops >= 300 && run.latency.p50 > 0.0));
}

#[test]
fn keys_may_be_unlike_threads_many_and_requests_at_a_rate() {
    let server = own_server();
    let options = Compare {
        workloads: names(&["pair", "native", "get"]),
        skew: 0.99,
        load_threads: 2,
        rate: Some(20_000.0),
        ..options(server.addr())
    };
    let results = compare::run(&options, &mut |_| {}).unwrap();
    assert_eq!(results.runs.len(), 8);
}

#[test]
fn a_wrong_reply_ends_the_comparison() {
    for wrong in ["+PANG\r\n", "-ERR no\r\n", ":1\r\n", "+PONG\r\n+PONG\r\n", "+PONGS\r\n", "garbage"] {
        let fake = Fake::start(move |request| match request {
            b"PING" => wrong.as_bytes().to_vec(),
            other => fake::usual(other),
        });
        let options = Compare { workloads: names(&["ping"]), ..options(fake.addr()) };
        let error = compare::run(&options, &mut |_| {}).unwrap_err().to_string();
        assert!(error.starts_with("ping on 127.0.0.1:"), "{wrong:?}: {error}");
        let came = wrong.strip_prefix("+PONG\r\n").unwrap_or(wrong).escape_default().to_string();
        assert!(error.contains("wrong reply") && error.contains(&came), "{wrong:?}: {error}");
    }
}

#[test]
fn one_wrong_reply_among_many_is_found_with_its_request() {
    let mut count = 0;
    let fake = Fake::start(move |request| match request {
        b"PUBLISH" => {
            count += 1;
            if count == 250 { b":1\r\n".to_vec() } else { b":0\r\n".to_vec() }
        }
        other => fake::usual(other),
    });
    let options = Compare {
        workloads: names(&["publish"]),
        pipeline: vec![16],
        connections: 1,
        ..options(fake.addr())
    };
    let error = compare::run(&options, &mut |_| {}).unwrap_err().to_string();
    let sent = r"sent:     *3\r\n$7\r\nPUBLISH\r\n$20\r\nchannel:0000";
    assert!(error.contains(sent) && error.contains(r"came:     :1\r\n"), "{error}");
}

#[test]
fn a_server_with_keys_is_left_alone() {
    let fake = Fake::start(|request| match request {
        b"DBSIZE" => b":3\r\n".to_vec(),
        b"FLUSHALL" => panic!("nobody may empty this server"),
        other => fake::usual(other),
    });
    let error = compare::run(&options(fake.addr()), &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("has keys"), "{error}");
}

#[test]
fn results_survive_their_files() {
    let server = own_server();
    let directory = std::env::temp_dir().join(format!("lockwheel-bench-test-{}", std::process::id()));
    let output =
        program(server.addr(), &["--workloads", "native", "--out", &directory.display().to_string()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("native P1 round 1"), "{said}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("\npair:evalsha") && table.contains("redis-benchmark -p 6400"), "{table}");
    let text = std::fs::read_to_string(directory.join("results.json")).unwrap();
    let results: Results = serde_json::from_str(&text).unwrap();
    let csv = std::fs::read_to_string(directory.join("runs.csv")).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!((results.runs.len(), csv.lines().count()), (4, 5));
    assert_eq!(csv, report::csv(&results));
    let columns: BTreeSet<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(columns.len(), 1, "{csv}");
}

#[test]
fn the_program_fails_when_a_reply_is_wrong() {
    let fake = Fake::start(|request| match request {
        b"GET" => b"$10\r\nv999999999\r\n".to_vec(),
        b"SET" => b"+OK\r\n".to_vec(),
        other => fake::usual(other),
    });
    let output = program(fake.addr(), &["--workloads", "get"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("wrong reply") && said.contains("v999999999") && output.stdout.is_empty(),
        "{said}"
    );
}

#[test]
fn a_script_of_the_users_own_is_measured() {
    let server = own_server();
    let file = std::env::temp_dir().join(format!("lockwheel-bench-test-{}.lua", std::process::id()));
    std::fs::write(&file, "return redis.call('incrby', KEYS[1], ARGV[1])").unwrap();
    let path = file.display().to_string();
    let arguments = ["--script", &path, "--script-key", "counter:{n:3}", "--script-arg", "5"];
    let output = program(server.addr(), &arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("script:evalsha P1 round 1"), "{said}");
    std::fs::write(&file, "return redis.call('incrby', KEYS[1], 'x')").unwrap();
    let output = program(server.addr(), &arguments);
    std::fs::remove_file(&file).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{said}");
}

/// Runs the program on the server at this address.
fn program(addr: SocketAddr, more: &[&str]) -> Output {
    let (url, name) = (format!("redis://{addr}"), addr.to_string());
    Command::new(env!("CARGO_BIN_EXE_lockwheel-bench"))
        .args(["compare", "--url", &url, "--only", &name, "--pipeline", "1,3", "--connections", "4"])
        .args(["--keys", "100", "--rounds", "1", "--warm-up", "0", "--ops", "200"])
        .args(more)
        .output()
        .expect("the program starts")
}
