//! Attacks on all kinds of queues. Clients close, are killed, give up or are cut off at any position, and keys change.
//! No client is stranded or answered twice, and none is served after it has gone.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;
use lockwheel_tests::simulated::number;

/// An object for which clients wait in a queue. `;` separates several lines, `{o}` is an owner.
struct Kind {
    name: &'static str,
    /// The lines before any client waits.
    begin: &'static str,
    /// The request of a waiter, without its BLOCK.
    wait: &'static str,
    /// The lines that serve the next waiter, whoever holds the object; or all waiters.
    next: &'static str,
    all_at_once: bool,
    /// The lines that serve the next waiter, or all, whatever the key is.
    anew: &'static str,
}

const KINDS: [Kind; 14] = [
    lock("plain", "LOCK.ACQUIRE k h", "LOCK.ACQUIRE k {o}"),
    lock("for a connection", "LOCK.ACQUIRE k h", "LOCK.ACQUIRE k {o} SESSION"),
    lock("fair", "LOCK.ACQUIRE k h FAIR", "LOCK.ACQUIRE k {o} FAIR"),
    lock("fenced", "LOCK.ACQUIRE k h FENCED", "LOCK.ACQUIRE k {o} FENCED"),
    lock("exclusive", "LOCK.ACQUIRE k h SHARED", "LOCK.ACQUIRE k {o} EXCLUSIVE"),
    shared("shared", "LOCK.ACQUIRE k h EXCLUSIVE", "LOCK.ACQUIRE k {o} SHARED"),
    lock("text", "LOCK.ACQUIRE k h LAYOUT STRING", "LOCK.ACQUIRE k {o} LAYOUT STRING"),
    lock("several", "LOCK.MACQUIRE 2 k m h", "LOCK.MACQUIRE 2 k m {o}"),
    shared("several shared", "LOCK.MACQUIRE 2 k m h EXCLUSIVE", "LOCK.MACQUIRE 2 m k {o} SHARED"),
    semaphore("permits", "SEM.ACQUIRE k {o}"),
    semaphore("permits for a connection", "SEM.ACQUIRE k {o} SESSION"),
    semaphore("permits with ids", "SEM.ACQUIRE k {o} IDS PX 5000"),
    Kind {
        name: "latch",
        begin: "LATCH.SET k 1",
        wait: "LATCH.AWAIT k",
        next: "LATCH.COUNTDOWN k",
        all_at_once: true,
        anew: "DEL k;LATCH.SET k 1;LATCH.COUNTDOWN k",
    },
    Kind {
        name: "rate",
        begin: "RATE.SET k 1 1000;RATE.ACQUIRE k",
        wait: "RATE.ACQUIRE k",
        next: "CLOCK.ADVANCE 1000",
        all_at_once: false,
        anew: "DEL k;RATE.SET k 1 1000;CLOCK.ADVANCE 1000",
    },
];

const fn lock(name: &'static str, begin: &'static str, wait: &'static str) -> Kind {
    let next = "LOCK.FORCEUNLOCK k;LOCK.FORCEUNLOCK m";
    Kind { name, begin, wait, next, all_at_once: false, anew: "DEL k;DEL m redisson_lock_queue:{k}" }
}

const fn shared(name: &'static str, begin: &'static str, wait: &'static str) -> Kind {
    Kind { all_at_once: true, ..lock(name, begin, wait) }
}

const fn semaphore(name: &'static str, wait: &'static str) -> Kind {
    let anew = "DEL k;SEM.INIT k 1 FORCE";
    Kind { name, begin: "SEM.INIT k 0", wait, next: "SEM.ADJUST k 1", all_at_once: false, anew }
}

/// A way of leaving a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The client has closed its connection, and the server has noticed.
    Closed,
    /// The client has closed its connection, and the server would have to look.
    ClosedUnseen,
    Killed,
    TimedOut,
    Unblocked,
    UnblockedByError,
    Cancelled,
}

const WAYS: [Way; 7] = [
    Way::Closed,
    Way::ClosedUnseen,
    Way::Killed,
    Way::TimedOut,
    Way::Unblocked,
    Way::UnblockedByError,
    Way::Cancelled,
];

/// The changes to the key: it is deleted, moved or overwritten, or exchanged with that of another database.
const BLOWS: [&str; 11] = [
    "DEL k",
    "RENAME k z",
    "RENAME k z;RENAME z k",
    "FLUSHALL",
    "FLUSHDB ASYNC",
    "SET k text",
    "SET k 7",
    "SADD z member;RENAME z k",
    "SWAPDB 0 1;SWAPDB 0 1",
    "DEL redisson_lock_queue:{k} redisson_lock_timeout:{k}",
    "SET redisson_lock_queue:{k} text",
];

const WAITERS: usize = 4;

