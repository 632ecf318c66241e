//! Single commands.

use super::{Workload, exact, request};
use crate::error::Result;
use crate::load::Expect;

/// The rows of this file.
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
    ])
}
