//! Tests of libraries of functions: their globals while they are loaded and while they run, and their limits. The error
//! texts are those of redis-server 7.0.15.

use crate::mock::{Bench, escape};
use lockwheel_resp::{Protocol, Writer};
use lockwheel_scripting::{EntryKind, FunctionId, Registered};

/// Half a second from now, by the host's clock.
const TIMEOUT_US: u64 = 500_000;

impl Bench {
    /// Loads a library whose second line is `code`.
    fn load(&mut self, code: &str) -> Result<Vec<Registered>, String> {
        let until_us = self.host.clock_us.get() + TIMEOUT_US;
        let loaded = self.runtime.load_library(format!("\n{code}").as_bytes(), until_us, &mut self.host);
        loaded.map_err(|error| error.to_string())
    }

    /// The error of a library that has been compiled.
    fn load_error(&mut self, code: &str) -> String {
        let error = self.load(code).expect_err(code);
        let about = error.strip_prefix("ERR Error registering functions: ERR ");
        about.unwrap_or(&error).to_owned()
    }

    /// Calls a function.
    fn call(&mut self, id: FunctionId, keys: &[&[u8]], args: &[&[u8]]) -> String {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, Protocol::Resp2);
        self.runtime.begin(id, 0).run(keys, args, &mut self.host, &mut writer);
        escape(&bytes)
    }

    /// Loads a library with one function, `f(keys, args)`, and calls it.
    fn call_body(&mut self, body: &str) -> String {
        let code =
            format!("local load = redis redis.register_function('f', function(keys, args) {body} end)");
        let functions = self.load(&code).expect("it can be loaded");
        let reply = self.call(functions[0].id, &[b"k"], &[b"a", b"b"]);
        self.runtime.forget_functions([functions[0].id]);
        reply
    }
}

#[test]
fn functions_get_their_keys_and_arguments_in_new_tables() {
    let mut bench = Bench::default();
    let reply = bench.call_body("return {#keys, #args, keys[1], args[2], type(args[3])}");
    assert_eq!(reply, "*5\\r\\n:1\\r\\n:2\\r\\n$1\\r\\nk\\r\\n$1\\r\\nb\\r\\n$3\\r\\nnil\\r\\n");
    let code = "local kept redis.register_function('f', function(keys) \
                local first = kept and kept[1] kept = kept or keys return first end)";
    let f = bench.load(code).unwrap()[0].id;
    assert_eq!(bench.call(f, &[b"one"], &[]), "$-1\\r\\n");
    assert_eq!(bench.call(f, &[b"two"], &[]), "$3\\r\\none\\r\\n");
}

#[test]
fn errors_say_which_function_and_where() {
    let mut bench = Bench::default();
    for (body, reply) in [
        ("error('x')", "-ERR user_function:2: x script: f, on @user_function:2."),
        ("error({err='MY e'})", "-MY e script: f, on @user_function:2."),
        (
            "return redis.call('get', 'l')",
            "-WRONGTYPE Operation against a key holding the wrong kind of value script: f, on @user_function:2.",
        ),
        (
            "return redis.pcall('get', 'l')",
            "-WRONGTYPE Operation against a key holding the wrong kind of value",
        ),
        (
            "return loadstring('x=1')()",
            "-ERR [string \"x=1\"]:1: Attempt to modify a readonly table script: f, on x=1:1.",
        ),
    ] {
        assert_eq!(bench.call_body(body), format!("{reply}\\r\\n"), "{body}");
    }
}

