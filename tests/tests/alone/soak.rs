//! A thousand clients connect, wait, are killed and disconnect, in every state of a client, while scripts are slow. No
//! loop stops, no session leaks, no reply is out of order, nothing is given to a client that has gone, and the memory
//! is freed.
//!
//! The test is bounded by counts, never by a clock. Items are given only after the departures: all of them must reach
//! the remaining clients.

use lockwheel::Server;
use lockwheel_tests::client::Client;
use lockwheel_tests::own_process;
use lockwheel_tests::rng::Rng;
use std::collections::BTreeSet;
use std::thread;

/// The number of clients at a time, and the number of waves.
const CLIENTS: usize = 1000;
const WAVES: usize = 10;
/// Queues that clients wait for, each with its own share of them.
const QUEUES: usize = 20;
/// Bytes by which the process may have grown from the first wave to the last: less than one leaked session per client.
const GROWTH: usize = 32 << 20;

const SLOW: &str = "for i = 1, 300000 do end return 1";

fn server(threads: usize) -> Server {
    let server =
        Server::builder().port(0).seed(7).threads(threads).start().expect("loopback has a free port");
    let mut client = Client::connect(server.addr());
    assert_eq!(client.line("CONFIG SET busy-reply-threshold 1").to_string(), "+OK");
    server
}

/// Sends a line until it is not refused because of a slow script.
fn say(client: &mut Client, line: &str) -> String {
    loop {
        let answer = client.line(line).to_string();
        if !answer.starts_with("-BUSY") {
            return answer;
        }
    }
}

