//! Tests that no script ends the process or exhausts the machine's memory: inputs that once crashed a server, and
//! similar ones.

use crate::mock::{Bench, on_engine_stack};
use lockwheel_resp::allocation::{OutOfMemory, contain};
use lockwheel_resp::{Protocol, Reply};

/// Runs a script that must give an error with this text in it, and leave the interpreter usable.
fn fails(bench: &mut Bench, script: &str, text: &str) {
    let reply = bench.eval(script);
    assert!(reply.starts_with('-') && reply.contains(text), "{script}: {reply}");
    assert_eq!(
        bench.eval("return redis.call('echo', 'still here')"),
        "$10\\r\\nstill here\\r\\n",
        "after {script}"
    );
}

#[test]
fn memory_is_limited_and_the_interpreter_stays_usable() {
    on_engine_stack(|| {
        let mut bench = Bench::with_memory(32 << 20);
        let idle = bench.runtime.memory_used();
        for script in [
            "cjson.encode_sparse_array(false, 0) return cjson.encode({[2000000000] = 1})",
            "local t = {} for i = 1, 40 do t = {t, t} end return cjson.encode(t)",
            "local s = string.rep('\\0', 6e6) return cjson.encode(s)",
            "local s = string.rep('x', 1e6) local t = {} for i = 1, 100 do t[i] = s end return cjson.encode(t)",
            "local s = string.rep('x', 1e6) local t = {} for i = 1, 100 do t[s .. i] = i end return cjson.encode(t)",
            "local s = string.rep('x', 1e6) local t = {} for i = 1, 100 do t[i] = s end return cmsgpack.pack(t)",
            "local t = {} for i = 1, 15 do local u = {} for n = 1, 20 do u[n] = t end t = u end \
             return cmsgpack.pack(t)",
            "return cjson.decode('[' .. string.rep('[],', 1e6) .. '[]]')",
            "return cjson.decode('\"' .. string.rep('\\\\\\\\', 7e6) .. '\"')",
            "return cmsgpack.unpack('\\221\\255\\255\\255\\255' .. string.rep('\\144', 5e6))",
            "local s = string.rep('\\219\\0\\15\\66\\64' .. string.rep('x', 1e6), 10) local t = {} \
             for i = 1, 20 do t[i] = {cmsgpack.unpack(s .. i)} end",
            "local t = {} while true do t[#t + 1] = string.rep('x', 1e6) .. #t end",
            "local t = {} while true do t = {t} end",
            "local s = 'x' while true do s = s .. s end",
            "return string.rep('a', 2147483647)",
            "return string.rep('abc', 2147483647)",
            "local t = {} for i = 1, 1e9 do t[i] = i end",
            "local t = {} for i = 1, 1e9 do t['k' .. i] = i end",
            "local t = {} while true do t[#t + 1] = coroutine.create(function() end) end",
            "local t = {} while true do t[#t + 1] = function() return t end end",
            "local s = string.rep('a', 1e6) local t = {} for i = 1, 5000 do t[i] = s end return table.concat(t)",
            "local s = string.rep('a', 1e6) return (s:gsub('a', s))",
            "local s = string.rep('a', 1e6) local t = {} for i = 1, 5000 do t[i] = s end \
             return struct.pack(string.rep('s', 5000), unpack(t))",
            "local s = string.rep('x', 1e6) return loadstring('return \"' .. string.rep(s, 100) .. '\"')",
            "local t = {} for i = 1, 1e9 do t[i] = redis.call('echo', string.rep('x', 1e5) .. i) end",
            "local t = {} while true do t[#t + 1] = redis.pcall('nosuch') end",
            "local t = {} for i = 1, 1e9 do table.insert(t, {i}) end",
        ] {
            fails(&mut bench, script, "not enough memory");
            assert!(
                bench.runtime.memory_used() < idle + (9 << 20),
                "{}: {script}",
                bench.runtime.memory_used()
            );
        }
        bench.runtime.flush();
        assert!(bench.runtime.memory_used() < idle + 10_000);
    });
}

#[test]
fn an_error_of_memory_can_be_caught() {
    let mut bench = Bench::with_memory(32 << 20);
    let script =
        "local ok, e = pcall(string.rep, 'x', 2147483647) return {tostring(ok), e, redis.call('echo', 'x')}";
    assert_eq!(
        bench.eval(script),
        "*3\\r\\n$5\\r\\nfalse\\r\\n$17\\r\\nnot enough memory\\r\\n$1\\r\\nx\\r\\n"
    );
}

