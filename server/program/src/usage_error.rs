//! Errors of wrong arguments: Redis' own texts under its names, or else the wrong argument and the nearest valid one.

use super::role::{Subcommand, is_redis};
use lockwheel_engine::config::{Config, LoadError};
use lockwheel_engine::spec::{nearest, suggestion};
use std::ffi::{OsStr, OsString};

/// The lines of a configuration file, and thus options, that set no parameter.
const DIRECTIVES: &[&str] = &["include", "loadmodule", "rename-command", "sentinel", "user"];

/// The options that are valid only as the first argument.
const FIRST_OPTIONS: &[&str] = &["help", "version"];

/// Returns the message for a configuration that cannot be loaded, if the program was started by this name.
pub(crate) fn explain(error: &LoadError, started_as: &OsStr, arguments: &[OsString]) -> String {
    explain_beside(&[], error, started_as, arguments)
}

/// Explains a mistake in the arguments of a subcommand. The subcommand's own options are suggested, too.
pub(crate) fn explain_beside(
    own: &[&str],
    error: &LoadError,
    started_as: &OsStr,
    arguments: &[OsString],
) -> String {
    match error {
        LoadError::Line { line, reason, is_option: true, .. } if !is_redis(started_as) => {
            wrong_option(own, line, reason)
        }
        LoadError::File { path, reason } if !is_redis(started_as) => {
            let is_first = arguments.first().is_some_and(|first| *first == **path);
            match is_word(path) {
                true if !own.is_empty() => no_option(path, reason),
                true if is_first => no_subcommand(path, reason),
                _ => error.to_string(),
            }
        }
        _ => error.to_string(),
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

fn no_subcommand(word: &str, reason: &str) -> String {
    let names = Subcommand::names();
    format!(
        "There is no subcommand '{word}', and it cannot be read as a configuration file: {reason}.{} 'lockwheel \
         --help' lists the subcommands.",
        suggestion(nearest(word, names))
    )
}

fn no_option(word: &str, reason: &str) -> String {
    format!("'{word}' is no option, and it cannot be read as a configuration file: {reason}")
}

/// Returns the message for a wrong option, given as a line of a file. `own`: the subcommand's options.
fn wrong_option(own: &[&str], line: &str, reason: &str) -> String {
    let name = line.split([' ', '\t']).next().unwrap_or_default();
    let parameters = Config::default().get(&[b"*"]);
    let parameters = parameters.iter().filter_map(|(name, _)| std::str::from_utf8(name).ok());
    let known: Vec<&str> = own.iter().copied().chain(parameters).chain(DIRECTIVES.iter().copied()).collect();
    let named = || known.iter().copied().chain(FIRST_OPTIONS.iter().copied());
    let is_known =
        |name: &str| !Config::default().get(&[name.as_bytes()]).is_empty() || known.contains(&name);
    if let Some((option, value)) = name.split_once('=').filter(|(option, _)| is_known(option)) {
        return format!("An option and its value are two arguments: --{option} {value}");
    }
    if name.starts_with('"') && !is_known(name.trim_matches('"')) {
        let word = line.split('"').nth(1).unwrap_or_default();
        let found = word.starts_with('-').then(|| nearest(word.trim_start_matches('-'), named())).flatten();
        let found = found.map(|name| format!("--{name}"));
        return format!("'{word}' is no option, nor the value of one.{}", suggestion(found));
    }
    if FIRST_OPTIONS.contains(&name) {
        return format!("'--{name}' is the first argument, or none");
    }
    let lowercase = name.trim_matches('"').to_ascii_lowercase();
    if !is_known(&lowercase) || own.contains(&&*lowercase) {
        let found = nearest(name.trim_start_matches('-'), named()).map(|name| format!("--{name}"));
        return format!("There is no option '--{name}'.{}", suggestion(found));
    }
    let value = line.split('"').nth(1).unwrap_or_default();
    let found = suggestion(nearest(value, values(reason)));
    let stop = if found.is_empty() { "" } else { "." };
    format!("'--{line}': {reason}{stop}{found}")
}

/// Returns the values that a reason lists, in quotes or after a colon.
fn values(reason: &str) -> Vec<&str> {
    match reason.split_once(" following: ") {
        Some((_, list)) => list.split(", ").collect(),
        None => reason.split('\'').skip(1).step_by(2).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::SystemFiles;
    use lockwheel_engine::COMMAND_NAMES;
    use lockwheel_engine::config::Invocation;

    fn said(started_as: &str, line: &str) -> String {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let words = arguments.iter().cloned().map(OsString::into_encoded_bytes);
        let read = Invocation::from_arguments(words, &mut SystemFiles::default(), COMMAND_NAMES);
        let Invocation::Fail(error) = read else { panic!("{line}: {read:?}") };
        explain(&error, OsStr::new(started_as), &arguments)
    }

    #[test]
    fn an_unknown_argument_is_reported_with_the_nearest_one() {
        for (line, expected) in [
            ("--prot 7000", "There is no option '--prot'. Did you mean '--port'?"),
            (
                "--maxmemory-polcy x",
                "There is no option '--maxmemory-polcy'. Did you mean '--maxmemory-policy'?",
            ),
            ("--quite-another x", "There is no option '--quite-another'."),
            ("--port abc", "'--port \"abc\"': argument couldn't be parsed into an integer"),
            (
                "--time manul",
                "'--time \"manul\"': argument must be 'real', 'manual' or an instant from 1970-01-01T00:00:00Z to \
                 9999-12-30T21:59:59.999Z, to the millisecond. Did you mean 'manual'?",
            ),
            (
                "--loglevel verbos",
                "'--loglevel \"verbos\"': argument(s) must be one of the following: debug, verbose, notice, \
                 warning. Did you mean 'verbose'?",
            ),
            ("--port", "'--port': wrong number of arguments"),
            ("--port=7000", "An option and its value are two arguments: --port 7000"),
            ("-port 7000", "'-port' is no option, nor the value of one. Did you mean '--port'?"),
            ("--port 1 --help", "'--help' is the first argument, or none"),
            ("--hlep", "There is no option '--hlep'. Did you mean '--help'?"),
            ("--versoin", "There is no option '--versoin'. Did you mean '--version'?"),
            ("--user", "'--user': Bad directive or wrong number of arguments"),
            (
                "rnu --port",
                "There is no subcommand 'rnu', and it cannot be read as a configuration file: No such file or \
                 directory. Did you mean 'run'? 'lockwheel --help' lists the subcommands.",
            ),
            ("no/such.conf", "Fatal error, can't open config file 'no/such.conf': No such file or directory"),
        ] {
            assert_eq!(said("lockwheel", line), expected, "{line}");
        }
    }

    #[test]
    fn options_of_a_subcommand_are_suggested_too() {
        let own = ["lag", "replicas"];
        for (line, expected) in [
            ("--lagg 4", "There is no option '--lagg'. Did you mean '--lag'?"),
            ("--replica 1", "There is no option '--replica'. Did you mean '--replicas'?"),
            ("--LAG 4", "There is no option '--LAG'. Did you mean '--lag'?"),
            ("--lag=4", "An option and its value are two arguments: --lag 4"),
            ("--prot 1", "There is no option '--prot'. Did you mean '--port'?"),
            (
                "x --port 1",
                "'x' is no option, and it cannot be read as a configuration file: No such file or directory",
            ),
        ] {
            let words = line.split(' ').map(|word| word.as_bytes().to_vec());
            let read = Invocation::from_arguments(words, &mut SystemFiles::default(), COMMAND_NAMES);
            let Invocation::Fail(error) = read else { panic!("{line}: {read:?}") };
            assert_eq!(explain_beside(&own, &error, OsStr::new("lockwheel"), &[]), expected, "{line}");
        }
    }

    #[test]
    fn as_redis_server_errors_have_the_words_of_redis() {
        for (line, expected) in [
            ("--prot 7000", "at line 2\n>>> 'prot \"7000\"'\nBad directive or wrong number of arguments"),
            ("rnu", "Fatal error, can't open config file 'rnu': No such file or directory"),
        ] {
            let said = said("/usr/bin/redis-server", line);
            assert!(said.ends_with(expected), "{said}");
        }
    }
}
