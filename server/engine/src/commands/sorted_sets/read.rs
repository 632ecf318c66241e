//! The commands that read scores, ranks and counts of members.

use super::bounds::{Members, Scores};
use crate::commands::scan::{ScanOptions, begin_page, empty_page, parse_cursor};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::allocation::{self, SmallBlocks};
use lockwheel_resp::{Reply, number};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::{Encoding, ZSet};

const READS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])];
const FAST: Flags = Flags::of(&[Flags::READONLY, Flags::FAST]);

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("zcard", 2, zcard as DataHandler)
        .flags(&[FAST])
        .categories(&["sortedset"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO])])
        .about("sorted-set", "1.2.0", "O(1)")
        .summary("Tells how many members a sorted set has.")
        .syntax("key"),
    Row::new("zscore", 3, zscore as DataHandler)
        .flags(&[FAST])
        .categories(&["sortedset"])
        .keys(READS)
        .about("sorted-set", "1.2.0", "O(1)")
        .summary("Returns the score of a member.")
        .syntax("key member"),
    Row::new("zmscore", -3, zmscore as DataHandler)
        .flags(&[FAST])
        .categories(&["sortedset"])
        .keys(READS)
        .about("sorted-set", "6.2.0", "O(N) where N is the number of members being requested.")
        .summary("Returns the scores of members.")
        .syntax("key member [member ...]"),
    Row::new("zcount", 4, zcount as DataHandler)
        .flags(&[FAST])
        .categories(&["sortedset"])
        .keys(READS)
        .about("sorted-set", "2.0.0", "O(log(N)) with N being the number of elements in the sorted set.")
        .summary("Counts the members with scores in a range.")
        .syntax("key min max")
        .errors(&["ERR min or max is not a float"]),
    Row::new("zlexcount", 4, zlexcount as DataHandler)
        .flags(&[FAST])
        .categories(&["sortedset"])
        .keys(READS)
        .about("sorted-set", "2.8.9", "O(log(N)) with N being the number of elements in the sorted set.")
        .summary("Counts the members in a range of their bytes.")
        .syntax("key min:string max:string")
        .errors(&["ERR min or max not valid string range item"]),
    rank_row("zrank", zrank)
        .summary("Returns the rank of a member, lowest scores first.")
        .history(&[("7.2.0", "Added the optional `WITHSCORE` argument.")])
        .syntax("key member [WITHSCORE]")
        .errors(&["ERR syntax error"])
        .older(&[(
            "7.2.0",
            rank_row("zrank", zrank)
                .summary("Returns the rank of a member, lowest scores first.")
                .arity(3)
                .syntax("key member"),
        )]),
    rank_row("zrevrank", zrevrank)
        .summary("Returns the rank of a member, highest scores first.")
        .history(&[("7.2.0", "Added the optional `WITHSCORE` argument.")])
        .syntax("key member [WITHSCORE]")
        .errors(&["ERR syntax error"])
        .older(&[(
            "7.2.0",
            rank_row("zrevrank", zrevrank)
                .summary("Returns the rank of a member, highest scores first.")
                .arity(3)
                .syntax("key member"),
        )]),
    Row::new("zscan", -3, zscan as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["sortedset"])
        .keys(READS)
        .about(
            "sorted-set",
            "2.8.0",
            "O(1) for every call. O(N) for a complete iteration, including enough command calls for the \
             cursor to return back to 0. N is the number of elements inside the collection..",
        )
        .summary("Goes through the members of a sorted set and their scores, a page at a time.")
        .syntax("key cursor [MATCH pattern] [COUNT count]")
        .tips(&["nondeterministic_output"])
        .errors(&["ERR invalid cursor", "ERR syntax error", "ERR value is not an integer or out of range"]),
];

const fn rank_row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -3, handler).flags(&[FAST]).categories(&["sortedset"]).keys(READS).about(
        "sorted-set",
        "2.0.0",
        "O(log(N))",
    )
}

fn zcard(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let len = tx.read::<ZSet>(&args[1])?.map_or(0, ZSet::len);
    reply.integer(len as i64);
    Ok(())
}

fn score_or_null(score: Option<f64>, reply: &mut dyn Reply) {
    match score {
        Some(score) => reply.double(score),
        None => reply.null(),
    }
}

fn zscore(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let score = tx.read::<ZSet>(&args[1])?.and_then(|set| set.score(&args[2]));
    score_or_null(score, reply);
    Ok(())
}

fn zmscore(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let set = tx.read::<ZSet>(&args[1])?;
    let members = args.from(2);
    reply.array(members.len());
    for member in members {
        score_or_null(set.and_then(|set| set.score(member)), reply);
    }
    Ok(())
}

fn zcount(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let scores = Scores::parse(args, 2, 3)?;
    let count = tx.read::<ZSet>(&args[1])?.map_or(0, |set| scores.ranks(set).len());
    reply.integer(count as i64);
    Ok(())
}

fn zlexcount(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let members = Members::parse(args, 2, 3)?;
    let count = tx.read::<ZSet>(&args[1])?.map_or(0, |set| members.ranks(set).len());
    reply.integer(count as i64);
    Ok(())
}

fn zrank(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    rank(tx, args, false, reply)
}

fn zrevrank(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    rank(tx, args, true, reply)
}

fn rank(tx: &mut Tx<'_>, args: Args<'_>, reverse: bool, reply: &mut dyn Reply) -> Outcome {
    if args.len() > 4 {
        return Err(CommandError::arity(if reverse { "zrevrank" } else { "zrank" }));
    }
    let with_score = args.len() == 4;
    if with_score && !args.is(3, "withscore") {
        return Err(errors::SYNTAX);
    }
    let set = tx.read::<ZSet>(&args[1])?;
    let Some((set, rank)) = set.and_then(|set| Some((set, set.rank(&args[2])?))) else {
        if with_score {
            reply.null_array();
        } else {
            reply.null();
        }
        return Ok(());
    };
    let rank = if reverse { set.len() - 1 - rank } else { rank };
    if with_score {
        reply.array(2);
    }
    reply.integer(rank as i64);
    if with_score {
        score_or_null(set.score(&args[2]), reply);
    }
    Ok(())
}

fn zscan(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let cursor = parse_cursor(args, 2)?;
    let Some(set) = tx.read::<ZSet>(&args[1])? else { return empty_page(reply) };
    let options = ScanOptions::of_collection(args, 3)?;
    let (mut page, mut blocks) = (Vec::new(), SmallBlocks::default());
    let next = set.scan(cursor, options.count, |member, score| {
        if options.wants(member) {
            blocks.count(member.len());
            allocation::push(&mut page, (allocation::copy(member), score));
        }
    });
    begin_page(next, page.len() * 2, reply);
    let mut text = Vec::with_capacity(32);
    for (member, score) in &page {
        reply.bulk(member);
        text.clear();
        scanned_score(*score, set.encoding(), &mut text);
        reply.bulk(&text);
    }
    Ok(())
}

/// The text of a score in a page: the shortest exact one in a small set, 17 digits in a large one, as in Redis.
fn scanned_score(score: f64, encoding: Encoding, text: &mut Vec<u8>) {
    if encoding == Encoding::Listpack {
        number::format_double(score, text);
    } else {
        number::format_g(score, 17, text);
    }
}
