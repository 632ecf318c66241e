//! Keys of any type: DEL, EXISTS, TYPE, KEYS, RANDOMKEY, TOUCH, RENAME, COPY, MOVE.

use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::{CalledBy, Tx, glob};
use lockwheel_store::values::Value;

const FAST_READ: Flags = Flags::of(&[Flags::READONLY, Flags::FAST]);
const EACH_READ: &[KeySpec] = &[KeySpec::range(1, -1, 1, &[KeyFlags::RO])];
const EACH_REMOVED: &[KeySpec] = &[KeySpec::range(1, -1, 1, &[KeyFlags::RM, KeyFlags::DELETE])];
const SUMMED: &[&str] = &["request_policy:multi_shard", "response_policy:agg_sum"];
const SOURCE: KeySpec = KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::DELETE]);
const NO_SUCH_KEY: &str = "ERR no such key";

pub(super) const ROWS: &[Row<DataHandler>] = &[
    Row::new("del", -2, delete as DataHandler)
        .flags(&[Flags::WRITE])
        .categories(&["keyspace"])
        .keys(EACH_REMOVED)
        .about(
            "generic",
            "1.0.0",
            "O(N) where N is the number of keys that will be removed. When a key to remove holds a value \
             other than a string, the individual complexity for this key is O(M) where M is the number of \
             elements in the list, set, sorted set or hash. Removing a single key that holds a string value \
             is O(1).",
        )
        .summary("Deletes keys and returns how many existed.")
        .syntax("key [key ...]")
        .tips(SUMMED),
    Row::new("unlink", -2, delete as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["keyspace"])
        .keys(EACH_REMOVED)
        .about(
            "generic",
            "4.0.0",
            "O(1) for each key removed regardless of its size. Then the command does O(N) work in a \
             different thread in order to reclaim memory, where N is the number of allocations the deleted \
             objects where composed of.",
        )
        .summary("Deletes keys and returns how many existed, like DEL.")
        .syntax("key [key ...]")
        .tips(SUMMED),
    Row::new("exists", -2, exists as DataHandler)
        .flags(&[FAST_READ])
        .categories(&["keyspace"])
        .keys(EACH_READ)
        .about("generic", "1.0.0", "O(N) where N is the number of keys to check.")
        .summary("Counts the keys that exist; a key that is named twice counts twice.")
        .history(&[("3.0.3", "Accepts multiple `key` arguments.")])
        .syntax("key [key ...]")
        .tips(SUMMED),
    Row::new("touch", -2, touch as DataHandler)
        .flags(&[FAST_READ])
        .categories(&["keyspace"])
        .keys(EACH_READ)
        .about("generic", "3.2.1", "O(N) where N is the number of keys that will be touched.")
        .summary("Marks keys as accessed, even with CLIENT NO-TOUCH, and returns how many exist.")
        .syntax("key [key ...]")
        .tips(SUMMED),
    Row::new("type", 2, type_of as DataHandler)
        .flags(&[FAST_READ])
        .categories(&["keyspace"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO])])
        .about("generic", "1.0.0", "O(1)")
        .summary("The type of what a key holds, or none.")
        .syntax("key"),
    Row::new("keys", 2, keys as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["keyspace", "dangerous"])
        .about(
            "generic",
            "1.0.0",
            "O(N) with N being the number of keys in the database, under the assumption that the key names \
             in the database and the given pattern have limited length.",
        )
        .summary("All keys whose names match a pattern.")
        .syntax("pattern")
        .tips(&["request_policy:all_shards", "nondeterministic_output_order"]),
    Row::new("randomkey", 1, random_key as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["keyspace"])
        .about("generic", "1.0.0", "O(1)")
        .summary("A key chosen at random.")
        .tips(&["request_policy:all_shards", "nondeterministic_output"]),
    Row::new("rename", 3, rename as DataHandler)
        .flags(&[Flags::WRITE])
        .categories(&["keyspace"])
        .keys(&[SOURCE, KeySpec::one(2, &[KeyFlags::OW, KeyFlags::UPDATE])])
        .about("generic", "1.0.0", "O(1)")
        .summary("Gives a key another name, with its deadline, in place of a key that has that name.")
        .syntax("key newkey")
        .errors(&[NO_SUCH_KEY]),
    Row::new("renamenx", 3, renamenx as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["keyspace"])
        .keys(&[SOURCE, KeySpec::one(2, &[KeyFlags::OW, KeyFlags::INSERT])])
        .about("generic", "1.0.0", "O(1)")
        .summary("Gives a key another name, with its deadline, if no key has that name.")
        .history(&[(
            "3.2.0",
            "The command no longer returns an error when source and destination names are the same.",
        )])
        .syntax("key newkey")
        .errors(&[NO_SUCH_KEY]),
    Row::new("copy", -3, copy as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["keyspace"])
        .keys(&[
            KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS]),
            KeySpec::one(2, &[KeyFlags::OW, KeyFlags::UPDATE]),
        ])
        .about(
            "generic",
            "6.2.0",
            "O(N) worst case for collections, where N is the number of nested items. O(1) for string values.",
        )
        .summary("Copies a key, with its deadline, to another name or database.")
        .syntax("source destination [DB destination-db] [REPLACE]")
        .errors(&[
            "ERR syntax error",
            "ERR source and destination objects are the same",
            "ERR value is not an integer or out of range",
            "ERR value is out of range, value must between -2147483648 and 2147483647",
            "ERR DB index is out of range",
        ]),
    Row::new("move", 3, move_key as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["keyspace"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE])])
        .about("generic", "1.0.0", "O(1)")
        .summary("Moves a key, with its deadline, to another database that has no such key.")
        .syntax("key db")
        .errors(&[
            "ERR source and destination objects are the same",
            "ERR value is not an integer or out of range",
            "ERR value is out of range, value must between -2147483648 and 2147483647",
            "ERR DB index is out of range",
        ]),
];

