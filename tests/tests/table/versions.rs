//! An older version has the commands and the options of its time, and refuses all that came later as its server did.

use crate::each;
use lockwheel_engine::spec::syntax::Syntax;
use lockwheel_engine::spec::{Command, Spec, Version};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use std::collections::BTreeSet;

const OLDER: [Version; 3] = [Version::V6_2, Version::V7_0, Version::V7_2];

/// What a release added to a command: a request that only newer versions take, and what older ones answer.
const ADDED: &[(&str, &str, &str, &str)] = &[
    ("bitcount", "7.0.0", "BITCOUNT k 0 1 BIT", "-ERR syntax error"),
    ("bitpos", "7.0.0", "BITPOS k 1 0 -1 bit", "-ERR syntax error"),
    ("expire", "7.0.0", "EXPIRE k 5 NX", "-ERR wrong number of arguments for 'expire' command"),
    ("pexpire", "7.0.0", "PEXPIRE k 5 XX", "-ERR wrong number of arguments for 'pexpire' command"),
    ("expireat", "7.0.0", "EXPIREAT k 5 GT", "-ERR wrong number of arguments for 'expireat' command"),
    ("pexpireat", "7.0.0", "PEXPIREAT k 5 LT", "-ERR wrong number of arguments for 'pexpireat' command"),
    ("set", "7.0.0", "SET new v GET NX", "-ERR syntax error"),
    ("set", "8.1.0", "SET new v IFEQ w", "-ERR syntax error"),
    ("zrank", "7.2.0", "ZRANK z m WITHSCORE", "-ERR wrong number of arguments for 'zrank' command"),
    ("zrevrank", "7.2.0", "ZREVRANK z m WITHSCORE", "-ERR wrong number of arguments for 'zrevrank' command"),
    ("geosearch", "7.0.0", "GEOSEARCH g FROMLONLAT 1 1 BYRADIUS 1 KM", UNIT),
    ("geosearchstore", "7.0.0", "GEOSEARCHSTORE d g FROMLONLAT 1 1 BYBOX 1 1 Mi", UNIT),
    ("georadius", "7.0.0", "GEORADIUS g 1 1 1 FT", UNIT),
    ("georadiusbymember", "7.0.0", "GEORADIUSBYMEMBER g m 1 M", UNIT),
    ("xadd", "7.0.0", "XADD s NOMKSTREAM 5-* f v", INVALID_ID),
    ("xgroup|create", "7.0.0", "XGROUP CREATE s g $ MKSTREAM ENTRIESREAD 0", "CREATE XGROUP"),
    ("xgroup|setid", "7.0.0", "XGROUP SETID s g $ ENTRIESREAD 0", "SETID XGROUP"),
    ("xsetid", "7.0.0", "XSETID s 5-0 ENTRIESADDED 5", "-ERR wrong number of arguments for 'xsetid' command"),
    (
        "acl|setuser",
        "7.0.0",
        "ACL SETUSER u off %R~k",
        "-ERR Error in ACL SETUSER modifier '%R~k': Syntax error",
    ),
    ("config|get", "7.0.0", "CONFIG GET save port", "GET CONFIG"),
    ("config|set", "7.0.0", "CONFIG SET save 5 maxmemory 0", "SET CONFIG"),
    ("info", "7.0.0", "INFO cpu modules", "-ERR syntax error"),
    ("shutdown", "7.0.0", "SHUTDOWN ABORT", "-ERR syntax error"),
];

const UNIT: &str = "-ERR unsupported unit provided. please use m, km, ft, mi";
const INVALID_ID: &str = "-ERR Invalid stream ID specified as stream command argument";

/// Releases that changed what a command answers, and nothing that it takes.
const REPLIES: &[(&str, &str)] = &[
    ("acl|getuser", "7.0.0"),
    ("acl|log", "7.2.0"),
    ("client|list", "7.0.0"),
    ("client|list", "7.0.3"),
    ("cluster|slots", "7.0.0"),
    ("command|info", "7.0.0"),
    ("xautoclaim", "7.0.0"),
    ("xinfo|consumers", "7.2.0"),
    ("xinfo|groups", "7.0.0"),
    ("xinfo|stream", "7.0.0"),
    ("xinfo|stream", "7.2.0"),
];

