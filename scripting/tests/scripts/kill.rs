//! Tests that a kill ends every shape of loop.

use crate::mock::{Bench, escape, on_engine_stack};
use lockwheel_resp::{Protocol, Writer};
use lockwheel_scripting::{EntryKind, KillError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Scripts that never end by themselves. None of them writes.
const ENDLESS: &[&str] = &[
    "while true do end",
    "repeat until false",
    "local i = 0 repeat i = i + 1 if i % 2 == 0 then i = i + 2 end until i < 0",
    "for i = 1, 1e18 do end",
    "for i = 1, 2, 0 do end while 1 do end",
    "local function f() return f() end f()",
    "local function f() pcall(f) return f() end f()",
    "local function f(...) return f(1, ...) end f()",
    "while true do pcall(function() while true do end end) end",
    "while true do pcall(error, 'x') end",
    "while true do xpcall(function() while true do end end, function(e) while true do end end) end",
    "pcall(pcall, pcall, pcall, function() while true do end end) while true do end",
    "local f = coroutine.wrap(function() while true do end end) f()",
    "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
    "local f = coroutine.wrap(function() while true do coroutine.yield() end end) while true do f() end",
    "for x in coroutine.wrap(function() while true do coroutine.yield(1) end end) do end",
    "local function f() return coroutine.wrap(f)() end while true do pcall(f) end",
    "for x in function() return 1 end do end",
    "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) \
     while true do pcall(function() return t[1] end) end",
    "local t = setmetatable({}, {__lt = function() while true do end end}) return t < t",
    "table.sort({3, 2, 1}, function() while true do end end)",
    "table.foreach({1}, function() while true do end end)",
    "string.gsub('x', '.', function() while true do end end)",
    "load(function() while true do end end)",
    "load(function() return ' ' end)",
    "while true do pcall(redis.call, 'ping') end",
    "while true do redis.pcall('nosuch') end",
    "while true do pcall(redis.call) end",
    "while true do tostring({}) end",
    // These take long without a loop of their own.
    "string.find(string.rep('a', 60), string.rep('a?', 60) .. string.rep('a', 61))",
    "string.match(string.rep('a', 500000), '(.-)b')",
    "string.gsub(string.rep('a', 500000), '(.-)(.-)(.-)b', '')",
    "for x in string.gmatch(string.rep('a', 500000), '.-.-.-b') do end",
    "string.find(string.rep('a', 4000000), string.rep('a', 2000000) .. 'b', 1, true)",
    "table.insert({}, -2147483647, 1)",
    "string.rep('', 2147483647) while true do end",
    "local t = {} for i = 1, 1000000 do t[i] = i % 7 end while true do table.sort(t) end",
    "local t = {} for i = 1, 1000 do t[i] = i end while true do cjson.encode(t) end",
    "while true do pcall(cjson.decode, '[1,2') end",
    "while true do cmsgpack.unpack(cmsgpack.pack({1, {2}})) end",
    "while true do bit.band(1, 2, 3) end",
];

/// Runs a script while another thread first declares it slow, then kills it.
fn run_and_kill(script: &str) -> String {
    let mut bench = Bench::default();
    let control = bench.control.clone();
    let id = bench.runtime.intern(script.as_bytes()).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let running = bench.runtime.begin(id, 0);
    let killer = {
        let (control, done) = (control.clone(), done.clone());
        std::thread::spawn(move || {
            // The script runs already, or at once: a signal that comes before it has the same effect.
            control.arm();
            control.kill(EntryKind::Script).unwrap();
            while !done.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        })
    };
    let mut bytes = Vec::new();
    running.run(&[], &[], &mut bench.host, &mut Writer::new(&mut bytes, Protocol::Resp2));
    done.store(true, Ordering::Release);
    killer.join().unwrap();
    assert_eq!(bench.eval("return 1"), ":1\\r\\n", "the interpreter is usable after {script}");
    escape(&bytes).replace(&bench.runtime.sha(id).unwrap().to_string(), "SHA")
}

#[test]
fn every_endless_script_can_be_killed() {
    on_engine_stack(|| {
        for script in ENDLESS {
            let reply = run_and_kill(script);
            assert!(reply.starts_with("-ERR Script killed by user with SCRIPT KILL..."), "{script}: {reply}");
        }
    });
}

#[test]
fn the_host_is_asked_while_a_script_is_slow_and_can_kill_it() {
    on_engine_stack(|| {
        for script in ENDLESS {
            let mut bench = Bench::default();
            let control = bench.control.clone();
            let arm = control.clone();
            bench.host.on_slow = Some(Box::new(move |times| {
                if times == 2 {
                    control.kill(EntryKind::Script).unwrap();
                }
            }));
            let id = bench.runtime.intern(script.as_bytes()).unwrap();
            let mut bytes = Vec::new();
            let running = bench.runtime.begin(id, 5);
            arm.arm();
            running.run(&[], &[], &mut bench.host, &mut Writer::new(&mut bytes, Protocol::Resp2));
            let sha = bench.runtime.sha(id).unwrap();
            let text = format!(
                "-ERR Script killed by user with SCRIPT KILL... script: {sha}, on @user_script:1.\\r\\n"
            );
            assert_eq!(escape(&bytes), text, "{script}");
            assert_eq!(bench.host.slow, 2, "{script}");
        }
    });
}

#[test]
fn a_script_that_is_slow_but_ends_gives_its_result() {
    let mut bench = Bench::default();
    let id = bench.runtime.intern(b"local n = 0 for i = 1, 1e6 do n = n + 1 end return n").unwrap();
    let mut bytes = Vec::new();
    let running = bench.runtime.begin(id, 0);
    bench.control.arm();
    running.run(&[], &[], &mut bench.host, &mut Writer::new(&mut bytes, Protocol::Resp2));
    assert_eq!(escape(&bytes), ":1000000\\r\\n");
    assert!(bench.host.slow > 10);
    let quiet = bench.host.slow;
    bench.run(id, &[], &[]);
    assert_eq!(bench.host.slow, quiet, "the next run is not slow until it is said so");
}

#[test]
fn after_a_write_only_force_ends_it() {
    let mut bench = Bench::default();
    let control = bench.control.clone();
    let outcome = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = outcome.clone();
    bench.host.on_slow = Some(Box::new(move |times| {
        let is_killable = control.running().unwrap().is_killable;
        seen.lock().unwrap().push((is_killable, control.kill(EntryKind::Script)));
        if times == 3 {
            control.force_kill();
        }
    }));
    arm_at_ping(&mut bench);
    let script = b"redis.call('set', 'k', 'v') redis.call('ping') while true do end";
    let id = bench.runtime.intern(script).unwrap();
    let mut bytes = Vec::new();
    let running = bench.runtime.begin(id, 0);
    running.run(&[], &[], &mut bench.host, &mut Writer::new(&mut bytes, Protocol::Resp2));
    assert_eq!(*outcome.lock().unwrap(), vec![(false, Err(KillError::Unkillable)); 3]);
    assert!(escape(&bytes).contains("Script killed by user"));
}

/// Makes the script slow when it calls PING.
fn arm_at_ping(bench: &mut Bench) {
    let control = bench.control.clone();
    bench.host.on_call = Some(Box::new(move |argv| {
        if argv[0] == b"ping" {
            control.arm();
        }
    }));
}

#[test]
fn a_killed_script_calls_no_more_commands() {
    let mut bench = Bench::default();
    let control = bench.control.clone();
    bench.host.on_slow = Some(Box::new(move |_| control.kill(EntryKind::Script).unwrap()));
    let script = "for i = 1, 1e6 do end for i = 1, 10 do pcall(redis.call, 'set', 'k', 'v') end";
    let id = bench.runtime.intern(script.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let running = bench.runtime.begin(id, 0);
    bench.control.arm();
    running.run(&[], &[], &mut bench.host, &mut Writer::new(&mut bytes, Protocol::Resp2));
    assert!(bench.host.calls.is_empty());
    assert_eq!(bench.control.kill(EntryKind::Script), Err(KillError::NotBusy));
}

/// Preparations, each with a single call that processes much of the prepared data.
const LONG_CALLS: &[(&str, &str)] = &[
    ("local s = string.rep('1', 1e7)", "tonumber(s)"),
    ("local s = string.rep('0', 1e7)", "tonumber(s)"),
    ("local s = string.rep(' ', 1e7)", "tonumber(s)"),
    ("local s = '1' .. string.rep(' ', 1e7)", "tonumber(s)"),
    ("local s = '1e' .. string.rep('1', 1e7)", "tonumber(s)"),
    ("local s = '0x' .. string.rep('f', 1e7)", "tonumber(s)"),
    ("local s = string.rep('f', 1e7)", "tonumber(s, 16)"),
    ("local s = string.rep(' ', 1e7) .. 'f'", "tonumber(s, 16)"),
    ("local s = string.rep('1', 1e7)", "local n = s + 1"),
    ("local s = string.rep('1', 1e7)", "for i = s, s do end"),
    ("local s = string.rep('1', 1e7)", "math.floor(s)"),
    ("local s = string.rep(' ', 1e7)", "loadstring(s)"),
    ("local s = string.rep('\\n', 1e7)", "loadstring(s)"),
    ("local s = '--' .. string.rep('x', 1e7)", "loadstring(s)"),
    ("local s = 'return \"' .. string.rep('x', 4e6) .. '\"'", "loadstring(s)"),
    ("local s = 'return [[' .. string.rep('x', 4e6) .. ']]'", "loadstring(s)"),
    ("local s = 'return ' .. string.rep('1', 4e6)", "loadstring(s)"),
    ("local s = 'local a local x = a' .. string.rep(' or a', 4e4)", "loadstring(s)"),
    ("local s = string.rep(' ', 1e7)", "load(function() local t = s s = nil return t end)"),
    ("local s = string.rep('x', 1e7)", "redis.sha1hex(s)"),
    ("local s = string.rep('x', 1e6)", "struct.pack(s)"),
    ("local s = string.rep('b', 1e6)", "struct.size(s)"),
    ("local s = string.rep('a', 1e7)", "string.find(s, 'a*$')"),
    ("local s = '(' .. string.rep('a', 1e7)", "string.find(s, '^%b()')"),
    ("local p = '[' .. string.rep('b', 1e6) .. 'a]'", "string.find('a', p)"),
    ("local s = string.rep('a', 1e4) local p = '[' .. string.rep('b', 1e3) .. 'a]*$'", "string.find(s, p)"),
    ("local s = string.rep('a', 4e6)", "string.upper(s)"),
    ("local s = string.rep('a', 4e6)", "string.reverse(s)"),
    ("local s = string.rep('a', 4e6)", "string.format('%q', s)"),
    ("local s = string.rep('a', 4e6)", "string.gsub(s, 'a', 'b')"),
    ("", "string.rep('a', 1e7)"),
    ("", "string.rep('ab', 5e6)"),
    ("local s = string.rep('\\0', 1e6)", "local b = s < s .. 'x'"),
    ("local t = {} for i = 1, 1e6 do t[i] = '' end", "table.concat(t)"),
    ("local t = {} for i = 1, 1e6 do t[i] = 1 end", "table.maxn(t)"),
    ("local t = {} for i = 1, 1e6 do t[i] = 1 end", "table.remove(t, 1)"),
    ("local t = {} for i = 1, 1e6 do t[i] = 1 end", "table.insert(t, 1, 1)"),
    ("local t = {} for i = 1, 1e6 do t[i] = 1 end", "table.sort(t)"),
    ("local t = {} for i = 1, 1e5 do t[i] = 1 end", "table.sort(t, rawequal)"),
    ("local t = {} for i = 1, 1e5 do t[i] = 1 end", "table.foreachi(t, math.randomseed)"),
    ("local t = {} for i = 1, 1e5 do t[i] = 1 end", "table.foreach(t, math.randomseed)"),
    ("local t = {} for i = 1, 1e5 do t[i] = {} end", "collectgarbage()"),
    (
        "local t = {} for i = 1, 1e6 do t[i] = {} end collectgarbage('setstepmul', 1e9)",
        "collectgarbage('step', 1e9)",
    ),
];

#[test]
fn a_single_long_call_can_be_killed() {
    on_engine_stack(|| {
        for (ready, call) in LONG_CALLS {
            let mut bench = Bench::with_memory(256 << 20);
            let control = bench.control.clone();
            // The first time is right after PING, the second one within the call.
            bench.host.on_slow = Some(Box::new(move |times| {
                if times == 2 {
                    control.kill(EntryKind::Script).unwrap();
                }
            }));
            arm_at_ping(&mut bench);
            let reply =
                bench.eval(&format!("{ready} redis.call('ping') {call} return redis.call('echo', 'done')"));
            assert!(reply.starts_with("-ERR Script killed by user"), "{ready} {call}: {reply}");
            assert_eq!(bench.host.calls.len(), 1, "{ready} {call} came to its end");
            assert_eq!(bench.eval("collectgarbage() return tonumber('12')"), ":12\\r\\n", "{ready} {call}");
        }
    });
}

/// Results that take long to count, to measure and to write.
const LONG_RESULTS: &[&str] = &[
    "local t = {1} for i = 1, 13 do t = {t, t} end",
    "local t = {1} for i = 1, 13 do t = {map = {a = t, b = t}} end",
    "local t = {} for i = 1, 5e4 do t[i] = i end",
    "local s, t = string.rep('x', 5e3), {} for i = 1, 100 do t[i] = s end",
    "local t = {} for i = 1, 5e4 do t[i] = i end t = {map = t}",
    "local t = {} for i = 1, 5e4 do t[i] = i end t = {set = t}",
    "local e, t = {err = 'MINE x'}, {} for i = 1, 5e4 do t[i] = e end",
];

/// Runs a script that becomes slow when it calls PING, and is killed when others have been served `last` times.
fn reply_when_killed_at(script: &str, last: usize) -> (String, Bench) {
    let mut bench = Bench::default();
    let control = bench.control.clone();
    bench.host.on_slow = Some(Box::new(move |times| {
        if times == last {
            control.kill(EntryKind::Script).unwrap();
        }
    }));
    arm_at_ping(&mut bench);
    let id = bench.runtime.intern(script.as_bytes()).unwrap();
    let mut bytes = b"*2\r\n:1\r\n".to_vec();
    let running = bench.runtime.begin(id, 0);
    running.run(&[], &[], &mut bench.host, &mut Writer::new(&mut bytes, Protocol::Resp2));
    (escape(&bytes), bench)
}

#[test]
fn a_result_that_takes_long_lets_others_be_served_and_its_script_be_killed() {
    for result in LONG_RESULTS {
        let script = format!("{result} redis.call('ping') return t");
        let (whole, bench) = reply_when_killed_at(&script, usize::MAX);
        let (served, errors) = (bench.host.slow, bench.host.errors);
        assert!(served > 20, "{result}: {served}");
        assert!(whole.len() > 100_000, "{result}");
        for last in 1..=served {
            let (reply, mut bench) = reply_when_killed_at(&script, last);
            let rest = reply.strip_prefix("*2\\r\\n:1\\r\\n-ERR Script killed by user with SCRIPT KILL...");
            let rest = rest.unwrap_or_else(|| panic!("{result} {last}: {}", &reply[..200]));
            assert!(rest.ends_with("\\r\\n") && rest.len() < 90, "{result} {last}: {rest}");
            assert_eq!(bench.host.errors.len(), 1);
            assert!(bench.host.errors[0].0 == "ERR " && bench.host.errors[0].2 == 1);
            assert_eq!(bench.eval("return 1"), ":1\\r\\n");
        }
        let expected: &[_] =
            if result.contains("MINE") { &[("MINE ".to_owned(), true, 50_000)] } else { &[] };
        assert_eq!(errors, expected, "{result}");
    }
}

#[test]
fn a_script_that_was_killed_before_its_write_does_not_write() {
    for script in
        ["redis.call('set', 'k', 'v')", "pcall(redis.call, 'set', 'k', 'v') redis.call('echo', 'x')"]
    {
        let mut bench = Bench::default();
        let control = bench.control.clone();
        // The script has prepared its arguments and calls the command: it does not notice the kill yet.
        bench.host.on_call = Some(Box::new(move |_| control.kill(EntryKind::Script).unwrap()));
        let reply = bench.eval(script);
        assert!(reply.starts_with("-ERR Script killed by user with SCRIPT KILL..."), "{reply}");
        assert!(bench.host.strings.is_empty());
        assert_eq!(bench.host.calls.len(), 1);
    }
}

#[test]
fn a_slow_script_looks_at_the_time_after_every_command() {
    let mut bench = Bench::default();
    arm_at_ping(&mut bench);
    bench.eval(&format!("redis.call('ping') {}", "redis.call('echo', 'x') ".repeat(400)));
    // Each command after the first reads the clock twice, and each reading takes a quarter of a millisecond.
    assert!(bench.host.slow >= 100, "{}", bench.host.slow);
}