#[test]
fn a_stopped_collector_is_started_for_the_next_script() {
    let mut bench = Bench::with_memory(16 << 20);
    let garbage = "for i = 1, 100000 do local s = 'garbage' .. i end return 1";
    for _ in 0..20 {
        assert_eq!(bench.eval("collectgarbage('stop') collectgarbage('setpause', 100000)"), "$-1\\r\\n");
        assert_eq!(bench.eval(garbage), ":1\\r\\n");
    }
    assert!(bench.runtime.memory_used() < 16 << 20);
}

#[test]
fn garbage_alone_never_reaches_the_limit() {
    let mut bench = Bench::with_memory(24 << 20);
    let script = "local keep = {} for i = 1, 60000 do keep[i] = 'kept value number ' .. i end
        for i = 1, 300 do local s = string.rep('x', 100000) .. i end return 1";
    assert_eq!(bench.eval(script), ":1\\r\\n");
}

#[test]
fn patterns_are_bounded() {
    on_engine_stack(|| {
        let mut bench = Bench::default();
        for script in [
            "return string.find(string.rep('a', 50000), string.rep('a?', 50000) .. 'b')",
            "return string.find(string.rep('a', 50000), string.rep('a*', 50000) .. 'b')",
            "return string.find(string.rep('a', 50000), string.rep('a-', 50000) .. 'b')",
            "return string.gsub(string.rep('a', 50000), string.rep('a?', 50000), 'b')",
            "for x in string.gmatch(string.rep('a', 50000), string.rep('a?', 50000)) do end",
        ] {
            fails(&mut bench, script, "pattern too complex");
        }
        fails(&mut bench, "return string.find('a', string.rep('(', 50000))", "too many captures");
        // The limit covers all matches in progress together. An error restores the count.
        let nested = "local function f(n) \
            return (('a'):gsub(string.rep('b?', 20) .. 'a', function() if n > 0 then return f(n - 1) end end)) end \
            return f(150)";
        assert_eq!(bench.eval(nested), "$1\\r\\na\\r\\n");
        let again =
            "for i = 1, 100 do pcall(string.find, string.rep('a', 6000), string.rep('a?', 6000) .. 'b') end
            return string.find(string.rep('a', 1000), string.rep('a?', 1000))";
        assert_eq!(bench.eval(again), ":1\\r\\n");
    });
}

#[test]
fn recursion_of_every_kind_is_bounded() {
    on_engine_stack(|| {
        let mut bench = Bench::default();
        for (script, text) in [
            ("local function f() return 1 + f() end f()", "stack overflow"),
            ("local function r(s) return s:gsub('.', r) end r('x')", "C stack overflow"),
            (
                "local t = {} setmetatable(t, {__index = function(t, k) return t[k] end}) return t.x",
                "stack overflow",
            ),
            ("local t = {} t.__index = t setmetatable(t, t) return t.x", "loop in gettable"),
            (
                "local t = {} setmetatable(t, {__tostring = function(t) return tostring(t) end}) return tostring(t)",
                "overflow",
            ),
            ("local function f() return coroutine.wrap(f)() end f()", "C stack overflow"),
            ("table.sort({1, 2, 3}, function(a, b) table.sort({1, 2}, error) return true end)", ""),
            ("return loadstring('return ' .. string.rep('(', 100000))() ", ""),
            ("return loadstring(string.rep('do ', 100000))()", ""),
            ("return loadstring('return ' .. string.rep('{', 100000))()", ""),
            ("return loadstring('return ' .. string.rep('- ', 100001) .. '1')()", ""),
            ("return loadstring('return ' .. string.rep('not ', 100000) .. '1')()", ""),
            ("return loadstring('return ' .. string.rep('function() return ', 1000))()", ""),
            ("return loadstring('return ' .. string.rep('a..', 100000) .. 'a')()", ""),
            ("return loadstring('return ' .. string.rep('a^', 100000) .. 'a')()", ""),
            ("return loadstring(string.rep('local a ', 300))()", ""),
        ] {
            fails(&mut bench, script, text);
        }
        fails(&mut bench, &format!("return {}", "(".repeat(100_000)), "chunk has too many syntax levels");
    });
}

#[test]
fn unpack_is_bounded() {
    let mut bench = Bench::default();
    for range in [
        "-2, 2147483647",
        "0, 2147483647",
        "-2147483648, -2",
        "-2147483648, 2147483647",
        "1, 2147483647",
        "1, 8000",
        "1, 1e6",
        "2147483640, -2147483648 - 1",
    ] {
        let reply = bench.eval(&format!("return {{unpack({{1, 2, 3}}, {range})}}"));
        assert!(reply.contains("too many results to unpack") || reply == "*0\\r\\n", "{range}: {reply}");
    }
    assert_eq!(bench.eval("return select('#', unpack({}, 1, 7990))"), ":7990\\r\\n");
    assert_eq!(bench.eval("return select('#', unpack({}, 2147483647, 2147483647))"), ":1\\r\\n");
    assert_eq!(bench.eval("return select('#', unpack({}, -2147483648, -2147483648))"), ":1\\r\\n");
    fails(
        &mut bench,
        "return {string.byte(string.rep('x', 1e6), 1, -1)}",
        "stack overflow (string slice too long)",
    );
}

