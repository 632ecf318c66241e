//! The best candidates of all samples so far: a key that one sample misses, another has seen.

/// The number of candidates that are kept, as in Redis.
const MAX_CANDIDATES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The rank: candidates with a higher rank go sooner.
    pub(super) rank: u64,
    pub(super) db: usize,
    /// The number of its entry, and the hash of its key. Another key may have got the number since.
    pub(super) id: u32,
    pub(super) hash: u64,
}

/// The candidates, in the order of their ranks, lowest first.
#[derive(Debug, Default)]
pub(super) struct Pool(Vec<Candidate>);

impl Pool {
    /// Adds a candidate, unless it is in the pool already, or the pool is full of better ones.
    pub(super) fn offer(&mut self, new: Candidate) {
        let is_full = self.0.len() == MAX_CANDIDATES;
        if is_full && self.0[0].rank >= new.rank {
            return;
        }
        if self.0.iter().any(|one| (one.db, one.id, one.hash) == (new.db, new.id, new.hash)) {
            return;
        }
        if is_full {
            self.0.remove(0);
        }
        let at = self.0.partition_point(|one| one.rank < new.rank);
        self.0.insert(at, new);
    }

    pub(super) fn take_best(&mut self) -> Option<Candidate> {
        self.0.pop()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(rank: u64, id: u32) -> Candidate {
        Candidate { rank, db: 0, id, hash: u64::from(id) }
    }

    #[test]
    fn the_pool_keeps_the_best_candidates_once_each() {
        let mut pool = Pool::default();
        for id in 0..100 {
            pool.offer(candidate(u64::from(id * 37 % 100), id));
            pool.offer(candidate(u64::from(id * 37 % 100), id));
        }
        let ranks: Vec<u64> = std::iter::from_fn(|| pool.take_best()).map(|one| one.rank).collect();
        assert_eq!(ranks, (84..100).rev().collect::<Vec<_>>());
    }
}
