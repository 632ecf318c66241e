//! FUNCTION LOAD, DELETE, FLUSH, LIST and STATS.

use lockwheel::Server;
use lockwheel_tests::check::Scenario;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours::{scenario, server};

/// Loads a library with functions that return their own names.
pub(crate) fn load(scenario: &mut Scenario<Server>, name: &str, functions: &[&str]) {
    let line = format!("FUNCTION LOAD \"{}\"", code(name, functions));
    scenario.check(&line, &format!("\"{name}\""));
}

/// The text of such a library, as it stands in a line.
pub(crate) fn code(name: &str, functions: &[&str]) -> String {
    let register = |function: &&str| {
        format!("redis.register_function('{function}', function() return '{function}' end) ")
    };
    format!("#!lua name={name}\\n{}", functions.iter().map(register).collect::<String>())
}

#[test]
fn a_library_is_loaded_called_listed_and_deleted() {
    let mut s = scenario();
    load(&mut s, "mylib", &["f1", "f2"]);
    s.check("FCALL f1 0", "\"f1\"").check("FCALL F2 0", "\"f2\"");
    s.check3(
        "FUNCTION LIST",
        "[[\"library_name\", \"mylib\", \"engine\", \"LUA\", \"functions\", \
         [[\"name\", \"f1\", \"description\", (nil), \"flags\", []], \
         [\"name\", \"f2\", \"description\", (nil), \"flags\", []]]]]",
        "[{\"library_name\": \"mylib\", \"engine\": \"LUA\", \"functions\": \
         [{\"name\": \"f1\", \"description\": (nil), \"flags\": ~[]}, \
         {\"name\": \"f2\", \"description\": (nil), \"flags\": ~[]}]}]",
    );
    s.check("FUNCTION DELETE mylib", "+OK");
    s.check("FCALL f1 0", "-ERR Function not found").check("FUNCTION LIST", "[]");
    s.check("FUNCTION DELETE mylib", "-ERR Library not found");
}

#[test]
fn function_list_filters_by_pattern_and_shows_code_on_request() {
    let mut s = scenario();
    load(&mut s, "Apples", &["a"]);
    load(&mut s, "pears", &["p"]);
    let of = |name: &str, function: &str, more: &str| {
        format!(
            "[\"library_name\", \"{name}\", \"engine\", \"LUA\", \"functions\", \
             [[\"name\", \"{function}\", \"description\", (nil), \"flags\", []]]{more}]"
        )
    };
    let (apples, pears) = (of("Apples", "a", ""), of("pears", "p", ""));
    let whole = of("Apples", "a", &format!(", \"library_code\", \"{}\"", code("Apples", &["a"])));
    let mut client = Client::connect(s.servers()[0].addr());
    for (line, expected) in [
        ("FUNCTION LIST", format!("[{apples}, {pears}]")),
        ("function list libraryname *P*", format!("[{apples}, {pears}]")),
        ("FUNCTION LIST LIBRARYNAME aPP*", format!("[{apples}]")),
        ("FUNCTION LIST LIBRARYNAME WITHCODE", "[]".to_owned()),
        ("FUNCTION LIST WITHCODE LIBRARYNAME a*", format!("[{whole}]")),
        ("FUNCTION LIST LIBRARYNAME a* withcode", format!("[{whole}]")),
    ] {
        assert_eq!(client.line(line).to_string(), expected, "{line}");
    }
    s.check("FUNCTION LIST LIBRARYNAME", "-ERR library name argument was not given");
    s.check("FUNCTION LIST WITHCODE WITHCODE", "-ERR Unknown argument WITHCODE");
    s.check("FUNCTION LIST LIBRARYNAME a LIBRARYNAME b", "-ERR Unknown argument LIBRARYNAME");
    s.check("FUNCTION LIST \"a\\n\"", "-ERR Unknown argument a ");
    s.check("FUNCTION LIST \"\\r\\n\"", "-ERR Unknown argument   ");
    s.check("FUNCTION LIST \"a\\r\\nb\\x00c\"", "-ERR Unknown argument a  b");
}

/// CVE-2024-31228: a pattern of many stars takes no stack and no time.
#[test]
fn cve_2024_31228_a_pattern_of_many_stars_matches_nothing() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let line = format!("#!lua name={}\nredis.register_function('f', function() end)", "a".repeat(100_000));
    assert!(!client.cmd(&["FUNCTION", "LOAD", &line]).is_error());
    let reply = client.cmd(&["FUNCTION", "LIST", "LIBRARYNAME", &"*?".repeat(50_000)]);
    assert_eq!(reply.to_string(), "[]");
}

