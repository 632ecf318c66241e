//! The servers of redis-rs' own tests, from the crate in which they are published: `redis-server` of PATH, over TCP, a
//! unix socket and TLS. The crate's parts for clusters and sentinels are left out.

use crate::stand_in::{Directory, succeeds};
use lockwheel_tests::client::Client;
use lockwheel_tests::redis_server::{Kind, skip};
use lockwheel_tests::tls::{Certificates, stream};
use redis::ConnectionAddr;
use redis_test::server::RedisServer;
use redis_test::utils::TlsFilePaths;
use std::env;
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// The longest wait for a start. It is a safety net, not part of a test's meaning.
const SAFETY_NET: Duration = Duration::from_secs(30);

/// The crate reads PATH and other variables of its process, so this test runs in its own process.
#[test]
fn redis_test_starts_our_servers() {
    let (directory, ours) = Directory::with_redis_server();
    let real = Kind::Redis.find().map(|path| path.parent().expect("it is in a directory").to_owned());
    assert_eq!(ours.parent(), Some(directory.0.as_path()));
    for path in [Some(directory.0.clone()), real].into_iter().flatten() {
        for kind in ["tcp", "unix", "tcp+tls"] {
            let mut test = Command::new(env::current_exe().expect("a test is a file"));
            test.args(["--exact", "stand_in::redis_rs::redis_test_starts_the_server_of_the_environment"]);
            test.env("PATH", &path).env("REDISRS_SERVER_TYPE", kind);
            let said =
                succeeds(test.env_remove("REDISRS_SERVER_BIN").env("LOCKWHEEL_PROGRAMS", "redis-server"));
            assert!(said.contains("1 passed"), "{kind}: {said}");
        }
    }
}

/// The kind and the PATH come from the process. The default is the real server, over TCP.
#[test]
fn redis_test_starts_the_server_of_the_environment() {
    if Kind::Redis.find().is_none() {
        return skip(&["redis-server"], "redis-server is not installed (apt-get install redis-server)");
    }
    let addr = RedisServer::get_addr(redis_test::utils::get_random_available_port());
    if let ConnectionAddr::TcpTls { port, .. } = addr {
        return over_tls(addr, port);
    }
    let server = RedisServer::new_with_addr_and_modules(addr, &[], false);
    let client = redis::Client::open(server.connection_info()).expect("the address is one");
    let begin = Instant::now();
    // The crate waits in the same way.
    let mut connection = loop {
        match client.get_connection() {
            Ok(connection) => break connection,
            Err(error) => assert!(begin.elapsed() < SAFETY_NET, "{error}"),
        }
        yield_now();
    };
    let answer: String = redis::cmd("PING").query(&mut connection).expect("it answers");
    assert_eq!(answer, "PONG");
    let mut debug = || redis::cmd("DEBUG").arg("SLEEP").arg(0).query::<String>(&mut connection);
    assert_eq!(debug().expect("it was allowed"), "OK");
    let log = server.log_file_contents().expect("it writes its log there");
    assert!(log.to_lowercase().contains("ready to accept connections"), "{log}");
}

/// The server uses existing certificates, since creating the crate's own takes seconds. It is also tested with
/// certificates of clients.
fn over_tls(addr: ConnectionAddr, port: u16) {
    let certificates = Certificates::new();
    for clients_show_theirs in [false, true] {
        let paths = TlsFilePaths {
            redis_crt: certificates.path("server.crt").into(),
            redis_key: certificates.path("server.key").into(),
            ca_crt: certificates.path("ca.crt").into(),
        };
        let spawn = |command: &mut Command| command.spawn().expect("it starts");
        let server = RedisServer::new_with_addr_tls_modules_and_spawner(
            addr.clone(),
            None,
            Some(paths),
            clients_show_theirs,
            None,
            &[],
            spawn,
        );
        let begin = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(begin.elapsed() < SAFETY_NET, "{:?}", server.log_file_contents());
            yield_now();
        }
        let identity = Some("client").filter(|_| clients_show_theirs);
        let config = certificates.client_config(identity, rustls::ALL_VERSIONS);
        let mut client = Client::over(stream((Ipv4Addr::LOCALHOST, port).into(), config));
        assert_eq!(client.line("PING").to_string(), "+PONG");
    }
}
