//! Tests with a slow script: deferred requests, closing, transactions, and the instant of the next batch.

use super::*;
use crate::net::busy::Job;
use lockwheel_engine::clients::Peer;
use lockwheel_scripting::EntryKind;

#[test]
fn deferred_work_of_a_closed_session_is_not_done_for_its_successor() {
    let server = server(1);
    let shared = shared(&server);
    let ran = Arc::new(AtomicUsize::new(0));
    let engine = shared.lock().lock();
    let mut engine = engine;
    let slot = engine.connect_as(1_000_001, Peer::default());
    for slot in [slot, slot] {
        let ran = ran.clone();
        // The engine is held, so the work is deferred.
        shared.defer(Job::of(slot, move |engine| {
            engine.disconnect(slot);
            ran.fetch_add(1, Ordering::SeqCst);
        }));
    }
    let next = {
        shared.run_jobs(&mut engine);
        engine.connect_as(1_000_002, Peer::default())
    };
    let done = ran.clone();
    shared.defer(Job::of(slot, move |_| done.store(10, Ordering::SeqCst)));
    shared.run_jobs(&mut engine);
    assert_eq!(ran.load(Ordering::SeqCst), 1, "once, and not for the next");
    assert!(engine.sessions().is_connected(next) && !engine.sessions().is_connected(slot));
}

#[test]
fn deferred_work_is_done_before_later_requests() {
    let server = server(1);
    let shared = shared(&server);
    let mut engine = shared.lock().lock();
    let slot = engine.connect_as(1_000_001, Peer::default());
    let found = Arc::new(AtomicUsize::new(0));
    let seen = found.clone();
    shared.defer(Job::of(slot, move |engine| {
        seen.store(1 + usize::from(engine.sessions().is_connected(slot)), Ordering::SeqCst);
    }));
    drop(engine);
    shared.with_engine(|engine| engine.disconnect(slot));
    assert_eq!(found.load(Ordering::SeqCst), 2, "it ran while its session was there");
}

/// A deferred request runs a script, and its client ends meanwhile, on another thread.
#[test]
fn a_client_that_closes_during_its_slow_script_outlives_it() {
    let server = server(2);
    let shared = shared(&server);
    let outlived = Arc::new(AtomicUsize::new(0));
    let mut engine = shared.lock().lock();
    let slot = engine.connect_as(1_000_001, Peer::default());
    let seen = outlived.clone();
    // The engine is held, so the work is deferred.
    shared.defer(Job::of(slot, move |engine| {
        let _stopped = engine.execute(slot, &[b"EVAL", b"while true do end", b"0"]);
        seen.store(1 + usize::from(engine.sessions().is_connected(slot)), Ordering::SeqCst);
    }));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while shared.script.running().is_none() {}
            shared.script.arm();
            shared.defer(Job::of(slot, move |engine| engine.disconnect(slot)));
            let passed = Arc::new(AtomicUsize::new(0));
            let passes = passed.clone();
            shared.defer(Job::new(move |_| passes.store(1, Ordering::SeqCst)));
            while passed.load(Ordering::SeqCst) == 0 && shared.script.running().is_some() {
                std::thread::yield_now();
            }
            // The script may have ended by itself after an error.
            let _killed = shared.script.kill(EntryKind::Script);
        });
        shared.run_jobs(&mut engine);
    });
    drop(engine);
    assert_eq!(outlived.load(Ordering::SeqCst), 2, "its session was there when its request had ended");
    shared.with_engine(|_| ());
    assert!(!shared.with_engine(|engine| engine.sessions().is_connected(slot)), "and is not afterwards");
}

/// A client ends while its request waits for the thread of the slow script.
fn a_client_closes_behind_a_deferred_request(threads: usize) {
    let server = server(threads);
    let watch = (0..900).fold(String::from("WATCH"), |line, n| line + &format!(" key:{n}"));
    let mut runner = Client::connect(&server);
    for _ in 0..200 {
        let mut other = Client::connect(&server);
        runner.send("EVAL 'for i = 1, 300000 do end return 1' 0");
        other.send(&format!("PING\r\n{watch}"));
        other.reset();
        assert_eq!(runner.line(), ":1");
    }
    (0..2 * threads).for_each(|_| assert_eq!(Client::connect(&server).ask("PING"), "+PONG"));
    // All closed clients are forgotten sooner or later.
    while shared(&server).with_engine(|engine| engine.keyspace.watches.keys_watched()) > 0 {}
}

