//! Thundering-herd: one lock is released and all its waiters ask again, of which one gets it.

use crate::scenarios::stage::{LOCK, Stage, field, redisson_3_17, redisson_4_7};
use lockwheel_tests::client::Client;
use lockwheel_tests::steered::{Jvm, Setup};

/// The number of native waiters, and of clients of Redisson.
const NATIVE_WAITERS: usize = 1_000;
const CLIENTS: usize = 8;
/// The waiters for a fair lock: the number of clients, and of threads of each.
const FAIR_CLIENTS: usize = 4;
const THREADS: usize = 5;

/// The number of commands of a kind that the server has run since the last reset of the counters.
fn calls(director: &mut Client, command: &str) -> usize {
    let info = director.line("INFO commandstats");
    let info = String::from_utf8_lossy(info.as_bytes().expect("INFO is a text")).into_owned();
    let line = info.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    line.map_or(0, |line| line.split(',').next().and_then(|count| count.parse().ok()).expect("a count"))
}

#[test]
fn thundering_herd_cannot_happen_with_native_waiters() {
    let mut stage = Stage::new();
    stage.token("holder");
    let mut waiters: Vec<Client> = (0..NATIVE_WAITERS)
        .map(|number| {
            let mut waiter = stage.connection();
            waiter.send_line(&format!("LOCK.ACQUIRE {LOCK} waiter-{number} PX 10000 BLOCK 0"));
            stage.says(&format!("AWAIT.WAITERS {LOCK} {} EXACT", number + 1), ":1");
            waiter
        })
        .collect();
    stage.says("CONFIG RESETSTAT", "+OK");
    let mut holder = "holder".to_owned();
    for (number, waiter) in waiters.iter_mut().enumerate() {
        stage.says(&format!("LOCK.RELEASE {LOCK} {holder}"), ":0");
        assert!(!waiter.read_reply().is_error());
        stage.says(&format!("AWAIT.WAITERS {LOCK} {} EXACT", NATIVE_WAITERS - number - 1), ":1");
        holder = format!("waiter-{number}");
    }
    // A hand-off costs the release.
    assert_eq!(calls(&mut stage.director, "lock.release"), NATIVE_WAITERS);
    assert_eq!(calls(&mut stage.director, "lock.acquire"), 0);
    stage.says("CONFIG SET lock-herd-limit 0", "+OK");
    stage.is_found(&[]);
}

/// Clients of Redisson wait for the lock. The holder releases it, and then each client releases it when it has it. All
/// commands are counted from the start of the waits.
fn hand_on(stage: &mut Stage, jvm: &Jvm) {
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| stage.redisson(jvm, &format!("client-{number}"), Setup::default()))
        .collect();
    let holder = stage.redisson(jvm, "holder", Setup::default());
    holder.thread("worker").does(&format!("lock {LOCK} 600000"), "");
    let threads: Vec<_> = clients.iter().map(|client| client.thread("worker")).collect();
    let calls_begun: Vec<_> = threads
        .iter()
        .map(|thread| {
            let lock = thread.begins(&format!("lock {LOCK} 600000"));
            (lock, thread.begins(&format!("unlock {LOCK}")))
        })
        .collect();
    stage.says(&format!("AWAIT.WAITERS {LOCK} {CLIENTS}"), ":1");
    // A client that has subscribed asks once more before it waits.
    let asked = stage.director.line(&format!("AWAIT.EVENT refused KEY {LOCK} COUNT {}", 2 * CLIENTS));
    assert!(asked.as_int().is_some(), "{asked}");
    stage.says("CONFIG RESETSTAT", "+OK");
    // The next message is sent once all have received the previous one: a slow client would receive two at once.
    stage.says(&format!("FAULT.ADD slowly CONTAINS counter KEY {LOCK} DO HOLD"), "+OK");
    let given_back = holder.thread("worker").begins(&format!("unlock {LOCK}"));
    let mut in_vain = 2 * CLIENTS;
    for waiting in (0..CLIENTS).rev() {
        stage.says("AWAIT.HELD slowly 1", ":1");
        stage.says("FAULT.GO slowly", ":1");
        in_vain += waiting;
        let asked = stage.director.line(&format!("AWAIT.EVENT refused KEY {LOCK} COUNT {in_vain}"));
        assert!(asked.as_int().is_some(), "{waiting} wait: {asked}");
    }
    stage.says("FAULT.DEL slowly", ":1");
    assert_eq!(given_back.outcome(), Ok(String::new()));
    for (lock, unlock) in calls_begun {
        assert_eq!((lock.outcome(), unlock.outcome()), (Ok(String::new()), Ok(String::new())));
    }
    assert_eq!(field(&mut stage.director, &format!("LOCK.INFO {LOCK}"), "mode").to_string(), "\"free\"");
}

