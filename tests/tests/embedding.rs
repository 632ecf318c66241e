//! Servers inside a process: several at once, each its own, gone when dropped.

use lockwheel::{Server, Time};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

#[test]
fn several_servers_know_nothing_of_each_other() {
    let servers: Vec<Server> = (0..5).map(|_| ours::manual_server()).collect();
    for (n, server) in servers.iter().enumerate() {
        let mut client = Client::connect(server.addr());
        assert_eq!(client.line(&format!("SET k {n} PX 1000")).to_string(), "+OK");
        assert_eq!(server.url(), format!("redis://127.0.0.1:{}", server.port()));
    }
    assert_eq!(servers[0].advance(Duration::from_secs(1)), Ok(1));
    for (n, server) in servers.iter().enumerate() {
        let mut client = Client::connect(server.addr());
        let expected = if n == 0 { "(nil)".to_owned() } else { format!("\"{n}\"") };
        assert_eq!(client.line("GET k").to_string(), expected);
    }
}

#[test]
fn dropping_a_server_closes_its_connections_and_its_port() {
    let server = ours::manual_server();
    let addr = server.addr();
    let mut idle = Client::connect(addr);
    idle.line("PING");
    let mut blocked = Client::connect(addr);
    blocked.send_line("BLPOP list 0");
    idle.line("AWAIT.BLOCKED 1");
    drop(server);
    assert_eq!(idle.try_read_frame().ok().flatten(), None, "the connection is closed");
    assert_eq!(blocked.try_read_frame().ok().flatten(), None, "the waiting one too");
    assert!(TcpStream::connect(addr).is_err(), "nobody listens");
    TcpListener::bind(addr).expect("the port is free");
}

#[test]
fn the_clock_is_turned_by_method_as_by_command() {
    let server = Server::builder().port(0).time(Time::Manual).seed(7).start().expect("a server starts");
    let mut client = Client::connect(server.addr());
    client.line("CLOCK.SET 5000");
    assert_eq!(server.wall_ms(), 5000);
    client.line("SET k v PX 100");
    assert_eq!(server.next(), Some(1));
    assert_eq!((server.wall_ms(), server.next()), (5100, None));
    assert_eq!(server.step(-100), Ok(5000));
    assert!(server.step(i64::MIN).is_err());
    assert!(server.advance(Duration::MAX).is_err());
    assert_eq!(server.freeze(), 5000);
    assert!(server.resume() >= 5000);
}

#[test]
fn the_same_seed_makes_the_same_choices() {
    let choices = || {
        let server = ours::manual_server();
        let mut client = Client::connect(server.addr());
        client.line("SADD s a b c d e f g h i j k l m n o p");
        (0..20).map(|_| client.line("SRANDMEMBER s").to_string()).collect::<Vec<_>>()
    };
    assert_eq!(choices(), choices());
}
