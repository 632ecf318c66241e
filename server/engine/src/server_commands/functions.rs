//! FUNCTION: libraries of functions, and the running function.

use super::function_payload;
use crate::core::{self, Handler, LibraryControl, LibraryDone};
use crate::scripts::{Library, RestorePolicy, Scripts, log_message};
use crate::spec::{Args, CommandError, Flags, Outcome, Row, quotable, unknown_or_arity};
use lockwheel_resp::Reply;
use lockwheel_scripting::{EntryKind, Host, Registered};
use lockwheel_store::keyspace::glob;
use lockwheel_store::time::Now;
use std::sync::Arc;

pub(super) const ROWS: &[Row<Handler>] = &[Row::container("function", -2, FUNCTION)
    .about("scripting", "7.0.0", "Depends on subcommand.")
    .summary("Looks after libraries of functions.")];

const CHANGE: &[Flags] = &[Flags::NOSCRIPT, Flags::WRITE];
/// The language engine of all libraries.
const ENGINE: &[u8] = b"LUA";

const FUNCTION: &[Row<Handler>] = &[
    Row::new("load", -3, Handler::Libraries(load))
        .flags(&[Flags::NOSCRIPT, Flags::WRITE, Flags::DENYOOM])
        .categories(&["scripting"])
        .about("scripting", "7.0.0", "O(1) (considering compilation time is redundant)")
        .summary("Loads a library.")
        .help(&[
            "LOAD [REPLACE] <FUNCTION CODE>",
            "    Create a new library with the given library name and code.",
        ])
        .syntax("[REPLACE] function-code")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .errors(&[
            "ERR Unknown option given: *",
            "ERR Missing library metadata",
            "ERR Invalid library metadata",
            "ERR Library name was not given",
            "ERR Invalid metadata value given: *",
            "ERR Invalid metadata value, name argument was given multiple times",
            "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character \
             long",
            "ERR Engine *",
            "ERR Library *",
            "ERR Error compiling function: *",
            "ERR Error registering functions: *",
            "ERR No functions registered",
            "ERR Function *",
        ]),
    Row::new("delete", 3, Handler::Libraries(delete))
        .flags(CHANGE)
        .categories(&["scripting"])
        .about("scripting", "7.0.0", "O(1)")
        .summary("Deletes a library and its functions.")
        .help(&["DELETE <LIBRARY NAME>", "    Delete the given library."])
        .syntax("library-name")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .errors(&["ERR Library not found"]),
    Row::new("list", -2, Handler::Scripts(list))
        .flags(&[Flags::NOSCRIPT])
        .categories(&["scripting"])
        .about("scripting", "7.0.0", "O(N) where N is the number of functions")
        .summary("Lists libraries with their functions.")
        .help(&[
            "LIST [LIBRARYNAME PATTERN] [WITHCODE]",
            "    Return general information on all the libraries:",
            "    * Library name",
            "    * The engine used to run the Library",
            "    * Library description",
            "    * Functions list",
            "    * Library code (if WITHCODE is given)",
            "    It also possible to get only function that matches a pattern using LIBRARYNAME argument.",
        ])
        .syntax("[LIBRARYNAME library-name-pattern] [WITHCODE]")
        .tips(&["nondeterministic_output_order"])
        .errors(&["ERR library name argument was not given", "ERR Unknown argument *"]),
    Row::new("stats", 2, Handler::Libraries(stats))
        .flags(&[Flags::NOSCRIPT, Flags::ALLOW_BUSY])
        .categories(&["scripting"])
        .about("scripting", "7.0.0", "O(1)")
        .summary("Tells which function runs, and how many there are.")
        .help(&[
            "STATS",
            "    Return information about the current function running:",
            "    * Function name",
            "    * Command used to run the function",
            "    * Duration in MS that the function is running",
            "    If no function is running, return nil",
            "    In addition, returns a list of available engines.",
        ])
        .tips(&["nondeterministic_output", "request_policy:all_shards", "response_policy:special"]),
    Row::new("kill", 2, Handler::Scripts(kill))
        .flags(&[Flags::NOSCRIPT, Flags::ALLOW_BUSY])
        .categories(&["scripting"])
        .about("scripting", "7.0.0", "O(1)")
        .summary("Stops a slow function that has not written.")
        .help(&["KILL", "    Kill the current running function."])
        .tips(&["request_policy:all_shards", "response_policy:one_succeeded"])
        .errors(&["NOTBUSY No scripts in execution right now."]),
    Row::new("flush", -2, Handler::Libraries(flush))
        .flags(CHANGE)
        .categories(&["scripting"])
        .about("scripting", "7.0.0", "O(N) where N is the number of functions deleted")
        .summary("Deletes all libraries.")
        .help(&[
            "FLUSH [ASYNC|SYNC]",
            "    Delete all the libraries.",
            "    When called without the optional mode argument, the behavior is determined by the",
            "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
            "    * ASYNC: Asynchronously flush the libraries.",
            "    * SYNC: Synchronously flush the libraries.",
        ])
        .syntax("[async: ASYNC | SYNC]")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .errors(&[
            "ERR FUNCTION FLUSH only supports SYNC|ASYNC option",
            "ERR unknown subcommand or wrong number of arguments for *",
        ]),
    Row::new("dump", 2, Handler::Scripts(dump))
        .flags(&[Flags::NOSCRIPT])
        .categories(&["scripting"])
        .about("scripting", "7.0.0", "O(N) where N is the number of functions")
        .summary("Gives all libraries as one payload.")
        .help(&[
            "DUMP",
            "    Return a serialized payload representing the current libraries, can be restored using FUNCTION \
             RESTORE command",
        ]),
    Row::new("restore", -3, Handler::Libraries(restore))
        .flags(&[Flags::NOSCRIPT, Flags::WRITE, Flags::DENYOOM])
        .categories(&["scripting"])
        .about("scripting", "7.0.0", "O(N) where N is the number of functions on the payload")
        .summary("Loads the libraries of a payload.")
        .help(&[
            "RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
            "    Restore the libraries represented by the given payload, it is possible to give a restore policy to",
            "    control how to handle existing libraries (default APPEND):",
            "    * FLUSH: delete all existing libraries.",
            "    * APPEND: appends the restored libraries to the existing libraries. On collision, abort.",
            "    * REPLACE: appends the restored libraries to the existing libraries, On collision, replace the old",
            "      libraries with the new libraries (notice that even on this option there is a chance of failure",
            "      in case of functions name collision with another library).",
        ])
        .syntax("serialized-value [policy: FLUSH | APPEND | REPLACE]")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .errors(&[
            "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
            "ERR DUMP payload version or checksum are wrong",
            "ERR unknown subcommand or wrong number of arguments for *",
        ]),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .categories(&["scripting"])
        .about("scripting", "7.0.0", "O(1)")
        .summary("Explains the subcommands."),
];

