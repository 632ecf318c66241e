//! `run`, `healthcheck`, `completions`, `man`, and the names of Redis' own programs.

use crate::harness::{Directory, Process, program, refused, run};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn named(directory: &Directory, name: &str) -> Command {
    let link = directory.file(name);
    if !fs::exists(&link).expect("the directory can be read") {
        symlink(env!("CARGO_BIN_EXE_lockwheel"), &link).expect("the directory can be written");
    }
    let mut command = Command::new(link);
    command.stdin(Stdio::null()).env_remove("REDISCLI_AUTH").env_remove("RUST_LOG");
    command
}

#[test]
fn run_starts_a_command_with_its_own_server() {
    let script = "\"$0\" healthcheck; echo $REDIS_URL; echo redis://$REDIS_HOST:$REDIS_PORT; exit 7";
    let output = run(&["run", "--", "sh", "-c", script, env!("CARGO_BIN_EXE_lockwheel")]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let text = out(&output);
    let lines: Vec<&str> = text.lines().collect();
    let [answer, url, parts] = lines[..] else { panic!("{text}") };
    assert!(answer.ends_with("answers.") && url == parts && url.starts_with("redis://127.0.0.1:"), "{text}");
    assert_eq!(error(&output), "");
    // The server has ended with the command.
    let asked = run(&["healthcheck", url]);
    assert_eq!(asked.status.code(), Some(1));
    assert!(error(&asked).ends_with("does not answer as it should: Connection refused\n"), "{asked:?}");
}

#[test]
fn run_passes_options_and_a_password_to_its_server() {
    let directory = Directory::new();
    let file = directory.file("redis.conf");
    // The port of the file belongs to another server.
    fs::write(&file, "port 6379\nrequirepass \"a b@:/%\"\n").expect("it can be written");
    let script = "\"$0\" healthcheck; echo $REDIS_URL";
    let command = ["--", "sh", "-c", script, env!("CARGO_BIN_EXE_lockwheel")];
    let output = run(&[&["run", &file, "--databases", "4"][..], &command].concat());
    let text = out(&output);
    assert!(text.contains("answers.\nredis://:a%20b%40%3A%2F%25@127.0.0.1:"), "{output:?}");
    assert!(!text.contains(":6379"), "{text}");
    let socket = directory.file("s");
    let output = run(&[&["run", "--unixsocket", &socket][..], &command].concat());
    assert!(out(&output).contains(&format!("unix://{}", socket.replace(' ', "%20"))), "{output:?}");
}

#[test]
fn run_exits_with_the_code_that_a_shell_would_return() {
    for (command, code) in [
        (&["sh", "-c", "kill -KILL $$"][..], 137),
        (&["sh", "-c", "kill -TERM $$"], 143),
        (&["true"], 0),
        (&["/no/such/command"], 127),
        (&["no-such-command"], 127),
        (&["/"], 126),
    ] {
        let output = run(&[&["run", "--"][..], command].concat());
        assert_eq!(output.status.code(), Some(code), "{command:?}");
    }
    refused(&["run"], &["A command must follow --", "Usage: lockwheel run"]);
    refused(&["run", "pytest"], &["A command must follow --"]);
    refused(&["run", "--nonsense", "1", "--", "true"], &["There is no option '--nonsense'"]);
    refused(&["run", "--daemonize", "yes", "--", "true"], &["cannot go into the background"]);
}

#[test]
fn run_forwards_signals_to_its_command() {
    for (signal, name) in [("-TERM", "TERM"), ("-INT", "INT"), ("-HUP", "HUP")] {
        let script = format!("trap 'echo told; exit 5' {name}; echo ready; while :; do sleep 0.05; done");
        let mut child =
            program().args(["run", "--", "sh", "-c", &script]).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
        assert_eq!(lines.next().expect("it says so").expect("it is text"), "ready");
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("there is a kill").success());
        assert_eq!(lines.next().expect("it says so").expect("it is text"), "told");
        assert_eq!(child.wait().expect("it is our child").code(), Some(5), "{name}");
    }
}

#[test]
fn a_health_check_reports_whether_the_server_replies() {
    let directory = Directory::new();
    let process = Process::start(&["--requirepass", "pw"]);
    let at = format!("127.0.0.1:{}", process.port);
    for url in [format!("redis://:pw@{at}/3"), format!("redis://default:pw@{at}")] {
        let output = run(&["healthcheck", &url]);
        assert_eq!((output.status.code(), out(&output)), (Some(0), format!("The server at {at} answers.\n")));
    }
    for (url, reason) in [
        (format!("redis://{at}"), "NOAUTH Authentication required.\n"),
        (format!("redis://:no@{at}"), "WRONGPASS invalid username-password pair or user is disabled.\n"),
        (format!("redis://:pw@{at}/99"), "ERR DB index is out of range\n"),
        (format!("rediss://{at}"), "whom to trust over TLS, --cacert FILE or --insecure says\n"),
        (format!("unix://{}", directory.file("no").replace(' ', "%20")), "No such file or directory\n"),
    ] {
        refused(&["healthcheck", &url], &[reason]);
    }
}

