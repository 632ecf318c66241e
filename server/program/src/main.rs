//! The program `lockwheel`: the server as a system program, with roles, files, log, background and supervisor.

mod allocator;
mod background;
mod client;
mod command_line;
mod entrypoint;
mod exit;
mod files;
mod healthcheck;
mod log;
mod log_role;
mod man;
mod options;
mod output;
mod parent;
mod ready;
mod redis_cli;
mod role;
mod run;
mod serve;
mod signals;
mod supervisor;
mod topology;
mod usage_error;

use lockwheel_engine::config::Config;
use role::{Role, Subcommand};
use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let mut arguments = env::args_os();
    let started_as = arguments.next().unwrap_or_default();
    let arguments: Vec<OsString> = arguments.collect();
    let rest = || arguments.get(1..).unwrap_or_default();
    let done = match Role::of(&started_as, arguments.first().map(OsString::as_os_str)) {
        Role::Server => serve::main(&started_as, Config::default(), arguments),
        Role::RedisCli => redis_cli::main(&arguments),
        Role::Subcommand(Subcommand::Run) => run::main(rest()),
        Role::Subcommand(Subcommand::Topology) => topology::main(rest()),
        Role::Subcommand(Subcommand::Entrypoint) => entrypoint::main(rest()),
        Role::Subcommand(Subcommand::HealthCheck) => healthcheck::main(rest()),
        Role::Subcommand(Subcommand::Completions) => command_line::print_completions(rest()),
        Role::Subcommand(Subcommand::Man) => man::main(rest()),
        Role::Subcommand(Subcommand::Help) => command_line::print_help(&started_as, rest()),
    };
    exit::code(done)
}
