//! Faults of the servers of a topology and of the links between them. A standalone server refuses these requests.

use super::faults::{Direction, Faults, GrantNumbers};
use super::reply::Refused;
use super::words::Words;
use std::time::Duration;

fn list(places: &[usize]) -> String {
    places.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Faults for members of a topology. A server is named by its place, from 0.
impl Faults {
    /// Kills a server and its data. New connections are refused for `back_after`, or until [`Faults::up`].
    ///
    /// # Errors
    /// Returns a [`Refused`] if there is no such server.
    pub fn down(&self, server: usize, back_after: Option<Duration>) -> Result<(), Refused> {
        self.kill(server, back_after, false)
    }

    /// Kills a server but keeps its data: clients are refused as by a disabled proxy.
    ///
    /// # Errors
    /// Returns a [`Refused`] if there is no such server.
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

    /// Brings a killed server back. Returns whether it was down.
    ///
    /// # Errors
    /// Returns a [`Refused`] if there is no such server.
    pub fn up(&self, server: usize) -> Result<bool, Refused> {
        let place = server.to_string();
        self.0.ask(&Words::of(&["FAULT.UP", &place])).map(|reply| reply.integer() != 0)
    }

    /// Cuts servers off from others, or from all other servers. Returns the number of connections held up.
    ///
    /// # Errors
    /// Returns a [`Refused`] if there are no such servers.
    pub fn part(&self, servers: &[usize], from: Option<&[usize]>) -> Result<i64, Refused> {
        let servers = list(servers);
        let words = Words::of(&["FAULT.PARTITION", "NODES", &servers]);
        let words = match from {
            Some(others) => words.and("FROM").and(list(others)),
            None => words,
        };
        self.0.ask(&words).map(|reply| reply.integer())
    }

    /// Cuts servers off from their clients, including new ones. Returns the number of clients that are cut off now.
    ///
    /// # Errors
    /// Returns a [`Refused`] if there are no such servers.
    pub fn part_from_clients(&self, servers: &[usize], direction: Direction) -> Result<i64, Refused> {
        let servers = list(servers);
        let words = Words::of(&["FAULT.PARTITION", "NODES", &servers, "FROM", "CLIENTS"]);
        self.0.ask(&words.and(direction.word())).map(|reply| reply.integer())
    }

    /// Delays replication by `lag` from now on, in whole milliseconds of the common clock.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server belongs to no topology.
    pub fn lag_by(&self, lag: Duration) -> Result<(), Refused> {
        self.0.ask(&Words::of(&["FAULT.LAG"]).milliseconds(lag)).map(drop)
    }

    /// Promotes a replica with the data that it has. Its master, cut off from clients, becomes a replica of it.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server is no replica.
    pub fn failover_to(&self, replica: usize, numbers: GrantNumbers) -> Result<(), Refused> {
        let (place, goes_back) = (replica.to_string(), numbers == GrantNumbers::GoBack);
        self.0.ask(&Words::of(&["FAULT.FAILOVER", &place]).and_if(goes_back, "TOKENS")).map(drop)
    }
}
