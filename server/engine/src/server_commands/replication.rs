//! ROLE and WAIT, on a server that has no replicas.

use crate::core::{Call, Engine, Handler, Retry};
use crate::spec::{Args, CommandError, Flags, Flow, Null, Outcome, Row, Wait, errors};
use lockwheel_resp::Reply;

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("role", 1, Handler::Stateless(role))
        .flags(&[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["admin", "dangerous"])
        .about("server", "2.8.12", "O(1)")
        .summary("Tells the server's part in replication: always the master's."),
    Row::new("wait", 3, Handler::BlockingEngine(wait))
        .flags(&[Flags::BLOCKING])
        .categories(&["connection"])
        .about("generic", "3.0.0", "O(1)")
        .summary(
            "Waits until so many replicas have this client's writes; there are none, so for the whole time.",
        )
        .syntax("numreplicas timeout:integer")
        .tips(&["request_policy:all_shards", "response_policy:agg_min"])
        .errors(&[
            "ERR timeout is negative",
            "ERR timeout is not an integer or out of range",
            "ERR value is not an integer or out of range",
        ]),
];

fn role(_: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.array(3);
    reply.bulk(b"master");
    reply.integer(0);
    reply.array(0);
    Ok(())
}

/// No replica ever has a write: waiting for none is answered at once, anything else at the timeout.
fn wait(
    _: &mut Engine,
    _: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let replicas = args.int(1)?;
    let timeout = args.int(2).map_err(|_| errors::TIMEOUT_NOT_AN_INTEGER)?;
    if timeout < 0 {
        return Err(errors::TIMEOUT_NEGATIVE);
    }
    // Redis keeps the lowest 32 bits of the number.
    if replicas <= 0 || replicas as i32 <= 0 {
        reply.integer(0);
        return Ok(Flow::Done);
    }
    let timeout_ms = (timeout > 0).then(|| timeout.unsigned_abs());
    Ok(Wait::new(Retry::Never, timeout_ms, Null::Zero).into())
}
