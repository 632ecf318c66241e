//! Hashes, as a client sees them.

use lockwheel_tests::reply::Reply;
use lockwheel_tests::{family, ours};
use std::collections::BTreeSet;

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const NOT_AN_INTEGER: &str = "-ERR value is not an integer or out of range";

#[test]
fn fields_are_set_read_and_removed() {
    family::same_everywhere(|s| {
        s.check("HSET h f v g w f x", ":2")
            .check("HSET h f v", ":0")
            .check("HMSET h i 1 j 2", "+OK")
            .check("HGET h f", "\"v\"")
            .check("HGET h none", "(nil)")
            .check("HGET none f", "(nil)")
            .check("HMGET h f none i f", r#"["v", (nil), "1", "v"]"#)
            .check("HMGET none a b", "[(nil), (nil)]")
            .check("HSETNX h f new", ":0")
            .check("HSETNX h k ''", ":1")
            .check("HEXISTS h k", ":1")
            .check("HEXISTS h none", ":0")
            .check("HSTRLEN h k", ":0")
            .check("HSTRLEN h g", ":1")
            .check("HSTRLEN none g", ":0")
            .check("HLEN h", ":5")
            .check("HDEL h f none k f", ":2")
            .check("HKEYS h", r#"["g", "i", "j"]"#)
            .check("HVALS h", r#"["w", "1", "2"]"#)
            .check3("HGETALL h", r#"["g", "w", "i", "1", "j", "2"]"#, r#"{"g": "w", "i": "1", "j": "2"}"#)
            .check("HSCAN h 0", r#"["0", ["g", "w", "i", "1", "j", "2"]]"#)
            .check("HSCAN h 0 MATCH [ij] COUNT 1", r#"["0", ["i", "1", "j", "2"]]"#)
            .check("HDEL h g i j", ":3")
            .check("HLEN h", ":0")
            .check3("HGETALL h", "[]", "{}")
            .check("HKEYS h", "[]")
            .check("HVALS h", "[]")
            .check("HSCAN h 0 COUNT 0", r#"["0", []]"#);
    });
}

#[test]
fn hincrby_and_hincrbyfloat_add_numbers() {
    family::same_everywhere(|s| {
        s.check("HINCRBY h n 5", ":5")
            .check("HINCRBY h n -7", ":-2")
            .check("HGET h n", "\"-2\"")
            .check("HSET h max 9223372036854775807 text x space ' 1' float 1.5", ":4")
            .check("HINCRBY h max 1", "-ERR increment or decrement would overflow")
            .check("HINCRBY h max -9223372036854775808", ":-1")
            .check("HINCRBY h text 1", "-ERR hash value is not an integer")
            .check("HINCRBY h space 1", "-ERR hash value is not an integer")
            .check("HINCRBY h float 1", "-ERR hash value is not an integer")
            .check("HINCRBY h n 1.0", NOT_AN_INTEGER)
            .check("HINCRBYFLOAT h float 0.1", "\"1.6\"")
            .check("HINCRBYFLOAT h float -1.6", "\"0\"")
            .check("HINCRBYFLOAT h float 5.0e3", "\"5000\"")
            .check("HINCRBYFLOAT new f 3.14", "\"3.14\"")
            .check("HINCRBYFLOAT h text 1", "-ERR hash value is not a float")
            .check("HINCRBYFLOAT h float x", "-ERR value is not a valid float")
            .check("HINCRBYFLOAT h float nan", "-ERR value is not a valid float")
            .check("HINCRBYFLOAT h float inf", "-ERR value is NaN or Infinity")
            .check("HSET h inf inf", ":1")
            .check("HINCRBYFLOAT h inf 1", "-ERR increment would produce NaN or Infinity")
            .check("HGET h inf", "\"inf\"");
    });
}

#[test]
fn errors_are_reported_in_the_order_of_the_real_server() {
    family::same_everywhere(|s| {
        let range =
            "-ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807";
        s.check("SADD s m", ":1")
            .check("HSET s f v g", "-ERR wrong number of arguments for 'hset' command")
            .check("HMSET h f v g", "-ERR wrong number of arguments for 'hmset' command")
            .check("HSET s f v", WRONG_TYPE)
            .check("HGETALL s", WRONG_TYPE)
            .check("HINCRBY s f x", NOT_AN_INTEGER)
            .check("HINCRBY s f 1", WRONG_TYPE)
            .check("HINCRBYFLOAT s f inf", "-ERR value is NaN or Infinity")
            .check("HINCRBYFLOAT s f 1", WRONG_TYPE)
            .check("HRANDFIELD s -9223372036854775808 WITHVALUES", range)
            .check("HRANDFIELD s x WITHVALUE", NOT_AN_INTEGER)
            .check("HRANDFIELD s 1 WITHVALUE", "-ERR syntax error")
            .check("HRANDFIELD s 1 WITHVALUES x", "-ERR syntax error")
            .check("HRANDFIELD s -9223372036854770000 WITHVALUES", "-ERR value is out of range")
            .check("HRANDFIELD s 4611686018427387904 WITHVALUES", "-ERR value is out of range")
            .check("HRANDFIELD s 1 WITHVALUES", WRONG_TYPE)
            .check("HSCAN s x", "-ERR invalid cursor")
            .check("HSCAN s 0 COUNT 0", WRONG_TYPE)
            .check("HSET h f v", ":1")
            .check("HSCAN h 0 COUNT 0", "-ERR syntax error")
            .check("HSCAN h 0 COUNT x", NOT_AN_INTEGER)
            .check("HSCAN h 0 MATCH", "-ERR syntax error");
    });
}

#[test]
fn random_fields_have_the_shape_of_their_protocol() {
    family::same_everywhere(|s| {
        s.check("HRANDFIELD none", "(nil)")
            .check("HRANDFIELD none 5", "[]")
            .check("HRANDFIELD none -5 WITHVALUES", "[]")
            .check("HSET h f v", ":1")
            .check("HRANDFIELD h", "\"f\"")
            .check("HRANDFIELD h 0", "[]")
            .check("HRANDFIELD h 9223372036854775807", r#"["f"]"#)
            .check("HRANDFIELD h -3", r#"["f", "f", "f"]"#)
            .check3("HRANDFIELD h 2 WITHVALUES", r#"["f", "v"]"#, r#"[["f", "v"]]"#)
            .check3("HRANDFIELD h -2 withvalues", r#"["f", "v", "f", "v"]"#, r#"[["f", "v"], ["f", "v"]]"#)
            .check("HSET h g w i x", ":2")
            .check("HRANDFIELD h 3", r#"["f", "g", "i"]"#);
    });
}

/// The words of a reply that is an array of bulk strings.
fn words(reply: Reply) -> Vec<Vec<u8>> {
    let elements = reply.into_elements().unwrap_or_default();
    elements.iter().filter_map(|element| element.as_bytes().map(<[u8]>::to_vec)).collect()
}

#[test]
fn random_fields_of_a_large_hash_are_distinct_for_positive_counts() {
    let mut s = ours::scenario();
    let pairs: Vec<String> = (0..600).map(|n| format!("f{n} v{n}")).collect();
    s.check(&format!("HSET h {}", pairs.join(" ")), ":600");
    for (line, len, distinct) in [("HRANDFIELD h 250", 250, true), ("HRANDFIELD h 700", 600, true)] {
        let found = words(s.run(line)[0].clone());
        assert_eq!(found.len(), len);
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>().len() == len, distinct, "{line}");
    }
    let pairs = words(s.run("HRANDFIELD h -2000 WITHVALUES")[0].clone());
    assert_eq!(pairs.len(), 4000);
    assert!(pairs.chunks(2).all(|pair| pair[0][1..] == pair[1][1..]), "each with its own value");
    let different: BTreeSet<_> = pairs.chunks(2).map(|pair| &pair[0]).collect();
    assert!(different.len() < 600 && different.len() > 400, "{}", different.len());
}

#[test]
fn a_count_that_would_fill_the_memory_is_refused() {
    let mut s = ours::scenario();
    s.check("HSET h f v", ":1")
        .check("HRANDFIELD h -9223372036854775807", "-ERR value is out of range")
        .check("HRANDFIELD h -4194305", "-ERR value is out of range")
        .check("HRANDFIELD none -9223372036854775807", "[]");
}

#[test]
fn hscan_returns_every_field_of_a_large_hash() {
    let mut s = ours::scenario();
    let pairs: Vec<String> = (0..1000).map(|n| format!("f{n} v{n}")).collect();
    s.check(&format!("HSET h {}", pairs.join(" ")), ":1000");
    let (mut cursor, mut pages, mut seen) = ("0".to_string(), 0, BTreeSet::new());
    loop {
        let [page, other] = s.run(&format!("HSCAN h {cursor} COUNT 50 MATCH f*"));
        assert_eq!(page, other);
        let [next, elements] = <[Reply; 2]>::try_from(page.into_elements().unwrap()).unwrap();
        let elements = words(elements);
        assert!(elements.chunks(2).all(|pair| pair[0][1..] == pair[1][1..]));
        seen.extend(elements.chunks(2).map(|pair| pair[0].clone()));
        pages += 1;
        cursor = String::from_utf8(next.as_bytes().unwrap().to_vec()).unwrap();
        if cursor == "0" {
            break;
        }
    }
    assert_eq!((seen.len(), pages), (1000, 20));
}
