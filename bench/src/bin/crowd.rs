//! Runs a lock with many waiters or holders in process, so that valgrind can count the instructions of each event.
//!
//! `crowd KIND CLIENTS EVENTS`. Run it under `valgrind --tool=callgrind`: the difference between two counts of events
//! is the cost of the events between them. With the same arguments the program always does the same.

use lockwheel::Config;
use lockwheel_bench::crowds::KINDS;
use lockwheel_engine::core::Simulation;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The beginning of the names of Redisson's owners.
const INSTANCE: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586";

/// The number of Redisson's readers, in the kinds that have some.
const REDISSONS: usize = 8;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, clients, events] = arguments.as_slice() else {
        return Err(format!("crowd KIND CLIENTS EVENTS; the kinds: {}", KINDS.join(" ")));
    };
    let number = |text: &str| text.parse().map_err(|error| format!("{text}: {error}"));
    let mut crowd = Crowd::gather(kind, number(clients)?)?;
    (0..number(events)?).try_for_each(|event| crowd.happen(kind, event))
}

/// A server, a controlling client, and the waiting clients, in order of arrival.
struct Crowd {
    server: Simulation,
    main: u64,
    waiting: Vec<u64>,
}

impl Crowd {
    /// Lets this number of clients wait for the lock, or hold it.
    fn gather(kind: &str, clients: usize) -> Result<Self, String> {
        let mut server = Simulation::new(Config::default(), 7);
        let main = server.connect();
        let mut crowd = Crowd { server, main, waiting: Vec::new() };
        crowd.ask("CLOCK.FREEZE", ":")?;
        match kind {
            "unblocked" | "killed" | "timed-out" | "arriving" => {
                crowd.ask("LOCK.ACQUIRE l holder PX 1000000000", "*10")?
            }
            "handed" => crowd.ask("LOCK.ACQUIRE l w0 PX 1000000000", "*10")?,
            "handed-to-writer" => crowd.ask("LOCK.ACQUIRE l w0 EXCLUSIVE PX 1000000000", "*10")?,
            "handed-together" | "arriving-together" => {
                crowd.ask("LOCK.MACQUIRE 2 l m w0 PX 1000000000", "*")?;
            }
            "permits" => {
                crowd.ask("SEM.INIT l 1", ":1")?;
                crowd.ask("SEM.ACQUIRE l w0", "*10")?;
            }
            "fair" | "fair-unblocked" | "fair-killed" => {
                crowd.ask("LOCK.ACQUIRE l w0 FAIR PX 1000000000", "*10")?
            }
            "beside-listeners" => {
                crowd.ask("LOCK.ACQUIRE l holder PX 1000000000", "*10")?;
                (0..clients).try_for_each(|n| crowd.listen(n))?;
            }
            "reader" | "reader-before-readers" | "reader-beside-redissons" => {
                for n in 0..if kind == "reader-beside-redissons" { REDISSONS } else { 0 } {
                    crowd.read_as_redisson(n)?;
                }
                for n in 0..clients {
                    let lease_ms = 1_000_000 + n;
                    crowd.ask(&format!("LOCK.ACQUIRE l r{n} SHARED PX {lease_ms}"), "*10")?;
                }
                crowd.wait("LOCK.ACQUIRE l writer EXCLUSIVE BLOCK 0");
            }
            _ => return Err(format!("no kind {kind}")),
        }
        let nobody_more = ["reader", "reader-beside-redissons", "beside-listeners"].contains(&kind);
        for n in 1..=if nobody_more { 0 } else { clients } {
            let what = match kind {
                "handed-together" | "arriving-together" => format!("LOCK.MACQUIRE 2 l m w{n}"),
                "permits" => format!("SEM.ACQUIRE l w{n}"),
                _ => format!("LOCK.ACQUIRE l w{n}"),
            };
            let how = match kind {
                "handed-to-writer" => "EXCLUSIVE BLOCK 0".to_owned(),
                "fair" | "fair-unblocked" | "fair-killed" => "FAIR BLOCK 0".to_owned(),
                "reader-before-readers" => "SHARED BLOCK 0".to_owned(),
                "timed-out" => format!("BLOCK {}", 1000 + n),
                _ => "BLOCK 0".to_owned(),
            };
            crowd.wait(&format!("{what} {how} PX 1000000000"));
        }
        Ok(crowd)
    }

