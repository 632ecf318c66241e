//! The errors that quote a request that no command takes.

use super::args::Args;
use super::error::{CommandError, quotable};
use super::version::Version;

/// The most bytes that are quoted of a name, and of all arguments together.
const SHOWN: usize = 128;

/// `unknown command`, with the beginning of its quoted arguments. Before 7.0 the quotation marks differed.
pub(crate) fn unknown_command(version: Version, args: Args<'_>) -> CommandError {
    let (quote, behind): (u8, &[u8]) = if version < Version::V7_0 { (b'`', b"`, ") } else { (b'\'', b"' ") };
    let name = quotable(&args[0]);
    let mut text = b"ERR unknown command ".to_vec();
    text.push(quote);
    text.extend(&name[..name.len().min(SHOWN)]);
    text.push(quote);
    text.extend(b", with args beginning with: ");
    let mut shown = 0;
    for arg in args.from(1) {
        if shown >= SHOWN {
            break;
        }
        let arg = quotable(arg);
        let arg = &arg[..arg.len().min(SHOWN - shown)];
        text.push(quote);
        text.extend(arg);
        text.extend(behind);
        shown += arg.len() + 1 + behind.len();
    }
    CommandError::new(text)
}

/// `unknown subcommand`: the container has no subcommand of this name.
pub(crate) fn unknown_subcommand(version: Version, args: Args<'_>) -> CommandError {
    if version < Version::V7_0 {
        unknown_or_arity_before_7(args)
    } else {
        subcommand("ERR unknown subcommand '", args)
    }
}

/// `wrong number of arguments` for a command, by its full name. Before 7.0 it told subcommands apart, too.
pub(crate) fn wrong_arity(version: Version, name: &str, args: Args<'_>) -> CommandError {
    if version < Version::V7_0 && name.contains('|') {
        return unknown_or_arity_before_7(args);
    }
    CommandError::arity(name)
}

/// `unknown subcommand or wrong number of arguments`: the answer of a handler to too many arguments.
pub(crate) fn unknown_or_arity(args: Args<'_>) -> CommandError {
    subcommand("ERR unknown subcommand or wrong number of arguments for '", args)
}

/// [`unknown_or_arity`] in the words of the versions before 7.0.
pub(super) fn unknown_or_arity_before_7(args: Args<'_>) -> CommandError {
    subcommand("ERR Unknown subcommand or wrong number of arguments for '", args)
}

fn subcommand(what: &str, args: Args<'_>) -> CommandError {
    let mut text = what.as_bytes().to_vec();
    let word = quotable(&args[1]);
    text.extend(&word[..word.len().min(SHOWN)]);
    text.extend(b"'. Try ");
    text.extend(args[0].to_ascii_uppercase());
    text.extend(b" HELP.");
    CommandError::new(text)
}
