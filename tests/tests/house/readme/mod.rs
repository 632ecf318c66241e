//! The lists of README.md, docs/commands.md and the reference agree with the table of commands. The tests of the book
//! run the examples of the pages.

mod commands;
mod redis_commands;
mod reference;
mod schema;
