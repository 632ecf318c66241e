//! A shop with 100 items and several buying processes. Without a lock it sells more than it has; with one it sells
//! exactly that, on a real redis-server as on ours.

use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::redisson::{Redisson, Version};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Stdio};

const ITEMS: u32 = 100;
const PROCESSES: u32 = 3;
const BUYERS_A_PROCESS: u32 = 3;
const BUYERS: u32 = PROCESSES * BUYERS_A_PROCESS;

/// Kinds of lock that also work on a real redis-server.
const LOCKS_ANYWHERE: [&str; 2] = ["set", "rlock"];

/// Kinds of lock of our server; `mixed` is RLock and `LOCK.ACQUIRE` on one key, excluding each other.
const LOCKS_OF_OURS: [&str; 4] = ["set", "rlock", "native", "mixed"];

fn key(lock: &str, what: &str) -> String {
    format!("shop:{lock}:{what}")
}

/// Runs the shop's processes against a server, once without a lock and once with each kind.
fn sell(client: &Redisson, port: u16, locks: &[&str]) {
    let mut server = Client::connect((Ipv4Addr::LOCALHOST, port));
    for lock in locks {
        server.cmd(&["SET", &key(lock, "stock"), &ITEMS.to_string()]);
    }
    let processes: Vec<Child> = (0..PROCESSES)
        .map(|number| {
            let arguments = [
                format!("port={port}"),
                format!("process=process-{number}"),
                format!("buyers={BUYERS_A_PROCESS}"),
                format!("all={BUYERS}"),
                format!("locks={}", locks.join(",")),
            ];
            let mut command = client.command("lockwheel.Shop", &arguments);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the JVM starts")
        })
        .collect();
    for process in processes {
        let output = process.wait_with_output().expect("a child can be waited for");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The number of sold items, and the shop's remaining stock.
fn books(port: u16, lock: &str) -> (u32, i64) {
    let mut server = Client::connect((Ipv4Addr::LOCALHOST, port));
    let mut number =
        |what: &str| server.cmd(&["GET", &key(lock, what)]).to_string().trim_matches('"').to_string();
    (number("sold").parse().expect("a count"), number("stock").parse().expect("a count"))
}

/// Without a lock, all buyers are certain to take the first item at once; the rest is chance.
fn check_books(port: u16, locks: &[&str]) {
    let (sold, _) = books(port, "none");
    assert!(sold >= ITEMS + BUYERS - 1, "without a lock, {sold} of {ITEMS} were sold");
    for lock in locks {
        assert_eq!(books(port, lock), (ITEMS, 0), "with the lock {lock}");
    }
}

fn shop(port: u16, locks: &[&str]) {
    let version = Version::new(4, 7, 0);
    let Some(client) = Redisson::prepare(version, Path::new(env!("CARGO_TARGET_TMPDIR"))) else { return };
    let all: Vec<&str> = ["none"].iter().chain(locks).copied().collect();
    sell(&client, port, &all);
    check_books(port, locks);
}

#[test]
fn a_shop_oversells_on_redis_unless_it_locks() {
    let Some(server) = RealServer::start(Kind::Redis, &[]) else { return };
    shop(server.port(), &LOCKS_ANYWHERE);
}

#[test]
fn a_shop_oversells_on_lockwheel_unless_it_locks() {
    let server = ours::server();
    shop(server.port(), &LOCKS_OF_OURS);
}