/// A server, its controlling client, and the waiters: each until it has been answered, or has gone.
struct Siege {
    server: Simulation,
    main: u64,
    waiters: Vec<u64>,
    waiting: Vec<bool>,
}

impl Siege {
    /// Makes all clients wait. The one that is to time out waits for this time.
    fn of(kind: &Kind, leaver: usize, way: Way) -> Self {
        let mut server = Simulation::new(Config::default(), 7);
        let main = server.connect();
        let waiters: Vec<u64> = (0..WAITERS).map(|_| server.connect()).collect();
        let mut siege = Siege { server, main, waiters, waiting: vec![true; WAITERS] };
        siege.steer("CLOCK.FREEZE");
        siege.steer(kind.begin);
        for n in 0..WAITERS {
            let block_ms = if n == leaver && way == Way::TimedOut { 50 } else { 0 };
            let line = format!("{} BLOCK {block_ms}", kind.wait.replace("{o}", &format!("w{n}")));
            assert_eq!(siege.server.ask(siege.waiters[n], &line), "", "{line}");
        }
        siege
    }

    fn steer(&mut self, lines: &str) -> String {
        lines.split(';').map(|line| self.server.ask(self.main, line)).last().expect("there is a line")
    }

    /// One client leaves. Returns the answer that it gets.
    fn leave(&mut self, leaver: usize, way: Way) {
        let id = self.waiters[leaver];
        match way {
            Way::Closed | Way::ClosedUnseen => self.server.close(id),
            Way::Killed => assert_eq!(self.steer(&format!("CLIENT KILL ID {id}")), ":1\r\n"),
            Way::TimedOut => drop(self.steer("CLOCK.ADVANCE 50")),
            Way::Unblocked => assert_eq!(self.steer(&format!("CLIENT UNBLOCK {id}")), ":1\r\n"),
            Way::UnblockedByError => assert_eq!(self.steer(&format!("CLIENT UNBLOCK {id} ERROR")), ":1\r\n"),
            Way::Cancelled => assert_eq!(self.steer(&format!("LOCK.CANCEL k w{leaver}")), ":1\r\n"),
        }
        if way == Way::Closed {
            self.server.notice();
        }
        let expected = match way {
            Way::Closed | Way::ClosedUnseen | Way::Killed => "",
            Way::TimedOut | Way::Unblocked => "a null",
            Way::UnblockedByError | Way::Cancelled => "-UNBLOCKED",
        };
        let told = self.server.read(id).replace("$-1\r\n", "a null").replace("*-1\r\n", "a null");
        assert!(told.starts_with(expected) && told.is_empty() == expected.is_empty(), "{way:?}: {told}");
        self.waiting[leaver] = false;
    }

    /// Returns the clients that are answered now. No client is answered twice.
    fn take_replies(&mut self) -> Vec<(usize, String)> {
        let mut told = Vec::new();
        for n in 0..WAITERS {
            let text = self.server.read(self.waiters[n]);
            if !text.is_empty() {
                assert!(std::mem::take(&mut self.waiting[n]), "w{n} is told more: {text}");
                told.push((n, text));
            }
        }
        told
    }

    /// Requires that no client waits, and that nothing is left once the keys are gone.
    fn is_over(&mut self) {
        for key in ["k", "m"] {
            assert_eq!(self.steer(&format!("AWAIT.WAITERS {key} 0 EXACT LIMIT 1")), ":1\r\n");
        }
        self.steer("FLUSHALL;DEL k");
        self.server.notice();
        assert_eq!(self.steer("DBSIZE"), ":0\r\n");
        let info = self.steer("CLOCK.INFO");
        assert_eq!(number(&info.split("\r\n").collect::<Vec<_>>(), "timers"), 0, "{info}");
    }
}

/// Whether a client can leave in this way.
fn applies(kind: &Kind, way: Way) -> bool {
    way != Way::Cancelled || kind.wait.starts_with("LOCK.")
}

/// Runs a siege for each kind, place and way of leaving it, and names it if it panics.
fn at_every_point(run: impl Fn(&Kind, usize, Way)) {
    for kind in &KINDS {
        for leaver in 0..WAITERS {
            for way in WAYS.into_iter().filter(|way| applies(kind, *way)) {
                let what = format!("{}: {leaver} is {way:?}", kind.name);
                let outcome =
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(kind, leaver, way)));
                assert!(outcome.is_ok(), "{what}");
            }
        }
    }
}

