//! The options of XADD and XTRIM.

use super::ids::{NewId, parse_id, parse_new_id};
use crate::spec::{Args, CommandError, errors};
use lockwheel_store::values::stream::{Keep, NodeLimits, Trim};

/// The default number of full nodes whose entries are trimmed at most at once.
const NODES: usize = 100;
/// The default most entries trimmed at once, if nodes have no limit of entries.
const ENTRIES: usize = 10_000;
/// The upper bound of the default number of entries trimmed at once.
const MAX_DEFAULT_ENTRIES: usize = 1_000_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct TrimOptions {
    /// Whether XADD must not create a stream.
    pub(super) no_make: bool,
    /// The trimming of the stream, if requested.
    pub(super) trim: Option<Trim>,
    /// The index of the threshold of the trimming.
    pub(super) threshold: usize,
    /// The id of XADD's entry.
    pub(super) id: NewId,
    /// The index of the argument after the id. Beyond the last argument if there is no id.
    pub(super) fields: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Add,
    Trim,
}

#[derive(Debug, Default)]
struct Reading {
    keep: Option<Keep>,
    threshold: usize,
    whole_nodes: bool,
    limit: Option<usize>,
    no_make: bool,
}

impl TrimOptions {
    /// Reads the options from argument 2 on.
    pub(super) fn parse(args: Args<'_>, command: Command, nodes: NodeLimits) -> Result<Self, CommandError> {
        let mut reading = Reading::default();
        let (mut at, mut id) = (2, NewId::Auto);
        while at < args.len() {
            let has_more = at + 1 < args.len();
            if command == Command::Add && &args[at] == b"*" {
                break;
            } else if has_more && args.is(at, "maxlen") {
                at = reading.strategy(args, at, |args, at| match args.int(at)? {
                    ..0 => Err(errors::MAXLEN_ARGUMENT_NEGATIVE),
                    most => Ok(Keep::Last(usize::try_from(most).unwrap_or(usize::MAX))),
                })?;
            } else if has_more && args.is(at, "minid") {
                at = reading.strategy(args, at, |args, at| Ok(Keep::From(parse_id(&args[at], 0)?)))?;
            } else if has_more && args.is(at, "limit") {
                let limit = args.int(at + 1)?;
                reading.limit = Some(usize::try_from(limit).map_err(|_| errors::LIMIT_ARGUMENT_NEGATIVE)?);
                at += 2;
            } else if command == Command::Trim {
                return Err(errors::SYNTAX);
            } else if args.is(at, "nomkstream") {
                reading.no_make = true;
                at += 1;
            } else {
                id = parse_new_id(&args[at], 0)?;
                break;
            }
        }
        let trim = reading.finish(command, nodes)?;
        Ok(TrimOptions { no_make: reading.no_make, trim, threshold: reading.threshold, id, fields: at + 1 })
    }
}

impl Reading {
    /// Reads `MAXLEN` or `MINID` at argument `at`, a sign, and a threshold by `read`. Returns the next index.
    fn strategy(
        &mut self,
        args: Args<'_>,
        at: usize,
        read: impl Fn(Args<'_>, usize) -> Result<Keep, CommandError>,
    ) -> Result<usize, CommandError> {
        if self.keep.is_some() {
            return Err(errors::TWO_TRIMMING_STRATEGIES);
        }
        // A sign that is the last argument is read as the threshold.
        let sign = &args[at + 1];
        let has_sign = at + 2 < args.len() && matches!(sign, b"~" | b"=");
        self.whole_nodes = has_sign && sign == b"~";
        let value = if has_sign { at + 2 } else { at + 1 };
        self.keep = Some(read(args, value)?);
        self.threshold = value;
        Ok(value + 1)
    }

    fn finish(&self, command: Command, nodes: NodeLimits) -> Result<Option<Trim>, CommandError> {
        if self.keep.is_none() && self.limit.is_some_and(|limit| limit > 0) {
            return Err(errors::LIMIT_WITHOUT_STRATEGY);
        }
        if self.keep.is_none() && command == Command::Trim {
            return Err(errors::NO_TRIMMING_STRATEGY);
        }
        if self.limit.is_some() && !self.whole_nodes {
            return Err(errors::LIMIT_OF_EXACT_TRIMMING);
        }
        let limit = match self.limit {
            Some(limit) => limit,
            None if !self.whole_nodes => 0,
            None if nodes.entries == 0 => ENTRIES,
            None => nodes.entries.saturating_mul(NODES).min(MAX_DEFAULT_ENTRIES),
        };
        Ok(self.keep.map(|keep| Trim { keep, whole_nodes: self.whole_nodes, limit }))
    }
}
