//! Requests that are refused while memory exceeds `maxmemory` and no key may be evicted, compared with real servers
//! line by line.

use lockwheel_tests::family;
use lockwheel_tests::redis_server::Kind;

const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.";
const ABORTED: &str = "-EXECABORT Transaction discarded because of previous errors.";
const SHORT: &str = "-EXECABORT Transaction discarded because of: OOM command not allowed when used memory > \
                     'maxmemory'.";

#[test]
fn out_of_memory_refuses_only_commands_that_take_memory() {
    family::same_on(&[Kind::Redis], |s| {
        s.check("SET k v", "+OK").check("CONFIG SET maxmemory 1", "+OK");
        for line in [
            "SET k w",
            "APPEND k w",
            "LPUSH l 1",
            "HSET h f v",
            "ZADD z 1 m",
            "XADD s * f v",
            "SETRANGE k 1 x",
        ] {
            s.check(line, OOM);
        }
        s.check("GET k", "\"v\"").check("DEL none", ":0").check("EXPIRE k 100", ":1").check("EXISTS k", ":1");
        s.check("SET k", "-ERR wrong number of arguments for 'set' command");
        s.check("NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: ");
        s.check("SCRIPT LOAD 'return 1'", "\"e0e1f9fabfc9d4800c877a703b823ac0578ff8db\"");
        s.check("FUNCTION LOAD '#!lua name=l\\nredis.register_function(\"f\", function() end)'", OOM);
        s.check("CONFIG SET maxmemory 0", "+OK").check("SET k w", "+OK").check("GET k", "\"w\"");
    });
}

#[test]
fn out_of_memory_is_checked_in_the_order_of_redis() {
    family::same_on(&[Kind::Redis], |s| {
        s.check("ACL SETUSER u on nopass +@all -set ~*", "+OK").check("CONFIG SET maxmemory 1", "+OK");
        s.on("user").check("AUTH u x", "+OK");
        s.on("user").check("SET k v", "-NOPERM this user has no permissions to run the 'set' command");
        s.on("user").check("APPEND k v", OOM);
    });
}

#[test]
fn out_of_memory_refuses_queuing_and_executing_a_transaction() {
    family::same_on(&[Kind::Redis], |s| {
        s.check("MULTI", "+OK").check("SET k v", "+QUEUED").check("GET k", "+QUEUED");
        s.on("reader").check("MULTI", "+OK").check("GET k", "+QUEUED");
        s.on("other").check("CONFIG SET maxmemory 1", "+OK");
        s.check("EXEC", SHORT).check("EXEC", "-ERR EXEC without MULTI");
        s.on("reader").check("EXEC", "[(nil)]");
        s.check("MULTI", "+OK").check("GET k", OOM).check("EXEC", ABORTED);
        s.check("MULTI", "+OK").check("MULTI", OOM).check("PING", OOM).check("DISCARD", "+OK");
        s.check("MULTI", "+OK").check("RESET", "+RESET").check("EXEC", "-ERR EXEC without MULTI");
        s.check("CONFIG SET maxmemory 0", "+OK").check("EXISTS k", ":0");
        // The check at the beginning of the transaction holds to the end.
        s.check("MULTI", "+OK").check("CONFIG SET maxmemory 1", "+QUEUED").check("SET k v", "+QUEUED");
        s.check("EXEC", "[+OK, +OK]").check("SET k w", OOM);
    });
}

#[test]
fn a_script_exceeds_maxmemory_only_after_an_accepted_write() {
    family::same_on(&[Kind::Redis], |s| {
        s.check("SET x 1", "+OK").check("CONFIG SET maxmemory 1", "+OK");
        s.check(
            "EVAL \"redis.call('set','x',1)\" 0",
            "-OOM command not allowed when used memory > 'maxmemory'. script: \
             7b555bcca092c585f1bda693ec2b189d54b05a1c, on @user_script:1.",
        );
        s.check("EVAL \"return redis.pcall('set','x',1)\" 0", OOM);
        s.check(
            "EVAL \"redis.call('del','y') redis.call('set','x',2) return redis.call('get','x')\" 0",
            "\"2\"",
        );
        s.check("EVAL \"return redis.call('get','x')\" 0", "\"2\"");
    });
}

#[test]
fn out_of_memory_refuses_a_script_with_flags_as_a_whole() {
    family::same_on(&[Kind::Redis], |s| {
        let library = "#!lua name=l\\nredis.register_function('f', function() return redis.call('set','x',1) end)\\n\
                       redis.register_function{function_name='a', callback=function() return \
                       redis.call('set','x',1) end, flags={'allow-oom'}}\\n\
                       redis.register_function{function_name='r', callback=function() return \
                       redis.call('get','x') end, flags={'no-writes'}}";
        s.check(&format!("FUNCTION LOAD \"{library}\""), "\"l\"").check("SET x 0", "+OK");
        s.check("SCRIPT LOAD \"#!lua\\nreturn 1\"", "\"cb70127618f0b0be70c53cf6bfcfa54a29d9b0c0\"");
        s.check("CONFIG SET maxmemory 1", "+OK");
        s.check("EVAL \"#!lua\\nreturn 1\" 0", OOM);
        s.check("EVAL \"#!lua flags=allow-oom\\nredis.call('set','x',1) return 1\" 0", ":1");
        s.check("EVAL \"#!lua flags=no-writes\\nreturn 1\" 0", ":1").check("EVAL_RO \"return 1\" 0", ":1");
        s.check("EVAL_RO \"#!lua\\nreturn 1\" 0", OOM);
        s.check("EVALSHA cb70127618f0b0be70c53cf6bfcfa54a29d9b0c0 0", OOM);
        s.check(
            "EVALSHA 1b70127618f0b0be70c53cf6bfcfa54a29d9b0c0 0",
            "-NOSCRIPT No matching script. Please use EVAL.",
        );
        s.check("FCALL f 0", OOM)
            .check("FCALL_RO f 0", OOM)
            .check("FCALL a 0", "+OK")
            .check("FCALL r 0", "\"1\"");
        s.check("FCALL none 0", "-ERR Function not found");
        s.check("CONFIG SET maxmemory 0", "+OK").check("GET x", "\"1\"");
    });
}
