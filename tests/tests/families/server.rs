//! The commands about the server and its clients, as a client sees them.

use lockwheel::{Config, Server};
use lockwheel_engine::config::Permission;
use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::{Client, Protocol, encode, split};
use lockwheel_tests::differences::newer::as_in_7_2;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use lockwheel_tests::{family, ours};

/// The text of a bulk or verbatim reply.
fn text(reply: &Reply) -> String {
    String::from_utf8_lossy(reply.as_bytes().unwrap_or_else(|| panic!("no text: {reply}"))).into_owned()
}

/// The fields of a line of CLIENT LIST, in order.
fn fields(line: &str) -> Vec<(&str, &str)> {
    line.trim_end().split(' ').map(|field| field.split_once('=').expect("name=value")).collect()
}

fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let found = fields(line).into_iter().find(|(field, _)| *field == name);
    found.unwrap_or_else(|| panic!("no {name} in {line}")).1
}

/// The value of a line `name:value` of INFO.
fn info(client: &mut Client, section: &str, name: &str) -> String {
    let text = text(&client.line(&format!("INFO {section}")));
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned));
    value.unwrap_or_else(|| panic!("no {name} in {text}"))
}

#[test]
fn client_setname_and_related_commands_reply_as_on_redis() {
    family::same_everywhere(|s| {
        s.check("CLIENT GETNAME", "(nil)")
            .check("CLIENT SETNAME me", "+OK")
            .check("CLIENT GETNAME", "\"me\"")
            .check("CLIENT SETNAME ''", "+OK")
            .check("CLIENT GETNAME", "(nil)")
            .check(
                "CLIENT SETNAME 'a b'",
                "-ERR Client names cannot contain spaces, newlines or special characters.",
            )
            .check("CLIENT NO-EVICT on", "+OK")
            .check("CLIENT NO-EVICT OFF", "+OK")
            .check("CLIENT NO-EVICT maybe", "-ERR syntax error")
            .check("CLIENT REPLY ON", "+OK")
            .check("CLIENT REPLY maybe", "-ERR syntax error")
            .check("CLIENT nonsense", "-ERR unknown subcommand 'nonsense'. Try CLIENT HELP.")
            .check("CLIENT ID x", "-ERR wrong number of arguments for 'client|id' command")
            .check("CLIENT", "-ERR wrong number of arguments for 'client' command")
            .check("CLIENT LIST TYPE nonsense", "-ERR Unknown client type 'nonsense'")
            .check("CLIENT LIST TYPE", "-ERR syntax error")
            .check("CLIENT LIST nonsense", "-ERR syntax error")
            .check("CLIENT LIST ID", "-ERR syntax error")
            .check3("CLIENT LIST TYPE replica", "\"\"", "=txt:\"\"")
            .check3("CLIENT LIST TYPE MASTER", "\"\"", "=txt:\"\"")
            .check_that("CLIENT ID", |reply| reply.as_int().is_some_and(|id| id > 0));
    });
}

#[test]
fn hello_without_a_login_explains_authentication() {
    let told = "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH \
                <user> <pass> option can be used to authenticate the client and select the RESP protocol version at \
                the same time";
    family::same_on(as_in_7_2("HELLO without a login names `HELLO <proto> AUTH`"), |s| {
        // A session that begins with HELLO itself.
        s.on("stranger").check("PING", "+PONG");
        s.on("main").check("CONFIG SET requirepass secret", "+OK");
        s.on("stranger").check("RESET", "+RESET").check("HELLO 3", told).check("HELLO", told);
        s.on("main");
        s.check("CONFIG SET requirepass ''", "+OK");
    });
}

#[test]
fn a_publisher_gets_the_reply_before_its_own_message() {
    let kinds = as_in_7_2("a client's own messages come after the reply");
    let real = kinds.iter().filter_map(|&kind| RealServer::start(kind, &[]));
    let real: Vec<RealServer> = real.collect();
    let ours = ours::server();
    let addresses = [Endpoint::addr(&ours)].into_iter().chain(real.iter().map(RealServer::addr));
    for address in addresses {
        let mut client = Client::connect_with(address, Protocol::Resp3);
        let mut frames = |line: &str, count: usize| -> Vec<String> {
            client.send_line(line);
            (0..count).map(|_| client.read_frame().to_string()).collect()
        };
        frames("SUBSCRIBE c", 1);
        let message = |text: &str| format!(">[\"message\", \"c\", \"{text}\"]");
        assert_eq!(frames("PUBLISH c alone", 2), [":1".to_owned(), message("alone")]);
        frames("MULTI", 1);
        frames("PUBLISH c within", 1);
        frames("SET k v", 1);
        assert_eq!(frames("EXEC", 2), ["[:1, +OK]".to_owned(), message("within")]);
    }
}