#[test]
fn functions_have_the_globals_of_scripts_but_a_few() {
    let mut bench = Bench::default();
    for name in ["KEYS", "ARGV", "__redis__err__handler", "print", "setfenv", "x"] {
        let error = format!(
            "-ERR user_function:2: Script attempted to access nonexistent global variable '{name}' \
             script: f, on @user_function:2.\\r\\n"
        );
        assert_eq!(bench.call_body(&format!("return {name}")), error);
    }
    for name in ["register_function", "breakpoint", "debug", "replicate_commands"] {
        assert_eq!(bench.call_body(&format!("return type(redis.{name})")), "$3\\r\\nnil\\r\\n");
    }
    for name in ["redis.call", "redis.sha1hex", "string.rep", "math.random", "struct.pack", "_G.pcall"] {
        assert_eq!(bench.call_body(&format!("return type({name})")), "$8\\r\\nfunction\\r\\n");
    }
    for change in
        ["x = 1", "_G.x = 1", "redis.x = 1", "string.x = 1", "load.x = 1", "getmetatable(_G).__index = nil"]
    {
        let reply = bench.call_body(change);
        assert!(reply.contains("user_function:2: Attempt to modify a readonly table"), "{change}: {reply}");
    }
}

#[test]
fn what_a_library_kept_of_its_loading_is_of_no_use_later() {
    let mut bench = Bench::default();
    let reply = bench.call_body("load.register_function('g', function() end)");
    assert!(
        reply.contains("-ERR redis.register_function can only be called on FUNCTION LOAD command"),
        "{reply}"
    );
    let reply = bench.call_body("return load.call");
    assert!(reply.contains("nonexistent global variable 'call'"), "{reply}");
    let names = "local t = {} for name in pairs(load) do t[#t + 1] = name end table.sort(t) \
                 return table.concat(t, ' ')";
    let reply = bench.call_body(names);
    let names =
        "LOG_DEBUG LOG_NOTICE LOG_VERBOSE LOG_WARNING REDIS_VERSION REDIS_VERSION_NUM log register_function";
    assert!(reply.contains(names), "{reply}");
}

#[test]
fn a_library_sees_hardly_anything_while_it_is_loaded() {
    let mut bench = Bench::default();
    let missing = |name: &str| {
        format!("user_function:2: Script attempted to access nonexistent global variable '{name}'")
    };
    for name in [
        "_G",
        "KEYS",
        "cjson",
        "coroutine",
        "error",
        "getmetatable",
        "math",
        "next",
        "os",
        "pairs",
        "pcall",
        "string",
        "table",
        "tostring",
        "type",
        "x",
    ] {
        assert_eq!(bench.load_error(&format!("local x = {name}")), missing(name));
    }
    for name in ["call", "pcall", "error_reply", "setresp", "sha1hex", "x"] {
        assert_eq!(bench.load_error(&format!("redis.{name}('ping')")), missing(name));
    }
    let readonly = "user_function:2: Attempt to modify a readonly table";
    assert_eq!(bench.load_error("x = 1"), readonly);
    assert_eq!(bench.load_error("redis.x = 1"), readonly);
    assert_eq!(bench.load_error("redis.log('x')"), "redis.log() requires two arguments or more.");
    assert_eq!(
        bench.load_error("local x = nil + 1"),
        "user_function:2: attempt to perform arithmetic on a nil value"
    );
    let compile = "ERR Error compiling function: user_function:2: unexpected symbol near '<eof>'";
    assert_eq!(bench.load("x ="), Err(compile.to_owned()));
    bench.load("redis.log(redis.LOG_NOTICE, ('ab'):rep(2), redis.REDIS_VERSION)").unwrap();
    assert_eq!(bench.host.logged, [(2, b"abab 7.2.5".to_vec())]);
}

#[test]
fn scripts_have_their_globals_whatever_libraries_do() {
    let mut bench = Bench::default();
    bench.load_error("while true do end");
    bench.load("redis.register_function('f', function() end)").unwrap();
    assert_eq!(
        bench.eval("return type(KEYS) .. type(redis.call) .. type(pcall)"),
        "$21\\r\\ntablefunctionfunction\\r\\n"
    );
    assert_eq!(bench.call_body("return type(pcall)"), "$8\\r\\nfunction\\r\\n");
}

