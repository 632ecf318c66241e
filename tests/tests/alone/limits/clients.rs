//! Clients are disconnected to keep `maxmemory-clients`.

use lockwheel::Server;
use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::{Client, SAFETY_NET};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use std::net::SocketAddr;
use std::time::Instant;

fn server(threads: usize) -> (Server, Client) {
    let server = Server::builder().port(0).seed(7).threads(threads).start().expect("it starts");
    let mut client = Client::connect(server.addr());
    client.line("CLIENT NO-EVICT on");
    client.line("CLIENT SETNAME looks-on");
    (server, client)
}

#[track_caller]
fn until(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < SAFETY_NET, "it never came");
        std::thread::yield_now();
    }
}

fn is_connected(looks_on: &mut Client, name: &str) -> bool {
    looks_on.line("CLIENT LIST").to_string().contains(&format!("name={name} "))
}

fn named(server: &Server, name: &str) -> Client {
    let mut client = Client::connect(server.addr());
    client.line(&format!("CLIENT SETNAME {name}"));
    client
}

/// Sends the beginning of a request of this size in bytes.
fn send_part(client: &mut Client, bytes: usize) {
    client.send_raw(b"*2\r\n$4\r\nECHO\r\n$100000000\r\n");
    // The client may be disconnected meanwhile.
    let _sent = client.try_send_raw(&vec![b'x'; bytes]);
}

#[test]
fn the_largest_client_is_evicted_and_no_evict_protects_a_client() {
    for threads in [1, 2, 4] {
        let (server, mut looks_on) = server(threads);
        let [mut large, mut small, mut safe] = ["large", "small", "safe"].map(|name| named(&server, name));
        safe.line("CLIENT NO-EVICT on");
        send_part(&mut safe, 1 << 20);
        send_part(&mut small, 100_000);
        // Buffers grow ahead of the sent bytes.
        looks_on.line("CONFIG SET maxmemory-clients 40mb");
        send_part(&mut large, 40 << 20);
        until(|| !is_connected(&mut looks_on, "large"));
        let list = looks_on.line("CLIENT LIST").to_string();
        assert!(list.contains("name=small ") && list.contains("name=safe "), "{threads}: {list}");
        let stats = looks_on.line("INFO stats").to_string();
        assert!(stats.contains("evicted_clients:1\\r\\n"), "{stats}");
    }
}

#[test]
fn a_client_that_does_not_read_is_evicted() {
    let (server, mut looks_on) = server(2);
    looks_on.line("CONFIG SET maxmemory-clients 5mb client-output-buffer-limit 'pubsub 0 0 0'");
    let mut deaf = named(&server, "deaf");
    deaf.line("SUBSCRIBE c");
    let message = "m".repeat(100_000);
    until(|| {
        looks_on.line(&format!("PUBLISH c {message}"));
        !is_connected(&mut looks_on, "deaf")
    });
    assert!(looks_on.line("INFO stats").to_string().contains("evicted_clients:1\\r\\n"));
}

#[test]
fn a_lowered_limit_applies_at_once_also_in_percent() {
    let (server, mut looks_on) = server(1);
    let mut large = named(&server, "large");
    large.cmd(&["MULTI"]);
    large.cmd(&["SET", "k", &"v".repeat(2 << 20)]);
    looks_on.line("CONFIG SET maxmemory 10mb maxmemory-clients 5%");
    until(|| !is_connected(&mut looks_on, "large"));
    drop(server);
}

/// Our server, and redis-server if it is installed.
fn servers() -> Vec<Box<dyn Endpoint>> {
    let real = RealServer::start(Kind::Redis, &[]).map(|server| Box::new(server) as Box<dyn Endpoint>);
    [Box::new(ours::server()) as Box<dyn Endpoint>].into_iter().chain(real).collect()
}

/// A client of this name whose transaction has queued this number of bytes.
fn queued(address: SocketAddr, name: &str, bytes: usize) -> Client {
    let mut client = Client::connect(address);
    for request in [vec!["CLIENT", "SETNAME", name], vec!["MULTI"], vec!["SET", "k", &"v".repeat(bytes)]] {
        assert!(!client.cmd(&request).is_error());
    }
    client
}

