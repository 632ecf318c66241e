//! A grant: where an owner comes to hold a lock, or to hold it once more, whatever the layout.

use super::super::layouts::Standing;
use super::super::ledger::{self, ReleaseCause};
use super::options::Options;
use crate::keyspace::Tx;
use crate::spec::CommandError;
use lockwheel_resp::Reply;

/// A grant, as its owner is told of it.
#[derive(Debug)]
pub(in crate::locks) struct Granted {
    /// The fencing token.
    pub(in crate::locks) token: u64,
    pub(in crate::locks) holds: i64,
    /// How long the hold lasts.
    pub(in crate::locks) ttl_ms: i64,
    /// How the last hold before it ended, as far as it is remembered.
    pub(in crate::locks) predecessor: Option<ReleaseCause>,
}

/// Gives an owner the lock that it asks for, or one hold more; `None` while others hold it.
///
/// Errors: it may not have it, or the key holds something else. Then nothing has changed.
pub(in crate::locks) fn grant(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
    options: &Options,
) -> Result<Option<Granted>, CommandError> {
    let layout = options.layout;
    let holds = match layout.standing(tx, key, owner)? {
        Standing::Free => 0,
        Standing::Mine(holds) => holds,
        Standing::Others => return Ok(None),
    };
    let holds = options.limit.another(holds)?;
    let at = layout.take(tx, key, owner, holds, options.lease_ms)?;
    let acquired = ledger::acquired(tx, at, key, &layout.field(owner), holds > 1);
    Ok(Some(Granted {
        token: acquired.token,
        holds,
        ttl_ms: options.lease_ms,
        predecessor: acquired.predecessor,
    }))
}

impl Granted {
    /// Writes the reply of a grant after a wait.
    pub(in crate::locks) fn write(&self, waited_ms: u64, reply: &mut dyn Reply) {
        reply.map(5);
        field(reply, "token", self.token as i64);
        field(reply, "holds", self.holds);
        field(reply, "ttl", self.ttl_ms);
        field(reply, "waited", waited_ms as i64);
        reply.bulk(b"predecessor");
        reply.bulk(self.predecessor.map_or("none", ReleaseCause::name).as_bytes());
    }
}

fn field(reply: &mut dyn Reply, name: &str, value: i64) {
    reply.bulk(name.as_bytes());
    reply.integer(value);
}