#[test]
fn what_is_wrong_with_a_registration_is_said_in_redis_words() {
    let mut bench = Bench::default();
    const TABLE: &str = "calling redis.register_function with a single argument is only applicable to Lua table \
                         (representing named arguments).";
    const NAME: &str = "Library names can only contain letters, numbers, or underscores(_) and must be at least one \
                        character long";
    const COUNT: &str = "wrong number of arguments to redis.register_function";
    const FIRST: &str = "first argument to redis.register_function must be a string";
    const SECOND: &str = "second argument to redis.register_function must be a function";
    const NO_NAME: &str = "redis.register_function must get a function name argument";
    const KEY: &str = "named argument key given to redis.register_function is not a string";
    const UNKNOWN: &str = "unknown argument given to redis.register_function";
    for (arguments, error) in [
        ("", COUNT),
        ("'a'", TABLE),
        ("1", TABLE),
        ("nil", TABLE),
        ("{}, 1", FIRST),
        ("nil, nil", FIRST),
        ("{}, function() end", FIRST),
        ("'a', 1", SECOND),
        ("'a', nil", SECOND),
        ("'a', function() end, 1", COUNT),
        ("'', function() end", NAME),
        ("'a b', function() end", NAME),
        ("'a\\0b', function() end", NAME),
        ("'\\195\\164', function() end", NAME),
        ("{}", NO_NAME),
        ("{callback = function() end}", NO_NAME),
        ("{function_name = 'a'}", "redis.register_function must get a callback argument"),
        ("{function_name = {}}", "function_name argument given to redis.register_function must be a string"),
        ("{callback = 1}", "callback argument given to redis.register_function must be a function"),
        ("{description = {}}", "description argument given to redis.register_function must be a string"),
        (
            "{flags = 1}",
            "flags argument to redis.register_function must be a table representing function flags",
        ),
        ("{flags = {1}}", "unknown flag given"),
        ("{flags = {'no-writes', 'x'}}", "unknown flag given"),
        ("{x = 1}", UNKNOWN),
        ("{1}", UNKNOWN),
        ("{[{}] = 1}", KEY),
        ("{[true] = 1}", KEY),
    ] {
        assert_eq!(bench.load_error(&format!("redis.register_function({arguments})")), error, "{arguments}");
    }
    let twice = "redis.register_function('a', function() end) ".repeat(2);
    assert_eq!(bench.load_error(&twice), "Function already exists in the library");
}

