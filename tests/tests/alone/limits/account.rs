//! The memory account against which limits are checked, compared with the program's allocator.

use lockwheel_tests::client::Client;
use lockwheel_tests::program::Process;
use lockwheel_tests::rng::Rng;

/// Requests sent together, and the number of these batches. `LOCKWHEEL_ROUNDS=2000` gives a million requests.
const BATCH: usize = 500;

fn rounds() -> usize {
    std::env::var("LOCKWHEEL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(150)
}

/// The used memory by the account, and by the allocator.
fn used(client: &mut Client) -> [i64; 2] {
    let text = client.line("INFO memory").to_string();
    ["used_memory:", "allocator_allocated:"].map(|name| {
        let value = text.split("\\r\\n").find_map(|line| line.strip_prefix(name));
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
    })
}

/// A request on a key of any type.
fn request(rng: &mut Rng) -> Vec<String> {
    let number = rng.below(500).to_string();
    let value = "v".repeat([1, 3, 8, 20, 60, 200, 700][rng.below(7)]);
    let words: &[&str] = match rng.below(18) {
        0 => &["SET", "s", &value],
        1 => &["SET", "s", &value, "EX", "1000"],
        2 => &["APPEND", "s", &value],
        3 => &["RPUSH", "l", &value, &number],
        4 => &["LPOP", "l"],
        5 => &["HSET", "h", &number, &value],
        6 => &["HDEL", "h", &number],
        7 => &["SADD", "t", &value, &number],
        8 => &["SADD", "n", &number],
        9 => &["SREM", "n", &number],
        10 => &["ZADD", "z", &number, &value],
        11 => &["ZREM", "z", &value],
        12 => &["XADD", "x", "*", "field", &value],
        13 => &["XTRIM", "x", "MAXLEN", "5"],
        14 => &["PFADD", "p", &number],
        15 => &["SETRANGE", "b", &number, &value],
        16 => &["EXPIRE", "h", "1000"],
        _ => &["DEL", ["s", "l", "h", "t", "n", "z", "x", "p", "b"][rng.below(9)]],
    };
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    words[1] = format!("{}:{}", words[1], rng.below(2000));
    words
}

#[test]
fn the_counted_memory_equals_the_allocated_memory() {
    let server = Process::start(&["--save", "", "--threads", "1"]);
    let mut client = Client::connect(server.addr());
    let before = used(&mut client);
    let mut rng = Rng::new(lockwheel_tests::ours::SEED);
    for _ in 0..rounds() {
        let requests: Vec<Vec<String>> = (0..BATCH).map(|_| request(&mut rng)).collect();
        client.pipeline(&requests);
    }
    let now = used(&mut client);
    let [counted, allocated] = [0, 1].map(|side| (now[side] - before[side]) as f64);
    // The allocator also counts the slots of keys that are free.
    assert!((0.9..1.1).contains(&(counted / allocated)), "{counted} of {allocated}");
}
