//! Restarts: the steps in which a server takes over, is killed, restarts or comes back.

use super::node_fault::{DataFate, GrantNumbers};
use super::outage::Outage;

/// A step of a server that restarts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RestartStep {
    /// The server has neither a master nor replicas any more.
    EndReplication,
    /// Other nodes of the cluster do not hear of it any more.
    LeaveCluster,
    /// All connections are cut, but that of one client.
    Cut {
        /// The client whose connection stays.
        spared: Option<u64>,
    },
    /// Its connections to other servers are gone.
    ForgetLinks,
    /// The history that the data were of is forgotten: a master is asked for all of it.
    ForgetHistory,
    /// It has the ids of another process.
    NewIdentity,
    /// Keys, scripts and functions are gone.
    LoseData {
        /// Whether the history of locks leaves that out: a master has them still.
        as_replica: bool,
    },
    /// The keys are as when its replica began to lag, and the script cache is empty.
    GoBack,
    /// Nobody is let in for so many milliseconds of the monotonic clock.
    BeginOutage {
        /// The duration in milliseconds.
        ms: u64,
        /// Whether the data are then of the history that the server knows.
        has_kept_history: bool,
    },
    /// Nobody is let in until an instant of the monotonic clock: the server is killed.
    Kill {
        /// The instant in milliseconds.
        until_ms: i64,
        /// The client that has killed it.
        killer: Option<u64>,
        /// Whether the data are then of the history that the server knows.
        has_kept_history: bool,
    },
    /// Clients are let in again.
    EndOutage,
    /// The data are no longer of the history that the server knows.
    LoseHistory,
    /// The numbers of grants begin anew.
    RestartNumbers,
    /// It begins as a process does, in the role that it had.
    ComeBack,
    /// It begins as a replica of a master.
    Follow {
        /// The host of the master.
        host: String,
        /// The port of the master.
        port: u16,
    },
    /// All that the steps before have caused is delivered.
    Commit,
}

/// The facts by which a restart is planned.
#[derive(Debug)]
pub(crate) struct RestartPlanner<'e> {
    /// The outage of the server.
    pub(crate) outage: &'e Outage,
    /// Whether it is one of several servers of its process.
    pub(crate) is_joined: bool,
    /// Whether its data are of a history that a master may go on from.
    pub(crate) knows_history: bool,
    /// The master that it follows, or will follow when it comes back.
    pub(crate) master: Option<(&'e str, u16)>,
}

impl RestartPlanner<'_> {
    /// Plans that a replica takes over with what it has: writes since it began to lag are lost.
    pub(crate) fn fail_over(&self, numbers: GrantNumbers) -> Vec<RestartStep> {
        [vec![RestartStep::GoBack], steps_for(numbers)].concat()
    }

    /// Plans a break of so many milliseconds, as behind a broken network or after a restart that has kept everything.
    pub(crate) fn interrupt(&self, down_ms: u64, numbers: GrantNumbers) -> Vec<RestartStep> {
        let was_killed = self.outage.was_killed();
        let has_kept_history = if was_killed { self.outage.has_kept_history() } else { self.knows_history };
        let step = if down_ms > 0 {
            RestartStep::BeginOutage { ms: down_ms, has_kept_history }
        } else if was_killed && self.is_joined {
            RestartStep::ComeBack
        } else {
            RestartStep::EndOutage
        };
        [vec![step], steps_for(numbers)].concat()
    }

    /// Plans a restart as a process that has kept nothing but its configuration. Nobody is let in for so many
    /// milliseconds.
    pub(crate) fn restart_without_data(&self, down_ms: u64, numbers: GrantNumbers) -> Vec<RestartStep> {
        let is_replica = self.master.is_some();
        let mut steps = Vec::new();
        if is_replica {
            steps.extend([RestartStep::EndReplication, RestartStep::ForgetHistory]);
        }
        steps.push(RestartStep::LoseData { as_replica: is_replica });
        steps.push(match down_ms {
            0 => RestartStep::EndOutage,
            ms => RestartStep::BeginOutage { ms, has_kept_history: false },
        });
        // Before it may hear from other servers which numbers they have given.
        steps.extend(steps_for(numbers));
        if down_ms == 0 && self.outage.was_killed() && self.is_joined {
            steps.extend([RestartStep::LoseHistory, RestartStep::ComeBack]);
        } else if let Some((host, port)) = self.master
            // One of several servers that is down follows its master when it comes up.
            && (down_ms == 0 || !self.is_joined)
        {
            steps.push(RestartStep::Follow { host: host.to_owned(), port });
        }
        steps
    }

    /// Plans a crash of the server alone, whose connections have been cut. It restarts after so many milliseconds.
    pub(crate) fn crash(&self, down_ms: u64) -> Vec<RestartStep> {
        let restart = self.restart_without_data(down_ms, GrantNumbers::GoOn);
        [restart, vec![RestartStep::Commit]].concat()
    }

    /// Plans the end of a process that is killed: connections are gone, but for that of `killer`, which is closed when
    /// it has been answered. So are the data, unless they are kept. Nobody is let in before an instant of the
    /// monotonic clock, in milliseconds.
    pub(crate) fn kill(&self, until_ms: i64, killer: Option<u64>, data: DataFate) -> Vec<RestartStep> {
        // Replicas were not told what its last script has changed.
        let has_kept_history = data == DataFate::Kept && self.knows_history && !self.outage.is_dying();
        let mut steps = vec![
            RestartStep::EndReplication,
            RestartStep::LeaveCluster,
            RestartStep::Cut { spared: killer },
            RestartStep::ForgetLinks,
        ];
        if !has_kept_history {
            steps.push(RestartStep::ForgetHistory);
        }
        if data == DataFate::Lost {
            steps.extend([RestartStep::NewIdentity, RestartStep::LoseData { as_replica: true }]);
        }
        steps.extend([RestartStep::Kill { until_ms, killer, has_kept_history }, RestartStep::Commit]);
        steps
    }

    /// Plans that a server that was killed comes back.
    pub(crate) fn come_back(&self) -> Vec<RestartStep> {
        vec![RestartStep::ComeBack, RestartStep::Commit]
    }
}