#[test]
fn a_registration_says_name_flags_and_description() {
    let mut bench = Bench::default();
    let code = "redis.register_function(1, redis.log) redis.register_function{Function_Name = 'b', CALLBACK = \
                function() end, description = 7, flags = {'NO-WRITES', 'allow-oom', nil, 'no-cluster'}} \
                redis.register_function{function_name = 'B', callback = function() end, description = 'x\\0\\r\\n', \
                flags = {x = 'allow-stale'}}";
    let functions = bench.load(code).unwrap();
    let seen: Vec<_> = functions
        .iter()
        .map(|function| {
            (&*function.name, function.description.as_deref(), function.flags.names().collect::<Vec<_>>())
        })
        .collect();
    let expected = [
        (&b"1"[..], None, vec![]),
        (b"B", Some(&b"x\0\r\n"[..]), vec![]),
        (b"b", Some(b"7"), vec!["no-writes", "allow-oom"]),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn what_a_failed_library_has_registered_is_gone() {
    let mut bench = Bench::default();
    let kept = bench.load("redis.register_function('kept', function() return 'kept' end)").unwrap()[0].id;
    bench.load_error("redis.register_function('a', function() return 'a' end) local x = nil + 1");
    let next = bench.load("redis.register_function('b', function() return 'b' end)").unwrap()[0].id;
    assert_eq!(bench.call(kept, &[], &[]), "$4\\r\\nkept\\r\\n");
    assert_eq!(bench.call(next, &[], &[]), "$1\\r\\nb\\r\\n");
    bench.runtime.forget_functions([kept]);
    assert_eq!(bench.call(kept, &[], &[]), "-ERR Function not found\\r\\n");
    bench.runtime.flush_functions();
    assert_eq!(bench.call(next, &[], &[]), "-ERR Function not found\\r\\n");
    assert_eq!(bench.runtime.functions_memory_used(), 0);
}

#[test]
fn loading_ends_when_its_time_is_over() {
    let timeout = "FUNCTION LOAD timeout";
    let mut bench = Bench::default();
    for code in [
        "while true do end",
        "local function f() return f() end f()",
        "redis.register_function('f', function() end) for i = 1, 1e18 do end",
        "local s = ('a'):rep(60) s:find(('a?'):rep(60) .. ('a'):rep(61))",
        "local i = 0 while true do i = i + 1 redis.register_function('f' .. i, function() end) end",
    ] {
        assert_eq!(bench.load_error(code), timeout, "{code}");
        assert_eq!(bench.control.running(), None);
    }
    assert_eq!(bench.call_body("return 1"), ":1\\r\\n");
    let long = format!("local x = 1 {}", "x = x + 1 ".repeat(300_000));
    let until_us = bench.host.clock_us.get() + 1000;
    let loaded = bench.runtime.load_library(long.as_bytes(), until_us, &mut bench.host);
    let error = loaded.expect_err("compiling takes long").to_string();
    assert_eq!(error, format!("ERR Error registering functions: ERR {timeout}"));
}

#[test]
fn loading_and_functions_have_the_memory_that_scripts_have() {
    let mut bench = Bench::with_memory(8 << 20);
    for code in [
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do t[#t + 1] = {} end",
        "local function f(x) return f(x .. 'x' .. x) .. x end f('x')",
        "local i = 0 while true do i = i + 1 redis.register_function('f' .. i, function() end) end",
        "redis.register_function{function_name = 'f', callback = function() end, description = ('x'):rep(5e6)}",
    ] {
        // The loading has enough time.
        let loaded = bench.runtime.load_library(code.as_bytes(), u64::MAX, &mut bench.host);
        let error = loaded.expect_err("it takes too much").to_string();
        assert!(error.contains("not enough memory"), "{code}: {error}");
        let left = bench.runtime.functions_memory_used();
        assert!(left < 1 << 20, "{code}: {left}");
    }
    let reply = bench.call_body("local s = 'x' while true do s = s .. s end");
    assert!(reply.contains("not enough memory"), "{reply}");
    assert_eq!(bench.call_body("return 1"), ":1\\r\\n");
}

#[test]
fn a_function_is_killed_as_a_script_is() {
    let mut bench = Bench::default();
    let code = "redis.register_function('f', function() while true do pcall(function() while true do end end) end end)";
    let id = bench.load(code).unwrap()[0].id;
    let control = bench.control.clone();
    bench.host.on_slow = Some(Box::new(move |times| {
        if times > 1 {
            control.kill(EntryKind::Function).unwrap();
        }
    }));
    let running = bench.runtime.begin(id, 5);
    bench.control.arm();
    let mut bytes = Vec::new();
    running.run(&[], &[], &mut bench.host, &mut Writer::new(&mut bytes, Protocol::Resp2));
    let killed = "-ERR Script killed by user with SCRIPT KILL... script: f, on @user_function:2.\\r\\n";
    assert_eq!(escape(&bytes), killed);
}

#[test]
fn random_numbers_go_on_from_scripts_to_functions() {
    let (mut bench, mut other) = (Bench::default(), Bench::default());
    let random = "return math.random(1000000)";
    let first = [bench.eval(random), bench.call_body(random), bench.eval(random)];
    let second = [other.call_body(random), other.call_body(random), other.eval(random)];
    assert_eq!(first, second);
    assert_ne!(first[0], first[1]);
}
