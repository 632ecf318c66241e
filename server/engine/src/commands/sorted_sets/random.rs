//! Random members.

use super::pairs::write_pair;
use crate::commands::sample::{Sampled, pair_row, sample};
use crate::spec::{Args, DataHandler, Outcome, Row};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::ZSet;

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[pair_row("zrandmember", zrandmember)
    .categories(&["sortedset"])
    .about("sorted-set", "6.2.0", "O(N) where N is the number of elements returned")
    .summary("Random members of a sorted set; a negative count draws with repetition.")
    .syntax("key [options: count [WITHSCORES]]")];

impl Sampled for ZSet {
    const WITH_SECOND: Option<&'static str> = Some("withscores");

    fn len_of((member, _): (&[u8], f64), _: bool) -> usize {
        member.len()
    }

    fn write(pair: (&[u8], f64), with_score: bool, reply: &mut dyn Reply) {
        if with_score {
            write_pair(pair, reply);
        } else {
            reply.bulk(pair.0);
        }
    }
}

fn zrandmember(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    sample::<ZSet>(tx, args, reply)
}