fn delete(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let deleted = args.from(1).iter().filter(|key| tx.delete(key)).count();
    reply.integer(deleted as i64);
    Ok(())
}

fn exists(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let found = args.from(1).iter().filter(|key| tx.inspect(key).is_some()).count();
    if found == 0
        && let CalledBy::Script(inputs) = tx.called_by()
    {
        inputs.found_none.set(true);
    }
    reply.integer(found as i64);
    Ok(())
}

fn touch(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let found = args.from(1).iter().filter(|key| tx.touch(key)).count();
    reply.integer(found as i64);
    Ok(())
}

fn type_of(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let name = tx.inspect(&args[1]).map_or("none", |value| value.type_name());
    reply.status(name.as_bytes());
    Ok(())
}

fn keys(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let pattern = &args[1];
    // A lone star means all keys. As a pattern it would not match the empty name.
    let wanted = |key: &[u8]| pattern == b"*" || glob::matches(pattern, key, false);
    let found = allocation::collect(tx.iter().map(|(key, _)| key).filter(|key| wanted(key)));
    reply.array(found.len());
    found.iter().for_each(|key| reply.bulk(key));
    Ok(())
}

fn random_key(tx: &mut Tx<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    match tx.random_key() {
        Some(key) => reply.bulk(&key),
        None => reply.null(),
    }
    Ok(())
}

fn rename(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (from, to) = (&args[1], &args[2]);
    if !tx.access(from) {
        return Err(errors::NO_SUCH_KEY);
    }
    if from != to {
        allocation::check_copies(to.len())?;
        tx.rename(from, to);
    }
    reply.ok();
    Ok(())
}

fn renamenx(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (from, to) = (&args[1], &args[2]);
    if !tx.access(from) {
        return Err(errors::NO_SUCH_KEY);
    }
    let free = from != to && !tx.access(to);
    if free {
        allocation::check_copies(to.len())?;
        tx.rename(from, to);
    }
    reply.integer(i64::from(free));
    Ok(())
}

/// Argument `at` as the number of a database.
fn parse_database(tx: &Tx<'_>, args: Args<'_>, at: usize) -> Result<usize, CommandError> {
    let number = args.int_in(at, i32::MIN.into(), i32::MAX.into(), errors::OUT_OF_INT_RANGE)?;
    let number = usize::try_from(number).ok().filter(|number| *number < tx.databases());
    number.ok_or(errors::DB_OUT_OF_RANGE)
}

