//! A client that has closed its connection receives nothing, even before the server reads EOF.

use super::*;
use parking_lot::Mutex;
use std::sync::mpsc;

/// Ways to wait for a key: the waiting command, its preparation, the command that would serve it, and a final query.
const WAITS: &[[&str; 4]] = &[
    ["BLPOP q 0", "DEL q", "RPUSH q v", "LLEN q"],
    ["BLMOVE q other LEFT LEFT 0", "DEL q", "RPUSH q v", "LLEN q"],
    ["BZPOPMIN q 0", "DEL q", "ZADD q 1 v", "ZCARD q"],
    ["LOCK.ACQUIRE q gone BLOCK 0", "HSET q holder 1", "LOCK.RELEASE q holder", "HLEN q"],
];

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "there a close shows only when it is read")]
fn a_waiter_that_has_closed_its_connection_is_not_served() {
    for [wait, before, serve, left] in WAITS {
        let server = server(2);
        let (mut client, mut waiter) = (Client::connect(&server), Client::connect(&server));
        assert!(client.ask(before).starts_with(':'));
        waiter.send(wait);
        assert_eq!(client.ask("AWAIT.BLOCKED 1 KEY q"), ":1");
        let loops = shared(&server);
        let id = loops.clients.iter().map(|client| *client.key()).max().expect("two clients");
        let address = loops.address(id).expect("it waits");
        assert_ne!(address.index, 0, "it has a loop to itself");
        // The loop of the client pauses before it reads the close, until the sender is dropped.
        let (go_on, stand) = mpsc::channel::<()>();
        let stand = Mutex::new(stand);
        loops.hooks.set(move |point| {
            let name = format!("lockwheel-io-{}", address.index);
            if point == Point::Read && std::thread::current().name() == Some(&name) {
                let _gone_on = stand.lock().recv();
            }
        });
        waiter.reset();
        while !loops.clients.get(&id).is_some_and(|client| client.socket.is_closed_by_peer()) {}
        assert!(client.ask(serve).starts_with(':'));
        let expected = if wait.starts_with("LOCK") { ":0" } else { ":1" };
        assert_eq!(client.ask(left), expected, "{wait}");
        assert_eq!(client.ask("AWAIT.BLOCKED 0"), ":1");
        drop(go_on);
    }
}
