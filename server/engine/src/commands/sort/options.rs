//! The options of SORT.

use super::order::{By, SortOrder};
use super::pattern::Pattern;
use crate::spec::{Args, CommandError, errors};
use std::ops::Range;

const BY_DENIED: CommandError =
    CommandError::text("ERR BY option of SORT denied due to insufficient ACL permissions.");
const GET_DENIED: CommandError =
    CommandError::text("ERR GET option of SORT denied due to insufficient ACL permissions.");

const BY_IN_CLUSTER: CommandError = CommandError::text("ERR BY option of SORT denied in Cluster mode.");
const GET_IN_CLUSTER: CommandError = CommandError::text("ERR GET option of SORT denied in Cluster mode.");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherKeys {
    /// The keys may be read.
    Readable,
    /// The user may not read all such keys.
    Denied,
    /// The keys may be at other nodes of a cluster.
    InCluster,
}

#[derive(Debug, Default)]
pub(super) struct SortOptions<'a> {
    /// The value by which the elements are ordered.
    by: By<'a>,
    alpha: bool,
    pub(super) descending: bool,
    /// The first wanted element, and the number of wanted ones. Negative: all.
    limit: Option<(i64, i64)>,
    /// The patterns whose values are replied for each element. Empty: the element itself.
    pub(super) get: Vec<Pattern<'a>>,
    /// The key that stores the result.
    pub(super) store: Option<&'a [u8]>,
}

impl<'a> SortOptions<'a> {
    /// Reads the options of a request, with STORE if `may_store`. The last of a repeated option counts, except of GET.
    pub(super) fn parse(args: Args<'a>, may_store: bool, others: OtherKeys) -> Result<Self, CommandError> {
        let (mut options, mut at) = (SortOptions::default(), 2);
        while at < args.len() {
            let following = args.from(at + 1);
            if args.is(at, "asc") {
                options.descending = false;
            } else if args.is(at, "desc") {
                options.descending = true;
            } else if args.is(at, "alpha") {
                options.alpha = true;
            } else if args.is(at, "limit") && following.len() >= 2 {
                options.limit = Some((args.int(at + 1)?, args.int(at + 2)?));
                at += 2;
            } else if let Some(&word) = following.first() {
                if args.is(at, "by") {
                    if others != OtherKeys::Readable && By::parse(word) != By::Nothing {
                        return Err(if others == OtherKeys::Denied { BY_DENIED } else { BY_IN_CLUSTER });
                    }
                    // A BY without an order also overrides later ones.
                    options.by = if options.by == By::Nothing { By::Nothing } else { By::parse(word) };
                } else if args.is(at, "get") {
                    if others != OtherKeys::Readable {
                        return Err(if others == OtherKeys::Denied { GET_DENIED } else { GET_IN_CLUSTER });
                    }
                    options.get.push(Pattern::parse(word));
                } else if may_store && args.is(at, "store") {
                    options.store = Some(word);
                } else {
                    return Err(errors::SYNTAX);
                }
                at += 1;
            } else {
                return Err(errors::SYNTAX);
            }
            at += 1;
        }
        Ok(options)
    }

    /// The order of the elements. `None`: their own order.
    pub(super) fn order(&self) -> Option<SortOrder<'_>> {
        SortOrder::new(&self.by, self.alpha)
    }

    /// The range of wanted elements, out of `len`.
    pub(super) fn shown(&self, len: usize) -> Range<usize> {
        let Some((start, count)) = self.limit else { return 0..len };
        let within = |number: i64| usize::try_from(number).unwrap_or(0).min(len);
        let (start, count) = (within(start), if count < 0 { len } else { within(count) });
        start..(start + count).min(len)
    }
}
