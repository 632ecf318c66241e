//! Scripts and functions of nodes: the keys that they may use, and the errors for other keys.

use crate::cluster::nodes::Both;
use lockwheel_tests::client::Protocol;

#[test]
fn scripts_use_keys_of_this_node_as_on_redis() {
    let Some(mut both) = Both::start(Protocol::Resp2) else { return };
    let get = "EVAL \"return redis.call('get', KEYS[1])\"";
    let pcall = "return redis.pcall('get', ARGV[1])";
    for line in [
        format!("{get} 1 {{bar}}1"),
        format!("{get} 1 foo"),
        format!("{get} 2 {{bar}}1 foo"),
        format!("{get} 0"),
        format!("EVAL \"{pcall}\" 0 foo"),
        format!("EVAL \"{pcall}\" 0 {{bar}}1"),
        format!("EVAL \"{pcall}\" 1 {{bar}}1 hello"),
        format!("EVAL \"{pcall}\" 1 {{bar}}1 {{bar}}2"),
        format!("EVAL \"#!lua\\n{pcall}\" 1 {{bar}}1 {{bar}}2"),
        format!("EVAL \"#!lua\\n{pcall}\" 1 {{bar}}1 {{b}}2"),
        format!("EVAL \"#!lua flags=allow-cross-slot-keys\\n{pcall}\" 1 {{bar}}1 {{b}}2"),
        format!("EVAL \"#!lua flags=no-cluster\\n{pcall}\" 1 {{bar}}1 {{bar}}2"),
        "EVAL \"#!lua\\nredis.call('set', '{bar}1', 1) return redis.pcall('get', '{b}')\" 0".to_owned(),
        "EVAL \"redis.call('set', '{bar}1', 1) return redis.pcall('get', '{b}')\" 0".to_owned(),
        "EVAL \"return redis.pcall('mget', '{bar}1', '{b}')\" 0".to_owned(),
        "EVAL \"return redis.pcall('select', '1')\" 0".to_owned(),
        "EVAL \"return redis.pcall('cluster', 'myid')\" 0".to_owned(),
        "EVAL \"return redis.call('cluster', 'reset')\" 0".to_owned(),
        "EVAL \"return redis.call('get', 'foo')\" 0".to_owned(),
        "FUNCTION LOAD \"#!lua name=l\\nredis.register_function('f', \
         function(k, a) return redis.pcall('get', a[1]) end) \
         redis.register_function{function_name='g', callback=function(k, a) return redis.pcall('get', a[1]) end, \
         flags={'allow-cross-slot-keys'}} \
         redis.register_function{function_name='h', callback=function(k, a) return 1 end, flags={'no-cluster'}}\""
            .to_owned(),
        "FCALL f 1 {bar}1 {bar}2".to_owned(),
        "FCALL f 1 {bar}1 {b}".to_owned(),
        "FCALL f 0 {b}".to_owned(),
        "FCALL f 0 foo".to_owned(),
        "FCALL f 1 foo a".to_owned(),
        "FCALL g 1 {bar}1 {b}".to_owned(),
        "FCALL h 0".to_owned(),
        "FCALL_RO h 0".to_owned(),
    ] {
        both.same(0, &line);
    }
}
