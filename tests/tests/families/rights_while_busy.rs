//! The right to stop a slow script, or the server, when rights change at the same time: the script begins right behind
//! the change, before any other client is served. Our server has 1, 2 and 4 threads and is compared with redis-server.

use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use std::io::ErrorKind;
use std::net::SocketAddr;

const BUSY: &str = "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
const NOAUTH: &str = "-NOAUTH Authentication required.";
const ENDLESS: &str = "EVAL \"while true do end\" 0";

/// Our server with this number of threads, and redis-server if it is installed.
fn servers() -> Vec<Box<dyn Endpoint>> {
    let with = |threads| ours::builder().threads(threads).start().expect("a free port");
    let ours = [1, 2, 4].map(|threads| Box::new(with(threads)) as Box<dyn Endpoint>);
    let real = RealServer::start(Kind::Redis, &[]).map(|server| Box::new(server) as Box<dyn Endpoint>);
    ours.into_iter().chain(real).collect()
}

/// A client with all rights, whatever happens to the default user.
fn root(address: SocketAddr) -> Client {
    let mut root = Client::connect(address);
    for line in ["CONFIG SET busy-reply-threshold 1", "ACL SETUSER root on nopass +@all ~* &*", "AUTH root x"]
    {
        assert_eq!(root.line(line).to_string(), "+OK");
    }
    root
}

/// Sends these requests and an endless script at once, and waits until other clients see the script.
fn run_behind(runner: &mut Client, changes: &str, root: &mut Client) {
    runner.send_raw(format!("{changes}\r\n{ENDLESS}\r\n").as_bytes());
    while root.line("PING").to_string() != BUSY {}
}

/// An authorised client has killed the script: its runner has the replies to this number of changes, and the error.
fn kill(root: &mut Client, runner: &mut Client, changes: usize) {
    assert_eq!(root.line("SCRIPT KILL").to_string(), "+OK");
    for _ in 0..changes {
        let changed = runner.read_reply();
        assert!(!changed.is_error(), "{changed}");
    }
    assert!(runner.read_reply().is_error());
}

#[test]
fn a_right_removed_before_a_slow_script_is_gone_during_it() {
    let command = |name: &str| format!("-NOPERM this user has no permissions to run the '{name}' command");
    let key = "-NOPERM this user has no permissions to access one of the keys used as arguments";
    for server in servers() {
        let mut root = root(server.addr());
        for (rule, request, answer) in [
            ("-script|kill", "SCRIPT KILL", command("script|kill")),
            ("-function|kill", "FUNCTION KILL", command("function|kill")),
            ("-shutdown", "SHUTDOWN NOSAVE", command("shutdown")),
            ("-get", "GET k", command("get")),
            ("resetkeys", "GET k", key.to_owned()),
            ("-@all +eval", "SCRIPT KILL", command("script|kill")),
        ] {
            let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
            assert_eq!(other.line("PING").to_string(), "+PONG");
            run_behind(&mut runner, &format!("ACL SETUSER default {rule}"), &mut root);
            assert_eq!(other.line(request).to_string(), answer, "{rule}");
            // A client that connects now has no right either.
            assert_eq!(Client::connect(server.addr()).line(request).to_string(), answer, "{rule}");
            assert_eq!(root.line("PING").to_string(), BUSY, "{rule}");
            kill(&mut root, &mut runner, 1);
            assert_eq!(root.line("ACL SETUSER default +@all ~* &*").to_string(), "+OK");
        }
    }
}

#[test]
fn a_right_removed_in_the_same_transaction_is_gone_in_its_script() {
    for server in servers() {
        let mut root = root(server.addr());
        let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
        assert_eq!(other.line("PING").to_string(), "+PONG");
        let request = format!("MULTI\r\nACL SETUSER default -script|kill\r\n{ENDLESS}\r\nEXEC\r\n");
        runner.send_raw(request.as_bytes());
        while root.line("PING").to_string() != BUSY {}
        let refused = "-NOPERM this user has no permissions to run the 'script|kill' command";
        assert_eq!(other.line("SCRIPT KILL").to_string(), refused);
        assert_eq!(root.line("SCRIPT KILL").to_string(), "+OK");
        let replies: Vec<String> = (0..4).map(|_| runner.read_reply().to_string()).collect();
        assert_eq!(replies[..3], ["+OK", "+QUEUED", "+QUEUED"]);
        assert!(replies[3].starts_with("[+OK, -ERR"), "{}", replies[3]);
    }
}

