//! Users and their rules, compared with redis-server: the syntax of rules, refusals, and random rules.

use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::{Client, Protocol};
use lockwheel_tests::differences;
use lockwheel_tests::differential::{Commands, Subject, rounds, seed};
use lockwheel_tests::family::{compare_lines, same_on};
use lockwheel_tests::generate::Generator;
use lockwheel_tests::ours;
use lockwheel_tests::pair::{Pair, Verdict};
use lockwheel_tests::program::{self, Process};
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use lockwheel_tests::rng::Rng;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

const RULES: &str = r##"
    ACL LIST
    ACL GETUSER default
    ACL SETUSER a
    ACL SETUSER b +@all -@string +get
    ACL SETUSER c +get +set -@string +@read
    ACL SETUSER d -@all +config|get +config
    ACL SETUSER e +select|0 +select|1
    ACL SETUSER f +@all -client|kill -client +client|id
    ACL SETUSER g +@read -@read +get ~a* ~*
    ACL SETUSER g ~*
    ACL SETUSER g allkeys resetkeys %R~x %W~x ~y
    ACL SETUSER h on nopass >a #ab
    ACL SETUSER h on nopass >a >b <a
    ACL SETUSER h !3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d
    ACL SETUSER h #3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d
    ACL SETUSER h on nopass
    ACL SETUSER h &a &*
    ACL SETUSER h allchannels &a
    ACL SETUSER h resetchannels &a &b (+get ~x) (~y &z)
    ACL SETUSER h sanitize-payload skip-sanitize-payload
    ACL LIST
    ACL GETUSER h
    ACL GETUSER g
    ACL SETUSER i +foo
    ACL SETUSER i +@foo
    ACL SETUSER i foo
    ACL SETUSER i (
    ACL SETUSER i (+get
    ACL SETUSER i <nope
    ACL SETUSER i !12
    ACL SETUSER i %X~a
    ACL SETUSER i %R
    ACL SETUSER i %
    ACL SETUSER i %~x
    ACL SETUSER i %RR~x
    ACL SETUSER i "a b"
    ACL SETUSER i "~a b"
    ACL SETUSER i "&a b"
    ACL SETUSER "a b" on
    ACL SETUSER "" on
    ACL SETUSER
    ACL SETUSER j sanitize-payload
    ACL SETUSER j skip-sanitize-payload reset
    ACL SETUSER k "(+get \"~a b\")"
    ACL SETUSER k "(+get \"~a)"
    ACL SETUSER k "(%R~x" "+get)"
    ACL SETUSER k ((+get))
    ACL SETUSER k clearselectors ()
    ACL SETUSER k +config|get|x
    ACL SETUSER k +get|
    ACL SETUSER k +config|
    ACL SETUSER k +config|x
    ACL SETUSER k -get|x
    ACL SETUSER k +|
    ACL SETUSER k +
    ACL SETUSER k ~* ~x
    ACL SETUSER k ""
    ACL SETUSER k ON +GET|Foo +@READ
    ACL SETUSER k reset ~* %x
    ACL SETUSER k allkeys %R~y
    ACL SETUSER k allkeys %
    ACL SETUSER k reset (~* %X~y)
    ACL SETUSER k resetkeys %R~* %W~* %~y
    ACL SETUSER k %R
    ACL SETUSER k ( +get (~x +set )
    ACL SETUSER k ( (
    ACL SETUSER k ( ( )
    ACL GETUSER k
    ACL LIST
    ACL USERS
    ACL GETUSER nobody
    ACL DELUSER a b nobody
    ACL DELUSER c default
    ACL DELUSER c c
    ACL CAT foo
    ACL CAT a b
    ACL GENPASS 0
    ACL GENPASS 4097
    ACL GENPASS x
    ACL GENPASS 1 2
    ACL WHOAMI
    ACL LOG
    ACL LOG x
    ACL LOG -1
    ACL LOG RESET x
    ACL LOG RESET
    ACL SAVE
    ACL LOAD
    ACL
    ACL foo
    ACL DRYRUN h set a b
    ACL DRYRUN nobody set a b
    ACL DRYRUN h foo
    ACL DRYRUN h
    ACL DRYRUN h set
    ACL DRYRUN h config
    ACL DRYRUN h config nope
    ACL DRYRUN h config get x
    ACL DRYRUN default set a b
    CONFIG GET acl*
    CONFIG SET acl-pubsub-default allchannels
    ACL SETUSER l
    ACL SETUSER l (+get)
    ACL GETUSER l
    ACL SETUSER l &a
    CONFIG SET acl-pubsub-default resetchannels
    ACL GETUSER l
    ACL SETUSER l reset
    ACL GETUSER l
    ACL DELUSER d e f g h i j k l ""
    ACL LIST
"##;

const REFUSALS: &str = r#"
    ACL SETUSER x on >pw ~k* &c* +@all
    AUTH x bad
    AUTH bad
    AUTH nobody x
    AUTH
    AUTH a b c
    AUTH x pw
    ACL WHOAMI
    GET foo
    GET k
    MGET k1 foo
    PUBLISH foo x
    SPUBLISH foo x
    SUBSCRIBE c foo
    PSUBSCRIBE c
    MULTI
    GET foo
    EXEC
    EVAL "return redis.call('get','foo')" 0
    EVAL "return redis.pcall('get','foo')" 0
    EVAL "return redis.call('publish','foo','x')" 0
    EVAL "return redis.acl_check_cmd('get','foo')" 0
    EVAL "return redis.acl_check_cmd('get','k1')" 0
    EVAL "return {redis.acl_check_cmd('nope')}" 0
    EVAL "return redis.acl_check_cmd('get')" 0
    EVAL "return 1" 1 foo
    SORT k BY x* GET y
    SORT k LIMIT x y BY x*
    SORT k GET #
    SORT k BY nosort
    SORT_RO k GET #
    ACL DRYRUN x sort k by x*
    ACL DRYRUN x publish foo x
    ACL DRYRUN x get foo
    ACL SETUSER x -get
    MULTI
    SET k1 a
    ACL SETUSER x -set
    EXEC
    EVAL "return redis.call('get','k1')" 0
    EVAL "return redis.acl_check_cmd('get','k1')" 0
    ACL SETUSER x nocommands
    ACL LOG
    ACL WHOAMI
    PING
    AUTH default x
    ACL SETUSER y on nopass +@all -ping
    AUTH y anything
    PING
    CLIENT KILL USER nobody
    CLIENT KILL USER x
    RESET
    ACL WHOAMI
    CONFIG SET requirepass pw
    ACL GETUSER default
    AUTH bad
    AUTH pw
    ACL SETUSER default nopass
    AUTH pw
    CONFIG GET requirepass
    CONFIG SET requirepass ""
    CONFIG SET acllog-max-len 0
    ACL LOG RESET
    AUTH x bad
    ACL LOG
    CONFIG SET acllog-max-len 128
    ACL DELUSER x y
    DEL k1
"#;

#[test]
fn acl_rules_are_read_and_shown_as_by_redis() {
    compare_lines(Kind::Redis, RULES);
}

#[test]
fn invalid_acl_rules_get_the_errors_of_redis() {
    compare_lines(Kind::Redis, REFUSALS);
}

#[test]
fn acl_log_names_the_user_the_reason_and_the_context() {
    let field = |entry: &Reply, name: &str| {
        let Reply::Array(words) = entry else { panic!("{entry:?} is no list") };
        let at = words.iter().position(|word| *word == Reply::Bulk(name.into())).expect("it is a field");
        words[at + 1].clone()
    };
    let told = |addr| {
        let (mut admin, mut client) = (Client::connect(addr), Client::connect(addr));
        admin.line("ACL SETUSER u on >pw ~k* &c* +@all -ping");
        for line in [
            "AUTH u bad",
            "AUTH u pw",
            "GET foo",
            "PING",
            "GET foo",
            "PUBLISH p x",
            "MULTI",
            "GET foo",
            "DISCARD",
            "EVAL \"return redis.pcall('get', 'foo')\" 0",
            "EVAL \"return redis.pcall('client', 'list')\" 0",
            "AUTH u worse",
            "AUTH v worse",
        ] {
            client.line(line);
        }
        let Reply::Array(entries) = admin.line("ACL LOG") else { panic!("ACL LOG is a list") };
        let fields = ["count", "reason", "context", "object", "username"];
        entries.iter().map(|entry| fields.map(|name| field(entry, name))).collect::<Vec<_>>()
    };
    let server = ours::server();
    let ours = told(Endpoint::addr(&server));
    assert_eq!(ours.len(), 7);
    if let Some(real) = RealServer::start(Kind::Redis, &[]) {
        assert_eq!(ours, told(real.addr()));
    }
}

#[test]
fn a_subscriber_that_loses_its_channel_permission_is_disconnected() {
    same_on(&[Kind::Redis], |s| {
        for (name, rules, stays) in [
            ("literal", "resetchannels &foo &bar", true),
            ("gone", "resetchannels &bar", false),
            ("all", "allchannels", true),
            ("other", "resetchannels (&fo?)", true),
            ("pattern", "resetchannels &foo*", true),
        ] {
            s.check(&format!("ACL SETUSER {name} on nopass +@all &foo"), "+OK");
            s.on(name).check(&format!("AUTH {name} x"), "+OK");
            s.on(name).run(&format!("CLIENT SETNAME {name}"));
            s.on(name).run("SUBSCRIBE foo");
            s.check(&format!("ACL SETUSER {name} {rules}"), "+OK");
            let is_listed = move |list: &Reply| format!("{list:?}").contains(&format!("name={name} "));
            s.check_that("CLIENT LIST", move |list| is_listed(list) == stays);
        }
    });
}

#[test]
fn clients_of_a_removed_user_are_disconnected() {
    same_on(&[Kind::Redis], |s| {
        s.check("ACL SETUSER u on nopass +@all ~*", "+OK");
        s.on("b").check("AUTH u x", "+OK").run("CLIENT SETNAME removed");
        s.check("ACL DELUSER u", ":1");
        s.check_that("CLIENT LIST", |list| !format!("{list:?}").contains("name=removed "));
        s.check("ACL SETUSER u on nopass", "+OK").check("ACL WHOAMI", "\"default\"");
    });
}

#[test]
fn removing_the_default_password_admits_clients_without_a_login() {
    same_on(&[Kind::Redis], |s| {
        s.on("b").check("PING", "+PONG");
        s.check("ACL SETUSER default >pw", "+OK");
        s.on("b").check("PING", "+PONG").check("RESET", "+RESET");
        s.on("b").check("PING", "-NOAUTH Authentication required.");
        s.check("ACL SETUSER default nopass", "+OK");
        s.on("b").check("PING", "+PONG");
        s.check("ACL SETUSER default off", "+OK");
        s.on("b").check("PING", "-NOAUTH Authentication required.");
        s.check("ACL SETUSER default on", "+OK").check("PING", "+PONG");
    });
}

#[test]
fn a_right_removed_before_a_slow_script_cannot_stop_it() {
    let server = ours::server();
    let connect = || Client::connect(Endpoint::addr(&server));
    let (mut admin, mut other, mut slow) = (connect(), connect(), connect());
    for line in ["CONFIG SET busy-reply-threshold 10", "ACL SETUSER u on nopass +@all ~* &*"] {
        assert!(!admin.line(line).is_error());
    }
    assert_eq!(format!("{:?}", other.line("AUTH u x")), "+OK");
    assert!(!admin.line("ACL SETUSER u -script|kill").is_error());
    slow.send_line("EVAL \"while true do end\" 0");
    while !admin.line("PING").is_error() {}
    assert_eq!(
        format!("{:?}", other.line("SCRIPT KILL")),
        "-NOPERM this user has no permissions to run the 'script|kill' command"
    );
    assert_eq!(format!("{:?}", admin.line("SCRIPT KILL")), "+OK");
    assert!(slow.read_reply().is_error());
}

#[test]
fn lock_and_control_commands_have_their_own_acl_categories() {
    let server = ours::server();
    let mut admin = Client::connect(Endpoint::addr(&server));
    let categories = format!("{:?}", admin.line("ACL CAT"));
    assert!(categories.contains("\"lock\"") && categories.contains("\"control\""), "{categories}");
    let refused = |name: &str| format!("-NOPERM this user has no permissions to run the '{name}' command");
    for (rules, locks, steers, reads) in [
        ("+@lock", true, false, false),
        ("+@control", false, true, false),
        ("+@all -@lock", false, true, true),
        ("+@all -@control", true, false, true),
        ("+@all -@lock -@control", false, false, true),
    ] {
        assert_eq!(format!("{:?}", admin.line(&format!("ACL SETUSER u reset on nopass ~* {rules}"))), "+OK");
        let mut client = Client::connect(Endpoint::addr(&server));
        assert_eq!(format!("{:?}", client.line("AUTH u x")), "+OK");
        for (request, name, may) in [
            ("LOCK.INFO l", "lock.info", locks),
            ("SEM.INFO s", "sem.info", locks),
            ("CLOCK.INFO", "clock.info", steers),
            ("FAULT.LIST", "fault.list", steers),
            ("GET k", "get", reads),
        ] {
            let answer = format!("{:?}", client.line(request));
            assert_eq!(answer != refused(name), may, "{rules}: {request}: {answer}");
        }
    }
}

#[test]
fn users_and_their_acl_log_count_as_memory() {
    let server = ours::server();
    let mut client = Client::connect(Endpoint::addr(&server));
    // The records of latency grow with each new maximum.
    client.line("CONFIG SET latency-tracking no");
    let mut used = |line: &str| {
        assert!(!client.line(line).is_error(), "{line}");
        let Reply::Bulk(info) = client.line("INFO memory") else { panic!("INFO is a text") };
        let info = String::from_utf8(info).expect("it is text");
        let figure = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
        figure.and_then(|figure| figure.parse::<usize>().ok()).expect("it has the figure")
    };
    let before = used("PING");
    let pattern = "k".repeat(100_000);
    assert!(used(&format!("ACL SETUSER u ~{pattern} (&{pattern})")) > before + 200_000);
    assert!(used("ACL DELUSER u") < before + 50_000);
}

/// Words that are rules, or nearly. They know only one single command, because Redis lists several in no fixed order.
const WORDS: &[&str] = &[
    "allkeys",
    "ALLKEYS",
    "resetkeys",
    "~*",
    "~x",
    "~",
    "~a b",
    "%",
    "%*",
    "%~*",
    "%~x",
    "%R",
    "%R*",
    "%R~",
    "%R~x",
    "%R~*",
    "%W~x",
    "%W~*",
    "%RW~x",
    "%wr~x",
    "%RR~x",
    "%Rx~a",
    "%X~a",
    "allkeys%",
    "&*",
    "&",
    "&x",
    "allchannels",
    "resetchannels",
    "(~x)",
    "(%~x)",
    "(%R)",
    "(~* ~x)",
    "(allkeys %R~x)",
    "()",
    "( )",
    "(+get",
    "+get)",
    "((~x))",
    "(",
    ")",
    "(~x) (~y)",
    "(+@all -@all)",
    "clearselectors",
    "+@",
    "-@",
    "+",
    "-",
    "+|",
    "+get|",
    "on",
    "OFF",
    "nopass",
    "reset",
    "#x",
    "<x",
    ">",
    "!x",
    "+@all",
    "-@all",
    "+@foo",
    "+foo|bar",
    "+config|get",
    "-config|get",
    "+config|set|x",
    "-config|x",
    "",
];

#[test]
fn random_rules_are_read_and_shown_as_by_redis() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let server = ours::server();
    let connect = |address| Client::connect_with(address, Protocol::Resp2);
    let (theirs, own) = (connect(real.addr()), connect(Endpoint::addr(&server)));
    let mut pair = Pair::new(theirs, own, differences::against(Kind::Redis));
    let mut rng = Rng::new(seed());
    for _ in 0..400 * rounds() {
        let mut line = vec!["ACL", "SETUSER", "u"];
        // Sets of rights would accumulate.
        line.extend(rng.chance(25).then_some("clearselectors"));
        line.extend((0..=rng.below(4)).map(|_| *rng.pick(WORDS)));
        for line in [&*line, &["ACL", "GETUSER", "u"], &["ACL", "LIST"]] {
            let words: Vec<Vec<u8>> = line.iter().map(|word| word.as_bytes().to_vec()).collect();
            assert_eq!(pair.run(&words), Verdict::Equal);
        }
        if rng.below(10) == 0 {
            pair.check("ACL DELUSER u");
        }
    }
}

/// Requests on which every user is judged.
const REQUESTS: usize = 25;
/// Users.
const USERS: usize = 160;

/// A random rule, of commands that both servers have.
fn rule(rng: &mut Rng, subjects: &[&Subject], categories: &[String]) -> String {
    const PATTERNS: &[&str] = &["*", "?", "k*", "*1", "[a-m]*", "str*", "list1", "", "h\\?*"];
    let sign = *rng.pick(&["+", "-", "+"]);
    match rng.below(10) {
        0..=2 => format!("{sign}@{}", rng.pick(categories)),
        3..=4 => format!("{sign}{}", rng.pick(subjects).name()),
        5 => format!("~{}", rng.pick(PATTERNS)),
        6 => format!("%{}~{}", rng.pick(&["R", "W", "rw"]), rng.pick(PATTERNS)),
        7 => format!("&{}", rng.pick(PATTERNS)),
        8 => format!(
            "+{}|{}",
            rng.pick(&["select", "get", "config", "object"]),
            rng.pick(&["0", "get", "help"])
        ),
        _ => rng.pick(&["allkeys", "resetkeys", "resetchannels", "allchannels", "nocommands"]).to_string(),
    }
}

/// The random rules of a user.
fn rules(rng: &mut Rng, subjects: &[&Subject], categories: &[String]) -> Vec<Vec<u8>> {
    let mut words = vec![b"reset".to_vec()];
    for _ in 0..rng.below(9) {
        words.push(rule(rng, subjects, categories).into_bytes());
    }
    for _ in 0..rng.below(3) {
        let inner: Vec<String> = (0..rng.below(5)).map(|_| rule(rng, subjects, categories)).collect();
        words.push(format!("({})", inner.join(" ")).into_bytes());
    }
    words
}

/// The arity and the categories of a command in COMMAND INFO.
fn arity_and_categories(info: Reply) -> Option<(Reply, BTreeSet<String>)> {
    let Reply::Array(mut infos) = info else { panic!("{info:?} is no list") };
    let Some(Reply::Array(mut info)) = infos.pop() else { return None };
    let Reply::Array(categories) = info.swap_remove(6) else { panic!("categories are a list") };
    let categories = categories.iter().map(|category| format!("{category:?}"));
    Some((info.swap_remove(1), categories.collect()))
}

#[test]
fn acl_categories_list_the_commands_of_redis() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let server = ours::server();
    let (mut theirs, mut own) = (Client::connect(real.addr()), Client::connect(Endpoint::addr(&server)));
    let names = |client: &mut Client, line: &str| -> BTreeSet<String> {
        let Reply::Array(names) = client.line(line) else { panic!("{line}: a list") };
        names.iter().map(|name| name.to_string().trim_matches('"').to_owned()).collect()
    };
    let known = &names(&mut theirs, "COMMAND LIST") & &names(&mut own, "COMMAND LIST");
    for category in names(&mut theirs, "ACL CAT") {
        let line = format!("ACL CAT {category}");
        let [listed_there, listed] = [&mut theirs, &mut own].map(|client| &names(client, &line) & &known);
        // WAIT blocks since 7.2.
        let more: Vec<&String> =
            listed.symmetric_difference(&listed_there).filter(|name| *name != "wait").collect();
        assert!(more.is_empty(), "{category}: {more:?}");
    }
}

#[test]
fn random_users_may_make_the_same_random_requests_as_on_redis() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let server = ours::server();
    let connect = |address| Client::connect_with(address, Protocol::Resp2);
    let mut theirs = connect(real.addr());
    let Reply::Array(names) = theirs.line("ACL CAT") else { panic!("categories are a list") };
    let mut categories: Vec<String> = names.iter().map(|name| format!("{name:?}").replace('"', "")).collect();
    categories.push("all".to_owned());
    let mut own = connect(Endpoint::addr(&server));
    // Commands with the same arity and categories on both servers.
    let mut is_the_same = |subject: &&Subject| {
        let line = format!("COMMAND INFO {}", subject.name());
        arity_and_categories(theirs.line(&line))
            .is_some_and(|told_there| arity_and_categories(own.line(&line)) == Some(told_there))
    };
    let commands = Commands::all();
    let subjects: Vec<&Subject> = commands.iter().filter(|subject| is_the_same(subject)).collect();
    assert!(subjects.len() > 300, "only {}", subjects.len());
    let mut pair = Pair::new(theirs, connect(Endpoint::addr(&server)), differences::against(Kind::Redis));
    let mut generator = Generator::new(seed());
    let mut allowed = 0;
    for _ in 0..USERS * rounds() {
        let words = rules(generator.rng(), &subjects, &categories);
        let (mut set, mut made) = (true, vec![b"ACL".to_vec(), b"SETUSER".to_vec(), b"u".to_vec()]);
        for word in words {
            made.truncate(3);
            made.push(word);
            set &= pair.run(&made) == Verdict::Equal;
        }
        assert!(set, "a rule of these is read otherwise");
        for _ in 0..REQUESTS {
            let subject = *generator.rng().pick(&subjects);
            let command = &subject.command;
            let request = generator.command(subject.name(), command.spec.group, &subject.syntax).arguments;
            let mut arguments = vec![b"ACL".to_vec(), b"DRYRUN".to_vec(), b"u".to_vec()];
            arguments.extend(request);
            if let Verdict::Mismatch(text) = pair.run(&arguments) {
                let user = pair.clients().0.line("ACL GETUSER u");
                panic!("seed {}: {text}\nof the user {user:?}", seed());
            }
            allowed += usize::from(pair.last()[1].reply == Reply::Status(b"OK".to_vec()));
        }
    }
    let asked = USERS * rounds() * REQUESTS;
    assert!(allowed > asked / 20 && allowed < asked - asked / 20, "{allowed} of {asked} say little");
}

/// A test's directory with a file of users.
fn directory(name: &str, users: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("lockwheel-users-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("it can be made");
    std::fs::write(directory.join("users.acl"), users).expect("it can be written");
    directory
}

#[test]
fn users_are_read_from_and_written_to_their_file() {
    let users = "user alice on +@all ~* &* >alice\n\n  user bob on (+get ~b*) nopass\n";
    let directory = directory("kept", users);
    let options = ["--dir", directory.to_str().expect("it is text"), "--aclfile", "users.acl"];
    let server = Process::start(&options);
    let mut client = Client::connect(server.addr());
    let text = |reply: Reply| format!("{reply:?}");
    assert_eq!(text(client.line("AUTH alice alice")), "+OK");
    assert_eq!(text(client.line("ACL SETUSER eve on nopass +ping")), "+OK");
    assert_eq!(text(client.line("ACL SAVE")), "+OK");
    let written = std::fs::read_to_string(directory.join("users.acl")).expect("it is there");
    assert_eq!(written.lines().count(), 4, "{written}");
    assert!(written.contains("user eve on nopass resetchannels -@all +ping\n"), "{written}");
    std::fs::write(directory.join("users.acl"), format!("{written}user eve on\nuser\n"))
        .expect("it is written");
    assert_eq!(
        text(client.line("ACL LOAD")),
        "-ERR WARNING: Duplicate user 'eve' found on line 5. users.acl:6 should start with user keyword followed by \
         the username. WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
    );
    assert_eq!(text(client.line("ACL WHOAMI")), "\"alice\"");
    std::fs::write(directory.join("users.acl"), written).expect("it can be written");
    client.send_line("ACL LOAD");
    assert_eq!(
        client.read_to_close(),
        b"+OK\r\n",
        "the clients of users that were read anew are disconnected"
    );
    let mut client = Client::connect(server.addr());
    assert_eq!(text(client.line("AUTH bob x")), "+OK");
    assert_eq!(text(client.line("GET b1")), "(nil)");
    drop(server);
    std::fs::remove_dir_all(directory).expect("it can be removed");
}

/// Files of users, most of them wrong.
const FILES: &[&str] = &[
    "",
    "\n\n \t\r\n",
    "# a comment\nuser a on\n",
    "user a foo\n",
    "user a on foo bar\nuser b baz\n",
    "user a\nuser b\nuser a on\n",
    "a on\n",
    "user\n",
    "user  \n",
    "USER a on\n",
    " \tuser a on\t \n\nuser b on\r\n",
    "user  a on\n",
    "user a  on   nopass\n",
    "user a on\tnopass\n",
    "user a on nopass\t +get\n",
    "user a\tb on\n",
    "user a +foo baz +@bar ~* ~x\n",
    "user a #12\n",
    "user a <x\nuser b !x\n",
    "user a (+get\n",
    "user a (+get ~x) )\n",
    "user a (+get (~x +set)\n",
    "user a ( +get ~x )\n",
    "user a (+foo)\n",
    "user a (+get \"~x\")\n",
    "user a \"+get\"\n",
    "user a \"+get\n",
    "user a ''\n",
    "user \"a\" on\n",
    "user \"a b\" on\n",
    "user a \"\\x2bget\"\n",
    "user a %~x\n",
    "user a %R\n",
    "user a allkeys %x\n",
    "user a &* &x\n",
    "user a +config|foo\nuser b +get|x|y\nuser c -select|1\n",
    "user a on\nuser b foo\nuser a\nc\nuser\n",
    "user a on",
];

#[test]
fn users_files_are_read_whole_or_refused_with_redis_errors() {
    let kept = "user kept on nopass +get ~k*\n";
    let directory = directory("beside", kept);
    let file = directory.join("users.acl");
    let options = ["--aclfile", file.to_str().expect("it is text")];
    let Some(real) = RealServer::start(Kind::Redis, &options) else { return };
    let ours = Process::start(&options);
    let mut clients = [real.addr(), ours.addr()].map(Client::connect);
    let mut same = |line: &str, text: &str| {
        let [real, ours] = clients.each_mut().map(|client| client.line(line));
        assert_eq!(ours, real, "{line}: {text:?}");
        ours
    };
    for text in FILES {
        std::fs::write(&file, kept).expect("it can be written");
        assert!(!same("ACL LOAD", kept).is_error());
        let before = same("ACL LIST", kept);
        std::fs::write(&file, text).expect("it can be written");
        let is_refused = same("ACL LOAD", text).is_error();
        assert_eq!(same("ACL LIST", text) == before, is_refused, "{text:?}");
    }
    std::fs::remove_dir_all(directory).expect("it can be removed");
}

#[test]
fn an_invalid_users_file_ends_the_start_with_its_lines() {
    let directory = directory("wrong", "user a +nope ~* ~x &* &y\nuser b \"x\n");
    let run = |options: &[&str]| {
        let mut command = Command::new(program::path());
        command.args(["--port", "0", "--dir"]).arg(&directory).args(options);
        let output = command.output().expect("it starts");
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
    };
    let said = run(&["--aclfile", "users.acl"]);
    assert!(
        said.contains(
            "Aborting Redis startup because of ACL errors: users.acl:1: Error in applying operation '+nope': Unknown \
             command or category name in ACL. users.acl:1: Adding a pattern after the * pattern"
        ) && said.contains("users.acl:2: Syntax error. WARNING: ACL errors detected"),
        "{said}"
    );
    let said = run(&["--aclfile", "none.acl"]);
    assert!(said.contains("opening file 'none.acl': No such file or directory"), "{said}");
    let said = run(&["--aclfile", "users.acl", "--user", "a", "on"]);
    assert!(said.contains("at the same setting an ACL file path is invalid"), "{said}");
    std::fs::remove_dir_all(&directory).expect("it can be removed");
}

#[test]
fn configured_users_exist_from_the_start_and_after_a_reset() {
    let server = Process::start(&[
        "--user", "worker", "on", ">pw", "+@lock", "~job:*", "--user", "default", "on", "nopass", "~*",
        "+@all",
    ]);
    let mut client = Client::connect(server.addr());
    let text = |reply: Reply| format!("{reply:?}");
    assert_eq!(
        text(client.line("SUBSCRIBE c")),
        "-NOPERM this user has no permissions to access one of the channels used as arguments"
    );
    assert_eq!(text(client.line("ACL DELUSER worker")), ":1");
    assert_eq!(text(client.line("CONTROL.RESET")), "+OK");
    let mut worker = Client::connect(server.addr());
    assert_eq!(text(worker.line("AUTH worker pw")), "+OK");
    assert!(!worker.line("LOCK.ACQUIRE job:1 me").is_error());
    assert_eq!(
        text(worker.line("LOCK.ACQUIRE other me")),
        "-NOPERM this user has no permissions to access one of the keys used as arguments"
    );
    assert_eq!(
        text(worker.line("GET job:1")),
        "-NOPERM this user has no permissions to run the 'get' command"
    );
}

/// A renamed command counts as unknown: neither of its names is listed.
#[test]
fn a_renamed_command_is_no_nearest_name() {
    let process = Process::start(&["--rename-command", "fault.down", "fault.downs"]);
    let mut client = Client::connect(process.addr());
    for name in ["FAULT.DOWN", "FAULT.DWON"] {
        let expected = format!("-ERR unknown command '{name}', with args beginning with: ");
        assert_eq!(client.line(name).to_string(), expected);
    }
    let answer = client.line("AWAIT.CALLS fault.down 1").to_string();
    assert_eq!(answer, "-ERR unknown command 'fault.down'. Did you mean 'fault.del'?");
}
