//! LATENCY, and INFO's latencystats, compared with a real redis-server.

use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;

/// Our server, and redis-server if it is installed.
fn servers() -> Vec<Box<dyn Endpoint>> {
    let args = ["--enable-debug-command", "yes"];
    let real = RealServer::start(Kind::Redis, &args).map(|server| Box::new(server) as Box<dyn Endpoint>);
    [Box::new(ours::server()) as Box<dyn Endpoint>].into_iter().chain(real).collect()
}

fn elements(reply: &Reply) -> Vec<Reply> {
    reply.clone().into_elements().expect("an array")
}

fn text(reply: &Reply) -> String {
    String::from_utf8_lossy(reply.as_bytes().expect("a text")).into_owned()
}

#[test]
fn latency_replies_are_empty_without_events() {
    for server in servers() {
        let mut client = Client::connect(server.addr());
        let mut ask = |line: &str| client.line(line).to_string();
        assert_eq!(ask("LATENCY LATEST"), "[]");
        assert_eq!(ask("LATENCY HISTORY command"), "[]");
        assert_eq!(ask("LATENCY RESET"), ":0");
        assert_eq!(ask("LATENCY RESET command x"), ":0");
        assert_eq!(ask("LATENCY GRAPH x"), "-ERR No samples available for event 'x'");
        assert_eq!(ask("LATENCY HISTORY"), "-ERR wrong number of arguments for 'latency|history' command");
        assert_eq!(ask("LATENCY nosuch"), "-ERR unknown subcommand 'nosuch'. Try LATENCY HELP.");
    }
}

#[test]
fn latency_texts_equal_those_of_the_real_server() {
    let mut told = servers().into_iter().map(|server| {
        let mut client = Client::connect(server.addr());
        let lines = [
            "LATENCY HELP",
            "LATENCY DOCTOR",
            "CONFIG SET latency-monitor-threshold 50",
            "LATENCY DOCTOR",
            "DEBUG SLEEP 0.06",
            "CONFIG SET slowlog-log-slower-than 10000",
            "LATENCY DOCTOR",
            "CONFIG SET slowlog-log-slower-than 60000",
            "LATENCY DOCTOR",
            "CONFIG SET slowlog-log-slower-than -1",
            "LATENCY DOCTOR",
            "LATENCY GRAPH command",
            "CONFIG SET latency-monitor-threshold 0",
            "LATENCY DOCTOR",
            "LATENCY RESET COMMAND",
            "LATENCY DOCTOR",
        ];
        let told = lines.map(|line| without_numbers(&client.line(line).to_string()));
        // 7.2 words it differently.
        let told = told.map(|text| text.replace("Prints this help", "Print this help"));
        told.join("\n")
    });
    let ours = told.next().expect("ours");
    told.for_each(|real| assert_eq!(ours, real));
}

/// A text without its numbers, except those of settings.
fn without_numbers(text: &str) -> String {
    let mut shown = String::new();
    let mut digits = String::new();
    for letter in text.chars().chain(['\0']) {
        if letter.is_ascii_digit() {
            digits.push(letter);
            continue;
        }
        let is_setting = shown.ends_with("slower-than ") || shown.ends_with("hz ");
        if !digits.is_empty() {
            shown.push_str(if is_setting { &digits } else { "N" });
            digits.clear();
        }
        shown.push(letter);
    }
    shown
}

#[test]
fn slow_commands_are_recorded_as_latency_events() {
    for server in servers() {
        let mut client = Client::connect(server.addr());
        client.line("CONFIG SET latency-monitor-threshold 40");
        client.line("PING");
        client.line("DEBUG SLEEP 0.05");
        let latest = client.line("LATENCY LATEST");
        let [event] = &elements(&latest)[..] else { panic!("one event: {latest}") };
        let [name, time, took, longest] = &elements(event)[..] else { panic!("four fields: {event}") };
        assert_eq!(text(name), "command");
        let [time, took, longest] = [time, took, longest].map(|reply| reply.as_int().expect("a number"));
        assert!((50..5000).contains(&took) && took == longest && time > 1_700_000_000, "{event}");
        let history = client.line("LATENCY HISTORY command").to_string();
        assert_eq!(history, format!("[[:{time}, :{took}]]"));
        assert_eq!(client.line("LATENCY HISTORY fast-command").to_string(), "[]");
        assert_eq!(client.line("LATENCY RESET fast-command command").to_string(), ":1");
        assert_eq!(client.line("LATENCY LATEST").to_string(), "[]");
    }
}