#[test]
fn a_new_client_needs_a_new_password_to_stop_a_script() {
    for server in servers() {
        let mut root = root(server.addr());
        for (change, back) in [
            ("CONFIG SET requirepass secret", "CONFIG SET requirepass \"\""),
            ("ACL SETUSER default >secret", "ACL SETUSER default nopass"),
        ] {
            let (mut runner, mut earlier) = (Client::connect(server.addr()), Client::connect(server.addr()));
            assert_eq!(earlier.line("PING").to_string(), "+PONG");
            run_behind(&mut runner, change, &mut root);
            let mut late = Client::connect(server.addr());
            for request in ["SCRIPT KILL", "FUNCTION KILL", "SHUTDOWN NOSAVE", "GET k", "PING"] {
                assert_eq!(late.line(request).to_string(), NOAUTH, "{change}: {request}");
            }
            // A client that was connected before stays logged in, unless it sends RESET.
            assert_eq!(earlier.line("GET k").to_string(), BUSY);
            assert_eq!(earlier.line("RESET").to_string(), "+RESET");
            assert_eq!(earlier.line("SCRIPT KILL").to_string(), NOAUTH);
            assert_eq!(late.line("AUTH secret").to_string(), "+OK");
            kill(&mut late, &mut runner, 1);
            assert_eq!(root.line(back).to_string(), "+OK");
        }
    }
}

#[test]
fn no_new_client_can_stop_a_script_if_the_default_user_is_off() {
    for server in servers() {
        let mut root = root(server.addr());
        let mut runner = Client::connect(server.addr());
        run_behind(&mut runner, "ACL SETUSER default off", &mut root);
        let mut late = Client::connect(server.addr());
        for request in ["SCRIPT KILL", "SHUTDOWN NOSAVE"] {
            assert_eq!(late.line(request).to_string(), NOAUTH);
        }
        assert!(late.line("AUTH default x").to_string().starts_with("-WRONGPASS"));
        assert_eq!(late.line("SCRIPT KILL").to_string(), NOAUTH);
        kill(&mut root, &mut runner, 1);
    }
}

#[test]
fn a_login_during_a_slow_script_applies_at_once() {
    for server in servers() {
        let mut root = root(server.addr());
        assert_eq!(root.line("ACL SETUSER weak on nopass +get ~*").to_string(), "+OK");
        let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
        run_behind(&mut runner, "PING", &mut root);
        assert_eq!(other.line("AUTH weak x").to_string(), "+OK");
        for (request, name) in [
            ("SCRIPT KILL", "script|kill"),
            ("FUNCTION KILL", "function|kill"),
            ("SHUTDOWN NOSAVE", "shutdown"),
        ] {
            let refused = format!("-NOPERM this user has no permissions to run the '{name}' command");
            assert_eq!(other.line(request).to_string(), refused);
        }
        assert_eq!(other.line("GET k").to_string(), BUSY);
        kill(&mut root, &mut runner, 1);
    }
}

/// A client that is killed, or whose user is removed, loses its rights at once, though its connection may not show it
/// yet.
#[test]
fn a_disconnected_client_cannot_stop_a_script() {
    for server in servers() {
        let mut root = root(server.addr());
        for request in ["SCRIPT KILL", "SHUTDOWN NOSAVE"] {
            for by_user in [true, false] {
                assert_eq!(root.line("ACL SETUSER u on nopass +@all ~* &*").to_string(), "+OK");
                let (mut runner, mut other) =
                    (Client::connect(server.addr()), Client::connect(server.addr()));
                assert_eq!(other.line("AUTH u x").to_string(), "+OK");
                let id = other.line("CLIENT ID").to_string();
                let change = match by_user {
                    true => "ACL DELUSER u".to_owned(),
                    false => format!("CLIENT KILL ID {}", &id[1..]),
                };
                run_behind(&mut runner, &change, &mut root);
                // The server may have closed the connection already, and so in the middle of the sent request.
                let _sent = other.try_send_raw(format!("{request}\r\n").as_bytes());
                let ended = other.try_read_frame().map_err(|error| error.kind());
                assert!(matches!(ended, Ok(None) | Err(ErrorKind::ConnectionReset)), "{change}: {ended:?}");
                assert_eq!(root.line("PING").to_string(), BUSY, "{change}: {request}");
                kill(&mut root, &mut runner, 1);
                assert_eq!(root.line("PING").to_string(), "+PONG");
            }
        }
    }
}

#[test]
fn a_changed_busy_threshold_applies_to_the_next_script() {
    for server in servers() {
        let mut root = root(server.addr());
        for threshold in ["0", "100000"] {
            assert_eq!(root.line(&format!("CONFIG SET busy-reply-threshold {threshold}")).to_string(), "+OK");
            let mut runner = Client::connect(server.addr());
            run_behind(&mut runner, "CONFIG SET busy-reply-threshold 1", &mut root);
            kill(&mut root, &mut runner, 1);
        }
    }
}