#[test]
fn a_limit_in_percent_follows_maxmemory_as_in_redis() {
    for server in servers() {
        let mut looks_on = Client::connect(server.addr());
        looks_on.line("CLIENT NO-EVICT on");
        let set = |looks_on: &mut Client, parameters: &str| {
            assert_eq!(looks_on.line(&format!("CONFIG SET {parameters}")).to_string(), "+OK");
        };
        let evicted = |looks_on: &mut Client, count: usize| {
            let stats = looks_on.line("INFO stats").to_string();
            assert!(stats.contains(&format!("evicted_clients:{count}\\r\\n")), "{stats}");
        };
        // A share of no maxmemory is no limit.
        set(&mut looks_on, "maxmemory-clients 1%");
        let small = queued(server.addr(), "small", 2 << 20);
        let large = queued(server.addr(), "large", 8 << 20);
        evicted(&mut looks_on, 0);
        set(&mut looks_on, "maxmemory 400mb maxmemory-clients 10%");
        let get = looks_on.line("CONFIG GET maxmemory-clients").to_string();
        assert_eq!(get, "[\"maxmemory-clients\", \"10%\"]");
        let third = queued(server.addr(), "third", 1 << 20);
        evicted(&mut looks_on, 0);
        // With less memory to share, the largest client is disconnected.
        set(&mut looks_on, "maxmemory 80mb");
        until(|| !is_connected(&mut looks_on, "large"));
        evicted(&mut looks_on, 1);
        assert!(is_connected(&mut looks_on, "small") && is_connected(&mut looks_on, "third"));
        // A share of 0 is no limit; a share that is too small for any conversation counts as 128 KiB.
        set(&mut looks_on, "maxmemory-clients 0% maxmemory 60mb");
        evicted(&mut looks_on, 1);
        set(&mut looks_on, "maxmemory-clients 1% maxmemory 11mb");
        until(|| !is_connected(&mut looks_on, "small") && !is_connected(&mut looks_on, "third"));
        evicted(&mut looks_on, 3);
        set(&mut looks_on, "maxmemory 0");
        let fourth = queued(server.addr(), "fourth", 8 << 20);
        assert!(is_connected(&mut looks_on, "fourth"));
        evicted(&mut looks_on, 3);
        drop((small, large, third, fourth));
    }
}

#[test]
fn maxmemory_clients_accepts_the_same_values_as_redis() {
    let values = [
        "0%",
        "1%",
        "100%",
        "101%",
        "1.5%",
        "%",
        "5 %",
        "-5%",
        "5%%",
        "5%x",
        "99999999999999999999%",
        "0",
        "-1",
        "1kb",
        "1gb",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "",
    ];
    let told: Vec<Vec<String>> = servers()
        .iter()
        .map(|server| {
            let mut client = Client::connect(server.addr());
            let mut ask = |value: &str| {
                let set = client.cmd(&["CONFIG", "SET", "maxmemory-clients", value]);
                format!("{value}: {set} {}", client.line("CONFIG GET maxmemory-clients"))
            };
            values.iter().map(|value| ask(value)).collect()
        })
        .collect();
    for theirs in &told[1..] {
        assert_eq!(told[0], *theirs);
    }
    assert_eq!(told[0][2], "100%: +OK [\"maxmemory-clients\", \"100%\"]");
}

/// A disconnected client frees its memory: no key has to be evicted for that.
#[test]
fn no_key_is_evicted_for_the_memory_of_evicted_clients() {
    let (server, mut looks_on) = server(1);
    looks_on.line("CONFIG SET maxmemory 11mb maxmemory-policy allkeys-lru maxmemory-clients 3mb");
    for key in 0..50 {
        looks_on.line(&format!("SETRANGE {key} 100000 x"));
    }
    let stat = |looks_on: &mut Client, name: &str| {
        let stats = looks_on.line("INFO stats").to_string();
        let value = stats.split("\\r\\n").find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok());
        value.unwrap_or_else(|| panic!("no {name} in {stats}"))
    };
    let mut deaf: Vec<Client> = (0..20).map(|_| Client::connect(server.addr())).collect();
    let requests = "MGET 1\r\n".repeat(15);
    until(|| {
        for client in &mut deaf {
            // A disconnected client sends no more.
            let _sent = client.try_send_raw(requests.as_bytes());
        }
        stat(&mut looks_on, "evicted_clients:") >= 10
    });
    assert_eq!(stat(&mut looks_on, "evicted_keys:"), 0);
    assert_eq!(looks_on.line("DBSIZE").to_string(), ":50");
}
