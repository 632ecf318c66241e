//! Restarts: the steps by which a server takes over, is killed, restarts or comes back.

use super::node_fault::{DataFate, GrantNumbers};
use super::outage::Outage;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RestartStep {
    /// The server no longer has a master or replicas.
    EndReplication,
    /// The server leaves the cluster: other nodes no longer hear from it.
    LeaveCluster,
    /// All connections are cut, except that of one client.
    Cut {
        /// The client that stays connected.
        spared: Option<u64>,
    },
    /// The connections to other servers are forgotten.
    ForgetLinks,
    /// The replication history of the data is forgotten. The next synchronization with a master is a full one.
    ForgetHistory,
    /// The server gets the ids of a new process.
    NewIdentity,
    /// Keys, scripts and functions are deleted.
    LoseData {
        /// Whether the history of locks omits the loss, since a master still has the data.
        as_replica: bool,
    },
    /// The keys return to their state at the beginning of the replication lag, and the script cache is emptied.
    GoBack,
    /// The server lets no client in for a number of milliseconds of the monotonic clock.
    BeginOutage {
        /// The duration in milliseconds.
        ms: u64,
        /// Whether the data then belong to the replication history that the server knows.
        has_kept_history: bool,
    },
    /// The server is killed and lets no client in until a point in time of the monotonic clock.
    Kill {
        /// The point in time in milliseconds.
        until_ms: i64,
        /// The client that has killed the server.
        killer: Option<u64>,
        /// Whether the data then belong to the replication history that the server knows.
        has_kept_history: bool,
    },
    /// Clients are let in again.
    EndOutage,
    /// The data no longer belong to the replication history that the server knows.
    LoseHistory,
    /// Grant numbers start again.
    RestartNumbers,
    /// The server starts as a new process does, in its former role.
    ComeBack,
    /// The server starts as a replica of a master.
    Follow { host: String, port: u16 },
    /// All effects of the earlier steps are delivered.
    Commit,
}

/// The facts on which a restart plan depends.
#[derive(Debug)]
pub(crate) struct RestartPlanner<'e> {
    pub(crate) outage: &'e Outage,
    /// Whether the server is one of several in its process.
    pub(crate) is_joined: bool,
    /// Whether the data belong to a replication history that a master may continue.
    pub(crate) knows_history: bool,
    /// The master of the server, now or after it comes back.
    pub(crate) master: Option<(&'e str, u16)>,
}

impl RestartPlanner<'_> {
    /// Plans a takeover by a replica with the data that it has. Writes since its lag began are lost.
    pub(crate) fn fail_over(&self, numbers: GrantNumbers) -> Vec<RestartStep> {
        [vec![RestartStep::GoBack], steps_for(numbers)].concat()
    }

    /// Plans an interruption of this number of milliseconds, as by a broken network or a restart that keeps all data.
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

    /// Plans a restart, after so many milliseconds, as a process that has kept only its configuration.
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
        // The numbers are set before other servers can report the numbers that they have given.
        steps.extend(steps_for(numbers));
        if down_ms == 0 && self.outage.was_killed() && self.is_joined {
            steps.extend([RestartStep::LoseHistory, RestartStep::ComeBack]);
        } else if let Some((host, port)) = self.master
            // With several servers in the process, a server that is down follows its master once it comes up.
            && (down_ms == 0 || !self.is_joined)
        {
            steps.push(RestartStep::Follow { host: host.to_owned(), port });
        }
        steps
    }

    /// Plans a crash of one server, already cut off, which restarts after so many milliseconds.
    pub(crate) fn crash(&self, down_ms: u64) -> Vec<RestartStep> {
        let restart = self.restart_without_data(down_ms, GrantNumbers::GoOn);
        [restart, vec![RestartStep::Commit]].concat()
    }

    /// Plans the end of a killed process until an instant of the monotonic clock, in milliseconds. All connections are
    /// cut, except that of `killer`, which is closed after its reply. The data are lost unless they are kept.
    pub(crate) fn kill(&self, until_ms: i64, killer: Option<u64>, data: DataFate) -> Vec<RestartStep> {
        // The writes of a script during which the server dies have not reached the replicas.
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

    /// Plans the return of a killed server.
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

    /// Returns the outage of a killed server, one of several, whose data belong to the known history or not.
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
    fn a_replica_restarted_without_data_follows_unless_it_stays_down() {
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
    fn a_killed_server_that_restarts_at_once_has_lost_its_history() {
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
    fn an_interruption_of_a_killed_server_keeps_its_recorded_state() {
        for has_kept_history in [false, true] {
            let outage = killed(has_kept_history);
            let steps = planner(&outage, true, None).interrupt(9, GrantNumbers::GoOn);
            assert_eq!(steps, [RestartStep::BeginOutage { ms: 9, has_kept_history }]);
        }
        let steps = planner(&Outage::default(), true, None).interrupt(9, GrantNumbers::GoOn);
        assert_eq!(steps, [RestartStep::BeginOutage { ms: 9, has_kept_history: true }]);
    }

    #[test]
    fn a_killed_server_keeps_its_history_only_with_its_data_and_no_script() {
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
