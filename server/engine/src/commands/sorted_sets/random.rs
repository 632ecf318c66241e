//! Random members.

use super::pairs::write_pair;
use crate::commands::sample::{self, Draw};
use crate::keyspace::{Rng, Tx};
use crate::spec::{Args, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use crate::values::ZSet;
use lockwheel_resp::{Protocol, Reply};

/// The rows of this file.
pub(in crate::commands) const ROWS: &[Row<DataHandler>] =
    // Its count has a bound of its own (`sample::REPEATED_MAX`).
    &[Row::new("zrandmember", -2, zrandmember as DataHandler)
            .flags(&[Flags::READONLY])
            .categories(&["sortedset"])
            .keys(&[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])])
            .about("sorted-set", "6.2.0", "O(N) where N is the number of elements returned")
            .summary("Random members of a sorted set; a negative count draws with repetition.")
            .syntax("key [options: count [WITHSCORES]]")
            .tips(&["nondeterministic_output"])
            .errors(&[
                "ERR syntax error",
                "ERR value is not an integer or out of range",
                "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
                "ERR value is out of range",
            ])];

fn zrandmember(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    // Drawn before the set is borrowed.
    let mut rng = Rng::new(tx.rng().next_u64());
    if args.len() == 2 {
        match tx.read::<ZSet>(&args[1])?.and_then(|set| sample::one(set, &mut rng)) {
            Some((member, _)) => reply.bulk(member),
            None => reply.null(),
        }
        return Ok(());
    }
    let draw = Draw::parse(args, 2)?;
    let with_scores = args.is(3, "withscores");
    if args.len() > 4 || (args.len() == 4 && !with_scores) {
        return Err(errors::SYNTAX);
    }
    if with_scores && draw.count() > i64::MAX as u64 / 2 {
        return Err(errors::OUT_OF_RANGE);
    }
    let Some(set) = tx.read::<ZSet>(&args[1])? else {
        reply.array(0);
        return Ok(());
    };
    let len = draw.len(set.len())?;
    let nested = with_scores && reply.protocol() == Protocol::Resp3;
    reply.array(if with_scores && !nested { len * 2 } else { len });
    let write = |pair: (&[u8], f64)| {
        if nested {
            reply.array(2);
        }
        if with_scores {
            write_pair(pair, reply);
        } else {
            reply.bulk(pair.0);
        }
    };
    if draw == Draw::Distinct(draw.count()) && len == set.len() {
        // All of them, as Redis walks them: from the highest score down.
        set.iter().rev().for_each(write);
    } else {
        sample::draw(set, draw, len, &mut rng, write);
    }
    Ok(())
}
