//! SLOWLOG, and the times of INFO's commandstats, compared with a real redis-server.

use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use std::time::{SystemTime, UNIX_EPOCH};

/// Our server, and redis-server if it is installed.
fn servers() -> Vec<Box<dyn Endpoint>> {
    let real = RealServer::start(Kind::Redis, &[]).map(|server| Box::new(server) as Box<dyn Endpoint>);
    [Box::new(ours::server()) as Box<dyn Endpoint>].into_iter().chain(real).collect()
}

fn elements(reply: &Reply) -> Vec<Reply> {
    reply.clone().into_elements().expect("an array")
}

fn text(reply: &Reply) -> String {
    String::from_utf8_lossy(reply.as_bytes().expect("a text")).into_owned()
}

/// The entries of SLOWLOG GET, the latest first, without their times: number, arguments, whether the address is the
/// client's own, and the name.
fn entries(client: &mut Client, own: &str) -> Vec<String> {
    let reply = client.line("SLOWLOG GET -1");
    let shown = |entry: &Reply| {
        let fields = elements(entry);
        let [id, _, _, arguments, addr, name] = &fields[..] else { panic!("six fields, not {entry}") };
        let arguments: Vec<String> = elements(arguments).iter().map(text).collect();
        let addr = text(addr);
        let addr = if addr == own { "own" } else { &addr };
        format!("{id} {} {addr} {}", arguments.join(" "), text(name))
    };
    elements(&reply).iter().map(shown).collect()
}

/// The address of a client in CLIENT INFO.
fn address(client: &mut Client) -> String {
    let info = text(&client.line("CLIENT INFO"));
    info.split(' ').find_map(|field| field.strip_prefix("addr=")).expect("an address").to_owned()
}

/// Requires that every server has logged this after these lines, the first line first; their replies are ignored.
#[track_caller]
fn logged(lines: &[&[&str]], expected: &[&str]) {
    for server in servers() {
        let mut client = Client::connect(server.addr());
        let own = address(&mut client);
        client.line("CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 1000");
        lines.iter().for_each(|words| drop(client.cmd(words)));
        client.line("CONFIG SET slowlog-log-slower-than -1");
        let mut entries = entries(&mut client, &own);
        entries.reverse();
        let logged: Vec<&str> =
            entries.iter().skip(1).map(|entry| entry.split_once(' ').expect("a number and more").1).collect();
        assert_eq!(logged, expected, "{lines:?}");
    }
}

#[test]
fn calls_are_logged_with_their_client() {
    let long = "x".repeat(200);
    let shown = format!("set k {}... (72 more bytes) own joe", "x".repeat(128));
    let many: Vec<String> =
        std::iter::once("mset".to_owned()).chain((1..=70).map(|n| n.to_string())).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let few: Vec<&str> = many[..31].to_vec();
    let few = format!("{} ... (40 more arguments) own joe", few.join(" "));
    logged(
        &[
            &["get", "k"],
            &["nosuch", "k"],
            &["get"],
            &["lpush", "l", "1"],
            &["incr", "l"],
            &["client", "setname", "joe"],
            &["set", "k", &long],
            &many,
        ],
        &["get k own ", "lpush l 1 own ", "incr l own ", "client setname joe own joe", &shown, &few],
    );
}

#[test]
fn transactions_and_scripts_are_logged_command_by_command() {
    logged(&[&["MULTI"], &["SET", "k", "v"], &["EXEC"]], &["MULTI own ", "SET k v own "]);
    let script = "redis.call('set', KEYS[1], 'v') return redis.call('get', KEYS[1])";
    let eval = format!("eval {script} 1 k own ");
    logged(&[&["eval", script, "1", "k"]], &["set k v ?:0 ", "get k ?:0 ", &eval]);
}

#[test]
fn secrets_are_not_logged() {
    logged(
        &[
            &["auth", "name", "secret"],
            &["hello", "3", "auth", "name", "secret"],
            &["config", "set", "maxclients", "9999", "masterauth", "secret", "masteruser", "who"],
            &["config", "set", "masterauth", "", "masteruser", ""],
        ],
        &[
            "auth (redacted) (redacted) own ",
            "hello 3 auth (redacted) (redacted) own ",
            "config set maxclients 9999 masterauth (redacted) masteruser (redacted) own ",
            "config set masterauth (redacted) masteruser (redacted) own ",
        ],
    );
}

