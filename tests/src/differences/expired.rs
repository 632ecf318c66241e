//! Known differences of keys whose deadline has passed: our server deletes a key at its deadline, Redis 7.0 on access.

use super::words;
use crate::pair::{Claim, Difference};
use crate::reply::Reply;

pub(super) const COUNTED: Difference = Difference {
    name: "expired keys are not counted",
    reason: "Lockwheel deletes a key at its deadline. Redis counts an expired key until an access or the \
             expiry cycle deletes it",
    claim: Claim::OnPurpose,
    example: &["SET k v EXAT 1", "DBSIZE"],
    applies: |exchange| {
        words(exchange, 0..1) == ["DBSIZE"] && exchange.real.reply.as_int() > exchange.ours.reply.as_int()
    },
};

pub(super) const MEASURED: Difference = Difference {
    name: "expired keys have no size",
    reason: "Lockwheel deletes a key at its deadline. In Redis, MEMORY USAGE measures an expired key without \
             deleting it",
    claim: Claim::OnPurpose,
    example: &["SET k v EXAT 1", "MEMORY USAGE k"],
    applies: |exchange| {
        words(exchange, 0..2) == ["MEMORY", "USAGE"]
            && exchange.real.reply.as_int().is_some()
            && exchange.ours.reply == Reply::Null
    },
};

pub(super) const SCANNED: Difference = Difference {
    name: "expired keys have no type",
    reason: "SCAN of Redis 7.0 deletes an expired key when it reads the type, and returns the key as type \
             none. Lockwheel has already deleted such a key",
    claim: Claim::OnPurpose,
    example: &["SET k v EXAT 1", "SCAN 0 TYPE none"],
    applies: |exchange| {
        let is_none =
            |pair: &[Vec<u8>]| pair[0].eq_ignore_ascii_case(b"TYPE") && pair[1].eq_ignore_ascii_case(b"none");
        let finds_nothing = match &exchange.ours.reply {
            Reply::Array(items) => matches!(items.get(1), Some(Reply::Array(keys)) if keys.is_empty()),
            _ => false,
        };
        words(exchange, 0..1) == ["SCAN"] && exchange.arguments.windows(2).any(is_none) && finds_nothing
    },
};
