//! XGROUP.

use super::free_later;
use super::ids::{parse_id, parse_id_or_sign};
use crate::spec::{
    Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors, quotable,
    unknown_or_arity,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Edit, Tx, events};
use lockwheel_store::values::Stream;
use lockwheel_store::values::stream::{Group, StreamId};

const INSERTS: &[KeySpec] = &[KeySpec::one(2, &[KeyFlags::RW, KeyFlags::INSERT])];
const UPDATES: &[KeySpec] = &[KeySpec::one(2, &[KeyFlags::RW, KeyFlags::UPDATE])];
const DELETES: &[KeySpec] = &[KeySpec::one(2, &[KeyFlags::RW, KeyFlags::DELETE])];

const NO_KEY: &str = "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use \
                      the MKSTREAM option to create an empty stream automatically.";
const NO_GROUP: &str = "NOGROUP No such consumer group 'name' for key name 'key'";
const WRONG_COUNT: &str =
    "ERR unknown subcommand or wrong number of arguments for 'subcommand'. Try XGROUP HELP.";
const WRONG_ID: &str = "ERR Invalid stream ID specified as stream command argument";
const WRONG_READ: &str = "ERR value for ENTRIESREAD must be positive or -1";
const NO_INTEGER: &str = "ERR value is not an integer or out of range";
const BUSY: &str = "BUSYGROUP Consumer Group name already exists";

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[Row::container("xgroup", -2, XGROUP)
    .about("stream", "5.0.0", "Depends on subcommand.")
    .summary("Makes, changes and removes consumer groups.")];

const XGROUP: &[Row<DataHandler>] = &[
    Row::new("create", -5, create as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["stream"])
        .keys(INSERTS)
        .about("stream", "5.0.0", "O(1)")
        .summary("Makes a consumer group.")
        .history(&[("7.0.0", "Added the `entries_read` named argument.")])
        .syntax("key group=groupname (id: id | $) [MKSTREAM] [ENTRIESREAD entries-read=entries_read]")
        .before("7.0.0", "key group id [MKSTREAM]")
        .help(&[
            "CREATE <key> <groupname> <id|$> [option]",
            "    Create a new consumer group. Options are:",
            "    * MKSTREAM",
            "      Create the empty stream if it does not exist.",
            "    * ENTRIESREAD entries_read",
            "      Set the group's entries_read counter (internal use).",
        ])
        .errors(&[BUSY, NO_KEY, WRONG_ID, WRONG_READ, NO_INTEGER, WRONG_COUNT]),
    Row::new("createconsumer", 5, create_consumer as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["stream"])
        .keys(INSERTS)
        .about("stream", "6.2.0", "O(1)")
        .summary("Makes a consumer of a group.")
        .syntax("key group=groupname consumer=consumername")
        .help(&[
            "CREATECONSUMER <key> <groupname> <consumer>",
            "    Create a new consumer in the specified group.",
        ])
        .errors(&[NO_KEY, NO_GROUP]),
    Row::new("delconsumer", 5, delete_consumer as DataHandler)
        .flags(&[Flags::WRITE])
        .categories(&["stream"])
        .keys(DELETES)
        .about("stream", "5.0.0", "O(1)")
        .summary("Removes a consumer of a group and its pending entries.")
        .syntax("key group=groupname consumer=consumername")
        .help(&["DELCONSUMER <key> <groupname> <consumer>", "    Remove the specified consumer."])
        .errors(&[NO_KEY, NO_GROUP]),
    Row::new("destroy", 4, destroy as DataHandler)
        .flags(&[Flags::WRITE])
        .categories(&["stream"])
        .keys(DELETES)
        .about(
            "stream",
            "5.0.0",
            "O(N) where N is the number of entries in the group's pending entries list (PEL).",
        )
        .summary("Removes a consumer group.")
        .syntax("key group=groupname")
        .help(&["DESTROY <key> <groupname>", "    Remove the specified group."])
        .errors(&[NO_KEY]),
    Row::new("setid", -5, set_id as DataHandler)
        .flags(&[Flags::WRITE])
        .categories(&["stream"])
        .keys(UPDATES)
        .about("stream", "5.0.0", "O(1)")
        .summary("Sets the last entry that was delivered to a consumer group.")
        .history(&[("7.0.0", "Added the optional `entries_read` argument.")])
        .syntax("key group=groupname (id: id | $) [ENTRIESREAD entries-read=entries_read]")
        .before("7.0.0", "key group id")
        .help(&[
            "SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
            "    Set the current group ID and entries_read counter.",
        ])
        .errors(&[NO_KEY, NO_GROUP, WRONG_ID, WRONG_READ, NO_INTEGER, WRONG_COUNT]),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .categories(&["stream"])
        .about("stream", "5.0.0", "O(1)")
        .summary("Explains the subcommands."),
];

