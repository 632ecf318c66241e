//! Tests of getting, setting and loading parameters.

mod loading;
mod setting;

use super::access::find;
use super::table::PARAMETERS;
use super::*;

#[test]
fn addresses_are_read_with_their_wildcards() {
    let config = Config {
        bind: ["*", "-::*", "127.0.0.1", "-::1", "localhost"].map(str::to_owned).to_vec(),
        ..Config::default()
    };
    let ip = |text: &str, optional| BindAddress { host: Host::Ip(text.parse().unwrap()), optional };
    let name = BindAddress { host: Host::Name("localhost".to_owned()), optional: false };
    let expected = [ip("0.0.0.0", false), ip("::", true), ip("127.0.0.1", false), ip("::1", true), name];
    assert_eq!(config.bind_addresses(), expected);
}

#[test]
fn the_keyspace_gets_its_parameters_and_keeps_its_seed() {
    let mut config = Config::default();
    let pairs: [(&[u8], &[u8]); 3] = [
        (b"hash-max-ziplist-entries", b"7"),
        (b"notify-keyspace-events", b"KEx"),
        (b"proto-max-bulk-len", b"2mb"),
    ];
    config.set(&pairs, true).unwrap();
    let mut keyspace = Keyspace::new(1, 5);
    config.apply_to(&mut keyspace);
    assert_eq!(keyspace.encodings.hash_max_listpack_entries, 7);
    assert_eq!(keyspace.encodings.seed, 5);
    assert_eq!(keyspace.published().text(), "xKE");
    assert_eq!(keyspace.max_string, 2 << 20);
}

#[test]
fn the_clock_starts_at_the_configured_time() {
    let system = Now { wall_us: 5_000_000, monotonic_us: 1 };
    let at = |time| Config { time, ..Config::default() }.clock(system);
    assert_eq!(at(TimeMode::Real).mode(), Mode::Real);
    assert_eq!(at(TimeMode::Manual).read(system).wall_ms(), 5000);
    let clock = at(TimeMode::At(1_893_456_000_000));
    assert_eq!((clock.mode(), clock.read(system).wall_ms()), (Mode::Manual, 1_893_456_000_000));
}

#[test]
fn the_default_is_one_thread_per_core() {
    let threads = |threads| Config { threads, ..Config::default() };
    assert_eq!(threads(0).thread_count(6), 6);
    assert_eq!(threads(0).thread_count(0), 1);
    assert_eq!(threads(3).thread_count(6), 3);
}

fn get(config: &Config, name: &str) -> String {
    let pairs = config.get(&[name.as_bytes()]);
    let [(_, value)] = pairs.as_slice() else { panic!("{name}: {pairs:?}") };
    String::from_utf8_lossy(value).into_owned()
}

#[test]
fn rows_are_in_order_and_names_are_unique() {
    let names: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
    assert!(names.is_sorted(), "{names:?}");
    let mut all: Vec<&str> = PARAMETERS.iter().flat_map(Parameter::names).collect();
    let count = all.len();
    assert!(count > 200, "{count}");
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn every_parameter_has_its_default_which_can_be_set() {
    let config = Config::default();
    for parameter in PARAMETERS {
        assert_eq!(get(&config, parameter.name), parameter.default, "{}", parameter.name);
        // Without a master Redis shows an empty value, but takes only `no one`.
        if parameter.name == "replicaof" {
            continue;
        }
        let words = super::access::split_value(parameter, parameter.default.as_bytes());
        let value = config.read(parameter, &words, false);
        let value = value.unwrap_or_else(|reason| panic!("{}: {reason}", parameter.name));
        assert_eq!(parameter.text(&value), parameter.default.as_bytes(), "{}", parameter.name);
        // This would lose a value that the field cannot hold.
        let mut stored = config.clone();
        stored.store(parameter, value);
        assert_eq!(get(&stored, parameter.name), parameter.default, "{}", parameter.name);
    }
}

#[test]
fn fields_take_the_values_of_their_parameters() {
    // For each parameter with a field, a value other than the default can be stored and read back.
    let other = |parameter: &Parameter| match (parameter.name, parameter.kind) {
        ("bind", _) => "10.0.0.1 -::2".to_owned(),
        ("time", _) => "2030-01-01T00:00:00Z".to_owned(),
        ("seed", _) => u64::MAX.to_string(),
        ("notify-keyspace-events", _) => "xE".to_owned(),
        ("client-output-buffer-limit", _) => "normal 1 2 3 slave 4 5 6 pubsub 7 8 9".to_owned(),
        ("dir", _) => "/srv".to_owned(),
        ("cluster-announce-hostname", _) => "a.b-c".to_owned(),
        ("latency-tracking-info-percentiles", _) => "50 90".to_owned(),
        ("repl-backlog-size", _) => "65536".to_owned(),
        ("replicaof", _) => "127.0.0.1 7000".to_owned(),
        ("save", _) => "60 1000".to_owned(),
        ("shutdown-on-sigint" | "shutdown-on-sigterm", _) => "nosave now".to_owned(),
        (_, Kind::Flag) if parameter.default == "yes" => "no".to_owned(),
        (_, Kind::Flag) => "yes".to_owned(),
        (_, Kind::Integer { max, .. }) => max.to_string(),
        (_, Kind::Size { max, .. }) => max.to_string(),
        (_, Kind::SizeOrPercent) => "7%".to_owned(),
        (_, Kind::Octal { max }) => format!("{max:o}"),
        (_, Kind::Choice(words)) => {
            let mut others = words.iter().rev().filter(|word| **word != parameter.default);
            (*others.next().expect("a choice has two words at least")).to_owned()
        }
        (name, Kind::Text) => format!("other {name}"),
        (name, kind) => panic!("say what else {name} can be: {kind:?}"),
    };
    for parameter in PARAMETERS.iter().filter(|parameter| parameter.field.is_some()) {
        let mut config = Config::default();
        let text = other(parameter);
        assert_ne!(text, parameter.default, "{}", parameter.name);
        let words = super::access::split_value(parameter, text.as_bytes());
        let value = config.read(parameter, &words, false).unwrap();
        config.store(parameter, value);
        assert_ne!(config, Config::default(), "{}", parameter.name);
        assert_eq!(config.kept.len(), 0, "{}", parameter.name);
        assert_eq!(get(&config, parameter.name), text, "{}", parameter.name);
    }
}

#[test]
fn every_name_is_found_in_either_case() {
    for parameter in PARAMETERS {
        for name in parameter.names() {
            let found = find(name.to_ascii_uppercase().as_bytes()).unwrap();
            assert_eq!(found.name, parameter.name);
        }
    }
    assert!(find(b"").is_none());
    assert!(find(b"hzz").is_none());
}
