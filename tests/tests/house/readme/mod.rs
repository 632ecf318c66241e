//! What README.md and docs/commands.md list is what the table of commands has. What pages show is run by the tests of
//! the book.

mod commands;
mod redis_commands;
