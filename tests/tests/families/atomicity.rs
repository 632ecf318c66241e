//! Every command, script and transaction takes effect at one instant. Money moves between accounts, none is lost, and
//! no reader ever sees a transfer half done.

use lockwheel::Server;
use lockwheel_tests::client::Client;
use lockwheel_tests::reply::Reply;
use lockwheel_tests::rng::Rng;
use std::sync::atomic::{AtomicBool, Ordering};

/// Connections: half of them transfer money, half of them read totals.
const CONNECTIONS: u64 = 16;
/// Accounts, in keys of many hash slots.
const ACCOUNTS: usize = 40;
/// The initial balance of each account.
const BALANCE: i64 = 100;
/// Transfers that each writer makes.
const TRANSFERS: usize = 400;

/// A script that moves ARGV[3] from the account ARGV[1] to ARGV[2], by key names that it builds itself.
const UNDECLARED: &str = "local from, to = 'account:' .. ARGV[1], 'account:' .. ARGV[2] \
    redis.call('decrby', from, ARGV[3]) redis.call('incrby', to, ARGV[3]) return 'moved'";
/// A script that moves money between declared keys.
const DECLARED: &str =
    "redis.call('decrby', KEYS[1], ARGV[1]) redis.call('incrby', KEYS[2], ARGV[1]) return 'moved'";
/// The total of all accounts, read one after another.
const TOTAL: &str = "local total = 0 for i = 0, ARGV[1] - 1 do \
    total = total + redis.call('get', 'account:' .. i) end return total";

fn account(n: usize) -> String {
    format!("account:{n}")
}

/// Moves money in a way that `rng` picks.
fn transfer(client: &mut Client, rng: &mut Rng) {
    let (from, to) = (rng.below(ACCOUNTS), rng.below(ACCOUNTS));
    let amount = rng.below(10).to_string();
    let (from_key, to_key) = (account(from), account(to));
    match rng.below(3) {
        0 => {
            let reply = client.cmd(&["EVAL", DECLARED, "2", &from_key, &to_key, &amount]);
            assert_eq!(reply.to_string(), "\"moved\"");
        }
        1 => {
            let reply = client.cmd(&["EVAL", UNDECLARED, "0", &from.to_string(), &to.to_string(), &amount]);
            assert_eq!(reply.to_string(), "\"moved\"");
        }
        _ => {
            let replies = client.pipeline(&[
                vec!["MULTI"],
                vec!["DECRBY", &from_key, &amount],
                vec!["INCRBY", &to_key, &amount],
                vec!["EXEC"],
            ]);
            assert!(matches!(&replies[3], Reply::Array(results) if results.len() == 2), "{replies:?}");
        }
    }
}

/// Reads the total in a way that `rng` picks.
fn total(client: &mut Client, rng: &mut Rng) -> i64 {
    let number = |reply: &Reply| -> i64 {
        let text = reply.to_string();
        text.trim_matches(|c| c == '"' || c == ':').parse().unwrap_or_else(|_| panic!("a balance: {text}"))
    };
    let keys: Vec<String> = (0..ACCOUNTS).map(account).collect();
    match rng.below(3) {
        0 => client.cmd(&["EVAL", TOTAL, "0", &ACCOUNTS.to_string()]).as_int().expect("a total"),
        1 => {
            let command: Vec<&str> = std::iter::once("MGET").chain(keys.iter().map(String::as_str)).collect();
            let Reply::Array(balances) = client.cmd(&command) else { panic!("MGET answers an array") };
            balances.iter().map(number).sum()
        }
        _ => {
            let gets = keys.iter().map(|key| vec!["GET", key.as_str()]);
            let commands: Vec<Vec<&str>> =
                std::iter::once(vec!["MULTI"]).chain(gets).chain([vec!["EXEC"]]).collect();
            let replies = client.pipeline(&commands);
            let Some(Reply::Array(balances)) = replies.last() else { panic!("EXEC answers an array") };
            balances.iter().map(number).sum()
        }
    }
}

fn totals_are_conserved(threads: usize) {
    let server = Server::builder().port(0).seed(7).threads(threads).start().expect("a server starts");
    let mut client = Client::connect(server.addr());
    for n in 0..ACCOUNTS {
        client.cmd(&["SET", &account(n), &BALANCE.to_string()]);
    }
    let expected = BALANCE * ACCOUNTS as i64;
    let done = AtomicBool::new(false);
    let looks = std::thread::scope(|scope| {
        let movers: Vec<_> = (0..CONNECTIONS / 2)
            .map(|n| {
                let addr = server.addr();
                scope.spawn(move || {
                    let (mut client, mut rng) = (Client::connect(addr), Rng::new(n));
                    (0..TRANSFERS).for_each(|_| transfer(&mut client, &mut rng));
                })
            })
            .collect();
        let lookers: Vec<_> = (CONNECTIONS / 2..CONNECTIONS)
            .map(|n| {
                let (addr, done) = (server.addr(), &done);
                scope.spawn(move || {
                    let (mut client, mut rng) = (Client::connect(addr), Rng::new(n));
                    let mut looks = 0;
                    while !done.load(Ordering::Relaxed) {
                        assert_eq!(total(&mut client, &mut rng), expected, "a transfer was seen half done");
                        looks += 1;
                    }
                    looks
                })
            })
            .collect();
        // A writer that fails must not leave the readers in an endless loop.
        let moved: Vec<_> = movers.into_iter().map(|mover| mover.join()).collect();
        done.store(true, Ordering::Relaxed);
        moved.into_iter().for_each(|result| result.expect("every transfer is made"));
        lookers.into_iter().map(|looker| looker.join().expect("every look agrees")).sum::<u64>()
    });
    assert!(looks > 0, "somebody looked on");
    assert_eq!(total(&mut client, &mut Rng::new(0)), expected);
}

#[test]
fn totals_are_conserved_and_never_torn_on_one_thread() {
    totals_are_conserved(1);
}

#[test]
fn totals_are_conserved_and_never_torn_on_two_threads() {
    totals_are_conserved(2);
}
