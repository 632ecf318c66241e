//! Tests that scripts do not affect each other.

use crate::mock::Bench;

#[test]
fn globals_are_those_of_redis() {
    let mut bench = Bench::default();
    let script = "local names = {}
        local function walk(prefix, t)
            for k, v in pairs(t) do
                names[#names + 1] = prefix .. k
                if type(v) == 'table' and v ~= _G and v ~= KEYS and v ~= ARGV then walk(prefix .. k .. '.', v) end
            end
        end
        walk('', _G) table.sort(names) return table.concat(names, ' ')";
    let names = "ARGV KEYS _G _VERSION __redis__err__handler assert bit bit.arshift bit.band bit.bnot bit.bor \
        bit.bswap bit.bxor bit.lshift bit.rol bit.ror bit.rshift bit.tobit bit.tohex cjson cjson._NAME \
        cjson._VERSION cjson.decode cjson.decode_invalid_numbers cjson.decode_max_depth cjson.encode \
        cjson.encode_invalid_numbers cjson.encode_keep_buffer cjson.encode_max_depth \
        cjson.encode_number_precision cjson.encode_sparse_array cjson.new cjson.null cmsgpack \
        cmsgpack._COPYRIGHT cmsgpack._DESCRIPTION cmsgpack._NAME cmsgpack._VERSION cmsgpack.pack \
        cmsgpack.unpack cmsgpack.unpack_limit cmsgpack.unpack_one collectgarbage coroutine coroutine.create \
        coroutine.resume coroutine.running coroutine.status coroutine.wrap coroutine.yield error gcinfo \
        getmetatable ipairs load loadstring math math.abs math.acos math.asin math.atan math.atan2 math.ceil \
        math.cos math.cosh math.deg math.exp math.floor math.fmod math.frexp math.huge math.ldexp math.log \
        math.log10 math.max math.min math.mod math.modf math.pi math.pow math.rad math.random \
        math.randomseed math.sin math.sinh math.sqrt math.tan math.tanh next os os.clock pairs pcall \
        rawequal rawget rawset redis redis.LOG_DEBUG redis.LOG_NOTICE redis.LOG_VERBOSE redis.LOG_WARNING \
        redis.REDIS_VERSION redis.REDIS_VERSION_NUM redis.REPL_ALL redis.REPL_AOF redis.REPL_NONE \
        redis.REPL_REPLICA redis.REPL_SLAVE redis.acl_check_cmd redis.breakpoint redis.call redis.debug \
        redis.error_reply redis.log redis.pcall redis.replicate_commands redis.set_repl redis.setresp \
        redis.sha1hex redis.status_reply select setmetatable string string.byte string.char string.dump \
        string.find string.format string.gfind string.gmatch string.gsub string.len string.lower \
        string.match string.rep string.reverse string.sub string.upper struct struct.pack struct.size \
        struct.unpack table table.concat table.foreach table.foreachi table.getn table.insert table.maxn \
        table.remove table.setn table.sort tonumber tostring type unpack xpcall";
    assert_eq!(bench.eval(script), format!("${}\\r\\n{names}\\r\\n", names.len()));
    let script = "return {redis.REDIS_VERSION, redis.REDIS_VERSION_NUM, redis.LOG_WARNING, redis.REPL_ALL}";
    assert_eq!(bench.eval(script), "*4\\r\\n$5\\r\\n7.2.5\\r\\n:459269\\r\\n:3\\r\\n:3\\r\\n");
}

#[test]
fn nothing_shared_can_be_changed() {
    let mut bench = Bench::default();
    for target in [
        "_G",
        "redis",
        "string",
        "table",
        "math",
        "os",
        "struct",
        "cjson",
        "cmsgpack",
        "bit",
        "coroutine",
        "getmetatable('')",
        "getmetatable(_G)",
    ] {
        for change in [
            "T.x = 1",
            "T[1] = 1",
            "rawset(T, 'x', 1)",
            "setmetatable(T, {})",
            "setmetatable(T, nil)",
            "table.insert(T, 1)",
            "for k in pairs(T) do T[k] = nil end",
            "for k in pairs(T) do rawset(T, k, 1) end",
        ] {
            let script = format!("local T = {target} {change}");
            let reply = bench.eval(&script);
            assert!(reply.contains("Attempt to modify a readonly table"), "{script}: {reply}");
        }
    }
    for script in
        ["x = 1", "function f() end", "KEYS = {}", "redis.call = nil", "string.format = nil", "_G = {}"]
    {
        let reply = bench.eval(script);
        assert!(reply.contains("Attempt to modify a readonly table"), "{script}: {reply}");
    }
}

#[test]
fn arguments_are_as_if_fresh() {
    let mut bench = Bench::default();
    let meddle = "KEYS[1] = 'changed' KEYS[3] = 'more' KEYS.x = 1 ARGV[2] = nil
        setmetatable(KEYS, {__index = function() return 'leak' end, __len = error}) KEYS.self = ARGV ARGV.self = KEYS";
    let look = "local r = {#KEYS, #ARGV, tostring(getmetatable(KEYS)), tostring(KEYS.x), tostring(KEYS[3])}
        for k, v in pairs(KEYS) do r[#r + 1] = k .. '=' .. v end
        for k, v in pairs(ARGV) do r[#r + 1] = k .. '=' .. v end
        return table.concat(r, ' ')";
    for _ in 0..3 {
        assert_eq!(bench.eval_with(meddle, &[b"a", b"b"], &[b"c", b"d"]), "$-1\\r\\n");
        assert_eq!(
            bench.eval_with(look, &[b"a", b"b"], &[b"c"]),
            "$27\\r\\n2 1 nil nil nil 1=a 2=b 1=c\\r\\n"
        );
        assert_eq!(bench.eval_with(look, &[], &[]), "$15\\r\\n0 0 nil nil nil\\r\\n");
    }
    let remove = "local first = table.remove(ARGV, 1) return {first, #ARGV, ARGV[1]}";
    for _ in 0..2 {
        assert_eq!(
            bench.eval_with(remove, &[], &[b"x", b"y"]),
            "*3\\r\\n$1\\r\\nx\\r\\n:1\\r\\n$1\\r\\ny\\r\\n"
        );
    }
    assert_eq!(bench.eval_with("return ARGV[1]", &[], &[b"\0\r\n\xff"]), "$4\\r\\n\\x00\\r\\n\\xff\\r\\n");
}

#[test]
fn a_script_is_one_function() {
    let mut bench = Bench::default();
    for script in [
        "return 1 end redis.call('ping') function x()",
        "end",
        "return 1 return 2",
        "local f = function() end end",
    ] {
        let reply = bench.eval(script);
        assert!(
            reply.starts_with("-ERR Error compiling script (new function): user_script:1: "),
            "{script}: {reply}"
        );
    }
}

#[test]
fn the_protocol_is_the_scripts_own() {
    let mut bench = Bench::default();
    assert_eq!(bench.eval("redis.setresp(3) return type(redis.call('reply', 'null'))"), "$3\\r\\nnil\\r\\n");
    assert_eq!(bench.eval("return type(redis.call('reply', 'null'))"), "$7\\r\\nboolean\\r\\n");
}

/// SCRIPT FLUSH makes a new interpreter in Redis, with the initial settings.
#[test]
fn settings_of_a_library_stay_until_the_scripts_are_flushed() {
    let mut bench = Bench::default();
    let set =
        "cjson.encode_number_precision(3) cjson.encode_max_depth(1) cjson.encode_invalid_numbers('null')";
    assert_eq!(bench.eval(set), "$-1\\r\\n");
    let show = "return {cjson.encode(1 / 3), cjson.encode(0 / 0), (pcall(cjson.encode, {{}}))}";
    assert_eq!(bench.eval(show), "*3\\r\\n$5\\r\\n0.333\\r\\n$4\\r\\nnull\\r\\n$-1\\r\\n");
    bench.runtime.flush();
    let reply = bench.eval("return {cjson.encode(1 / 3), (pcall(cjson.encode, 0 / 0)), cjson.encode({{}})}");
    assert_eq!(reply, "*3\\r\\n$16\\r\\n0.33333333333333\\r\\n$-1\\r\\n$4\\r\\n[{}]\\r\\n");
    assert!(bench.eval("cjson.x = 1").contains("Attempt to modify a readonly table"));
}

#[test]
fn each_cjson_instance_has_separate_settings() {
    let mut bench = Bench::default();
    let script = "local a, b = cjson.new(), cjson.new() a.encode_number_precision(2) a.x = 1 collectgarbage()
        return {a.encode(1 / 3), b.encode(1 / 3), cjson.encode(1 / 3), tostring(b.x), tostring(a.null == b.null)}";
    let long = "$16\\r\\n0.33333333333333\\r\\n";
    assert_eq!(
        bench.eval(script),
        format!("*5\\r\\n$4\\r\\n0.33\\r\\n{long}{long}$3\\r\\nnil\\r\\n$4\\r\\ntrue\\r\\n")
    );
    // Many libraries are only garbage.
    assert_eq!(bench.eval("for i = 1, 1e5 do cjson.new() end return 1"), ":1\\r\\n");
}