#[test]
fn what_was_freed_while_in_use_is_not() {
    let mut bench = Bench::default();
    // The chunk's name is collected while the chunk is read.
    let script = "for i = 1, 50 do
            local n = 0
            local name = 'name' .. i
            local f, e = load(function()
                collectgarbage()
                n = n + 1
                if n < 30 then return ' local a' .. n .. ' = ' .. n .. ' ' end
                if n == 30 then return ' return 7 ' end
            end, string.rep(name, 100))
            name = nil
            assert(f() == 7)
        end
        return 1";
    assert_eq!(bench.eval(script), ":1\\r\\n");
    let script = "for i = 1, 50 do
            local n = 0
            local f, e = load(function() n = n + 1 collectgarbage() if n < 20 then return 'x' .. n .. '=' end end)
            assert(not f and type(e) == 'string')
        end
        return 1";
    assert_eq!(bench.eval(script), ":1\\r\\n");
    for text in ["\\\\27Lua", "\\\\27", "\\\\27LuaQ\\\\0\\\\1\\\\4\\\\8\\\\4\\\\8\\\\0"] {
        let script = format!("local f, e = loadstring('{text}') return {{tostring(f), type(e)}}");
        assert_eq!(bench.eval(&script), "*2\\r\\n$3\\r\\nnil\\r\\n$6\\r\\nstring\\r\\n");
    }
    let script =
        "local f, e = load(function() return string.dump(function() end) end) return {tostring(f), type(e)}";
    assert_eq!(bench.eval(script), "*2\\r\\n$3\\r\\nnil\\r\\n$6\\r\\nstring\\r\\n");
    fails(&mut bench, "\x1bLua", "Error compiling script");
}

#[test]
fn long_brackets_are_bounded() {
    let mut bench = Bench::with_memory(1 << 30);
    let script = "local level = string.rep('=', 17000000)
        local f, e = loadstring('return [' .. level .. '[x]' .. level .. ']')
        return e:match('invalid long string delimiter')";
    assert!(bench.eval(script).contains("invalid long string delimiter"), "{}", bench.eval(script).len());
    let script = "local level = string.rep('=', 100000) \
        return loadstring('return [' .. level .. '[x]' .. level .. ']')()";
    assert_eq!(bench.eval(script), "$1\\r\\nx\\r\\n");
    let script = "local f, e = loadstring('return [=' .. string.rep('=', 100)) \
        return e:match('invalid long string delimiter')";
    assert_eq!(bench.eval(script), "$29\\r\\ninvalid long string delimiter\\r\\n");
}

#[test]
fn results_that_never_end_end() {
    on_engine_stack(|| {
        let mut bench = Bench::default();
        // The reply is nested as deep as in Redis. Then come its error, and as many values as were announced.
        for (script, kind, levels) in [
            ("local a = {} local b = {a} a[1] = b return a", "*1\\r\\n", 7995),
            ("local a = {} a.map = {x = a} return a", "*2\\r\\n", 2665),
            ("local a = {} a.set = {} a.set[a] = true return a", "*1\\r\\n", 2665),
        ] {
            let reply = bench.eval(script);
            assert_eq!(reply.matches(kind).count(), levels, "{script}");
            assert!(reply.ends_with("-ERR reached lua stack limit\\r\\n"), "{script}");
        }
        let reply = bench.eval("local a = {} local b = {1, a, 2} a[1] = b return a");
        assert_eq!(reply.matches('*').count(), 7995);
        assert!(reply.ends_with(":2\\r\\n:2\\r\\n"));
        let reply = bench.eval("local a = {} local b = {map = {a = a}} a[1] = b return a");
        assert_eq!(reply.matches('*').count(), 3998);
        // The data are small to write, and large to read.
        for script in [
            "local t = {1} for i = 1, 60 do t = {t, t} end return t",
            "local t = {1} for i = 1, 60 do t = {map = {a = t, b = t}} end return t",
            "local s = string.rep('x', 1e6) local t = {} for i = 1, 100000 do t[i] = s end return t",
            "local t = {} for i = 1, 1000 do t[i] = t end return t",
        ] {
            fails(&mut bench, script, "script result is too large");
        }
    });
}

