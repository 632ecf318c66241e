//! The pages of `docs/reference/`, generated from the rows of our own commands. Their examples are run on a server.

mod console;
mod errors;
mod example;

pub use console::shown;
pub use errors::{ANY, Advice, advice_of};
pub use example::{INTRODUCTION_OF_TOPOLOGY, Started, start};

use crate::ours;
use lockwheel_engine::spec::Command;
use lockwheel_engine::spec::syntax::Syntax;
use std::fmt::Write;
use std::sync::Arc;

/// The folder of the pages, from the root of the repository.
pub const FOLDER: &str = "docs/reference/";

/// The page of the errors.
const ERRORS: &str = "errors.md";

/// A page on a family of commands.
#[derive(Clone, Copy, Debug)]
pub struct FamilyPage {
    /// The name of the file.
    pub file: &'static str,
    /// The heading.
    pub title: &'static str,
    /// The page that explains the subject: its title and its file.
    guide: (&'static str, &'static str),
}

/// The pages, in the order of the table of contents.
pub const FAMILIES: &[FamilyPage] = &[
    page("clock.md", "CLOCK commands", ("The clock", "clock.md")),
    page("await.md", "AWAIT commands", ("Waiting for a state", "waits.md")),
    page("lock.md", "LOCK commands", ("Locks", "locks.md")),
    page("history.md", "Commands on the history of locks", ("The history of locks", "history.md")),
    page("sem.md", "SEM commands", ("Semaphores, latches and rate limiters", "semaphores.md#semaphores")),
    page("latch.md", "LATCH commands", ("Semaphores, latches and rate limiters", "semaphores.md#latches")),
    page(
        "rate.md",
        "RATE commands",
        ("Semaphores, latches and rate limiters", "semaphores.md#rate-limiters"),
    ),
    page("fault.md", "FAULT commands", ("Faults", "faults.md")),
];

/// The commands of the history, which share the prefix of the lock commands.
const OF_HISTORY: &[&str] =
    &["lock.enter", "lock.history", "lock.leave", "lock.mark", "lock.observe", "lock.stats", "lock.verify"];

const fn page(file: &'static str, title: &'static str, guide: (&'static str, &'static str)) -> FamilyPage {
    FamilyPage { file, title, guide }
}

/// The file of the page that has this command.
fn file_of(name: &str) -> String {
    let family = name.split('.').next().unwrap_or(name);
    match family {
        _ if OF_HISTORY.contains(&name) => "history.md".to_owned(),
        "cl" => "rate.md".to_owned(),
        "control" => "clock.md".to_owned(),
        family => format!("{family}.md"),
    }
}

/// The commands of our own that the reference describes, in alphabetical order. HELP describes itself.
pub fn commands() -> Vec<Arc<Command>> {
    let table = ours::commands();
    let is_described = |command: &&Arc<Command>| command.spec.is_own() && !command.name.ends_with(".help");
    let mut commands: Vec<Arc<Command>> = table.iter_all().filter(is_described).cloned().collect();
    commands.sort_by(|one, other| one.name.cmp(&other.name));
    commands
}

/// A link to the entry of a command, from a page of the folder `from` of the book, which ends with a slash.
fn link(name: &str, from: &str) -> String {
    let folder = if from == FOLDER { "" } else { "reference/" };
    let anchor = name.replace('.', "");
    format!("[`{}`]({folder}{}#{anchor})", name.to_uppercase(), file_of(name))
}

/// The lists of links to all entries, for the page of all commands.
pub fn links() -> String {
    let commands = commands();
    let mut text = String::new();
    for page in FAMILIES {
        let its = commands.iter().filter(|command| file_of(&command.name) == page.file);
        let links: Vec<String> = its.map(|command| link(&command.name, "docs/")).collect();
        line(&mut text, &format!("- [{}](reference/{}): {}", page.title, page.file, links.join(", ")));
    }
    text
}

/// All pages: the path of each, from the root of the repository, and its text.
///
/// # Panics
/// Panics if a server cannot be started, or if a row has no valid synopsis.
pub fn pages() -> Vec<(String, String)> {
    let commands = commands();
    let mut pages: Vec<(String, String)> = FAMILIES
        .iter()
        .map(|page| (format!("{FOLDER}{}", page.file), family_page(page, &commands)))
        .collect();
    pages.push((format!("{FOLDER}{ERRORS}"), errors_page(&commands)));
    pages
}

