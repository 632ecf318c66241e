//! Known differences of the rights to keys.

use super::is_error;
use crate::pair::{Claim, Difference, called};
use crate::reply::Reply;

pub(super) const STORED_KEY: Difference = Difference {
    name: "rights to the key that GEORADIUS stores to",
    reason: "if there are several STORE options, the last one counts. In redis-server, a user needs the \
             right to the first key only, and so can store to a last key without the right to it. In \
             Lockwheel, a user needs the right to both keys. COMMAND GETKEYS replies as in redis-server",
    claim: Claim::OnPurpose,
    example: &["ACL SETUSER u ~a:* +@all", "ACL DRYRUN u GEORADIUS a:1 1 1 1 km STORE a:2 STORE b:1"],
    applies: |exchange| {
        let request = called(exchange.arguments);
        let is_search = |word: &Vec<u8>| word.to_ascii_uppercase().starts_with(b"GEORADIUS");
        let stores =
            |word: &&Vec<u8>| word.eq_ignore_ascii_case(b"STORE") || word.eq_ignore_ascii_case(b"STOREDIST");
        request.iter().any(is_search)
            && request.iter().filter(stores).count() > 1
            && is_refused(&exchange.ours.reply)
            && !is_refused(&exchange.real.reply)
    },
};

/// Whether a user has been refused a key, or would be.
fn is_refused(reply: &Reply) -> bool {
    let told = reply.as_bytes().unwrap_or_default();
    is_error(reply, "NOPERM") || told.starts_with(b"This user has no permissions to access the ")
}
