//! The commands of Redis 7.2, by name and group, with which our table is compared.

use crate::client::Client;
use crate::ours;
use crate::redis_server::RealServer;
use crate::reply::Reply;
use std::collections::{BTreeMap, BTreeSet};

/// Lines `group name`, in order; a subcommand is `container|name`.
const TEXT: &str = include_str!("redis_commands.txt");

/// The groups as COMMAND DOCS names them, each with its display name.
pub const GROUPS: [(&str, &str); 16] = [
    ("string", "strings"),
    ("bitmap", "bitmaps"),
    ("hash", "hashes"),
    ("list", "lists"),
    ("set", "sets"),
    ("sorted-set", "sorted sets"),
    ("stream", "streams"),
    ("geo", "geo"),
    ("hyperloglog", "HyperLogLog"),
    ("generic", "keys"),
    ("pubsub", "publish/subscribe"),
    ("transactions", "transactions"),
    ("scripting", "scripts, functions"),
    ("connection", "connections"),
    ("server", "server"),
    ("cluster", "cluster"),
];

/// The name and the group of every command and subcommand.
pub fn all() -> BTreeMap<&'static str, &'static str> {
    let split = |line: &'static str| line.split_once(' ').expect("a line is a group and a name");
    TEXT.lines().map(split).map(|(group, name)| (name, group)).collect()
}

/// Lists the commands of all groups that our server lacks. A missing container stands for its subcommands too.
pub fn missing() -> Vec<String> {
    GROUPS.iter().flat_map(|(group, _)| missing_of(group)).collect()
}

/// Lists the commands of a group that our server lacks, in order. A missing container stands for its subcommands too.
pub fn missing_of(group: &str) -> Vec<String> {
    let commands = ours::commands();
    let ours: BTreeSet<&str> = commands.iter_all().map(|command| command.name.as_str()).collect();
    let is_told = |name: &str| {
        let container = name.split_once('|').map(|(container, _)| container);
        !ours.contains(name) && container.is_none_or(|container| ours.contains(container))
    };
    let names = all().into_iter().filter(|(name, of)| *of == group && is_told(name));
    names.map(|(name, _)| name.replace('|', " ").to_uppercase()).collect()
}

/// Returns the commands of a real server that exist since 7.2 or earlier, by name and group.
///
/// # Panics
/// Panics if its COMMAND DOCS cannot be read.
pub fn of(server: &RealServer) -> BTreeMap<String, String> {
    let docs = Client::connect(server.addr()).line("COMMAND DOCS");
    let mut found = BTreeMap::new();
    read_docs(docs, &mut found);
    found
}

/// Names and their documentation alternate; subcommands are nested.
fn read_docs(docs: Reply, found: &mut BTreeMap<String, String>) {
    for (name, fields) in pairs(docs) {
        let fields: BTreeMap<String, Reply> = pairs(fields).collect();
        let text = |field: &str| text(&fields[field]);
        let since: Vec<u32> = text("since").split('.').map(|part| part.parse().expect("a version")).collect();
        if since[..2] <= [7, 2][..] && !fields.contains_key("module") {
            found.insert(name, text("group"));
        }
        if let Some(subcommands) = fields.get("subcommands") {
            read_docs(subcommands.clone(), found);
        }
    }
}

/// The elements of a flat reply, in pairs.
fn pairs(reply: Reply) -> impl Iterator<Item = (String, Reply)> {
    let mut elements = reply.into_elements().expect("a list").into_iter();
    std::iter::from_fn(move || Some((text(&elements.next()?), elements.next()?)))
}

fn text(reply: &Reply) -> String {
    String::from_utf8_lossy(reply.as_bytes().expect("a text")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_a_name_for_people() {
        let groups: BTreeSet<&str> = all().into_values().collect();
        assert_eq!(groups, GROUPS.iter().map(|(group, _)| *group).collect());
    }
}
