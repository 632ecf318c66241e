//! COMMAND INFO and COMMAND DOCS, compared with the real servers. Each field of each command is that of redis-server
//! 7.0.15; a newer field is that of the server of the 7.2 line. Summaries are in our own words.

use crate::table::entry::{self, Entries, Fields};
use crate::table::wire::Wire;
use lockwheel_tests::client::Protocol;
use lockwheel_tests::differences::table::{DIFFERENCES, DISPLAY, FieldDifference};
use lockwheel_tests::ours;
use lockwheel_tests::pair::Claim;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use std::collections::BTreeSet;

/// The answers of three servers to one request.
struct Told {
    redis: Entries,
    /// The answer of a server of the 7.2 line, which is itself newer.
    valkey: Entries,
    ours: Entries,
}

impl Told {
    /// Calls `compare` with the answers in each protocol. Does nothing if a real server is missing.
    fn in_each_protocol(read: fn(&mut Wire) -> Entries, compare: impl Fn(&Told)) {
        let real = [Kind::Redis, Kind::Valkey].map(|kind| RealServer::start(kind, &[]));
        let [Some(redis), Some(valkey)] = real else { return };
        let server = ours::server();
        for protocol in [Protocol::Resp2, Protocol::Resp3] {
            let addresses = [redis.addr(), valkey.addr(), server.addr()];
            let [redis, valkey, ours] = addresses.map(|address| read(&mut Wire::connect(address, protocol)));
            compare(&Told { redis, valkey, ours });
        }
    }

    /// The fields of our commands that Redis has too, with the expected ones: those of 7.0.15, or of the newer server
    /// for a newer command.
    fn compared(&self) -> impl Iterator<Item = (&String, &Fields, &Fields)> {
        let expected = |name| self.redis.get(name).or_else(|| self.valkey.get(name));
        self.ours.iter().filter_map(move |(name, ours)| Some((name, ours, expected(name)?)))
    }
}

/// Collects the fields that differ, and fails unless exactly the declared ones do.
#[derive(Default)]
struct Report {
    problems: Vec<String>,
    met: BTreeSet<(&'static str, &'static str)>,
}

impl Report {
    /// Compares a field; `newer` is the newer server's value.
    fn field(&mut self, name: &str, field: &str, [ours, expected, newer]: [Option<Reply>; 3]) {
        if ours == expected {
            return;
        }
        let shown = |reply: &Option<Reply>| reply.as_ref().map_or("nothing".to_owned(), Reply::to_string);
        let told = || format!("{name}, {field}\n  real: {}\n  ours: {}", shown(&expected), shown(&ours));
        match declared(name, field) {
            None => self.problems.push(told()),
            Some((difference, name)) => {
                self.met.insert((difference.field, name));
                if difference.claim == Claim::Redis72 && ours != newer {
                    let newer = shown(&newer);
                    self.problems.push(format!("{}\n  the newer server has neither: {newer}", told()));
                }
            }
        }
    }

    /// Fails if an undeclared difference exists, or if a declared one of these fields does not.
    fn finish(mut self, told: &Told, fields: &[&str]) {
        for difference in DIFFERENCES.iter().filter(|difference| fields.contains(&difference.field)) {
            let gone = difference.commands.iter().filter(|name| {
                told.ours.contains_key(**name) && !self.met.contains(&(difference.field, **name))
            });
            let told =
                |name| format!("{name}, {}: it is not so that {}", difference.field, difference.reason);
            self.problems.extend(gone.map(told));
        }
        assert!(self.problems.is_empty(), "{}", self.problems.join("\n"));
    }
}

fn declared(name: &str, field: &str) -> Option<(&'static FieldDifference, &'static str)> {
    let of_field = DIFFERENCES.iter().filter(|difference| difference.field == field);
    of_field
        .flat_map(|difference| difference.commands.iter().map(move |of| (difference, *of)))
        .find(|(_, of)| *of == name)
}

#[test]
fn command_info_equals_that_of_the_real_servers() {
    Told::in_each_protocol(entry::info, |told| {
        let mut report = Report::default();
        for (name, ours, expected) in told.compared() {
            for (field, value) in ours {
                let newer = told.valkey.get(name).and_then(|fields| fields.get(field));
                report.field(
                    name,
                    field,
                    [Some(value), expected.get(field), newer].map(Option::<&Reply>::cloned),
                );
            }
        }
        report.finish(told, &entry::INFO);
    });
}

