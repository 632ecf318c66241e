//! Scripts that have broken a server, each with its name: the answer is an error or a value, and the connection
//! continues.

use lockwheel_tests::client::{Client, encode};
use lockwheel_tests::ours::server;
use lockwheel_tests::reply::Reply;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Runs scripts on one connection. Each must give this answer, up to a `*` at the end.
#[track_caller]
fn check(scripts: &[(&str, &str)]) {
    let server = server();
    let mut client = Client::connect(server.addr());
    for (script, expected) in scripts {
        let reply = client.cmd(&["EVAL", script, "0"]).to_string();
        let fits = match expected.strip_suffix('*') {
            Some(beginning) => reply.starts_with(beginning),
            None => reply == *expected,
        };
        assert!(fits, "{script}\n  is   {reply}\n  must {expected}");
        assert_eq!(client.line("PING").to_string(), "+PONG", "after {script}");
    }
}

#[test]
fn cve_2015_4335_byte_code_is_never_loaded() {
    check(&[
        ("return (select(2, loadstring('\\27LuaQ')))", "\"[string \\\"*"),
        ("return tostring(load(function() return '\\27Lua' end))", "\"nil\""),
        ("return tostring(loadstring(string.dump(function() end)))", "\"nil\""),
    ]);
}

#[test]
fn cve_2015_8080_and_2020_14147_sizes_of_integers_are_bounded() {
    check(&[
        ("return struct.pack('>I2147483648', '10')", "-ERR user_script:1: integral size overflow*"),
        (
            "return struct.pack('>I33', '10')",
            "-ERR user_script:1: integral size 33 is larger than limit of 32*",
        ),
        ("return struct.unpack('>I2147483648', '10')", "-ERR user_script:1: integral size overflow*"),
        (
            "return struct.unpack('>I99999999999999999999', '10')",
            "-ERR user_script:1: integral size overflow*",
        ),
    ]);
}

#[test]
fn cve_2018_11218_many_arguments_and_deep_tables_are_packed_or_refused() {
    check(&[
        ("return #cmsgpack.pack(unpack({}, 1, 4000))", ":4000"),
        (
            "return cmsgpack.pack(unpack({}, 1, 4001))",
            "-ERR user_script:1: bad argument #0 to 'pack' (Too many*",
        ),
        (
            "return cmsgpack.pack(unpack({}, 1, 7900))",
            "-ERR user_script:1: bad argument #0 to 'pack' (Too many*",
        ),
        ("local t = {} for i = 1, 100 do t = {t} end return #cmsgpack.pack(t)", ":17"),
        ("local t = {} t[1] = t return #cmsgpack.pack(t)", ":17"),
        ("local t = {} t.t = t return #cmsgpack.pack(t)", ":49"),
        ("return cmsgpack.unpack(string.rep('\\145', 100000))", "-ERR user_script:1: stack overflow (*"),
        ("return cmsgpack.unpack(string.rep('\\129\\1', 100000))", "-ERR user_script:1: stack overflow (*"),
        (
            "return cmsgpack.unpack('\\221\\255\\255\\255\\255')",
            "-ERR user_script:1: Missing bytes in input.*",
        ),
        (
            "return cmsgpack.unpack('\\223\\255\\255\\255\\255')",
            "-ERR user_script:1: Missing bytes in input.*",
        ),
        (
            "return cmsgpack.unpack('\\219\\255\\255\\255\\255x')",
            "-ERR user_script:1: Missing bytes in input.*",
        ),
    ]);
}

#[test]
fn cve_2018_11219_offsets_lie_within_the_text() {
    check(&[
        (
            "return struct.unpack('f', 'xxxxxxxxxxxxx', -3)",
            "-ERR user_script:1: bad argument #2 to 'unpack' (data*",
        ),
        (
            "return struct.unpack('f', 'xxxxxxxxxxxxx', 0)",
            "-ERR user_script:1: bad argument #3 to 'unpack' (offset*",
        ),
        ("return struct.unpack('i', 'xxxx', 2^31)", "-ERR user_script:1: bad argument #2 to 'unpack' (data*"),
        ("return struct.unpack('i', 'xxxx', 2^63)", "-ERR user_script:1: bad argument #2 to 'unpack' (data*"),
        ("return cmsgpack.unpack_one('x', -1)", "-ERR user_script:1: Invalid request to unpack with offset*"),
        ("return cmsgpack.unpack_one('x', 2^40)", "-ERR user_script:1: Start offset*"),
        (
            "return cmsgpack.unpack_limit('x', -2^63, 2^62)",
            "-ERR user_script:1: Invalid request to unpack with*",
        ),
    ]);
}

