//! ACL: users, their permissions, and the log of denied requests.

use crate::acl::{
    AclLog, AclLogEntry, AclView, Denied, Selector, User, UserEffect, denied, describe_all, has_spaces,
    merge_words,
};
use crate::core::{Handler, PartHandler, UsersHandler};
use crate::spec::{
    Args, Category, CommandError, CommandTable, Flags, Outcome, Row, quotable, unknown_or_arity,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Rng;
use lockwheel_store::time::Now;

const FLAGS: Flags = Flags::of(&[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE]);
const ADMIN: Flags = Flags::of(&[FLAGS, Flags::ADMIN]);

pub(super) const ROWS: &[Row<Handler>] = &[Row::container("acl", -2, ACL)
    .about("server", "6.0.0", "Depends on subcommand.")
    .summary("Users, and what they may do.")];

/// Wraps the handler of a command that reads users and asks for changes of them.
const fn users_handler(run: UsersHandler) -> Handler {
    Handler::Part(PartHandler::Users(run))
}

const fn row(name: &'static str, arity: i32, handler: Handler) -> Row<Handler> {
    Row::new(name, arity, handler).flags(&[ADMIN])
}

const ACL: &[Row<Handler>] = &[
    row("cat", -2, Handler::Commands(cat))
        .flags(&[FLAGS])
        .about("server", "6.0.0", "O(1) since the categories and commands are a fixed set.")
        .summary("Lists the categories of commands, or the commands of one.")
        .help(&[
            "CAT [<category>]",
            "    List all commands that belong to <category>, or all command categories",
            "    when no category is specified.",
        ])
        .syntax("[category=categoryname]")
        .errors(&[
            "ERR Unknown category 'category'",
            "ERR unknown subcommand or wrong number of arguments for 'subcommand'. Try ACL HELP.",
        ]),
    row("deluser", -3, users_handler(deluser))
        .about("server", "6.0.0", "O(1) amortized time considering the typical user.")
        .summary("Removes users, and disconnects their clients.")
        .help(&["DELUSER <username> [<username> ...]", "    Delete a list of users."])
        .syntax("username [username ...]")
        .errors(&["ERR The 'default' user cannot be removed"]),
    row("dryrun", -4, users_handler(dryrun))
        .about("server", "7.0.0", "O(1).")
        .summary("Tells whether a user may make a request, without making it.")
        .help(&[
            "DRYRUN <username> <command> [<arg> ...]",
            "    Returns whether the user can execute the given command without executing the command.",
        ])
        .syntax("username command [arg ...]")
        .errors(&[
            "ERR User 'user' not found",
            "ERR Command 'command' not found",
            "ERR wrong number of arguments for 'command' command",
        ]),
    row("genpass", -2, Handler::Part(PartHandler::Random(genpass)))
        .flags(&[FLAGS])
        .about("server", "6.0.0", "O(1)")
        .summary("Makes a random password.")
        .help(&[
            "GENPASS [<bits>]",
            "    Generate a secure 256-bit user password. The optional `bits` argument can",
            "    be used to specify a different size.",
        ])
        .help_after("getuser")
        .syntax("[bits]")
        .errors(&[GENPASS_BITS, "ERR value is not an integer or out of range"]),
    row("getuser", 3, users_handler(getuser))
        .about(
            "server",
            "6.0.0",
            "O(N). Where N is the number of password, command and pattern rules that the user has.",
        )
        .summary("Tells the rules of a user.")
        .history(&[
            ("6.2.0", "Added Pub/Sub channel patterns."),
            (
                "7.0.0",
                "Added selectors and changed the format of key and channel patterns from a list to their rule \
                 representation.",
            ),
        ])
        .help(&["GETUSER <username>", "    Get the user's details."])
        .help_after("dryrun")
        .syntax("username"),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .about("server", "6.0.0", "O(1)")
        .summary("Explains the subcommands."),
    row("list", 2, users_handler(list))
        .about("server", "6.0.0", "O(N). Where N is the number of configured users.")
        .summary("Lists the users as lines of a configuration.")
        .help(&["LIST", "    Show users details in config file format."])
        .help_after("genpass"),
    row("load", 2, users_handler(load))
        .about("server", "6.0.0", "O(N). Where N is the number of configured users.")
        .summary("Reads the file of users again.")
        .help(&["LOAD", "    Reload users from the ACL file."])
        .errors(&[NO_FILE]),
    row("log", -2, Handler::Part(PartHandler::AclLog(log)))
        .about("server", "6.0.0", "O(N) with N being the number of entries shown.")
        .summary("Tells what was refused to users.")
        .history(&[("7.2.0", "Added entry ID, timestamp created, and timestamp last updated.")])
        .help(&["LOG [<count> | RESET]", "    Show the ACL log entries."])
        .syntax("[operation: count | RESET]")
        .errors(&[
            "ERR value is not an integer or out of range",
            "ERR unknown subcommand or wrong number of arguments for 'subcommand'. Try ACL HELP.",
        ]),
    row("save", 2, users_handler(save))
        .about("server", "6.0.0", "O(N). Where N is the number of configured users.")
        .summary("Writes the users to their file.")
        .help(&["SAVE", "    Save the current config to the ACL file."])
        .errors(&[NO_FILE]),
    row("setuser", -3, users_handler(setuser))
        .secrets(|args| (2..args.len()).collect())
        .about("server", "6.0.0", "O(N). Where N is the number of rules provided.")
        .summary("Makes a user, or changes its rules.")
        .history(&[
            ("6.2.0", "Added Pub/Sub channel patterns."),
            ("7.0.0", "Added selectors and key based permissions."),
        ])
        .help(&[
            "SETUSER <username> <attribute> [<attribute> ...]",
            "    Create or modify a user with the specified attributes.",
        ])
        .syntax("username [rule [rule ...]]")
        .errors(&[
            "ERR Usernames can't contain spaces or null characters",
            "ERR Unmatched parenthesis in acl selector starting at 'rule'.",
            "ERR Error in ACL SETUSER modifier 'rule': *",
        ])
        .refusing_before("7.0.0", rules_of_7),
    row("users", 2, users_handler(users))
        .about("server", "6.0.0", "O(N). Where N is the number of configured users.")
        .summary("Lists the names of the users.")
        .help(&["USERS", "    List all the registered usernames."]),
    row("whoami", 2, users_handler(whoami))
        .flags(&[FLAGS])
        .about("server", "6.0.0", "O(1)")
        .summary("Tells the user that the client acts as.")
        .help(&["WHOAMI", "    Return the current connection username."]),
];

const NO_FILE: &str = "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via \
                       the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis \
                       configuration file set) in order to store users in the Redis configuration.";
const GENPASS_BITS: &str = "ERR ACL GENPASS argument must be the number of bits for the output password, a positive \
                            number up to 4096";

/// Refuses rules that are unknown before 7.0: selectors, and separate rights to read or write keys.
fn rules_of_7(args: Args<'_>) -> Option<CommandError> {
    let is_newer =
        |rule: &&&[u8]| matches!(rule, [b'%' | b'(', ..]) || rule.eq_ignore_ascii_case(b"clearselectors");
    let rule = args.from(3).iter().find(is_newer)?;
    let rule = String::from_utf8_lossy(quotable(rule));
    Some(CommandError::new(format!("ERR Error in ACL SETUSER modifier '{rule}': Syntax error")))
}

fn cat(table: &CommandTable, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let names: Vec<&str> = match args.len() {
        2 => Category::all().map(Category::name).collect(),
        3 => {
            let unknown =
                || CommandError::new([b"ERR Unknown category '", quotable(&args[2]), b"'"].concat());
            let category = Category::find(&args[2]).ok_or_else(unknown)?;
            let listed = table.iter_all().filter(|command| command.categories.contains(category));
            listed.map(|command| &*command.name).collect()
        }
        _ => return Err(unknown_or_arity(args)),
    };
    reply.array(names.len());
    names.iter().for_each(|name| reply.bulk(name.as_bytes()));
    Ok(())
}

fn deluser(view: AclView<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Result<UserEffect, CommandError> {
    if args.from(2).contains(&User::DEFAULT) {
        return Err(CommandError::text("ERR The 'default' user cannot be removed"));
    }
    let mut removed = Vec::new();
    for id in args.from(2).iter().filter_map(|name| view.users.find(name)) {
        if !removed.contains(&id) {
            removed.push(id);
        }
    }
    reply.integer(removed.len() as i64);
    Ok(if removed.is_empty() { UserEffect::None } else { UserEffect::Remove(removed) })
}

fn dryrun(view: AclView<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Result<UserEffect, CommandError> {
    let not_found = |what: &str, name: &[u8]| {
        CommandError::new([b"ERR ", what.as_bytes(), b" '", quotable(name), b"' not found"].concat())
    };
    let user = view.users.find(&args[2]).ok_or_else(|| not_found("User", &args[2]))?;
    let request = Args::new(args.from(3));
    let command = view.setting.table.resolve(request).ok_or_else(|| not_found("Command", &request[0]))?;
    if !command.subcommands.is_empty() && request.len() > 1 {
        return Err(not_found("Command", &request[0]));
    }
    if !command.spec.accepts(request.len()) {
        return Err(CommandError::arity(&command.name));
    }
    let Some(denied) = denied(view.users.get(user), command, request) else {
        reply.ok();
        return Ok(UserEffect::None);
    };
    let (does, what, kind) = match denied {
        Denied::Command => ("run", command.name.as_bytes(), "command"),
        Denied::Key(at) => ("access", quotable(&request[at]), "key"),
        Denied::Channel(at) => ("access", quotable(&request[at]), "channel"),
    };
    let head = format!("This user has no permissions to {does} the '");
    reply.bulk(&[head.as_bytes(), what, b"' ", kind.as_bytes()].concat());
    Ok(UserEffect::None)
}

fn genpass(rng: &mut Rng, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    const BITS: i64 = 256;
    const MAX_BITS: i64 = 4096;
    let bits = match args.len() {
        2 => BITS,
        3 => args.int(2)?,
        _ => return Err(unknown_or_arity(args)),
    };
    let digits = match bits {
        1..=MAX_BITS => (bits as usize).div_ceil(4),
        _ => return Err(CommandError::text(GENPASS_BITS)),
    };
    let mut password = String::new();
    while password.len() < digits {
        password.push_str(&format!("{:016x}", rng.next_u64()));
    }
    reply.bulk(&password.as_bytes()[..digits]);
    Ok(())
}

fn getuser(view: AclView<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Result<UserEffect, CommandError> {
    let Some(id) = view.users.find(&args[2]) else {
        reply.null();
        return Ok(UserEffect::None);
    };
    let user = view.users.get(id);
    reply.map(6);
    reply.bulk(b"flags");
    let flags: Vec<&str> = user.flags().collect();
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"passwords");
    reply.array(user.passwords().len());
    user.passwords().iter().for_each(|hash| reply.bulk(hash.digits()));
    write_selector(view.setting.table, user.root(), reply);
    reply.bulk(b"selectors");
    reply.array(user.other_selectors().len());
    for selector in user.other_selectors() {
        reply.map(3);
        write_selector(view.setting.table, selector, reply);
    }
    Ok(UserEffect::None)
}

fn write_selector(table: &CommandTable, selector: &Selector, reply: &mut dyn Reply) {
    let fields: [(&[u8], Vec<u8>); 3] = [
        (b"commands", selector.describe_commands(table)),
        (b"keys", selector.describe_keys()),
        (b"channels", selector.describe_channels()),
    ];
    for (name, value) in fields {
        reply.bulk(name);
        reply.bulk(&value);
    }
}

fn list(view: AclView<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Result<UserEffect, CommandError> {
    let lines = describe_all(view.users, view.setting);
    reply.array(lines.len());
    lines.iter().for_each(|line| reply.bulk(line));
    Ok(UserEffect::None)
}

fn users(view: AclView<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Result<UserEffect, CommandError> {
    reply.array(view.users.iter().len());
    view.users.iter().for_each(|user| reply.bulk(&user.name));
    Ok(UserEffect::None)
}

fn whoami(view: AclView<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Result<UserEffect, CommandError> {
    reply.bulk(view.users.name(view.login));
    Ok(UserEffect::None)
}

fn setuser(view: AclView<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Result<UserEffect, CommandError> {
    let name = &args[2];
    if has_spaces(name) {
        return Err(CommandError::text("ERR Usernames can't contain spaces or null characters"));
    }
    let rules = merge_words(args.from(3)).map_err(|at| {
        let open = quotable(args.from(3)[at]);
        CommandError::new([b"ERR Unmatched parenthesis in acl selector starting at '", open, b"'."].concat())
    })?;
    let mut user = match view.users.find(name) {
        Some(id) => view.users.get(id).clone(),
        None => User::new(name, view.setting.all_channels),
    };
    for rule in &rules {
        user.follow(rule, view.setting).map_err(|error| {
            let why = error.text().as_bytes();
            CommandError::new([b"ERR Error in ACL SETUSER modifier '", quotable(rule), b"': ", why].concat())
        })?;
    }
    reply.ok();
    Ok(UserEffect::Put(Box::new(user)))
}

fn load(view: AclView<'_>, _: Args<'_>, _: &mut dyn Reply) -> Result<UserEffect, CommandError> {
    if view.has_file { Ok(UserEffect::Load) } else { Err(CommandError::text(NO_FILE)) }
}

fn save(view: AclView<'_>, _: Args<'_>, _: &mut dyn Reply) -> Result<UserEffect, CommandError> {
    if view.has_file { Ok(UserEffect::Save) } else { Err(CommandError::text(NO_FILE)) }
}

fn log(log: &mut AclLog, now: Now, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    /// The number of entries shown by default.
    const COUNT: usize = 10;
    let count = match args.len() {
        2 => COUNT,
        3 if args.is(2, "reset") => {
            log.clear();
            reply.ok();
            return Ok(());
        }
        3 => usize::try_from(args.int(2)?).unwrap_or(0),
        _ => return Err(unknown_or_arity(args)),
    };
    let now_ms = now.wall_ms();
    let entries = log.iter();
    reply.array(entries.len().min(count));
    entries.take(count).for_each(|entry| write_entry(entry, now_ms, reply));
    Ok(())
}

fn write_entry(entry: &AclLogEntry, now_ms: i64, reply: &mut dyn Reply) {
    let words: [(&[u8], &[u8]); 4] = [
        (b"reason", entry.refused.word().as_bytes()),
        (b"context", entry.context.word().as_bytes()),
        (b"object", &entry.object),
        (b"username", &entry.user),
    ];
    let numbers: [(&[u8], i64); 3] = [
        (b"entry-id", entry.id as i64),
        (b"timestamp-created", entry.created_ms),
        (b"timestamp-last-updated", entry.updated_ms),
    ];
    reply.map(10);
    reply.bulk(b"count");
    reply.integer(entry.count as i64);
    for (name, word) in words {
        reply.bulk(name);
        reply.bulk(word);
    }
    reply.bulk(b"age-seconds");
    reply.double(now_ms.saturating_sub(entry.updated_ms) as f64 / 1000.0);
    reply.bulk(b"client-info");
    reply.bulk(&entry.client);
    for (name, number) in numbers {
        reply.bulk(name);
        reply.integer(number);
    }
}
