//! Queues of real clients, some of which disconnect while they wait. With any number of threads, one client at a time
//! is served, and none is stranded.

use lockwheel::Server;
use lockwheel_tests::client::Client;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The request that takes an object until the connection ends, and the one that releases it.
const KINDS: [(&str, &str); 7] = [
    ("LOCK.ACQUIRE k {o} SESSION", "LOCK.RELEASE k {o}"),
    ("LOCK.ACQUIRE k {o} SESSION FAIR", "LOCK.RELEASE k {o}"),
    ("LOCK.ACQUIRE k {o} SESSION EXCLUSIVE", "LOCK.RELEASE k {o}"),
    ("LOCK.ACQUIRE k {o} SESSION LAYOUT STRING", "LOCK.RELEASE k {o}"),
    ("LOCK.MACQUIRE 2 k m {o} SESSION", "LOCK.MRELEASE 2 m k {o}"),
    ("SEM.ACQUIRE s {o} SESSION", "SEM.RELEASE s {o}"),
    ("SEM.ACQUIRE s {o} SESSION IDS", "SEM.RELEASE s {o}"),
];

const CLIENTS: usize = 5;
const ROUNDS: usize = 21;

/// One client after the other in the same place: each takes and releases; some disconnect while they wait.
fn contend(address: SocketAddr, n: usize, (take, give_back): (&str, &str), inside: &AtomicUsize) {
    let mut client = Client::connect(address);
    for round in 0..ROUNDS {
        let [take, give_back] = [take, give_back].map(|line| line.replace("{o}", &format!("o{n}-{round}")));
        client.send_line(&format!("{take} BLOCK 0"));
        if (n + round).is_multiple_of(5) {
            client = Client::connect(address);
            continue;
        }
        let reply = client.read_reply();
        assert!(!reply.is_error() && reply.to_string() != "(nil)", "{take}: {reply}");
        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "{take}: one at a time");
        inside.fetch_sub(1, Ordering::SeqCst);
        let reply = client.line(&give_back);
        assert!(!reply.is_error(), "{give_back}: {reply}");
    }
}

#[test]
fn waiters_exclude_each_other_and_all_end_on_any_number_of_threads() {
    for threads in [1, 2, 4] {
        for kind in KINDS {
            let server =
                Server::builder().port(0).threads(threads).start().expect("loopback has a free port");
            let (address, inside) = (server.addr(), AtomicUsize::new(0));
            let mut last = Client::connect(address);
            last.line("SEM.INIT s 1");
            std::thread::scope(|scope| {
                for n in 0..CLIENTS {
                    let inside = &inside;
                    scope.spawn(move || contend(address, n, kind, inside));
                }
            });
            // The holds of disconnected clients are released, so that the object is available once more.
            let reply = last.line(&format!("{} BLOCK 0", kind.0.replace("{o}", "last")));
            assert!(!reply.is_error(), "{threads} {kind:?}: {reply}");
            for key in ["k", "m", "s"] {
                assert_eq!(last.line(&format!("AWAIT.WAITERS {key} 0 EXACT")).to_string(), ":1", "{kind:?}");
            }
        }
    }
}
