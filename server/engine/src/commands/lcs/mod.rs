//! LCS: the longest common subsequence of two strings.

mod table;

use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::{Str, Text, Value};
use table::{Match, Table};

const NO_STRINGS: &str = "ERR The specified keys must contain string values";
const BOTH: &str = "ERR If you want both the length and indexes, please just use IDX.";
const TOO_LONG: &str = "ERR String too long for LCS";
const NO_MEMORY: &str = "ERR Insufficient memory, failed allocating transient memory for LCS";
const TOO_LARGE: &str = "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len";
/// The bytes of an entry of Redis' table. The bound of that table limits the work here too.
const ENTRY: u64 = 4;

pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("lcs", -3, lcs as DataHandler)
    .flags(&[Flags::READONLY])
    .categories(&["string"])
    .keys(&[KeySpec::range(1, 1, 1, &[KeyFlags::RO, KeyFlags::ACCESS])])
    .about("string", "7.0.0", "O(N*M) where N and M are the lengths of s1 and s2, respectively")
    .summary("The longest common subsequence of two strings, its length, or where they match.")
    .syntax("key1 key2#0 [LEN] [IDX] [MINMATCHLEN min-match-len=len] [WITHMATCHLEN]")
    .errors(&[
        NO_STRINGS,
        "ERR syntax error",
        "ERR value is not an integer or out of range",
        BOTH,
        TOO_LARGE,
    ])];

#[derive(Clone, Copy, Debug, Default)]
struct Options {
    /// Whether only the length is replied.
    length: bool,
    /// Whether the places of the matches are replied.
    matches: bool,
    /// The least length of a replied match.
    match_min: u64,
    /// Whether the length of each match is replied too.
    match_lengths: bool,
}

impl Options {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let (mut options, mut at) = (Options::default(), 3);
        while at < args.len() {
            if args.is(at, "idx") {
                options.matches = true;
            } else if args.is(at, "len") {
                options.length = true;
            } else if args.is(at, "withmatchlen") {
                options.match_lengths = true;
            } else if args.is(at, "minmatchlen") && at + 1 < args.len() {
                at += 1;
                options.match_min = u64::try_from(args.int(at)?).unwrap_or(0);
            } else {
                return Err(errors::SYNTAX);
            }
            at += 1;
        }
        if options.length && options.matches {
            return Err(CommandError::text(BOTH));
        }
        Ok(options)
    }
}

/// Checks that Redis' table for strings of these lengths would be within its bounds.
fn check_lengths(a: usize, b: usize, max: usize) -> Result<(), CommandError> {
    let [a, b] = [a as u64, b as u64];
    if a.max(b) >= u64::from(u32::MAX - 1) {
        return Err(CommandError::text(TOO_LONG));
    }
    let bytes = (u128::from(a) + 1) * (u128::from(b) + 1) * u128::from(ENTRY);
    if bytes > max as u128 { Err(CommandError::text(TOO_LARGE)) } else { Ok(()) }
}

fn lcs(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let is_string = |value: Option<&Value>| matches!(value, None | Some(Value::Str(_)));
    let are_strings = [1, 2].map(|at| is_string(tx.get(&args[at])));
    if are_strings != [true; 2] {
        return Err(CommandError::text(NO_STRINGS));
    }
    let text = |at: usize| match tx.peek(&args[at]) {
        Some(Value::Str(value)) => Str::text(value),
        _ => Text::Bytes(b""),
    };
    let options = Options::parse(args)?;
    let (a, b) = (text(1), text(2));
    check_lengths(a.len(), b.len(), tx.max_string())?;
    if options.length {
        reply.integer(table::length(&a, &b) as i64);
        return Ok(());
    }
    // The table has one bit for each pair of bytes, and there are the places of the bytes of `b`.
    let row = b.len().div_ceil(8) + 8;
    allocation::check(row * (a.len() + 256)).map_err(|_| CommandError::text(NO_MEMORY))?;
    let table = Table::new(&a, &b);
    if options.matches {
        answer_matches(&table, options, reply);
    } else {
        reply.bulk(&table.subsequence());
    }
    Ok(())
}

fn answer_matches(table: &Table<'_>, options: Options, reply: &mut dyn Reply) {
    let matches: Vec<Match> =
        table.matches().into_iter().filter(|found| found.len as u64 >= options.match_min).collect();
    reply.map(2);
    reply.bulk(b"matches");
    reply.array(matches.len());
    for found in &matches {
        reply.array(2 + usize::from(options.match_lengths));
        for start in [found.a, found.b] {
            reply.array(2);
            reply.integer(start as i64);
            reply.integer((start + found.len - 1) as i64);
        }
        if options.match_lengths {
            reply.integer(found.len as i64);
        }
    }
    reply.bulk(b"len");
    reply.integer(table.length() as i64);
}