/// The calls of a command in its histogram, and their number up to the last bucket.
fn histogram(client: &mut Client, command: &str) -> (i64, Vec<(i64, i64)>) {
    let reply = client.line(&format!("LATENCY HISTOGRAM {command}"));
    let [name, figures] = &elements(&reply)[..] else { panic!("one command: {reply}") };
    assert_eq!(text(name), command);
    let [_, calls, _, buckets] = &elements(figures)[..] else { panic!("two fields: {figures}") };
    let numbers: Vec<i64> = elements(buckets).iter().map(|reply| reply.as_int().expect("a number")).collect();
    (calls.as_int().expect("a number"), numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

#[test]
fn latency_histogram_counts_calls_by_duration() {
    for server in servers() {
        let mut client = Client::connect(server.addr());
        client.line("CONFIG RESETSTAT");
        let all = client.line("LATENCY HISTOGRAM");
        let names: Vec<String> = elements(&all).iter().step_by(2).map(text).collect();
        assert_eq!(names, ["config|resetstat"]);
        assert_eq!(client.line("LATENCY HISTOGRAM nosuch get config|nosuch").to_string(), "[]");
        client.line("GET");
        for n in 0..10 {
            client.line(&format!("GET {n}"));
        }
        client.line("DEBUG SLEEP 0.3");
        client.line("DEBUG SLEEP 0.7");
        let (calls, buckets) = histogram(&mut client, "get");
        assert_eq!((calls, buckets.last().map(|last| last.1)), (10, Some(10)), "{buckets:?}");
        let (calls, buckets) = histogram(&mut client, "debug");
        assert_eq!((calls, buckets), (2, vec![(541_065, 1), (1_073_741, 2)]));
        client.line("CONFIG SET latency-tracking no");
        client.line("GET a");
        assert_eq!(histogram(&mut client, "get").0, 10);
        client.line("CONFIG GET port");
        let named = client.line("LATENCY HISTOGRAM config GET get");
        let names: Vec<String> = elements(&named).iter().step_by(2).map(text).collect();
        let mut kinds = names.clone();
        kinds.sort_unstable();
        assert_eq!(kinds, ["config|resetstat", "get", "get"].map(str::to_owned)[..].to_vec());
    }
}

#[test]
fn a_blocking_request_counts_when_it_is_served() {
    for server in servers() {
        let [mut client, mut waiter] = [0; 2].map(|_| Client::connect(server.addr()));
        waiter.line("BLPOP none 0.01");
        assert_eq!(client.line("LATENCY HISTOGRAM blpop").to_string(), "[]");
        waiter.send_line("BLPOP list 0");
        while !text(&client.line("INFO clients")).contains("blocked_clients:1") {}
        client.line("RPUSH list x");
        waiter.read_reply();
        assert_eq!(histogram(&mut client, "blpop").0, 1);
    }
}

#[test]
fn info_shows_the_configured_percentiles() {
    for server in servers() {
        let mut client = Client::connect(server.addr());
        client.line("DEBUG SLEEP 0.2");
        client.line("CONFIG SET latency-tracking-info-percentiles \"0 50 99.99 100\"");
        let info = text(&client.line("INFO latencystats"));
        let line = info.lines().find_map(|line| line.strip_prefix("latency_percentiles_usec_debug:"));
        let fields: Vec<(&str, f64)> = line
            .expect("it was called")
            .split(',')
            .map(|field| field.split_once('=').expect("a name and a value"))
            .map(|(name, value)| (name, value.parse().expect("a number")))
            .collect();
        let names: Vec<&str> = fields.iter().map(|field| field.0).collect();
        assert_eq!(names, ["p0", "p50", "p99.99", "p100"]);
        assert!(fields.iter().all(|field| (190_000.0..2e6).contains(&field.1)), "{info}");
        client.line("CONFIG SET latency-tracking-info-percentiles \"\"");
        let info = text(&client.line("INFO latencystats"));
        assert!(info.contains("latency_percentiles_usec_debug:\r\n"), "{info}");
        client.line("CONFIG SET latency-tracking no");
        assert_eq!(text(&client.line("INFO latencystats")), "# Latencystats\r\n");
    }
}

#[test]
fn info_counts_the_time_of_expiry_cycles() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    client.line("EVAL \"for i = 1, 50000 do redis.call('set', i, 'v', 'px', 1) end\" 0");
    let mut field = |name: &str| -> u64 {
        let info = text(&client.line("INFO stats"));
        let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.and_then(|value| value.parse().ok()).expect("a number")
    };
    while field("expired_keys") < 50_000 {}
    assert!(field("expire_cycle_cpu_milliseconds") > 0);
}

#[test]
fn evictions_are_recorded_as_latency_events() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    client.line("EVAL \"for i = 1, 100000 do redis.call('set', i, 'v') end\" 0");
    client.line("CONFIG SET latency-monitor-threshold 1 maxmemory-policy allkeys-random");
    client.line("CONFIG SET maxmemory 1mb maxmemory-eviction-tenacity 100");
    client.line("PING");
    let latest = client.line("LATENCY LATEST").to_string();
    assert!(latest.contains("eviction-cycle"), "{latest}");
}