#[test]
fn client_setinfo_sets_the_library_name_and_version() {
    family::same_on(as_in_7_2("client library names and CLIENT NO-TOUCH"), |s| {
        s.check("CLIENT SETINFO LIB-NAME name(1.2;x)", "+OK")
            .check("CLIENT SETINFO lib-ver 7.2.1", "+OK")
            .check_that("CLIENT INFO", |reply| text(reply).contains(" lib-name=name(1.2;x) lib-ver=7.2.1"))
            .check(
                "CLIENT SETINFO LIB-NAME 'a b'",
                "-ERR LIB-NAME cannot contain spaces, newlines or special characters.",
            )
            .check("CLIENT SETINFO other x", "-ERR Unrecognized option 'other'")
            .check("CLIENT SETINFO lib-name", "-ERR wrong number of arguments for 'client|setinfo' command")
            .check("CLIENT NO-TOUCH on", "+OK")
            .check("CLIENT NO-TOUCH off", "+OK")
            .check("CLIENT NO-TOUCH maybe", "-ERR syntax error");
    });
}

#[test]
fn client_list_has_the_fields_of_redis_7_2() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    client.line("SELECT 3");
    client.line("CLIENT SETNAME me");
    let line = text(&client.line("CLIENT INFO"));
    let names: Vec<&str> = fields(&line).into_iter().map(|(name, _)| name).collect();
    let expected = "id addr laddr fd name age idle flags db sub psub ssub multi qbuf qbuf-free argv-mem multi-mem rbs \
                    rbp obl oll omem tot-mem events cmd user redir resp lib-name lib-ver";
    assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
    let wanted = [
        ("addr", client.local().to_string()),
        ("laddr", server.addr().to_string()),
        ("name", "me".into()),
        ("flags", "N".into()),
        ("db", "3".into()),
        ("multi", "-1".into()),
        ("cmd", "client|info".into()),
        ("user", "default".into()),
        ("resp", "2".into()),
    ];
    for (name, value) in wanted {
        assert_eq!(field(&line, name), value, "{name}");
    }
}

#[test]
fn client_list_shows_the_state_of_each_client() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    let mut others: Vec<Client> = (0..4).map(|_| Client::connect(server.addr())).collect();
    let ids: Vec<i64> = others.iter_mut().map(|other| other.line("CLIENT ID").as_int().unwrap()).collect();
    others[0].line("SUBSCRIBE a b");
    others[1].send_line("BLPOP list 0");
    client.line("AWAIT.BLOCKED 1");
    for line in ["WATCH k", "MULTI", "GET k"] {
        others[2].line(line);
    }
    client.line("SET k v");
    others[3].line("CLIENT NO-EVICT on");
    others[3].line("CLIENT NO-TOUCH on");
    let line_of = |client: &mut Client, id: i64| text(&client.line(&format!("CLIENT LIST ID {id}")));
    let flags: Vec<String> =
        ids.iter().map(|&id| field(&line_of(&mut client, id), "flags").to_owned()).collect();
    assert_eq!(flags, ["P", "b", "xd", "eT"]);
    assert_eq!(field(&line_of(&mut client, ids[0]), "sub"), "2");
    assert_eq!(field(&line_of(&mut client, ids[1]), "cmd"), "blpop");
    assert_eq!(field(&line_of(&mut client, ids[2]), "multi"), "1");
    let pubsub = text(&client.line("CLIENT LIST TYPE PUBSUB"));
    assert_eq!(field(&pubsub, "id"), ids[0].to_string());
    assert_eq!(text(&client.line("CLIENT LIST TYPE normal")).lines().count(), 4);
    assert_eq!(text(&client.line(&format!("CLIENT LIST ID {} 0 -1 {}", ids[3], ids[0]))).lines().count(), 2);
    assert_eq!(client.line("CLIENT LIST ID x").to_string(), "-ERR Invalid client ID");
}

/// The requests that each of these clients has sent. Its line of CLIENT LIST then follows from them alone.
const DOINGS: &[(&str, &[&str])] = &[
    ("idle", &["SET k v"]),
    ("pops", &["BLPOP nothing 0"]),
    ("reads", &["XREAD BLOCK 0 STREAMS nothing $"]),
    ("queues", &["MULTI", "SET a b", "GET k"]),
    ("queues-wrongly", &["MULTI", "SET a"]),
    ("errs", &["GET k", "NO such command"]),
    ("errs-below", &["GET k", "CONFIG such"]),
    ("watches", &["WATCH a", "WATCH b"]),
    ("listens", &["SUBSCRIBE a b", "PSUBSCRIBE p*"]),
    ("listens-shard", &["SSUBSCRIBE a"]),
    ("tracks", &["HELLO 3", "CLIENT TRACKING on BCAST"]),
    ("waits", &["WAIT 1 0"]),
    ("stays", &["CLIENT NO-EVICT on"]),
    ("elsewhere", &["SELECT 3"]),
];

