//! Every shape of loop ends when it is killed.

use crate::mock::{Bench, escape, on_engine_stack};
use lockwheel_resp::{Protocol, Writer};
use lockwheel_scripting::KillError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Scripts that never end by themselves. None writes.
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
    // Long without a loop of the script's own.
    "string.find(string.rep('a', 60), string.rep('a?', 60) .. string.rep('a', 61))",
    "string.match(string.rep('a', 500000), '(.-)b')",
    "string.gsub(string.rep('a', 500000), '(.-)(.-)(.-)b', '')",
    "for x in string.gmatch(string.rep('a', 500000), '.-.-.-b') do end",
    "string.find(string.rep('a', 4000000), string.rep('a', 2000000) .. 'b', 1, true)",
    "table.insert({}, -2147483647, 1)",
    "string.rep('', 2147483647) while true do end",
    "local t = {} for i = 1, 1000000 do t[i] = i % 7 end while true do table.sort(t) end",
];

/// Runs a script while another thread first declares it slow, then kills it.
fn run_and_kill(script: &str) -> String {
    let mut bench = Bench::default();
    let control = bench.control.clone();
    let id = bench.runtime.intern(script.as_bytes()).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    control.begin(0);
    let killer = {
        let (control, done) = (control.clone(), done.clone());
        std::thread::spawn(move || {
            // It runs already, or at once: a signal that comes before it is as good.
            control.arm();
            control.kill().unwrap();
            while !done.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        })
    };
    let mut bytes = Vec::new();
    bench.runtime.run(id, &[], &[], &mut bench.host, &mut Writer::new(&mut bytes, Protocol::Resp2));
    control.end();
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
                    control.kill().unwrap();
                }
            }));
            let id = bench.runtime.intern(script.as_bytes()).unwrap();
            let mut bytes = Vec::new();
            arm.begin(5);
            arm.arm();
            bench.runtime.run(id, &[], &[], &mut bench.host, &mut Writer::new(&mut bytes, Protocol::Resp2));
            arm.end();
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
    bench.control.begin(0);
    bench.control.arm();
    bench.runtime.run(id, &[], &[], &mut bench.host, &mut Writer::new(&mut bytes, Protocol::Resp2));
    bench.control.end();
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
        seen.lock().unwrap().push(control.kill());
        if times == 3 {
            control.force_kill();
        }
    }));
    let id = bench.runtime.intern(b"redis.call('set', 'k', 'v') while true do end").unwrap();
    let mut bytes = Vec::new();
    bench.control.begin(0);
    bench.control.arm();
    bench.runtime.run(id, &[], &[], &mut bench.host, &mut Writer::new(&mut bytes, Protocol::Resp2));
    assert!(bench.control.has_written());
    bench.control.end();
    assert_eq!(*outcome.lock().unwrap(), vec![Err(KillError::Unkillable); 3]);
    assert!(escape(&bytes).contains("Script killed by user"));
}

#[test]
fn a_killed_script_calls_no_more_commands() {
    let mut bench = Bench::default();
    let control = bench.control.clone();
    bench.host.on_slow = Some(Box::new(move |_| control.kill().unwrap()));
    let script = "for i = 1, 1e6 do end for i = 1, 10 do pcall(redis.call, 'set', 'k', 'v') end";
    let id = bench.runtime.intern(script.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    bench.control.begin(0);
    bench.control.arm();
    bench.runtime.run(id, &[], &[], &mut bench.host, &mut Writer::new(&mut bytes, Protocol::Resp2));
    bench.control.end();
    assert!(bench.host.calls.is_empty());
    assert_eq!(bench.control.kill(), Err(KillError::NotBusy));
}