#[test]
fn healthcheck_unauthenticated_accepts_a_server_with_a_password() {
    let process = Process::start(&["--requirepass", "pw"]);
    let at = format!("127.0.0.1:{}", process.port);
    let output = run(&["healthcheck", "--unauthenticated", &format!("redis://{at}/3")]);
    let said = format!("The server at {at} answers, and asks for a password.\n");
    assert_eq!((output.status.code(), out(&output)), (Some(0), said));
    let output = run(&["healthcheck", "--unauthenticated", &format!("redis://:pw@{at}")]);
    assert_eq!(out(&output), format!("The server at {at} answers.\n"));
    refused(&["healthcheck", "--unauthenticated", &format!("redis://:no@{at}")], &["WRONGPASS"]);
}

#[test]
fn the_entrypoint_starts_as_the_container_of_redis_does() {
    let directory = Directory::new();
    let file = directory.file("redis.conf");
    fs::write(&file, "bind 127.0.0.1\nprotected-mode yes\ndatabases 3\n").expect("it can be written");
    for (arguments, mode, databases) in [
        (&["entrypoint", "--bind", "127.0.0.1"][..], "no", "16"),
        (&["entrypoint", "redis-server", "--bind", "127.0.0.1", "--databases", "5"], "no", "5"),
        (&["entrypoint", "lockwheel", "--bind", "127.0.0.1", "--protected-mode", "yes"], "yes", "16"),
        (&["entrypoint", &file], "yes", "3"),
    ] {
        let mut process = Process::from(program().args(arguments).args(["--port", "0"]));
        let mut client = process.client();
        assert_eq!(client.parameter("protected-mode"), mode, "{arguments:?}");
        assert_eq!(client.parameter("databases"), databases, "{arguments:?}");
        process.signal("-TERM");
        assert_eq!(process.wait().0.code(), Some(0), "{arguments:?}");
    }
    let output = run(&["entrypoint", "sh", "-c", "echo $0 $1; exit 7", "a", "b"]);
    assert_eq!((output.status.code(), out(&output)), (Some(7), "a b\n".to_owned()));
    let output = run(&["entrypoint", "no-such-command"]);
    assert_eq!(output.status.code(), Some(127));
    assert_eq!(error(&output), "lockwheel: no-such-command: No such file or directory\n");
}

#[test]
fn completions_and_the_man_page_are_printed() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = run(&["completions", shell]);
        let text = out(&output);
        let needed = [
            "exit-with-parent",
            "maxmemory-policy",
            "healthcheck",
            "compat",
            "lock-history",
            "lock-herd-limit",
        ];
        assert!(output.status.success() && needed.iter().all(|word| text.contains(word)), "{shell}: {text}");
    }
    // The completions offer words as values, and the shapes of topologies.
    for shell in ["bash", "zsh", "fish"] {
        let text = out(&run(&["completions", shell]));
        for words in [["real", "manual"], ["6.2", "newest"], ["replicas", "sentinel"], ["lag", "cluster"]] {
            assert!(words.iter().all(|word| text.contains(word)), "{shell} {words:?}: {text}");
        }
        for words in ["replicas sentinel cluster", "1 2 3 3x1 3x2"] {
            assert!(text.contains(words), "{shell}: {text}");
        }
        // The completions offer the options of servers for the program, `run`, `topology` and `entrypoint`.
        assert!(text.matches("lock-herd-limit").count() >= 4, "{shell}: {text}");
    }
    let help = out(&run(&["--help"]));
    assert!(
        ["--compat", "--lock-history-max", "--lock-handoff-delay"].iter().all(|it| help.contains(it)),
        "{help}"
    );
    refused(&["completions", "none"], &["bash, elvish, fish, powershell, zsh"]);
    let page = out(&run(&["man"]));
    let forms = ["replicas N", "sentinel N", "cluster M[xN]"]
        .map(|form| format!("\n.br\nlockwheel topology {form} "));
    assert!(forms.iter().all(|form| page.contains(form)), "{page}");
    for word in [
        "\\-\\-compat",
        "\\-\\-lock\\-herd\\-limit",
        ".TH lockwheel 1",
        "exit\\-with\\-parent",
        ".SH \"EXIT STATUS\"",
        "128+n",
    ] {
        assert!(page.contains(word), "{word}: {page}");
    }
}

