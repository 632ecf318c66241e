//! The libraries of scripts, in workloads that read, change and write a text.

use super::Workload;
use super::script::Call;
use crate::error::Result;

/// A script that changes an order. ARGV: an order as JSON. The result has the same length. The order of its fields
/// depends on the server.
pub(crate) const ORDER: &str = "\
local order = cjson.decode(ARGV[1])
order.version = order.version + 1
order.items[1].count = order.items[1].count + 1
return #cjson.encode(order)";

/// An order as JSON. `{n:9}` stands for nine digits.
pub(crate) const ORDER_TEXT: &str = concat!(
    r#"{"id":"order-{n:9}","customer":{"name":"Ada Lovelace","mail":"ada@example.org","#,
    r#""address":["12 St James's Square","London","SW1Y 4JH"]},"items":[{"sku":"A-1001","#,
    r#""count":2,"price":19.95},{"sku":"B-2002","count":1,"price":250},{"sku":"C-3003","count":4,"#,
    r#""price":0.5}],"paid":true,"note":null,"version":7}"#,
);

/// A script that packs a job and unpacks it again. ARGV: an id, a time in ms.
pub(crate) const JOB: &str = "\
local job = {ARGV[1], 'send-mail', tonumber(ARGV[2]), {attempts = 3, delay = 500, priority = 10, lifo = false,
    backoff = {type = 'exponential', delay = 1000}},
    {to = 'ada@example.org', subject = 'Your order', parts = {1, 2, 3}}}
local packed = cmsgpack.pack(job)
local read = cmsgpack.unpack(packed)
return read[4].attempts + #read[5].parts + #read[1]";

/// Returns the rows of this file.
pub(super) fn rows() -> Result<Vec<Workload>> {
    let order = Call::Digest.step(ORDER, &[], &[ORDER_TEXT], ":304\r\n")?;
    let job = Call::Text.step(JOB, &[], &["job-{n:9}", "1700000000000"], ":19\r\n")?;
    Ok(vec![
        Workload::new(
            "cjson",
            "libraries",
            "A text of 300 bytes decoded and encoded, by EVALSHA",
            vec![order],
        )
        .scripts(&[ORDER]),
        Workload::new(
            "cmsgpack",
            "libraries",
            "A job packed and unpacked, by EVAL with full text",
            vec![job],
        )
        .scripts(&[JOB]),
    ])
}
