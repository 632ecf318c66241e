//! INFO: the state of the server, as lines that clients and monitors read. The fields are those of Redis 7.2, in its
//! order, and some of our own. Features that this server lacks (defragmentation, forks) show Redis' initial values.

mod commands;
mod counters;
mod lines;
mod memory;
mod replication;
mod state;

use super::memory_figures::MemoryFigures;
use crate::core::{Handler, InfoView, ServerHandler};
use crate::spec::{Args, Flags, Row};
use counters::Counters;
use lines::Lines;
use lockwheel_resp::Reply;

pub(super) const ROWS: &[Row<Handler>] = &[Row::new("info", -1, Handler::Server(&ServerHandler::Info(info)))
    .flags(&[Flags::LOADING, Flags::STALE])
    .categories(&["dangerous"])
    .about("server", "1.0.0", "O(1)")
    .summary("Tells about the server's state.")
    .history(&[("7.0.0", "Added support for taking multiple section arguments.")])
    .syntax("[section ...]")
    .before("7.0.0", "[section]")
    .tips(&["nondeterministic_output", "request_policy:all_shards", "response_policy:special"])];

/// A section: its name, its heading, whether it is shown by default, and its writer.
struct Section {
    name: &'static str,
    heading: &'static str,
    default: bool,
    write: fn(&InfoView<'_>, &mut Lines),
}

impl Section {
    /// A section that is shown by default.
    const fn new(name: &'static str, heading: &'static str, write: fn(&InfoView<'_>, &mut Lines)) -> Self {
        Section { name, heading, default: true, write }
    }

    /// Makes the section appear only where it is named.
    const fn named(self) -> Self {
        Section { default: false, ..self }
    }
}

/// All sections. Each writer gets the parts of the engine that it reads.
const SECTIONS: &[Section] = &[
    Section::new("server", "Server", |view, lines| {
        state::server(view.config, view.identity, view.clock, view.shuts_down_in_ms, lines);
    }),
    Section::new("clients", "Clients", |view, lines| {
        state::clients(view.clients, view.state, view.config.maxclients, lines);
    }),
    Section::new("memory", "Memory", |view, lines| {
        let of_data = (view.clients.keyspace, view.memory.parts.scripts);
        let pending = view.memory.append_only.pending();
        let figures = (&MemoryFigures::of(&view.memory), pending);
        memory::memory(figures, (view.config, view.memory.process), of_data, lines);
    }),
    Section::new("persistence", "Persistence", |view, lines| {
        state::persistence(
            view.persistence,
            (&view.memory.append_only, view.loading),
            view.clients.keyspace,
            view.clock,
            lines,
        );
    }),
    Section::new("stats", "Stats", |view, lines| counters::stats(&Counters::of(view), lines)),
    Section::new("replication", "Replication", |view, lines| {
        replication::replication(view.replication, lines);
    }),
    Section::new("cpu", "CPU", |view, lines| state::cpu(view.identity, lines)),
    Section::new("modules", "Modules", |_, _| ()),
    Section::new("commandstats", "Commandstats", |view, lines| {
        commands::commandstats(view.clients.commands, &view.observers.stats, lines);
    })
    .named(),
    Section::new("errorstats", "Errorstats", |view, lines| {
        commands::errorstats(&view.observers.stats, lines);
    }),
    Section::new("latencystats", "Latencystats", |view, lines| {
        commands::latencystats(view.config, view.clients.commands, &view.observers.stats, lines);
    })
    .named(),
    Section::new("cluster", "Cluster", |view, lines| state::cluster(view.config, lines)),
    Section::new("keyspace", "Keyspace", |view, lines| {
        state::keyspace(view.clients.keyspace, view.clock.now(), lines);
    }),
];

impl Section {
    /// Whether an argument of INFO asks for this section.
    fn is_meant_by(&self, word: &[u8]) -> bool {
        match &*word.to_ascii_lowercase() {
            b"default" => self.default,
            // `all` excludes sections that modules would add; there are none.
            b"all" | b"everything" => true,
            name => name == self.name.as_bytes(),
        }
    }
}

/// The general sections that a sentinel shows besides its own.
const OF_SENTINEL: [&str; 4] = ["server", "clients", "stats", "cpu"];

/// Returns the INFO text of a sentinel: few sections, and the masters that it monitors.
pub(super) fn info_of_sentinel(view: &InfoView<'_>, args: Args<'_>, reply: &mut dyn Reply) {
    let words = args.from(1);
    let is_meant = |name: &str, section: Option<&Section>| {
        words.is_empty()
            || words.iter().any(|word| match section {
                Some(section) => section.is_meant_by(word),
                None => {
                    let word = word.to_ascii_lowercase();
                    [name.as_bytes(), b"default", b"all", b"everything"].contains(&&*word)
                }
            })
    };
    let mut lines = Lines::default();
    let sections =
        OF_SENTINEL.iter().filter_map(|name| SECTIONS.iter().find(|section| section.name == *name));
    for section in sections.filter(|section| is_meant(section.name, Some(section))) {
        lines.begin(section.heading);
        (section.write)(view, &mut lines);
    }
    if is_meant("sentinel", None) {
        lines.begin("Sentinel");
        view.sentinel.iter().flatten().for_each(|(name, value)| lines.field(name, value));
    }
    reply.bulk(lines.text().as_bytes());
}

fn info(view: &InfoView<'_>, args: Args<'_>, reply: &mut dyn Reply) {
    let words = args.from(1);
    let is_shown = |section: &&Section| match words {
        [] => section.default,
        words => words.iter().any(|word| section.is_meant_by(word)),
    };
    let mut lines = Lines::default();
    for section in SECTIONS.iter().filter(is_shown) {
        lines.begin(section.heading);
        (section.write)(view, &mut lines);
    }
    reply.verbatim(*b"txt", lines.text().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_select_sections_of_info() {
        let meant = |word: &[u8]| SECTIONS.iter().filter(|section| section.is_meant_by(word)).count();
        assert_eq!(meant(b"everything"), SECTIONS.len());
        assert_eq!(meant(b"ALL"), SECTIONS.len());
        assert_eq!(meant(b"default"), SECTIONS.len() - 2);
        assert_eq!(meant(b"Server"), 1);
        assert_eq!(meant(b"nonsense"), 0);
    }
}
