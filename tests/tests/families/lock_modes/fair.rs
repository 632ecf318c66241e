//! Fair locks: native waiters in Redisson's queue, together with its own.

use super::interop::{OWNERS, Scripts, World};

const WAIT_MS: i64 = 5000;
const VERSIONS: [&str; 3] = ["3.17.0", "3.24.3", "4.7.0"];

/// The request of a Redisson thread that takes the lock, or queues for it, by its client's clock.
pub(super) fn ask(scripts: &Scripts, owner: &str, clock_ms: i64) -> String {
    let text = scripts.find("RedissonFairLock", &["'zadd'"], &[]);
    let keys = "3 l redisson_lock_queue:{l} redisson_lock_timeout:{l}";
    format!("EVAL \"{text}\" {keys} 30000 {owner} {WAIT_MS} {clock_ms}")
}

/// The request of a Redisson thread that releases the lock.
pub(super) fn give_back(scripts: &Scripts, owner: &str, clock_ms: i64) -> String {
    let text = scripts.find("RedissonFairLock", &["ARGV[3],-1)"], &[]);
    let keys = "5 l redisson_lock_queue:{l} redisson_lock_timeout:{l} redisson_lock__channel:{l} latch";
    format!("EVAL \"{text}\" {keys} 0 30000 {owner} {clock_ms} publish 9000")
}

/// The request of a Redisson thread that gives up.
pub(super) fn give_up(scripts: &Scripts, owner: &str) -> String {
    let text = scripts.find("RedissonFairLock", &["'lrem'"], &[]);
    let keys = "2 redisson_lock_queue:{l} redisson_lock_timeout:{l}";
    format!("EVAL \"{text}\" {keys} {owner} {WAIT_MS}")
}

/// The queue and its times.
fn queue(world: &mut World) -> [String; 2] {
    ["LRANGE redisson_lock_queue:{l} 0 -1", "ZRANGE redisson_lock_timeout:{l} 0 -1 WITHSCORES"]
        .map(|line| world.ask(line))
}

fn world() -> World {
    let mut world = World::new();
    world.ask("CLOCK.SET 5000000");
    world
}

/// Takes the lock natively, or waits for it.
fn wait(world: &mut World, owner: &str) -> u64 {
    let client = world.server.connect();
    world.server.send(client, &format!("LOCK.ACQUIRE l {owner} FAIR BLOCK {WAIT_MS}"));
    client
}

#[test]
fn the_queue_is_the_same_by_script_and_natively() {
    for version in VERSIONS {
        let Some(scripts) = Scripts::of(version) else { return };
        let (mut by_script, mut natively) = (world(), world());
        let mut clients = Vec::new();
        for owner in OWNERS {
            by_script.ask(&ask(&scripts, owner, 5_000_000));
            clients.push(wait(&mut natively, owner));
            assert_eq!(queue(&mut natively), queue(&mut by_script), "{version} {owner}");
        }
        assert!(natively.server.read(clients[0]).contains("token"), "{version}");
        assert_eq!(natively.server.read(clients[1]), "", "{version}");
        // The next waiter gets the lock, and the times of those behind it shrink by as much.
        by_script.ask(&give_back(&scripts, OWNERS[0], 5_000_000));
        by_script.ask("DEL latch");
        by_script.ask(&ask(&scripts, OWNERS[1], 5_000_000));
        natively.ask(&format!("LOCK.RELEASE l {}", OWNERS[0]));
        assert!(natively.server.read(clients[1]).contains("token"), "{version}");
        assert_eq!(natively.state(), by_script.state(), "{version}");
        assert_eq!(natively.take_messages(), by_script.take_messages(), "{version}");
        // A client that gives up leaves nothing behind.
        by_script.ask(&give_up(&scripts, OWNERS[2]));
        natively.ask(&format!("CLIENT UNBLOCK {}", clients[2]));
        assert_eq!(natively.state(), by_script.state(), "{version}");
        assert_eq!(natively.ask("DBSIZE"), ":1\r\n");
    }
}

