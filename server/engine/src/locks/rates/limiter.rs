//! The settings in a rate limiter's hash.

use super::super::redisson::{RATE_FIELDS, rate_permits_key, rate_value_key};
use crate::spec::{CommandError, errors};
use lockwheel_resp::number;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Hash;

const NOT_SET: CommandError = CommandError::text("ERR the rate is not set: use RATE.SET");
const NO_CLIENT: CommandError =
    CommandError::text("ERR CLIENT is missing: this rate applies to each client separately");

pub(super) const PER_CLIENT: i64 = 1;

/// A rate, and the keys in which its permits are counted.
#[derive(Debug)]
pub(super) struct Limiter {
    /// Whether each client has permits of its own.
    pub(super) is_per_client: bool,
    pub(super) rate: i64,
    pub(super) interval_ms: i64,
    /// The time that each acquisition lets the limiter live on, in milliseconds; 0 if it does not end.
    pub(super) keep_alive_ms: i64,
    /// The key of the permits that are left.
    pub(super) value_key: Vec<u8>,
    /// The key of the permits that were given out.
    pub(super) permits_key: Vec<u8>,
}

impl Limiter {
    /// Reads the limiter of a key, as this client sees it. Fails if the key holds another type or none, if a numeric
    /// field is no number, or if the limiter counts each client by itself and none is named.
    pub(super) fn read(tx: &mut Tx<'_>, key: &[u8], client: Option<&[u8]>) -> Result<Self, CommandError> {
        let hash = tx.read::<Hash>(key)?.ok_or(NOT_SET)?;
        let number = |field: &[u8]| match hash.get(field) {
            None => Ok(None),
            Some(text) => number::parse_i64(text).map(Some).ok_or(errors::HASH_VALUE_NOT_AN_INTEGER),
        };
        let [rate, interval, keep_alive, kind] = RATE_FIELDS.map(number);
        let (rate, interval_ms, kind) =
            (rate?.ok_or(NOT_SET)?, interval?.ok_or(NOT_SET)?, kind?.ok_or(NOT_SET)?);
        let client = match kind {
            PER_CLIENT => Some(client.ok_or(NO_CLIENT)?),
            _ => None,
        };
        Ok(Limiter {
            is_per_client: client.is_some(),
            rate,
            interval_ms,
            keep_alive_ms: keep_alive?.unwrap_or(0),
            value_key: rate_value_key(key, client),
            permits_key: rate_permits_key(key, client),
        })
    }
}
