//! What README.md says of the commands of Redis.

use lockwheel_tests::pages::Page;
use lockwheel_tests::redis_commands;
use lockwheel_tests::redis_server::{Kind, RealServer};
use std::collections::BTreeMap;

/// What README.md says of commands.
const CLAIM: &str = "All commands of Redis 7.2 are there";

#[test]
fn all_commands_of_redis_are_there() {
    assert!(Page::readme().text.contains(CLAIM));
    assert_eq!(redis_commands::missing(), [""; 0]);
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
