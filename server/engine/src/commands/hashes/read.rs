//! The commands that read hashes.

use crate::commands::sample::{Sampled, pair_row, sample};
use crate::commands::scan::{ScanOptions, begin_page, empty_page, parse_cursor};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Hash;

const LOOKS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO])];
const READS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])];
const FAST: Flags = Flags::of(&[Flags::READONLY, Flags::FAST]);

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("hget", 3, hget as DataHandler)
        .flags(&[FAST])
        .categories(&["hash"])
        .keys(READS)
        .about("hash", "2.0.0", "O(1)")
        .summary("The value of a field of a hash.")
        .syntax("key field"),
    Row::new("hmget", -3, hmget as DataHandler)
        .flags(&[FAST])
        .categories(&["hash"])
        .keys(READS)
        .about("hash", "2.0.0", "O(N) where N is the number of fields being requested.")
        .summary("The values of several fields of a hash.")
        .syntax("key field [field ...]"),
    Row::new("hexists", 3, hexists as DataHandler)
        .flags(&[FAST])
        .categories(&["hash"])
        .keys(LOOKS)
        .about("hash", "2.0.0", "O(1)")
        .summary("Whether a hash has a field.")
        .syntax("key field"),
    Row::new("hlen", 2, hlen as DataHandler)
        .flags(&[FAST])
        .categories(&["hash"])
        .keys(LOOKS)
        .about("hash", "2.0.0", "O(1)")
        .summary("The number of fields of a hash.")
        .syntax("key"),
    Row::new("hstrlen", 3, hstrlen as DataHandler)
        .flags(&[FAST])
        .categories(&["hash"])
        .keys(LOOKS)
        .about("hash", "3.2.0", "O(1)")
        .summary("The length of the value of a field, in bytes.")
        .syntax("key field"),
    Row::new("hkeys", 2, hkeys as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["hash"])
        .keys(READS)
        .about("hash", "2.0.0", "O(N) where N is the size of the hash.")
        .summary("All fields of a hash.")
        .syntax("key")
        .tips(&["nondeterministic_output_order"]),
    Row::new("hvals", 2, hvals as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["hash"])
        .keys(READS)
        .about("hash", "2.0.0", "O(N) where N is the size of the hash.")
        .summary("All values of a hash.")
        .syntax("key")
        .tips(&["nondeterministic_output_order"]),
    Row::new("hgetall", 2, hgetall as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["hash"])
        .keys(READS)
        .about("hash", "2.0.0", "O(N) where N is the size of the hash.")
        .summary("All fields of a hash with their values.")
        .syntax("key")
        .tips(&["nondeterministic_output_order"]),
    pair_row("hrandfield", hrandfield)
        .categories(&["hash"])
        .about("hash", "6.2.0", "O(N) where N is the number of fields returned")
        .summary("Random fields of a hash; a negative count draws with repetition.")
        .syntax("key [options: count [WITHVALUES]]"),
    Row::new("hscan", -3, hscan as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["hash"])
        .keys(READS)
        .about(
            "hash",
            "2.8.0",
            "O(1) for every call. O(N) for a complete iteration, including enough command calls for the \
             cursor to return back to 0. N is the number of elements inside the collection..",
        )
        .summary("Goes through the fields and values of a hash, a page at a time.")
        .syntax("key cursor [MATCH pattern] [COUNT count]")
        .tips(&["nondeterministic_output"])
        .errors(&["ERR invalid cursor", "ERR syntax error", "ERR value is not an integer or out of range"]),
];

/// The value of the field in argument 2.
fn value<'t>(tx: &'t mut Tx<'_>, args: Args<'_>) -> Result<Option<&'t [u8]>, CommandError> {
    Ok(tx.read::<Hash>(&args[1])?.and_then(|hash| hash.get(&args[2])))
}

/// Answers a value, or null.
pub(super) fn bulk_or_null(value: Option<&[u8]>, reply: &mut dyn Reply) {
    match value {
        Some(value) => reply.bulk(value),
        None => reply.null(),
    }
}

fn hget(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    bulk_or_null(value(tx, args)?, reply);
    Ok(())
}

fn hmget(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let hash = tx.read::<Hash>(&args[1])?;
    let fields = args.from(2);
    reply.array(fields.len());
    for field in fields {
        bulk_or_null(hash.and_then(|hash| hash.get(field)), reply);
    }
    Ok(())
}

fn hexists(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(i64::from(value(tx, args)?.is_some()));
    Ok(())
}

fn hlen(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(tx.read::<Hash>(&args[1])?.map_or(0, Hash::len) as i64);
    Ok(())
}

fn hstrlen(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(value(tx, args)?.map_or(0, <[u8]>::len) as i64);
    Ok(())
}

fn hkeys(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let hash = tx.read::<Hash>(&args[1])?;
    reply.array(hash.map_or(0, Hash::len));
    hash.into_iter().flatten().for_each(|(field, _)| reply.bulk(field));
    Ok(())
}

fn hvals(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let hash = tx.read::<Hash>(&args[1])?;
    reply.array(hash.map_or(0, Hash::len));
    hash.into_iter().flatten().for_each(|(_, value)| reply.bulk(value));
    Ok(())
}

fn hgetall(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let hash = tx.read::<Hash>(&args[1])?;
    reply.map(hash.map_or(0, Hash::len));
    for (field, value) in hash.into_iter().flatten() {
        reply.bulk(field);
        reply.bulk(value);
    }
    Ok(())
}

impl Sampled for Hash {
    const WITH_SECOND: Option<&'static str> = Some("withvalues");

    fn len_of((field, value): (&[u8], &[u8]), with_value: bool) -> usize {
        field.len() + if with_value { value.len() } else { 0 }
    }

    fn write((field, value): (&[u8], &[u8]), with_value: bool, reply: &mut dyn Reply) {
        reply.bulk(field);
        if with_value {
            reply.bulk(value);
        }
    }
}

fn hrandfield(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    sample::<Hash>(tx, args, reply)
}

fn hscan(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let cursor = parse_cursor(args, 2)?;
    let Some(hash) = tx.read::<Hash>(&args[1])? else { return empty_page(reply) };
    let options = ScanOptions::of_collection(args, 3)?;
    let mut page = Vec::new();
    let next = hash.scan(cursor, options.count, |field, value| {
        if options.wants(field) {
            allocation::push(&mut page, field);
            allocation::push(&mut page, value);
        }
    });
    begin_page(next, page.len(), reply);
    page.iter().for_each(|text| reply.bulk(text));
    Ok(())
}
