//! Parameters with rules of their own, compared with redis-server.

use lockwheel::Config;
use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::{Client, Protocol};
use lockwheel_tests::differences;
use lockwheel_tests::family::compare_lines;
use lockwheel_tests::ours;
use lockwheel_tests::pair::Pair;
use lockwheel_tests::redis_server::{Kind, RealServer};

/// Save points, most of them wrong.
const POINTS: &[&str] = &[
    "1 ",
    "1",
    " 1 2",
    "1 2 ",
    "1  2",
    "",
    " ",
    "  ",
    "1 2 3",
    "1 2 3 4",
    "1 2 3 4 ",
    "a b",
    "0 1",
    "-1 1",
    "1 -1",
    "1 0",
    "1 2 0 1",
    "1\\t2",
    "\\t1 2",
    "1 2x",
    "1.5 2",
    "0x10 5",
    "+1 +2",
    "01 02",
    "9223372036854775807 1",
    "99999999999999999999 1",
    "1 99999999999999999999",
    "2147483648 2147483648",
    "1 4294967297",
];

#[test]
fn save_points_are_read_as_by_redis() {
    let set = |points: &&str| format!("CONFIG SET save \"{points}\"\nCONFIG GET save\n");
    compare_lines(Kind::Redis, &POINTS.iter().map(set).collect::<String>());
}

/// A refused value is reported under the parameter's own name; an unknown parameter under the given name.
#[test]
fn refusals_name_parameters_as_redis_does() {
    compare_lines(
        Kind::Redis,
        "CONFIG SET MaxMemory-Clients x
         CONFIG SET LUA-TIME-LIMIT x
         CONFIG SET HZ 1 Hash-Max-ZipList-Entries x
         CONFIG SET DATABASES 3
         CONFIG SET Timeout 0 TIMEOUT 0
         CONFIG SET NoSuch 1",
    );
}

#[test]
fn unsupported_values_are_refused_as_by_redis() {
    compare_lines(
        Kind::Redis,
        "CONFIG SET activedefrag yes
         CONFIG SET activedefrag no
         CONFIG GET activedefrag
         CONFIG SET tls-cluster yes
         CONFIG SET tls-replication yes
         CONFIG SET maxclients 77 tls-replication yes
         CONFIG SET tls-cluster no tls-replication no
         CONFIG GET tls-cluster
         CONFIG GET tls-replication
         CONFIG GET maxclients
         CONFIG GET lua-enable-deprecated-api
         CONFIG GET lua-enable*
         CONFIG SET lua-enable-deprecated-api yes
         CONFIG SET lua-enable-deprecated-api no",
    );
}

#[test]
fn the_deprecated_lua_api_is_available_if_enabled() {
    let options = ["--lua-enable-deprecated-api", "yes"];
    let Some(real) = RealServer::start(Kind::Redis, &options) else { return };
    let mut config = Config::default();
    config.lua.enable_deprecated_api = true;
    let server = ours::configured(config).start().expect("loopback has a free port");
    let connect = |address| Client::connect_with(address, Protocol::Resp2);
    let (theirs, own) = (connect(real.addr()), connect(Endpoint::addr(&server)));
    let mut pair = Pair::new(theirs, own, differences::against(Kind::Redis));
    for line in [
        "CONFIG GET lua-enable-deprecated-api",
        "CONFIG SET lua-enable-deprecated-api no",
        "EVAL \"return {type(newproxy), type(getfenv), type(setfenv)}\" 0",
        "EVAL \"return print\" 0",
        "EVAL \"return dofile\" 0",
        "EVAL \"local p = newproxy(true) getmetatable(p).__len = function() return 7 end return #p\" 0",
        "EVAL \"return type(getmetatable(newproxy()))\" 0",
        "EVAL \"local f = setfenv(function() return x end, {x = 5}) return f()\" 0",
        "EVAL \"return tostring(getfenv() == _G)\" 0",
        "EVAL \"return tostring(getfenv(tostring) == _G)\" 0",
        "EVAL \"getfenv(0).x = 1\" 0",
        "EVAL \"return setfenv(tostring, {})\" 0",
        "EVAL \"local g = getfenv() setfenv(1, {redis = redis}) return redis.call('ping')\" 0",
        "EVAL \"return setfenv(9, {})\" 0",
        "EVAL \"return getfenv(-1)\" 0",
        "EVAL \"return type(getfenv(0))\" 0",
    ] {
        pair.check(line);
    }
}

#[test]
fn the_deprecated_lua_api_does_not_affect_later_scripts() {
    let mut config = Config::default();
    config.lua.enable_deprecated_api = true;
    let server = ours::configured(config).start().expect("loopback has a free port");
    let mut client = Client::connect(Endpoint::addr(&server));
    let mut check = |line: &str, expected: &str| {
        let reply = client.line(line).to_string();
        assert!(reply.starts_with(expected), "{line}: {reply}");
    };
    check(
        "EVAL \"setfenv(0, {})\" 0",
        "-ERR user_script:1: 'setfenv' cannot change environment of given object",
    );
    let with_finalizer = "local n = 0 for i = 1, 1000 do \
         getmetatable(newproxy(true)).__gc = function() redis.call('SET', 'ran', '1') error('x') end end \
         collectgarbage() return n";
    check(&format!("EVAL \"{with_finalizer}\" 0"), ":0");
    check("SCRIPT FLUSH", "+OK");
    check("EVAL \"collectgarbage() return redis.call('EXISTS', 'ran')\" 0", ":0");
    check("EVAL \"return cjson.encode({1})\" 0", "\"[1]\"");
}
