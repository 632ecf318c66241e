//! The choice and the removal of the next key to evict.

use super::super::actor::Actor;
use super::super::change::{Cause, Change, Removal, What};
use super::super::database::{Database, Removed};
use super::super::db_key::hash_of;
use super::super::entry::Entry;
use super::super::event::events;
use super::super::interests::Interests;
use super::super::keyspace::Keyspace;
use super::pool::Candidate;
use super::{EvictionPolicy, EvictionRules, Rank};
use crate::time::Now;

impl Keyspace {
    /// Removes the key that goes first by these rules, with its `evicted` event. Returns false if no key may go.
    /// O(samples × databases with keys), with at most four samples of a database for each of its keys.
    pub fn evict_next(&mut self, rules: EvictionRules, now: Now) -> bool {
        let chosen = match rules.policy.rank {
            Rank::Deadline => self.first_due(),
            Rank::Random => self.random_key(rules.policy),
            Rank::IdleTime | Rank::Frequency => self.best_candidate(rules),
        };
        if let Some((db, id)) = chosen {
            self.evict(db, id, now);
        }
        chosen.is_some()
    }

    fn first_due(&mut self) -> Option<(usize, u32)> {
        let db = self.first_to_expire()?.1;
        Some((db, self.databases[db].first_due()?))
    }

    /// A random key of the next database that has a key to evict.
    fn random_key(&mut self, policy: EvictionPolicy) -> Option<(usize, u32)> {
        let Keyspace { databases, eviction, hasher, .. } = self;
        let (last, count) = (eviction.last_db, databases.len());
        let choose = |step: usize| {
            let db = (last + step) % count;
            let id = databases[db].choose(&mut eviction.rng, policy.volatile, |key| hash_of(hasher, key))?;
            Some((db, id))
        };
        let chosen = (1..=count).find_map(choose)?;
        eviction.last_db = chosen.0;
        Some(chosen)
    }

    /// The best candidate, after a search for more candidates.
    fn best_candidate(&mut self, rules: EvictionRules) -> Option<(usize, u32)> {
        if self.eviction.policy != Some(rules.policy) {
            self.eviction.policy = Some(rules.policy);
            self.eviction.candidates.clear();
        }
        loop {
            if !self.look_for_candidates(rules) {
                return None;
            }
            while let Some(best) = self.eviction.candidates.take_best() {
                if self.is_still_due(rules.policy, best) {
                    return Some((best.db, best.id));
                }
            }
        }
    }

    /// Takes samples of all databases; returns whether there were any.
    fn look_for_candidates(&mut self, rules: EvictionRules) -> bool {
        let mut any = false;
        for db in 0..self.databases.len() {
            // Few keys have all been sampled by then, most likely.
            let most = self.databases[db].that_may_go(rules.policy).saturating_mul(4);
            for _ in 0..rules.samples.min(most) {
                let Keyspace { databases, eviction, hasher, .. } = self;
                let hash_key = |key: &[u8]| hash_of(hasher, key);
                let Some(id) = databases[db].choose(&mut eviction.rng, rules.policy.volatile, hash_key)
                else {
                    break;
                };
                any = true;
                let entry = self.databases[db].entry(id);
                let (rank, hash) = (self.rank(rules.policy, entry), hash_of(&self.hasher, entry.key()));
                self.eviction.candidates.offer(Candidate { rank, db, id, hash });
            }
        }
        any
    }

    /// The rank of an entry: keys with a higher rank go sooner.
    fn rank(&self, policy: EvictionPolicy, entry: &Entry) -> u64 {
        let clock = entry.clock().get();
        match policy.rank {
            Rank::Frequency => u64::from(u8::MAX - self.accesses.frequency(clock)),
            _ => self.accesses.idle_seconds(clock).unsigned_abs(),
        }
    }

    /// Whether a candidate still exists, may go, and has not been accessed since it was found.
    fn is_still_due(&self, policy: EvictionPolicy, candidate: Candidate) -> bool {
        let Candidate { rank, db, id, hash } = candidate;
        let entry = self.databases[db].still_there(id, hash, |key| hash_of(&self.hasher, key));
        entry.is_some_and(|entry| {
            (!policy.volatile || entry.has_deadline()) && self.rank(policy, entry) >= rank
        })
    }

    fn evict(&mut self, db: usize, id: u32, now: Now) {
        if self.keeper.is_some() {
            let key: Box<[u8]> = self.databases[db].entry(id).key().into();
            self.tx(db, now).keep(&key);
        }
        let Keyspace { databases, hasher, .. } = self;
        let Removed { entry, mark, .. } = databases[db].remove_at(id, |key| hash_of(hasher, key));
        self.counters.evicted_keys += 1;
        let actor = &Actor::ENGINE;
        if self.interests.any(Interests::KEYS.with(Interests::of_event(events::EVICTED))) {
            let what = &What::Changed { event: Some(events::EVICTED) };
            self.report(&Change { db, key: entry.key(), what, actor, now });
        }
        self.propagate_own_removal(db, entry.key(), self.lazy_removals.eviction);
        if mark.is_some() || self.interests.any(Interests::VALUES) {
            let what = &What::Removed(Removal { value: &entry.value, mark, cause: Cause::Eviction });
            self.report(&Change { db, key: entry.key(), what, actor, now });
        }
        self.garbage.add(entry.value);
    }

    /// Whether a key may go by this policy. O(databases).
    pub fn may_evict(&self, policy: EvictionPolicy) -> bool {
        let may_go = |database: &Database| database.that_may_go(policy) > 0;
        self.databases.iter().any(may_go)
    }
}

impl Database {
    /// The number of keys that may go by this policy.
    fn that_may_go(&self, policy: EvictionPolicy) -> usize {
        if policy.volatile { self.with_deadline() } else { self.len() }
    }
}
