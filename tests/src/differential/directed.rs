//! Lines that are always sent, because chance would find them too late or not at all; and what is produced by other
//! tests.

use std::collections::BTreeSet;

/// Lines on empty servers, by the command that they are for.
const LINES: &[(&str, &[&str])] = &[
    ("set", &["MULTI", "SET s v PXAT 1", "GET s", "SET t v EXAT 1 GET", "RENAMENX t u", "EXEC"]),
    ("append", &["SETRANGE s 536870911 x", "APPEND s yy", "STRLEN s", "DEL s"]),
    (
        "expire",
        &["SET s v", "EXPIRE s 100000 GT LT", "EXPIRE s 100000 NX XX", "EXPIRE s 9223372036854775807"],
    ),
    (
        "pexpire",
        &["SET s v", "PEXPIRE s 100000000 GT LT", "PEXPIRE s 1 NX GT", "PEXPIRE s 9223372036854775807"],
    ),
    ("expireat", &["SET s v", "EXPIREAT s 4102444800 GT LT", "EXPIREAT s 4102444800 NX LT"]),
    ("pexpireat", &["SET s v", "PEXPIREAT s 4102444800000 LT GT", "PEXPIREAT s 4102444800000 XX NX"]),
    (
        "incrbyfloat",
        &["SET s 1", "INCRBYFLOAT s inf", "INCRBYFLOAT s 1e4931", "INCRBYFLOAT s 0x10", "INCRBYFLOAT s nan"],
    ),
    (
        "hincrbyfloat",
        &[
            "HSET h f 1 g x",
            "HINCRBYFLOAT h f inf",
            "HINCRBYFLOAT h f -inf",
            "HINCRBYFLOAT h g 1",
            "HSET h f 1e4932",
            "HINCRBYFLOAT h f 1e4932",
        ],
    ),
    (
        "hrandfield",
        &[
            "HSET h f 1",
            "HRANDFIELD h -4611686018427387905 WITHVALUES",
            "HRANDFIELD h 4611686018427387904 WITHVALUES",
            "HRANDFIELD h -9223372036854775808",
        ],
    ),
    ("srandmember", &["SADD s a", "SRANDMEMBER s -9223372036854775808", "SRANDMEMBER s 9223372036854775807"]),
    (
        "zrandmember",
        &[
            "ZADD z 1 a",
            "ZRANDMEMBER z -9223372036854775808",
            "ZRANDMEMBER z -4611686018427387905 WITHSCORES",
        ],
    ),
    (
        "lpos",
        &[
            "RPUSH l a b a",
            "LPOS l a RANK -9223372036854775808",
            "LPOS l a RANK 0",
            "LPOS l a COUNT -1",
            "LPOS l a MAXLEN -1",
        ],
    ),
    ("lrem", &["RPUSH l a", "LREM l -9223372036854775808 a"]),
    (
        "sintercard",
        &[
            "SADD a 1 2 3",
            "SADD b 2 3",
            "SINTERCARD 2 a",
            "SINTERCARD 2 a b LIMIT -1",
            "SINTERCARD 2 a b LIMIT 1",
            "SINTERCARD 0 a",
        ],
    ),
    (
        "zadd",
        &[
            "ZADD z inf a",
            "ZADD z INCR -inf a",
            "ZADD z NX XX 1 a",
            "ZADD z GT LT 1 a",
            "ZADD z NX GT 1 a",
            "ZADD z INCR 1 a 2 b",
        ],
    ),
    ("zincrby", &["ZADD z inf a", "ZINCRBY z -inf a", "ZINCRBY z nx a", "ZINCRBY z x a"]),
    (
        "zrange",
        &[
            "ZADD z 0 a 0 b 0 c",
            "ZRANGE z - + BYLEX",
            "ZRANGE z + - BYLEX REV LIMIT 1 1",
            "ZRANGE z (a [c BYLEX",
            "ZRANGE z [a [c BYLEX WITHSCORES",
            "ZRANGE z a c BYLEX",
            "ZRANGE z 0 -1 LIMIT 0 1",
            "ZRANGE z 0 0 BYSCORE BYLEX",
            "ZRANGE z (0 inf BYSCORE LIMIT 0 1 WITHSCORES",
        ],
    ),
    (
        "zrangestore",
        &[
            "ZADD z 0 a 0 b 0 c",
            "ZRANGESTORE y z - + BYLEX LIMIT 0 2",
            "ZRANGESTORE y z [b - BYLEX REV",
            "ZRANGESTORE y z 0 1 LIMIT 0 1",
        ],
    ),
    (
        "zrevrange",
        &[
            "ZADD z 0 a 0 b",
            "ZREVRANGE z 0 -1 LIMIT 0 1",
            "ZREVRANGE z 0 -1 WITHSCORES",
            "ZREVRANGE z 0 -1 BYLEX",
        ],
    ),
    ("zrangebylex", &["ZADD z 0 a 0 b", "ZRANGEBYLEX z - + WITHSCORES", "ZRANGEBYLEX z - + LIMIT 1 1"]),
    (
        "zrevrangebylex",
        &["ZADD z 0 a 0 b", "ZREVRANGEBYLEX z + - WITHSCORES", "ZREVRANGEBYLEX z + - LIMIT 1 1"],
    ),
    ("zscan", &["ZADD z 0 a 0 b", "ZSCAN z 0 COUNT x", "ZSCAN z 0 COUNT 0", "ZSCAN z 0 MATCH a COUNT 9"]),
    (
        "eval",
        &[
            "EVAL \"return 1\" x",
            "EVAL \"return 1\" 1",
            "EVAL \"return 1\" -1",
            "EVAL \"return {KEYS[1], ARGV[1], #KEYS, #ARGV}\" 1 k a b",
            "EVAL \"return 3.99\" 0",
            "EVAL \"return {1, nil, 2}\" 0",
            "EVAL \"return {1, 2.5, 'x', false, true, {3, {4}}}\" 0",
            "EVAL \"return {ok='fine', err='no'}\" 0",
            "EVAL \"return {err='MY error'}\" 0",
            "EVAL \"return redis.error_reply('MY error')\" 0",
            "EVAL \"return redis.error_reply('no code')\" 0",
            "EVAL \"return redis.status_reply('fine')\" 0",
            "EVAL \"return redis.sha1hex('')\" 0",
            "EVAL \"error('mine')\" 0",
            "EVAL \"error({err='MY own'})\" 0",
            "EVAL \"error()\" 0",
            "EVAL \"return nosuch\" 0",
            "EVAL \"x = 1\" 0",
            "EVAL \"return redis.call()\" 0",
            "EVAL \"return redis.call('nosuch')\" 0",
            "EVAL \"return redis.call('get')\" 0",
            "EVAL \"return redis.call('set', 'k', {})\" 0",
            "EVAL \"return redis.call('set', 'k', true)\" 0",
            "EVAL \"return redis.call('subscribe', 'c')\" 0",
            "EVAL \"return redis.pcall('lpush', 'k')['err']\" 0",
            "EVAL \"redis.call('set', 'k', 'v') return redis.pcall('lpush', 'k', 'v')['err']\" 0",
            "EVAL \"redis.call('set', 'k', 1.5) return redis.call('get', 'k')\" 0",
            "EVAL \"redis.call('set', 'k', 1761234597890) return redis.call('get', 'k')\" 0",
            "EVAL \"return tostring(1/3)\" 0",
            "EVAL \"redis.setresp(3) redis.call('hset', 'h', 'f', 'v') return redis.call('hgetall', 'h')\" 0",
            "EVAL \"redis.setresp(3) \
             return redis.call('zadd', 'z', 1.5, 'm') + redis.call('zscore', 'z', 'm')['double']\" 0",
            "EVAL \"redis.setresp(3) return type(redis.call('get', 'none'))\" 0",
            "EVAL \"redis.setresp(4)\" 0",
            "EVAL \"return {double=1.5}\" 0",
            "EVAL \"return {map={a=1}}\" 0",
            "EVAL \"return {set={a=true}}\" 0",
            "EVAL \"return {big_number='123'}\" 0",
            "EVAL \"return {verbatim_string={format='txt', string='x'}}\" 0",
            "EVAL \"return (\" 0",
            "EVAL \"#!lua\\nreturn redis.call('set', 'k', 'v')\" 0",
            "EVAL \"#!lua flags=no-writes\\nreturn redis.call('set', 'k', 'v')\" 0",
            "EVAL \"#!lua flags=nosuch\\nreturn 1\" 0",
            "EVAL \"#!python\\nreturn 1\" 0",
            "EVAL \"#!lua name=x\\nreturn 1\" 0",
        ],
    ),
    (
        "eval_ro",
        &[
            "EVAL_RO \"return 1\" x",
            "EVAL_RO \"return 1\" 1",
            "EVAL_RO \"return 1\" -1",
            "EVAL_RO \"return redis.call('get', KEYS[1])\" 1 k",
            "EVAL_RO \"return redis.call('set', 'k', 'v')\" 0",
            "EVAL_RO \"return redis.pcall('set', 'k', 'v')\" 0",
            "EVAL_RO \"return redis.call('publish', 'c', 'v')\" 0",
        ],
    ),
    (
        "evalsha",
        &[
            "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0",
            "SCRIPT LOAD \"return 1\"",
            "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0",
            "EVALSHA E0E1F9FABFC9D4800C877A703B823AC0578FF8DB 0",
            "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db x",
            "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1",
            "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db -1",
            "EVALSHA short 0",
        ],
    ),
    (
        "evalsha_ro",
        &[
            "SCRIPT LOAD \"return 1\"",
            "EVALSHA_RO e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0",
            "EVALSHA_RO e0e1f9fabfc9d4800c877a703b823ac0578ff8db x",
            "EVALSHA_RO e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1",
            "EVALSHA_RO e0e1f9fabfc9d4800c877a703b823ac0578ff8db -1",
            "EVALSHA_RO short 0",
        ],
    ),
    ("wait", &["WAIT 0 1", "WAIT 0 0", "WAIT 0 -1", "WAIT 0 x", "WAIT x 1", "WAIT -1 1", "WAIT 1.5 1"]),
    ("role", &["ROLE", "ROLE x"]),
    ("shutdown", &["SHUTDOWN ABORT", "SHUTDOWN x", "SHUTDOWN NOSAVE SAVE", "SHUTDOWN ABORT NOW"]),
    ("info", &["INFO", "INFO server", "INFO server clients", "INFO nosuch", "INFO everything"]),
    (
        "config|get",
        &[
            "CONFIG GET maxmemory",
            "CONFIG GET nosuch",
            "CONFIG GET timeout maxmemory",
            "CONFIG GET zset-max-listpack-*",
            "CONFIG GET",
        ],
    ),
    (
        "config|set",
        &[
            "CONFIG SET maxmemory 100mb",
            "CONFIG GET maxmemory",
            "CONFIG SET maxmemory x",
            "CONFIG SET maxmemory -1",
            "CONFIG SET nosuch 1",
            "CONFIG SET maxmemory 0 maxmemory 0",
            "CONFIG SET maxmemory 0 hash-max-listpack-entries",
            "CONFIG SET hash-max-listpack-entries 7 list-max-listpack-size -1",
            "CONFIG GET hash-max-listpack-entries",
            "CONFIG SET notify-keyspace-events q",
            "CONFIG SET notify-keyspace-events KEA",
            "CONFIG GET notify-keyspace-events",
            "CONFIG SET notify-keyspace-events \"\"",
            "CONFIG SET port 1 port 2",
            "CONFIG SET databases 3",
            "CONFIG SET maxmemory 0 hash-max-listpack-entries 128 list-max-listpack-size -2",
        ],
    ),
    ("config|resetstat", &["CONFIG RESETSTAT", "CONFIG RESETSTAT x"]),
    ("command|count", &["COMMAND COUNT", "COMMAND COUNT x"]),
    (
        "command|list",
        &[
            "COMMAND LIST FILTERBY PATTERN g?t",
            "COMMAND LIST FILTERBY MODULE x",
            "COMMAND LIST FILTERBY ACLCAT nosuch",
            "COMMAND LIST FILTERBY ACLCAT hash",
            "COMMAND LIST FILTERBY",
            "COMMAND LIST x",
        ],
    ),
    (
        "command|getkeys",
        &[
            "COMMAND GETKEYS get k",
            "COMMAND GETKEYS mset a 1 b 2",
            "COMMAND GETKEYS eval x 2 a b c",
            "COMMAND GETKEYS eval x 3 a b",
            "COMMAND GETKEYS ping",
            "COMMAND GETKEYS nosuch",
            "COMMAND GETKEYS get",
            "COMMAND GETKEYS zadd z 1 a",
            "COMMAND GETKEYS sintercard 2 a b LIMIT 1",
            "COMMAND GETKEYS sintercard 5 a b",
            "COMMAND GETKEYS lmpop x a LEFT",
            "COMMAND GETKEYS blmpop 1 2 a b LEFT",
            "COMMAND GETKEYS object encoding k",
        ],
    ),
    (
        "command|getkeysandflags",
        &[
            "COMMAND GETKEYSANDFLAGS set k v GET",
            "COMMAND GETKEYSANDFLAGS set k v",
            "COMMAND GETKEYSANDFLAGS sintercard 5 a b",
            "COMMAND GETKEYSANDFLAGS lmove a b LEFT LEFT",
            "COMMAND GETKEYSANDFLAGS ping",
            "COMMAND GETKEYSANDFLAGS nosuch",
            "COMMAND GETKEYSANDFLAGS get",
        ],
    ),
    ("auth", &["AUTH x", "AUTH nobody x", "AUTH default x", "AUTH a b c", "AUTH"]),
    (
        "hello",
        &[
            "HELLO x",
            "HELLO 1",
            "HELLO 4",
            "HELLO",
            "HELLO 2 SETNAME n",
            "CLIENT GETNAME",
            "HELLO 3 AUTH nobody x",
            "HELLO 3 AUTH default x SETNAME m",
            "HELLO 3 AUTH default",
            "HELLO 3 SETNAME",
            "HELLO 3 SETNAME \"a b\"",
            "HELLO 3 x",
            "CLIENT GETNAME",
            "HGETALL h",
            "HELLO 2",
            "HGETALL h",
        ],
    ),
    (
        "reset",
        &["SELECT 3", "CLIENT SETNAME n", "MULTI", "RESET", "CLIENT GETNAME", "EXEC", "SET k v", "RESET x"],
    ),
    (
        "client|getname",
        &["CLIENT GETNAME", "CLIENT SETNAME n", "CLIENT GETNAME", "CLIENT SETNAME \"\"", "CLIENT GETNAME"],
    ),
    (
        "client|setname",
        &["CLIENT SETNAME \"a b\"", "CLIENT SETNAME a\\nb", "CLIENT SETNAME \"a\\nb\"", "CLIENT SETNAME n"],
    ),
    ("client|id", &["CLIENT ID", "CLIENT ID x"]),
    ("client|info", &["CLIENT INFO"]),
    (
        "client|list",
        &[
            "CLIENT LIST",
            "CLIENT LIST TYPE normal",
            "CLIENT LIST TYPE MASTER",
            "CLIENT LIST TYPE replica",
            "CLIENT LIST TYPE pubsub",
            "CLIENT LIST TYPE nosuch",
            "CLIENT LIST ID 1 999999",
            "CLIENT LIST ID x",
            "CLIENT LIST ID 0",
            "CLIENT LIST ID",
            "CLIENT LIST x",
        ],
    ),
    (
        "client|kill",
        &[
            "CLIENT KILL 1.2.3.4:5",
            "CLIENT KILL ID 99999999",
            "CLIENT KILL ID 0",
            "CLIENT KILL ID x",
            "CLIENT KILL TYPE normal ID 99999999",
            "CLIENT KILL TYPE master",
            "CLIENT KILL TYPE slave",
            "CLIENT KILL TYPE replica",
            "CLIENT KILL TYPE pubsub SKIPME yes",
            "CLIENT KILL TYPE pubsub SKIPME no",
            "CLIENT KILL TYPE nosuch",
            "CLIENT KILL USER nosuch",
            "CLIENT KILL USER default ID 99999999",
            "CLIENT KILL ADDR 1.2.3.4:5 LADDR 1.2.3.4:6",
            "CLIENT KILL SKIPME maybe ID 99999999",
            "CLIENT KILL ID",
            "CLIENT KILL x y",
        ],
    ),
    (
        "client|no-evict",
        &["CLIENT NO-EVICT ON", "CLIENT NO-EVICT off", "CLIENT NO-EVICT x", "CLIENT NO-EVICT"],
    ),
    (
        "client|no-touch",
        &["CLIENT NO-TOUCH ON", "CLIENT NO-TOUCH off", "CLIENT NO-TOUCH x", "CLIENT NO-TOUCH"],
    ),
    ("client|reply", &["CLIENT REPLY ON", "CLIENT REPLY x", "CLIENT REPLY"]),
    (
        "client|setinfo",
        &[
            "CLIENT SETINFO LIB-NAME n",
            "CLIENT SETINFO lib-ver 1",
            "CLIENT SETINFO lib-name \"a b\"",
            "CLIENT SETINFO LIB-NAME \"a b\"",
            "CLIENT SETINFO x y",
            "CLIENT SETINFO LIB-NAME",
        ],
    ),
    (
        "client|unblock",
        &[
            "CLIENT UNBLOCK 99999999",
            "CLIENT UNBLOCK 99999999 TIMEOUT",
            "CLIENT UNBLOCK 99999999 error",
            "CLIENT UNBLOCK 99999999 x",
            "CLIENT UNBLOCK x",
            "CLIENT UNBLOCK 0",
        ],
    ),
    ("script|kill", &["SCRIPT KILL", "SCRIPT KILL x"]),
    (
        "script|load",
        &[
            "SCRIPT LOAD \"return 1\"",
            "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0",
            "SCRIPT LOAD \"return (\"",
        ],
    ),
];

