//! Clients that are closed for being idle, according to `timeout`, on a manual clock.

use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

#[test]
fn idle_connections_are_closed() {
    let server = ours::manual_server();
    let [mut main, mut idle, mut blocked, mut subscriber, mut timed] =
        std::array::from_fn(|_| Client::connect(server.addr()));
    assert_eq!(idle.line("PING").to_string(), "+PONG");
    blocked.send_line("BLPOP list 0");
    timed.send_line("BLPOP list 1");
    subscriber.line("SUBSCRIBE channel");
    main.line("AWAIT.BLOCKED 2");
    assert_eq!(main.line("CONFIG SET timeout 5").to_string(), "+OK");
    let advanced = main.line("CLOCK.ADVANCE 60000").to_string();
    assert!(advanced.ends_with("\"fired\", :3, \"settled\", :1]"), "{advanced}");
    assert_eq!(idle.read_to_close(), b"");
    assert_eq!(timed.read_to_close(), b"*-1\r\n", "its answer first");
    assert_eq!(main.line("RPUSH list x").to_string(), ":1");
    assert_eq!(blocked.read_reply().to_string(), "[\"list\", \"x\"]");
    assert_eq!(main.line("PUBLISH channel m").to_string(), ":1");
}

/// A client that sends a request piece by piece is not idle, however long it takes.
#[test]
fn a_client_that_sends_a_request_in_pieces_is_not_idle() {
    let server = ours::manual_server();
    let [mut test, mut slow] = [0; 2].map(|_| Client::connect(server.addr()));
    let id = slow.line("CLIENT ID").as_int().expect("a number");
    test.line("CONFIG SET timeout 10");
    let mut sent = 0;
    for piece in ["*2\r\n", "$3\r\n", "GET\r\n", "$1\r\n"] {
        slow.send_raw(piece.as_bytes());
        sent += piece.len();
        let read = format!(" qbuf={sent} ");
        while !test.line(&format!("CLIENT LIST ID {id}")).to_string().contains(&read) {}
        test.line("CLOCK.ADVANCE 9000");
    }
    slow.send_raw(b"k\r\n");
    assert_eq!(slow.read_reply().to_string(), "(nil)");
    test.line("CLOCK.ADVANCE 10000");
    assert_eq!(slow.read_to_close(), b"");
}