#[test]
fn cve_2021_32626_a_recursive_table_ends_at_the_stack_limit() {
    let server = server();
    // The reply is nested deeper than the client can read.
    let mut stream = TcpStream::connect(server.addr()).expect("a server listens");
    for script in ["local a = {} local b = {a} a[1] = b return a", "local a = {} a[1] = a return {a, a}"] {
        stream.write_all(&encode(&["EVAL", script, "0"])).expect("it is short");
        stream.write_all(&encode(&["ECHO", "the end"])).expect("it is short");
        let (mut text, mut byte) = (Vec::new(), [0]);
        while !text.ends_with(b"$7\r\nthe end\r\n") {
            stream.read_exact(&mut byte).expect("the server goes on");
            text.push(byte[0]);
        }
        let text = String::from_utf8_lossy(&text);
        let rest =
            text.replace("*1\r\n", "").replace("*2\r\n", "").replace("-ERR reached lua stack limit\r\n", "!");
        assert!(["!$7\r\nthe end\r\n", "!!$7\r\nthe end\r\n"].contains(&&*rest), "{rest}");
    }
}

#[test]
fn cve_2021_32672_nothing_is_read_as_a_debugger_reads() {
    let server = server();
    let mut client = Client::connect(server.addr());
    assert_eq!(client.line("SCRIPT DEBUG YES").to_string(), "-ERR this server has no debugger for scripts");
    assert_eq!(client.line("EVAL \"return 1\" 0").to_string(), ":1");
    client.send_raw(b"*1\r\n$100\r\ntest\r\n");
    let mut other = Client::connect(server.addr());
    assert_eq!(other.line("PING").to_string(), "+PONG");
    client.send_raw(&[b'x'; 96]);
    assert!(client.read_reply().to_string().starts_with("-ERR "), "what is announced is waited for");
}

#[test]
fn cve_2022_0543_nothing_leads_out_of_the_sandbox() {
    for name in ["package", "require", "io", "dofile", "loadfile", "module", "debug", "print", "jit", "ffi"] {
        let missing =
            format!("-ERR user_script:1: Script attempted to access nonexistent global variable '{name}'*");
        check(&[(&format!("return {name}"), &missing)]);
    }
    check(&[
        ("local n = {} for k in pairs(os) do n[#n + 1] = k end return n", "[\"clock\"]"),
        ("return {os.execute, os.getenv, os.exit, os.remove}", "[]"),
    ]);
}

#[test]
fn cve_2022_24735_and_24736_shared_tables_are_read_only() {
    let readonly = "-ERR user_script:1: Attempt to modify a readonly table*";
    check(&[
        ("x = 1", readonly),
        ("_G.x = 1", readonly),
        ("redis.call = 1", readonly),
        ("f_0000000000000000000000000000000000000000 = function() return 1 end", readonly),
        ("cjson.encode = 1", readonly),
        ("cmsgpack.pack = 1", readonly),
        ("bit.band = 1", readonly),
        ("setmetatable(cjson, {})", "-ERR Attempt to modify a readonly table*"),
        ("rawset(bit, 'x', 1)", "-ERR Attempt to modify a readonly table*"),
        ("return 1 end redis.call('ping') function f()", "-ERR Error compiling script (new function): *"),
    ]);
}

#[test]
fn cve_2022_24834_texts_of_huge_and_deep_values_are_errors() {
    check(&[
        (
            "local t = {} for i = 1, 1000 do t = {t} end return cjson.encode(t)",
            "-ERR user_script:1: Cannot serialise, excessive nesting (1001)*",
        ),
        (
            "local t = {} t[1] = t return cjson.encode(t)",
            "-ERR user_script:1: Cannot serialise, excessive nesting*",
        ),
        (
            "return cjson.encode({[1000000] = 1})",
            "-ERR user_script:1: Cannot serialise table: excessively sparse array*",
        ),
        ("return cjson.encode(0/0)", "-ERR user_script:1: Cannot serialise number: must not be NaN or Inf*"),
        ("return #cjson.encode(string.rep('\\0', 1000000))", ":6000002"),
        ("return #cjson.encode({[string.rep('\\0', 1000000)] = 1})", ":6000006"),
        (
            "return cjson.decode(string.rep('[', 1001))",
            "-ERR user_script:1: Found too many nested data structures (1001)*",
        ),
        (
            "cjson.encode_max_depth(2147483647) local t = {} for i = 1, 1e5 do t = {t} end return cjson.encode(t)",
            "-ERR user_script:1: Cannot serialise, excessive nesting (*",
        ),
        (
            "cjson.decode_max_depth(2147483647) return cjson.decode(string.rep('{\"a\":[', 1e5))",
            "-ERR user_script:1: Found too many nested data structures (*",
        ),
    ]);
}

#[test]
fn cve_2024_31449_hexadecimal_digits_are_at_most_eight() {
    check(&[
        ("return bit.tohex(65535, -2147483648)", "\"0000FFFF\""),
        ("return bit.tohex(65535, 2147483647)", "\"0000ffff\""),
        ("return bit.tohex(65535, -1e300)", "\"0000FFFF\""),
    ]);
}