/// Commands whose options and errors other tests produce, with the reason.
const ELSEWHERE: &[(&str, &str)] = &[
    ("subscribe", "compare_messages"),
    ("unsubscribe", "compare_messages"),
    ("psubscribe", "compare_messages"),
    ("punsubscribe", "compare_messages"),
    ("pubsub|help", "the tests of messages"),
    ("object|help", "the tests of keys"),
    ("script|help", "the tests of scripts"),
    ("client|help", "the tests of clients"),
    ("client|reply", "OFF and SKIP answer nothing: the tests of clients"),
    ("config|help", "the tests of parameters"),
    ("command|info", "the tests of the table"),
    ("command", "lists all commands: the tests of the table"),
    ("command|help", "the tests of the table"),
    ("debug", "SLEEP stops the server: the tests of the server"),
    ("quit", "the tests of the connection"),
    ("shutdown", "what is not refused ends the server: the tests of the process"),
];

/// Errors that other tests produce: the command, the error, the reason.
const ERRORS_ELSEWHERE: &[(&str, &str, &str)] = &[];

/// The directed sequences for these commands.
pub fn lines_of<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'static [&'static str]> {
    let names: BTreeSet<&str> = names.collect();
    LINES.iter().filter(|(name, _)| names.contains(name)).map(|(_, lines)| *lines).collect()
}

/// Whether another test produces the command's options and errors.
pub fn is_elsewhere(name: &str) -> bool {
    ELSEWHERE.iter().any(|(elsewhere, _)| name == *elsewhere)
}

/// Whether another test produces this error of the command.
pub fn is_error_elsewhere(name: &str, error: &str) -> bool {
    ERRORS_ELSEWHERE.iter().any(|(command, text, _)| *command == name && *text == error)
}