#[test]
fn the_others_are_served_in_order_when_any_waiter_leaves() {
    at_every_point(|kind, leaver, way| {
        let mut siege = Siege::of(kind, leaver, way);
        siege.leave(leaver, way);
        assert!(siege.take_replies().is_empty(), "nobody is served yet");
        let mut expected: Vec<usize> = (0..WAITERS).filter(|n| *n != leaver).collect();
        while !expected.is_empty() {
            siege.steer(kind.next);
            let told = siege.take_replies();
            let now = if kind.all_at_once { expected.len() } else { 1 };
            assert!(
                told.iter().all(|(_, text)| !text.starts_with('-') && !text.contains("-1\r\n")),
                "{told:?}"
            );
            let served: Vec<usize> = told.into_iter().map(|(n, _)| n).collect();
            assert_eq!(served, expected.drain(..now).collect::<Vec<_>>());
        }
        siege.is_over();
    });
}

/// A grant to the first waiter is taken back if the waiter has gone unnoticed, or the grant never happens: the state at
/// the end is that at the start.
#[test]
fn permits_for_a_waiter_that_left_go_to_the_next() {
    for kind in KINDS.iter().filter(|kind| kind.next == "SEM.ADJUST k 1") {
        for way in WAYS.into_iter().filter(|way| applies(kind, *way)) {
            let mut siege = Siege::of(kind, 0, way);
            siege.leave(0, way);
            siege.steer("SEM.ADJUST k 4");
            assert_eq!(siege.take_replies().len(), WAITERS - 1, "{} {way:?}", kind.name);
            assert_eq!(siege.steer("GET k"), "$1\r\n1\r\n", "{} {way:?}", kind.name);
        }
    }
}

/// The key is deleted or overwritten, before or after a client leaves at any position.
#[test]
fn every_waiter_gets_one_reply_when_the_key_is_removed() {
    at_every_point(|kind, leaver, way| {
        for blow in BLOWS {
            for first in [true, false] {
                let mut siege = Siege::of(kind, leaver, way);
                if first {
                    siege.steer(blow);
                    siege.take_replies();
                }
                if siege.waiting[leaver] {
                    siege.leave(leaver, way);
                }
                if !first {
                    siege.steer(blow);
                }
                for _ in 0..=WAITERS {
                    siege.take_replies();
                    siege.steer(kind.anew);
                }
                siege.take_replies();
                let left: Vec<usize> = (0..WAITERS).filter(|n| siege.waiting[*n]).collect();
                assert_eq!(left, [] as [usize; 0], "{blow}, first {first}: stranded");
                siege.is_over();
            }
        }
    });
}

/// A conversion stands before all others: whichever waiter leaves and whichever reader releases, each is served.
#[test]
fn others_are_served_when_a_waiting_conversion_leaves() {
    for leaver in 0..WAITERS {
        for way in WAYS {
            let begin = "LOCK.ACQUIRE k h SHARED;LOCK.ACQUIRE k w0 SHARED";
            let kind = Kind { begin, ..lock("conversion", "", "LOCK.ACQUIRE k {o} EXCLUSIVE") };
            let mut siege = Siege::converting(&kind, leaver, way);
            siege.leave(leaver, way);
            assert!(siege.take_replies().is_empty(), "{leaver} {way:?}");
            siege.steer("LOCK.RELEASE k h");
            // An owner whose wait has only ended keeps its holds as a reader.
            let mut expected: Vec<usize> = (0..WAITERS).filter(|n| *n != leaver).collect();
            if leaver == 0 {
                assert!(siege.take_replies().is_empty(), "{way:?}: w0 still reads");
                siege.steer("LOCK.RELEASE k w0");
            }
            while !expected.is_empty() {
                let served: Vec<usize> = siege.take_replies().into_iter().map(|(n, _)| n).collect();
                assert_eq!(served, [expected.remove(0)], "{leaver} {way:?}");
                siege.steer("LOCK.FORCEUNLOCK k");
            }
            siege.is_over();
        }
    }
}

impl Siege {
    /// The first waits to write the lock that it reads, the others to write.
    fn converting(kind: &Kind, leaver: usize, way: Way) -> Self {
        let convert = Kind { wait: "LOCK.CONVERT k {o} EXCLUSIVE", ..lock("", "PING", "") };
        let mut server = Simulation::new(Config::default(), 7);
        let main = server.connect();
        let waiters: Vec<u64> = (0..WAITERS).map(|_| server.connect()).collect();
        let mut siege = Siege { server, main, waiters, waiting: vec![true; WAITERS] };
        siege.steer("CLOCK.FREEZE");
        siege.steer(kind.begin);
        // The converting client comes last, and stands first.
        for n in (0..WAITERS).rev() {
            let wait = if n == 0 { convert.wait } else { kind.wait };
            let block_ms = if n == leaver && way == Way::TimedOut { 50 } else { 0 };
            let line = format!(
                "{} BLOCK {block_ms} PRIORITY {}",
                wait.replace("{o}", &format!("w{n}")),
                WAITERS - n
            );
            let line =
                if n == 0 { line.split(" PRIORITY").next().expect("the rest").to_owned() } else { line };
            assert_eq!(siege.server.ask(siege.waiters[n], &line), "", "{line}");
        }
        siege
    }
}
