//! Faults of the servers of a topology, and between them. A server by itself refuses them.

use super::faults::{Direction, Faults, GrantNumbers};
use super::reply::Refused;
use super::words::Words;
use std::time::Duration;

/// The places of servers in a topology, as a request lists them.
fn list(places: &[usize]) -> String {
    places.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// For members of a topology, each named by its place, from 0.
impl Faults {
    /// Kills a server as if its process had ended: its clients and links are cut, its data is gone, and connections are
    /// refused for so long, or until [`Faults::up`].
    ///
    /// # Errors
    /// When there is no such server.
    pub fn down(&self, server: usize, back_after: Option<Duration>) -> Result<(), Refused> {
        self.kill(server, back_after, false)
    }

    /// Kills it likewise, but its data stay: clients are refused as by a disabled proxy.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn down_keeping_data(&self, server: usize, back_after: Option<Duration>) -> Result<(), Refused> {
        self.kill(server, back_after, true)
    }

    fn kill(&self, server: usize, back_after: Option<Duration>, keeps_data: bool) -> Result<(), Refused> {
        let place = server.to_string();
        let words = Words::of(&["FAULT.DOWN", &place]);
        let words = match back_after {
            Some(time) => words.milliseconds(time),
            None => words,
        };
        self.0.ask(&words.and_if(keeps_data, "KEEP")).map(drop)
    }

    /// Lets a server that was killed come back. Whether it was down.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn up(&self, server: usize) -> Result<bool, Refused> {
        let place = server.to_string();
        self.0.ask(&Words::of(&["FAULT.UP", &place])).map(|reply| reply.integer() != 0)
    }

    /// Cuts servers off from these others, or from all. How many connections between them that holds.
    ///
    /// # Errors
    /// When there are no such servers.
    pub fn part(&self, servers: &[usize], from: Option<&[usize]>) -> Result<i64, Refused> {
        let servers = list(servers);
        let words = Words::of(&["FAULT.PARTITION", "NODES", &servers]);
        let words = match from {
            Some(others) => words.and("FROM").and(list(others)),
            None => words,
        };
        self.0.ask(&words).map(|reply| reply.integer())
    }

    /// Cuts servers off from their clients, new ones included. How many there are now.
    ///
    /// # Errors
    /// When there are no such servers.
    pub fn part_from_clients(&self, servers: &[usize], direction: Direction) -> Result<i64, Refused> {
        let servers = list(servers);
        let words = Words::of(&["FAULT.PARTITION", "NODES", &servers, "FROM", "CLIENTS"]);
        self.0.ask(&words.and(direction.word())).map(|reply| reply.integer())
    }

    /// From now on replicas are told everything so much later, in whole milliseconds of the clock that all share.
    ///
    /// # Errors
    /// When the server is in no topology.
    pub fn lag_by(&self, lag: Duration) -> Result<(), Refused> {
        self.0.ask(&Words::of(&["FAULT.LAG"]).milliseconds(lag)).map(drop)
    }

    /// A replica takes over with what it has; clients of its master are cut, and that follows it.
    ///
    /// # Errors
    /// When it is no replica.
    pub fn failover_to(&self, replica: usize, numbers: GrantNumbers) -> Result<(), Refused> {
        let (place, goes_back) = (replica.to_string(), numbers == GrantNumbers::GoBack);
        self.0.ask(&Words::of(&["FAULT.FAILOVER", &place]).and_if(goes_back, "TOKENS")).map(drop)
    }
}
