//! Keys: databases, the table of keys, expiry, waiters.

pub mod glob;