/// The fields of COMMAND DOCS that are compared without changes.
const DOCS: [&str; 6] = ["since", "group", "complexity", "doc_flags", "deprecated_since", "replaced_by"];

#[test]
fn command_docs_equals_that_of_the_real_servers() {
    Told::in_each_protocol(entry::docs, |told| {
        let mut report = Report::default();
        for (name, ours, expected) in told.compared() {
            let newer = told.valkey.get(name);
            for field in DOCS {
                let values = [Some(ours), Some(expected), newer].map(|fields| fields?.get(field).cloned());
                report.field(name, field, values);
            }
            let arguments = |fields: &Fields| fields.get("arguments").map(entry::without_display);
            let values = [arguments(ours), arguments(expected), newer.and_then(arguments)];
            report.field(name, "arguments", values);
            let history = expected_history(expected, newer);
            report.field(name, "history", [ours.get("history").cloned(), history.clone(), history]);
        }
        report.finish(told, &[&DOCS[..], &["arguments", "history"]].concat());
    });
}

/// The changes up to 7.2: all that a server of 7.0 knows, and from a newer one those that came between the two.
fn expected_history(expected: &Fields, newer: Option<&Fields>) -> Option<Reply> {
    let changes = |fields: &Fields| fields.get("history").map(|history| entry::elements(history.clone()));
    let between = |change: &Reply| {
        let version = entry::text(&entry::elements(change.clone()).next().expect("a version"));
        let numbers: Vec<u32> = version.split('.').map(|number| number.parse().expect("a number")).collect();
        (&[7, 0, 15][..]..&[7, 3][..]).contains(&numbers.as_slice())
    };
    let newest = newer.and_then(changes).into_iter().flatten().filter(between);
    let mut all: Vec<Reply> = changes(expected).into_iter().flatten().collect();
    all.extend(newest.filter(|change| !all.contains(change)).collect::<Vec<_>>());
    let is_set = [Some(expected), newer]
        .into_iter()
        .flatten()
        .any(|fields| matches!(fields.get("history"), Some(Reply::Set(_))));
    (!all.is_empty()).then_some(if is_set { Reply::Set(all) } else { Reply::Array(all) })
}

/// The display texts of arguments came with 7.2. An argument at another place in the newer server's tree has the same
/// text there.
#[test]
fn arguments_in_command_docs_equal_those_of_the_newer_server() {
    Told::in_each_protocol(entry::docs, |told| {
        let mut report = Report::default();
        for (name, ours) in &told.ours {
            let own = declared(name, "arguments");
            if own.is_some_and(|(difference, _)| difference.claim == Claim::OnPurpose) {
                continue;
            }
            let shown = |fields: &Fields| fields.get("arguments").map(entry::displays).unwrap_or_default();
            let Some(newer) = told.valkey.get(name).map(shown) else { continue };
            for (token, text) in shown(ours).into_iter().filter(|pair| !newer.contains(pair)) {
                let ours = Reply::Status(format!("{token} {text}").into_bytes());
                report.field(name, DISPLAY, [Some(ours), None, None]);
            }
        }
        report.finish(told, &[DISPLAY]);
    });
}

/// The fields of COMMAND DOCS come in Redis' order.
#[test]
fn command_docs_has_its_fields_in_order() {
    Told::in_each_protocol(entry::docs, |told| {
        let order = [
            "summary",
            "since",
            "group",
            "complexity",
            "doc_flags",
            "deprecated_since",
            "replaced_by",
            "history",
            "arguments",
            "reply_description",
            "errors",
        ];
        for (name, fields) in told.redis.iter().chain(&told.ours) {
            let names: Vec<String> =
                entry::elements(fields[entry::ORDER].clone()).map(|field| entry::text(&field)).collect();
            let expected: Vec<&str> = order.into_iter().filter(|field| fields.contains_key(*field)).collect();
            assert_eq!(names, expected, "{name}");
            // Redis has no fields for replies and errors.
            let is_described = names.iter().any(|field| ["reply_description", "errors"].contains(&&**field));
            assert!(!(is_described && told.redis.contains_key(name)), "{name}");
        }
    });
}