#[test]
fn a_registration_is_listed_with_flags_and_description() {
    let mut s = scenario();
    s.check(
        "FUNCTION LOAD \"#!lua name=l\\nredis.register_function{function_name='f', callback=function() end, \
         description='does\\\\0 it', flags={'allow-cross-slot-keys', 'No-Writes', 'no-cluster', 'allow-oom', \
         'allow-stale'}}\"",
        "\"l\"",
    );
    s.check3(
        "FUNCTION LIST",
        "[[\"library_name\", \"l\", \"engine\", \"LUA\", \"functions\", [[\"name\", \"f\", \"description\", \
         \"does\\x00 it\", \"flags\", [+no-writes, +allow-oom, +allow-stale, +no-cluster, +allow-cross-slot-keys]]]]]",
        "[{\"library_name\": \"l\", \"engine\": \"LUA\", \"functions\": [{\"name\": \"f\", \"description\": \
         \"does\\x00 it\", \"flags\": ~[+no-writes, +allow-oom, +allow-stale, +no-cluster, +allow-cross-slot-keys]}]}]",
    );
}

#[test]
fn function_load_replace_replaces_a_library_entirely_or_not_at_all() {
    let mut s = scenario();
    load(&mut s, "a", &["f", "g"]);
    load(&mut s, "b", &["h"]);
    let replace = |code: &str| format!("FUNCTION LOAD REPLACE \"{code}\"");
    s.check(&format!("FUNCTION LOAD \"{}\"", code("a", &["x"])), "-ERR Library 'a' already exists");
    s.check(&replace(&code("a", &["x", "H"])), "-ERR Function H already exists");
    s.check(&replace(&code("a", &[])), "-ERR No functions registered");
    s.check(
        &replace("#!lua name=a\\nredis.register_function('x', function() end) x()"),
        "-ERR Error registering functions: ERR user_function:2: Script attempted to access nonexistent global \
         variable 'x'",
    );
    s.check(
        &replace("#!lua name=a\\nx="),
        "-ERR Error compiling function: user_function:2: unexpected symbol near '<eof>'",
    );
    s.check("FCALL f 0", "\"f\"").check("FCALL g 0", "\"g\"").check("FCALL x 0", "-ERR Function not found");
    s.check(&replace(&code("a", &["g", "x"])), "\"a\"");
    s.check("FCALL f 0", "-ERR Function not found").check("FCALL g 0", "\"g\"").check("FCALL x 0", "\"x\"");
    s.check("FCALL h 0", "\"h\"");
}

#[test]
fn function_load_reports_errors_as_redis_does() {
    let mut s = scenario();
    load(&mut s, "a", &["f"]);
    for (line, error) in [
        ("FUNCTION LOAD \"\"", "Missing library metadata"),
        ("FUNCTION LOAD REPLACE", "Missing library metadata"),
        ("FUNCTION LOAD \"#!lua name=x\"", "Invalid library metadata"),
        ("FUNCTION LOAD \"#!x\\n\"", "Library name was not given"),
        (
            "FUNCTION LOAD \"#!x name=a.b\\n\"",
            "Library names can only contain letters, numbers, or underscores(_) and must be at least one character \
             long",
        ),
        ("FUNCTION LOAD \"#!x name=a\\n\"", "Engine 'x' not found"),
        ("FUNCTION LOAD \"#!LUA name=a\\nx=\"", "Library 'a' already exists"),
        (
            "FUNCTION LOAD \"#!lua name=b\\nredis.register_function('F', function() end)\"",
            "Function F already exists",
        ),
        ("FUNCTION LOAD x \"#!lua name=b\\n\"", "Unknown option given: x"),
        ("FUNCTION LOAD \"x\\r\\ny\\x00z\" \"#!lua name=b\\n\"", "Unknown option given: x  y"),
    ] {
        s.check(line, &format!("-ERR {error}"));
    }
    s.check("FUNCTION LOAD", "-ERR wrong number of arguments for 'function|load' command");
    s.check(
        "FUNCTION LOAD REPLACE replace \"#!lua name=a\\nredis.register_function('f', redis.log)\"",
        "\"a\"",
    );
}

/// CVE-2025-67733: a line end in an error of the first line must not end the reply.
#[test]
fn cve_2025_67733_line_ends_in_the_first_line_do_not_break_the_protocol() {
    let mut s = scenario();
    s.check(
        "FUNCTION LOAD \"#!lua \\\"a\\\\r\\\\n+b\\\" name=x\\n\"",
        "-ERR Invalid metadata value given: a  +b",
    );
    s.check("FUNCTION LOAD \"#!\\\"x\\\\r\\\\n\\\" name=x\\n\"", "-ERR Engine 'x  ' not found");
    s.check(
        "EVAL \"#!lua \\\"flags=a\\\\r\\\\n+b\\\"\\nreturn 1\" 0",
        "-ERR Unexpected flag in script shebang: a  +b",
    );
    s.check("EVAL \"#!lua \\\"x\\\\r\\\\n+b\\\"\\nreturn 1\" 0", "-ERR Unknown lua shebang option: x  +b");
    s.check("PING", "+PONG");
}

