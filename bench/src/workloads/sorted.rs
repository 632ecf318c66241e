//! Sorted sets: ranges, combined sets, geographic positions.

use super::{Workload, exact, request};
use crate::error::Result;
use crate::load::Expect;

/// Returns the rows of this file.
pub(super) fn rows() -> Result<Vec<Workload>> {
    // With 100,000 keys, each small set has 100 members, and each large set has a thousand. The large set contains the
    // members of the small set with the same last digits.
    let small = || exact("ZADD small:{n:3} {n} member:{n:9}", ":1\r\n");
    let large = || exact("ZADD large:{n:2} {n} member:{n:9}", ":1\r\n");
    let sets = || Ok::<_, crate::error::Error>(vec![small()?, large()?]);
    let store = |name: &str| {
        request(&format!("{name} result:{{n:3}} 2 small:{{n:3}} large:{{n:2}}"), Expect::Integer)
    };
    // The positions lie in ten squares of one degree with 10,000 positions each, about one per square kilometer.
    let place = exact("GEOADD places 1{n:1}.{n:5} 4{n:1}.{n:3} place:{n:9}", ":1\r\n")?;
    let around = "GEOSEARCH places FROMLONLAT 1{n:1}.{n:5} 4{n:1}.{n:5} BYRADIUS 3 km";
    let array = || Expect::Begins(b"*".to_vec());
    let searches =
        vec![request(around, array())?, request(&format!("{around} ASC COUNT 10 WITHDIST"), array())?];
    let range = request("ZRANGE ranked {n} +inf BYSCORE LIMIT 0 10 WITHSCORES", array())?;
    let row = |name: &str, about: &str, turn| Workload::new(name, "sorted", about, turn);
    Ok(vec![
        row("zrange", "ZRANGE of ten members by score, with their scores", vec![range])
            .preload(vec![exact("ZADD ranked {n} member:{n:9}", ":1\r\n")?]),
        row("zinterstore", "ZINTERSTORE of 100 members and 1,000", vec![store("ZINTERSTORE")?])
            .preload(sets()?),
        row("zunionstore", "ZUNIONSTORE of 100 members and 1,000", vec![store("ZUNIONSTORE")?])
            .preload(sets()?),
        row(
            "geosearch",
            "GEOSEARCH of some 30 places: as they come; the nearest ten with distances",
            searches,
        )
        .preload(vec![place]),
    ])
}
