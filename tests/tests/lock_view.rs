//! Locks as the Rust interface shows them: the same as LOCK.INFO, whoever holds them and however.

use lockwheel::{LockLayout, LockMode, LockSnapshot, Server};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use std::time::Duration;

/// What LOCK.INFO tells, as this writes it from a snapshot.
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
    let ttl = lock.ttl_ms.unwrap_or(if lock.holders.is_empty() { -2 } else { -1 });
    let [holders, waiters] = [holders.collect::<Vec<_>>(), waiters.collect()].map(|each| each.join(", "));
    let (mode, layout) = (lock.mode.name(), lock.layout.name());
    format!(
        r#"["mode", "{mode}", "layout", "{layout}", "ttl", :{ttl}, "holders", [{holders}], "waiters", [{waiters}]]"#
    )
}

/// Both tell the same of a lock; what the interface tells.
fn lock(server: &Server, client: &mut Client, name: &str) -> LockSnapshot {
    let lock = server.lock(name);
    assert_eq!(client.line(&format!("LOCK.INFO {name}")).to_string(), written(&lock), "{name}");
    assert_eq!(server.handle().lock_in(0, name).as_ref(), Some(&lock));
    lock
}

#[test]
fn the_interface_tells_of_locks_what_lock_info_tells() {
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
fn a_handle_turns_the_clock_from_another_thread_and_outlives_its_server() {
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
