//! README.md's statements about the commands of Redis.

use lockwheel_tests::ours;
use lockwheel_tests::pages::Page;
use lockwheel_tests::redis_commands;
use lockwheel_tests::redis_server::{Kind, RealServer};
use std::collections::BTreeMap;

/// README.md's claim about commands.
const CLAIM: &str = "All commands of Redis 7.2 are there";

#[test]
fn every_command_of_redis_is_listed() {
    assert!(Page::readme().text.contains(CLAIM));
    assert_eq!(redis_commands::missing(), [""; 0]);
}

/// README's list of missing commands names no existing command.
#[test]
fn commands_listed_as_missing_are_missing() {
    let text = Page::readme().text;
    let (_, section) = text.split_once("## What is not there yet\n").expect("README has the section");
    let (said, _) = section.split_once("## ").expect("another section follows");
    let (said, _) = said.split_once(CLAIM).expect("what is there stands behind it");
    let commands = ours::commands();
    let is_word = |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
    let words = said.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_word);
    let there: Vec<&str> = words.filter(|word| commands.find(word.as_bytes()).is_some()).collect();
    assert_eq!(there, [""; 0], "these are there");
}

#[test]
fn the_commands_of_redis_are_those_of_the_real_servers() {
    let mut real = BTreeMap::new();
    for kind in [Kind::Valkey, Kind::Redis] {
        let Some(server) = RealServer::start(kind, &[]) else { return };
        real.extend(redis_commands::of(&server));
    }
    let listed = redis_commands::all().into_iter().map(|(name, group)| (name.to_owned(), group.to_owned()));
    assert_eq!(listed.collect::<BTreeMap<_, _>>(), real);
}
