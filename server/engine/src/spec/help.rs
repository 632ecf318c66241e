//! The answers to HELP, in Redis' format, from the rows of a container or a family.

use super::error::CommandError;
use super::flow::Outcome;
use super::id::CommandId;
use super::registry::{Command, CommandTable};
use super::row::Spec;
use lockwheel_resp::Reply;

/// Answers the HELP of a container or a dotted family. For any other command it returns false and writes nothing.
pub(crate) fn write(table: &CommandTable, command: &Command, reply: &mut dyn Reply) -> bool {
    match command.spec.name.rsplit_once('.') {
        Some((family, "help")) => write_family(table, family, reply),
        None if command.spec.name == "help" => {
            let has_it = |container: &Command| container.subcommands.iter().any(|sub| sub.id == command.id);
            let container = table.iter_all().find(|container| has_it(container));
            container.into_iter().for_each(|container| write_container(container, reply));
        }
        _ => return false,
    }
    true
}

/// Answers a command without a handler: HELP lists the subcommands; a container fails for lack of one.
#[cold]
pub(crate) fn answer(table: &CommandTable, command: CommandId, reply: &mut dyn Reply) -> Outcome {
    let command = table.get(command);
    match write(table, command, reply) {
        true => Ok(()),
        false => Err(CommandError::arity(&command.name)),
    }
}

/// Writes the HELP of a container: of itself, and of its subcommands.
pub(crate) fn write_container(container: &Command, reply: &mut dyn Reply) {
    let name = container.spec.name.to_ascii_uppercase();
    let subcommands = in_order(container.subcommands.iter().map(|sub| sub.spec));
    let heading = format!("{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    write_lines(&heading, [container.spec].into_iter().chain(subcommands), "HELP", reply);
}

/// Writes the HELP of a family: the lines of all commands with its prefix.
fn write_family(table: &CommandTable, family: &str, reply: &mut dyn Reply) {
    let is_in = |spec: &&Spec| spec.name.split_once('.').is_some_and(|(of, _)| of == family);
    let members = in_order(table.iter_all().map(|command| command.spec).filter(is_in));
    let name = family.to_ascii_uppercase();
    let heading = format!("{name}.<verb> [<arg> [value] [opt] ...]. Commands are:");
    write_lines(&heading, members.into_iter(), &format!("{name}.HELP"), reply);
}

fn write_lines(heading: &str, rows: impl Iterator<Item = &'static Spec>, help: &str, reply: &mut dyn Reply) {
    let lines: Vec<&str> = rows.flat_map(|row| row.help.iter().copied()).collect();
    reply.array(lines.len() + 3);
    reply.status(heading.as_bytes());
    lines.iter().for_each(|line| reply.status(line.as_bytes()));
    reply.status(help.as_bytes());
    reply.status(b"    Print this help.");
}

/// Returns rows in the order of HELP: a row stays in its place, or stands after the row that it names.
fn in_order(rows: impl Iterator<Item = &'static Spec>) -> Vec<&'static Spec> {
    let (mut placed, mut others): (Vec<_>, Vec<_>) = rows.partition(|row| row.help_after.is_none());
    let place = |placed: &[&Spec], row: &Spec| {
        placed.iter().position(|before| Some(before.name) == row.help_after).map(|at| at + 1)
    };
    while let Some((row, at)) =
        others.iter().enumerate().find_map(|(row, spec)| Some((row, place(&placed, spec)?)))
    {
        placed.insert(at, others.remove(row));
    }
    // A row that names an unknown row comes last; a test finds it.
    placed.extend(others);
    placed
}