#[test]
fn a_blocking_request_is_logged_when_it_is_served() {
    for server in servers() {
        let [mut client, mut waiter] = [0; 2].map(|_| Client::connect(server.addr()));
        let own = address(&mut waiter);
        client.line("CONFIG SET slowlog-log-slower-than 0");
        // This command is never logged.
        waiter.line("BLPOP none 0.01");
        waiter.send_line("BLPOP list 0");
        while !text(&client.line("INFO clients")).contains("blocked_clients:1") {}
        client.line("RPUSH list x");
        waiter.read_reply();
        client.line("CONFIG SET slowlog-log-slower-than -1");
        let entries = entries(&mut client, &own);
        let of_waiter: Vec<&String> = entries.iter().filter(|entry| entry.contains("own")).collect();
        assert_eq!(of_waiter.len(), 1, "{entries:?}");
        assert!(of_waiter[0].ends_with("BLPOP list 0 own "), "{entries:?}");
    }
}

#[test]
fn the_slow_log_has_a_maximum_length_and_a_threshold() {
    for server in servers() {
        let mut client = Client::connect(server.addr());
        let mut ask = |line: &str| client.line(line).to_string();
        assert_eq!(ask("SLOWLOG LEN"), ":0");
        assert_eq!(ask("PING"), "+PONG");
        assert_eq!(ask("SLOWLOG LEN"), ":0", "no PING takes ten milliseconds");
        ask("CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 3");
        for _ in 0..5 {
            ask("PING");
        }
        assert_eq!(ask("SLOWLOG LEN"), ":3");
        ask("CONFIG SET slowlog-max-len 1");
        assert_eq!(ask("SLOWLOG LEN"), ":1");
        ask("CONFIG SET slowlog-log-slower-than -1 slowlog-max-len 10");
        assert_eq!(ask("SLOWLOG GET 0"), "[]");
        assert_eq!(ask("SLOWLOG RESET"), "+OK");
        assert_eq!(ask("SLOWLOG GET"), "[]");
        for wrong in ["-2", "x", "1.5"] {
            let error = ask(&format!("SLOWLOG GET {wrong}"));
            assert_eq!(error, "-ERR count should be greater than or equal to -1", "{wrong}");
        }
        let error = ask("SLOWLOG GET 1 2");
        let expected = "-ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.";
        assert_eq!(error, expected);
        ask("CONFIG SET slowlog-log-slower-than 0");
        ask("PING");
        let entries = client.line("SLOWLOG GET 1");
        let id = elements(&elements(&entries)[0])[0].to_string();
        assert_ne!(id, ":0", "numbers are not given again");
    }
}

#[test]
fn a_logged_call_has_its_duration() {
    for server in servers() {
        let mut client = Client::connect(server.addr());
        let busy = "local n = 0 for i = 1, 1e6 do n = n + i % 7 end return n";
        client.line("CONFIG SET slowlog-log-slower-than 1000");
        client.cmd(&["EVAL", busy, "0"]);
        client.line("DEBUG SLEEP 0.03");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the epoch is past").as_secs() as i64;
        let reply = client.line("SLOWLOG GET");
        let figures = |command: &str| -> (i64, i64) {
            let of = |entry: &&Reply| text(&elements(&elements(entry)[3])[0]) == command;
            let entries = elements(&reply);
            let entry = entries.iter().find(of).unwrap_or_else(|| panic!("no {command} in {reply}"));
            let [unix_time, took_us] = [1, 2].map(|at| elements(entry)[at].as_int().expect("a number"));
            (unix_time, took_us)
        };
        let (eval, sleep) = (figures("EVAL"), figures("DEBUG"));
        assert!((now - 60..=now).contains(&eval.0), "{} is not about {now}", eval.0);
        assert!(eval.1 >= 1000 && sleep.1 >= 30_000, "{reply}");
        let stats = text(&client.line("INFO commandstats"));
        let usec = |command: &str| -> i64 {
            let line =
                stats.lines().find(|line| line.starts_with(&format!("cmdstat_{command}:"))).expect("it ran");
            let field = line.split(',').find_map(|field| field.strip_prefix("usec=")).expect("a time");
            field.parse().expect("a number")
        };
        assert!(usec("eval") >= eval.1 && usec("debug") >= sleep.1, "{stats}");
    }
}

#[test]
fn help_explains_the_subcommands() {
    let mut helps = servers().into_iter().map(|server| {
        let help = Client::connect(server.addr()).line("SLOWLOG HELP").to_string();
        // 7.2 writes `Print`.
        help.replace("Prints this help", "Print this help")
    });
    let ours = helps.next().expect("ours is there");
    assert!(ours.contains("GET [<count>]") && ours.contains("Print this help"), "{ours}");
    helps.for_each(|real| assert_eq!(real, ours));
}

#[test]
fn the_sleeps_of_a_transaction_add_up() {
    for server in servers() {
        let mut client = Client::connect(server.addr());
        for line in ["MULTI", "DEBUG SLEEP 0.02", "DEBUG SLEEP 0.03"] {
            client.line(line);
        }
        let began = std::time::Instant::now();
        client.line("EXEC");
        assert!(began.elapsed().as_millis() >= 50, "{:?}", began.elapsed());
    }
}