fn steps_for(numbers: GrantNumbers) -> Vec<RestartStep> {
    match numbers {
        GrantNumbers::GoOn => Vec::new(),
        GrantNumbers::Restart => vec![RestartStep::RestartNumbers],
    }
}

#[cfg(test)]
mod tests {
    use super::super::step::FaultStep;
    use super::*;
    use crate::clock::{MonotonicTimers, Timers};
    use lockwheel_store::keyspace::Keyspace;

    /// The outage of a server of several that was killed, with what it knew of its history.
    fn killed(has_kept_history: bool) -> Outage {
        let (mut outage, mut timers, mut keyspace) =
            (Outage::default(), Timers::default(), Keyspace::new(1, 7));
        let mut step = FaultStep::new(MonotonicTimers::new(100, &mut timers, &mut keyspace));
        outage.kill(i64::MAX, None, has_kept_history, &mut step);
        outage
    }

    fn planner<'e>(outage: &'e Outage, is_joined: bool, master: Option<&'e str>) -> RestartPlanner<'e> {
        let master = master.map(|host| (host, 7001));
        RestartPlanner { outage, is_joined, knows_history: true, master }
    }

    #[test]
    fn a_replica_that_restarts_without_data_follows_its_master_unless_it_stays_down() {
        let outage = Outage::default();
        let follow = RestartStep::Follow { host: "master".to_owned(), port: 7001 };
        let begin = [
            RestartStep::EndReplication,
            RestartStep::ForgetHistory,
            RestartStep::LoseData { as_replica: true },
        ];
        let steps = planner(&outage, true, Some("master")).restart_without_data(0, GrantNumbers::Restart);
        let end = [RestartStep::EndOutage, RestartStep::RestartNumbers, follow.clone()];
        assert_eq!(steps, [&begin[..], &end[..]].concat());
        let steps = planner(&outage, true, Some("master")).restart_without_data(50, GrantNumbers::GoOn);
        let down = RestartStep::BeginOutage { ms: 50, has_kept_history: false };
        assert_eq!(steps, [&begin[..], &[down]].concat());
        let steps = planner(&outage, false, Some("master")).restart_without_data(50, GrantNumbers::GoOn);
        assert_eq!(steps.last(), Some(&follow));
    }

    #[test]
    fn a_killed_server_that_restarts_at_once_comes_back_without_its_history() {
        let outage = killed(true);
        let steps = planner(&outage, true, None).restart_without_data(0, GrantNumbers::GoOn);
        assert_eq!(
            steps,
            [
                RestartStep::LoseData { as_replica: false },
                RestartStep::EndOutage,
                RestartStep::LoseHistory,
                RestartStep::ComeBack
            ]
        );
        assert_eq!(planner(&outage, true, None).interrupt(0, GrantNumbers::GoOn), [RestartStep::ComeBack]);
        assert_eq!(planner(&outage, false, None).interrupt(0, GrantNumbers::GoOn), [RestartStep::EndOutage]);
    }

    #[test]
    fn an_interruption_of_a_killed_server_keeps_what_it_knew_when_it_was_killed() {
        for has_kept_history in [false, true] {
            let outage = killed(has_kept_history);
            let steps = planner(&outage, true, None).interrupt(9, GrantNumbers::GoOn);
            assert_eq!(steps, [RestartStep::BeginOutage { ms: 9, has_kept_history }]);
        }
        let steps = planner(&Outage::default(), true, None).interrupt(9, GrantNumbers::GoOn);
        assert_eq!(steps, [RestartStep::BeginOutage { ms: 9, has_kept_history: true }]);
    }

    #[test]
    fn a_killed_server_keeps_its_history_only_with_its_data_and_without_a_script_that_dies() {
        let (mut outage, kill) = (Outage::default(), |has_kept_history| RestartStep::Kill {
            until_ms: 500,
            killer: Some(3),
            has_kept_history,
        });
        let steps = planner(&outage, true, None).kill(500, Some(3), DataFate::Kept);
        assert!(!steps.contains(&RestartStep::ForgetHistory) && steps.contains(&kill(true)));
        let steps = planner(&outage, true, None).kill(500, Some(3), DataFate::Lost);
        assert!(steps.contains(&RestartStep::ForgetHistory) && steps.contains(&kill(false)));
        assert!(steps.contains(&RestartStep::Cut { spared: Some(3) }));
        outage.announce_kill();
        let steps = planner(&outage, true, None).kill(500, Some(3), DataFate::Kept);
        assert!(steps.contains(&RestartStep::ForgetHistory) && steps.contains(&kill(false)));
    }
}
