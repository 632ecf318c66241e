//! The obstacles to an election of a replica, as its log shows them.

/// The time after which the same obstacle is logged again, in milliseconds.
const RELOG_MS: i64 = 300_000;

/// The reason that a replica does not take over yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The data of the replica are too old.
    DataAge,
    /// The delay before the request for votes has not passed.
    Delay,
    /// The time to wait for votes has passed.
    Expired,
    /// Most masters have not voted for the replica yet.
    Votes,
}

impl Obstacle {
    pub(super) fn text(self) -> &'static str {
        match self {
            Obstacle::DataAge => {
                "Disconnected from master for longer than allowed. Please check the \
                 'cluster-replica-validity-factor' configuration option."
            }
            Obstacle::Delay => "Waiting the delay before I can start a new failover.",
            Obstacle::Expired => "Failover attempt expired.",
            Obstacle::Votes => "Waiting for votes, but majority still not reached.",
        }
    }
}

/// The last obstacle, and the instant of the last log line.
#[derive(Debug, Default)]
pub(super) struct Obstacles {
    last: Option<Obstacle>,
    logged_at: Option<i64>,
}

impl Obstacles {
    /// Forgets the last obstacle, because there is no failover to obstruct.
    pub(super) fn pass(&mut self) {
        self.last = None;
    }

    /// Records an obstacle. Returns whether to log it: not while `is_early`, and once every [`RELOG_MS`].
    pub(super) fn meet(&mut self, obstacle: Obstacle, now: i64, is_early: bool) -> bool {
        let is_known = self.last.replace(obstacle) == Some(obstacle);
        let is_told = is_known && self.logged_at.is_some_and(|at| now - at < RELOG_MS);
        let tells = !is_told && !is_early;
        if tells {
            self.logged_at = Some(now);
        }
        tells
    }
}
