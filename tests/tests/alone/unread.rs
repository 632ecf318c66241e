//! Output that clients do not read: its bound, and its memory.
//!
//! The memory of the program itself is measured, with its own allocator.

use lockwheel_tests::client::Client;
use lockwheel_tests::program::Process;

const MIB: usize = 1 << 20;

/// Bytes of memory that the program occupies, now or at its peak.
fn memory(server: &Process, field: &str) -> usize {
    let path = format!("/proc/{}/status", server.process_id());
    let status = std::fs::read_to_string(path).expect("this is measured on Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("the system tells");
    line.split_whitespace().next().and_then(|kib| kib.parse::<usize>().ok()).expect("a number") * 1024
}

fn subscriber(server: &Process, channel: &str) -> Client {
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

/// The output of a script, a transaction or a command to a client that does not read is bounded while it is sent.
fn is_cut_off_on_the_way(what: &str, config: &str, run: impl FnOnce(&mut Client)) {
    let server = Process::start(&[]);
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
    let before = memory(&server, "VmHWM:");
    run(&mut client);
    let after = memory(&server, "VmHWM:");
    assert!(disconnections(&mut client) > 0, "{what}: nobody was cut off");
    assert!(after < before + 120 * MIB, "{what}: from {} to {} MiB", before / MIB, after / MIB);
}

#[test]
fn messages_of_scripts_and_transactions_are_bounded_as_they_are_sent() {
    let loops = "local m = string.rep('x', 10000) for i = 1, 60000 do redis.call('publish', 'channel', m) end return 1";
    is_cut_off_on_the_way("a script's messages", "", |client| {
        assert_eq!(client.cmd(&["EVAL", loops, "0"]).to_string(), ":1");
    });
    is_cut_off_on_the_way("a transaction's messages", "", |client| {
        client.line("MULTI");
        let message = "x".repeat(10_000);
        // The transaction itself takes twice the memory that the subscriber may leave unread.
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

#[test]
fn a_message_to_many_is_kept_once_for_all_of_them() {
    const LISTENERS: usize = 100;
    let server = Process::start(&[]);
    let mut client = Client::connect(server.addr());
    let mut listeners: Vec<_> = (0..LISTENERS).map(|_| subscriber(&server, "channel")).collect();
    let message = "x".repeat(10_000);
    let before = memory(&server, "VmRSS:");
    for _ in 0..700 {
        assert_eq!(client.cmd(&["PUBLISH", "channel", &message]).to_string(), format!(":{LISTENERS}"));
    }
    let taken = memory(&server, "VmRSS:").saturating_sub(before);
    assert!(taken < 60 * MIB, "{} MiB for 7 MiB of messages to {LISTENERS}", taken / MIB);
    for listener in &mut listeners {
        (0..700).for_each(|_| assert!(listener.read_frame().to_string().ends_with(&format!("{message}\"]"))));
    }
}

#[test]
fn unread_output_takes_little_more_than_its_bytes() {
    for size in [20, 1000, 10_000] {
        let server = Process::start(&[]);
        let mut client = Client::connect(server.addr());
        assert_eq!(client.line("CONFIG SET client-output-buffer-limit 'pubsub 0 0 0'").to_string(), "+OK");
        let listener = subscriber(&server, "channel");
        let script = format!(
            "local m = string.rep('x', {size}) for i = 1, {} do redis.call('publish', 'channel', m) end",
            60 * MIB / size
        );
        let before = memory(&server, "VmRSS:");
        client.cmd(&["EVAL", &script, "0"]);
        is_about(&server, &mut client, &format!("messages of {size} bytes"), before, 55 * MIB);
        drop(listener);
    }
    for size in [20, 1000, 10_000] {
        let server = Process::start(&[]);
        let mut client = Client::connect(server.addr());
        client.cmd(&["SET", "k", &"x".repeat(size)]);
        let mut lazy = Client::connect(server.addr());
        let before = memory(&server, "VmRSS:");
        // The client sends as long as it can: bytes that the server has not read yet are in the sockets.
        let gets = "GET k\r\n".repeat(60 * MIB / size);
        lazy.send_raw(gets.as_bytes());
        drop(gets);
        is_about(&server, &mut client, &format!("replies of {size} bytes"), before, 55 * MIB);
    }
}

/// Pending bytes for clients, by the server's account: those in buffers, and the memory of all pieces.
fn waiting(client: &mut Client) -> usize {
    let list = client.line("CLIENT LIST").to_string();
    let fields =
        list.split(' ').filter_map(|field| field.strip_prefix("obl=").or(field.strip_prefix("omem=")));
    fields.map(|bytes| bytes.parse::<usize>().expect("a number")).sum()
}

/// At least this much is pending at the end, and it takes little more memory than that.
fn is_about(server: &Process, client: &mut Client, what: &str, before: usize, least: usize) {
    let mut last = (0, 0);
    // Free memory goes back to the system within a second or two.
    for _ in 0..200 {
        let (waits, taken) = (waiting(client), memory(server, "VmRSS:").saturating_sub(before));
        // Some memory is needed for other purposes: the script, the requests.
        if waits > least && taken < waits * 12 / 10 + 3 * MIB {
            return;
        }
        last = (waits / MIB, taken / MIB);
        assert_eq!(client.line("AWAIT.BLOCKED 99 LIMIT 50").to_string(), "(nil)");
    }
    panic!("{what}: {} MiB wait and take {} MiB", last.0, last.1);
}

/// A connection with very many locks is pushed `lock-lost` for each. Its unread output is bounded while the pushes are
/// produced, whether one command ends all holds or their leases expire together.
#[test]
fn a_connection_that_does_not_read_loss_pushes_is_disconnected() {
    const HOLDS: usize = 10_000;
    for end in ["FLUSHALL", "CLOCK.ADVANCE 60000"] {
        let server = Process::start(&[]);
        let mut client = Client::connect(server.addr());
        client.line("CLOCK.FREEZE");
        let limit = "CONFIG SET client-output-buffer-limit 'pubsub 256kb 0 0'";
        assert_eq!(client.line(limit).to_string(), "+OK");
        let [mut lazy, mut other] = [(); 2].map(|()| Client::connect_resp3(server.addr()));
        let name = "n".repeat(1000);
        for from in (0..HOLDS).step_by(1000) {
            let acquire = |lock| {
                let lock = format!("{lock}{name}");
                ["LOCK.ACQUIRE", &lock, "owner", "PX", "60000"].map(str::to_owned).to_vec()
            };
            lazy.pipeline(&(from..from + 1000).map(acquire).collect::<Vec<_>>());
        }
        other.line("LOCK.ACQUIRE lock other PX 60000");
        let before = memory(&server, "VmHWM:");
        client.line(end);
        assert_eq!(disconnections(&mut client), 1, "{end}");
        let after = memory(&server, "VmHWM:");
        assert!(after < before + 60 * MIB, "{end}: from {} to {} MiB", before / MIB, after / MIB);
        assert!(other.read_frame().to_string().contains("lock-lost"), "{end}");
        let taken = other.line("LOCK.ACQUIRE lock other PX 60000");
        assert!(!taken.is_error(), "{end}: {taken}");
        let clients = client.line("CLIENT LIST").to_string();
        assert_eq!(clients.matches("resp=3").count(), 1, "{end}: {clients}");
    }
}
