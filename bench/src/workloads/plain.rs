//! Single commands.

use super::{Workload, exact, request};
use crate::error::Result;
use crate::load::Expect;

/// The elements of the list to sort, in no order.
const ELEMENTS: &str = "58 7 311 42 96 1009 3 77 250 18 640 5 133 29 812 64 9 471 36 205 88 1 730 15 392 54 119 23 567 \
                        71 280 12";
/// The first elements by number, and the last ones by text.
const LEAST: [&str; 5] = ["1", "3", "5", "7", "9"];
const LAST_TEXTS: [&str; 5] = ["96", "9", "88", "812", "77"];

/// Returns the rows of this file.
pub(super) fn rows() -> Result<Vec<Workload>> {
    let set = || exact("SET key:{n} v{n:9}", "+OK\r\n");
    let get = exact("GET key:{n}", "$10\r\nv{n:9}\r\n")?;
    let hset = |reply| exact("HSET hash field:{n} v{n:9}", reply);
    let zadd = |reply| exact("ZADD zset {i} member:{n}", reply);
    let (new, old) = (":1\r\n", ":0\r\n");
    let row = |name: &str, about: &str, step| Workload::new(name, "plain", about, vec![step]);
    Ok(vec![
        row("ping", "PING", exact("PING", "+PONG\r\n")?),
        row("set", "SET of 10 bytes over a random key", set()?).preload(vec![set()?]),
        row("get", "GET of 10 bytes of a random key", get).preload(vec![set()?]),
        row("hset", "HSET of a random field of one hash", hset(old)?).preload(vec![hset(new)?]),
        row("zadd", "ZADD of a random member of one sorted set, its score rising", zadd(old)?)
            .preload(vec![zadd(new)?]),
        row(
            "lpush",
            "LPUSH on a list of each connection",
            request("LPUSH list:{c} v{n:9}", Expect::Integer)?,
        )
        .grows(),
        row(
            "publish",
            "PUBLISH to a channel that nobody listens to",
            exact("PUBLISH channel:{n} v", ":0\r\n")?,
        ),
        Workload::new(
            "setbit",
            "plain",
            "SETBIT of a random bit of one string of 137,500 bytes, set and cleared in turn",
            vec![exact("SETBIT bits 1{n:6} 1", old)?, exact("SETBIT bits 1{n:6} 0", new)?],
        ),
        row(
            "pfadd",
            "PFADD of a new element to a HyperLogLog of each connection",
            request("PFADD visitors:{c:3} visitor:{i}", Expect::OneOf(vec![old.into(), new.into()]))?,
        )
        .grows(),
        sort()?,
    ])
}

/// Returns a workload of SORT by number and by text, with a limited range.
fn sort() -> Result<Workload> {
    let count = ELEMENTS.split(' ').count();
    let array = |elements: [&str; 5]| {
        let elements = elements.map(|element| format!("${}\r\n{element}\r\n", element.len()));
        format!("*{}\r\n{}", elements.len(), elements.concat())
    };
    let turn = vec![
        exact("SORT list:{n} LIMIT 0 5", &array(LEAST))?,
        exact("SORT list:{n} ALPHA DESC LIMIT 0 5", &array(LAST_TEXTS))?,
    ];
    let about = "SORT of 32 elements by number and by text in turn, five of them asked for";
    let fill = exact(&format!("RPUSH list:{{n}} {ELEMENTS}"), &format!(":{count}\r\n"))?;
    Ok(Workload::new("sort", "plain", about, turn).preload(vec![fill]))
}
