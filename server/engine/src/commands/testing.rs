//! The shared tools of the families' unit tests: they run commands on a keyspace of their own, and show the effects.

use super::ROWS;
use crate::spec::Args;
use lockwheel_resp::{Protocol, Writer};
use lockwheel_store::keyspace::{Effect, EventClasses, Keyspace};
use lockwheel_store::rdb;
use lockwheel_store::time::Now;

/// A keyspace that publishes all events.
pub(super) struct World {
    pub(super) keyspace: Keyspace,
}

impl World {
    pub(super) fn new() -> World {
        let mut keyspace = Keyspace::new(1, 7);
        keyspace.set_published(EventClasses::parse(b"KEA").unwrap());
        World { keyspace }
    }

    /// Runs a line of words parted by spaces. Returns the reply in RESP2, without line ends.
    pub(super) fn run(&mut self, line: &str) -> String {
        self.request(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>())
    }

    pub(super) fn request(&mut self, request: &[&[u8]]) -> String {
        let args = Args::new(request);
        let row = ROWS
            .iter()
            .flat_map(|rows| rows.iter())
            .find(|row| args.is(0, row.spec.name))
            .expect("a known command");
        let row = row.subcommands.iter().find(|sub| args.is(1, sub.spec.name)).unwrap_or(row);
        assert!(row.spec.accepts(args.len()), "{}: {} arguments", row.spec.name, args.len());
        let mut out = Vec::new();
        let mut tx = self.keyspace.tx(0, Now::default());
        match row.handler.expect("a command")(&mut tx, args, &mut Writer::new(&mut out, Protocol::Resp2)) {
            Ok(()) => String::from_utf8_lossy(&out).trim_end().replace("\r\n", " "),
            Err(error) => {
                assert!(out.is_empty(), "a reply before the error");
                format!("-{}", String::from_utf8_lossy(error.as_bytes()))
            }
        }
    }

    /// The events since the last call: `hset k`, one after the other.
    pub(super) fn events(&mut self) -> String {
        let text = |effect: Effect| match effect {
            Effect::Notify { event, key, .. } => format!("{} {}", event.name, String::from_utf8_lossy(&key)),
            Effect::Publish { .. } => "(a message)".to_string(),
            _ => "(more)".to_string(),
        };
        std::iter::from_fn(|| self.keyspace.next_effect()).map(text).collect::<Vec<_>>().join(", ")
    }

    /// The encoding of a key's value, or `none`.
    pub(super) fn encoding(&mut self, key: &str) -> &'static str {
        let tx = self.keyspace.tx(0, Now::default());
        tx.peek(key.as_bytes()).map_or("none", |value| value.encoding().name())
    }

    pub(super) fn dump(&mut self, key: &str) -> Option<Vec<u8>> {
        let tx = self.keyspace.tx(0, Now::default());
        tx.peek(key.as_bytes()).map(rdb::dump)
    }

    /// Bytes of heap that a key's value holds.
    pub(super) fn value_bytes(&mut self, key: &str) -> usize {
        let tx = self.keyspace.tx(0, Now::default());
        tx.peek(key.as_bytes()).map_or(0, |value| value.heap_bytes())
    }

    /// The number of parts of values that were left to be freed later since the last call.
    pub(super) fn garbage(&mut self) -> usize {
        self.keyspace.take_garbage().map_or(0, |garbage| garbage.parts())
    }

    #[track_caller]
    pub(super) fn check(&mut self, lines: &[(&str, &str, &str)]) {
        for (line, reply, events) in lines {
            assert_eq!(self.run(line), *reply, "{line}");
            assert_eq!(self.events(), *events, "{line}");
        }
    }
}
