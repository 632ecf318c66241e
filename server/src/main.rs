//! The `lockwheel` binary. What it does is in `program/`.

mod program;

use std::env;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    program::main(env::args_os())
}