/// The change of libraries that a command makes, or its error.
type LibraryOutcome = Result<LibraryDone, CommandError>;

fn unknown(what: &str, word: &[u8]) -> CommandError {
    let mut text = [what.as_bytes(), quotable(word)].concat();
    // Line ends at the end of an error are removed; those within become spaces.
    let end = text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last + 1);
    text.truncate(end);
    CommandError::new(text)
}

fn load(control: LibraryControl<'_>, args: Args<'_>, _: &mut dyn Reply) -> LibraryOutcome {
    let last = args.len() - 1;
    let mut replace = false;
    for at in 2..last {
        if !args.is(at, "replace") {
            return Err(unknown("ERR Unknown option given: ", &args[at]));
        }
        replace = true;
    }
    let mut loader = Loader::new(&control.environment.host, control.clock.system());
    let name = control.scripts.load(&args[last], replace, &mut loader)?;
    Ok(LibraryDone::Changed { replaced: None, loaded: Some(name) })
}

fn delete(control: LibraryControl<'_>, args: Args<'_>, _: &mut dyn Reply) -> LibraryOutcome {
    control.scripts.delete(&args[2])?;
    Ok(LibraryDone::CHANGED)
}

fn flush(control: LibraryControl<'_>, args: Args<'_>, _: &mut dyn Reply) -> LibraryOutcome {
    if args.len() > 3 {
        return Err(unknown_or_arity(args));
    }
    if args.len() == 3 && !args.is(2, "sync") && !args.is(2, "async") {
        return Err(CommandError::text("ERR FUNCTION FLUSH only supports SYNC|ASYNC option"));
    }
    control.scripts.flush_libraries()?;
    Ok(LibraryDone::CHANGED)
}

/// Replies that there is nothing to kill. As with SCRIPT KILL, this code only runs when no function is slow.
fn kill(scripts: &mut Scripts, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    scripts.kill(EntryKind::Function)?;
    reply.ok();
    Ok(())
}

fn dump(scripts: &mut Scripts, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.bulk(&function_payload::write(scripts.libraries()));
    Ok(())
}

fn restore(control: LibraryControl<'_>, args: Args<'_>, _: &mut dyn Reply) -> LibraryOutcome {
    const WRONG: &str = "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.";
    if args.len() > 4 {
        return Err(unknown_or_arity(args));
    }
    let policy = match args.get(3).map(<[u8]>::to_ascii_lowercase).as_deref() {
        None | Some(b"append") => RestorePolicy::Append,
        Some(b"flush") => RestorePolicy::Flush,
        Some(b"replace") => RestorePolicy::Replace,
        _ => return Err(CommandError::text(WRONG)),
    };
    let codes = function_payload::read(&args[2])?;
    let mut loader = Loader::new(&control.environment.host, control.clock.system());
    control.scripts.restore(codes, policy, &mut loader)?;
    // A replica may be as old as Redis 7.0.
    let replaced = match control.feeds_replicas {
        true => Some((2, function_payload::for_7_0(&args[2])?)),
        false => None,
    };
    Ok(LibraryDone::Changed { replaced, loaded: None })
}

