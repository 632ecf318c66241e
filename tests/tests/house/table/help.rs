//! HELP of every container, compared with redis-server: the text of each subcommand, and the order.

use crate::table::entry;
use crate::table::wire::Wire;
use lockwheel_tests::client::Protocol;
use lockwheel_tests::differences::newer::as_in_7_2;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use std::collections::BTreeSet;

/// The text of one subcommand: its form, and the indented lines below.
type Stanza = Vec<String>;

/// A HELP: its heading, and its stanzas. An error is a heading alone, as for CLUSTER.
fn help(wire: &mut Wire, container: &str) -> (String, Vec<Stanza>) {
    let reply = wire.cmd(&[container, "help"]);
    if let Reply::Error(text) = reply {
        return (text, Vec::new());
    }
    let mut lines = entry::elements(reply).map(|line| entry::text(&line));
    let heading = lines.next().expect("a heading");
    let mut stanzas: Vec<Stanza> = Vec::new();
    for line in lines {
        match stanzas.last_mut().filter(|_| line.starts_with(' ')) {
            Some(stanza) => stanza.push(line),
            None => stanzas.push(vec![line]),
        }
    }
    (heading, stanzas)
}

/// Whether a stanza is about a subcommand that we have, or about the container itself.
fn is_ours(container: &str, stanza: &Stanza) -> bool {
    let name = stanza[0].split_whitespace().next().expect("a form").to_lowercase();
    name.starts_with('(') || ours::commands().find_full(format!("{container}|{name}").as_bytes()).is_some()
}

/// HELP says of itself that it is to "Print" this help.
#[test]
fn help_describes_itself_as_in_7_2() {
    let kinds = as_in_7_2("HELP says `Print this help`");
    let real: Vec<RealServer> = kinds.iter().filter_map(|&kind| RealServer::start(kind, &[])).collect();
    let ours = ours::server();
    for address in [ours.addr()].into_iter().chain(real.iter().map(RealServer::addr)) {
        let (_, stanzas) = help(&mut Wire::connect(address, Protocol::Resp2), "object");
        let own = stanzas.iter().find(|stanza| stanza[0] == "HELP").expect("HELP is told");
        assert_eq!(own[1].trim(), "Print this help.");
    }
}

#[test]
fn help_texts_equal_those_of_the_real_servers() {
    let real = [Kind::Redis, Kind::Valkey].map(|kind| RealServer::start(kind, &[]));
    let [Some(redis), Some(valkey)] = real else { return };
    let server = ours::server();
    let [mut redis, mut valkey, mut ours] =
        [redis.addr(), valkey.addr(), server.addr()].map(|address| Wire::connect(address, Protocol::Resp2));
    let known: BTreeSet<String> = entry::info(&mut redis).into_keys().collect();
    let mut problems = Vec::new();
    for name in ours::commands().iter().map(|command| command.name.as_str()) {
        // A standalone server answers CLUSTER HELP with an error.
        if !known.contains(&format!("{name}|help")) || name == "cluster" {
            continue;
        }
        let ((heading, own), (real_heading, real), (_, newer)) =
            (help(&mut ours, name), help(&mut redis, name), help(&mut valkey, name));
        assert_eq!(heading, real_heading);
        let (old, new): (Vec<_>, Vec<_>) = own.into_iter().partition(|stanza| real.contains(stanza));
        let strange = new.into_iter().filter(|stanza| !newer.contains(stanza));
        problems.extend(strange.map(|stanza| format!("{name}: no real server tells\n{}", stanza.join("\n"))));
        // HELP of 7.2 says of itself that it is to "Print" this help.
        let is_wanted = |stanza: &Stanza| stanza[0] != "HELP" && is_ours(name, stanza);
        let wanted: Vec<Stanza> = real.into_iter().filter(is_wanted).collect();
        if old != wanted {
            problems.push(format!("{name}\n  real: {wanted:?}\n  ours: {old:?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
