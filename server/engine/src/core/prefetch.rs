//! Prefetching: loads the data of a batch of requests into the caches before the batch runs.
//!
//! With more than some ten thousand keys, a look-up mostly waits for memory, three or four times in sequence. Keys of
//! different requests are independent, so the waits overlap if they are looked up together.

use super::engine::Engine;
use crate::clients::{Sessions, Slot};
use crate::spec::{Args, CommandTable};
use lockwheel_store::keyspace::Keyspace;

/// The keys of a batch that is about to run. Prefetching has no side effects.
#[derive(Debug)]
pub struct Prefetch<'e> {
    keyspace: &'e mut Keyspace,
    commands: &'e CommandTable,
    sessions: &'e Sessions,
}

impl Prefetch<'_> {
    /// Whether prefetching is worthwhile, since the keys may lie outside the processor's caches. O(1).
    pub fn is_large(&self, slot: Slot) -> bool {
        self.keyspace.is_large(self.sessions.get(slot).db)
    }

    /// Notes the first key of a request that the session is about to run, including scripts.
    #[inline]
    pub fn note(&mut self, slot: Slot, argv: &[&[u8]]) {
        let args = Args::new(argv);
        if let Some(command) = self.commands.find(&args[0])
            && let Some(key) = command.first_key.and_then(|at| args.get(usize::from(at)))
        {
            self.keyspace.prefetch(self.sessions.get(slot).db, key);
        }
    }

    /// Fetches the noted keys.
    pub fn fetch(&mut self) {
        self.keyspace.fetch();
    }
}

impl Engine {
    /// Returns the collector for the keys of a batch that is about to run.
    #[inline]
    pub fn prefetch(&mut self) -> Prefetch<'_> {
        Prefetch { keyspace: &mut self.keyspace, commands: &self.commands, sessions: &self.sessions }
    }
}
