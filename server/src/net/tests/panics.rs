//! A panic anywhere costs one connection at most: no loop ends, and the state stays consistent.

use super::*;

/// Asserts that the server replies on enough new connections to reach every loop, runs scripts and serves waiters.
fn works(server: &Server, threads: usize) {
    for _ in 0..2 * threads {
        let (mut client, mut waiter) = (Client::connect(server), Client::connect(server));
        assert_eq!(client.ask("EVAL 'return 1' 0"), ":1");
        assert_eq!(client.ask("DEL q"), ":0");
        waiter.send("BLPOP q 0");
        assert_eq!(client.ask("AWAIT.BLOCKED 1 KEY q"), ":1");
        assert_eq!(client.ask("RPUSH q v"), ":1");
        assert_eq!([waiter.line(), waiter.line(), waiter.line()], ["*2", "$1", "q"]);
    }
}

#[test]
fn a_panic_at_the_start_of_a_batch_ends_nothing() {
    for threads in [1, 2, 4] {
        let server = server(threads);
        let mut client = Client::connect(&server);
        panic_at(&server, Point::Begin, 5);
        (0..10).for_each(|_| assert_eq!(client.ask("PING"), "+PONG"));
        works(&server, threads);
    }
}

#[test]
fn a_panic_at_a_close_ends_nothing_and_leaves_no_session() {
    for threads in [1, 2, 4] {
        let server = server(threads);
        let mut client = Client::connect(&server);
        let mut others: Vec<_> = (0..8).map(|_| Client::connect(&server)).collect();
        others.iter_mut().for_each(|other| assert_eq!(other.ask("SUBSCRIBE c"), "*3"));
        panic_at(&server, Point::Disconnect, 8);
        drop(others);
        // The panic comes before any work for the end of the session.
        while !client.ask("INFO clients").is_empty() && connected(&mut client) != 1 {}
        works(&server, threads);
    }
}

fn connected(client: &mut Client) -> usize {
    let mut found = 0;
    loop {
        let line = client.line();
        if let Some(count) = line.strip_prefix("connected_clients:") {
            found = count.parse().expect("a number");
        }
        if line.is_empty() {
            return found;
        }
    }
}

#[test]
fn a_panic_with_status_message_or_writing_ends_nothing() {
    for point in [Point::Refresh, Point::LoopMessage, Point::Write, Point::Run] {
        for threads in [1, 2, 4] {
            let server = server(threads);
            let mut sender = Client::connect(&server);
            assert_eq!(sender.ask("PING"), "+PONG");
            let mut listeners: Vec<_> = (0..4).map(|_| Client::connect(&server)).collect();
            listeners.iter_mut().for_each(|listener| assert_eq!(listener.ask("SUBSCRIBE c"), "*3"));
            panic_at(&server, point, 3);
            (0..5).for_each(|_| sender.try_send("PUBLISH c m"));
            // The connections that panicked are closed. All other connections, and new ones, are served.
            drop((sender, listeners));
            let alive = || {
                let mut client = Client::connect(&server);
                client.ask("PING") == "+PONG"
            };
            while !(0..4 * threads).all(|_| alive()) {}
            clear_hooks(&server);
            works(&server, threads);
        }
    }
}

#[test]
fn a_panic_in_deferred_work_ends_neither_the_script_nor_a_loop() {
    for threads in [1, 2, 4] {
        let server = server(threads);
        let (mut runner, mut other) = (Client::connect(&server), Client::connect(&server));
        runner.send("EVAL 'while true do end' 0");
        other.until_busy();
        let others: Vec<_> = (0..8).map(|_| Client::connect(&server)).collect();
        panic_at(&server, Point::Deferred, 4);
        drop(others);
        (0..8).for_each(|_| drop(Client::connect(&server)));
        // The kill is deferred work, too: each panic costs one client that asks for it.
        let kills = || {
            let mut client = Client::connect(&server);
            client.try_send("SCRIPT KILL");
            client.line() == "+OK"
        };
        assert!((0..5).any(|_| kills()), "{threads} threads");
        let end = runner.line();
        assert!(end.contains("Script killed by user"), "{threads} threads: {end}");
        clear_hooks(&server);
        works(&server, threads);
    }
}
