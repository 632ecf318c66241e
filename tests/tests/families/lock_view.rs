//! Locks as the Rust interface shows them: equal to LOCK.INFO, for every kind of holder.

use lockwheel::{LockLayout, LockMode, LockSnapshot, Server};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::reply::Reply;
use std::time::Duration;

/// The text of LOCK.INFO, generated from a snapshot.
fn written(lock: &LockSnapshot) -> String {
    let text = |text: &[u8]| format!("\"{}\"", String::from_utf8_lossy(text));
    let number = |number: Option<u64>| number.map_or("(nil)".to_owned(), |number| format!(":{number}"));
    let kind = |is_native| if is_native { "\"native\"" } else { "\"foreign\"" };
    let holders = lock.holders.iter().map(|holder| {
        let (token, grant) = (number(holder.token()), number(holder.grant));
        let (owner, holds, kind) = (text(&holder.owner), holder.holds, kind(holder.is_native));
        let mode = holder.mode.name();
        format!(
            concat!(
                r#"["owner", {}, "mode", "{}", "holds", :{}, "kind", {}, "#,
                r#""token", {}, "grant", {}]"#
            ),
            owner, mode, holds, kind, token, grant
        )
    });
    let waiters = lock.waiters.iter().map(|waiter| {
        let owner = waiter.owner.as_deref().map_or("(nil)".to_owned(), text);
        let mode = waiter.mode.map_or("(nil)".to_owned(), |mode| format!("\"{}\"", mode.name()));
        let kind = kind(waiter.is_native);
        format!(r#"["owner", {owner}, "mode", {mode}, "kind", {kind}, "client", :{}]"#, waiter.client)
    });
    let ttl = lock.ttl_ms.unwrap_or(if lock.mode == LockMode::Free { -2 } else { -1 });
    let [holders, waiters] = [holders.collect::<Vec<_>>(), waiters.collect()].map(|each| each.join(", "));
    let (mode, layout) = (lock.mode.name(), lock.layout.name());
    format!(
        r#"["mode", "{mode}", "layout", "{layout}", "ttl", :{ttl}, "holders", [{holders}], "waiters", [{waiters}]]"#
    )
}

/// Requires that both describe a lock equally. Returns the interface's description.
fn lock(server: &Server, client: &mut Client, name: &str) -> LockSnapshot {
    let lock = server.lock(name);
    assert_eq!(client.line(&format!("LOCK.INFO {name}")).to_string(), written(&lock), "{name}");
    assert_eq!(server.handle().lock_in(0, name).as_ref(), Some(&lock));
    lock
}

#[test]
fn the_rust_interface_shows_locks_as_lock_info_does() {
    let server = ours::manual_server();
    let mut client = Client::connect(server.addr());
    assert_eq!(lock(&server, &mut client, "native").mode, LockMode::Free);
    for line in [
        "LOCK.ACQUIRE native a PX 5000",
        "LOCK.ACQUIRE native a PX 5000",
        "HSET foreign 8743c9c0-0795-4907-87fd-6c719a6b4586:1 1",
        "HSET rw mode read 8743c9c0-0795-4907-87fd-6c719a6b4586:2 1 8743c9c0-0795-4907-87fd-6c719a6b4586:3 2",
        "SET text owner NX PX 70",
        "RPUSH other x",
    ] {
        client.line(line);
    }
    let mut waiter = Client::connect(server.addr());
    waiter.send_line("LOCK.ACQUIRE native b BLOCK 0");
    client.line("AWAIT.BLOCKED 1");
    Client::connect(server.addr()).line("PING");
    let mut listener = Client::connect(server.addr());
    listener.line("SUBSCRIBE redisson_lock__channel:{native}");

    let native = lock(&server, &mut client, "native");
    assert_eq!(
        (native.mode, native.layout, native.ttl_ms),
        (LockMode::Exclusive, LockLayout::Hash, Some(5000))
    );
    assert_eq!((native.holders[0].holds, native.holders[0].token()), (2, Some(1)));
    let kinds: Vec<_> =
        native.waiters.iter().map(|waiter| (waiter.is_native, waiter.owner.clone())).collect();
    assert_eq!(kinds, [(true, Some(b"b".to_vec())), (false, None)]);
    let foreign = lock(&server, &mut client, "foreign");
    assert_eq!(
        (foreign.ttl_ms, foreign.holders[0].is_native, foreign.holders[0].token()),
        (None, false, None)
    );
    assert!(foreign.holders[0].grant.is_some());
    let shared = lock(&server, &mut client, "rw");
    assert_eq!(
        (shared.mode, shared.layout, shared.holders.len()),
        (LockMode::Shared, LockLayout::ReadWrite, 2)
    );
    assert_eq!(lock(&server, &mut client, "text").layout, LockLayout::String);
    assert_eq!(lock(&server, &mut client, "other").mode, LockMode::None);
    assert_eq!(server.handle().lock_in(1, "native").map(|lock| lock.mode), Some(LockMode::Free));
    assert_eq!(server.handle().lock_in(16, "native"), None);
}

#[test]
fn a_handle_works_on_another_thread_and_outlives_its_server() {
    let server = ours::manual_server();
    let mut client = Client::connect(server.addr());
    client.line("LOCK.ACQUIRE l a PX 100");
    let handle = server.handle();
    let turning = std::thread::spawn(move || {
        let fired = handle.advance(Duration::from_millis(100));
        (fired, handle)
    });
    let (fired, handle) = turning.join().expect("it does not panic");
    assert_eq!(fired, Ok(1));
    assert_eq!(client.line("GET l").to_string(), "(nil)");
    handle.shutdown();
    server.wait();
    drop(server);
    assert_eq!(handle.lock("l").mode, LockMode::Free);
}

/// The value of a reply at a path of names and indexes.
#[track_caller]
fn at<'r>(reply: &'r Reply, way: &[&str]) -> &'r Reply {
    way.iter().fold(reply, |reply, name| match (reply, name.parse::<usize>()) {
        (Reply::Array(items), Ok(place)) => &items[place],
        _ => reply.member(name).unwrap_or_else(|| panic!("no {name} in {reply}")),
    })
}