/// The commands among these that wait.
const BLOCKING: [&str; 3] = ["BLPOP", "XREAD", "WAIT"];

/// The fields of a client's line that follow from its requests.
fn following_fields(line: &str) -> String {
    const FIELDS: &[&str] = &[
        "flags", "db", "sub", "psub", "ssub", "multi", "qbuf", "argv-mem", "obl", "oll", "omem", "events",
        "cmd", "user", "redir", "resp",
    ];
    FIELDS.iter().map(|name| format!("{name}={} ", field(line, name))).collect()
}

/// The fields of the line without the output: in EXEC, Redis counts the transaction's answers so far.
fn following_fields_but_output(line: &str) -> String {
    let fields = following_fields(line);
    let kept = fields.split_inclusive(' ').filter(|field| !field.starts_with("obl="));
    kept.collect()
}

/// Returns these fields of each of the clients above.
fn fields_of_doings(address: std::net::SocketAddr) -> Vec<String> {
    let mut clients = Vec::new();
    for (name, lines) in DOINGS {
        let mut client = Client::connect(address);
        client.line(&format!("CLIENT SETNAME {name}"));
        for line in *lines {
            if BLOCKING.iter().any(|command| line.starts_with(command)) {
                client.send_line(line);
            } else {
                client.line(line);
            }
        }
        clients.push(client);
    }
    let mut asking = Client::connect(address);
    asking.line("CLIENT SETNAME asking");
    loop {
        let list = text(&asking.line("CLIENT LIST"));
        if list.matches("flags=b ").count() < BLOCKING.len() {
            continue;
        }
        let names = DOINGS.iter().map(|(name, _)| *name).chain(["asking"]);
        let line_of = |name| list.lines().find(|line| field(line, "name") == name).expect("it is connected");
        return names.map(line_of).map(following_fields).collect();
    }
}

#[test]
fn client_list_shows_the_fields_of_redis_for_each_state() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let server = ours::server();
    let [real, ours] = [real.addr(), server.addr()].map(fields_of_doings);
    for ((name, _), (real, ours)) in DOINGS.iter().chain(&[("asking", &[][..])]).zip(real.iter().zip(&ours)) {
        assert_eq!(ours, real, "{name}");
    }
}

/// Requests of clients in turn, each client's in one write. A line that begins with `~` is not answered at once.
const TURNS: &[(&str, &[&str])] = &[
    ("one", &["WATCH k", "MULTI", "GET k", "CLIENT INFO", "CLIENT LIST"]),
    ("looks", &["CLIENT LIST"]),
    ("one", &["EXEC"]),
    ("one", &["CLIENT INFO"]),
    ("looks", &["CLIENT LIST"]),
    ("one", &["WATCH k", "MULTI", "GET k", "DISCARD", "CLIENT INFO"]),
    ("one", &["WATCH k", "MULTI", "GET k"]),
    ("looks", &["SET k v", "CLIENT LIST"]),
    ("one", &["CLIENT INFO", "EXEC", "CLIENT INFO"]),
    ("one", &["WATCH k", "MULTI", "SET k w", "CLIENT INFO", "UNWATCH", "CLIENT INFO", "EXEC"]),
    ("one", &["MULTI", "GET k", "NO such command", "CLIENT INFO"]),
    ("looks", &["CLIENT LIST"]),
    ("one", &["EXEC", "CLIENT INFO"]),
    ("one", &["MULTI", "SELECT 3", "CLIENT NO-EVICT on", "CLIENT TRACKING on", "CLIENT INFO"]),
    ("one", &["SUBSCRIBE c", "CLIENT LIST TYPE pubsub", "UNSUBSCRIBE c", "CLIENT INFO", "EXEC"]),
    ("one", &["SELECT 0", "CLIENT NO-EVICT off", "CLIENT TRACKING off"]),
    ("one", &["MULTI", "AUTH wrong", "ACL LOG", "EXEC", "ACL LOG RESET"]),
    // A client whose wait has ended stays marked until the end of that iteration of the event loop.
    ("waits", &["~BLPOP l 0"]),
    ("looks", &["RPUSH l x", "CLIENT LIST"]),
    ("waits", &["PING", "~BLPOP l 0"]),
    ("looks", &["MULTI", "RPUSH l x", "CLIENT LIST", "EXEC", "CLIENT LIST"]),
    ("waits", &["PING", "~BLPOP l 0", "SELECT 4"]),
    ("looks", &["RPUSH l x", "CLIENT LIST"]),
    ("waits", &[]),
    ("looks", &["CLIENT LIST"]),
];