/// The releases since 6.2 that changed a command, as its history and the notes of its synopsis tell.
fn changes(spec: &Spec) -> BTreeSet<&'static str> {
    let mut releases: BTreeSet<&str> = spec.history.iter().map(|(release, _)| *release).collect();
    Syntax::parse(spec.syntax).expect("synopses are well formed").visit(&mut |part| {
        if let Syntax::Token(word) | Syntax::Argument(word) | Syntax::Named(word, _) = part {
            releases.extend(word.since);
        }
    });
    // What no older version has has not changed.
    releases
        .retain(|release| spec.is_in(Version::V7_2) && !Version::V6_2.has(release) && *release != spec.since);
    releases
}

/// What a version answers to a request that is newer: the text, or that of a subcommand before 7.0.
fn refusal(answer: &str) -> String {
    match answer.split_once(' ') {
        Some((word, container)) if !answer.starts_with('-') => format!(
            "-ERR Unknown subcommand or wrong number of arguments for '{word}'. Try {container} HELP."
        ),
        _ => answer.to_owned(),
    }
}

fn client_of(version: Version) -> (impl Drop, Client) {
    let server = ours::builder().compat(version).start().expect("a free port");
    let client = Client::connect(server.addr());
    (server, client)
}

#[test]
fn each_change_of_a_command_is_declared() {
    let mut declared: BTreeSet<(String, &str)> =
        ADDED.iter().map(|(name, release, ..)| ((*name).to_owned(), *release)).collect();
    declared.extend(REPLIES.iter().map(|(name, release)| ((*name).to_owned(), *release)));
    let mut told = BTreeSet::new();
    each(&mut |command| {
        told.extend(changes(command.spec).into_iter().map(|release| (command.name.clone(), release)));
    });
    assert_eq!(declared, told);
}

#[test]
fn older_versions_refuse_newer_options_and_newer_ones_do_not() {
    for version in [&OLDER[..], &[Version::Newest]].concat() {
        let (_server, mut client) = client_of(version);
        for (name, release, request, answer) in ADDED {
            let (answered, refusal) = (client.line(request).to_string(), refusal(answer));
            assert_eq!(answered == refusal, !version.has(release), "{name}, {version:?}: {answered}");
        }
    }
}

#[test]
fn older_versions_do_not_know_newer_commands() {
    for version in OLDER {
        let (_server, mut client) = client_of(version);
        each(&mut |command| {
            let told = client.line(&format!("COMMAND INFO {}", command.name)).to_string();
            assert_eq!(told.contains(command.spec.name), command.spec.is_in(version), "{version:?}: {told}");
            if !command.spec.is_in(version) {
                let (unknown, request) = unknown(version, command);
                let answered = client.line(&request).to_string();
                assert!(unknown.contains(&answered), "{version:?}, {request}: {answered}");
            }
        });
    }
}

/// What a version may answer to a command that it has not, and a request of it.
fn unknown(version: Version, command: &Command) -> (Vec<String>, String) {
    let shown = "x ".repeat(40);
    let name = command.name.replace('|', " ");
    let request = format!("{name} {}", shown.trim_end());
    let (first, rest) = request.split_once(' ').expect("there are arguments");
    let quote = |open: &str, close: &str| {
        let mut quoted = String::new();
        for word in rest.split(' ') {
            if quoted.len() < 128 {
                quoted += &format!("{open}{word}{close}");
            }
        }
        quoted
    };
    let texts = match version {
        Version::V6_2 => [
            format!("-ERR unknown command `{first}`, with args beginning with: {}", quote("`", "`, ")),
            command.name.split_once('|').map_or(String::new(), |(container, word)| {
                let container = container.to_uppercase();
                format!(
                    "-ERR Unknown subcommand or wrong number of arguments for '{word}'. Try {container} HELP."
                )
            }),
        ],
        _ => [
            format!("-ERR unknown command '{first}', with args beginning with: {}", quote("'", "' ")),
            command.name.split_once('|').map_or(String::new(), |(container, word)| {
                format!("-ERR unknown subcommand '{word}'. Try {} HELP.", container.to_uppercase())
            }),
        ],
    };
    (texts.to_vec(), request)
}
