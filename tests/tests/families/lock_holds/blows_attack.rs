//! Queues of real clients whose keys are deleted, moved and overwritten, and whose connections are killed, while they
//! wait and while they hold. With any number of threads, all clients are answered, and none is stranded.

use lockwheel::Server;
use lockwheel_tests::client::{Client, encode, split};
use lockwheel_tests::reply::Reply;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The request to wait, the request to release, and the one that restores the initial state, for each kind of object.
const KINDS: [[&str; 3]; 10] = [
    ["LOCK.ACQUIRE k {o} SESSION", "LOCK.RELEASE k {o}", "DEL k"],
    ["LOCK.ACQUIRE k {o} PX 600000", "LOCK.RELEASE k {o}", "DEL k"],
    ["LOCK.ACQUIRE k {o} SESSION FAIR", "LOCK.RELEASE k {o}", "DEL k"],
    ["LOCK.ACQUIRE k {o} SESSION EXCLUSIVE", "LOCK.RELEASE k {o} EXCLUSIVE", "DEL k"],
    ["LOCK.ACQUIRE k {o} SESSION SHARED", "LOCK.RELEASE k {o} SHARED", "DEL k"],
    ["LOCK.ACQUIRE k {o} SESSION LAYOUT STRING", "LOCK.RELEASE k {o}", "DEL k"],
    ["LOCK.MACQUIRE 2 k m {o} SESSION", "LOCK.MRELEASE 2 m k {o}", "DEL k m"],
    ["SEM.ACQUIRE k {o} SESSION", "SEM.RELEASE k {o}", "DEL k;SEM.INIT k 1 FORCE"],
    ["SEM.ACQUIRE k {o} SESSION IDS", "SEM.RELEASE k {o}", "DEL k;SEM.INIT k 1 FORCE"],
    ["RATE.ACQUIRE k", "PING", "DEL k;RATE.SET k 1 5"],
];

const BLOWS: [&str; 8] = [
    "DEL k",
    "RENAME k z",
    "RENAME k z;RENAME z k",
    "FLUSHALL",
    "SET k text",
    "SADD z member;RENAME z k",
    "DEL redisson_lock_queue:{k} redisson_lock_timeout:{k}",
    "CLIENT KILL TYPE normal",
];

const CLIENTS: usize = 4;
/// The turns of each client after the last blow, when one must follow the other.
const TURNS: usize = 5;

/// Returns the next reply, or nothing if the connection is closed or reset. A client that waits in vain is stranded.
fn answer(client: &mut Client, asked: &str) -> Option<Reply> {
    match client.try_read_frame() {
        Ok(reply) => reply,
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            panic!("stranded: {asked}")
        }
        Err(_) => None,
    }
}

/// Takes and releases: at any time during the blows, and then in turns. After an error, or no answer, the client opens
/// a new connection, which ends the holds of the old one.
fn contend(address: SocketAddr, n: usize, [wait, give_back, _]: [&str; 3], is_over: &AtomicBool) {
    let mut client = Client::connect(address);
    let mut turns = 0;
    for round in 0.. {
        let calm = is_over.load(Ordering::SeqCst);
        let [wait, give_back] = [wait, give_back].map(|line| line.replace("{o}", &format!("o{n}-{round}")));
        let is_right = [format!("{wait} BLOCK 0"), give_back].iter().all(|line| {
            let is_sent = client.try_send_raw(&encode(&split(line))).is_ok();
            let reply = is_sent.then(|| answer(&mut client, line)).flatten();
            reply.is_some_and(|reply| !reply.is_error())
        });
        if !is_right {
            client = Client::connect(address);
        }
        turns += usize::from(calm);
        if turns == TURNS {
            return;
        }
    }
}

/// Performs each blow, and then restores the key's initial state. Returns the number of blows that fell while a client
/// waited.
fn strike(client: &mut Client, anew: &str) -> usize {
    let all = |client: &mut Client, lines: &str| lines.split(';').for_each(|line| drop(client.line(line)));
    let mut hits = 0;
    for blow in BLOWS.iter().cycle().take(3 * BLOWS.len()) {
        hits += usize::from(client.line("AWAIT.BLOCKED 1 KEY k LIMIT 20").to_string() == ":1");
        all(client, blow);
        all(client, anew);
    }
    // Holds that have been moved away go with the key to which they were moved.
    all(client, "DEL z");
    all(client, anew);
    hits
}

#[test]
fn no_waiter_is_stranded_by_changes_of_the_key_or_lost_connections() {
    for threads in [1, 2, 4] {
        for kind in KINDS {
            let server = Server::builder().port(0).threads(threads).start();
            let server = server.expect("loopback has a free port");
            let (address, is_over, ended) = (server.addr(), AtomicBool::new(false), AtomicUsize::new(0));
            let mut striker = Client::connect(address);
            kind[2].split(';').for_each(|line| drop(striker.line(line)));
            std::thread::scope(|scope| {
                for n in 0..CLIENTS {
                    let (is_over, ended) = (&is_over, &ended);
                    scope.spawn(move || {
                        contend(address, n, kind, is_over);
                        ended.fetch_add(1, Ordering::SeqCst);
                    });
                }
                let hits = strike(&mut striker, kind[2]);
                is_over.store(true, Ordering::SeqCst);
                assert!(hits > 0 || kind[0].contains("SHARED"), "{threads} {kind:?}: nobody has waited");
            });
            assert_eq!(ended.into_inner(), CLIENTS, "{threads} {kind:?}");
            assert_eq!(striker.line("AWAIT.WAITERS k 0 EXACT").to_string(), ":1", "{threads} {kind:?}");
            let last = striker.line(&format!("{} BLOCK 0", kind[0].replace("{o}", "last")));
            assert!(!last.is_error(), "{threads} {kind:?}: {last}");
        }
    }
}