/// The lines of clients in a reply, each after the client's name.
fn client_lines(reply: &Reply, into: &mut Vec<String>) {
    match reply {
        Reply::Array(parts) => parts.iter().for_each(|part| client_lines(part, into)),
        _ => {
            let text = reply.as_bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            let lines = text.iter().flat_map(|text| text.lines()).filter(|line| line.contains(" flags="));
            into.extend(
                lines.map(|line| format!("{}: {}", field(line, "name"), following_fields_but_output(line))),
            );
        }
    }
}

/// The fields of clients that each of these rounds shows.
fn fields_of_rounds(address: std::net::SocketAddr) -> Vec<(usize, String)> {
    let mut clients: Vec<(&str, Client)> = Vec::new();
    for name in ["one", "looks", "waits"] {
        let mut client = Client::connect(address);
        client.line(&format!("CLIENT SETNAME {name}"));
        clients.push((name, client));
    }
    let mut observer = Client::connect(address);
    let (mut shown, mut unread) = (Vec::new(), 0);
    for (turn, (name, lines)) in TURNS.iter().enumerate() {
        let client = &mut clients.iter_mut().find(|(client, _)| client == name).expect("a client's name").1;
        // The server has performed the actions for which the client waited.
        (0..unread).filter(|_| *name == "waits").for_each(|_| drop(client.read_frame()));
        unread = if *name == "waits" { 0 } else { unread };
        let waits = lines.iter().position(|line| line.starts_with('~'));
        let commands = lines.iter().map(|line| split(line.trim_start_matches('~')));
        client.send_raw(&commands.flat_map(|command| encode(&command)).collect::<Vec<u8>>());
        for _ in 0..waits.unwrap_or(lines.len()) {
            let mut found = Vec::new();
            client_lines(&client.read_frame(), &mut found);
            shown.extend(found.into_iter().filter(|line| !line.starts_with(':')).map(|line| (turn, line)));
        }
        if let Some(waits) = waits {
            unread = lines.len() - waits;
            while !text(&observer.line("CLIENT LIST")).contains("flags=b") {}
        }
    }
    shown
}

#[test]
fn client_list_shows_transactions_and_ended_waits_as_redis_does() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let server = ours::server();
    let [real, ours] = [real.addr(), server.addr()].map(fields_of_rounds);
    let of_turn = |turn: &usize| format!("after {:?}", TURNS[*turn]);
    for ((turn, real), (_, ours)) in real.iter().zip(&ours) {
        assert_eq!(ours, real, "{}", of_turn(turn));
    }
    assert_eq!(ours.len(), real.len());
}

#[test]
fn client_kill_refuses_what_redis_refuses() {
    family::same_everywhere(|s| {
        s.check("CLIENT KILL 127.0.0.1:1", "-ERR No such client")
            .check("CLIENT KILL ID", "-ERR No such client")
            .check("CLIENT KILL ID 0", "-ERR client-id should be greater than 0")
            .check("CLIENT KILL ID 999999", ":0")
            .check("CLIENT KILL ID 9 ADDR", "-ERR syntax error")
            .check("CLIENT KILL TYPE nonsense", "-ERR Unknown client type 'nonsense'")
            .check("CLIENT KILL TYPE SLAVE", ":0")
            .check("CLIENT KILL TYPE replica", ":0")
            .check("CLIENT KILL TYPE master", ":0")
            .check("CLIENT KILL USER nobody", "-ERR No such user 'nobody'")
            .check("CLIENT KILL SKIPME maybe", "-ERR syntax error")
            .check("CLIENT KILL ADDR x LADDR y SKIPME no", ":0")
            .check("CLIENT KILL nonsense x", "-ERR syntax error")
            .check("CLIENT KILL USER default SKIPME yes", ":0");
    });
}

#[test]
fn client_kill_closes_the_matching_clients() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    let connect = || Client::connect(server.addr());
    let closed = |client: &mut Client| client.read_to_close().is_empty();

    let mut by_address = connect();
    by_address.line("PING");
    let address = by_address.local();
    assert_eq!(client.line(&format!("CLIENT KILL {address}")).to_string(), "+OK");
    assert!(closed(&mut by_address));

    let mut by_id = connect();
    let id = by_id.line("CLIENT ID").as_int().unwrap();
    assert_eq!(client.line(&format!("CLIENT KILL ID {id} USER default")).to_string(), ":1");
    assert!(closed(&mut by_id));

    // A client that has gone receives nothing more and waits for nothing more, from that instant on.
    let (mut listener, mut waiter) = (connect(), connect());
    listener.line("SUBSCRIBE c");
    waiter.send_line("BLPOP list 0");
    client.line("AWAIT.BLOCKED 1");
    assert_eq!(client.line("CLIENT KILL TYPE pubsub").to_string(), ":1");
    assert_eq!(client.line("PUBLISH c m").to_string(), ":0");
    assert_eq!(client.line("CLIENT KILL TYPE normal").to_string(), ":1");
    assert_eq!(client.line("RPUSH list x").to_string(), ":1");
    assert_eq!(client.line("LLEN list").to_string(), ":1");
    assert_eq!(text(&client.line("CLIENT LIST")).lines().count(), 1);
    assert!(closed(&mut listener) && closed(&mut waiter));

    assert_eq!(client.line(&format!("CLIENT KILL LADDR {} SKIPME NO", server.addr())).to_string(), ":1");
    assert!(closed(&mut client));
}

