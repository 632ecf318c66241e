//! The page `docs/commands.md`, generated from the table of commands and the list of differences.

use crate::differences;
use crate::differences::table::FieldDifference;
use crate::ours;
use crate::pair::{Claim, Difference};
use crate::redis_commands;
use crate::reference;
use lockwheel_engine::spec::Command;
use lockwheel_engine::spec::syntax::Syntax;
use std::fmt::Write;
use std::path::PathBuf;

/// The path of the page.
pub fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/commands.md"))
}

/// Generates the text of the page.
pub fn text() -> String {
    let commands = ours::commands();
    let count = |own: bool| {
        commands.iter_all().filter(|command| command.subcommands.is_empty() && is_own(command) == own).count()
    };
    let mut text = format!(
        "<!-- Generated from the table of commands. RENEW_COMMANDS=1 cargo test --workspace --test house readme \
         renews this page. -->\n\n\
         # Commands\n\n\
         Lockwheel has {} commands of Redis and {} commands of its own. Each subcommand counts as one command.\n\
         `COMMAND DOCS name` describes one command in the same way, with its arguments as a tree.\n\
         [The last section](#differences-from-redis) lists the differences from Redis.\n",
        count(false),
        count(true),
    );
    line(&mut text, format_args!("\n## Commands of Lockwheel\n"));
    line(
        &mut text,
        format_args!(
            "The reference describes each of them with its options, reply, errors and an example:\n"
        ),
    );
    text.push_str(&reference::links());
    for (group, title) in redis_commands::GROUPS {
        write_group(group, title, &mut text);
    }
    write_differences(&mut text);
    text
}

fn write_group(group: &str, title: &str, text: &mut String) {
    let table = ours::commands();
    let mut commands: Vec<_> =
        table.iter_all().filter(|command| command.spec.group == group && is_listed(command)).collect();
    commands.sort_by_key(|command| command.name.as_str());
    let missing = redis_commands::missing_of(group);
    if commands.is_empty() && missing.is_empty() {
        return;
    }
    let (first, rest) = title.split_at(1);
    line(text, format_args!("\n## {}{rest}\n", first.to_uppercase()));
    let any = !commands.is_empty();
    commands.into_iter().for_each(|command| write_command(command, text));
    if !missing.is_empty() {
        let space = if any { "\n" } else { "" };
        line(text, format_args!("{space}Not implemented yet: {}.", missing.join(", ")));
    }
}

/// Whether no Redis has the command: our own families, and the protocol between the nodes of a cluster.
fn is_own(command: &Command) -> bool {
    command.spec.is_own() || command.name == "cluster|gossip"
}

/// Whether the page lists the command. A container is represented by its subcommands, and each container has a HELP.
fn is_listed(command: &Command) -> bool {
    command.subcommands.is_empty() && !command.name.ends_with("help")
}

fn write_command(command: &Command, text: &mut String) {
    let row = command.spec;
    let syntax = Syntax::parse(row.syntax).expect("a test parses every synopsis");
    let name = command.name.replace('|', " ").to_uppercase();
    let form = format!("{name} {syntax}");
    let version: Vec<u32> = row.since.split('.').filter_map(|number| number.parse().ok()).collect();
    let is_own = is_own(command);
    let since = if version[..] > [7, 0, 15][..] && !is_own {
        format!(" *Since {}.*", row.since)
    } else {
        String::new()
    };
    let deprecated = row.deprecated.map_or(String::new(), |(since, replaced_by)| {
        format!(" *Deprecated since {since}: {}.*", replaced_by.replace("`!", "`"))
    });
    line(text, format_args!("- `{}`\\\n  {}{since}{deprecated}", form.trim_end(), row.summary));
}

fn write_differences(text: &mut String) {
    line(text, format_args!("\n## Differences from Redis\n"));
    line(
        text,
        format_args!(
            "Replies equal those of Redis 7.2 byte for byte. Tests compare them with redis-server 7.0.15 and with a \
             server\nof the 7.2 line. The tests allow only the differences in the lists below, so the lists are \
             complete."
        ),
    );
    let parts = [
        ("Deliberate differences:", Claim::OnPurpose, differences::REDIS_7_0),
        ("As in Redis 7.2, unlike 7.0:", Claim::Redis72, differences::REDIS_7_0),
    ];
    for (heading, claim, differences) in parts {
        line(text, format_args!("\n{heading}\n"));
        differences
            .iter()
            .filter(|difference| difference.claim == claim)
            .for_each(|each| write_difference(each, text));
    }
    for (heading, differences) in [
        ("Deliberate differences that a single reply does not show:", differences::unseen::UNSEEN),
        (
            "Deliberate differences of replicas, sentinels and cluster nodes:",
            differences::several_servers::OF_SEVERAL_SERVERS,
        ),
        ("As in Redis 7.2, unlike 7.0, which a single reply does not show:", differences::newer::AS_IN_7_2),
    ] {
        line(text, format_args!("\n{heading}\n"));
        for each in differences {
            line(text, format_args!("- {}\\\n  {}", capital(each.name), sentence(each.reason)));
        }
    }
    line(text, format_args!("\nDifferences of COMMAND INFO and COMMAND DOCS from redis-server 7.0.15:\n"));
    differences::table::DIFFERENCES.iter().for_each(|each| write_field(each, text));
}

/// A field of COMMAND INFO or COMMAND DOCS.
fn write_field(difference: &FieldDifference, text: &mut String) {
    let ground = match difference.claim {
        Claim::Redis72 => "as in 7.2",
        Claim::Newer => "as in 7.2, unlike newer servers",
        Claim::OnPurpose => "on purpose",
    };
    let commands =
        difference.commands.iter().map(|name| format!("`{}`", name.replace('|', " ").to_uppercase()));
    let commands: Vec<String> = commands.collect();
    let (field, reason) = (difference.field, sentence(difference.reason));
    line(text, format_args!("- `{field}` of {}, {ground}\\\n  {reason}", commands.join(", ")));
}

fn write_difference(difference: &Difference, text: &mut String) {
    let shown = |line: &str| if line.contains('`') { format!("`` {line} ``") } else { format!("`{line}`") };
    let example = difference.example.last().map_or(String::new(), |example| format!(": {}", shown(example)));
    line(text, format_args!("- {}{example}\\\n  {}", capital(difference.name), sentence(difference.reason)));
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn sentence(text: &str) -> String {
    format!("{}.", capital(text))
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a text can be written to");
}
