//! Requests that have crashed, hung or bloated servers.

use lockwheel_tests::ours;

/// CVE-2018-12453.
#[test]
fn cve_2018_12453_xgroup_create_on_another_type_is_refused() {
    let mut s = ours::scenario();
    s.check("SET s v", "+OK").check("RPUSH l a", ":1");
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    for key in ["s", "l"] {
        s.check(&format!("XGROUP CREATE {key} g $"), wrong_type);
        s.check(&format!("XGROUP CREATE {key} g $ MKSTREAM"), wrong_type);
    }
    s.check("GET s", "\"v\"").check("LRANGE l 0 -1", r#"["a"]"#);
}

/// CVE-2022-31144 and CVE-2022-35951.
#[test]
fn cve_2022_31144_and_35951_huge_counts_of_xautoclaim_take_no_memory() {
    let mut s = ours::scenario();
    s.run("XGROUP CREATE x g 0 MKSTREAM");
    for id in 1..=20 {
        s.run(&format!("XADD x {id}-1 f v"));
    }
    s.run("XREADGROUP GROUP g c STREAMS x >");
    s.run("XTRIM x MAXLEN 1");
    for count in ["8070450532247928833", "9223372036854775807", "576460752303423488", "0", "-1", "x"] {
        s.check(&format!("XAUTOCLAIM x g d 0 0 COUNT {count}"), "-ERR COUNT must be > 0");
    }
    s.check("XAUTOCLAIM x g d 0 0 COUNT 2", r#"["3-1", [], ["1-1", "2-1"]]"#);
    let [told, _] = s.run("XAUTOCLAIM x g d 0 0 COUNT 576460752303423487 JUSTID");
    assert!(told.to_string().starts_with(r#"["0-0", ["20-1"], ["3-1", "4-1""#), "{told}");
    s.check("XPENDING x g", r#"[:1, "20-1", "20-1", [["d", "1"]]]"#);
}

/// CVE-2021-32627 and CVE-2021-32628: lengths of 32 bits. The type's tests show that more than a gigabyte is refused.
#[test]
fn cve_2021_32627_and_32628_entries_of_many_megabytes_are_kept_whole() {
    let mut s = ours::scenario();
    let large = "y".repeat(40 << 20);
    for [id, field] in [["1-1", "f"], ["1-2", &large[..30 << 20]]] {
        for client in s.on("main").clients() {
            let added = client.cmd(&["XADD", "x", id, field, &large, "n", "1"]);
            assert_eq!(added.to_string(), format!("\"{id}\""));
        }
    }
    for client in s.on("main").clients() {
        let Some(entries) = client.cmd(&["XREVRANGE", "x", "+", "-"]).into_elements() else {
            panic!("entries")
        };
        let texts: Vec<usize> = entries
            .into_iter()
            .filter_map(|entry| entry.into_elements()?.pop()?.into_elements())
            .flatten()
            .filter_map(|text| Some(text.as_bytes()?.len()))
            .collect();
        assert_eq!(texts, [30 << 20, 40 << 20, 1, 1, 1, 40 << 20, 1, 1]);
    }
    s.check("XDEL x 1-2", ":1").check("XLEN x", ":1");
}

/// Readers that fail, and streams that are created and deleted, leave nothing behind.
#[test]
fn memory_is_flat_when_the_same_requests_repeat() {
    let mut s = ours::scenario();
    // The records of latency grow with each new maximum.
    s.run("CONFIG SET latency-tracking no");
    let used = |s: &mut lockwheel_tests::check::Scenario<lockwheel::Server>| {
        let [info, _] = s.run("INFO memory");
        let text = String::from_utf8_lossy(info.as_bytes().unwrap()).into_owned();
        let line = text.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap().to_owned();
        line.parse::<usize>().unwrap()
    };
    let lines = [
        "XADD x MAXLEN 10 * f v g w",
        "XADD x 0-0 f v",
        "XADD x 1-1 f v",
        "XGROUP CREATE x g $",
        "XREADGROUP GROUP g c STREAMS x >",
        "XINFO STREAM x FULL",
        "XINFO STREAM x",
        "XINFO CONSUMERS x g",
        "XREADGROUP GROUP g d STREAMS x 0",
        "XGROUP DESTROY x g",
        "XADD y 1-1 f v",
        "DEL y",
    ];
    let rounds = |s: &mut _, count: usize| {
        for _ in 0..count {
            for line in lines {
                lockwheel_tests::check::Scenario::run(s, line);
            }
        }
    };
    rounds(&mut s, 50);
    let before = used(&mut s);
    rounds(&mut s, 300);
    let after = used(&mut s);
    assert!(after < before + 20_000, "{before} {after}");
}
