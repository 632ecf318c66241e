//! The counters of INFO, and the time of counting: after the call, as a real redis-server does.

use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};

/// Our server, and redis-server if it is installed.
fn servers() -> Vec<Box<dyn Endpoint>> {
    let real = RealServer::start(Kind::Redis, &[]).map(|server| Box::new(server) as Box<dyn Endpoint>);
    [Box::new(ours::server()) as Box<dyn Endpoint>].into_iter().chain(real).collect()
}

/// The counters in the text of INFO, in the order of their names. `get 1/0/0` means calls, refused and failed ones.
fn counters(info: &str) -> String {
    let mut found: Vec<String> = Vec::new();
    for line in info.lines() {
        if let Some((name, counts)) = line.strip_prefix("cmdstat_").and_then(|line| line.split_once(':')) {
            let count = |field: &str| {
                let (_, rest) = counts.split_once(field).expect("each command has these counters");
                rest.split(',').next().unwrap_or_default().to_string()
            };
            let counts = ["calls=", "rejected_calls=", "failed_calls="].map(count).join("/");
            found.push(format!("{name} {counts}"));
        } else if let Some((code, count)) =
            line.strip_prefix("errorstat_").and_then(|line| line.split_once(':'))
        {
            found.push(format!("{code} {}", count.trim_start_matches("count=")));
        } else if let Some((name, count)) = line.split_once(':')
            && matches!(name, "total_commands_processed" | "total_error_replies")
        {
            found.push(format!("{name} {count}"));
        }
    }
    found.sort();
    found.join(", ")
}

fn info(client: &mut Client) -> String {
    let text = client.line("INFO commandstats errorstats stats");
    counters(&String::from_utf8_lossy(text.as_bytes().expect("a text")))
}

/// Requires that every server has counted this after these lines, which begin with CONFIG RESETSTAT.
#[track_caller]
fn counted(lines: &[&str], expected: &str) {
    for server in servers() {
        let mut client = Client::connect(server.addr());
        client.line("CONFIG RESETSTAT");
        lines.iter().for_each(|line| drop(client.line(line)));
        assert_eq!(info(&mut client), expected, "{lines:?}");
    }
}

const RESETSTAT: &str = "config|resetstat 1/0/0";

#[test]
fn info_does_not_count_itself() {
    counted(&[], &format!("{RESETSTAT}, total_commands_processed 1, total_error_replies 0"));
    counted(
        &["INFO", "GET k"],
        &format!("{RESETSTAT}, get 1/0/0, info 1/0/0, total_commands_processed 3, total_error_replies 0"),
    );
}

#[test]
fn transactions_and_scripts_are_counted_after_their_commands() {
    for server in servers() {
        let mut client = Client::connect(server.addr());
        client.line("CONFIG RESETSTAT");
        let script = "redis.call('set', 'k', 'v') \
                      return redis.call('info', 'commandstats') .. redis.call('info', 'stats')";
        let text = client.cmd(&["EVAL", script, "0"]);
        let text = String::from_utf8_lossy(text.as_bytes().expect("a text")).into_owned();
        // One INFO has been counted when the other one runs.
        let expected = format!("{RESETSTAT}, set 1/0/0, total_commands_processed 3, total_error_replies 0");
        assert_eq!(counters(&text), expected);
        for line in ["CONFIG RESETSTAT", "MULTI", "GET k", "INFO commandstats"] {
            client.line(line);
        }
        let answers = client.line("EXEC").into_elements().expect("answers");
        let text = String::from_utf8_lossy(answers[1].as_bytes().expect("a text")).into_owned();
        assert_eq!(counters(&text), format!("{RESETSTAT}, get 1/0/0, multi 1/0/0"));
    }
}

#[test]
fn resetstat_in_a_transaction_keeps_later_counts() {
    counted(
        &["MULTI", "SET k v", "CONFIG RESETSTAT", "GET k", "EXEC"],
        &format!("{RESETSTAT}, exec 1/0/0, get 1/0/0, total_commands_processed 3, total_error_replies 0"),
    );
}

#[test]
fn refused_requests_are_counted_for_the_requested_command() {
    counted(
        &["GET", "NOSUCH", "CLIENT", "CLIENT NOSUCH", "CLIENT ID x", "MULTI", "GET", "EXEC"],
        "ERR 6, EXECABORT 1, client 0/1/0, client|id 0/1/0, config|resetstat 1/0/0, exec 1/0/1, get 0/2/0, \
         multi 1/0/0, total_commands_processed 3, total_error_replies 7",
    );
}

#[test]
fn refused_calls_of_scripts_are_counted() {
    let script = "redis.pcall('nosuch') redis.pcall('get') redis.pcall('subscribe', 'c')";
    let line = format!("EVAL \"{script}\" 0");
    let read_only = "EVAL_RO \"redis.pcall('set', 'k', 'v')\" 0";
    counted(
        &[&line, read_only],
        "ERR 4, config|resetstat 1/0/0, eval 1/0/0, eval_ro 1/0/0, get 0/1/0, set 0/1/0, subscribe 0/1/0, \
         total_commands_processed 3, total_error_replies 4",
    );
}

#[test]
fn protocol_errors_count_as_error_replies() {
    for server in servers() {
        let mut client = Client::connect(server.addr());
        client.line("CONFIG RESETSTAT");
        for request in [&b"*x\r\n"[..], b"*1\r\n:1\r\n", b"\"x\r\n"] {
            let mut broken = Client::connect(server.addr());
            broken.send_raw(request);
            assert!(broken.read_to_close().starts_with(b"-ERR Protocol error"));
        }
        assert_eq!(
            info(&mut client),
            format!("ERR 3, {RESETSTAT}, total_commands_processed 1, total_error_replies 3")
        );
    }
}

#[test]
fn a_wait_that_ends_with_an_error_counts_as_failed() {
    for server in servers() {
        let (mut client, mut waiter) = (Client::connect(server.addr()), Client::connect(server.addr()));
        let id = waiter.line("CLIENT ID").as_int().expect("a number");
        waiter.send_line("BLPOP l 0");
        while !client.line("INFO clients").to_string().contains("blocked_clients:1") {}
        client.line("CONFIG RESETSTAT");
        assert_eq!(client.line(&format!("CLIENT UNBLOCK {id} ERROR")).as_int(), Some(1));
        assert_eq!(waiter.read_reply().to_string(), "-UNBLOCKED client unblocked via CLIENT UNBLOCK");
        assert!(info(&mut client).starts_with("UNBLOCKED 1, "));
    }
}
