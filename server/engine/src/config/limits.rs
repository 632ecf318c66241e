//! Limits of pending replies, and how `client-output-buffer-limit` writes them.

use super::parameter::{Reason, Value};
use super::special::Context;
use super::values;
use std::fmt;

/// How many bytes of replies a client may have pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputLimit {
    /// Bytes at which the client is disconnected at once; 0: never.
    pub hard: usize,
    /// Bytes at which it is disconnected after a while; 0: never.
    pub soft: usize,
    /// That while, in seconds.
    pub soft_seconds: i64,
}

impl fmt::Display for OutputLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.hard, self.soft, self.soft_seconds)
    }
}

/// The limits of each class of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// Of most clients.
    pub normal: OutputLimit,
    /// Of replicas.
    pub replica: OutputLimit,
    /// Of subscribers.
    pub pubsub: OutputLimit,
}

impl Default for OutputLimits {
    /// Those of an unconfigured Redis.
    fn default() -> Self {
        OutputLimits {
            normal: OutputLimit::default(),
            replica: OutputLimit { hard: 256 << 20, soft: 64 << 20, soft_seconds: 60 },
            pubsub: OutputLimit { hard: 32 << 20, soft: 8 << 20, soft_seconds: 60 },
        }
    }
}

impl fmt::Display for OutputLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "normal {} slave {} pubsub {}", self.normal, self.replica, self.pubsub)
    }
}

const ARITY: &str = "Wrong number of arguments in buffer limit configuration.";
const CLASS: &str = "Invalid client class specified in buffer limit configuration.";
const NUMBERS: &str = "Error in hard, soft or soft_seconds setting in buffer limit configuration.";

/// `class hard soft soft-seconds`, any number of times; classes that are not named keep their limits.
pub(super) fn read(words: &[&[u8]], context: &Context<'_>) -> Result<Value, Reason> {
    let Value::OutputLimits(mut limits) = context.current() else { return Err(ARITY.into()) };
    let (groups, []) = words.as_chunks::<4>() else { return Err(ARITY.into()) };
    for [class, hard, soft, soft_seconds] in groups {
        let limit = match class.to_ascii_lowercase().as_slice() {
            b"normal" => &mut limits.normal,
            b"slave" | b"replica" => &mut limits.replica,
            b"pubsub" => &mut limits.pubsub,
            _ => return Err(CLASS.into()),
        };
        *limit = read_limit(hard, soft, soft_seconds).ok_or(NUMBERS)?;
    }
    Ok(Value::OutputLimits(limits))
}

fn read_limit(hard: &[u8], soft: &[u8], soft_seconds: &[u8]) -> Option<OutputLimit> {
    // Redis keeps the low 32 bits of the seconds.
    let soft_seconds = values::c_integer(soft_seconds)? as i32;
    let bytes = |text| values::size(text).map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    (soft_seconds >= 0).then_some(OutputLimit {
        hard: bytes(hard)?,
        soft: bytes(soft)?,
        soft_seconds: soft_seconds.into(),
    })
}
