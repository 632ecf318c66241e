//! What clients do not read: how much of it there can be, and what it takes.
//!
//! One test, part after part: the memory of the whole process is measured, with the server in it.

use lockwheel::Server;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

const MIB: usize = 1 << 20;

/// Bytes of memory that this process occupies, or has at most occupied.
fn memory(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is measured on Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("the system tells");
    line.split_whitespace().next().and_then(|kib| kib.parse::<usize>().ok()).expect("a number") * 1024
}

fn subscriber(server: &Server, channel: &str) -> Client {
    let mut client = Client::connect(server.addr());
    client.cmd(&["SUBSCRIBE", channel]);
    client
}

fn disconnections(client: &mut Client) -> usize {
    let info = client.line("INFO stats").to_string();
    let field = "client_output_buffer_limit_disconnections:";
    let line = info.split("\\r\\n").find_map(|line| line.strip_prefix(field));
    line.and_then(|count| count.parse().ok()).expect("INFO has it")
}

/// What a script, a transaction or a command sends to one who does not read is bounded while it is sent.
fn is_cut_off_on_the_way(what: &str, config: &str, run: impl FnOnce(&mut Client)) {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    if !config.is_empty() {
        assert_eq!(client.line(config).to_string(), "+OK");
    }
    let _listens = subscriber(&server, "channel");
    let _to_all = {
        let mut client = Client::connect(server.addr());
        client.cmd(&["PSUBSCRIBE", "__key*"]);
        client
    };
    let before = memory("VmHWM:");
    run(&mut client);
    let after = memory("VmHWM:");
    assert!(disconnections(&mut client) > 0, "{what}: nobody was cut off");
    assert!(after < before + 120 * MIB, "{what}: from {} to {} MiB", before / MIB, after / MIB);
}

#[test]
fn what_nobody_reads_is_bounded_shared_and_takes_little_more_than_its_bytes() {
    bounded();
    shared();
    packed();
}

fn bounded() {
    let loops = "local m = string.rep('x', 10000) for i = 1, 60000 do redis.call('publish', 'channel', m) end return 1";
    is_cut_off_on_the_way("a script's messages", "", |client| {
        assert_eq!(client.cmd(&["EVAL", loops, "0"]).to_string(), ":1");
    });
    is_cut_off_on_the_way("a transaction's messages", "", |client| {
        client.line("MULTI");
        let message = "x".repeat(10_000);
        // As much as the subscriber may leave unread, twice over, is what the transaction itself takes.
        let commands: Vec<_> = (0..7000).map(|_| vec!["PUBLISH", "channel", &message]).collect();
        client.pipeline(&commands);
        drop(commands);
        assert!(client.line("EXEC").to_string().starts_with("[:1"));
    });
    is_cut_off_on_the_way("a script's notifications", "CONFIG SET notify-keyspace-events KEA", |client| {
        let keys =
            "local k = string.rep('k', 10000) for i = 1, 30000 do redis.call('set', k, i) end return 1";
        assert_eq!(client.cmd(&["EVAL", keys, "0"]).to_string(), ":1");
    });
}

/// A message to many is kept once for all of them.
fn shared() {
    const LISTENERS: usize = 100;
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    let mut listeners: Vec<_> = (0..LISTENERS).map(|_| subscriber(&server, "channel")).collect();
    let message = "x".repeat(10_000);
    let before = memory("VmRSS:");
    for _ in 0..700 {
        assert_eq!(client.cmd(&["PUBLISH", "channel", &message]).to_string(), format!(":{LISTENERS}"));
    }
    let taken = memory("VmRSS:").saturating_sub(before);
    assert!(taken < 60 * MIB, "{} MiB for 7 MiB of messages to {LISTENERS}", taken / MIB);
    for listener in &mut listeners {
        (0..700).for_each(|_| assert!(listener.read_frame().to_string().ends_with(&format!("{message}\"]"))));
    }
}

/// Messages of a size, or replies, that wait until they are read.
fn packed() {
    for size in [20, 1000, 10_000] {
        let server = ours::server();
        let mut client = Client::connect(server.addr());
        assert_eq!(client.line("CONFIG SET client-output-buffer-limit 'pubsub 0 0 0'").to_string(), "+OK");
        let listener = subscriber(&server, "channel");
        let script = format!(
            "local m = string.rep('x', {size}) for i = 1, {} do redis.call('publish', 'channel', m) end",
            60 * MIB / size
        );
        let before = memory("VmRSS:");
        client.cmd(&["EVAL", &script, "0"]);
        is_about("messages", size, before, waiting(&mut client));
        drop(listener);
    }
    for size in [20, 1000, 10_000] {
        let server = ours::server();
        let mut client = Client::connect(server.addr());
        client.cmd(&["SET", "k", &"x".repeat(size)]);
        let mut lazy = Client::connect(server.addr());
        let before = memory("VmRSS:");
        // It sends while it can: what the server has not read yet is in the sockets.
        let gets = "GET k\r\n".repeat(60 * MIB / size);
        lazy.send_raw(gets.as_bytes());
        drop(gets);
        let wanted = 55 * MIB;
        while waiting(&mut client) < wanted {}
        is_about("replies", size, before, waiting(&mut client));
    }
}

/// Bytes that wait for clients, by their own account.
fn waiting(client: &mut Client) -> usize {
    let list = client.line("CLIENT LIST").to_string();
    let fields = list.split(' ').filter_map(|field| field.strip_prefix("obl="));
    fields.map(|bytes| bytes.parse::<usize>().expect("a number")).sum()
}

fn is_about(what: &str, size: usize, before: usize, waiting: usize) {
    let taken = memory("VmRSS:").saturating_sub(before);
    // Some memory is taken for other things: the script, the request, the sockets of the test.
    let most = waiting * 12 / 10 + 4 * MIB;
    assert!(waiting > 20 * MIB, "{what} of {size} bytes: only {} MiB wait", waiting / MIB);
    assert!(taken < most, "{what} of {size} bytes: {} MiB for {}", taken / MIB, waiting / MIB);
}
