//! Tests of CONFIG GET and CONFIG SET. Replies and values are those of redis-server 7.0.15.

use super::{Config, get};
use crate::config::Permission;
use proptest::prelude::*;

fn set(config: &mut Config, arguments: &[&str]) -> String {
    set_from(config, arguments, false)
}

fn set_from(config: &mut Config, arguments: &[&str], local: bool) -> String {
    let (pairs, []) = arguments.as_chunks::<2>() else { panic!("{arguments:?}") };
    let pairs: Vec<(&[u8], &[u8])> =
        pairs.iter().map(|[name, value]| (name.as_bytes(), value.as_bytes())).collect();
    match config.set(&pairs, local) {
        Ok(()) => "OK".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn names(config: &Config, patterns: &[&str]) -> Vec<String> {
    let patterns: Vec<&[u8]> = patterns.iter().map(|pattern| pattern.as_bytes()).collect();
    let pairs = config.get(&patterns);
    pairs.into_iter().map(|(name, _)| String::from_utf8(name).unwrap()).collect()
}

#[test]
fn config_get_returns_requested_names_and_matches_once_in_order() {
    let config = Config::default();
    let cases: &[(&[&str], &[&str])] = &[
        (&["MAXMEMORY"], &["MAXMEMORY"]),
        (&["maxmemory", "MAXMEMORY", "maxmem?ry"], &["maxmemory"]),
        (&["hz", "port", "hz"], &["hz", "port"]),
        (&["nosuch"], &[]),
        (&["[hH]z"], &["hz"]),
        (&["h\\z"], &[]),
        (&["h?z", "ti[m]eout", "*zz"], &["timeout"]),
        (&["key-load-dela*", "*ing-process-events-*"], &[]),
        (&["key-load-delay", "use-exit-on-panic"], &["key-load-delay", "use-exit-on-panic"]),
        (&["include", "user", "rename-command", "loadmodule"], &[]),
        (
            &["MAXMEM*"],
            &[
                "maxmemory",
                "maxmemory-clients",
                "maxmemory-eviction-tenacity",
                "maxmemory-policy",
                "maxmemory-samples",
            ],
        ),
        (&["hash-max-*-value"], &["hash-max-listpack-value", "hash-max-ziplist-value"]),
        (&["slave*-lag", "min-*-lag"], &["min-replicas-max-lag", "min-slaves-max-lag"]),
    ];
    for (patterns, expected) in cases {
        assert_eq!(names(&config, patterns), *expected, "{patterns:?}");
    }
    let all = names(&config, &["*"]);
    assert!(all.is_sorted());
    assert!(
        ["port", "slaveof", "lua-time-limit", "control"].iter().all(|name| all.iter().any(|n| n == name))
    );
}

#[test]
fn config_set_fails_entirely_with_its_first_error() {
    let cases: &[(&[&str], &str)] = &[
        (&["foo", "1"], "ERR Unknown option or number of arguments for CONFIG SET - 'foo'"),
        (&["timeout", "20", "foo", "1"], "ERR Unknown option or number of arguments for CONFIG SET - 'foo'"),
        (&["foo", "1", "databases", "2"], "ERR Unknown option or number of arguments for CONFIG SET - 'foo'"),
        (&["databases", "2", "foo", "1"], "databases: can't set immutable config"),
        (&["timeout", "1", "TIMEOUT", "2"], "TIMEOUT: duplicate parameter"),
        (&["timeout", "x", "timeout", "2"], "timeout: duplicate parameter"),
        (&["timeout", "9", "maxmemory", "abc", "hz", "zz"], "maxmemory: argument must be a memory value"),
        (&["timeout", "9", "dir", "/"], "dir: can't set protected config"),
        (&["timeout", "9", "port", "zz"], "port: argument couldn't be parsed into an integer"),
        (&["timeout", "9", "port", "70000"], "port: argument must be between 0 and 65535 inclusive"),
        (&["timeout", "9", "port", "7000"], "port: Unable to listen on this port. Check server logs."),
        (&["timeout", "9", "bind", "10.0.0.1"], "bind: Failed to bind to specified addresses."),
        (&["user", "x"], "ERR Unknown option or number of arguments for CONFIG SET - 'user'"),
    ];
    for (arguments, expected) in cases {
        let mut config = Config::default();
        let expected = match expected.split_once(": ") {
            Some((name, reason)) => {
                format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}")
            }
            None => (*expected).to_owned(),
        };
        assert_eq!(set(&mut config, arguments), expected, "{arguments:?}");
        assert_eq!(config, Config::default(), "{arguments:?}");
    }
}

#[test]
fn an_error_names_the_argument_byte_for_byte_up_to_a_nul() {
    let error = Config::default().set(&[(b"\xffx\0y", b"")], false).unwrap_err();
    assert_eq!(error.as_bytes(), b"ERR Unknown option or number of arguments for CONFIG SET - '\xffx'");
}

#[test]
fn config_set_accepts_several_parameters_and_both_names() {
    let mut config = Config::default();
    assert_eq!(set(&mut config, &["timeout", "5", "MAXMEMORY", "1gb", "rdbcompression", "NO"]), "OK");
    assert_eq!((config.timeout, config.maxmemory), (5, 1 << 30));
    assert_eq!(get(&config, "rdbcompression"), "no");
    let both = ["hash-max-listpack-entries", "1", "hash-max-ziplist-entries", "2"];
    assert_eq!(set(&mut config, &both), "OK");
    assert_eq!(config.encodings.hash_max_listpack_entries, 2);
    assert_eq!(get(&config, "hash-max-ziplist-entries"), "2");
    assert_eq!(set(&mut config, &["lua-time-limit", "7"]), "OK");
    assert_eq!((config.busy_reply_threshold, get(&config, "busy-reply-threshold").as_str()), (7, "7"));
}

#[test]
fn listening_parameters_may_be_set_to_their_current_values() {
    let mut config = Config::default();
    assert_eq!(set(&mut config, &["port", "6379", "bind", "127.0.0.1 -::1", "tls-port", "0"]), "OK");
}

#[test]
fn protected_parameters_ask_for_permission() {
    let mut config = Config { enable_protected_configs: Permission::Local, ..Config::default() };
    assert!(set(&mut config, &["dir", "/srv"]).contains("protected"));
    assert_eq!(set_from(&mut config, &["dir", "/srv"], true), "OK");
    config.enable_protected_configs = Permission::Yes;
    assert_eq!(set(&mut config, &["dbfilename", "x.rdb"]), "OK");
    assert_eq!((config.dir.as_str(), get(&config, "dbfilename").as_str()), ("/srv", "x.rdb"));
    assert!(
        set(&mut config, &["dbfilename", "a/b"]).ends_with(" - dbfilename can't be a path, just a filename")
    );
}

/// A name, a value, and the value that CONFIG GET shows afterwards or, after `!`, the reason of the refusal.
const VALUES: &[(&str, &str, &str)] = &[
    ("rdbcompression", "Yes", "yes"),
    ("rdbcompression", "1", "!argument must be 'yes' or 'no'"),
    ("rdbcompression", "yes ", "!argument must be 'yes' or 'no'"),
    ("timeout", "0", "0"),
    ("timeout", "2147483647", "2147483647"),
    ("timeout", "2147483648", "!argument must be between 0 and 2147483647 inclusive"),
    ("timeout", "-1", "!argument must be between 0 and 2147483647 inclusive"),
    ("timeout", "", "!argument couldn't be parsed into an integer"),
    ("timeout", " 5", "!argument couldn't be parsed into an integer"),
    ("timeout", "05", "!argument couldn't be parsed into an integer"),
    ("timeout", "+5", "!argument couldn't be parsed into an integer"),
    ("timeout", "-0", "!argument couldn't be parsed into an integer"),
    ("timeout", "1.5", "!argument couldn't be parsed into an integer"),
    ("list-max-listpack-size", "-2147483648", "-2147483648"),
    (
        "list-max-listpack-size",
        "2147483648",
        "!argument must be between -2147483648 and 2147483647 inclusive",
    ),
    ("slowlog-log-slower-than", "-2", "!argument must be between -1 and 9223372036854775807 inclusive"),
    ("maxmemory", "1kb", "1024"),
    ("maxmemory", "18446744073709551615", "18446744073709551615"),
    ("maxmemory", "10%", "!argument must be a memory value"),
    ("proto-max-bulk-len", "1kb", "!argument must be between 1048576 and 9223372036854775807 inclusive"),
    ("proto-max-bulk-len", "2mb", "2097152"),
    ("maxmemory-clients", "10%", "10%"),
    ("maxmemory-clients", "0%", "0"),
    ("maxmemory-clients", "1gb", "1073741824"),
    ("maxmemory-clients", "18446744073709551615", "1%"),
    ("maxmemory-clients", "9223372036854775808", "!percentage argument must be less or equal to 100"),
    ("repl-backlog-size", "1", "16384"),
    ("repl-backlog-size", "20kb", "20480"),
    ("repl-backlog-size", "0", "!argument must be between 1 and 9223372036854775807 inclusive"),
    ("maxmemory-clients", "101%", "!percentage argument must be less or equal to 100"),
    ("maxmemory-clients", "-5%", "!argument must be a memory or percent value"),
    ("maxmemory-clients", "1k%", "!argument must be a memory or percent value"),
    ("maxmemory-policy", "volatile-LRU", "volatile-lru"),
    ("appendfsync", "x", "!argument(s) must be one of the following: everysec, always, no"),
    ("hz", "5000", "500"),
    ("hz", "0", "1"),
    ("hz", "-1", "!argument must be between 0 and 2147483647 inclusive"),
    ("masteruser", "a b", "a b"),
    ("notify-keyspace-events", "KEA", "AKE"),
    ("notify-keyspace-events", "g$lshzxetdnKEm", "AKEm"),
    ("notify-keyspace-events", "KEAn", "AKE"),
    ("notify-keyspace-events", "Elg", "glE"),
    ("notify-keyspace-events", "nE", "nE"),
    ("notify-keyspace-events", "KQ", "!Invalid event class character. Use 'Ag$lshzxeKEtmdn'."),
    ("save", "3600 1 300 100", "3600 1 300 100"),
    ("save", "1 0", "1 0"),
    ("save", "", ""),
    ("save", "0 1", "!Invalid save parameters"),
    ("save", "1", "!Invalid save parameters"),
    ("save", "a b", "!Invalid save parameters"),
    ("save", "3600  1", "!Invalid save parameters"),
    ("save", "1 -1", "!Invalid save parameters"),
    ("oom-score-adj", "relative", "yes"),
    ("oom-score-adj", "x", "!argument(s) must be one of the following: no, yes, relative, absolute"),
    ("oom-score-adj-values", "800 200 1", "800 200 1"),
    ("oom-score-adj-values", "0 200", "!wrong number of arguments"),
    (
        "oom-score-adj-values",
        "0 0 2001",
        "!Invalid oom-score-adj-values, elements must be between -2000 and 2000.",
    ),
    ("latency-tracking-info-percentiles", "", ""),
    ("latency-tracking-info-percentiles", "50.12345 1e1", "50.12345 10"),
    ("latency-tracking-info-percentiles", "99.9999999", "100"),
    ("latency-tracking-info-percentiles", "50  60", "!Invalid latency-tracking-info-percentiles parameters"),
    ("latency-tracking-info-percentiles", "nan", "!Invalid latency-tracking-info-percentiles parameters"),
    (
        "latency-tracking-info-percentiles",
        "100.1",
        "!latency-tracking-info-percentiles parameters should sit between [0.0,100.0]",
    ),
    ("shutdown-on-sigterm", "now save now", "save now"),
    ("shutdown-on-sigterm", "default now", "now"),
    ("shutdown-on-sigterm", "default", "default"),
    ("shutdown-on-sigterm", "nosave save", "!shutdown options SAVE and NOSAVE can't be used simultaneously"),
    (
        "shutdown-on-sigterm",
        "",
        "!argument(s) must be one of the following: default, save, nosave, now, force",
    ),
    ("proc-title-template", "{title} x {port}", "{title} x {port}"),
    ("proc-title-template", "{config-file}", "{config-file}"),
    ("proc-title-template", "}", "}"),
    ("proc-title-template", "{{", "{{"),
    ("proc-title-template", "{title}", "!template format is invalid or contains unknown variables"),
    ("proc-title-template", "x{}", "!template format is invalid or contains unknown variables"),
    ("proc-title-template", "a{title", "!template format is invalid or contains unknown variables"),
    ("proc-title-template", "  ", "!template format is invalid or contains unknown variables"),
    ("cluster-announce-hostname", "a.b-c", "a.b-c"),
    (
        "cluster-announce-hostname",
        "a_b",
        "!Hostnames may only contain alphanumeric characters, hyphens or dots",
    ),
    ("cluster-announce-human-nodename", "a b", "!Announced human node name contained invalid character"),
    ("locale-collate", "C", "C"),
    ("locale-collate", "xx", "!Invalid locale name"),
    ("tls-auth-clients", "OPTIONAL", "optional"),
    ("tls-protocols", "TLSv1.2 TLSv1.3", "TLSv1.2 TLSv1.3"),
    ("tls-session-cache-size", "0", "0"),
    (
        "client-output-buffer-limit",
        "normal 1 2 3 pubsub 4kb 5 6",
        "normal 1 2 3 slave 268435456 67108864 60 pubsub 4096 5 6",
    ),
    (
        "client-output-buffer-limit",
        "Replica 1 2 99999999999",
        "normal 0 0 0 slave 1 2 1215752191 pubsub 33554432 8388608 60",
    ),
    ("client-output-buffer-limit", "", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"),
    ("client-output-buffer-limit", "pubsub 1 2", "!Wrong number of arguments in buffer limit configuration."),
    (
        "client-output-buffer-limit",
        "normal  0 0 0",
        "!Wrong number of arguments in buffer limit configuration.",
    ),
    (
        "client-output-buffer-limit",
        "foo 1 2 3",
        "!Invalid client class specified in buffer limit configuration.",
    ),
    (
        "client-output-buffer-limit",
        "normal 1 2 -3",
        "!Error in hard, soft or soft_seconds setting in buffer limit configuration.",
    ),
    (
        "client-output-buffer-limit",
        "normal 0 0 0 pubsub x 1 1",
        "!Error in hard, soft or soft_seconds setting in buffer limit configuration.",
    ),
];

#[test]
fn each_kind_takes_and_refuses_values_as_redis_does() {
    for (name, value, expected) in VALUES {
        let mut config = Config::default();
        let reply = set(&mut config, &[name, value]);
        match expected.strip_prefix('!') {
            Some(reason) => {
                let text =
                    format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}");
                assert_eq!(reply, text, "{name} {value:?}");
                assert_eq!(config, Config::default(), "{name} {value:?}");
            }
            None => {
                assert_eq!(reply, "OK", "{name} {value:?}");
                assert_eq!(get(&config, name), *expected, "{name} {value:?}");
            }
        }
    }
}

#[test]
fn too_many_addresses_and_too_long_names_are_refused() {
    let mut config = Config::default();
    let addresses = ["127.0.0.1"; 17].join(" ");
    assert!(set(&mut config, &["bind", &addresses]).ends_with(" - Too many bind addresses specified."));
    let name = "a".repeat(256);
    let reply = set(&mut config, &["cluster-announce-hostname", &name]);
    assert!(reply.ends_with(" - Hostnames must be less than 256 characters"), "{reply}");
    assert_eq!(set(&mut config, &["cluster-announce-hostname", &name[1..]]), "OK");
}

#[test]
fn a_password_may_be_any_bytes() {
    let mut config = Config::default();
    config.set(&[(b"requirepass", b"\xff\0x")], false).unwrap();
    assert_eq!(config.requirepass, b"\xff\0x");
    assert_eq!(config.get(&[b"requirepass"]), [(b"requirepass".to_vec(), b"\xff\0x".to_vec())]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// For any value that is set: no panic, a failure changes nothing, and CONFIG GET's value can be set again.
    #[test]
    fn values_of_config_get_can_be_set(
        picks in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4),
        noise in proptest::collection::vec(any::<u8>(), 0..12),
    ) {
        let mut config = Config { enable_protected_configs: Permission::Yes, ..Config::default() };
        let before = config.clone();
        let pairs: Vec<(&[u8], &[u8])> = picks
            .iter()
            .map(|(name, value)| {
                let name = super::PARAMETERS[name.index(super::PARAMETERS.len())].name;
                let value = value.index(VALUES.len() * 2);
                (name.as_bytes(), VALUES.get(value).map_or(noise.as_slice(), |(_, value, _)| value.as_bytes()))
            })
            .collect();
        match config.set(&pairs, false) {
            Err(_) => prop_assert_eq!(&config, &before),
            Ok(()) => {
                for (name, _) in &pairs {
                    let shown = config.get(&[name]).remove(0).1;
                    let mut again = config.clone();
                    prop_assert_eq!(again.set(&[(name, &shown)], false), Ok(()), "{:?}", name);
                    prop_assert_eq!(again.get(&[name]).remove(0).1, shown);
                }
            }
        }
    }
}

#[test]
fn fixed_parameters_can_only_be_set_to_their_current_value() {
    let mut config = Config::default();
    let on_the_command_line = ["exit-with-parent", "idle-exit", "load", "port-file", "ready-fd"];
    for name in
        [&["control", "lua-memory-limit", "seed", "threads", "time"][..], &on_the_command_line].concat()
    {
        let value = String::from_utf8(config.get(&[name.as_bytes()]).remove(0).1).unwrap();
        assert_eq!(set(&mut config, &[name, &value]), "OK");
        let refused = set(&mut config, &[name, "2"]);
        assert!(refused.ends_with("can't set immutable config"), "{refused}");
    }
}
