//! Real clients over TLS.

use crate::tls::server;
use lockwheel_tests::redis_server::{find_in_path, is_wanted, skip};
use lockwheel_tests::redisson::{Redisson, Version};
use lockwheel_tests::tls::{Certificates, address};
use std::path::Path;
use std::process::Command;

const REDIS_PY: &str = "\
import redis, ssl, sys, threading
port, directory = int(sys.argv[1]), sys.argv[2]
def connect(**more):
    return redis.Redis.from_url(f'rediss://127.0.0.1:{port}/0', ssl_ca_certs=directory + 'ca.crt', **more)
own = dict(ssl_certfile=directory + 'client.crt', ssl_keyfile=directory + 'client.key')
client = connect(**own)
big = b'x' * 3_000_000
assert client.set('big', big) and client.get('big') == big
assert client.pipeline().incr('n').incr('n').execute() == [1, 2]
with client.lock('lock', timeout=10):
    assert not connect(**own).lock('lock', timeout=10, blocking=False).acquire()
pubsub = client.pubsub(ignore_subscribe_messages=True)
pubsub.subscribe('channel')
pubsub.get_message(timeout=10)
waiting = threading.Thread(target=lambda: client.lpush('answers', *connect(**own).blpop('list', 20)))
waiting.start()
client.rpush('list', 'x')
waiting.join()
assert client.lrange('answers', 0, -1) == [b'x', b'list'], client.lrange('answers', 0, -1)
client.publish('channel', 'm')
assert pubsub.get_message(timeout=10)['data'] == b'm'
try:
    connect().ping()
    sys.exit('a client without a certificate was let in')
except redis.exceptions.ConnectionError:
    print('done')
";

#[track_caller]
fn succeeds(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    out.into_owned()
}

#[test]
fn redis_cli_connects_over_tls() {
    let Some(redis_cli) = find_in_path("redis-cli").filter(|_| is_wanted("redis-cli")) else {
        return skip(&["redis-cli"], "redis-cli is not installed (apt-get install redis-tools)");
    };
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 2);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&redis_cli);
        command.args(["-p", &address(&server).port().to_string(), "--tls"]);
        command.args(["--cacert", &certificates.path("ca.crt"), "--cert", &certificates.path("client.crt")]);
        succeeds(command.args(["--key", &certificates.path("client.key")]).args(arguments))
    };
    assert_eq!(run(&["SET", "k", "v"]), "OK\n");
    assert_eq!(run(&["-3", "GET", "k"]), "v\n");
    assert!(run(&["--bigkeys"]).contains("Biggest string found"));
}

#[test]
fn redis_py_connects_over_tls() {
    let Some(python) = find_in_path("python3").filter(|_| is_wanted("python3")) else {
        return skip(&["python3"], "python3 is not installed");
    };
    if !Command::new(&python)
        .args(["-c", "import redis"])
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return skip(&["python3"], "redis-py is not installed (pip install redis)");
    }
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 2);
    let port = address(&server).port().to_string();
    let out = succeeds(Command::new(python).args(["-c", REDIS_PY, &port, &certificates.path("")]));
    assert_eq!(out, "done\n");
}

/// The newest version: locks of two clients, one of which waits for the other.
#[test]
fn redisson_connects_over_tls() {
    let Some(redisson) = Redisson::prepare(Version::new(4, 7, 0), Path::new(env!("CARGO_TARGET_TMPDIR")))
    else {
        return;
    };
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 2);
    server.resume();
    let arguments = [address(&server).port().to_string(), certificates.path("")];
    assert_eq!(succeeds(&mut redisson.command("lockwheel.OverTls", &arguments)), "done\n");
}
