//! The obstacles that a replica meets on its way to an election, as its log tells them.

/// The log repeats an obstacle after so many milliseconds.
const RELOG_MS: i64 = 300_000;

/// A reason why a replica does not take over yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// Its data are too old.
    DataAge,
    /// It waits before it asks for votes.
    Delay,
    /// It has waited for votes for too long.
    Expired,
    /// It has not got the votes of most masters.
    Votes,
}

impl Obstacle {
    /// Its text in the log.
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

/// The last obstacle, and when one was logged last.
#[derive(Debug, Default)]
pub(super) struct Obstacles {
    last: Option<Obstacle>,
    logged_at: Option<i64>,
}

impl Obstacles {
    /// There is no failover for which there could be an obstacle.
    pub(super) fn pass(&mut self) {
        self.last = None;
    }

    /// An obstacle is in the way at this instant. Whether the log tells of it: not while it `is_early`, and seldom of
    /// the same one.
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
