//! Clients are disconnected to keep `maxmemory-clients`.

use lockwheel::Server;
use lockwheel_tests::client::{Client, SAFETY_NET};
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

/// Sends the beginning of a request of so many bytes.
fn send_part(client: &mut Client, bytes: usize) {
    client.send_raw(b"*2\r\n$4\r\nECHO\r\n$100000000\r\n");
    // It may be disconnected on the way.
    let _sent = client.try_send_raw(&vec![b'x'; bytes]);
}

#[test]
fn who_sends_most_goes_and_who_may_not_be_evicted_stays() {
    for threads in [1, 2, 4] {
        let (server, mut looks_on) = server(threads);
        let [mut large, mut small, mut safe] = ["large", "small", "safe"].map(|name| named(&server, name));
        safe.line("CLIENT NO-EVICT on");
        send_part(&mut safe, 1 << 20);
        send_part(&mut small, 100_000);
        // Buffers grow ahead of what is sent.
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
fn who_does_not_read_goes() {
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
fn a_lower_limit_and_one_in_percent_hold_at_once() {
    let (server, mut looks_on) = server(1);
    let mut large = named(&server, "large");
    large.cmd(&["MULTI"]);
    large.cmd(&["SET", "k", &"v".repeat(2 << 20)]);
    looks_on.line("CONFIG SET maxmemory 10mb maxmemory-clients 5%");
    until(|| !is_connected(&mut looks_on, "large"));
    drop(server);
}

/// A client that is disconnected gives back what it took: no key has to go for that.
#[test]
fn no_key_goes_for_what_disconnected_clients_took() {
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
            // Who has been disconnected sends no more.
            let _sent = client.try_send_raw(requests.as_bytes());
        }
        stat(&mut looks_on, "evicted_clients:") >= 10
    });
    assert_eq!(stat(&mut looks_on, "evicted_keys:"), 0);
    assert_eq!(looks_on.line("DBSIZE").to_string(), ":50");
}
