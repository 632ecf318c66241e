//! The arguments and files with which clients' own tests start their servers. The ports differ, since many tests run on
//! one machine.
//!
//! Left out are lists that need a cluster, a sentinel, a replica (`--replicaof`) or a module (`--loadmodule`), and the
//! `user` lines of Jedis' first and ninth server.

use crate::stand_in::Directory;
use lockwheel_tests::client::Client;
use lockwheel_tests::redis_server::{Kind, free_port};
use lockwheel_tests::tls::{Certificates, stream};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// The longest wait for a start or an end. It is a safety net, not part of a test's meaning.
const SAFETY_NET: Duration = Duration::from_secs(30);

/// The listener that a list opens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opens {
    Tcp,
    TcpAndTls,
    UnixSocket,
}

/// A file of Jedis' tests, as its `make start` gives it to `redis-server -`: its name there, its listeners, and its
/// lines besides the common ones.
const JEDIS: &[(&str, Opens, &str)] = &[
    (
        "REDIS1",
        Opens::TcpAndTls,
        "requirepass foobared\nenable-module-command yes\nclient-output-buffer-limit pubsub 256k 128k 5",
    ),
    ("REDIS2", Opens::Tcp, "requirepass foobared"),
    ("REDIS3", Opens::TcpAndTls, "requirepass foobared\nmasterauth foobared"),
    ("REDIS6", Opens::Tcp, "requirepass foobared\nmasterauth foobared"),
    ("REDIS8", Opens::Tcp, "maxmemory-policy allkeys-lfu"),
    ("REDIS10", Opens::Tcp, ""),
    ("REDIS_UDS", Opens::UnixSocket, "unixsocketperm 777"),
];

/// The arguments of redis-py's containers with a single server. If they open TLS, too, the image adds the certificates.
const REDIS_PY: &[(&str, Opens, &[&str])] = &[
    (
        "redis",
        Opens::TcpAndTls,
        &[
            "--enable-debug-command",
            "yes",
            "--enable-module-command",
            "yes",
            "--tls-auth-clients",
            "optional",
            "--save",
            "",
        ],
    ),
    (
        "redis-stack",
        Opens::Tcp,
        &["--enable-debug-command", "yes", "--enable-module-command", "yes", "--save", ""],
    ),
    ("jedis-stack", Opens::Tcp, &["--save", ""]),
];

/// The place of a server.
struct Place {
    directory: Directory,
    certificates: Certificates,
    port: u16,
    tls_port: u16,
}

impl Place {
    fn new() -> Place {
        let (directory, certificates) = (Directory::new(), Certificates::new());
        Place { directory, certificates, port: free_port(), tls_port: free_port() }
    }

    /// The parameters of the place.
    fn parameters(&self, opens: Opens) -> Vec<(&str, String)> {
        let file = |name: &str| self.certificates.path(name);
        match opens {
            Opens::Tcp => vec![("port", self.port.to_string())],
            Opens::TcpAndTls => vec![
                ("port", self.port.to_string()),
                ("tls-port", self.tls_port.to_string()),
                ("tls-cert-file", file("server.crt")),
                ("tls-key-file", file("server.key")),
                ("tls-ca-cert-file", file("ca.crt")),
            ],
            Opens::UnixSocket => {
                vec![("port", "0".to_owned()), ("unixsocket", self.directory.file("socket"))]
            }
        }
    }

    /// Connects a client of each kind that the list opens, and requires an answer.
    fn answers(&self, opens: Opens, password: Option<&str>) {
        let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let ask = |mut client: Client| {
            if let Some(password) = password {
                assert_eq!(client.cmd(&["PING"]).to_string(), "-NOAUTH Authentication required.");
                assert_eq!(client.cmd(&["AUTH", password]).to_string(), "+OK");
            }
            assert_eq!(client.cmd(&["PING"]).to_string(), "+PONG");
        };
        match opens {
            Opens::UnixSocket => {
                let mut socket = UnixStream::connect(self.directory.file("socket")).expect("it listens");
                socket.write_all(b"PING\r\n").expect("it listens");
                let mut answer = String::new();
                BufReader::new(socket).read_line(&mut answer).expect("it answers");
                assert_eq!(answer, "+PONG\r\n");
            }
            Opens::Tcp => ask(Client::connect(at(self.port))),
            Opens::TcpAndTls => {
                ask(Client::connect(at(self.port)));
                let config = self.certificates.client_config(None, rustls::ALL_VERSIONS);
                ask(Client::over(stream(at(self.tls_port), config)));
            }
        }
    }

    /// Waits until the server has opened all its listeners.
    fn wait(&self, opens: Opens) {
        let listens = || match opens {
            Opens::UnixSocket => UnixStream::connect(self.directory.file("socket")).is_ok(),
            _ => {
                let ports = [self.port, if opens == Opens::Tcp { self.port } else { self.tls_port }];
                ports.iter().all(|&port| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok())
            }
        };
        until(listens, "it listens");
    }
}

#[track_caller]
pub(crate) fn until(condition: impl Fn() -> bool, what: &str) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < SAFETY_NET, "{what}");
        yield_now();
    }
}

/// Our program, and the real one if it is installed.
pub(crate) fn each_server(run: impl Fn(&Path)) {
    let (_directory, ours) = Directory::with_redis_server();
    [Some(ours), Kind::Redis.find()].into_iter().flatten().for_each(|server| run(&server));
}

#[test]
fn redis_pys() {
    each_server(|server| {
        for (name, opens, arguments) in REDIS_PY {
            let place = Place::new();
            let mut command = Command::new(server);
            for (parameter, value) in place.parameters(*opens) {
                command.arg(format!("--{parameter}")).arg(value);
            }
            command.args(*arguments).args(["--dir", &place.directory.file("")]);
            let mut child = command.stdout(Stdio::null()).spawn().expect("it starts");
            place.wait(*opens);
            assert!(child.try_wait().expect("it is our child").is_none(), "{name} has ended");
            place.answers(*opens, None);
            child.kill().expect("it runs");
            child.wait().expect("it is our child");
        }
    });
}

/// Each is a daemon that reads its file from standard input. It is stopped by the number in its pid file.
#[test]
fn jedis() {
    each_server(|server| {
        for (name, opens, more) in JEDIS {
            let place = Place::new();
            let (pid_file, log) = (place.directory.file("pid"), place.directory.file("log"));
            let mut file = format!(
                "daemonize yes\nprotected-mode no\npidfile {pid_file}\nlogfile {log}\nsave \"\"\nappendonly no\n\
                 {more}\n"
            );
            for (parameter, value) in place.parameters(*opens) {
                file += &format!("{parameter} \"{value}\"\n");
            }
            if *opens == Opens::TcpAndTls {
                file += "tls-auth-clients no\n";
            }
            let mut command = Command::new(server);
            let mut child = command.arg("-").stdin(Stdio::piped()).spawn().expect("it starts");
            child.stdin.take().expect("it is a pipe").write_all(file.as_bytes()).expect("it reads");
            assert!(child.wait().expect("it is our child").success(), "{name} of {}", server.display());
            place.wait(*opens);
            place.answers(*opens, Some("foobared").filter(|password| more.contains(password)));
            until(|| fs::read_to_string(&pid_file).is_ok_and(|pid| pid.ends_with('\n')), "it writes its pid");
            let pid = fs::read_to_string(&pid_file).expect("it is there");
            let killed = Command::new("kill").arg(pid.trim()).status().expect("there is a kill");
            assert!(killed.success(), "{name}: {pid}");
            until(|| !Path::new(&pid_file).exists(), "it ends");
        }
    });
}
