//! The commands that read one set.

use crate::commands::sample::{Sampled, sample};
use crate::commands::scan::{ScanOptions, begin_page, empty_page, parse_cursor};
use crate::spec::{Args, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::{Set, Text};

const LOOKS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO])];
const READS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])];
const FAST: Flags = Flags::of(&[Flags::READONLY, Flags::FAST]);

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("smembers", 2, smembers as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["set"])
        .keys(READS)
        .about("set", "1.0.0", "O(N) where N is the set cardinality.")
        .summary("All members of a set.")
        .syntax("key")
        .tips(&["nondeterministic_output_order"]),
    Row::new("sismember", 3, sismember as DataHandler)
        .flags(&[FAST])
        .categories(&["set"])
        .keys(LOOKS)
        .about("set", "1.0.0", "O(1)")
        .summary("Whether a set has a member.")
        .syntax("key member"),
    Row::new("smismember", -3, smismember as DataHandler)
        .flags(&[FAST])
        .categories(&["set"])
        .keys(READS)
        .about("set", "6.2.0", "O(N) where N is the number of elements being checked for membership")
        .summary("Which of several members a set has.")
        .syntax("key member [member ...]"),
    Row::new("scard", 2, scard as DataHandler)
        .flags(&[FAST])
        .categories(&["set"])
        .keys(LOOKS)
        .about("set", "1.0.0", "O(1)")
        .summary("The number of members of a set.")
        .syntax("key"),
    // The count has an additional bound (`MAX_REPEATED_ELEMENTS` of `sample/`), for which Redis has no error text.
    Row::new("srandmember", -2, srandmember as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["set"])
        .keys(READS)
        .about(
            "set",
            "1.0.0",
            "Without the count argument O(1), otherwise O(N) where N is the absolute value of the passed \
             count.",
        )
        .summary("Random members of a set; a negative count draws with repetition.")
        .history(&[("2.6.0", "Added the optional `count` argument.")])
        .syntax("key [count@2.6.0]")
        .tips(&["nondeterministic_output"])
        .errors(&[
            "ERR syntax error",
            "ERR value is not an integer or out of range",
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
        ]),
    Row::new("sscan", -3, sscan as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["set"])
        .keys(READS)
        .about(
            "set",
            "2.8.0",
            "O(1) for every call. O(N) for a complete iteration, including enough command calls for the \
             cursor to return back to 0. N is the number of elements inside the collection..",
        )
        .summary("Goes through the members of a set, a page at a time.")
        .syntax("key cursor [MATCH pattern] [COUNT count]")
        .tips(&["nondeterministic_output"])
        .errors(&["ERR invalid cursor", "ERR syntax error", "ERR value is not an integer or out of range"]),
];

fn smembers(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let set = tx.read::<Set>(&args[1])?;
    reply.set(set.map_or(0, Set::len));
    set.into_iter().flatten().for_each(|member| reply.bulk(&member));
    Ok(())
}

fn sismember(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let set = tx.read::<Set>(&args[1])?;
    reply.integer(i64::from(set.is_some_and(|set| set.contains(&args[2]))));
    Ok(())
}

fn smismember(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let set = tx.read::<Set>(&args[1])?;
    let members = args.from(2);
    reply.array(members.len());
    for member in members {
        reply.integer(i64::from(set.is_some_and(|set| set.contains(member))));
    }
    Ok(())
}

fn scard(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(tx.read::<Set>(&args[1])?.map_or(0, Set::len) as i64);
    Ok(())
}

impl Sampled for Set {
    const WITH_SECOND: Option<&'static str> = None;

    fn len_of(member: Text<'_>, _: bool) -> usize {
        member.len()
    }

    fn write(member: Text<'_>, _: bool, reply: &mut dyn Reply) {
        reply.bulk(&member);
    }
}

fn srandmember(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    sample::<Set>(tx, args, reply)
}

fn sscan(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let cursor = parse_cursor(args, 2)?;
    let Some(set) = tx.read::<Set>(&args[1])? else { return empty_page(reply) };
    let options = ScanOptions::of_collection(args, 3)?;
    let mut page = Vec::new();
    let next = set.scan(cursor, options.count, |member| {
        if options.wants(&member) {
            allocation::push(&mut page, member);
        }
    });
    begin_page(next, page.len(), reply);
    page.iter().for_each(|member| reply.bulk(member));
    Ok(())
}