const GENERATED: &str = "<!-- Generated from the table of commands. RENEW_COMMANDS=1 cargo test --workspace --test \
                         house readme renews this page. -->\n";

fn family_page(page: &FamilyPage, commands: &[Arc<Command>]) -> String {
    let mut text = GENERATED.to_owned();
    line(&mut text, &format!("\n# {}\n", page.title));
    let (title, guide) = page.guide;
    line(
        &mut text,
        &format!(
            "[{title}](../{guide}) explains these commands. This page describes each of them.\n\n\
             - Each example begins with an empty server whose clock stands still: `lockwheel --time {}`.\n\
             - The replies are those of RESP3. In RESP2, a map is an array of names and values in turn.\n\
             - [Errors]({ERRORS}) explains each error. In the texts below, `…` stands for the part that varies.",
            example::TIME,
        ),
    );
    for command in commands.iter().filter(|command| file_of(&command.name) == page.file) {
        write_entry(command, &mut text);
    }
    text
}

fn write_entry(command: &Command, text: &mut String) {
    let row = command.spec;
    let syntax = Syntax::parse(row.syntax).expect("a test parses every synopsis");
    let name = command.name.to_uppercase();
    line(text, &format!("\n## {name}\n"));
    line(text, &format!("`{}`\n", format!("{name} {syntax}").trim_end()));
    line(text, row.summary);
    let options: Vec<_> = row.options.iter().copied().flatten().collect();
    if !options.is_empty() {
        line(text, "\n| argument | meaning |\n|---|---|");
        for (option, meaning) in options {
            line(text, &format!("| `{option}` | {} |", meaning.replace('|', "\\|")));
        }
    }
    line(text, &format!("\n**Reply.** {}", row.reply));
    if !row.errors.is_empty() {
        let errors: Vec<String> =
            row.errors.iter().map(|error| format!("`{}`", errors::text(error))).collect();
        line(text, &format!("\n**Errors.** {}", errors.join("; ")));
    }
    line(text, &format!("\n**Complexity.** {}", row.complexity));
    line(text, &format!("\n{}\n\n```console\n$ redis-cli -3", example::introduction(&command.name)));
    for (request, shown) in example::run(command) {
        text.push_str(&format!("127.0.0.1:6379> {request}\n{shown}"));
    }
    line(text, "```");
}

/// The number of commands up to which the table of errors names them all.
const MAX_NAMED: usize = 8;

fn errors_page(commands: &[Arc<Command>]) -> String {
    let mut text = GENERATED.to_owned();
    line(
        &mut text,
        "\n# Errors\n\n\
         This page lists the errors of Lockwheel's own commands. It leaves out most errors by which the server refuses \
         requests of any kind, as Redis does: for example `READONLY`, `NOAUTH`, `BUSY` and `MOVED`. An error begins \
         with a code, here `STALE`:\n\n\
         ```console\n\
         $ redis-cli -3\n\
         127.0.0.1:6379> LOCK.FENCE disk 7\n\
         OK\n\
         127.0.0.1:6379> LOCK.FENCE disk 6\n\
         (error) STALE token 6 is below the highest token 7\n\
         ```\n\n\
         A request that fails changes nothing, with three exceptions:\n\n\
         - `LOCK.FENCE` counts a token that it refuses.\n\
         - An advance of the clock goes on if `CLIENT UNBLOCK … ERROR` ends the wait of its client.\n\
         - If another client moves the clock so far that the rest of an advance would leave the clock's range, the \
         advance ends with an error. The time that has passed stays.\n\n\
         `…` stands for the part of a text that varies. The errors of `any` command are those of Redis.\n\n\
         | code | text | commands | what to do |\n|---|---|---|---|",
    );
    for advice in errors::ALL {
        let of: Vec<&Arc<Command>> = commands
            .iter()
            .filter(|command| command.spec.errors.iter().any(|error| advice.is_for(error)))
            .collect();
        let names: Vec<String> = of.iter().map(|command| link(&command.name, FOLDER)).collect();
        let named = match names.len() {
            _ if advice.is_of_any => ANY.to_owned(),
            0..=MAX_NAMED => names.join(", "),
            many => format!("{many} commands"),
        };
        let (code, rest) = advice.error.split_once(' ').unwrap_or((advice.error, ""));
        let rest = errors::text(rest);
        line(&mut text, &format!("| `{code}` | `{rest}` | {named} | {} |", advice.what));
    }
    text
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a text can be written to");
}
