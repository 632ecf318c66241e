//! The list of the commands that are not there yet.

use lockwheel_tests::pages::{self, Page};
use lockwheel_tests::redis_commands;
use lockwheel_tests::redis_server::{Kind, RealServer};
use std::collections::BTreeMap;
use std::{env, fs};

const BEGIN: &str = "<!-- Made from the table of commands; RENEW_README=1 writes it anew. -->\n";
const END: &str = "<!-- So far. -->\n";
const RENEW: &str = "RENEW_README";

/// With `RENEW_README=1` it writes what it wants.
#[test]
fn the_list_of_missing_commands_is_that_of_the_table() {
    let Page { path, text } = Page::readme();
    let (before, rest) = text.split_once(BEGIN).expect("the list has a beginning");
    let (list, after) = rest.split_once(END).expect("the list has an end");
    let wanted = format!("\n{}\n", redis_commands::missing());
    if env::var_os(RENEW).is_some() {
        fs::write(pages::file(&path), [before, BEGIN, &wanted, END, after].concat()).unwrap();
        return;
    }
    assert!(
        list == wanted,
        "README.md lists other commands than the table lacks. This is missing:\n{wanted}"
    );
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
