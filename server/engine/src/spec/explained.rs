//! Errors of the commands that Redis lacks: they name the wrong word, the expected ones, and the nearest known one.

use super::args::Args;
use super::error::{CommandError, errors};
use super::nearest::{nearest, suggestion};
use super::registry::{Command, CommandTable};
use super::row::Spec;
use super::syntax::{Shown, Syntax};

/// The families whose errors are our own. CL.THROTTLE keeps the errors of redis-cell.
const FAMILIES: [&str; 8] = ["await", "clock", "control", "fault", "latch", "lock", "rate", "sem"];

fn is_own(name: &[u8]) -> bool {
    let dot = name.iter().position(|byte| *byte == b'.');
    dot.is_some_and(|dot| FAMILIES.iter().any(|family| name[..dot].eq_ignore_ascii_case(family.as_bytes())))
}

/// The explanation of a syntax error or a wrong argument of our own commands; `None` for copied commands.
#[cold]
pub(crate) fn explained(spec: &Spec, error: &CommandError, args: Args<'_>) -> Option<CommandError> {
    let argument = error.argument();
    if !is_own(spec.name.as_bytes()) || (argument.is_none() && *error != errors::SYNTAX) {
        return None;
    }
    let syntax = Syntax::parse(spec.syntax).ok()?;
    let words = args.from(1);
    let explanation = match argument {
        Some(argument) => syntax.explain_argument(words, argument.at.checked_sub(1)?, &argument.valid),
        None => syntax.explain(words),
    };
    Some(CommandError::new([error.as_bytes(), b": ", &*explanation].concat()))
}

/// The error for an unknown word: `what` and the word, the known words, and the nearest of them.
#[cold]
pub(crate) fn unknown_word<'a>(
    what: &str,
    word: &[u8],
    behind: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> CommandError {
    let found = nearest(&String::from_utf8_lossy(word), known);
    let found = suggestion(found.map(|found| Shown(found.as_bytes()).to_string()));
    let stop = if found.is_empty() { "" } else { "." };
    CommandError::new(format!("ERR {what} '{}'{behind}{stop}{found}", Shown(word)))
}

#[cold]
pub(crate) fn no_such_command(table: &CommandTable, name: &[u8]) -> CommandError {
    let known = table.iter_all().filter(|command| has_its_name(table, command));
    unknown_word("unknown command", name, "", known.map(|command| command.name.as_str()))
}

/// Whether a command is found by its own name: whether it has not been renamed.
fn has_its_name(table: &CommandTable, command: &Command) -> bool {
    table.find_full(command.name.as_bytes()).is_some_and(|found| found.id == command.id)
}

/// ` Did you mean 'LOCK.ACQUIRE'?` for a mistyped command of our own families. Empty if no command is similar.
/// `is_known` selects the commands that exist for the client. O(commands).
#[cold]
pub(crate) fn similar_command(
    table: &CommandTable,
    name: &[u8],
    is_known: impl Fn(&Command) -> bool,
) -> String {
    let name = std::str::from_utf8(name).ok().filter(|name| is_own(name.as_bytes()));
    let Some((family, verb)) = name.and_then(|name| name.split_once('.')) else { return String::new() };
    let family = format!("{}.", family.to_ascii_lowercase());
    let is_own_command = |command: &Command| is_own(command.spec.name.as_bytes()) && is_known(command);
    let own = table.iter().filter(|command| is_own_command(command) && has_its_name(table, command));
    let verbs = own.filter_map(|command| command.name.strip_prefix(&family));
    suggestion(nearest(verb, verbs).map(|verb| (family.clone() + verb).to_ascii_uppercase()))
}
