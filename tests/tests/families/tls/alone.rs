//! The program when it listens over TLS alone: its address for others, `run`, `healthcheck`, and the name redis-cli.

use lockwheel_tests::program;
use lockwheel_tests::tls::Certificates;
use std::io::{BufReader, Read};
use std::process::{Child, Command, Output, Stdio};

/// The options of a server over TLS alone, on a free port.
fn options(certificates: &Certificates) -> Vec<String> {
    let file = |name: &str| certificates.path(name);
    let pairs = [
        ("--tls-port-file", file("port")),
        ("--tls-cert-file", file("server.crt")),
        ("--tls-key-file", file("server.key")),
        ("--tls-ca-cert-file", file("ca.crt")),
    ];
    pairs.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
}

/// A running program. Dropping it kills the process.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _already_ended = self.0.kill();
        let _already_waited = self.0.wait();
    }
}

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(program::path());
    command.args(arguments).env_remove("REDIS_URL").output().expect("it starts")
}

#[test]
fn a_health_check_asks_over_tls() {
    let certificates = Certificates::new();
    let mut command = Command::new(program::path());
    command.args(["--port", "0", "--requirepass", "p@ss"]).args(options(&certificates));
    let mut server = Running(command.stdout(Stdio::piped()).spawn().expect("it starts"));
    let out = server.0.stdout.take().expect("standard output is a pipe");
    let ready = program::ready_line(&mut BufReader::new(out));
    let (_, port) =
        ready.trim_end().split_once("Ready to accept connections tls, port=").expect("over TLS alone");
    let file = |name: &str| certificates.path(name);
    let (ca, other, cert, key) =
        (file("ca.crt"), file("other-ca.crt"), file("client.crt"), file("client.key"));
    let own = ["--cert", &cert, "--key", &key];
    let url = format!("rediss://:p%40ss@127.0.0.1:{port}/1");
    let check = |options: &[&str]| run(&[&["healthcheck"], options, &[&url]].concat());
    for trusted in [&["--cacert", &ca][..], &["--insecure"]] {
        let output = check(&[trusted, &own].concat());
        assert!(output.status.success(), "{output:?}");
        assert_eq!(output.stdout, format!("The server at 127.0.0.1:{port} answers.\n").into_bytes());
    }
    let none = file("none.crt");
    for (options, reason) in [
        (&[&own[..], &["--cacert", &other]].concat()[..], "UnknownIssuer"),
        (&["--cacert", &ca], "CertificateRequired"),
        (&own, "whom to trust over TLS, --cacert FILE or --insecure says\n"),
        (&["--insecure", "--cert", &cert], "--cert and --key are given together\n"),
        (&["--cacert", &none], "none.crt: No such file or directory\n"),
        (&["--cacert", &key], "client.key: "),
    ] {
        let output = check(options);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{options:?}");
        assert!(said.contains(reason), "{options:?}: {said}");
    }
}

#[test]
fn run_gives_its_command_a_server_over_tls() {
    let certificates = Certificates::new();
    let file = |name: &str| certificates.path(name);
    let script = "echo $REDIS_URL; echo rediss://:secret@$REDIS_HOST:$REDIS_PORT; \
                  \"$0\" healthcheck --cacert \"$1\" --cert \"$2\" --key \"$3\"";
    let mut command = Command::new(program::path());
    command.args(["run", "--requirepass", "secret"]).args(options(&certificates));
    command.args(["--", "sh", "-c", script]).arg(program::path());
    let output = command.args(["ca.crt", "client.crt", "client.key"].map(file)).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    let [url, parts, answer] = lines[..] else { panic!("{text}") };
    assert!(url == parts && answer.ends_with("answers."), "{text}");
}

#[test]
fn the_tls_port_is_written_to_the_ready_descriptor() {
    let certificates = Certificates::new();
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$@\" --ready-fd 3 3>&1 1>/dev/null", "sh"]).arg(program::path());
    command.args(["--port", "0"]).args(options(&certificates));
    let mut server = Running(command.stdout(Stdio::piped()).spawn().expect("it starts"));
    let mut told = String::new();
    let out = server.0.stdout.take().expect("it is a pipe");
    // The server closes the connection once it has sent the error.
    BufReader::new(out).read_to_string(&mut told).expect("it is text");
    assert_eq!(told, std::fs::read_to_string(certificates.path("port")).expect("it is there"));
    assert_ne!(told.trim().parse::<u16>().expect("a port"), 0);
}

#[cfg(unix)]
#[test]
fn our_redis_cli_speaks_tls() {
    let certificates = Certificates::new();
    let file = |name: &str| certificates.path(name);
    let cli = file("redis-cli");
    std::os::unix::fs::symlink(program::path(), &cli).expect("the directory can be written");
    let script = "\"$0\" -h $REDIS_HOST -p $REDIS_PORT --tls --cacert \"$1\" --cert \"$2\" --key \"$3\" PING; \
                  \"$0\" -u $REDIS_URL --insecure --cert \"$2\" --key \"$3\" ECHO there";
    let mut command = Command::new(program::path());
    command.arg("run").args(options(&certificates)).args(["--", "sh", "-c", script, &cli]);
    let output = command.args(["ca.crt", "client.crt", "client.key"].map(file)).output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "PONG\nthere\n", "{output:?}");
}