#[test]
fn a_program_named_redis_server_acts_as_redis_server() {
    let directory = Directory::new();
    let output = named(&directory, "redis-server").arg("run").output().expect("it starts");
    assert!(error(&output).contains("can't open config file 'run'"), "{output:?}");
    let output = named(&directory, "redis-server").args(["--nonsense", "1"]).output().expect("it starts");
    let report = error(&output);
    for line in [
        "*** FATAL CONFIG FILE ERROR",
        "Reading the configuration file, at line 2\n>>> 'nonsense \"1\"'\nBad directive or wrong number of arguments",
    ] {
        assert!(report.contains(line), "{report}");
    }
    let output = named(&directory, "redis-server").arg("--help").output().expect("it starts");
    let help = out(&output);
    assert!(help.starts_with("Usage: redis-server") && !help.contains("healthcheck  "), "{help}");
    let output = named(&directory, "redis-server").arg("--version").output().expect("it starts");
    assert!(out(&output).starts_with("Redis server v=7.2."), "{output:?}");
    let mut process =
        Process::from(named(&directory, "redis-server").args(["--port", "0"]).stdout(Stdio::piped()));
    assert_eq!(process.client().ask("PING"), "+PONG");
    process.signal("-TERM");
    assert_eq!(process.wait().0.code(), Some(0));
}

fn run_with_input(command: &mut Command, input: &str) -> (String, String, Option<i32>) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    // A program that refuses its arguments reads nothing.
    let _ended = child.stdin.take().expect("it is a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    (out(&output), error(&output), output.status.code())
}

#[test]
fn as_redis_cli_the_program_prints_what_redis_cli_prints() {
    let real = PathBuf::from("/usr/bin/redis-cli");
    if !real.exists() {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "redis-cli is required");
        return println!("skipped: redis-cli is not installed");
    }
    let directory = Directory::new();
    let process = Process::start(&[]);
    let port = process.port.to_string();
    process.client().ask("RPUSH list a b c");
    let nested = "return {1,{2,{3,'a'}},{},false,'x',{err='A b'},{ok='fine'}}";
    let cases: &[(&[&str], &str)] = &[
        (&["ping"], ""),
        (&["-h", "localhost", "ping"], ""),
        (&["-n", "3", "set", "a", "b c"], ""),
        (&["-n", "3", "get", "a"], ""),
        (&["-n", "99", "ping"], ""),
        (&["--raw", "get", "nothing"], ""),
        (&["llen", "list"], ""),
        (&["lrange", "list", "0", "-1"], ""),
        (&["lrange", "nothing", "0", "-1"], ""),
        (&["mget", "x", "y"], ""),
        (&["eval", nested, "0"], ""),
        (&["hello", "3"], ""),
        (&["nosuch", "x"], ""),
        (&["-e", "nosuch", "x"], ""),
        (&["-e", "ping"], ""),
        (&["-a", "pw", "ping"], ""),
        (&["-a", "pw", "--no-auth-warning", "ping"], ""),
        (&["--user", "me", "--pass", "pw", "ping"], ""),
        (&["-x", "set", "k"], "two\nlines\n"),
        (&["get", "k"], ""),
        (&["cluster", "info"], ""),
        (&["latency", "doctor"], ""),
        (&[], "ping\nset a \"b c\"\nget a\n\nnosuch\nget \"\nquit\nping\n"),
        (&["-e"], "nosuch\nping\n"),
        (&["-s", "/no/such/socket", "ping"], ""),
        (&["-p", "1", "ping"], ""),
        (&["-p", "x", "ping"], ""),
        (&["-u", "http://x", "ping"], ""),
        (&["--nosuch", "ping"], ""),
        (&["-p"], ""),
    ];
    for (arguments, input) in cases {
        let all = |command: &mut Command| {
            let start = ["-p", &port].map(OsString::from);
            run_with_input(command.args(start).args(*arguments), input)
        };
        let theirs = all(Command::new(&real).env_remove("REDISCLI_AUTH"));
        let ours = all(&mut named(&directory, "redis-cli"));
        // Client ids keep counting.
        let plain = |(out, error, code): (String, String, Option<i32>)| {
            let lines = out.split('\n').filter(|line| !line.starts_with("id "));
            (lines.map(str::to_owned).collect::<Vec<_>>(), error, code)
        };
        assert_eq!(plain(ours), plain(theirs), "{arguments:?}");
    }
    let with_word = |command: &mut Command| {
        run_with_input(command.env("REDISCLI_AUTH", "pw").args(["-p", &port, "ping"]), "")
    };
    let theirs = with_word(&mut Command::new(&real));
    assert_eq!(with_word(&mut named(&directory, "redis-cli")), theirs);
    assert!(theirs.1.starts_with("AUTH failed: "), "{theirs:?}");
    let ended = run_with_input(named(&directory, "redis-cli").args(["-p", &port, "shutdown", "nosave"]), "");
    assert_eq!(ended, (String::new(), String::new(), Some(0)));
}
