//! INFO: the state of the server, as lines that clients and monitors read.
//!
//! The fields are those of Redis 7.2, in its order, and some of our own. Of what this server never does (replication,
//! defragmentation, forks) they have the values that Redis shows before it has done it.

mod commands;
mod counters;
mod memory;
mod state;

use super::memory_figures::Overhead;
use crate::config::Config;
use crate::core::{Call, Engine, Handler};
use crate::spec::{Args, Flags, Outcome, Row};
use lockwheel_resp::Reply;
use std::fmt::{Display, Write};

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[Row::new("info", -1, Handler::Engine(info))
    .flags(&[Flags::LOADING, Flags::STALE])
    .categories(&["dangerous"])
    .about("server", "1.0.0", "O(1)")
    .summary("Tells about the server's state.")
    .history(&[("7.0.0", "Added support for taking multiple section arguments.")])
    .syntax("[section ...]")
    .tips(&["nondeterministic_output", "request_policy:all_shards", "response_policy:special"])];

/// A section: its name, its heading, whether it is shown by default, and its writer.
struct Section {
    name: &'static str,
    heading: &'static str,
    default: bool,
    write: fn(&Engine, &mut Lines),
}

const SECTIONS: &[Section] = &[
    Section { name: "server", heading: "Server", default: true, write: state::server },
    Section { name: "clients", heading: "Clients", default: true, write: state::clients },
    Section { name: "memory", heading: "Memory", default: true, write: memory::memory },
    Section { name: "persistence", heading: "Persistence", default: true, write: state::persistence },
    Section { name: "stats", heading: "Stats", default: true, write: counters::stats },
    Section { name: "replication", heading: "Replication", default: true, write: state::replication },
    Section { name: "cpu", heading: "CPU", default: true, write: state::cpu },
    Section { name: "modules", heading: "Modules", default: true, write: |_, _| () },
    Section { name: "commandstats", heading: "Commandstats", default: false, write: commands::commandstats },
    Section { name: "errorstats", heading: "Errorstats", default: true, write: commands::errorstats },
    Section { name: "latencystats", heading: "Latencystats", default: false, write: commands::latencystats },
    Section { name: "cluster", heading: "Cluster", default: true, write: state::cluster },
    Section { name: "keyspace", heading: "Keyspace", default: true, write: state::keyspace },
];

impl Section {
    /// Whether an argument of INFO asks for it.
    fn is_meant_by(&self, word: &[u8]) -> bool {
        match &*word.to_ascii_lowercase() {
            b"default" => self.default,
            // Redis leaves out the modules, for which there is `everything`.
            b"all" => self.name != "modules",
            b"everything" => true,
            name => name == self.name.as_bytes(),
        }
    }
}

fn info(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let words = args.from(1);
    let is_shown = |section: &&Section| match words {
        [] => section.default,
        words => words.iter().any(|word| section.is_meant_by(word)),
    };
    engine.look_at_memory();
    let mut lines = Lines::default();
    for section in SECTIONS.iter().filter(is_shown) {
        lines.begin(section.heading);
        (section.write)(engine, &mut lines);
    }
    reply.verbatim(*b"txt", lines.0.as_bytes());
    Ok(())
}

/// The text of INFO.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn begin(&mut self, heading: &str) {
        let gap = if self.0.is_empty() { "" } else { "\r\n" };
        self.line(format_args!("{gap}# {heading}"));
    }

    fn line(&mut self, line: impl Display) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "{line}\r\n");
    }

    fn field(&mut self, name: &str, value: impl Display) {
        self.line(format_args!("{name}:{value}"));
    }

    /// Fields that are always 0 here.
    fn zeros(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.field(name, 0));
    }

    /// How much larger one size is than another.
    fn overhead(&mut self, name: &str, overhead: Overhead) {
        self.field(&format!("{name}_ratio"), format_args!("{:.2}", overhead.ratio));
        self.field(&format!("{name}_bytes"), overhead.bytes);
    }

    /// A number of bytes, also in human-readable form.
    fn bytes(&mut self, name: &str, bytes: u64) {
        self.field(name, bytes);
        self.field(&format!("{name}_human"), human(bytes));
    }
}

/// A number of bytes with a unit and two digits behind the point.
fn human(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    match UNITS.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{:.2}{unit}", bytes as f64 / *size as f64),
        None => format!("{bytes}B"),
    }
}

fn parameter(config: &Config, name: &str) -> String {
    let value = config.get(&[name.as_bytes()]).pop().map(|(_, value)| value).unwrap_or_default();
    String::from_utf8_lossy(&value).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_for_people() {
        let texts = [0, 1023, 1024, 1_536_000, 3 << 30, 5 << 40].map(human);
        assert_eq!(texts, ["0B", "1023B", "1.00K", "1.46M", "3.00G", "5.00T"]);
    }

    #[test]
    fn words_mean_sections() {
        let meant = |word: &[u8]| SECTIONS.iter().filter(|section| section.is_meant_by(word)).count();
        assert_eq!(meant(b"everything"), SECTIONS.len());
        assert_eq!(meant(b"ALL"), SECTIONS.len() - 1);
        assert_eq!(meant(b"default"), SECTIONS.len() - 1);
        assert_eq!(meant(b"Server"), 1);
        assert_eq!(meant(b"nonsense"), 0);
    }
}