#[test]
fn a_client_closes_behind_a_deferred_request_on_one_two_and_four_threads() {
    [1, 2, 4].into_iter().for_each(a_client_closes_behind_a_deferred_request);
}

#[test]
fn a_request_behind_a_slow_one_begins_at_its_own_instant() {
    let server = server(1);
    let mut client = Client::connect(&server);
    client.send("EVAL 'for i = 1, 30000000 do end return 1' 0\r\nSET k v PX 20\r\nGET k\r\nPTTL k\r\nTIME");
    assert_eq!([client.line(), client.line()], [":1", "+OK"]);
    assert_eq!([client.line(), client.line()], ["$1", "v"]);
    assert!(client.line().trim_start_matches(':').parse::<i64>().is_ok_and(|left| left > 0));
}

#[test]
fn new_clients_are_served_by_other_loops_during_a_script() {
    for threads in [2, 4] {
        let server = server(threads);
        let (mut runner, mut other) = (Client::connect(&server), Client::connect(&server));
        assert_eq!(runner.ask("PING"), "+PONG");
        let loops = shared(&server);
        let of_runner = loops.clients.iter().map(|client| (*client.key(), client.address.index)).min();
        let (_, busy) = of_runner.expect("it is connected");
        runner.send("EVAL 'while true do end' 0");
        other.until_busy();
        let late: Vec<_> = (0..8 * threads)
            .map(|_| {
                let mut client = Client::connect(&server);
                assert!(client.ask("PING").starts_with("-BUSY"));
                client
            })
            .collect();
        let at_busy = loops.clients.iter().filter(|client| client.address.index == busy).count();
        assert!(at_busy <= 2, "{at_busy} clients at the loop that runs the script");
        assert_eq!(other.ask("SCRIPT KILL"), "+OK");
        drop(late);
    }
}

#[test]
fn a_transaction_with_a_busy_refusal_does_not_run_after_the_script() {
    for threads in [2, 4] {
        let server = server(threads);
        let (mut runner, mut other) = (Client::connect(&server), Client::connect(&server));
        let mut third = Client::connect(&server);
        assert_eq!([runner.ask("PING"), third.ask("PING")], ["+PONG", "+PONG"]);
        assert_eq!([other.ask("MULTI"), other.ask("INCR a")], ["+OK", "+QUEUED"]);
        // The script pauses after it has served other clients, until the sender is dropped. Later requests stay queued.
        let (go_on, stand) = std::sync::mpsc::channel::<()>();
        let stand = parking_lot::Mutex::new(stand);
        let (stands, standing) = std::sync::mpsc::channel();
        shared(&server).hooks.set(move |point| {
            if point == Point::Slow {
                let _told = stands.send(());
                let _gone_on = stand.lock().recv();
            }
        });
        runner.send("EVAL 'while true do end' 0");
        standing.recv().expect("the script is slow");
        assert!(other.ask("INCR b").starts_with("-BUSY"));
        other.send("EXEC");
        shared(&server).script.kill(EntryKind::Script).expect("it has not written");
        drop(go_on);
        assert!(runner.line().contains("Script killed"));
        assert!(other.line().starts_with("-EXECABORT"), "{threads} threads");
        assert_eq!(third.ask("GET a"), "$-1");
    }
}

#[test]
fn the_next_batch_reports_a_refusal_that_the_script_thread_missed() {
    let server = server(1);
    let get = shared(&server).table.find(b"get").expect("a command").id;
    (0..3).for_each(|_| shared(&server).refuse(get));
    shared(&server).with_engine(|_| ());
    let mut client = Client::connect(&server);
    client.send("INFO commandstats\r\nPING");
    let lines: Vec<_> =
        std::iter::from_fn(|| Some(client.line())).take_while(|line| line != "+PONG").collect();
    let told = lines.iter().find(|line| line.starts_with("cmdstat_get:"));
    assert!(told.is_some_and(|line| line.contains("rejected_calls=3")), "{lines:?}");
}

