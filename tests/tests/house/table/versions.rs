//! An older version has the commands and the options of its time, and refuses all later ones as its server did.

use crate::table::each;
use lockwheel_engine::spec::syntax::Syntax;
use lockwheel_engine::spec::{Command, Spec, Version};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use std::collections::BTreeSet;

const OLDER: [Version; 3] = [Version::V6_2, Version::V7_0, Version::V7_2];

/// An addition of a release to a command: a request that only newer versions accept, and the answer of older ones.
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

/// Releases that changed a command's answer, but not its requests.
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

/// The releases since 6.2 that changed a command, according to its history and the notes of its synopsis.
fn changes(spec: &Spec) -> BTreeSet<&'static str> {
    let mut releases: BTreeSet<&str> = spec.history.iter().map(|(release, _)| *release).collect();
    Syntax::parse(spec.syntax).expect("synopses are well formed").visit(&mut |part| {
        if let Syntax::Token(word) | Syntax::Argument(word) | Syntax::Named(word, _) = part {
            releases.extend(word.since);
        }
    });
    // A command that no older version has cannot have changed.
    releases
        .retain(|release| spec.is_in(Version::V7_2) && !Version::V6_2.has(release) && *release != spec.since);
    releases
}

/// A version's answer to a newer request: the text, or that of a subcommand before 7.0.
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
fn new_users_may_use_all_channels_before_7_0() {
    for version in [&OLDER[..], &[Version::Newest]].concat() {
        let (_server, mut client) = client_of(version);
        assert_eq!(client.line("ACL SETUSER u on nopass ~* +@all").to_string(), "+OK");
        let told = client.line("ACL LIST").to_string();
        assert_eq!(
            told.contains("user u on nopass ~* &* +@all"),
            version == Version::V6_2,
            "{version:?}: {told}"
        );
    }
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
            let has_entry = version != Version::V6_2 || !command.name.contains('|');
            let is_told = command.spec.is_in(version) && has_entry;
            assert_eq!(told.contains(command.spec.name), is_told, "{version:?}: {told}");
            if !command.spec.is_in(version) {
                let (unknown, request) = unknown(version, command);
                let answered = client.line(&request).to_string();
                assert!(unknown.contains(&answered), "{version:?}, {request}: {answered}");
            }
        });
    }
}

/// The entries that clients of 6.2 parse: seven fields, no entries of subcommands, and nothing without a name.
#[test]
fn before_7_an_entry_ends_with_its_categories() {
    let (_server, mut client) = client_of(Version::V6_2);
    let get = "[[\"get\", :2, [+readonly, +fast], :1, :1, :1, [+@read, +@string, +@fast]]]";
    assert_eq!(client.line("COMMAND INFO get").to_string(), get);
    let blpop = client.line("COMMAND INFO blpop").to_string();
    assert!(blpop.contains("[+write], :1, :-2, :1, ["), "{blpop}");
    assert_eq!(client.line("COMMAND INFO config|get nosuch").to_string(), "[(nil), (nil)]");
    assert_eq!(client.line("COMMAND INFO").to_string(), "[]");
    let entries = client.line("COMMAND").into_elements().expect("a list");
    assert!(entries.len() > 200);
    assert!(entries.into_iter().all(|entry| entry.into_elements().is_some_and(|fields| fields.len() == 7)));
}

/// The error format of 6.2: the digest, the place twice, no error code of the script's own.
#[test]
fn before_7_errors_of_scripts_begin_with_their_place() {
    let (_server, mut client) = client_of(Version::V6_2);
    client.line("SET s x");
    for (script, place, text) in [
        ("return redis.call('nosuch')", 1, "@user_script: 1: Unknown Redis command called from Lua script"),
        (
            "return redis.call('function', 'list')",
            1,
            "@user_script: 1: Unknown Redis command called from Lua script",
        ),
        (
            "return redis.call('get')",
            1,
            "@user_script: 1: Wrong number of args calling Redis command From Lua script",
        ),
        (
            "\nreturn redis.call('subscribe', 'c')",
            2,
            "@user_script: 2: This Redis command is not allowed from scripts",
        ),
        ("return redis.call()", 1, "@user_script: 1: Please specify at least one argument for redis.call()"),
        (
            "return redis.call({})",
            1,
            "@user_script: 1: Lua redis() command arguments must be strings or integers",
        ),
        ("\n\nreturn redis.call('incr', 's')", 3, "ERR value is not an integer or out of range"),
        (
            "return redis.call('hget', 's', 'f')",
            1,
            "WRONGTYPE Operation against a key holding the wrong kind of value",
        ),
        ("error('boom')", 1, "user_script:1: boom"),
        ("return x", 1, "user_script:1: Script attempted to access nonexistent global variable 'x'"),
    ] {
        let digest = sha1_smol::Sha1::from(script).digest().to_string();
        let told = format!("-ERR Error running script (call to f_{digest}): @user_script:{place}: {text}");
        assert_eq!(client.cmd(&["EVAL", script, "0"]).to_string(), told, "{script}");
    }
    for (script, answer) in [
        ("return redis.pcall('nosuch')", "-@user_script: 1: Unknown Redis command called from Lua script"),
        ("return redis.pcall('incr', 's')", "-ERR value is not an integer or out of range"),
        ("return redis.pcall('incr', 's').err", "\"ERR value is not an integer or out of range\""),
        ("return redis.error_reply('My Err')", "-My Err"),
        ("return redis.error_reply('one')", "-one"),
        (
            "return (",
            "-ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
        ),
    ] {
        assert_eq!(client.cmd(&["EVAL", script, "0"]).to_string(), answer, "{script}");
    }
    client.line("CONFIG SET maxmemory 1");
    let short = client.cmd(&["EVAL", "return redis.call('set', 'k', 'v')", "0"]).to_string();
    assert!(
        short.ends_with("1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'."),
        "{short}"
    );
}

/// The allowed answers of a version to a missing command, and a request of it.
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