const MAX_CREATE_ARGUMENTS: usize = 8;
const MAX_SETID_ARGUMENTS: usize = 7;

#[derive(Debug, Default)]
struct Options {
    make_stream: bool,
    entries_read: Option<u64>,
}

impl Options {
    /// Reads the options from argument 5 on. Only CREATE has MKSTREAM.
    fn parse(args: Args<'_>, of_create: bool) -> Result<Self, CommandError> {
        let (mut options, mut at) = (Options::default(), 5);
        while at < args.len() {
            if of_create && args.is(at, "mkstream") {
                options.make_stream = true;
                at += 1;
            } else if at + 1 < args.len() && args.is(at, "entriesread") {
                options.entries_read = match args.int(at + 1)? {
                    -1 => None,
                    read => Some(u64::try_from(read).map_err(|_| errors::ENTRIES_READ_NEGATIVE)?),
                };
                at += 2;
            } else {
                return Err(unknown_or_arity(args));
            }
        }
        Ok(options)
    }
}

/// The stream of a subcommand, which must exist.
fn stream<'t>(tx: &'t mut Tx<'_>, args: Args<'_>) -> Result<Edit<'t, Stream>, CommandError> {
    tx.write::<Stream>(&args[2])?.ok_or(errors::XGROUP_WITHOUT_KEY)
}

/// The error of a group that a subcommand does not find.
fn no_group(args: Args<'_>) -> CommandError {
    no_such_group(&args[3], &args[2])
}

/// The error of a group that a container's subcommand does not find.
pub(super) fn no_such_group(group: &[u8], key: &[u8]) -> CommandError {
    let parts: [&[u8]; 5] =
        [b"NOGROUP No such consumer group '", quotable(group), b"' for key name '", quotable(key), b"'"];
    CommandError::new(parts.concat())
}

fn create(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let options = Options::parse(args, true)?;
    let found = tx.write::<Stream>(&args[2])?;
    if found.is_none() && !options.make_stream {
        return Err(errors::XGROUP_WITHOUT_KEY);
    }
    if args.len() > MAX_CREATE_ARGUMENTS {
        return Err(unknown_or_arity(args));
    }
    let last_id = match &args[4] {
        b"$" => found.as_ref().map_or(StreamId::MIN, |edit| edit.value.log.last_id()),
        id => parse_id(id, 0)?,
    };
    let is_new = found.is_none();
    let edit = tx.write_or_new::<Stream>(&args[2])?;
    if !edit.value.groups.add(&args[3], Group::new(last_id, options.entries_read)) {
        return Err(errors::GROUP_EXISTS);
    }
    reply.ok();
    if is_new {
        tx.changed(&args[2], events::XGROUP_CREATE);
    } else {
        tx.changed_quietly(&args[2], events::XGROUP_CREATE);
    }
    Ok(())
}

fn set_id(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let options = Options::parse(args, false)?;
    let edit = stream(tx, args)?;
    let (log, group) = edit.value.split(&args[3]);
    let mut group = group.ok_or_else(|| no_group(args))?;
    if args.len() > MAX_SETID_ARGUMENTS {
        return Err(unknown_or_arity(args));
    }
    group.last_id = match &args[4] {
        b"$" => log.last_id(),
        id => parse_id_or_sign(id, 0)?,
    };
    group.entries_read = options.entries_read;
    drop(group);
    reply.ok();
    tx.changed_quietly(&args[2], events::XGROUP_SETID);
    Ok(())
}

fn destroy(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let Some(group) = stream(tx, args)?.value.groups.remove(&args[3]) else {
        reply.integer(0);
        return Ok(());
    };
    free_later(tx, group.into());
    reply.integer(1);
    tx.changed_quietly(&args[2], events::XGROUP_DESTROY);
    tx.wake_waiters(&args[2]);
    Ok(())
}

fn create_consumer(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let now_ms = tx.now().wall_ms();
    let is_new = {
        let edit = stream(tx, args)?;
        let mut group = edit.value.groups.edit(&args[3]).ok_or_else(|| no_group(args))?;
        group.find_or_add(&args[4], now_ms).1
    };
    if is_new {
        tx.changed_quietly(&args[2], events::XGROUP_CREATECONSUMER);
    }
    reply.integer(is_new.into());
    Ok(())
}

fn delete_consumer(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let removed = {
        let edit = stream(tx, args)?;
        let mut group = edit.value.groups.edit(&args[3]).ok_or_else(|| no_group(args))?;
        group.remove_consumer(&args[4])
    };
    if removed.is_some() {
        tx.changed_quietly(&args[2], events::XGROUP_DELCONSUMER);
    }
    reply.integer(removed.unwrap_or(0) as i64);
    Ok(())
}