/// The functions available to a library while it is loaded: the time and the log.
pub(super) struct Loader {
    host: Option<Arc<dyn core::Host>>,
    at_us: u64,
}

impl Loader {
    /// Creates a loader at a time of the system's clocks. Without a host, time stands still.
    pub(super) fn new(host: &Option<Arc<dyn core::Host>>, system: Now) -> Self {
        Loader { host: host.clone(), at_us: system.monotonic_us }
    }
}

impl Host for Loader {
    /// Refuses the call. A library that is being loaded cannot call commands.
    fn call(&mut self, _: &[&[u8]], reply: &mut dyn Reply) {
        reply.error(b"ERR This Redis command is not allowed from script");
    }

    fn log(&mut self, level: u8, message: &[u8]) {
        log_message(level, message);
    }

    fn clock_us(&self) -> u64 {
        self.host.as_ref().map_or(self.at_us, |host| host.now().monotonic_us)
    }

    fn answered_error(&mut self, _: &[u8], _: bool, _: u64) {}

    fn may_run(&mut self, _: &[&[u8]]) -> Option<bool> {
        None
    }
}

fn list(scripts: &mut Scripts, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (mut pattern, mut with_code) = (None, false);
    let mut at = 2;
    while at < args.len() {
        if !with_code && args.is(at, "withcode") {
            with_code = true;
        } else if pattern.is_none() && args.is(at, "libraryname") {
            at += 1;
            let missing = CommandError::text("ERR library name argument was not given");
            pattern = Some(args.get(at).ok_or(missing)?);
        } else {
            // Redis does not trim this error, so line ends at its end become spaces.
            return Err(CommandError::new([b"ERR Unknown argument ", quotable(&args[at])].concat()));
        }
        at += 1;
    }
    let is_listed =
        |library: &&Library| pattern.is_none_or(|pattern| glob::matches(pattern, &library.name, true));
    let libraries = scripts.libraries();
    reply.array(libraries.iter().filter(is_listed).count());
    for library in libraries.iter().filter(is_listed) {
        write_library(library, with_code, reply);
    }
    Ok(())
}

fn write_library(library: &Library, with_code: bool, reply: &mut dyn Reply) {
    reply.map(3 + usize::from(with_code));
    reply.bulk(b"library_name");
    reply.bulk(&library.name);
    reply.bulk(b"engine");
    reply.bulk(ENGINE);
    reply.bulk(b"functions");
    reply.array(library.functions.len());
    for function in &library.functions {
        write_function(function, reply);
    }
    if with_code {
        reply.bulk(b"library_code");
        reply.bulk(&library.code);
    }
}

fn write_function(function: &Registered, reply: &mut dyn Reply) {
    reply.map(3);
    reply.bulk(b"name");
    reply.bulk(&function.name);
    reply.bulk(b"description");
    match &function.description {
        Some(text) => reply.bulk(text),
        None => reply.null(),
    }
    reply.bulk(b"flags");
    reply.set(function.flags.names().count());
    for name in function.flags.names() {
        reply.status(name.as_bytes());
    }
}

fn stats(control: LibraryControl<'_>, _: Args<'_>, reply: &mut dyn Reply) -> LibraryOutcome {
    let scripts = &*control.scripts;
    let running = scripts.control().running();
    if running.is_some_and(|running| running.kind == EntryKind::Script) {
        return Err(scripts.busy());
    }
    reply.map(2);
    reply.bulk(b"running_script");
    match (scripts.slow_function(), running) {
        (Some(function), Some(running)) => {
            let now = control.environment.now(control.clock);
            let now_ms = now.monotonic_ms().unsigned_abs();
            reply.map(3);
            reply.bulk(b"name");
            reply.bulk(&function.name);
            reply.bulk(b"command");
            reply.array(function.command.len());
            function.command.iter().for_each(|word| reply.bulk(word));
            reply.bulk(b"duration_ms");
            reply.integer(now_ms.saturating_sub(running.since_ms).cast_signed());
        }
        _ => reply.null(),
    }
    let libraries = scripts.libraries();
    reply.bulk(b"engines");
    reply.map(1);
    reply.bulk(ENGINE);
    reply.map(2);
    reply.bulk(b"libraries_count");
    reply.integer(libraries.len() as i64);
    reply.bulk(b"functions_count");
    reply.integer(libraries.function_count() as i64);
    Ok(LibraryDone::Answered)
}
