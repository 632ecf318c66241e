//! Tests of replies of commands as Lua values, and of Lua values as replies.

use crate::mock::Bench;
use lockwheel_resp::Protocol;

/// A script that shows any value.
const SHOW: &str = "local function show(v)
        if type(v) ~= 'table' then return type(v) == 'string' and '\"' .. v .. '\"' or tostring(v) end
        local keys, parts = {}, {}
        for k in pairs(v) do keys[#keys + 1] = k end
        table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
        for _, k in ipairs(keys) do parts[#parts + 1] = tostring(k) .. '=' .. show(v[k]) end
        return '{' .. table.concat(parts, ' ') .. '}'
    end ";

fn shown(bench: &mut Bench, version: u8, name: &str) -> String {
    let reply =
        bench.eval(&format!("{SHOW} redis.setresp({version}) return show(redis.pcall('reply', '{name}'))"));
    let (_, text) = reply.split_once("\\r\\n").unwrap();
    text.trim_end_matches("\\r\\n").to_owned()
}

#[test]
fn replies_become_values() {
    let mut bench = Bench::default();
    for (name, resp2, resp3) in [
        ("null", "false", "nil"),
        ("nullarray", "false", "nil"),
        ("true", "1", "true"),
        ("double", "\"1.5\"", "{double=1.5}"),
        ("big", "\"123456789012345678901234567890\"", "{big_number=\"123456789012345678901234567890\"}"),
        ("text", "\"some text\"", "{verbatim_string={format=\"txt\" string=\"some text\"}}"),
        ("emptymap", "{}", "{map={}}"),
        ("status", "{ok=\"a  b\"}", "{ok=\"a  b\"}"),
        (
            "error",
            "{err=\"CODE a  b\" ignore_error_stats_update=true}",
            "{err=\"CODE a  b\" ignore_error_stats_update=true}",
        ),
        ("map", "{1=\"a\" 2=1 3=\"b\" 4={1=2 2=false}}", "{map={a=1 b={1=2}}}"),
        ("set", "{1=\"x\" 2=false}", "{set={x=true}}"),
        ("pairs", "{1=false 2=\"lost: nil is no key\"}", "{map={}}"),
        (
            "nested",
            "{1={err=\"ERR inner\" ignore_error_stats_update=true} 2={ok=\"OK\"} 3={1=\"k\" 2={1=\"0.5\"}} 4={}}",
            "{1={err=\"ERR inner\" ignore_error_stats_update=true} 2={ok=\"OK\"} \
              3={map={k={set={{double=0.5}=true}}}} 4={}}",
        ),
    ] {
        assert_eq!(shown(&mut bench, 2, name), resp2, "{name}");
        let value = shown(&mut bench, 3, name);
        // A table that is a key is shown by its address.
        let value = value.split("{set={table: ").collect::<Vec<_>>();
        let value = value.join("{set={").split("0x").map(str::to_owned).collect::<Vec<_>>();
        let value = match value.as_slice() {
            [before, after] => format!("{before}{{double=0.5}}{}", &after[after.find('=').unwrap()..]),
            _ => value.join("0x"),
        };
        assert_eq!(value, resp3, "{name}");
    }
}

/// The expected replies are those of redis-server 7.0.15 after HELLO 3.
#[test]
fn values_become_replies_of_resp3() {
    let mut bench = Bench { protocol: Protocol::Resp3, ..Bench::default() };
    for (script, reply) in [
        ("return true", ":1\\r\\n"),
        ("return false", "_\\r\\n"),
        ("return nil", "_\\r\\n"),
        ("redis.setresp(3) return true", "#t\\r\\n"),
        ("redis.setresp(3) return false", "#f\\r\\n"),
        ("redis.setresp(3) return nil", "_\\r\\n"),
        ("redis.setresp(3) return {true, false, 1}", "*3\\r\\n#t\\r\\n#f\\r\\n:1\\r\\n"),
        ("return {map = {a = 1}}", "%1\\r\\n$1\\r\\na\\r\\n:1\\r\\n"),
        ("return {set = {a = 1}}", "~1\\r\\n$1\\r\\na\\r\\n"),
        ("return {double = 1.5}", ",1.5\\r\\n"),
        ("return {double = 1e8}", ",100000000\\r\\n"),
        ("return {big_number = '1'}", "(1\\r\\n"),
        ("return {verbatim_string = {format = 'txt', string = 'hi'}}", "=6\\r\\ntxt:hi\\r\\n"),
        (
            "return redis.call('reply', 'map')",
            "*4\\r\\n$1\\r\\na\\r\\n:1\\r\\n$1\\r\\nb\\r\\n*2\\r\\n:2\\r\\n_\\r\\n",
        ),
        ("redis.setresp(3) return redis.call('reply', 'emptymap')", "%0\\r\\n"),
        ("redis.setresp(3) return redis.call('reply', 'double')", ",1.5\\r\\n"),
        ("redis.setresp(3) return redis.call('reply', 'text')", "=13\\r\\ntxt:some text\\r\\n"),
        ("redis.setresp(3) return redis.call('reply', 'true')", "#t\\r\\n"),
    ] {
        assert_eq!(bench.eval(script), reply, "{script}");
    }
}

/// A script's protocol does not change the client's, as in Redis.
#[test]
fn values_of_resp3_become_replies_of_resp2() {
    let mut bench = Bench::default();
    for (script, reply) in [
        ("redis.setresp(3) return true", ":1\\r\\n"),
        ("redis.setresp(3) return false", ":0\\r\\n"),
        ("redis.setresp(3) return {true, false, 1}", "*3\\r\\n:1\\r\\n:0\\r\\n:1\\r\\n"),
        ("redis.setresp(3) return {map = {a = true}}", "*2\\r\\n$1\\r\\na\\r\\n:1\\r\\n"),
        ("redis.setresp(3) return nil", "$-1\\r\\n"),
    ] {
        assert_eq!(bench.eval(script), reply, "{script}");
    }
}

#[test]
fn messages_go_to_the_log() {
    let mut bench = Bench::default();
    bench.eval("redis.log(redis.LOG_WARNING, 'a', 5, {}, 1.5) redis.log(redis.LOG_DEBUG, 'x\\0y')");
    assert_eq!(bench.host.logged, vec![(3, b"a 5  1.5".to_vec()), (0, b"x\0y".to_vec())]);
    bench.eval("redis.log(1, string.rep('x', 1e6), string.rep('y', 1e6))");
    assert_eq!(bench.host.logged[2].1.len(), (1 << 16) + 1);
}

#[test]
fn what_redisson_packs_it_unpacks() {
    let mut bench = Bench::default();
    for (format, values) in [
        ("Lc0Lc0", "3, 'abc', 2, 'de'"),
        ("Lc0Lc0Lc0", "1, 'a', 0, '', 2, 'bc'"),
        ("Lc0Lc0d", "3, 'abc', 2, 'de', 1761234597890"),
        ("dLc0", "922337203685477, 4, 'wxyz'"),
        ("Lc0Lc0h", "1, 'k', 1, 'v', -7"),
        ("Lc0Lc0hd", "1, 'k', 1, 'v', 7, 0.5"),
        ("Lc0Lc0Lc0d", "1, 'a', 1, 'b', 1, 'c', 3.25"),
        ("BBc0Lc0Lc0", "1, 2, 'ab', 1, 'c', 1, 'd'"),
        ("Bc0I", "2, 'ab', 77"),
        ("Bc0Lc0", "2, 'ab', 3, 'cde'"),
        ("Lc0", "5, 'hello'"),
    ] {
        // A `c0` removes the number before it.
        let script = format!(
            "local given = {{{values}}}
            local got = {{struct.unpack('{format}', struct.pack('{format}', unpack(given)))}}
            local left = {{}}
            for i = 1, #given do if type(given[i + 1]) ~= 'string' then left[#left + 1] = given[i] end end
            for i = 1, #left do assert(got[i] == left[i], i .. ': ' .. tostring(got[i]) .. ' ' .. tostring(left[i])) end
            return #got - #left"
        );
        assert_eq!(bench.eval(&script), ":1\\r\\n", "{format}");
    }
    assert_eq!(
        bench.eval("return struct.pack('Bc0I', '2', 'ab', '77')"),
        "$7\\r\\n\\x02abM\\x00\\x00\\x00\\r\\n"
    );
}

#[test]
fn redisson_leans_on_this() {
    let mut bench = Bench::default();
    for (script, reply) in [
        ("if redis.call('get', 'none') == false then return -1 end", ":-1\\r\\n"),
        ("local t = {1} table.insert(t, 2) return table.getn(t)", ":2\\r\\n"),
        ("return math.max(5, '7')", ":7\\r\\n"),
        ("return 5 + '7'", ":12\\r\\n"),
        (
            "for c = '3', 1, -1 do redis.call('incr', 'c') end return redis.call('get', 'c')",
            "$1\\r\\n3\\r\\n",
        ),
        ("return 'key:' .. redis.call('incr', 'n')", "$5\\r\\nkey:1\\r\\n"),
        ("return string.format('%.0f', 922337203685477)", "$15\\r\\n922337203685477\\r\\n"),
        ("local type = 5 return type", ":5\\r\\n"),
        ("redis.call('get', KEYS[1]) redis.call('get', KEYS[2])", "$-1\\r\\n"),
        ("return redis.call(ARGV[1])", "+PONG\\r\\n"),
        ("return redis.error_reply('NON_REENTRANT_REACQUIRE')", "-ERR NON_REENTRANT_REACQUIRE\\r\\n"),
        (
            "return tonumber(false) < 1",
            "-ERR user_script:1: attempt to compare nil with number script: SHA, on @user_script:1.\\r\\n",
        ),
        ("return redis.call('echo', 1761234597890)", "$13\\r\\n1761234597890\\r\\n"),
    ] {
        assert_eq!(bench.eval_with(script, &[b"a", b"b"], &[b"PinG"]), reply, "{script}");
    }
}
