//! The errors that quote a request which no command takes.

use super::args::Args;
use super::error::{CommandError, quotable};

/// The most bytes of a name, and of all arguments, that are quoted.
const SHOWN: usize = 128;

/// `unknown command`, with the beginning of its arguments.
pub(crate) fn unknown_command(args: Args<'_>) -> CommandError {
    let name = quotable(&args[0]);
    let mut text = b"ERR unknown command '".to_vec();
    text.extend(&name[..name.len().min(SHOWN)]);
    text.extend(b"', with args beginning with: ");
    let mut shown = 0;
    for arg in args.from(1) {
        if shown >= SHOWN {
            break;
        }
        let arg = quotable(arg);
        let arg = &arg[..arg.len().min(SHOWN - shown)];
        text.push(b'\'');
        text.extend(arg);
        text.extend(b"' ");
        shown += arg.len() + 3;
    }
    CommandError::new(text)
}

/// `unknown subcommand`: the container has none of this name.
pub(crate) fn unknown_subcommand(args: Args<'_>) -> CommandError {
    subcommand("ERR unknown subcommand '", args)
}

/// `unknown subcommand or wrong number of arguments`: the answer of a handler to too many arguments.
pub(crate) fn unknown_or_arity(args: Args<'_>) -> CommandError {
    subcommand("ERR unknown subcommand or wrong number of arguments for '", args)
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
