//! The options of XREAD and XREADGROUP.

use super::ids::parse_id;
use crate::spec::{Args, CommandError, TimeoutRule, errors, parse_integer_timeout_ms};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Stream;
use lockwheel_store::values::stream::StreamId;
use smallvec::SmallVec;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// After this id. For a group: the consumer's unacknowledged entries after this id.
    Id(StreamId),
    /// After the last entry that was delivered to the group.
    LastDelivered,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct StreamReader {
    pub(super) group: usize,
    pub(super) consumer: usize,
    /// Whether the entries are acknowledged at once.
    pub(super) no_ack: bool,
}

/// A request of XREAD or XREADGROUP, without its ids.
#[derive(Clone, Debug)]
pub(super) struct ReadOptions {
    /// The most entries of each stream. 0: all.
    pub(super) count: usize,
    /// The longest wait, in milliseconds, if the request may wait. `Some(None)`: for ever.
    pub(super) block: Option<Option<u64>>,
    pub(super) reader: Option<StreamReader>,
    /// The arguments that are keys. The ids follow, in the same order.
    pub(super) keys: Range<usize>,
}

impl ReadOptions {
    /// Reads the request of XREADGROUP, or of XREAD.
    pub(super) fn parse(args: Args<'_>, of_group: bool, rule: TimeoutRule) -> Result<Self, CommandError> {
        let mut options = ReadOptions { count: 0, block: None, reader: None, keys: 0..0 };
        let (mut group, mut no_ack, mut at) = (None, false, 1);
        while at < args.len() {
            let more = args.len() - at - 1;
            if more > 0 && args.is(at, "block") {
                options.block = Some(parse_integer_timeout_ms(&args[at + 1], rule)?);
                at += 2;
            } else if more > 0 && args.is(at, "count") {
                options.count = usize::try_from(args.int(at + 1)?).unwrap_or(0);
                at += 2;
            } else if more > 0 && args.is(at, "streams") {
                if !more.is_multiple_of(2) {
                    return Err(unbalanced(of_group));
                }
                options.keys = at + 1..at + 1 + more / 2;
                break;
            } else if more >= 2 && args.is(at, "group") {
                if !of_group {
                    return Err(errors::GROUP_OF_XREAD);
                }
                group = Some(at + 1);
                at += 3;
            } else if args.is(at, "noack") {
                if !of_group {
                    return Err(errors::NOACK_OF_XREAD);
                }
                no_ack = true;
                at += 1;
            } else {
                return Err(errors::SYNTAX);
            }
        }
        if options.keys.is_empty() {
            return Err(errors::SYNTAX);
        }
        if of_group {
            let group = group.ok_or(errors::MISSING_GROUP)?;
            options.reader = Some(StreamReader { group, consumer: group + 1, no_ack });
        }
        Ok(options)
    }

    /// The indices of the key and the id of each stream.
    pub(super) fn streams(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let count = self.keys.len();
        self.keys.clone().map(move |key| (key, key + count))
    }

    /// Looks up all streams and groups, and reads the position of each.
    pub(super) fn resolve(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
    ) -> Result<SmallVec<[After; 4]>, CommandError> {
        self.streams().map(|(key, id)| self.after(tx, args, &args[key], &args[id])).collect()
    }

    fn after(&self, tx: &mut Tx<'_>, args: Args<'_>, key: &[u8], id: &[u8]) -> Result<After, CommandError> {
        let stream = tx.read::<Stream>(key)?;
        if let Some(reader) = self.reader {
            let group = &args[reader.group];
            stream.and_then(|stream| stream.groups.get(group)).ok_or_else(|| no_group(key, group))?;
        }
        match (id, self.reader) {
            (b"$", Some(_)) => Err(errors::DOLLAR_OF_GROUP),
            (b"$", None) => Ok(After::Id(stream.map_or(StreamId::MIN, |stream| stream.log.last_id()))),
            (b">", Some(_)) => Ok(After::LastDelivered),
            (b">", None) => Err(errors::NEW_WITHOUT_GROUP),
            _ => Ok(match parse_id(id, 0)? {
                // Redis represents `>` by the greatest id.
                StreamId::MAX if self.reader.is_some() => After::LastDelivered,
                id => After::Id(id),
            }),
        }
    }
}

pub(super) fn no_group(key: &[u8], group: &[u8]) -> CommandError {
    let parts: [&[u8]; 5] = [
        b"NOGROUP No such key '",
        crate::spec::quotable(key),
        b"' or consumer group '",
        crate::spec::quotable(group),
        b"' in XREADGROUP with GROUP option",
    ];
    CommandError::new(parts.concat())
}

fn unbalanced(of_group: bool) -> CommandError {
    let (name, sign) = if of_group { ("xreadgroup", '>') } else { ("xread", '$') };
    CommandError::new(format!(
        "ERR Unbalanced '{name}' list of streams: for each stream key an ID or '{sign}' must be specified."
    ))
}
