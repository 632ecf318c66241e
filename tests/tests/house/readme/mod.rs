//! The lists of README.md and docs/commands.md agree with the table of commands. The tests of the book run the examples
//! of the pages.

mod commands;
mod redis_commands;
