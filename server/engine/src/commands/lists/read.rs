//! The commands that read lists.

use super::place;
use crate::commands::ranges::index_range;
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::{Reply, number};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::List;

const READS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])];

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("llen", 2, llen as DataHandler)
        .flags(&[Flags::READONLY, Flags::FAST])
        .categories(&["list"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO])])
        .about("list", "1.0.0", "O(1)")
        .summary("Tells how many elements a list has.")
        .syntax("key"),
    Row::new("lindex", 3, lindex as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["list"])
        .keys(READS)
        .about(
            "list",
            "1.0.0",
            "O(N) where N is the number of elements to traverse to get to the element at index. This makes \
             asking for the first or the last element of the list O(1).",
        )
        .summary("Returns the element with an index; negative ones count from the end.")
        .syntax("key index")
        .errors(&["ERR value is not an integer or out of range"]),
    Row::new("lrange", 4, lrange as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["list"])
        .keys(READS)
        .about(
            "list",
            "1.0.0",
            "O(S+N) where S is the distance of start offset from HEAD for small lists, from nearest end \
             (HEAD or TAIL) for large lists; and N is the number of elements in the specified range.",
        )
        .summary("Returns the elements from one index to another.")
        .syntax("key start stop")
        .errors(&["ERR value is not an integer or out of range"]),
    Row::new("lpos", -3, lpos as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["list"])
        .keys(READS)
        .about(
            "list",
            "6.0.6",
            "O(N) where N is the number of elements in the list, for the average case. When searching for \
             elements near the head or the tail of the list, or when the MAXLEN option is provided, the \
             command may run in constant time.",
        )
        .summary("Finds the indexes of the elements that equal a given element.")
        .syntax("key element [RANK rank] [COUNT num-matches] [MAXLEN len]")
        .errors(&[
            "ERR syntax error",
            "ERR value is not an integer or out of range",
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
            "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to \
             start from the end of the list",
            "ERR COUNT can't be negative",
            "ERR MAXLEN can't be negative",
        ]),
];

fn llen(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let len = tx.read::<List>(&args[1])?.map_or(0, List::len);
    reply.integer(len as i64);
    Ok(())
}

fn lindex(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let Some(list) = tx.read::<List>(&args[1])? else {
        reply.null();
        return Ok(());
    };
    // Redis checks the key first.
    let index = args.int(2)?;
    match place(index, list.len()).and_then(|place| list.get(place)) {
        Some(element) => reply.bulk(element),
        None => reply.null(),
    }
    Ok(())
}

fn lrange(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (start, stop) = (args.int(2)?, args.int(3)?);
    match tx.read::<List>(&args[1])? {
        None => reply.array(0),
        Some(list) => {
            let range = index_range(start, stop, list.len());
            reply.array(range.len());
            list.range(range).for_each(|element| reply.bulk(element));
        }
    }
    Ok(())
}

/// The matches that LPOS returns.
struct Search {
    /// The rank of the first returned match: from the front if positive, else from the back. Not 0.
    rank: i64,
    /// The most matches. `None`: one match, replied without an array. 0: all.
    count: Option<usize>,
    /// The most elements to compare. 0: all.
    maxlen: usize,
}

impl Search {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut search = Search { rank: 1, count: None, maxlen: 0 };
        for at in (3..args.len()).step_by(2) {
            let has_value = at + 1 < args.len();
            if has_value && args.is(at, "rank") {
                search.rank = args.int_in(at + 1, -i64::MAX, i64::MAX, errors::OUT_OF_LONG_RANGE)?;
                if search.rank == 0 {
                    return Err(errors::RANK_ZERO);
                }
            } else if has_value && args.is(at, "count") {
                search.count = Some(not_negative(args, at + 1).ok_or(errors::COUNT_NEGATIVE)?);
            } else if has_value && args.is(at, "maxlen") {
                search.maxlen = not_negative(args, at + 1).ok_or(errors::MAXLEN_NEGATIVE)?;
            } else {
                return Err(errors::SYNTAX);
            }
        }
        Ok(search)
    }

    /// The index, in `elements`, of each requested match.
    fn run<'a>(&self, elements: impl Iterator<Item = &'a [u8]>, wanted: &[u8]) -> Vec<usize> {
        let all_if_0 = |limit: usize| if limit == 0 { usize::MAX } else { limit };
        elements
            .enumerate()
            .take(all_if_0(self.maxlen))
            .filter(|(_, element)| *element == wanted)
            .map(|(before, _)| before)
            .skip((self.rank.unsigned_abs() - 1) as usize)
            .take(all_if_0(self.count.unwrap_or(1)))
            .collect()
    }
}

/// Argument `index` as a nonnegative number.
fn not_negative(args: Args<'_>, index: usize) -> Option<usize> {
    usize::try_from(args.get(index).and_then(number::parse_i64)?).ok()
}

fn lpos(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let search = Search::parse(args)?;
    let found = match tx.read::<List>(&args[1])? {
        None => Vec::new(),
        Some(list) if search.rank > 0 => search.run(list.iter(), &args[2]),
        Some(list) => {
            let mut found = search.run(list.iter().rev(), &args[2]);
            found.iter_mut().for_each(|place| *place = list.len() - 1 - *place);
            found
        }
    };
    if search.count.is_some() {
        reply.array(found.len());
        found.into_iter().for_each(|place| reply.integer(place as i64));
    } else {
        match found.first() {
            Some(&place) => reply.integer(place as i64),
            None => reply.null(),
        }
    }
    Ok(())
}