#[test]
fn lock_info_full_shows_details_of_holders_and_waiters() {
    let server = ours::manual_server();
    let mut client = Client::connect_resp3(server.addr());
    let mut full = |line: &str| {
        let reply = client.line(line);
        assert!(!reply.is_error(), "{line}: {reply}");
        reply
    };
    let free = full("LOCK.INFO l FULL");
    assert_eq!(at(&free, &["delay"]).to_string(), "(nil)");
    assert_eq!(at(&free, &["grants"]).to_string(), "[]");
    assert_eq!(at(&free, &["predecessor"]).to_string(), "\"none\"");

    full("LOCK.ACQUIRE l gone PX 5000 DELAY 700");
    full("LOCK.FORCEUNLOCK l");
    full("LOCK.ACQUIRE l a SESSION PX 9000");
    let id = full("CLIENT ID").as_int().expect("a number");
    let waiters: Vec<Client> = [("b", 0), ("c", 5)]
        .into_iter()
        .map(|(owner, priority)| {
            let mut waiter = Client::connect(server.addr());
            waiter.send_line(&format!("LOCK.ACQUIRE l {owner} BLOCK 0 PRIORITY {priority}"));
            full(&format!("AWAIT.WAITERS l {}", if priority == 0 { 1 } else { 2 }));
            waiter
        })
        .collect();
    let mut listener = Client::connect(server.addr());
    listener.line("SUBSCRIBE redisson_lock__channel:{l}");
    let held = full("LOCK.INFO l full");
    assert_eq!(at(&held, &["holders", "0", "ttl"]).to_string(), ":9000");
    assert_eq!(at(&held, &["holders", "0", "session"]).as_int(), Some(id));
    assert_eq!(at(&held, &["grants"]).to_string(), "[:2]");
    assert_eq!(at(&held, &["predecessor"]).to_string(), "\"forced\"");
    let waiting = |place: &str| {
        let field = |name| at(&held, &["waiters", place, name]).to_string();
        ["owner", "position", "priority"].map(field)
    };
    assert_eq!(waiting("0"), ["\"c\"", ":1", ":5"]);
    assert_eq!(waiting("1"), ["\"b\"", ":2", ":0"]);
    assert_eq!(waiting("2"), ["(nil)", "(nil)", "(nil)"]);
    drop(waiters);
}

/// The lease of the lock is the longest of the readers' leases.
#[test]
fn lock_info_full_shows_the_lease_of_each_reader() {
    let server = ours::manual_server();
    let mut client = Client::connect_resp3(server.addr());
    for line in ["LOCK.ACQUIRE r a SHARED PX 3000", "LOCK.ACQUIRE r b SHARED PX 8000"] {
        assert!(!client.line(line).is_error());
    }
    let info = client.line("LOCK.INFO r FULL");
    assert_eq!(at(&info, &["ttl"]).to_string(), ":8000");
    for (owner, (ttl, grant)) in [("\"a\"", (":3000", ":1")), ("\"b\"", (":8000", ":2"))] {
        let is_it = |place: &&str| at(&info, &["holders", place, "owner"]).to_string() == owner;
        let place = ["0", "1"].into_iter().find(is_it).expect("both hold it");
        assert_eq!(at(&info, &["holders", place, "ttl"]).to_string(), ttl);
        assert_eq!(at(&info, &["holders", place, "grant"]).to_string(), grant);
        assert_eq!(at(&info, &["holders", place, "session"]).to_string(), "(nil)");
    }
    assert_eq!(at(&info, &["grants"]).to_string(), "[:1, :2]");
}

#[test]
fn lock_info_takes_full_or_nothing() {
    let server = ours::manual_server();
    let mut client = Client::connect(server.addr());
    for line in ["LOCK.INFO l ALL", "LOCK.INFO l FULL FULL"] {
        assert!(client.line(line).to_string().starts_with("-ERR syntax error: "), "{line}");
    }
}
