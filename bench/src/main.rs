//! `lockwheel-bench`: measures servers side by side. Exit code 0: done. 1: an error, for instance a wrong reply.

use clap::Parser;
use lockwheel_bench::cli::{Cli, Verb};
use lockwheel_bench::error::Result;
use lockwheel_bench::{compare, report, workloads};
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<()> {
    match &cli.verb {
        Verb::List => report::list(&workloads::all()?, &mut io::stdout()),
        Verb::Compare(options) => {
            let results = compare::run(options, &mut say)?;
            report::write(&results, options.out.as_deref(), &mut io::stdout())
        }
    }
}

/// Prints a line for the user.
fn say(line: &str) {
    // The reader may be gone.
    let _unheard = writeln!(io::stderr(), "{line}");
}