#[test]
fn a_client_that_does_not_read_can_be_killed() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    let mut deaf = Client::connect(server.addr());
    let id = deaf.line("CLIENT ID").as_int().unwrap();
    client.cmd(&[b"SET".to_vec(), b"large".to_vec(), vec![b'x'; 8 << 20]]);
    for _ in 0..4 {
        deaf.send_line("GET large");
    }
    // The client has not read its replies, so the server has bytes to write for as long as the client lives.
    loop {
        let line = text(&client.line(&format!("CLIENT LIST ID {id}")));
        if field(&line, "events") == "rw" {
            break;
        }
    }
    assert_eq!(client.line(&format!("CLIENT KILL ID {id}")).to_string(), ":1");
    assert!(deaf.read_to_close().len() < 32 << 20);
    assert_eq!(text(&client.line("CLIENT LIST")).lines().count(), 1);
}

#[test]
fn client_unblock_ends_a_blocking_request() {
    family::same_everywhere(|s| {
        s.check("CLIENT UNBLOCK nonsense", "-ERR value is not an integer or out of range")
            .check("CLIENT UNBLOCK 999999", ":0")
            .check("CLIENT UNBLOCK -1 TIMEOUT", ":0")
            .check("CLIENT UNBLOCK 999999 nonsense", "-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
    });
    family::compare_lines(Kind::Redis, "CLIENT UNBLOCK 999999 nonsense more");
    let mut s = ours::scenario();
    let unblocked = "-UNBLOCKED client unblocked via CLIENT UNBLOCK";
    for (how, expected) in [("", "(nil)"), (" TIMEOUT", "(nil)"), (" error", unblocked)] {
        let ids = s.on("waiter").run("CLIENT ID").map(|reply| reply.as_int().unwrap());
        assert_eq!(ids[0], ids[1], "both servers number alike");
        s.on("waiter").send("BLPOP list 0");
        s.check("AWAIT.BLOCKED 1", ":1");
        s.check(&format!("CLIENT UNBLOCK {}{how}", ids[0]), ":1");
        s.check(&format!("CLIENT UNBLOCK {}{how}", ids[0]), ":0");
        s.on("waiter").expect(expected);
    }
}

#[test]
fn client_reply_suppresses_replies() {
    let run = |address| {
        let mut client = Client::connect(address);
        for line in
            ["CLIENT REPLY SKIP", "SET a 1", "GET a", "CLIENT REPLY OFF", "GET a", "CLIENT REPLY SKIP"]
        {
            client.send_line(line);
        }
        for line in ["GET a", "CLIENT REPLY ON", "PING", "QUIT"] {
            client.send_line(line);
        }
        client.read_to_close()
    };
    let server = ours::server();
    assert_eq!(run(server.addr()), b"$1\r\n1\r\n+OK\r\n+PONG\r\n+OK\r\n");
    if let Some(real) = RealServer::start(Kind::Redis, &[]) {
        assert_eq!(run(real.addr()), run(server.addr()));
    }
}

#[test]
fn command_getkeys_finds_the_keys_of_requests() {
    family::same_everywhere(|s| {
        s.check("COMMAND GETKEYS get a", r#"["a"]"#)
            .check("COMMAND GETKEYS MSET a 1 b 2", r#"["a", "b"]"#)
            .check("COMMAND GETKEYS eval x 2 a b c", r#"["a", "b"]"#)
            .check("COMMAND GETKEYS eval x 0 a", "[]")
            .check("COMMAND GETKEYS eval x 5 a", "[]")
            .check("COMMAND GETKEYS eval x -1 a", "[]")
            .check("COMMAND GETKEYS lmpop 2 a b LEFT", r#"["a", "b"]"#)
            .check("COMMAND GETKEYS lmpop 9 a b LEFT", "-ERR Invalid arguments specified for command")
            .check("COMMAND GETKEYS lmpop x a b LEFT", "-ERR Invalid arguments specified for command")
            .check("COMMAND GETKEYS get a b", "-ERR Invalid number of arguments specified for command")
            .check("COMMAND GETKEYS nonsense a", "-ERR Invalid command specified")
            .check("COMMAND GETKEYS config nonsense x", "-ERR Invalid command specified")
            .check("COMMAND GETKEYS ping a", "-ERR The command has no key arguments")
            .check("COMMAND GETKEYS config get x", "-ERR The command has no key arguments")
            .check3(
                "COMMAND GETKEYSANDFLAGS get a",
                r#"[["a", [+RO, +access]]]"#,
                r#"[["a", ~[+RO, +access]]]"#,
            )
            .check3(
                "COMMAND GETKEYSANDFLAGS set a b",
                r#"[["a", [+OW, +update]]]"#,
                r#"[["a", ~[+OW, +update]]]"#,
            )
            .check3(
                "COMMAND GETKEYSANDFLAGS set a b px 5 get",
                r#"[["a", [+RW, +access, +update]]]"#,
                r#"[["a", ~[+RW, +access, +update]]]"#,
            )
            .check("COMMAND LIST FILTERBY nonsense x", "-ERR syntax error")
            .check("COMMAND LIST FILTERBY", "-ERR syntax error")
            .check("COMMAND LIST nonsense", "-ERR syntax error")
            .check("COMMAND LIST FILTERBY MODULE nonsense", "[]")
            .check("COMMAND LIST FILTERBY ACLCAT nonsense", "[]")
            .check("COMMAND LIST FILTERBY PATTERN xyz*", "[]")
            .check("COMMAND LIST filterby pattern HINCRBYF*", r#"["hincrbyfloat"]"#)
            .check_sorted(
                "COMMAND LIST FILTERBY ACLCAT transaction",
                r#"["discard", "exec", "multi", "unwatch", "watch"]"#,
                r#"["discard", "exec", "multi", "unwatch", "watch"]"#,
            )
            .check("COMMAND INFO nonsense", "[(nil)]")
            .check("COMMAND nonsense", "-ERR unknown subcommand 'nonsense'. Try COMMAND HELP.")
            .check("COMMAND COUNT x", "-ERR wrong number of arguments for 'command|count' command")
            .check("MULTI", "+OK")
            .check("COMMAND nonsense", "-ERR unknown subcommand 'nonsense'. Try COMMAND HELP.")
            .check("EXEC", "-EXECABORT Transaction discarded because of previous errors.")
            .check("MULTI", "+OK")
            .check(
                "EXEC x",
                "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command",
            )
            .check("EXEC", "-ERR EXEC without MULTI");
    });
}

#[test]
fn command_counts_and_lists_the_table() {
    let (server, table) = (ours::server(), ours::commands());
    let mut client = Client::connect(server.addr());
    let count = table.iter().len();
    assert_eq!(client.line("COMMAND COUNT").as_int(), Some(count as i64));
    for line in ["COMMAND", "COMMAND INFO"] {
        assert_eq!(client.line(line).into_elements().map(|entries| entries.len()), Some(count));
    }
    let listed = client.line("COMMAND LIST").into_elements().unwrap();
    assert_eq!(listed.len(), table.iter_all().len());
    assert!(listed.contains(&Reply::Bulk(b"client|kill".to_vec())));
}

/// Clients rely on this order when they publish right after they have subscribed over another connection.
#[test]
fn requests_run_in_order_of_arrival_across_connections() {
    let server = lockwheel::Server::builder().port(0).start().expect("loopback has a free port");
    let [mut writer, mut reader] = [0; 2].map(|_| Client::connect(server.addr()));
    for round in 0..5000 {
        let text = round.to_string();
        writer.send(&["SET", "k", &text]);
        assert_eq!(reader.line("GET k").to_string(), format!("\"{text}\""));
        writer.read_reply();
    }
}

#[test]
fn a_standalone_server_is_a_master() {
    family::same_everywhere(|s| {
        s.check_that("ROLE", |reply| reply.to_string().starts_with("[\"master\", :"))
            .check("WAIT 0 0", ":0")
            .check("WAIT -1 0", ":0")
            .check("WAIT 1 1", ":0")
            .check("WAIT 2147483648 0", ":0")
            .check("WAIT 9223372036854775807 0", ":0")
            .check("WAIT 1 -1", "-ERR timeout is negative")
            .check("WAIT 1 9223372036854775808", "-ERR timeout is not an integer or out of range")
            .check("WAIT 9223372036854775808 0", "-ERR value is not an integer or out of range")
            .check("WAIT x 0", "-ERR value is not an integer or out of range")
            .check("WAIT 0 x", "-ERR timeout is not an integer or out of range")
            .check("WAIT 0 -1", "-ERR timeout is negative")
            .check("SHUTDOWN nonsense", "-ERR syntax error")
            .check("SHUTDOWN NOSAVE SAVE", "-ERR syntax error")
            .check("SHUTDOWN ABORT NOW", "-ERR syntax error")
            .check("SHUTDOWN ABORT FORCE", "-ERR syntax error")
            .check("SHUTDOWN abort", "-ERR No shutdown in progress.")
            .check("CONFIG nonsense", "-ERR unknown subcommand 'nonsense'. Try CONFIG HELP.")
            .check("CONFIG SET maxmemory 1 x", "-ERR syntax error");
    });
    family::same_on(&[Kind::Redis], |s| {
        s.check("MULTI", "+OK").check("SHUTDOWN", "-ERR Command not allowed inside a transaction");
    });
}

#[test]
fn shutdown_ends_an_embedded_server() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    client.send_line("SHUTDOWN NOSAVE NOW FORCE");
    assert_eq!(client.read_to_close(), b"");
    server.wait();
}

#[test]
fn a_changed_parameter_takes_effect() {
    family::same_everywhere(|s| {
        s.check3(
            "CONFIG GET hash-max-listpack-entries",
            r#"["hash-max-listpack-entries", "512"]"#,
            r#"{"hash-max-listpack-entries": "512"}"#,
        )
        .check("DEL h", ":0");
        s.check("CONFIG SET hash-max-listpack-entries 2 set-max-intset-entries 1", "+OK")
            .check("HSET h a 1 b 2", ":2")
            .check("OBJECT ENCODING h", "\"listpack\"")
            .check("HSET h c 3", ":1")
            .check("OBJECT ENCODING h", "\"hashtable\"")
            .check("CONFIG SET proto-max-bulk-len 1mb", "+OK")
            .check("SETRANGE long 1048576 x", "-ERR string exceeds maximum allowed size (proto-max-bulk-len)")
            .check("CONFIG SET notify-keyspace-events Kg$", "+OK");
        s.on("listener").send("PSUBSCRIBE __keyspace@0__:*");
        s.on("listener").expect_push(r#"["psubscribe", "__keyspace@0__:*", :1]"#);
        s.check("SET key v", "+OK");
        s.on("listener").expect_push(r#"["pmessage", "__keyspace@0__:*", "__keyspace@0__:key", "set"]"#);
        s.check("CONFIG SET maxmemory nonsense",
            "-ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value")
            .check("CONFIG SET databases 3",
                "-ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config")
            .check("CONFIG SET requirepass secret", "+OK")
            .check("GET key", "\"v\"");
        s.check("CONFIG SET requirepass ''", "+OK");
    });
}

#[test]
fn a_new_password_applies_to_later_connections() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    client.line("CONFIG SET requirepass secret");
    assert_eq!(client.line("PING").to_string(), "+PONG");
    let mut other = Client::connect(server.addr());
    assert_eq!(other.line("PING").to_string(), "-NOAUTH Authentication required.");
    assert_eq!(
        other.line("AUTH nonsense").to_string(),
        "-WRONGPASS invalid username-password pair or user is disabled."
    );
    assert_eq!(other.line("AUTH secret").to_string(), "+OK");
    assert_eq!(other.line("PING").to_string(), "+PONG");
}

#[test]
fn debug_is_allowed_to_local_clients_unless_disabled() {
    ours::scenario().check("DEBUG SLEEP 0", "+OK");
    let refused = "-ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run \
                   it from a local connection, otherwise you need to set this option in the configuration file, and \
                   then restart the server.";
    let mut config = Config::default();
    config.enable_debug_command = Permission::No;
    let server = Server::builder().config(config).port(0).start().expect("a server starts on a free port");
    let mut client = Client::connect(server.addr());
    assert_eq!(client.line("DEBUG SLEEP 0").to_string(), refused);
    assert_eq!(client.line("DEBUG nonsense").to_string(), refused);
}

#[test]
fn info_has_sections_and_counts() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    let headings = |client: &mut Client, line: &str| -> Vec<String> {
        let text = text(&client.line(line));
        text.lines().filter_map(|line| line.strip_prefix("# ").map(str::to_owned)).collect()
    };
    let default = ["Server", "Clients", "Memory", "Persistence", "Stats", "Replication", "CPU", "Modules"];
    assert_eq!(headings(&mut client, "INFO")[..8], default);
    assert_eq!(headings(&mut client, "INFO default"), headings(&mut client, "INFO"));
    assert_eq!(headings(&mut client, "INFO keyspace SERVER nonsense"), ["Server", "Keyspace"]);
    assert!(headings(&mut client, "INFO all").contains(&"Commandstats".to_owned()));
    assert_eq!(text(&client.line("INFO cluster")), "# Cluster\r\ncluster_enabled:0\r\n");
    assert_eq!(text(&client.line("INFO nonsense")), "");
    assert_eq!(
        text(&client.line("INFO cluster errorstats")),
        "# Errorstats\r\n\r\n# Cluster\r\ncluster_enabled:0\r\n"
    );

    client.line("SET k v");
    client.line("SET with deadline PX 100000");
    client.line("LPUSH k x");
    client.line("SET k");
    let keys = info(&mut client, "keyspace", "db0");
    let left_ms = keys.strip_prefix("keys=2,expires=1,avg_ttl=").and_then(|left_ms| left_ms.parse().ok());
    assert!(left_ms.is_some_and(|left_ms: i64| (1..=100_000).contains(&left_ms)), "{keys}");
    // The durations are not known in advance.
    let mut calls = |command: &str| {
        let stats = info(&mut client, "commandstats", command);
        stats.split(',').filter(|field| !field.starts_with("usec")).collect::<Vec<_>>().join(",")
    };
    assert_eq!(calls("cmdstat_set"), "calls=2,rejected_calls=1,failed_calls=0");
    assert_eq!(calls("cmdstat_lpush"), "calls=1,rejected_calls=0,failed_calls=1");
    assert_eq!(info(&mut client, "errorstats", "errorstat_WRONGTYPE"), "count=1");
    assert_eq!(info(&mut client, "stats", "total_error_replies"), "2");
    let mut waiter = Client::connect(server.addr());
    waiter.send_line("BLPOP none 0");
    client.line("AWAIT.BLOCKED 1");
    assert_eq!(info(&mut client, "clients", "blocked_clients"), "1");
    assert_eq!(info(&mut client, "clients", "connected_clients"), "2");
    assert_eq!(info(&mut client, "server", "tcp_port"), server.addr().port().to_string());
    assert_eq!(client.line("CONFIG RESETSTAT").to_string(), "+OK");
    assert_eq!(info(&mut client, "stats", "total_error_replies"), "0");
    assert_eq!(info(&mut client, "clients", "blocked_clients"), "1");
}

#[test]
fn info_has_the_fields_that_clients_read() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    let text = text(&client.line("INFO"));
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("no {name}"))
    };
    for (name, expected) in [
        ("redis_version", "7.2.7"),
        ("redis_mode", "standalone"),
        ("role", "master"),
        ("connected_slaves", "0"),
        ("loading", "0"),
        ("aof_enabled", "0"),
        ("maxmemory_policy", "noeviction"),
        ("cluster_enabled", "0"),
    ] {
        assert_eq!(value(name), expected, "{name}");
    }
    let _: u64 = value("process_id").parse().unwrap();
    assert_eq!(value("run_id").len(), 40);
}

#[test]
fn every_help_subcommand_replies() {
    let server: Server = ours::server();
    let mut client = Client::connect(server.addr());
    for command in ours::commands().iter_all() {
        let Some((container, "help")) = command.name.split_once('|') else { continue };
        if container == "cluster" {
            // A server outside a cluster refuses even this.
            let refused = client.line("CLUSTER HELP").to_string();
            assert_eq!(refused, "-ERR This instance has cluster support disabled");
            continue;
        }
        let lines = client.line(&format!("{container} HELP")).into_elements().unwrap();
        let heading = format!("+{} <subcommand> [<arg>", container.to_uppercase());
        assert!(lines[0].to_string().starts_with(&heading), "{}", lines[0]);
        assert_eq!(lines.last().unwrap().to_string(), "+    Print this help.");
    }
}

#[test]
fn wait_ends_at_its_timeout() {
    let mut s = ours::manual_scenario();
    s.on("waiter").send("WAIT 1 700").send("PING");
    s.check("AWAIT.BLOCKED 1", ":1").run("CLOCK.ADVANCE 699");
    s.check("AWAIT.BLOCKED 1", ":1").run("CLOCK.ADVANCE 1");
    s.on("waiter").expect(":0").expect("+PONG");
    s.check("AWAIT.BLOCKED 0", ":1");
}

#[test]
fn client_unblock_ends_a_wait_for_replicas() {
    family::same_everywhere(|s| {
        for (reason, answer) in
            [("", ":0"), ("TIMEOUT", ":0"), ("ERROR", "-UNBLOCKED client unblocked via CLIENT UNBLOCK")]
        {
            let ids = s.on("waiter").run("CLIENT ID");
            s.on("waiter").send("WAIT 1 0");
            family::await_blocked(s, 1);
            for (client, id) in s.on("main").clients().iter_mut().zip(ids) {
                assert_eq!(
                    client.line(&format!("CLIENT UNBLOCK {} {reason}", id.as_int().unwrap())).as_int(),
                    Some(1)
                );
            }
            s.on("waiter").expect(answer);
        }
    });
}

#[test]
fn a_transaction_does_not_wait_for_replicas() {
    family::same_everywhere(|s| {
        s.check("MULTI", "+OK").check("WAIT 1 0", "+QUEUED").check("WAIT 1 x", "+QUEUED");
        s.check("EXEC", "[:0, -ERR timeout is not an integer or out of range]");
    });
    ours::scenario().check("EVAL \"return redis.call('wait', 1, 0)\" 0", ":0");
}
