//! Tests of look-ups of scripts by text and by digest.

use crate::mock::Bench;

#[test]
fn a_script_is_found_by_text_and_by_digest() {
    let mut bench = Bench::default();
    let sha = bench.runtime.load(b"return 'a'").unwrap();
    assert_eq!(sha.to_string(), "5e7bc3514efeedd434dcc6028289b28e3eba6ebb");
    let id = bench.runtime.intern(b"return 'a'").unwrap();
    assert_eq!(bench.runtime.find(sha.as_bytes()), Some(id));
    assert_eq!(bench.runtime.find(sha.to_string().to_uppercase().as_bytes()), Some(id));
    assert_eq!(bench.runtime.sha(id), Some(sha));
    let other = bench.runtime.intern(b"return 'b'").unwrap();
    let name = bench.runtime.sha(other).unwrap();
    assert!(bench.runtime.exists(name.as_bytes()), "EVAL makes it known to EVALSHA");
    assert!(!bench.runtime.exists(b"none"));
    assert_eq!(bench.runtime.len(), 2);
    assert_eq!(bench.run(other, &[], &[]), b"$1\r\nb\r\n");
}

#[test]
fn errors_of_compiling_are_those_of_redis_and_leave_nothing() {
    let mut bench = Bench::default();
    let error = bench.runtime.load(b"return +").unwrap_err();
    assert_eq!(
        error.to_string(),
        "ERR Error compiling script (new function): user_script:1: unexpected symbol near '+'"
    );
    assert!(bench.runtime.load(b"#!lua flags=bad\nreturn 1").is_err());
    assert!(bench.runtime.is_empty());
    let flags = bench.runtime.intern(b"#!lua flags=no-writes\nreturn 1").unwrap();
    assert!(bench.runtime.flags(flags).no_writes);
    let plain = bench.runtime.intern(b"return 1").unwrap();
    assert!(!bench.runtime.flags(plain).shebang);
}

#[test]
fn a_flush_forgets_everything() {
    let mut bench = Bench::default();
    let idle = bench.runtime.memory_used();
    let ids: Vec<_> =
        (0..1000).map(|n| bench.runtime.intern(format!("return {n}").as_bytes()).unwrap()).collect();
    assert!(bench.runtime.memory_used() > idle + 100_000);
    bench.runtime.flush();
    assert!(bench.runtime.memory_used() < idle + 10_000);
    assert!(bench.runtime.is_empty());
    assert_eq!(bench.run(ids[5], &[], &[]), b"-NOSCRIPT No matching script. Please use EVAL.\r\n");
    assert!(!bench.runtime.flags(ids[5]).shebang);
    assert_eq!(bench.runtime.sha(ids[5]), None);
    assert_eq!(bench.eval("return 7"), ":7\\r\\n");
}

#[test]
fn scripts_without_end_do_not_fill_the_memory() {
    let mut bench = Bench::default();
    let kept = bench.runtime.load(b"return 'kept'").unwrap();
    for n in 0..60_000 {
        let id = bench.runtime.intern(format!("return {n}").as_bytes()).unwrap();
        if n % 1000 == 0 {
            assert_eq!(bench.run(id, &[], &[]), format!(":{n}\r\n").into_bytes());
        }
    }
    assert!(bench.runtime.len() <= 20_002);
    assert!(bench.runtime.memory_used() < 40 << 20);
    assert!(bench.runtime.exists(kept.as_bytes()));
}

#[test]
fn a_runtime_may_move_to_another_thread() {
    let mut bench = Bench::default();
    let id = bench.runtime.intern(b"return 1").unwrap();
    let mut runtime = bench.runtime;
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut host = crate::mock::Mock::default();
        let mut writer = lockwheel_resp::Writer::new(&mut bytes, Default::default());
        runtime.begin(id, 0).run(&[], &[], &mut host, &mut writer);
        assert_eq!(bytes, b":1\r\n");
    })
    .join()
    .unwrap();
}
