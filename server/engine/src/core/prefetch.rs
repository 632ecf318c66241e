//! Fetches what a batch of requests is about to touch into the caches before it runs.
//!
//! Beyond some ten thousand keys a look-up is spent waiting for memory, three or four times one after another. The keys
//! of different requests are independent: when they are looked up together beforehand, their waits overlap.

use super::engine::Engine;
use crate::clients::{Sessions, Slot};
use crate::spec::{Args, CommandTable};
use lockwheel_store::keyspace::Keyspace;

/// The keys of a batch that is about to run, to be fetched. It has no side effects.
#[derive(Debug)]
pub struct Prefetch<'e> {
    keyspace: &'e mut Keyspace,
    commands: &'e CommandTable,
    sessions: &'e Sessions,
}

impl Prefetch<'_> {
    /// Whether fetching the keys of a batch is worthwhile: they may lie outside the processor's caches. O(1).
    pub fn is_large(&self, slot: Slot) -> bool {
        self.keyspace.is_large(self.sessions.get(slot).db)
    }

    /// Notes the first key of a request that the session is about to run; of scripts too.
    #[inline]
    pub fn note(&mut self, slot: Slot, argv: &[&[u8]]) {
        let args = Args::new(argv);
        if let Some(command) = self.commands.find(&args[0])
            && let Some(key) = command.first_key.and_then(|at| args.get(usize::from(at)))
        {
            self.keyspace.prefetch(self.sessions.get(slot).db, key);
        }
    }

    /// Fetches what has been noted.
    pub fn fetch(&mut self) {
        self.keyspace.fetch();
    }
}

impl Engine {
    /// Returns the keys of a batch that is about to run, to be fetched.
    #[inline]
    pub fn prefetch(&mut self) -> Prefetch<'_> {
        Prefetch { keyspace: &mut self.keyspace, commands: &self.commands, sessions: &self.sessions }
    }
}