#[test]
fn functions_scripts_and_keys_are_flushed_separately() {
    let mut s = scenario();
    load(&mut s, "a", &["f"]);
    s.check("SCRIPT LOAD \"return 1\"", "\"e0e1f9fabfc9d4800c877a703b823ac0578ff8db\"");
    for line in ["FLUSHALL", "FLUSHDB", "SCRIPT FLUSH"] {
        s.check(line, "+OK").check("FCALL f 0", "\"f\"");
    }
    s.check("SCRIPT LOAD \"return 1\"", "\"e0e1f9fabfc9d4800c877a703b823ac0578ff8db\"");
    for line in ["FUNCTION FLUSH", "FUNCTION FLUSH async", "FUNCTION FLUSH SYNC"] {
        load(&mut s, "b", &["g"]);
        s.check(line, "+OK").check("FCALL g 0", "-ERR Function not found").check("FUNCTION LIST", "[]");
    }
    s.check("EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0", ":1");
    s.check("FUNCTION FLUSH x", "-ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
    let help = "-ERR unknown subcommand or wrong number of arguments for 'flush'. Try FUNCTION HELP.";
    s.check("FUNCTION flush SYNC x", help);
}

#[test]
fn a_library_of_two_names_that_differ_in_case_can_be_deleted() {
    let mut s = scenario();
    load(&mut s, "a", &["f", "F"]);
    s.check("FCALL f 0", "\"F\"")
        .check("FUNCTION DELETE a", "+OK")
        .check("FCALL F 0", "-ERR Function not found");
    load(&mut s, "b", &["f"]);
    s.check("FCALL F 0", "\"f\"");
}

#[test]
fn stats_and_info_count_libraries_and_functions() {
    let mut s = scenario();
    let stats = |libraries: usize, functions: usize| {
        (
            format!(
                "[\"running_script\", (nil), \"engines\", [\"LUA\", [\"libraries_count\", :{libraries}, \
                 \"functions_count\", :{functions}]]]"
            ),
            format!(
                "{{\"running_script\": (nil), \"engines\": {{\"LUA\": {{\"libraries_count\": :{libraries}, \
                 \"functions_count\": :{functions}}}}}}}"
            ),
        )
    };
    for (libraries, functions) in [(0, 0), (1, 2), (2, 3), (1, 1)] {
        match libraries {
            1 if functions == 2 => load(&mut s, "a", &["f", "g"]),
            2 => load(&mut s, "b", &["h"]),
            1 => drop(s.check("FUNCTION DELETE a", "+OK")),
            _ => {}
        }
        let (resp2, resp3) = stats(libraries, functions);
        s.check3("FUNCTION STATS", &resp2, &resp3);
        s.check_that("INFO memory", |text| {
            let text = text.to_string();
            text.contains(&format!(
                "number_of_functions:{functions}\\r\\nnumber_of_libraries:{libraries}\\r\\n"
            ))
        });
    }
}

#[test]
fn the_memory_of_libraries_is_counted_and_released() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let used = |client: &mut Client, name: &str| {
        let text = client.line("INFO memory").to_string();
        let value = text
            .split("\\r\\n")
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.parse::<usize>().ok());
        value.unwrap_or_else(|| panic!("no number {name} in {text}"))
    };
    // The records of latency grow with each new command.
    client.line("CONFIG SET latency-tracking no");
    let start = used(&mut client, "used_memory");
    let register = "redis.register_function('f', function() return 1 end)";
    let code = format!("#!lua name=large\n{register} -- {}", "x".repeat(1_000_000));
    assert_eq!(client.cmd(&["FUNCTION", "LOAD", &code]).to_string(), "\"large\"");
    assert!(used(&mut client, "used_memory") - start > 1_000_000);
    assert!((1_000_000..1_100_000).contains(&used(&mut client, "used_memory_functions")));
    assert!(used(&mut client, "used_memory_vm_functions") > 10_000);
    client.line("FUNCTION FLUSH");
    assert_eq!(used(&mut client, "used_memory_functions"), 0);
    assert_eq!(used(&mut client, "used_memory_vm_functions"), 0);
    assert!(used(&mut client, "used_memory") < start + 10_000);
}

#[test]
fn loading_many_libraries_ends_after_half_a_second() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let endless = "#!lua name=a\nwhile true do end";
    let timeout = "-ERR Error registering functions: ERR FUNCTION LOAD timeout";
    assert_eq!(client.cmd(&["FUNCTION", "LOAD", endless]).to_string(), timeout);
    assert_eq!(client.line("FUNCTION LIST").to_string(), "[]");
    assert_eq!(client.line("PING").to_string(), "+PONG");
}