#[test]
fn cve_2024_46981_no_script_runs_during_garbage_collection() {
    check(&[
        (
            "return newproxy",
            "-ERR user_script:1: Script attempted to access nonexistent global variable 'newproxy'*",
        ),
        (
            "local ran = 0 do setmetatable({}, {__gc = function() ran = 1 end}) end collectgarbage() return ran",
            ":0",
        ),
        ("return redis.call('script', 'flush')", "-ERR This Redis command is not allowed from script*"),
    ]);
}

#[test]
fn cve_2025_46817_unpack_counts_its_results() {
    let many = "-ERR user_script:1: too many results to unpack*";
    check(&[
        ("return {unpack({1, 2, 3}, -2, 2147483647)}", many),
        ("return {unpack({1, 2, 3}, 0, 2147483647)}", many),
        ("return {unpack({1, 2, 3}, -2147483648, -2)}", many),
        ("return {unpack({1, 2, 3}, -2147483648, 2147483647)}", many),
        ("return {unpack({1, 2, 3}, 2147483647, 2147483647)}", "[]"),
    ]);
}

#[test]
fn cve_2025_46818_metatables_of_basic_types_are_read_only() {
    check(&[
        (
            "getmetatable('').__index = function() end",
            "-ERR user_script:1: Attempt to modify a readonly table*",
        ),
        ("getmetatable(_G).__index = 1", "-ERR user_script:1: Attempt to modify a readonly table*"),
        (
            "setmetatable(1, {})",
            "-ERR user_script:1: bad argument #1 to 'setmetatable' (table expected, got number)*",
        ),
        ("return tostring(getmetatable(1)) .. tostring(getmetatable(cjson.null))", "\"nilnil\""),
        (
            "return getfenv",
            "-ERR user_script:1: Script attempted to access nonexistent global variable 'getfenv'*",
        ),
        (
            "return setfenv",
            "-ERR user_script:1: Script attempted to access nonexistent global variable 'setfenv'*",
        ),
    ]);
}

#[test]
fn cve_2025_46819_delimiters_of_any_length_are_read() {
    check(&[
        (
            "return (select(2, loadstring('return [' .. string.rep('=', 20000000))))",
            "\"[string \\\"return [*",
        ),
        (
            "local e = string.rep('=', 1000) return loadstring('return [' .. e .. '[x]' .. e .. ']')()",
            "\"x\"",
        ),
    ]);
}

#[test]
fn redis_14163_errors_without_a_text_are_errors() {
    check(&[
        ("error({})", "-ERR unknown error*"),
        ("return {err = ''}", "-"),
        ("error({err = 1})", "-*"),
        ("error(cjson.null)", "-ERR userdata: (nil)*"),
        ("error()", "-ERR nil*"),
    ]);
}

#[test]
fn cve_2025_67733_line_ends_in_replies_become_spaces() {
    check(&[
        ("return redis.error_reply('x\\r\\n+OK')", "-ERR x  +OK"),
        ("return redis.status_reply('x\\r\\n+OK')", "+x  +OK"),
        ("return {ok = 'a\\r\\nb'}", "+a  b"),
        ("return {err = 'a\\r\\nb'}", "-a  b"),
        ("error({err = 'A a\\r\\nb'})", "-A a  b*"),
        ("error('a\\r\\nb')", "-ERR user_script:1: a  b*"),
        (
            "cjson.decode('\\r\\n\\r\\n')",
            "-ERR user_script:1: Expected value but found T_END at character 5*",
        ),
        (
            "cjson.encode_keep_buffer('\\r\\n+OK\\r\\n')",
            "-ERR user_script:1: bad argument #1 to 'encode_keep_buffer' (*",
        ),
        ("#!lua flags=a\\r\\n+OK\\nreturn 1", "-ERR *"),
    ]);
}

#[test]
fn errors_of_many_kinds_are_counted_up_to_a_bound() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let script =
        "for i = 1, 300 do redis.pcall('echo') end return redis.error_reply('-CODE' .. ARGV[1] .. ' x')";
    for number in 0..300 {
        client.cmd(&["EVAL", script, "0", &number.to_string()]);
    }
    let Reply::Bulk(text) = client.line("INFO errorstats") else { panic!("INFO is a bulk string") };
    let text = String::from_utf8_lossy(&text);
    assert!((100..=130).contains(&text.lines().count()), "{text}");
    assert!(text.contains("errorstat_ERR:count=90000"), "{text}");
    assert!(text.contains("errorstat_ERRORSTATS_OVERFLOW:count=173"), "{text}");
}

#[test]
fn expensive_patterns_are_refused() {
    check(&[
        (
            "return string.find(string.rep('x', 300), string.rep('(.-)', 40))",
            "-ERR user_script:1: too many captures*",
        ),
        (
            "return string.match(string.rep('a', 300000), string.rep('.?', 300000))",
            "-ERR user_script:1: pattern too*",
        ),
    ]);
}