/// An endless script of a paused client begins. Others get `BUSY`, in any order and however the pause ends.
#[test]
fn other_clients_get_busy_while_a_script_after_a_pause_is_slow() {
    for threads in [1, 2, 4] {
        let server = server(threads);
        let (mut paused, mut other) = (Client::connect(&server), Client::connect(&server));
        assert_eq!(other.ask("CONFIG SET busy-reply-threshold 1"), "+OK");
        for (pause, ends) in [("CLIENT PAUSE 100000 WRITE", true), ("CLIENT PAUSE 30 WRITE", false)] {
            assert_eq!(other.ask(pause), "+OK");
            paused.send("EVAL 'while true do end' 0");
            let loops = shared(&server).clone();
            while ends && !loops.with_engine(|engine| engine.parks_requests()) {}
            // The pause ends after a request has been read and before it runs.
            let ended = AtomicUsize::new(usize::from(ends));
            loops.clone().hooks.set(move |point| {
                if point == Point::Read && ended.swap(0, Ordering::SeqCst) == 1 {
                    let mut engine = loops.lock().lock();
                    let slot = engine.connect_as(1_000_001, Peer::default());
                    let _done = engine.execute(slot, &[b"CLIENT", b"UNPAUSE"]);
                    engine.disconnect(slot);
                    loops.follow(&engine);
                }
            });
            other.until_busy();
            assert_eq!(other.ask("SCRIPT KILL"), "+OK", "{threads} threads, {pause}");
            assert!(paused.line().contains("Script killed"));
            clear_hooks(&server);
        }
    }
}

/// Does the same with a request that a fault delays.
#[test]
fn other_clients_get_busy_while_a_delayed_script_is_slow() {
    for threads in [1, 2, 4] {
        let server = server(threads);
        let (mut delayed, mut other) = (Client::connect(&server), Client::connect(&server));
        assert_eq!(other.ask("CONFIG SET busy-reply-threshold 1"), "+OK");
        for n in 0..5 {
            assert_eq!(other.ask(&format!("FAULT.ADD late:{n} ON eval TIMES 1 DO DELAY 10")), "+OK");
            delayed.send("EVAL 'while true do end' 0");
            other.until_busy();
            assert_eq!(other.ask("SCRIPT KILL"), "+OK", "{threads} threads");
            assert!(delayed.line().contains("Script killed"));
        }
    }
}

/// A loop learns of a request and of a due delayed script at the same time.
#[test]
fn other_clients_get_busy_when_a_delayed_script_is_due_with_a_request() {
    let server = server(1);
    let (mut delayed, mut first) = (Client::connect(&server), Client::connect(&server));
    let mut other = Client::connect(&server);
    assert_eq!([first.ask("CONFIG SET busy-reply-threshold 1"), other.ask("PING")], ["+OK", "+PONG"]);
    assert_eq!(first.ask("FAULT.ADD late ON eval TIMES 1 DO DELAY 100"), "+OK");
    delayed.send("EVAL 'while true do end' 0");
    let loops = shared(&server).clone();
    while !loops.with_engine(|engine| engine.parks_requests()) {}
    // The loop pauses until the deadline has passed and the request of the other client has arrived.
    let (go_on, stand) = std::sync::mpsc::channel::<()>();
    let stand = parking_lot::Mutex::new(Some(stand));
    loops.clone().hooks.set(move |point| {
        if point == Point::Read
            && let Some(stand) = stand.lock().take()
        {
            let _gone_on = stand.recv();
        }
    });
    first.send("PING");
    other.send("PING");
    while loops.clock.now().monotonic_us < loops.timer_at.load(Ordering::Relaxed) {}
    drop(go_on);
    if !other.line().starts_with("-BUSY") {
        other.until_busy();
    }
    assert_eq!(other.ask("SCRIPT KILL"), "+OK");
    assert!(delayed.line().contains("Script killed"));
}