/// Every message wakes every client: the first client is woken once, the last each time.
fn is_found_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    hand_on(&mut stage, jvm);
    let scripts = calls(&mut stage.director, "eval") + calls(&mut stage.director, "evalsha");
    let unlocks = CLIENTS + 1;
    // Each client asks once when it gets the lock, and in vain for each client before it. A script that is new to the
    // server is sent twice.
    assert!(scripts - unlocks >= CLIENTS + CLIENTS * (CLIENTS - 1) / 2, "{scripts} scripts");
    // Such a small number is no finding.
    stage.is_found(&[]);
    // There were more than eight vain requests for eight hand-offs: one of these has cost two at least.
    stage.says("CONFIG SET lock-herd-limit 1", "+OK");
    stage.is_found(&["lint thundering-herd"]);
    stage.reports("clients in vain");
}

#[test]
fn thundering_herd_is_found_with_redisson_3_17() {
    is_found_with(redisson_3_17());
}

#[test]
fn thundering_herd_is_found_with_redisson_4_7() {
    is_found_with(redisson_4_7());
}

/// The queue of a fair lock wakes its head alone, however many wait.
fn is_not_there_in_a_fair_lock_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    let clients: Vec<_> = (0..FAIR_CLIENTS)
        .map(|number| stage.redisson(jvm, &format!("client-{number}"), Setup::default()))
        .collect();
    let holder = clients[0].thread("holder");
    holder.does(&format!("fair-lock {LOCK} 600000"), "");
    let names: Vec<String> = (0..THREADS).map(|number| format!("worker-{number}")).collect();
    let threads = clients.iter().flat_map(|client| names.iter().map(|name| client.thread(name)));
    let calls: Vec<_> = threads
        .map(|thread| {
            let lock = thread.begins(&format!("fair-lock {LOCK} 600000"));
            (lock, thread.begins(&format!("fair-unlock {LOCK}")))
        })
        .collect();
    assert_eq!(calls.len(), 20);
    // Each thread stands in the queue, and listens to a channel of its own.
    let line = format!("AWAIT.EVENT queued KEY {LOCK} COUNT {} LIMIT 120000", 2 * calls.len());
    let queued = stage.director.line(&line);
    assert!(queued.as_int().is_some(), "{queued}");
    holder.does(&format!("fair-unlock {LOCK}"), "");
    for (lock, unlock) in calls {
        assert_eq!((lock.outcome(), unlock.outcome()), (Ok(String::new()), Ok(String::new())));
    }
    stage.says("CONFIG SET lock-herd-limit 0", "+OK");
    stage.is_found(&[]);
}

#[test]
fn thundering_herd_cannot_happen_in_a_fair_lock_of_redisson_3_17() {
    is_not_there_in_a_fair_lock_with(redisson_3_17());
}

#[test]
fn thundering_herd_cannot_happen_in_a_fair_lock_of_redisson_4_7() {
    is_not_there_in_a_fair_lock_with(redisson_4_7());
}

/// A waiter for a permit is woken by each release, and such a small number is no finding.
fn is_not_reported_for_a_semaphore_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| stage.redisson(jvm, &format!("client-{number}"), Setup::default()))
        .collect();
    stage.says("SEM.INIT permits 1", ":1");
    let holder = clients[0].thread("holder");
    holder.does("acquire permits", "");
    let threads: Vec<_> = clients.iter().map(|client| client.thread("worker")).collect();
    let calls: Vec<_> = threads
        .iter()
        .map(|thread| (thread.begins("acquire permits"), thread.begins("release permits")))
        .collect();
    stage.says(&format!("AWAIT.WAITERS permits {CLIENTS} LIMIT 15000"), ":1");
    holder.does("release permits", "");
    for (acquire, release) in calls {
        assert_eq!((acquire.outcome(), release.outcome()), (Ok(String::new()), Ok(String::new())));
    }
    stage.is_found(&[]);
}

#[test]
fn thundering_herd_is_not_reported_for_a_semaphore_of_redisson_3_17() {
    is_not_reported_for_a_semaphore_with(redisson_3_17());
}

#[test]
fn thundering_herd_is_not_reported_for_a_semaphore_of_redisson_4_7() {
    is_not_reported_for_a_semaphore_with(redisson_4_7());
}
