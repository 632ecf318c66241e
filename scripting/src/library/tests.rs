//! Tests of the permitted actions of a library function, and of their effects.

use super::buffer::Buffer;
use super::raise::Raise;
use super::registration::Constant;
use super::{Frame, Library, Value};
use crate::{EntryKind, Host, Options, Runtime, ScriptControl};
use lockwheel_resp::{Protocol, Reply, Writer};
use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const LIBRARY: Library = Library {
    name: c"t",
    functions: &[
        (c"fail", fail),
        (c"panic", |_| panic!("a library panics")),
        (c"fill", fill),
        (c"strings", strings),
        (c"numbers", numbers),
        (c"fields", fields),
        (c"tables", tables),
        (c"describe", describe),
        (c"walk", walk),
        (c"meddle", meddle),
        (c"number", |frame| frame.number(1).map(|_| 0)),
        (c"pop", |frame| {
            frame.pop(1);
            Ok(0)
        }),
        (c"lie", |_| Ok(1000)),
    ],
    constants: &[(c"ANSWER", Constant::Number(42))],
    settings: &[],
};

thread_local! {
    static ALIVE: Cell<isize> = const { Cell::new(0) };
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// A value whose drop would be missed if Lua jumped over it.
struct Alive;

impl Alive {
    fn new() -> Alive {
        ALIVE.set(ALIVE.get() + 1);
        Alive
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

fn fail(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let _alive = Alive::new();
    let text = frame.bytes(2)?.to_vec();
    Err(match frame.bytes(1)? {
        b"argument" => Raise::argument(2, text),
        b"reply" => Raise::reply(text),
        b"killed" => Raise::killed(),
        _ => Raise::error(text),
    })
}

/// Fills a buffer without end.
fn fill(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let (_alive, mut buffer) = (Alive::new(), Buffer::new(frame));
    loop {
        buffer.append(frame.bytes(1)?)?;
        STEPS.set(buffer.len());
    }
}

/// Makes strings without end.
fn strings(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let _alive = Alive::new();
    let mut text = frame.bytes(1)?.to_vec();
    loop {
        frame.push_bytes(&text)?;
        text[0] = text[0].wrapping_add(1);
    }
}

/// Pushes numbers without end.
fn numbers(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let _alive = Alive::new();
    for number in 0.. {
        frame.push_number(f64::from(number))?;
        STEPS.set(number as usize);
    }
    Ok(0)
}

/// Fills a table without end.
fn fields(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let _alive = Alive::new();
    frame.push_table(0, 0)?;
    for number in 0.. {
        frame.push_number(f64::from(number))?;
        frame.push_boolean(true)?;
        frame.set()?;
    }
    Ok(0)
}

/// Makes tables without end.
fn tables(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let _alive = Alive::new();
    frame.push_table(0, 0)?;
    for number in 0.. {
        frame.push_number(f64::from(number))?;
        frame.push_table(usize::MAX, usize::MAX)?;
        frame.set()?;
    }
    Ok(0)
}

/// A text of the argument, sorted where Lua defines no order.
fn describe(frame: &Frame<'_>) -> Result<c_int, Raise> {
    fn text(frame: &Frame<'_>, value: Value<'_>, depth: usize) -> Result<String, Raise> {
        let Value::Table(slot) = value else { return Ok(format!("{value:?}")) };
        if depth == 0 {
            return Err(Raise::error(b"nested too deep".as_slice()));
        }
        let mut parts = Vec::new();
        frame.each(slot, &mut |frame, key, value| {
            // Values left on the stack do no harm.
            frame.push_nil()?;
            parts.push(format!("{}={}", text(frame, key, depth - 1)?, text(frame, value, depth - 1)?));
            frame.push_number(1.0)
        })?;
        parts.sort();
        Ok(format!("{{{}}}", parts.join(", ")))
    }
    let text = text(frame, frame.value(1), 50)?;
    frame.push_bytes(text.as_bytes())?;
    Ok(1)
}

fn walk(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let _alive = Alive::new();
    loop {
        frame.each(1, &mut |_, _, _| {
            STEPS.set(STEPS.get() + 1);
            Ok(())
        })?;
    }
}

/// Changes a table that is being walked.
fn meddle(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let _alive = Alive::new();
    frame.each(1, &mut |frame, _, _| {
        frame.push_table(0, 0)?;
        frame.push_boolean(true)?;
        frame.push_boolean(true)?;
        frame.set()
    })?;
    Ok(0)
}

/// Kills the script when it has been slow for a certain time.
struct Killer {
    control: Arc<ScriptControl>,
    clock_us: Cell<u64>,
    times: usize,
}

impl Host for Killer {
    fn call(&mut self, _: &[&[u8]], reply: &mut dyn Reply) {
        reply.null();
    }

    fn log(&mut self, _: u8, _: &[u8]) {}

    fn on_slow(&mut self) {
        self.times -= 1;
        if self.times == 0 {
            self.control.kill(EntryKind::Script).unwrap();
        }
    }

    fn clock_us(&self) -> u64 {
        self.clock_us.set(self.clock_us.get() + 250);
        self.clock_us.get()
    }

    fn answered_error(&mut self, _: &[u8], _: bool, _: u64) {}

    fn may_run(&mut self, _: &[&[u8]]) -> Option<bool> {
        None
    }
}

struct Scripts {
    runtime: Runtime,
    control: Arc<ScriptControl>,
}

impl Scripts {
    fn new(memory_limit: usize) -> Scripts {
        let control = Arc::new(ScriptControl::new());
        let mut runtime = Runtime::new(Options { memory_limit, ..Options::default() }, control.clone());
        runtime.vm.open_library(&LIBRARY);
        Scripts { runtime, control }
    }

    /// Runs a script. If `slow`, it is slow, and is killed at the third time that others are served.
    fn run(&mut self, script: &str, slow: bool) -> String {
        let id = self.runtime.intern(script.as_bytes()).unwrap();
        let mut host = Killer { control: self.control.clone(), clock_us: Cell::new(0), times: 3 };
        let mut bytes = Vec::new();
        let running = self.runtime.begin(id, 0);
        if slow {
            self.control.arm();
        }
        let ran = catch_unwind(AssertUnwindSafe(|| {
            running.run(&[], &[], &mut host, &mut Writer::new(&mut bytes, Protocol::Resp2));
        }));
        assert_eq!(self.control.running(), None, "a panic ends it too");
        if let Err(panic) = ran {
            bytes.extend(format!("panic: {}", panic.downcast_ref::<&str>().unwrap()).bytes());
        }
        assert_eq!(ALIVE.get(), 0, "nothing was jumped over: {script}");
        assert_eq!(ALIVE.replace(0), 0);
        String::from_utf8(bytes).unwrap().replace(&self.runtime.sha(id).unwrap().to_string(), "SHA")
    }

    fn eval(&mut self, script: &str) -> String {
        self.run(script, false)
    }
}

#[test]
fn errors_have_luas_own_words_and_places() {
    let mut scripts = Scripts::new(16 << 20);
    let at = "script: SHA, on @user_script:1.\r\n";
    for (script, text) in [
        ("t.fail('', 'mine')", "-ERR user_script:1: mine"),
        ("t.fail('', 'mine\\0no more')", "-ERR user_script:1: mine"),
        ("t.fail('argument', 'it is odd')", "-ERR user_script:1: bad argument #2 to 'fail' (it is odd)"),
        ("t.fail('reply', 'mine')", "-ERR mine"),
        ("t.fail('reply', '-MINE x')", "-MINE x"),
        ("t.fail('killed', '')", "-ERR Script killed by user with SCRIPT KILL..."),
        ("pcall(t.fail, 'killed', '')", "-ERR Script killed by user with SCRIPT KILL..."),
        ("t.fail({})", "-ERR user_script:1: bad argument #2 to 'fail' (string expected, got no value)"),
        ("t.number()", "-ERR user_script:1: bad argument #1 to 'number' (number expected, got no value)"),
        ("t.number(nil)", "-ERR user_script:1: bad argument #1 to 'number' (number expected, got nil)"),
        ("t.number('x')", "-ERR user_script:1: bad argument #1 to 'number' (number expected, got string)"),
        ("t.number(t)", "-ERR user_script:1: bad argument #1 to 'number' (number expected, got table)"),
        ("t:number()", "-ERR user_script:1: calling 'number' on bad self (number expected, got table)"),
        ("local f = t.fail f('argument', 'x')", "-ERR user_script:1: bad argument #2 to 'f' (x)"),
    ] {
        assert_eq!(scripts.eval(script), format!("{text} {at}"), "{script}");
    }
    let caught = "local ok, e = pcall(t.fail, 'argument', 'x') return e";
    assert_eq!(scripts.eval(caught), "$26\r\nbad argument #2 to '?' (x)\r\n");
    assert_eq!(scripts.eval("return t.ANSWER"), ":42\r\n");
}

#[test]
fn no_library_takes_more_memory_than_there_is() {
    for script in [
        "t.fill('x')",
        "t.fill(string.rep('x', 1e6))",
        "t.fill(string.rep('x', 7e6))",
        "t.strings(string.rep('x', 1e5))",
        "t.strings(string.rep('x', 5e6))",
        "t.fields()",
        "t.tables()",
        "coroutine.wrap(function() t.fields() end)()",
    ] {
        let mut scripts = Scripts::new(16 << 20);
        let idle = scripts.runtime.memory_used();
        for _ in 0..3 {
            let reply = scripts.eval(&format!("local ok, e = pcall(function() {script} end) return e"));
            assert!(reply.contains("not enough memory"), "{script}: {reply}");
            let reply = scripts.eval(script);
            assert!(reply.contains("not enough memory"), "{script}: {reply}");
            assert!(scripts.runtime.memory_used() < idle + (9 << 20), "{script}");
        }
        assert_eq!(scripts.eval("return t.ANSWER"), ":42\r\n");
    }
}

#[test]
fn the_stack_has_a_bound() {
    let mut scripts = Scripts::new(16 << 20);
    for script in
        ["t.numbers()", "coroutine.wrap(function() t.numbers() end)()", "t.numbers(unpack({}, 1, 7900))"]
    {
        STEPS.set(0);
        let reply = scripts.eval(script);
        assert!(reply.contains("stack overflow (too many values)"), "{script}: {reply}");
        assert!((20..=8020).contains(&STEPS.get()), "{script}: {}", STEPS.get());
    }
}

#[test]
fn a_walk_shows_all_there_is_and_bears_nesting() {
    let mut scripts = Scripts::new(16 << 20);
    for (script, text) in [
        ("nil", "Nil"),
        ("", "None"),
        ("1.5", "Number(1.5)"),
        ("print", ""),
        ("type", "Other(\"function\")"),
        ("{}", "{}"),
        ("{true, x = false}", "{Number(1.0)=Boolean(true), String([120])=Boolean(false)}"),
        ("{{{1}}}", "{Number(1.0)={Number(1.0)={Number(1.0)=Number(1.0)}}}"),
        ("{[{}] = {}}", "{{}={}}"),
    ] {
        let reply = scripts.eval(&format!("return t.describe({script})"));
        if text.is_empty() {
            assert!(reply.contains("nonexistent global"), "{reply}");
        } else {
            assert_eq!(reply, format!("${}\r\n{text}\r\n", text.len()));
        }
    }
    let reply = scripts.eval("local t0 = {} t0.self = t0 return t.describe(t0)");
    assert!(reply.contains("nested too deep"), "{reply}");
    let reply = scripts.eval("local n = 0 for i = 1, 300 do n = n + #t.describe({i, {i}}) end return n");
    assert!(reply.starts_with(':'), "{reply}");
}

#[test]
fn what_takes_long_can_be_killed() {
    let mut scripts = Scripts::new(128 << 20);
    for script in [
        "local x = {} for i = 1, 1e5 do x[i] = i end t.walk(x)",
        "local x = {} for i = 1, 1e5 do x['k' .. i] = i end pcall(t.walk, x)",
        "t.number(string.rep('1', 3e7))",
        "t.number(string.rep(' ', 3e7))",
        "pcall(t.number, string.rep('1', 3e7))",
        "redis.sha1hex(string.rep('1', 3e7))",
        "redis.setresp(string.rep('0', 3e7) .. '2')",
        "t.fill(string.rep('x', 1e5))",
        "cjson.encode(string.rep('x', 3e7))",
        "local x = {} for i = 1, 1e5 do x[i] = i end cjson.encode(x)",
        "local x = {} for i = 1, 1e5 do x['k' .. i] = i end pcall(cjson.encode, x)",
        "cjson.encode_sparse_array(false, 0) cjson.encode({[1e6] = 1})",
        "cjson.decode(string.rep(' ', 3e7))",
        "cjson.decode(string.rep('1', 3e7))",
        "cjson.decode('0x' .. string.rep('1', 3e7))",
        "cjson.decode('1e' .. string.rep('1', 3e7))",
        "cjson.decode('nan(' .. string.rep('1', 3e7))",
        "cjson.decode('\"' .. string.rep('1', 3e7))",
        "cjson.decode('\"' .. string.rep('\\\\n', 1e6))",
        "cjson.decode('[' .. string.rep('1,', 1e5) .. '1]')",
        "local x = {} for i = 1, 1e5 do x[i] = i end cmsgpack.pack(x)",
        "local x = {} for i = 1, 1e5 do x['k' .. i] = i end pcall(cmsgpack.pack, x)",
        "local x = {} for i = 1, 1e6 do x[i] = i end for i = 1, 1e6 - 1 do x[i] = nil end cmsgpack.pack(x)",
        "local x = {} for i = 1, 14 do x = {x, x, x} end cmsgpack.pack(x)",
        "cmsgpack.unpack('\\221\\0\\1\\0\\0' .. string.rep('\\1', 65536))",
    ] {
        STEPS.set(0);
        let reply = scripts.run(&format!("{script} return 'not reached'"), true);
        assert!(reply.starts_with("-ERR Script killed by user with SCRIPT KILL..."), "{script}: {reply}");
        assert_eq!(scripts.eval("return 1"), ":1\r\n", "after {script}");
    }
    assert_eq!(scripts.eval("return t.number(string.rep('0', 5000) .. '2')"), "$-1\r\n");
    let reply = scripts.eval("t.number(string.rep('x', 5000))");
    assert!(reply.contains("number expected, got string"), "{reply}");
}

#[test]
fn a_mistake_of_a_library_ends_the_script_only() {
    let mut scripts = Scripts::new(16 << 20);
    for (script, text) in [
        ("pcall(t.panic) return 1", "a library panics"),
        ("coroutine.wrap(function() t.panic() end)() return 1", "a library panics"),
        ("t.meddle({1}) return 1", "no table changes while one is walked"),
        ("t.pop(1) return 1", "only what was pushed is popped"),
        ("t.lie() return 1", "results lie on the stack"),
    ] {
        let reply = scripts.eval(script);
        assert!(reply.starts_with("-ERR Script killed by user"), "{script}: {reply}");
        assert!(reply.ends_with(&format!("panic: {text}")), "{script}: {reply}");
        assert_eq!(scripts.eval("return t.ANSWER"), ":42\r\n");
    }
}
