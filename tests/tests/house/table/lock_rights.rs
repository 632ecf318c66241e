//! Rights to keys, for native commands that use more than the given keys: companion keys, and other readings.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;

/// A server with a user that has rights to keys beginning with `a:`, and two clients: the administrator and the user.
fn server() -> (Simulation, u64, u64) {
    let mut config = Config::default();
    config.lock_history = true;
    let mut simulation = Simulation::new(config, 7);
    let [admin, user] = [simulation.connect(), simulation.connect()];
    assert_eq!(simulation.ask(admin, "ACL SETUSER u on nopass ~a:* +@all"), "+OK\r\n");
    assert_eq!(simulation.ask(user, "AUTH u x"), "+OK\r\n");
    (simulation, admin, user)
}

/// The strings of a reply, in order.
fn strings(reply: &str) -> Vec<&str> {
    let mut strings: Vec<&str> = reply.split("\r\n").filter(|line| !line.starts_with(['$', '*'])).collect();
    strings.retain(|line| !line.is_empty());
    strings.sort_unstable();
    strings
}

/// The companion keys of a lock, a semaphore or a limiter, which are parts of it.
const COMPANIONS: [&str; 9] = [
    "redisson_lock_queue:{a:6}",
    "redisson_lock_timeout:{a:6}",
    "redisson_lock_token:{a:1}",
    "{a:2}:me:rwlock_timeout:1",
    "{a:3}:timeout",
    "{a:4}:permits",
    "{a:4}:value",
    "{a:5}:permits:x",
    "{a:5}:value:x",
];

#[test]
fn acls_treat_companion_keys_as_their_main_key() {
    let (mut simulation, admin, user) = server();
    for line in [
        "LOCK.ACQUIRE a:1 me FENCED",
        "LOCK.ACQUIRE a:2 me SHARED",
        "SEM.INIT a:3 2",
        "SEM.ACQUIRE a:3 me IDS PX 1000",
        "RATE.SET a:4 2 1000",
        "RATE.ACQUIRE a:4",
        "RATE.SET a:5 2 1000 CLIENT x",
        "RATE.ACQUIRE a:5 CLIENT x",
        "LOCK.ACQUIRE a:6 me FAIR",
    ] {
        let answer = simulation.ask(user, line);
        assert!(answer.starts_with([':', '*']), "{line}: {answer}");
    }
    let waiter = simulation.connect();
    simulation.ask(waiter, "AUTH u x");
    assert_eq!(simulation.ask(waiter, "LOCK.ACQUIRE a:6 you FAIR BLOCK 60000"), "");
    let keys = simulation.ask(admin, "KEYS *");
    let own = ["a:1", "a:2", "a:3", "a:4", "a:5", "a:6"];
    assert_eq!(strings(&keys), [&own[..], &COMPANIONS].concat());
    // A request that names companion keys needs the right to them.
    for key in COMPANIONS {
        for line in [format!("TYPE {key}"), format!("EVAL \"return redis.call('type', KEYS[1])\" 1 {key}")] {
            assert!(simulation.ask(user, &line).starts_with("-NOPERM"), "{line}");
        }
    }
}

#[test]
fn readings_show_all_key_names_unless_acls_forbid_the_command() {
    let (mut simulation, admin, user) = server();
    let waiter = simulation.connect();
    simulation.ask(admin, "LOCK.ACQUIRE b:1 secret");
    simulation.ask(admin, "SET b:lock secret NX");
    simulation.ask(waiter, "LOCK.ACQUIRE b:1 other BLOCK 60000");
    assert!(simulation.ask(user, "LOCK.INFO b:1").starts_with("-NOPERM"));
    let readings = [
        ("LOCK.SCAN 0 COUNT 100", "b:1"),
        ("LOCK.GRAPH", "secret"),
        ("LOCK.HISTORY", "secret"),
        ("LOCK.VERIFY", "secret"),
        ("LOCK.STATS KEY b:1", "holds"),
        ("AWAIT.EVENT acquired KEY b:1", ":"),
    ];
    for (line, shown) in readings {
        let answer = simulation.ask(user, line);
        assert!(answer.contains(shown) && !answer.starts_with('-'), "{line}: {answer}");
    }
    for rules in [
        "+@all -@control -lock.scan -lock.graph",
        "+@all -lock.scan -lock.graph -lock.history -lock.verify -lock.stats -await.event",
    ] {
        simulation.ask(admin, &format!("ACL SETUSER u {rules}"));
        for (line, _) in readings {
            let answer = simulation.ask(user, line);
            assert!(answer.starts_with("-NOPERM"), "{rules}, {line}: {answer}");
        }
        assert!(!simulation.ask(user, "LOCK.ACQUIRE a:1 me").starts_with('-'), "{rules}");
    }
}

#[test]
fn ending_a_wait_needs_write_and_reading_a_holder_needs_read_access() {
    let (mut simulation, admin, user) = server();
    simulation.ask(admin, "LOCK.ACQUIRE a:1 me");
    simulation.ask(admin, "ACL SETUSER u resetkeys %R~a:*");
    assert!(simulation.ask(user, "LOCK.CANCEL a:1 you").starts_with("-NOPERM"));
    simulation.ask(admin, "ACL SETUSER u resetkeys %W~a:*");
    assert_eq!(simulation.ask(user, "LOCK.CANCEL a:1 you"), ":0\r\n");
    for line in ["LOCK.ACQUIRE a:1 you", "LOCK.MACQUIRE 1 a:1 you"] {
        assert!(!simulation.ask(user, line).starts_with('-'), "{line}");
        assert!(simulation.ask(user, &format!("{line} GETHOLDER")).starts_with("-NOPERM"), "{line}");
    }
    simulation.ask(admin, "ACL SETUSER u resetkeys %R~a:* %W~a:*");
    assert!(simulation.ask(user, "LOCK.ACQUIRE a:1 you GETHOLDER").contains("me"));
}