fn move_key(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if tx.in_cluster() {
        return Err(CommandError::text("ERR MOVE is not allowed in cluster mode"));
    }
    let (home, db) = (tx.db(), parse_database(tx, args, 2)?);
    if db == home {
        return Err(errors::SAME_OBJECT);
    }
    let there = tx.access(&args[1]);
    tx.select(db);
    let free = there && !tx.access(&args[1]);
    tx.select(home);
    if free {
        allocation::check_copies(args[1].len())?;
    }
    let moved = free && tx.move_to(db, &args[1]);
    reply.integer(i64::from(moved));
    Ok(())
}

/// Reads DB and REPLACE: the destination database, and whether an existing key there is overwritten.
fn copy_options(tx: &Tx<'_>, args: Args<'_>) -> Result<(usize, bool), CommandError> {
    let (mut db, mut replace) = (tx.db(), false);
    let mut at = 3;
    while at < args.len() {
        if args.is(at, "replace") {
            replace = true;
        } else if args.is(at, "db") && at + 1 < args.len() {
            at += 1;
            db = parse_database(tx, args, at)?;
        } else {
            return Err(errors::SYNTAX);
        }
        at += 1;
    }
    Ok((db, replace))
}

fn copy(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (from, to) = (&args[1], &args[2]);
    let (db, replace) = copy_options(tx, args)?;
    let home = tx.db();
    if tx.in_cluster() && db != 0 {
        return Err(CommandError::text("ERR Copying to another database is not allowed in cluster mode"));
    }
    if from == to && db == home {
        return Err(errors::SAME_OBJECT);
    }
    let there = tx.get(from).is_some();
    tx.select(db);
    let free = there && (replace || !tx.access(to));
    tx.select(home);
    if free {
        let value = tx.peek(from).map_or(0, Value::heap_bytes);
        allocation::check_copies(value.saturating_add(to.len()))?;
    }
    let done = free && tx.copy(from, db, to);
    reply.integer(i64::from(done));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::commands::testing::World;

    /// A number of members that is too large to be freed at once.
    const MANY: usize = 5000;

    /// A keyspace with a set of many members in `big`, and the set `small`.
    fn world() -> World {
        let mut world = World::new();
        let names: Vec<String> = (0..MANY).map(|n| format!("m{n}")).collect();
        let words = ["SADD", "big"].into_iter().chain(names.iter().map(String::as_str));
        world.request(&words.map(str::as_bytes).collect::<Vec<_>>());
        world.run("SADD small a b");
        assert_eq!(world.garbage(), 0);
        world
    }

    #[test]
    fn every_removal_frees_a_large_value_lazily() {
        let ways = [
            "DEL big",
            "UNLINK big",
            "SET big x",
            "RENAME small big",
            "COPY small big REPLACE",
            "SPOP big 5000",
            "SINTERSTORE big small small",
            "SUNIONSTORE big small",
            "SDIFFSTORE big small none",
            "SDIFFSTORE big none small",
            "EXPIRE big -1",
            "FLUSHDB",
            "FLUSHALL",
            "SMOVE big big2 m0|RENAME small big",
        ];
        for way in ways {
            let mut world = world();
            way.split('|').for_each(|line| drop(world.run(line)));
            let gone = world.garbage();
            // A flush counts the freed keys.
            let expected = if way.starts_with("FLUSH") { 2 } else { MANY - 1 };
            assert!(gone >= expected, "{way}: {gone} parts");
        }
    }

    #[test]
    fn a_large_string_is_freed_lazily() {
        let large = vec![b'x'; 5 << 20];
        for way in ["SET s x", "GETDEL s", "SET s x KEEPTTL", "GETSET s x", "EXPIRE s -1", "RENAME t s"] {
            let mut world = World::new();
            world.request(&[b"SET", b"s", &large]);
            world.run("SET t x");
            assert_eq!(world.garbage(), 0);
            world.run(way);
            assert_eq!(world.garbage(), 1, "{way}");
        }
        let mut world = World::new();
        world.request(&[b"SET", b"s", &large[..1 << 20]]);
        world.run("DEL s");
        assert_eq!(world.garbage(), 0, "what is quick to free is freed at once");
    }
}
