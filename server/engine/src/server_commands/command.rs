//! COMMAND: the rows of commands, and the keys of a request.

use super::{command_docs, command_info};
use crate::core::{Handler, ReadingHandler};
use crate::spec::{
    Args, Categories, Category, Command, CommandError, CommandTable, Flags, Key, KeyFlags, Outcome, Row,
    Version, errors,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::glob;

const FLAGS: Flags = Flags::of(&[Flags::LOADING, Flags::STALE]);
const ORDER: &[&str] = &["nondeterministic_output_order"];

pub(super) const ROWS: &[Row<Handler>] = &[Row {
    handler: Some(Handler::Commands(all)),
    ..Row::container("command", -1, COMMAND)
        .flags(&[FLAGS])
        .categories(&["connection"])
        .about("server", "2.8.13", "O(N) where N is the total number of Redis commands")
        .summary("Tells about all commands.")
        .help(&["(no subcommand)", "    Return details about all Redis commands."])
        .tips(ORDER)
}];

const fn row(name: &'static str, arity: i32, handler: ReadingHandler<CommandTable>) -> Row<Handler> {
    Row::new(name, arity, Handler::Commands(handler)).flags(&[FLAGS]).categories(&["connection"])
}

const KEYS_ERRORS: &[&str] = &[
    "ERR Invalid arguments specified for command",
    "ERR Invalid command specified",
    "ERR Invalid number of arguments specified for command",
    "ERR The command has no key arguments",
];

const COMMAND: &[Row<Handler>] = &[
    row("count", 2, count)
        .about("server", "2.8.13", "O(1)")
        .summary("Counts the commands.")
        .help(&["COUNT", "    Return the total number of commands in this Redis server."]),
    row("docs", -2, docs)
        .about("server", "7.0.0", "O(N) where N is the number of commands to look up")
        .summary("Documents commands; without arguments all.")
        .help(&[
            "DOCS [<command-name> ...]",
            "    Return documentation details about multiple Redis commands.",
            "    If no command names are given, documentation details for all",
            "    commands are returned.",
        ])
        .syntax("[command-name ...]")
        .tips(ORDER),
    row("getkeys", -3, getkeys)
        .about("server", "2.8.13", "O(N) where N is the number of arguments to the command")
        .summary("Picks the keys out of a request.")
        .help(&["GETKEYS <full-command>", "    Return the keys from a full Redis command."])
        .syntax("command [arg ...]")
        .errors(KEYS_ERRORS),
    row("getkeysandflags", -3, getkeysandflags)
        .about("server", "7.0.0", "O(N) where N is the number of arguments to the command")
        .summary("Picks the keys out of a request, each with what is done to it.")
        .help(&[
            "GETKEYSANDFLAGS <full-command>",
            "    Return the keys and the access flags from a full Redis command.",
        ])
        .syntax("command [arg ...]")
        .errors(KEYS_ERRORS),
    Row::help_command("help", 2)
        .flags(&[FLAGS])
        .categories(&["connection"])
        .about("server", "5.0.0", "O(1)")
        .summary("Explains the subcommands."),
    row("info", -2, info)
        .about("server", "2.8.13", "O(N) where N is the number of commands to look up")
        .summary("Describes commands; without arguments all.")
        .history(&[("7.0.0", "Allowed to be called with no argument to get info on all commands.")])
        .help(&[
            "INFO [<command-name> ...]",
            "    Return details about multiple Redis commands.",
            "    If no command names are given, documentation details for all",
            "    commands are returned.",
        ])
        .help_after("list")
        .syntax("[command-name ...]")
        .tips(ORDER),
    row("list", -2, list)
        .about("server", "7.0.0", "O(N) where N is the total number of Redis commands")
        .summary("Lists the names of commands.")
        .help(&["LIST", "    Return a list of all commands in this Redis server."])
        .help_after("count")
        .syntax("[FILTERBY (filterby: MODULE module-name | ACLCAT category | PATTERN pattern)]")
        .tips(ORDER)
        .errors(&["ERR syntax error"]),
];

fn all(table: &CommandTable, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    debug_assert_eq!(args.len(), 1, "an unknown subcommand is refused before");
    write_all(table, reply);
    Ok(())
}

fn write_all(table: &CommandTable, reply: &mut dyn Reply) {
    reply.array(table.iter().len());
    table.iter().for_each(|command| command_info::write(command, table.version(), reply));
}

fn count(table: &CommandTable, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(table.iter().len() as i64);
    Ok(())
}

fn info(table: &CommandTable, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let names = args.from(2);
    let version = table.version();
    if names.is_empty() && version != Version::V6_2 {
        write_all(table, reply);
        return Ok(());
    }
    reply.array(names.len());
    for name in names {
        // Before 7.0, a subcommand had no entry.
        let found =
            table.find_full(name).filter(|found| version != Version::V6_2 || !found.name.contains('|'));
        match found {
            Some(command) => command_info::write(command, version, reply),
            None => reply.null(),
        }
    }
    Ok(())
}

fn docs(table: &CommandTable, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let names = args.from(2);
    if names.is_empty() {
        reply.map(table.iter().len());
        table.iter().for_each(|command| command_docs::write(command, reply));
        return Ok(());
    }
    let known: Vec<_> = names.iter().filter_map(|name| table.find_full(name)).collect();
    reply.map(known.len());
    known.iter().for_each(|command| command_docs::write(command, reply));
    Ok(())
}

fn list(table: &CommandTable, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let wanted = match args.len() {
        2 => None,
        5 if args.is(2, "filterby") => Some(&args[4]),
        _ => return Err(errors::SYNTAX),
    };
    let commands = table.iter_all();
    let names: Vec<&str> = match wanted {
        None => commands.map(|command| &*command.name).collect(),
        // No modules are loaded, so no module has commands.
        Some(_) if args.is(3, "module") => Vec::new(),
        Some(category) if args.is(3, "aclcat") => {
            let category = Category::find(category);
            let is_in = |its: Categories| category.is_some_and(|category| its.contains(category));
            let listed = commands.filter(|command| is_in(command.categories));
            listed.map(|command| &*command.name).collect()
        }
        Some(pattern) if args.is(3, "pattern") => {
            let listed = commands.filter(|command| glob::matches(pattern, command.name.as_bytes(), true));
            listed.map(|command| &*command.name).collect()
        }
        Some(_) => return Err(errors::SYNTAX),
    };
    reply.array(names.len());
    names.iter().for_each(|name| reply.bulk(name.as_bytes()));
    Ok(())
}

fn getkeys(table: &CommandTable, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let keys = named_keys(table, args)?;
    let request = Args::new(args.from(2));
    reply.array(keys.len());
    keys.iter().for_each(|&(key, _)| reply.bulk(&request[key]));
    Ok(())
}

fn getkeysandflags(table: &CommandTable, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let keys = named_keys(table, args)?;
    let request = Args::new(args.from(2));
    reply.array(keys.len());
    for (key, flags) in keys {
        reply.array(2);
        reply.bulk(&request[key]);
        command_info::write_names(KeyFlags::NAMES, |flag| flags.contains(flag), reply);
    }
    Ok(())
}

/// Returns the keys of the request that follows `COMMAND GETKEYS`.
fn named_keys(table: &CommandTable, args: Args<'_>) -> Result<Vec<Key>, CommandError> {
    let request = Args::new(args.from(2));
    let command = table.resolve(request).filter(|command| is_whole(command, request));
    let command = command.ok_or(CommandError::text("ERR Invalid command specified"))?;
    if !command.spec.has_keys() {
        return Err(CommandError::text("ERR The command has no key arguments"));
    }
    if !command.spec.accepts(request.len()) {
        return Err(CommandError::text("ERR Invalid number of arguments specified for command"));
    }
    let keys = command.spec.find_keys(request);
    if keys.is_empty() && !command.has(Flags::NO_MANDATORY_KEYS) {
        return Err(CommandError::text("ERR Invalid arguments specified for command"));
    }
    Ok(keys)
}

/// Whether the request does not name an unknown subcommand of a container.
fn is_whole(command: &Command, request: Args<'_>) -> bool {
    command.subcommands.is_empty() || request.len() == 1
}