    /// Lets one of the clients leave, or get the lock.
    fn happen(&mut self, kind: &str, event: usize) -> Result<(), String> {
        // The client in the middle, with about as many waiters before it as after it.
        let middle = self.waiting.get(self.waiting.len() / 2 + event).copied().unwrap_or_default();
        match kind {
            "unblocked" | "fair-unblocked" => self.ask(&format!("CLIENT UNBLOCK {middle}"), ":1"),
            "killed" | "fair-killed" => self.ask(&format!("CLIENT KILL ID {middle}"), ":1"),
            // The first event needs another step of the clock.
            "timed-out" => self.ask(&format!("CLOCK.ADVANCE {}", if event == 0 { 1001 } else { 1 }), ""),
            // One more client waits, for a lock that is unrelated to the others.
            "beside-listeners" => {
                self.wait(&format!("LOCK.ACQUIRE l w{event} BLOCK 0"));
                Ok(())
            }
            "arriving" => {
                self.wait(&format!("LOCK.ACQUIRE l x{event} BLOCK 0 PX 1000000000"));
                Ok(())
            }
            "arriving-together" => {
                self.wait(&format!("LOCK.MACQUIRE 2 l m x{event} BLOCK 0 PX 1000000000"));
                Ok(())
            }
            // The reader with the longest lease leaves.
            "reader" | "reader-before-readers" => self.leave(0),
            "reader-beside-redissons" => self.leave(REDISSONS),
            "handed-together" => self.ask(&format!("LOCK.MRELEASE 2 l m w{event}"), ""),
            "permits" => self.ask(&format!("SEM.RELEASE l w{event}"), ":"),
            _ => self.ask(&format!("LOCK.RELEASE l w{event}"), ":0"),
        }
    }

    /// Lets the reader with the longest lease leave, in the presence of this number of Redisson's readers.
    fn leave(&mut self, redissons: usize) -> Result<(), String> {
        let info = self.server.ask(self.main, "HLEN l");
        let fields: usize = info.trim_start_matches(':').trim().parse().map_err(|_| info)?;
        // The hash has a field for the mode, in addition to the readers.
        self.ask(&format!("LOCK.RELEASE l r{}", fields - redissons - 2), ":0")
    }

    /// Takes a read lock as Redisson does.
    fn read_as_redisson(&mut self, n: usize) -> Result<(), String> {
        let owner = format!("{INSTANCE}:{n}");
        self.ask("HSET l mode read", ":")?;
        self.ask(&format!("HINCRBY l {owner} 1"), ":1")?;
        self.ask(&format!("SET {{l}}:{owner}:rwlock_timeout:1 1 PX 500000"), "+")?;
        self.ask("PEXPIRE l 500000", ":1")
    }

    /// Lets a client wait as Redisson does, for a fair lock of another owner.
    fn listen(&mut self, n: usize) -> Result<(), String> {
        let owner = format!("{INSTANCE}:{n}");
        self.ask(&format!("RPUSH redisson_lock_queue:{{f{n}}} {owner}"), ":1")?;
        self.ask(&format!("ZADD redisson_lock_timeout:{{f{n}}} 2000000000 {owner}"), ":1")?;
        let client = self.server.connect();
        self.server.ask(client, &format!("SUBSCRIBE redisson_lock__channel:{{f{n}}}:{owner}"));
        Ok(())
    }

    fn ask(&mut self, line: &str, answer: &str) -> Result<(), String> {
        let told = self.server.ask(self.main, line);
        if told.starts_with(answer) && !told.starts_with('-') {
            Ok(())
        } else {
            Err(format!("{line}: {told}"))
        }
    }

    fn wait(&mut self, line: &str) {
        let client = self.server.connect();
        self.server.send(client, line);
        self.waiting.push(client);
    }
}
