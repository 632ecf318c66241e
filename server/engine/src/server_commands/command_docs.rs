//! The entry of COMMAND DOCS: a row's documentation in the reply's format.

use crate::spec::syntax::Syntax;
use crate::spec::syntax::arguments::{self, Argument};
use crate::spec::{Command, Spec};
use lockwheel_resp::Reply;

/// Writes the name of a command, and its entry with those of its subcommands.
pub(super) fn write(command: &Command, reply: &mut dyn Reply) {
    let row = command.spec;
    let flags = doc_flags(row);
    // A test parses every synopsis; an invalid one is left out here.
    let arguments = Syntax::parse(row.syntax).map_or_else(|_| Vec::new(), |syntax| arguments::of(&syntax));
    let texts = [
        ("summary", row.summary),
        ("since", row.since),
        ("group", row.group),
        ("complexity", row.complexity),
    ];
    let texts = || texts.into_iter().filter(|(_, text)| !text.is_empty());
    // COMMAND DOCS of Redis has no such fields. Only our own commands have them.
    let (reply_text, errors) = if row.is_own() { (row.reply, row.errors) } else { ("", [].as_slice()) };
    let is_empty = [
        flags.is_empty(),
        row.history.is_empty(),
        arguments.is_empty(),
        reply_text.is_empty(),
        errors.is_empty(),
        command.subcommands.is_empty(),
    ];
    let others = is_empty.into_iter().filter(|is_empty| !is_empty).count();
    reply.bulk(command.name.as_bytes());
    reply.map(texts().count() + 2 * row.deprecated.iter().count() + others);
    texts().for_each(|(field, text)| write_text(field, text, reply));
    write_flags("doc_flags", &flags, reply);
    if let Some((since, replaced_by)) = row.deprecated {
        write_text("deprecated_since", since, reply);
        write_text("replaced_by", replaced_by, reply);
    }
    write_history(row, reply);
    write_arguments(&arguments, reply);
    if !reply_text.is_empty() {
        write_text("reply_description", reply_text, reply);
    }
    write_errors(errors, reply);
    if !command.subcommands.is_empty() {
        reply.bulk(b"subcommands");
        reply.map(command.subcommands.len());
        command.subcommands.iter().for_each(|subcommand| write(subcommand, reply));
    }
}

fn doc_flags(row: &Spec) -> Vec<&'static str> {
    let all = [(row.deprecated.is_some(), "deprecated"), (row.is_internal, "syscmd")];
    all.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect()
}

/// Writes the changes of a command, each with its version. Writes nothing if there are none.
fn write_history(row: &Spec, reply: &mut dyn Reply) {
    if row.history.is_empty() {
        return;
    }
    reply.bulk(b"history");
    reply.set(row.history.len());
    for (version, change) in row.history {
        reply.array(2);
        reply.bulk(version.as_bytes());
        reply.bulk(change.as_bytes());
    }
}

/// Writes the errors of a command of our own. Writes nothing if there are none.
fn write_errors(errors: &[&str], reply: &mut dyn Reply) {
    if errors.is_empty() {
        return;
    }
    reply.bulk(b"errors");
    reply.array(errors.len());
    errors.iter().for_each(|error| reply.bulk(error.as_bytes()));
}

/// Writes a list of arguments. Writes nothing if there are none.
fn write_arguments(arguments: &[Argument<'_>], reply: &mut dyn Reply) {
    if arguments.is_empty() {
        return;
    }
    reply.bulk(b"arguments");
    reply.array(arguments.len());
    arguments.iter().for_each(|argument| write_argument(argument, reply));
}

fn write_argument(argument: &Argument<'_>, reply: &mut dyn Reply) {
    let flags = [
        (argument.optional, "optional"),
        (argument.multiple, "multiple"),
        (argument.multiple_token, "multiple_token"),
    ];
    let flags: Vec<&str> = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect();
    let display = argument.display.as_deref();
    let versions = [("since", argument.since), ("deprecated_since", argument.deprecated_since)];
    let options = [display, argument.token, argument.since, argument.deprecated_since];
    let lists = [flags.is_empty(), argument.parts.is_empty()].into_iter().filter(|is_empty| !is_empty);
    reply.map(2 + options.iter().flatten().count() + argument.key_spec.iter().count() + lists.count());
    write_text("name", &argument.name, reply);
    write_text("type", argument.kind.name(), reply);
    display.into_iter().for_each(|text| write_text("display_text", text, reply));
    if let Some(index) = argument.key_spec {
        reply.bulk(b"key_spec_index");
        reply.integer(index as i64);
    }
    argument.token.into_iter().for_each(|token| write_text("token", token, reply));
    for (field, version) in versions {
        version.into_iter().for_each(|version| write_text(field, version, reply));
    }
    write_flags("flags", &flags, reply);
    write_arguments(&argument.parts, reply);
}

/// Writes a set of flags. Writes nothing if there are none.
fn write_flags(field: &str, flags: &[&str], reply: &mut dyn Reply) {
    if flags.is_empty() {
        return;
    }
    reply.bulk(field.as_bytes());
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.status(flag.as_bytes()));
}

fn write_text(field: &str, text: &str, reply: &mut dyn Reply) {
    reply.bulk(field.as_bytes());
    reply.bulk(text.as_bytes());
}
