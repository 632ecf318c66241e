//! Streams: adding entries, and delivering them to a consumer of a group.

use super::{Workload, exact, request};
use crate::error::Result;
use crate::load::Expect;

/// Returns the rows of this file.
pub(super) fn rows() -> Result<Vec<Workload>> {
    let add = "XADD stream:{c:3} * field v{n:9} number {i}";
    let add = vec![request(add, Expect::Begins(b"$".to_vec()))?];
    // Each connection has its own stream and group. The ids grow with its turns.
    let group = request(
        "XGROUP CREATE stream:{c:3} group $ MKSTREAM",
        Expect::OneOf(vec![
            b"+OK\r\n".to_vec(),
            b"-BUSYGROUP Consumer Group name already exists\r\n".to_vec(),
        ]),
    )?;
    let entry = "*2\r\n$14\r\n1{i:11}-1\r\n*2\r\n$5\r\nfield\r\n$10\r\nv{n:9}\r\n";
    let deliver = vec![
        exact("XADD stream:{c:3} MAXLEN ~ 1000 1{i:11}-1 field v{n:9}", "$14\r\n1{i:11}-1\r\n")?,
        exact(
            "XREADGROUP GROUP group consumer COUNT 1 STREAMS stream:{c:3} >",
            &format!("*1\r\n*2\r\n$10\r\nstream:{{c:3}}\r\n*1\r\n{entry}"),
        )?,
        exact("XACK stream:{c:3} group 1{i:11}-1", ":1\r\n")?,
    ];
    Ok(vec![
        Workload::new("xadd", "stream", "XADD of two fields to a stream of each connection", add).grows(),
        Workload::new(
            "xreadgroup",
            "stream",
            "XADD, XREADGROUP of the entry and XACK in turn, on a stream of each connection",
            deliver,
        )
        .preload(vec![group]),
    ])
}
