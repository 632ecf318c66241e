//! Lines that run on a real redis-server and on ours: replies agree as far as Redis promises them, events exactly.

use lockwheel::{Config, Server};
use lockwheel_store::keyspace::EventClasses;
use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::{Client, Protocol};
use lockwheel_tests::ours::SEED;
use lockwheel_tests::pair::Pair;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;

/// The published classes of events: all, with misses and new keys.
const CLASSES: &str = "EAmn";

/// A server of ours that publishes every event, in real time.
#[track_caller]
pub(crate) fn server_with_events() -> Server {
    let mut config = Config::default();
    config.notify_keyspace_events = EventClasses::parse(CLASSES.as_bytes()).expect("these are classes");
    Server::builder().config(config).port(0).seed(SEED).start().expect("loopback has a free port")
}

/// A connection that receives every event of a server.
pub(crate) struct Listener(Client);

impl Listener {
    /// Subscribes to a server.
    #[track_caller]
    pub(crate) fn connect(server: &impl Endpoint) -> Listener {
        let mut client = Client::connect(server.addr());
        client.send_line("PSUBSCRIBE __keyevent@*__:*");
        let subscribed = client.read_frame();
        assert!(matches!(subscribed, Reply::Array(_)), "{subscribed}");
        Listener(client)
    }

    /// Returns the events since the last call, `db event key` each. The events of a command are there once it has been
    /// answered.
    #[track_caller]
    pub(crate) fn events(&mut self) -> Vec<String> {
        let mut heard = Vec::new();
        self.0.send_line("PING");
        loop {
            let frame = self.0.read_frame().into_elements().expect("a subscriber gets arrays");
            let words: Vec<String> = frame
                .iter()
                .map(|word| String::from_utf8_lossy(word.as_bytes().unwrap_or_default()).into())
                .collect();
            match words.as_slice() {
                [kind, _, channel, key] if kind == "pmessage" => {
                    let at = channel.trim_start_matches("__keyevent@").replace("__:", " ");
                    heard.push(format!("{at} {key}"));
                }
                _ => return heard,
            }
        }
    }
}

/// Runs lines on both servers in both protocols. Fails at the first line whose replies or events differ.
#[track_caller]
pub(crate) fn check_against_redis(lines: &str) {
    let Some(real) = RealServer::start(Kind::Redis, &["--notify-keyspace-events", CLASSES]) else { return };
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let ours = server_with_events();
        let connect = |address| Client::connect_with(address, protocol);
        let mut pair = Pair::new(connect(real.addr()), connect(ours.addr()), &[]);
        pair.check("FLUSHALL");
        let mut listeners = [Listener::connect(&real), Listener::connect(&ours)];
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            pair.check(line);
            let [expected, got] = listeners.each_mut().map(Listener::events);
            assert_eq!(got, expected, "{protocol:?}: the events of {line}");
        }
    }
}