#[test]
fn replies_nested_too_deep_are_refused() {
    let mut bench = Bench::default();
    assert_eq!(
        bench.eval("local r = redis.call('deep', 100) for i = 1, 100 do r = r[1] end return r"),
        ":1\\r\\n"
    );
    fails(&mut bench, "return redis.call('deep', 20000)", "reached lua stack limit");
    assert_eq!(bench.eval("return redis.pcall('deep', 20000)"), "-ERR reached lua stack limit\\r\\n");
}

#[test]
fn very_many_arguments() {
    on_engine_stack(|| {
        let mut bench = Bench::default();
        assert_eq!(
            bench.eval("local t = {} for i = 1, 7900 do t[i] = i end return redis.call('del', unpack(t))"),
            ":0\\r\\n"
        );
        assert_eq!(bench.host.calls[0].len(), 7901);
        assert_eq!(bench.host.calls[0][7900], b"7900");
        fails(
            &mut bench,
            "local t = {} for i = 1, 8000 do t[i] = 'x' end return redis.call('del', unpack(t))",
            "too many results to unpack",
        );
        let many: Vec<Vec<u8>> = (0..100_000).map(|n: u32| n.to_string().into_bytes()).collect();
        let many: Vec<&[u8]> = many.iter().map(Vec::as_slice).collect();
        assert_eq!(
            bench.eval_with("return {#KEYS, #ARGV, ARGV[100000], KEYS[1]}", &many, &many),
            "*4\\r\\n:100000\\r\\n:100000\\r\\n$5\\r\\n99999\\r\\n$1\\r\\n0\\r\\n"
        );
        assert_eq!(bench.eval("return {#KEYS, #ARGV}"), "*2\\r\\n:0\\r\\n:0\\r\\n");
        assert!(bench.runtime.memory_used() < 16 << 20);
    });
}

#[test]
fn a_panic_of_the_host_ends_the_script_only() {
    let mut bench = Bench::default();
    let script = "for i = 1, 3 do pcall(redis.call, 'panic') end return 'not reached'";
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| bench.eval(script)));
    assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"the host panics"));
    assert_eq!(bench.control.running(), None);
    assert_eq!(bench.host.calls.len(), 1, "the script has not gone on");
    assert_eq!(bench.eval("return redis.call('echo', 'x')"), "$1\\r\\nx\\r\\n");
}

/// A reply for which memory is short.
struct NoMemory;

impl Reply for NoMemory {
    fn protocol(&self) -> Protocol {
        Protocol::Resp2
    }

    fn bulk(&mut self, bytes: &[u8]) {
        OutOfMemory { bytes: bytes.len() }.unwind();
    }

    fn status(&mut self, _: &[u8]) {}
    fn error(&mut self, _: &[u8]) {}
    fn integer(&mut self, _: i64) {}
    fn null(&mut self) {}
    fn null_array(&mut self) {}
    fn double(&mut self, _: f64) {}
    fn decimal(&mut self, _: f64) {}
    fn boolean(&mut self, _: bool) {}
    fn big_number(&mut self, _: &[u8]) {}
    fn verbatim(&mut self, _: [u8; 3], _: &[u8]) {}
    fn array(&mut self, _: usize) {}
    fn map(&mut self, _: usize) {}
    fn set(&mut self, _: usize) {}
    fn push(&mut self, _: usize) {}
}

#[test]
fn a_script_ends_though_there_is_no_memory_for_its_reply() {
    let mut bench = Bench::with_memory(64 << 20);
    let id = bench.runtime.intern(b"return ARGV[1]:rep(8388608)").unwrap();
    // There are more strings than the interpreter has memory for if one were kept.
    for byte in b'a'..=b'z' {
        let ended =
            contain(|| bench.runtime.begin(id, 0).run(&[], &[&[byte]], &mut bench.host, &mut NoMemory));
        assert_eq!(ended, Err(OutOfMemory { bytes: 8_388_608 }));
        assert_eq!(bench.control.running(), None);
    }
    assert_eq!(bench.eval("return redis.call('echo', 'x')"), "$1\\r\\nx\\r\\n");
}

/// CVE-2025-49844. The text has ended before its first byte, and is requested once more. At that time only the parser
/// refers to the chunk's name.
#[test]
fn cve_2025_49844_the_name_of_a_chunk_outlives_a_collection_while_it_is_read() {
    let mut bench = Bench::default();
    let script = "local calls, kept = 0, {}
        local chunk, message = load(function()
            calls = calls + 1
            if calls == 1 then return nil end
            if calls == 2 then
                collectgarbage()
                for i = 1, 100 do kept[i] = ('=(%04d)'):format(i) end
                return 'return ('
            end
        end)
        return {calls, tostring(chunk), message}";
    assert_eq!(
        bench.eval(script),
        "*3\\r\\n:3\\r\\n$3\\r\\nnil\\r\\n$40\\r\\n(load):1: unexpected symbol near '<eof>'\\r\\n"
    );
}
