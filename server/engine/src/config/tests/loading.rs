//! Tests of configuration files and command lines. Reports are those of redis-server 7.0.15 except for the version.

use super::{Config, TimeMode, get};
use crate::config::file::quote;
use crate::config::{Files, Invocation, LogLevel, Source, Supervision};
use lockwheel_store::keyspace::glob;
use proptest::collection::vec;
use proptest::prelude::*;
use std::io;

/// Reads arguments, with some files. The file named `-` is standard input.
fn invoke(arguments: &[&str], files: &[(&str, &str)]) -> Invocation {
    let arguments = arguments.iter().map(|argument| argument.as_bytes().to_vec());
    Invocation::from_arguments(arguments, &mut Directory(files), crate::COMMAND_NAMES)
}

/// A set of files, by path. Every directory exists except `/nowhere`.
struct Directory<'a>(&'a [(&'a str, &'a str)]);

impl Files for Directory<'_> {
    fn read(&mut self, source: Source<'_>) -> io::Result<Vec<u8>> {
        let name = match source {
            Source::File(path) => path,
            Source::Stdin => "-",
        };
        let file = self.0.iter().find(|(path, _)| *path == name);
        file.map(|(_, text)| text.as_bytes().to_vec()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn enter(&mut self, directory: &str) -> io::Result<()> {
        if directory == "/nowhere" { Err(io::ErrorKind::NotFound.into()) } else { Ok(()) }
    }

    fn matching(&mut self, pattern: &str) -> Vec<String> {
        let matching =
            self.0.iter().filter(|(path, _)| glob::matches(pattern.as_bytes(), path.as_bytes(), false));
        matching.map(|(path, _)| (*path).to_owned()).collect()
    }
}

fn config(arguments: &[&str], files: &[(&str, &str)]) -> Config {
    match invoke(arguments, files) {
        Invocation::Run(config) => *config,
        other => panic!("{arguments:?}: {other:?}"),
    }
}

/// The number, the line and the reason of a report.
fn failure(arguments: &[&str], files: &[(&str, &str)]) -> (usize, String, String) {
    let Invocation::Fail(error) = invoke(arguments, files) else { panic!("{arguments:?} is accepted") };
    let report = error.to_string();
    let lines: Vec<&str> = report.lines().collect();
    let ["", heading, place, line, reason] = lines.as_slice() else { panic!("{report}") };
    assert_eq!(*heading, "*** FATAL CONFIG FILE ERROR (Redis 7.2.7) ***");
    let number = place.strip_prefix("Reading the configuration file, at line ").unwrap().parse().unwrap();
    let line = line.strip_prefix(">>> '").unwrap().strip_suffix('\'').unwrap();
    (number, line.to_owned(), (*reason).to_owned())
}

#[test]
fn options_set_parameters() {
    // Arguments, a parameter, and the value that CONFIG GET shows.
    let cases: &[(&[&str], &str, &str)] = &[
        (&[], "save", "3600 1 300 100 60 10000"),
        (&["--save"], "save", ""),
        (&["--save", ""], "save", ""),
        (&["--save", "--hz", "20"], "save", ""),
        (&["--save", "--hz", "20"], "hz", "20"),
        (&["--save", "--hz 20"], "hz", "20"),
        (&["--SAVE", "--hz", "20"], "hz", "20"),
        (&["--save", "900", "1", "--save", "300 10"], "save", "900 1 300 10"),
        (&["--save 900 1", "--save 300 10"], "save", "900 1 300 10"),
        (&["--save", "900", "1", "300", "10"], "save", "900 1 300 10"),
        (&["--save", "1", "1", "--save", ""], "save", ""),
        (&["--save", "", "--save", "1", "1"], "save", "1 1"),
        (&["--requirepass", "a b"], "requirepass", "a b"),
        (&["--requirepass 1234"], "requirepass", "1234"),
        (&["--requirepass \"a b\""], "requirepass", "a b"),
        (&["--requirepass", "\"a b\""], "requirepass", "\"a b\""),
        (&["--requirepass", "'a\\x41"], "requirepass", "'a\\x41"),
        (&["--requirepass", ""], "requirepass", ""),
        (&["--requirepass", "--foo"], "requirepass", "--foo"),
        (&["--requirepass", "x", "--requirepass", "y"], "requirepass", "y"),
        (&["--PORT", "5", "--DAEMONIZE", "NO"], "port", "5"),
        (&["--port ", "7"], "port", "7"),
        (&["--", "port", "7"], "port", "7"),
        (&["", "--port", "7"], "port", "7"),
        (&["--port", "7", "--"], "port", "7"),
        (&["--shutdown-on-sigterm", "save", "now"], "shutdown-on-sigterm", "save now"),
        (&["--shutdown-on-sigterm", "save now"], "shutdown-on-sigterm", "save now"),
        (&["--bind", "127.0.0.1", "::1"], "bind", "127.0.0.1 ::1"),
        (&["--bind", "127.0.0.1 ::1"], "bind", "127.0.0.1 ::1"),
        (&["--bind", ""], "bind", ""),
        (&["--bind"], "bind", ""),
        (&["--latency-tracking-info-percentiles", "1", "2"], "latency-tracking-info-percentiles", "1 2"),
        (&["--latency-tracking-info-percentiles", ""], "latency-tracking-info-percentiles", ""),
        (&["--oom-score-adj-values", "1 2 3"], "oom-score-adj-values", "1 2 3"),
        (&["--notify-keyspace-events", "Egx"], "notify-keyspace-events", "gxE"),
        (&["--replicaof", "no", "one"], "replicaof", ""),
        (&["--slaveof", "127.0.0.1", "6379"], "replicaof", "127.0.0.1 6379"),
        (&["--unixsocketperm", "0700"], "unixsocketperm", "700"),
        (&["--list-max-ziplist-entries", "4", "--hz", "5"], "hz", "5"),
        (&["--dir", "\"/srv/data\""], "dir", "/srv/data"),
        (&["--dir", "/srv/data"], "dir", "/srv/data"),
        (&["--appendonly", "yes"], "appendonly", "yes"),
        (&["--hash-max-ziplist-entries", "3"], "hash-max-listpack-entries", "3"),
        (
            &[
                "--client-output-buffer-limit",
                "normal",
                "1",
                "2",
                "3",
                "--client-output-buffer-limit pubsub 1mb 2 3",
            ],
            "client-output-buffer-limit",
            "normal 1 2 3 slave 268435456 67108864 60 pubsub 1048576 2 3",
        ),
    ];
    for (arguments, name, value) in cases {
        assert_eq!(get(&config(arguments, &[]), name), *value, "{arguments:?}");
    }
}

#[test]
fn the_arguments_of_known_test_suites_are_accepted() {
    let pytest_redis = "--daemonize no --rdbcompression yes --rdbchecksum no --appendonly no --databases 8 --timeout 0 \
                        --pidfile /run/p --unixsocket /run/s --dbfilename d.rdb --logfile /run/l --loglevel notice \
                        --syslog-enabled no --bind 127.0.0.1 --port 7777 --dir /run";
    let mut arguments: Vec<&str> = pytest_redis.split_whitespace().collect();
    arguments.extend(["--save", "900 1"]);
    let read = config(&arguments, &[]);
    assert_eq!((read.databases, read.port, read.loglevel), (8, 7777, LogLevel::Notice));
    assert_eq!((read.pidfile.as_str(), read.logfile.as_str()), ("/run/p", "/run/l"));
    assert_eq!(get(&read, "save"), "900 1");
    let redis_rs = ["--save", "", "--logfile", "/run/l", "--enable-debug-command", "yes", "--port", "0"];
    assert!(config(&redis_rs, &[]).enable_debug_command.allows(false));
}

#[test]
fn options_of_our_own_are_read() {
    let arguments = ["--port", "0", "--port-file", "/run/port", "--threads", "2", "--time", "manual"];
    let read =
        config(&[&arguments[..], &["--seed", "18446744073709551615", "--control", "no"]].concat(), &[]);
    assert_eq!((read.port, read.port_file.as_str(), read.threads), (0, "/run/port", 2));
    assert_eq!((read.time, read.seed, read.control), (TimeMode::Manual, Some(u64::MAX), false));
    let parent = ["--exit-with-parent", "--idle-exit", "30", "--ready-fd", "3"];
    let read = config(&parent, &[]);
    assert_eq!((read.exit_with_parent, read.shutdown.idle_exit, read.ready_fd), (true, 30, 3));
    assert!(config(&["--EXIT-with-parent"], &[]).exit_with_parent);
    assert!(!config(&["--exit-with-parent", "no"], &[]).exit_with_parent);
    assert!(!config(&[], &[]).exit_with_parent);
    let at = config(&["--time", "2030-01-01T00:00:00Z"], &[]);
    assert_eq!(at.time, TimeMode::At(1_893_456_000_000));
    assert_eq!(get(&at, "time"), "2030-01-01T00:00:00Z");
    assert_eq!(config(&["--lua-memory-limit", "64mb"], &[]).lua.memory_limit, 64 << 20);
    for (arguments, reason) in [
        (
            ["--time", "tomorrow"],
            "argument must be 'real', 'manual' or an instant from 1970-01-01T00:00:00Z to 9999-12-30T21:59:59.999Z, \
             to the millisecond",
        ),
        (["--seed", "-1"], "argument must be between 0 and 18446744073709551615 inclusive"),
        (["--seed", "+1"], "argument must be between 0 and 18446744073709551615 inclusive"),
        (["--threads", "1025"], "argument must be between 0 and 1024 inclusive"),
    ] {
        assert_eq!(failure(&arguments, &[]).2, reason, "{arguments:?}");
    }
}

#[test]
fn wrong_options_are_reported_with_their_line() {
    let bad = "Bad directive or wrong number of arguments";
    let arity = "wrong number of arguments";
    let cases: &[(&[&str], usize, &str, &str)] = &[
        (&["--foo", "bar"], 2, "foo \"bar\"", bad),
        (&["--port", "1", "--hz", "2", "--foo"], 4, "foo", bad),
        (&["--port"], 2, "port", arity),
        (&["--port", "7000", "7001"], 2, "port \"7000\" \"7001\"", arity),
        (&["--port", "abc"], 2, "port \"abc\"", "argument couldn't be parsed into an integer"),
        (&["--requirepass a b"], 2, "requirepass a b", arity),
        (&["--requirepass \"a"], 2, "requirepass \"a", "Unbalanced quotes in configuration line"),
        (&["--always-show-logo"], 2, "always-show-logo", arity),
        (&["--save", "1", "2", "3"], 2, "save \"1\" \"2\" \"3\"", "Invalid save parameters"),
        (&["--timeout", ""], 2, "timeout \"\"", "argument couldn't be parsed into an integer"),
        (
            &["--unixsocketperm", "999"],
            2,
            "unixsocketperm \"999\"",
            "argument couldn't be parsed as an octal number",
        ),
        (
            &["--unixsocketperm", "1777"],
            2,
            "unixsocketperm \"1777\"",
            "argument must be between 0 and 777 inclusive",
        ),
        (
            &["--unixsocketperm", "2777", "--hz", "x"],
            2,
            "unixsocketperm \"2777\"",
            "argument must be between 0 and 777 inclusive",
        ),
        (&["--databases", "0"], 2, "databases \"0\"", "argument must be between 1 and 100000 inclusive"),
        (
            &["--databases", "100001"],
            2,
            "databases \"100001\"",
            "argument must be between 1 and 100000 inclusive",
        ),
        (
            &["--databases", "2147483647"],
            2,
            "databases \"2147483647\"",
            "argument must be between 1 and 100000 inclusive",
        ),
        (
            &["--appendfilename", "a/b"],
            2,
            "appendfilename \"a/b\"",
            "appendfilename can't be a path, just a filename",
        ),
        (&["--appendfilename", ""], 2, "appendfilename \"\"", "appendfilename can't be empty"),
        (
            &["--appenddirname", "a\\b"],
            2,
            "appenddirname \"a\\\\b\"",
            "appenddirname can't be a path, just a dirname",
        ),
        (&["--replicaof"], 2, "replicaof", arity),
        (&["--slaveof", "127.0.0.1", "99999"], 2, "slaveof \"127.0.0.1\" \"99999\"", "Invalid master port"),
        (&["--port", "5", "--help"], 3, "help", bad),
        (&["--hz", "10", "-", "20"], 2, "hz \"10\" \"-\" \"20\"", arity),
        (&["-x"], 2, "\"-x\"", bad),
        (&["--requirepass", "-"], 2, "requirepass", arity),
    ];
    for (arguments, number, line, reason) in cases {
        let expected = (*number, (*line).to_owned(), (*reason).to_owned());
        assert_eq!(failure(arguments, &[("-", "")]), expected, "{arguments:?}");
    }
}

#[test]
fn wrong_users_are_reported_with_their_line() {
    let cases: &[(&[&str], usize, &str, &str)] = &[
        (
            &["--user", "foo", "--user", "foo"],
            3,
            "user \"foo\"",
            "Error in user declaration 'foo': Duplicate user found. A user can only be defined once in config files",
        ),
        (
            &["--user", "foo", "on", "foo"],
            2,
            "user \"foo\" \"on\" \"foo\"",
            "Error in user declaration 'foo': Syntax error",
        ),
    ];
    for (arguments, number, line, reason) in cases {
        let expected = (*number, (*line).to_owned(), (*reason).to_owned());
        assert_eq!(failure(arguments, &[]), expected, "{arguments:?}");
    }
}

#[test]
fn replicaof_is_refused_in_the_configuration_of_a_cluster_node() {
    let arguments = &["--replicaof", "127.0.0.1", "6379", "--cluster-enabled", "yes"];
    let refused = invoke(arguments, &[]);
    let reason = "replicaof directive not allowed in cluster mode";
    assert!(
        matches!(&refused, Invocation::Fail(error) if error.to_string().ends_with(reason)),
        "{refused:?}"
    );
}

#[test]
fn unsupported_options_are_refused() {
    assert_eq!(failure(&["--loadmodule", "x.so"], &[]).2, "Modules are not supported");
    for arguments in [&["--test-memory", "10"][..], &["--check-system"]] {
        let refused = invoke(arguments, &[]);
        assert!(
            matches!(&refused, Invocation::Fail(error) if error.to_string().ends_with("is not supported")),
            "{refused:?}"
        );
    }
}

#[test]
fn files_are_read_before_standard_input_and_options() {
    let files =
        &[("a.conf", "# c\n\nhz 20\r\n  REQUIREPASS \"a\\x41\\n\\\"b\" \ntimeout 1"), ("-", "hz 44\n")];
    let read = config(&["a.conf"], files);
    assert_eq!((get(&read, "hz").as_str(), get(&read, "requirepass").as_str()), ("20", "aA\n\"b"));
    for (arguments, hz) in [
        (&["a.conf", "--hz", "17"][..], "17"),
        (&["a.conf", "hz", "17"], "17"),
        (&["-"], "44"),
        (&["-", "--hz", "55"], "55"),
        (&["a.conf", "--timeout", "2", "-"], "44"),
        (&["--hz", "3", "-"], "3"),
    ] {
        let read = config(arguments, files);
        assert_eq!(get(&read, "hz"), hz, "{arguments:?}");
    }
    assert_eq!(failure(&["a.conf", "--foo", "bar"], files).0, 6);
    assert_eq!(failure(&["a.conf", "y.conf"], files).1, "\"y.conf\"");
    let stdin = &[("a.conf", "hz 3\n"), ("-", "foo 44\n")];
    assert_eq!(
        failure(&["a.conf", "--foo", "2", "-"], stdin),
        (2, "foo 44".into(), failure(&["--foo"], &[]).2)
    );
}

#[test]
fn errors_in_files_are_reported_as_by_redis() {
    let bad = "Bad directive or wrong number of arguments";
    for (text, number, line, reason) in [
        ("\n\nhz 3 # comment\n", 3, "hz 3 # comment", "wrong number of arguments"),
        ("requirepass \"a\"b\n", 1, "requirepass \"a\"b", "Unbalanced quotes in configuration line"),
        ("\"hz\" 33\n\"\"\n", 2, "\"\"", bad),
        ("\"\" 33\n", 1, "\"\" 33", bad),
        ("databases 0x10", 1, "databases 0x10", "argument couldn't be parsed into an integer"),
        ("include\n", 1, "include", bad),
        ("loadmodule\n", 1, "loadmodule", bad),
        ("user\n", 1, "user", bad),
        ("rename-command get\n", 1, "rename-command get", bad),
        ("list-max-ziplist-value 3\nlist-max-ziplist-entries 3 4", 2, "list-max-ziplist-entries 3 4", bad),
        ("sentinel monitor x", 1, "sentinel monitor x", "sentinel directive while not in sentinel mode"),
    ] {
        let files = &[("a.conf", text)];
        assert_eq!(failure(&["a.conf"], files), (number, line.to_owned(), reason.to_owned()), "{text}");
    }
    for (text, name, value) in
        [("save\n", "save", ""), ("bind\n", "bind", ""), ("save 9 1\nsave 8 2\n", "save", "9 1 8 2")]
    {
        assert_eq!(get(&config(&["a.conf"], &[("a.conf", text)]), name), value, "{text}");
    }
}

#[test]
fn files_include_files() {
    let files = &[("a.conf", "hz 3\ninclude b.conf\ntimeout 7"), ("b.conf", "\n\nhz 8\n")];
    let read = config(&["a.conf"], files);
    assert_eq!((get(&read, "hz").as_str(), read.timeout), ("8", 7));
    let wrong = &[("a.conf", "hz 3\ninclude b.conf"), ("b.conf", "\n\nhz x\n")];
    assert_eq!(failure(&["a.conf"], wrong).0, 3);
    let missing = invoke(&["a.conf"], &[("a.conf", "include b.conf")]);
    let text = "Fatal error, can't open config file 'b.conf': No such file or directory";
    assert!(matches!(&missing, Invocation::Fail(error) if error.to_string() == text), "{missing:?}");
    let itself = failure(&["a.conf"], &[("a.conf", "include a.conf")]);
    assert_eq!(itself.2, "Too many files include each other");
}

#[test]
fn include_accepts_a_pattern_of_files() {
    let files = &[
        ("a.conf", "hz 3\ninclude conf.d/*.conf\ninclude none/*.conf\n"),
        ("conf.d/1.conf", "hz 8\ntimeout 7\n"),
        ("conf.d/2.conf", "hz 9\n"),
        ("conf.d/3.txt", "nonsense\n"),
    ];
    let read = config(&["a.conf"], files);
    assert_eq!((get(&read, "hz").as_str(), read.timeout), ("9", 7));
    let wrong = &[("a.conf", "include b*"), ("b.conf", "\nhz x\n")];
    assert_eq!(failure(&["a.conf"], wrong).0, 2);
}

#[test]
fn dir_must_exist() {
    assert_eq!(config(&["--dir", "/run"], &[]).dir, "/run");
    let (number, line, reason) = failure(&["--port", "1", "--dir", "/nowhere"], &[]);
    assert_eq!(
        (number, line.as_str(), reason.as_str()),
        (3, "dir \"/nowhere\"", "No such file or directory")
    );
}

#[test]
fn commands_are_renamed_in_the_order_of_the_lines() {
    let unknown = "No such command in rename-command";
    let exists = "Target command name already exists";
    for (lines, reason) in [
        ("rename-command nosuch x", unknown),
        ("rename-command config|get x", unknown),
        ("rename-command get set", exists),
        ("rename-command GET x\nrename-command Set X", exists),
        ("rename-command get x\nrename-command get y", unknown),
        ("rename-command get \"\"\nrename-command get y", unknown),
    ] {
        let (number, _, told) = failure(&["a.conf"], &[("a.conf", lines)]);
        assert_eq!((number, told.as_str()), (lines.lines().count(), reason), "{lines}");
    }
    for lines in [
        "rename-command get set2\nrename-command set get\nrename-command set2 set",
        "rename-command config \"\"\nrename-command get config",
        "rename-command keys a-name-that-is-longer-than-others",
    ] {
        config(&["a.conf"], &[("a.conf", lines)]);
    }
}

#[test]
fn the_last_of_several_values_counts() {
    let file = &[("redis.conf", "daemonize yes\nsupervised systemd\n")];
    assert!(config(&["redis.conf"], file).daemonize);
    let read = config(&["redis.conf", "--daemonize", "no", "--supervised", "auto"], file);
    assert_eq!((read.daemonize, read.supervised), (false, Supervision::Auto));
    assert_eq!((get(&read, "daemonize").as_str(), get(&read, "supervised").as_str()), ("no", "auto"));
}

#[test]
fn version_and_help_are_printed() {
    for arguments in [&["-v"][..], &["--version"], &["-v", "x"]] {
        assert_eq!(invoke(arguments, &[]), Invocation::Version, "{arguments:?}");
    }
    for arguments in [["-h"], ["--help"]] {
        assert_eq!(invoke(&arguments, &[]), Invocation::Help, "{arguments:?}");
    }
}

/// A file system in which every path is a file with this text.
struct Anything(Vec<u8>);

impl Files for Anything {
    fn read(&mut self, _: Source<'_>) -> io::Result<Vec<u8>> {
        Ok(self.0.clone())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_quoted_word_is_read_back(words in vec(vec(any::<u8>(), 0..12), 1..4)) {
        let mut text = Vec::new();
        for word in &words {
            quote(word, &mut text);
            text.push(b' ');
        }
        prop_assert!(!text.contains(&b'\n'));
        prop_assert_eq!(lockwheel_resp::split_words(&text), Some(words));
    }

    #[test]
    fn no_command_line_or_file_makes_loading_panic(
        arguments in vec("(--)?(save|port|bind|dir|-|include|time|[ -~]{0,8})( [ -~]{0,6})?", 0..6),
        file in "([ -~]{0,12}\n){0,4}",
    ) {
        let arguments = arguments.into_iter().map(String::into_bytes);
        Invocation::from_arguments(arguments, &mut Anything(file.into_bytes()), crate::COMMAND_NAMES);
    }

    #[test]
    fn any_password_is_read_unchanged(password in vec(any::<u8>(), 0..12)) {
        prop_assume!(password != b"-");
        let arguments = [b"--requirepass".to_vec(), password.clone()];
        let invocation = Invocation::from_arguments(arguments, &mut Anything(Vec::new()), crate::COMMAND_NAMES);
        let Invocation::Run(config) = invocation else {
            return Err(TestCaseError::fail("refused"));
        };
        prop_assert_eq!(config.requirepass, password);
    }
}
