//! The man page, made from the same tables as the help.

use super::command_line::{ABOUT, NAME, arguments_of, program};
use super::exit;
use super::options::{EXAMPLES, OPTIONS};
use super::output::say;
use super::role::Subcommand;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};
use std::ffi::OsString;
use std::process::ExitCode;

/// Prints the man page, for `man -l -` and for packages.
pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    match arguments_of(Subcommand::Man, arguments) {
        Ok(_) => say(page().as_bytes()),
        Err(code) => Ok(code),
    }
}

fn page() -> String {
    let mut page = Roff::new();
    let version = format!("{NAME} {}", env!("CARGO_PKG_VERSION"));
    page.control("TH", [NAME, "1", "", version.as_str(), "User Commands"]);
    section(&mut page, "NAME");
    page.text([roman(format!("{NAME} - {ABOUT}"))]);
    section(&mut page, "SYNOPSIS");
    page.text([bold(NAME), roman(" [redis.conf] [options] [-]")]);
    for subcommand in program().get_subcommands() {
        let usage = subcommand.clone().render_usage().to_string();
        // Each form of use gets a separate line.
        for line in usage.trim_start_matches("Usage: ").lines() {
            page.control("br", []);
            page.text([roman(line.trim_start().to_owned())]);
        }
    }
    section(&mut page, "DESCRIPTION");
    page.text([roman(
        "Without a subcommand it is a server that speaks the Redis protocol. Its options are the parameters of \
         redis.conf, each with two dashes in front, and those below. A hyphen reads the configuration from standard \
         input. Started by the name redis-server it knows no subcommands; started by the name redis-cli it sends one \
         command and prints the reply.",
    )]);
    section(&mut page, "OPTIONS");
    for option in OPTIONS {
        let value = if option.value.is_empty() { "" } else { " " };
        item(&mut page, [bold(format!("--{}{value}", option.name)), italic(option.value)], option.help);
    }
    section(&mut page, "SUBCOMMANDS");
    for subcommand in program().get_subcommands() {
        let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
        item(&mut page, [bold(subcommand.get_name()), roman("")], &about);
    }
    section(&mut page, "EXIT STATUS");
    exit::CODES.iter().for_each(|(code, meaning)| item(&mut page, [bold(*code), roman("")], meaning));
    section(&mut page, "EXAMPLES");
    for example in EXAMPLES {
        page.control("PP", []);
        page.text([roman(*example)]);
    }
    page.render()
}

fn section(page: &mut Roff, name: &str) {
    page.control("SH", [name]);
}

fn item(page: &mut Roff, term: [Inline; 2], meaning: &str) {
    page.control("TP", []);
    page.text(term);
    page.text([roman(meaning)]);
}
