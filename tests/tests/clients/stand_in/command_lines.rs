//! Unusual command lines: redis-server's interpretation of the shapes that scripts pass to it, and its reports of wrong
//! ones.

use crate::stand_in::Directory;
use lockwheel_tests::redis_server::{Kind, skip};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, yield_now};

/// The number of command lines tried at once: a start is mostly waiting.
const THREADS: usize = 4;

/// Parameters that take several words, each with a valid value.
const SEVERAL: &[(&str, &str)] = &[
    ("save", "900 1"),
    ("client-output-buffer-limit", "normal 1 2 3"),
    ("bind", "127.0.0.1 -::1"),
    ("oom-score-adj-values", "1 2 3"),
    ("shutdown-on-sigterm", "save now"),
    ("latency-tracking-info-percentiles", "1 99.5"),
    ("replicaof", "127.0.0.1 1"),
];

/// Parameters that take one word.
const SINGLE: &[(&str, &str)] = &[
    ("requirepass", "secret"),
    ("hz", "20"),
    ("appendonly", "no"),
    ("notify-keyspace-events", "KEA"),
    ("unixsocketperm", "700"),
];

/// Other command lines, their arguments separated by `|`.
const OTHERS: &[&str] = &[
    "--save|\"\"|--appendonly|no",
    "--slaveof|\"No\" One",
    "--slaveof|\"No One\"",
    "--save|''|--hz|20",
    "--save|--hz|20",
    "--SAVE|--hz|20",
    "--save |--hz|20",
    "--save|--save|--hz|20",
    "--save|1|1|--save|\"\"",
    "--save|1|1|--save|\"",
    "--save|1 1|--save|2 2",
    "--save|900 1 300 \"\"",
    "--save|\\\"900 1\\\"",
    "--save|\"\\x39\\x30\\x30\" 1",
    "--save|900\\n1",
    "--requirepass \"x y\"",
    "--requirepass|\"x y\"",
    "--requirepass 'x y'",
    "--requirepass \"x",
    "--requirepass|--hz",
    "--hz|--sentinel",
    "--hz 9|10",
    "--hz=9",
    "---hz|9",
    "--|hz|9",
    "--hz 9 # x",
    "--# hz|9",
    "--\"hz\"|9",
    "--prot|7000",
    "--rename-command|get|\"\"",
    "--rename-command get \"\"",
    "--rename-command|get g",
    "--user x on >p ~*",
    "--user|x|on|>p",
];

/// The shapes in which one value is written.
fn values(value: &str) -> Vec<String> {
    let words: Vec<&str> = value.split(' ').collect();
    let rest = words[1..].iter().map(|word| format!(" {word}")).collect::<String>();
    let quoted = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" ");
    vec![
        value.to_owned(),
        format!("\"{value}\""),
        format!("'{value}'"),
        quoted,
        format!("\"{}\"{rest}", words[0]),
        format!("\"{value}"),
        format!("{value}\""),
        format!("\"{value}\"x"),
        format!("{value} \"x\""),
        format!(" {value} "),
        value.replace(' ', "  "),
        value.replace(' ', "\t"),
        "\"\"".to_owned(),
        "''".to_owned(),
        "\"".to_owned(),
        String::new(),
        " ".to_owned(),
    ]
}

/// All command lines.
fn command_lines() -> Vec<Vec<String>> {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for (name, value) in SEVERAL.iter().chain(SINGLE) {
        // Spaces and several words make no difference for a single word.
        let shapes = if value.contains(' ') { usize::MAX } else { 9 };
        for value in values(value).into_iter().take(shapes) {
            lines.push(vec![format!("--{name} {value}")]);
            lines.push(vec![format!("--{name}"), value]);
        }
        let mut words = vec![format!("--{name}")];
        lines.push(words.clone());
        words.extend(value.split(' ').map(str::to_owned));
        lines.push(words);
    }
    lines.extend(OTHERS.iter().map(|line| line.split('|').map(str::to_owned).collect()));
    lines
}

/// The parameters of a server that runs with these arguments, or the lines of its report.
fn outcome(server: &Path, arguments: &[String]) -> Result<Vec<String>, Vec<String>> {
    let directory = Directory::new();
    let socket = directory.file("socket");
    let mut command = Command::new(server);
    command.args(["--port", "0", "--unixsocket", &socket]).args(arguments).current_dir(&directory.0);
    let mut child =
        command.stdout(Stdio::null()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().expect("it starts");
    let stream = loop {
        if let Ok(stream) = UnixStream::connect(&socket) {
            break Some(stream);
        }
        if child.try_wait().expect("it is our child").is_some() {
            break None;
        }
        yield_now();
    };
    let found = stream.map(parameters);
    // Errors mean that the server has ended already, which is the purpose.
    let _ = child.kill();
    let _ = child.wait();
    found.ok_or_else(|| {
        let mut report = String::new();
        child.stderr.take().expect("it is a pipe").read_to_string(&mut report).expect("it is text");
        report.lines().filter(|line| !line.contains("FATAL")).map(str::to_owned).collect()
    })
}

/// Returns the parameters that the command lines name, as CONFIG GET shows them.
fn parameters(stream: UnixStream) -> Vec<String> {
    let mut writer = stream.try_clone().expect("a socket can be shared");
    let mut reader = BufReader::new(stream);
    let names = SEVERAL.iter().chain(SINGLE).map(|(name, _)| *name);
    names
        .map(|name| {
            writeln!(writer, "CONFIG GET {name}").expect("it reads");
            let mut reply = Vec::new();
            // An array of a name and its value, or one line: an error.
            while reply.len() < reply.first().map_or(1, |first: &String| if first == "*2" { 5 } else { 1 }) {
                let mut line = String::new();
                assert_ne!(reader.read_line(&mut line).expect("it answers"), 0, "it has ended");
                reply.push(line.trim_end_matches(['\r', '\n']).to_owned());
            }
            format!("{name}={}", reply.last().expect("there is a line"))
        })
        .collect()
}

/// The parameters that differ from those of a server without arguments. Our default of `bind` differs, so it is
/// compared only if the command line names it.
fn changed(found: Vec<String>, defaults: &[String], line: &[String]) -> Vec<String> {
    let names_bind = line.iter().any(|argument| argument.starts_with("--bind"));
    let is_bind = |pair: &str| pair.starts_with("bind=");
    found.into_iter().filter(|pair| (names_bind && is_bind(pair)) || !defaults.contains(pair)).collect()
}

#[test]
fn command_lines_have_the_meaning_of_redis_server() {
    let Some(redis) = Kind::Redis.find() else {
        return skip(&["redis-server"], "redis-server is not installed (apt-get install redis-server)");
    };
    let (_directory, ours) = Directory::with_redis_server();
    let servers = [&ours, &redis].map(|server| {
        let defaults = outcome(server, &[]).expect("it starts without arguments");
        (server, defaults)
    });
    let difference = |line: &Vec<String>| {
        let [found, expected] = servers
            .each_ref()
            .map(|(server, defaults)| outcome(server, line).map(|found| changed(found, defaults, line)));
        (found != expected).then(|| format!("{line:?}\n  ours:  {found:?}\n  Redis: {expected:?}"))
    };
    let lines = command_lines();
    let wrong: Vec<String> = thread::scope(|scope| {
        let parts = lines.chunks(lines.len().div_ceil(THREADS));
        let parts = parts.map(|part| scope.spawn(|| part.iter().filter_map(difference).collect::<Vec<_>>()));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().expect("no thread panics")).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