#[test]
fn native_and_redisson_waiters_are_served_in_one_order() {
    for version in VERSIONS {
        let Some(scripts) = Scripts::of(version) else { return };
        let mut world = world();
        world.ask(&ask(&scripts, OWNERS[0], 5_000_000));
        let native = wait(&mut world, "me");
        world.ask(&ask(&scripts, OWNERS[1], 5_000_000));
        let last = wait(&mut world, "last");
        world.ask(&give_back(&scripts, OWNERS[0], 5_000_000));
        assert!(world.server.read(native).contains("token"), "{version}");
        world.take_messages();
        world.ask("LOCK.RELEASE l me");
        let channel = format!("redisson_lock__channel:{{l}}:{}", OWNERS[1]);
        assert!(world.take_messages().iter().any(|message| message.contains(&channel)), "{version}");
        assert_eq!(world.server.read(last), "", "{version}: it is not its turn");
        assert_eq!(world.ask("LOCK.ACQUIRE l other FAIR"), "$-1\r\n", "{version}");
        assert_eq!(world.ask(&ask(&scripts, OWNERS[1], 5_000_000)), "$-1\r\n", "{version}: granted");
        world.ask("DEL latch");
        world.ask(&give_back(&scripts, OWNERS[1], 5_000_000));
        assert!(world.server.read(last).contains("token"), "{version}");
    }
}

/// The time of a dead Redisson waiter passes, and the next waiter is served at that instant.
#[test]
fn a_dead_head_is_skipped_at_its_timeout_and_a_live_one_is_not() {
    for version in VERSIONS {
        let Some(scripts) = Scripts::of(version) else { return };
        let mut world = world();

        world.ask("LOCK.ACQUIRE l holder PX 1000");
        world.ask(&ask(&scripts, OWNERS[1], 5_000_000));
        let client = world.server.connect();
        world.server.send(client, "LOCK.ACQUIRE l me FAIR BLOCK 0");
        world.ask("CLOCK.ADVANCE 5999");
        assert_eq!(world.server.read(client), "", "{version}");
        world.ask("CLOCK.ADVANCE 1");
        assert!(world.server.read(client).contains("token"), "{version}");
        // A live native head keeps its place, however long it waits.
        let waiter = world.server.connect();
        world.server.send(waiter, "LOCK.ACQUIRE l next FAIR BLOCK 0");
        for _ in 0..30 {
            world.ask("LOCK.RENEW 1 l me PX 60000");
            world.ask("CLOCK.ADVANCE 50000");
        }
        let now = 5_000_000 + 6_000 + 30 * 50_000;
        world.ask(&ask(&scripts, OWNERS[2], now));
        // A client whose clock is ahead drops the head, which is put back.
        world.ask(&ask(&scripts, OWNERS[2], now + 400_000));
        let head = world.ask("LINDEX redisson_lock_queue:{l} 0");
        assert_eq!(head, "$4\r\nnext\r\n", "{version}");
        world.ask("LOCK.RELEASE l me");
        assert!(world.server.read(waiter).contains("token"), "{version}");
    }
}

/// Natively, and since 3.17, each waits after the previous one; in 3.6.5 all wait after the first.
#[test]
fn redisson_3_6_counts_all_timeouts_from_the_first_waiter() {
    for version in ["3.6.5", "4.7.0"] {
        let Some(scripts) = Scripts::of(version) else { return };
        let mut world = world();
        world.ask("LOCK.ACQUIRE l holder PX 30000");
        for owner in OWNERS {
            let wait = if version == "3.6.5" { 5_000_000 + WAIT_MS } else { WAIT_MS };
            let text = scripts.find("RedissonFairLock", &["'zadd'"], &[]);
            let keys = "3 l redisson_lock_queue:{l} redisson_lock_timeout:{l}";
            world.ask(&format!("EVAL \"{text}\" {keys} 30000 {owner} {wait} 5000000"));
        }
        let ends = OWNERS.map(|owner| world.ask(&format!("ZSCORE redisson_lock_timeout:{{l}} {owner}")));
        let last = if version == "3.6.5" { "$7\r\n5040000\r\n" } else { "$7\r\n5045000\r\n" };
        assert_eq!(ends, ["$7\r\n5035000\r\n", "$7\r\n5040000\r\n", last], "{version}");
    }
}