/// A client in some state, from which it will disconnect. It is not in a script, which would refuse the clients behind
/// it.
fn passer_by(server: &Server, rng: &mut Rng, number: usize) -> Client {
    let mut client = Client::connect(server.addr());
    let watch: String = (0..50).map(|key| format!(" watched:{key}")).collect();
    match rng.below(8) {
        0 => client.send_line(&format!("BLPOP queue:{} 0", number % QUEUES)),
        1 => client.send_line(&format!("LOCK.ACQUIRE lock:{} passer:{number} BLOCK 0", number % QUEUES)),
        2 => client
            .send_line(&format!("SUBSCRIBE channel redisson_lock__channel:{{lock:{}}}", number % QUEUES)),
        3 => client.send_line(&format!("MULTI\r\nSET k:{number} v\r\nWATCH x")),
        4 => client.send_line(&format!("WATCH{watch}")),
        5 => client.send_raw(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100\r\nhalf of a value"),
        6 => client.send_line(&format!("PING\r\nWATCH{watch}\r\nCLIENT REPLY OFF\r\nPING")),
        _ => client.send_line("BLPOP nothing 1000"),
    }
    client
}

/// Disconnects in one of several ways.
fn go(mut client: Client, rng: &mut Rng) {
    match rng.below(3) {
        0 => client.reset(),
        1 => {
            // The client disconnects in the middle of a larger request.
            let _closed = client.try_send_raw(b"PING\r\nEVAL 'for i = 1, 300000 do end' 0\r\nPI");
            drop(client);
        }
        _ => drop(client),
    }
}

/// Clients that stay, each waiting for an object that suffices for all.
struct Waiting {
    elements: Vec<Client>,
    locks: Vec<(usize, Client)>,
    listeners: Vec<Client>,
}

impl Waiting {
    fn come(server: &Server, each: usize) -> Waiting {
        let connect = |line: String| {
            let mut client = Client::connect(server.addr());
            client.send_line(&line);
            client
        };
        let elements = (0..each).map(|at| connect(format!("BLPOP queue:{} 0", at % QUEUES))).collect();
        let lock = |at: usize| format!("LOCK.ACQUIRE lock:{} stays:{at} PX 1000000 BLOCK 0", at % QUEUES);
        let locks = (0..each).map(|at| (at, connect(lock(at)))).collect();
        let mut listeners: Vec<_> = (0..each).map(|_| connect("SUBSCRIBE channel".to_owned())).collect();
        listeners.iter_mut().for_each(|listener| drop(listener.read_frame()));
        Waiting { elements, locks, listeners }
    }

    /// Gives out the awaited objects, once the other clients have disconnected.
    fn are_served(self, control: &mut Client, wave: usize) {
        let pushed: BTreeSet<String> =
            (0..self.elements.len()).map(|at| format!("element:{wave}:{at}")).collect();
        for (at, element) in pushed.iter().enumerate() {
            assert!(say(control, &format!("RPUSH queue:{} {element}", at % QUEUES)).starts_with(':'));
        }
        let mut got = BTreeSet::new();
        for mut client in self.elements {
            let reply = client.read_reply().to_string();
            let element = reply.split('"').nth(3).unwrap_or_else(|| panic!("not an element: {reply}"));
            assert!(got.insert(element.to_owned()), "{element} was given twice");
        }
        assert_eq!(got, pushed, "an element was given to a client that had gone");
        for (at, mut client) in self.locks {
            let reply = client.read_reply().to_string();
            assert!(reply.contains("token"), "not a lock: {reply}");
            assert_eq!(say(&mut client, &format!("LOCK.RELEASE lock:{} stays:{at}", at % QUEUES)), ":0");
        }
        assert!(say(control, &format!("PUBLISH channel wave:{wave}")).starts_with(':'));
        for mut listener in self.listeners {
            assert!(listener.read_frame().to_string().contains(&format!("wave:{wave}")));
        }
    }
}

/// Transactions, of which any part may be refused because of a slow script: none of it must then be executed.
fn transfers(server: &Server) {
    let mut client = Client::connect(server.addr());
    for _ in 0..100 {
        let requests = ["MULTI", "DECR debit", "INCR credit", "EXEC"];
        let replies = requests.map(|request| client.line(request).to_string());
        let ran = replies[3].starts_with('[');
        assert_eq!(ran, replies[1] == "+QUEUED" && replies[2] == "+QUEUED" && ran, "{replies:?}");
        assert!(
            ran || replies[3].starts_with("-EXECABORT") || replies[3].starts_with("-ERR EXEC"),
            "{replies:?}"
        );
    }
}

/// Runs one wave: clients enter every state and disconnect, while others stay and are served.
fn wave(server: &Server, control: &mut Client, rng: &mut Rng, number: usize) {
    for lock in 0..QUEUES {
        assert!(say(control, &format!("LOCK.ACQUIRE lock:{lock} control PX 1000000")).contains("token"));
    }
    let each = CLIENTS / 10;
    let mut passers: Vec<Client> = (0..CLIENTS - 4 * each).map(|at| passer_by(server, rng, at)).collect();
    let waiting = Waiting::come(server, each);
    passers.extend((0..each).map(|_| {
        let mut client = Client::connect(server.addr());
        client.send(&["EVAL", SLOW, "0"]);
        client
    }));
    let killed: Vec<u64> = passers.iter().take(50).map(|client| u64::from(client.local().port())).collect();
    for port in &killed {
        let answer = say(control, &format!("CLIENT KILL 127.0.0.1:{port}"));
        assert!(answer == "+OK" || answer.starts_with("-ERR No such client"), "{answer}");
    }
    // Two threads disconnect clients at once, and a third keeps scripts slow.
    let mut shares: [Vec<Client>; 2] = Default::default();
    passers.into_iter().enumerate().for_each(|(at, client)| shares[at % 2].push(client));
    thread::scope(|scope| {
        for (at, share) in shares.into_iter().enumerate() {
            let mut rng = Rng::new(rng.next_u64() ^ at as u64);
            scope.spawn(move || share.into_iter().for_each(|client| go(client, &mut rng)));
        }
        scope.spawn(|| transfers(server));
        scope.spawn(|| {
            let mut runner = Client::connect(server.addr());
            for _ in 0..20 {
                let reply = runner.cmd(&["EVAL", SLOW, "0"]).to_string();
                assert!(reply == ":1" || reply.starts_with("-BUSY"), "{reply}");
            }
        });
    });
    for lock in 0..QUEUES {
        assert_eq!(say(control, &format!("LOCK.RELEASE lock:{lock} control")), ":0");
    }
    waiting.are_served(control, number);
    let balance = |control: &mut Client, account: &str| {
        let amount = say(control, &format!("GET {account}"));
        amount.trim_matches('"').parse::<i64>().unwrap_or(0)
    };
    assert_eq!(balance(control, "debit") + balance(control, "credit"), 0, "a transaction was run in part");
    while field(control, "connected_clients") != 1 {}
    assert_eq!(field(control, "blocked_clients"), 0);
    assert_eq!(say(control, "PUBSUB NUMSUB channel"), "[\"channel\", :0]");
    // The passing clients' own locks and elements of transactions may be there; nothing else.
    assert_eq!(say(control, "FLUSHALL"), "+OK");
}

fn field(control: &mut Client, name: &str) -> usize {
    let info = say(control, "INFO clients");
    let line =
        info.split("\\r\\n").find_map(|line| line.strip_prefix(&format!("{name}:")).map(str::to_owned));
    line.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no {name}: {info}"))
}

/// Bytes of memory that this process, and the server in it, occupies.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

fn soak(threads: usize) {
    let server = server(threads);
    let mut control = Client::connect(server.addr());
    let mut rng = Rng::new(7);
    wave(&server, &mut control, &mut rng, 0);
    let before = resident();
    (1..WAVES).for_each(|number| wave(&server, &mut control, &mut rng, number));
    let after = resident();
    assert!(after < before + GROWTH, "the process grew from {before} to {after} bytes");
    // Every event loop answers.
    let mut clients: Vec<_> = (0..2 * threads).map(|_| Client::connect(server.addr())).collect();
    clients.iter_mut().for_each(|client| assert_eq!(say(client, "PING"), "+PONG"));
}

#[test]
fn a_thousand_short_clients_leak_no_memory_on_one_two_and_four_threads() {
    if !own_process::is_of("soak::a_thousand_short_clients_leak_no_memory_on_one_two_and_four_threads") {
        return;
    }
    for threads in [1, 2, 4] {
        soak(threads);
    }
}
