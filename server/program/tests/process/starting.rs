//! Tests of the start under system management: Debian's configuration, the background, the log, supervisors.

use crate::harness::{Client, Directory, Process, SAFETY_NET, program, ready_line, refused, run};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

const DEBIAN: &str = "/etc/redis/redis.conf";

/// Waits until a file exists and returns its content.
fn content(path: &str) -> String {
    let begin = Instant::now();
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            other => assert!(begin.elapsed() < SAFETY_NET, "{path}: {other:?}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until no process has this id.
#[cfg(target_os = "linux")]
fn await_end(id: &str) {
    let begin = Instant::now();
    while fs::exists(format!("/proc/{id}")).expect("Linux tells of processes") {
        assert!(begin.elapsed() < SAFETY_NET, "{id} goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the texts of a log, without the parts that differ between starts.
fn texts(log: &str) -> Vec<String> {
    let text = |line: &str| {
        if let Some((_, text)) = line.split_once(":signal-handler (") {
            return text.split_once(") ").expect("the second is in brackets").1.to_owned();
        }
        let (head, text) = line.split_once(['*', '#']).unwrap_or_else(|| panic!("{line}"));
        let (process, stamp) =
            head.split_once(":M ").or(head.split_once(":C ")).unwrap_or_else(|| panic!("{line}"));
        assert!(process.parse::<u32>().is_ok() && stamp.trim().split(' ').count() == 4, "{line}");
        text.trim_start().to_owned()
    };
    log.lines().map(text).collect()
}

#[test]
fn the_server_starts_with_the_configuration_of_debian() {
    if !fs::exists(DEBIAN).is_ok_and(|there| there) {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{DEBIAN} is required");
        return println!("skipped: there is no {DEBIAN}");
    }
    let directory = Directory::new();
    let (log, pid, socket) = (directory.file("log"), directory.file("pid"), directory.file("redis.sock"));
    // The test copies the file: root's file may be unreadable for others, and the paths in it are not the test's.
    let copy = directory.file("redis.conf");
    fs::copy(DEBIAN, &copy).expect("it can be read");
    let dir = directory.0.to_str().expect("the path is text");
    let arguments =
        ["--port", "0", "--port-file", "port", "--dir", dir, "--logfile", &log, "--pidfile", &pid];
    let arguments = [&arguments[..], &["--daemonize", "no", "--unixsocket", &socket]].concat();
    let mut process = Process::from(program().arg(&copy).args(arguments));
    let mut client = process.client();
    assert_eq!(client.parameter("daemonize"), "no");
    assert_eq!(client.parameter("appendfilename"), "appendonly.aof");
    assert_eq!(client.parameter("dir"), fs::canonicalize(dir).expect("it is there").to_string_lossy());
    // The port file is relative to the directory.
    assert_eq!(content(&directory.file("port")).trim(), process.port.to_string());
    process.signal("-TERM");
    assert_eq!(process.wait().0.code(), Some(0));
    assert!(!fs::exists(&pid).expect("the directory can be read"));
}

#[cfg(target_os = "linux")]
#[test]
fn daemonize_runs_the_server_in_the_background() {
    for stdin in [false, true] {
        let directory = Directory::new();
        let (log, pid, port) = (directory.file("log"), directory.file("pid"), directory.file("port"));
        let file = directory.file("redis.conf");
        fs::write(&file, format!("daemonize yes\nport 0\nport-file \"{port}\"\n"))
            .expect("it can be written");
        let mut command = program();
        match stdin {
            true => command.arg("-").stdin(fs::File::open(&file).expect("it is there")),
            false => command.arg(&file),
        };
        command.args(["--logfile", &log, "--pidfile", &pid]);
        let output = command.output().expect("the program starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!((output.stdout.len(), output.stderr.len()), (0, 0), "{output:?}");
        let number: u16 = content(&port).trim().parse().expect("it is a port");
        let id = content(&pid).trim().to_owned();
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).expect("it runs");
        let after_name = stat.rsplit(')').next().expect("there is a name");
        assert_eq!(after_name.split_whitespace().nth(3), Some(&*id), "it leads a session of its own");
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, number)).expect("it listens");
        let mut client = Client::over(stream);
        assert_eq!(client.parameter("daemonize"), "yes");
        client.send("SHUTDOWN NOSAVE");
        await_end(&id);
        assert!(!fs::exists(&pid).expect("the directory can be read"));
        let last = texts(&content(&log)).pop();
        assert_eq!(last.as_deref(), Some("Redis is now ready to exit, bye bye..."));
    }
}

#[test]
fn the_log_file_records_start_and_end() {
    let directory = Directory::new();
    let (log, pid) = (directory.file("log"), directory.file("pid"));
    let mut process = Process::start(&["--logfile", &log, "--pidfile", &pid]);
    assert_eq!(process.client().ask("EVAL \"redis.log(redis.LOG_NOTICE, 'hello')\" 0"), "$-1");
    assert_eq!(process.client().ask("EVAL \"redis.log(redis.LOG_VERBOSE, 'much')\" 0"), "$-1");
    let (id, port) = (process.child.id(), process.port);
    process.signal("-TERM");
    assert_eq!(process.wait().0.code(), Some(0));
    let expected = [
        "oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo".to_owned(),
        format!(
            "Redis version=7.2.7, bits={}, commit=00000000, modified=0, pid={id}, just started",
            usize::BITS
        ),
        "Configuration loaded".to_owned(),
        format!("Running mode=standalone, port={port}."),
        "Server initialized".to_owned(),
        format!("Ready to accept connections tcp, port={port}"),
        "hello".to_owned(),
        "Received SIGTERM scheduling shutdown...".to_owned(),
        "User requested shutdown...".to_owned(),
        "Removing the pid file.".to_owned(),
        "Redis is now ready to exit, bye bye...".to_owned(),
    ];
    // The clock and the limit of open files differ from machine to machine.
    let differing = ["monotonic clock: ", "Increased maximum number of open files to "];
    let mut told = texts(&content(&log));
    told.retain(|text| !differing.iter().any(|start| text.starts_with(start)));
    assert_eq!(told, expected);

    // A log file that is moved away is created anew. Another level shows more, or less.
    fs::rename(&log, directory.file("log.1")).expect("it is there");
    let process = Process::start(&["--logfile", &log, "--loglevel", "warning"]);
    fs::rename(&log, directory.file("log.2")).expect("it is made at the start");
    process
        .client()
        .ask("EVAL \"redis.log(redis.LOG_NOTICE, 'hello') redis.log(redis.LOG_WARNING, 'woe')\" 0");
    assert_eq!(texts(&content(&log)), ["woe"]);
    let process = Process::start(&["--logfile", &directory.file("much"), "--loglevel", "verbose"]);
    process.client().ask("EVAL \"redis.log(redis.LOG_VERBOSE, 'much') redis.log(redis.LOG_DEBUG, 'all')\" 0");
    assert!(content(&directory.file("much")).contains(" - much\n"));
}

/// Without a file the log goes to standard output. The ready line appears at every level.
#[test]
fn loglevel_limits_the_lines_on_standard_output() {
    for (level, is_told) in [("warning", false), ("notice", true)] {
        let mut child =
            program().args(["--port", "0", "--loglevel", level]).spawn().expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let mut first = String::new();
        out.read_line(&mut first).expect("it is text");
        child.kill().expect("it is our child");
        child.wait().expect("it is our child");
        assert_eq!(first.contains("oO0OoO0OoO0Oo Redis is starting"), is_told, "{first}");
        assert_eq!(first.contains("Ready to accept connections"), !is_told, "{first}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_reduced_tcp_backlog_is_logged() {
    let directory = Directory::new();
    let log = directory.file("log");
    let _process = Process::start(&["--logfile", &log, "--tcp-backlog", "2147483647"]);
    let limit = fs::read_to_string("/proc/sys/net/core/somaxconn").expect("Linux has it");
    let line = format!(
        "WARNING: The TCP backlog setting of 2147483647 cannot be enforced because /proc/sys/net/core/somaxconn is \
         set to the lower value of {}.",
        limit.trim()
    );
    assert!(texts(&content(&log)).contains(&line), "{}", content(&log));
}

#[test]
fn a_pid_file_that_cannot_be_written_is_a_warning() {
    let directory = Directory::new();
    let (pid, log) = (directory.file("no/pid"), directory.file("log"));
    let mut process = Process::start(&["--pidfile", &pid, "--logfile", &log]);
    assert_eq!(process.client().ask("PING"), "+PONG");
    assert!(content(&log).contains("Failed to write PID file: No such file or directory\n"));
    process.signal("-TERM");
    assert_eq!(process.wait().0.code(), Some(0));
    // A device is neither replaced nor removed.
    let device = directory.file("device");
    std::os::unix::fs::symlink("/dev/null", &device).expect("the directory can be written");
    let mut process = Process::start(&["--pidfile", &device]);
    process.signal("-TERM");
    assert_eq!(process.wait().0.code(), Some(0));
    assert!(fs::symlink_metadata(&device).is_ok_and(|data| data.is_symlink()));
}

#[test]
fn missing_directories_and_logs_are_reported_as_by_redis() {
    let directory = Directory::new();
    let (nowhere, file) = (directory.file("no"), directory.file("file"));
    fs::write(&file, "").expect("it can be written");
    let heading = "\n*** FATAL CONFIG FILE ERROR (Redis 7.2.7) ***\n";
    refused(&["--dir", &nowhere], &[&format!("'--dir \"{nowhere}\"': No such file or directory\n")]);
    refused(&["--dir", &file], &[": Not a directory\n"]);
    let log = directory.file("no/log");
    refused(&["--logfile", &log], &[heading, "***\nCan't open the log file: No such file or directory\n"]);
}

#[test]
fn a_port_in_use_is_reported_on_standard_error_and_in_the_log() {
    let directory = Directory::new();
    let log = directory.file("log");
    let holder = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    let port = holder.local_addr().expect("it is bound").port();
    let warning = format!(
        "Warning: Could not create server TCP listening socket 127.0.0.1:{port}: bind: Address already in use"
    );
    let end = format!("Failed listening on port {port} (TCP), aborting.");
    refused(
        &["--port", &port.to_string(), "--bind", "127.0.0.1", "--logfile", &log],
        &[&format!("{warning}\n{end}\n")],
    );
    assert!(texts(&content(&log)).ends_with(&[warning.clone(), end.clone()]));
    let output = run(&["--port", &port.to_string(), "--bind", "127.0.0.1"]);
    assert!(texts(&String::from_utf8_lossy(&output.stdout)).ends_with(&[warning, end]));
    refused(&["--port", "0", "--bind", ""], &["Configured to not listen anywhere, exiting.\n"]);
}

#[test]
fn rename_command_renames_and_disables_commands() {
    let arguments = ["--rename-command", "GET", "fetch", "--rename-command", "KEYS", ""];
    let process = Process::start(
        &[&arguments[..], &["--rename-command", "CONFIG", "b840fc02d524045429941cc15f59e41c"]].concat(),
    );
    let mut client = process.client();
    client.ask("SET k v");
    assert_eq!(client.ask("Fetch k"), "v");
    for gone in ["GET k", "KEYS *", "CONFIG GET port"] {
        assert!(client.ask(gone).starts_with("-ERR unknown command"), "{gone}");
    }
    assert_eq!(client.ask("b840fc02d524045429941cc15f59e41c GET maxclients"), "maxclients 10000");
    assert_eq!(client.ask("fetch"), "-ERR wrong number of arguments for 'get' command");
    assert_eq!(client.ask("EVAL \"return redis.call('fetch', KEYS[1])\" 1 k"), "v");
    assert!(client.ask("EVAL \"return redis.call('get', KEYS[1])\" 1 k").contains("Unknown Redis command"));
    assert_eq!(client.ask("COMMAND GETKEYS FETCH k"), "k");
}

#[test]
fn files_are_included_by_patterns_relative_to_the_directory() {
    let directory = Directory::new();
    let dir = directory.0.to_str().expect("the path is text");
    for (name, text) in
        [("1.conf", "hz 20\n"), ("2.conf", "hz 30\n"), (".3.conf", "hz 40\n"), ("4.txt", "x\n")]
    {
        fs::write(directory.file(name), text).expect("it can be written");
    }
    let process = Process::start(&["--dir", dir, "--include", "[0-9].con?"]);
    assert_eq!(process.client().parameter("hz"), "30");
    let pattern = directory.file("*.conf");
    let process = Process::start(&["--include", &pattern, "--include", "/no/such/*.conf"]);
    assert_eq!(process.client().parameter("hz"), "30");
}

#[cfg(unix)]
#[test]
fn systemd_is_notified_of_readiness_and_shutdown() {
    use std::os::unix::net::UnixDatagram;
    let directory = Directory::new();
    let path = directory.file("notify");
    let socket = UnixDatagram::bind(&path).expect("the directory can be written");
    socket.set_read_timeout(Some(SAFETY_NET)).expect("the time is not zero");
    let told = || {
        let mut text = [0; 200];
        let len = socket.recv(&mut text).expect("it tells");
        String::from_utf8_lossy(&text[..len]).into_owned()
    };
    for supervised in ["systemd", "auto"] {
        // A supervisor wants no process in the background.
        let arguments = ["--port", "0", "--supervised", supervised, "--daemonize", "yes"];
        let mut process = Process::from(program().args(arguments).env("NOTIFY_SOCKET", &path));
        assert_eq!(told(), "STATUS=Ready to accept connections\nREADY=1");
        process.signal("-TERM");
        assert_eq!(told(), "STOPPING=1");
        assert_eq!(process.wait().0.code(), Some(0));
    }
}

#[test]
fn a_missing_supervisor_is_reported_and_not_needed() {
    for supervised in ["no", "auto"] {
        let process = Process::from(program().args(["--port", "0", "--supervised", supervised]));
        assert_eq!(process.client().ask("PING"), "+PONG", "{supervised}");
    }
    for (supervised, complaint) in [
        ("systemd", "systemd supervision error: NOTIFY_SOCKET not found!"),
        ("upstart", "upstart supervision requested, but UPSTART_JOB not found!"),
    ] {
        let mut child = program()
            .args(["--port", "0", "--supervised", supervised])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let mut first = String::new();
        out.read_line(&mut first).expect("it is text");
        let ready = ready_line(&mut out);
        child.kill().expect("it is our child");
        child.wait().expect("it is our child");
        assert!(first.ends_with(&format!(" # {complaint}\n")), "{first:?}");
        assert!(ready.contains("Ready to accept connections"), "{ready:?}");
    }
}

#[cfg(unix)]
#[test]
fn invalid_arguments_end_the_server_with_1_and_a_reason() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let mut strange: Vec<Vec<u8>> = vec![
        b"\xff\xfe".to_vec(),
        b"--\xff".to_vec(),
        b"---".to_vec(),
        b"--port".to_vec(),
        b"--include".to_vec(),
        b"--dir".to_vec(),
        b"--rename-command".to_vec(),
        b"--unixsocket".to_vec(),
    ];
    strange.push(vec![b'-'; 100_000]);
    for argument in strange {
        let arg = OsString::from_vec(argument);
        let output = program().arg(&arg).output().expect("the program starts");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arg:?}: {told}");
        assert!(!told.is_empty() && !told.contains("panicked"), "{arg:?}: {told}");
    }
}
