//! Information about a holder: `DATA`, and `GETHOLDER` for refused clients.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;
use lockwheel_tests::ours;

#[test]
fn getholder_returns_the_holder_to_a_refused_client() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE l a PX 5000 DATA 'host 7'");
    let told = |owner: &str, ttl: i64, position: u8, data: &str| {
        let resp2 = format!(r#"["holder", {owner}, "ttl", :{ttl}, "position", :{position}{data}]"#);
        let data3 = data.replace("\"data\",", "\"data\":");
        let resp3 = format!(r#"{{"holder": {owner}, "ttl": :{ttl}, "position": :{position}{data3}}}"#);
        (resp2, resp3)
    };
    let mut check = |line: &str, (resp2, resp3): (String, String)| {
        s.check3(line, &resp2, &resp3);
    };
    check("LOCK.ACQUIRE l b GETHOLDER", told("\"a\"", 5000, 1, ", \"data\", \"host 7\""));
    check("MULTI", ("+OK".into(), "+OK".into()));
    check("LOCK.ACQUIRE l b GETHOLDER BLOCK 5", ("+QUEUED".into(), "+QUEUED".into()));
    let (resp2, resp3) = told("\"a\"", 5000, 1, ", \"data\", \"host 7\"");
    check("EXEC", (format!("[{resp2}]"), format!("[{resp3}]")));
    check("SET text x PX 900 NX", ("+OK".into(), "+OK".into()));
    check("LOCK.ACQUIRE text b LAYOUT STRING GETHOLDER", told("\"x\"", 900, 1, ""));
    check("HSET old x 1", (":1".into(), ":1".into()));
    check("LOCK.ACQUIRE old b GETHOLDER", told("\"x\"", -1, 1, ""));
    check(
        "LOCK.MACQUIRE 3 free l old b GETHOLDER",
        (
            r#"["key", "l", "holder", "a", "ttl", :5000, "position", :1, "data", "host 7"]"#.into(),
            r#"{"key": "l", "holder": "a", "ttl": :5000, "position": :1, "data": "host 7"}"#.into(),
        ),
    );
}

#[test]
fn the_place_in_the_queue_follows_the_priority_and_is_returned_on_timeout() {
    let mut server = Simulation::new(Config::default(), 7);
    let [main, one, two, three] = [0; 4].map(|_| server.connect());
    server.ask(main, "CLOCK.FREEZE");
    server.ask(main, "LOCK.ACQUIRE l a SHARED PX 5000");
    server.ask(main, "LOCK.ACQUIRE m z EXCLUSIVE");
    server.send(one, "LOCK.ACQUIRE l w EXCLUSIVE BLOCK 0");
    server.send(two, "LOCK.MACQUIRE 2 l m x SHARED BLOCK 0 PRIORITY 5");
    let asked = |server: &mut Simulation, options: &str| {
        let told = server.ask(main, &format!("LOCK.ACQUIRE l b EXCLUSIVE GETHOLDER {options}"));
        assert!(told.contains("$6\r\nholder\r\n$1\r\na\r\n"), "{told}");
        told.rsplit("position\r\n:").next().expect("it is there").trim().to_owned()
    };
    assert_eq!([asked(&mut server, ""), asked(&mut server, "PRIORITY 1")], ["3", "2"]);
    let info = server.ask(main, "LOCK.INFO l");
    let waiters = info.split("waiters").nth(1).expect("it lists them");
    assert!(waiters.contains("$1\r\nx\r\n$4\r\nmode\r\n$6\r\nshared"), "{waiters}");
    assert!(waiters.contains("$1\r\nw\r\n$4\r\nmode\r\n$9\r\nexclusive"), "{waiters}");
    server.send(three, "LOCK.ACQUIRE l c EXCLUSIVE GETHOLDER BLOCK 100");
    server.ask(main, "CLOCK.ADVANCE 100");
    assert_eq!(
        server.read(three),
        "*6\r\n$6\r\nholder\r\n$1\r\na\r\n$3\r\nttl\r\n:4900\r\n$8\r\nposition\r\n:3\r\n"
    );
}

#[test]
fn the_data_of_a_holder_ends_with_its_hold_and_is_no_key() {
    let mut s = ours::manual_scenario();
    let shown = |data: &'static str| {
        move |info: &lockwheel_tests::reply::Reply| {
            let text = info.to_string().replace("\": ", "\", ");
            if data.is_empty() {
                !text.contains("\"data\"")
            } else {
                text.contains(&format!("\"data\", \"{data}\""))
            }
        }
    };
    s.run("LOCK.ACQUIRE l a DATA one");
    s.check_that("LOCK.INFO l", shown("one")).check("DBSIZE", ":1").check("HLEN l", ":1");
    s.run("LOCK.ACQUIRE l a");
    s.check_that("LOCK.INFO l", shown("one"));
    s.run("LOCK.ACQUIRE l a DATA two");
    s.check_that("LOCK.INFO l", shown("two"));
    s.check("SWAPDB 0 1", "+OK").check("SELECT 1", "+OK").check_that("LOCK.INFO l", shown("two"));
    s.check("LOCK.TRANSFER l a b", ":2").check_that("LOCK.INFO l", shown(""));
    s.run("LOCK.ACQUIRE m a SHARED DATA reader");
    s.run("LOCK.CONVERT m a EXCLUSIVE");
    s.check_that("LOCK.INFO m", shown("reader"));
    s.run("LOCK.ACQUIRE w a EXCLUSIVE DATA writer");
    s.run("LOCK.CONVERT w a SHARED");
    s.check_that("LOCK.INFO w", shown("writer"));
    s.check("FLUSHALL", "+OK");
    let long = "x".repeat(4097);
    let too_long = "-ERR DATA is longer than 4096 bytes";
    s.check(&format!("LOCK.ACQUIRE l a DATA {long}"), too_long);
    s.check(&format!("LOCK.MACQUIRE 1 l a DATA {long}"), too_long).check("DBSIZE", ":0");
    s.check_that(&format!("LOCK.ACQUIRE l a DATA {}", &long[1..]), |reply| {
        reply.to_string().contains("token")
    });
    for (options, error) in [
        ("DATA", "expected data at the end"),
        ("DATA x DATA y", "'DATA' is given twice"),
        ("GETHOLDER GETHOLDER", "'GETHOLDER' is given twice"),
    ] {
        s.check(&format!("LOCK.ACQUIRE l a {options}"), &format!("-ERR syntax error: {error}"));
    }
}
