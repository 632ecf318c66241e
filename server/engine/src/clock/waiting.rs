//! The advances that are on their way, and who waits for them.

use super::advance::ClockAdvance;
use std::collections::BTreeMap;

/// The owner of an advance on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdvanceOwner {
    /// The client of this number, which waits for it.
    Client(u64),
    /// Nobody: its client has gone, or no longer waits for it. The advance has this number.
    Detached(u64),
}

/// An advance that a client waits for.
#[derive(Debug)]
enum Awaited {
    /// The advance is to be continued.
    Stopped(Box<ClockAdvance>),
    /// The advance goes on. `has_killed`: it has disconnected its client, which has its answer first.
    GoesOn { has_killed: bool },
}

/// The advances that have stopped on their way, and the clients of those that go on.
#[derive(Debug, Default)]
pub(super) struct WaitingAdvances {
    awaited: BTreeMap<u64, Awaited>,
    /// The advances without clients, by numbers that none has twice.
    detached: BTreeMap<u64, Box<ClockAdvance>>,
    last_detached: u64,
}

impl WaitingAdvances {
    /// A client begins to wait for an advance.
    pub(super) fn begin(&mut self, client: u64, advance: Box<ClockAdvance>) {
        self.awaited.insert(client, Awaited::Stopped(advance));
    }

    /// Adds an advance without a client; returns its number.
    pub(super) fn detach(&mut self, advance: Box<ClockAdvance>) -> u64 {
        self.last_detached += 1;
        self.detached.insert(self.last_detached, advance);
        self.last_detached
    }

    /// Takes an advance to continue it, if it is there still and does not go on already.
    pub(super) fn take(&mut self, owner: AdvanceOwner) -> Option<Box<ClockAdvance>> {
        let client = match owner {
            AdvanceOwner::Client(client) => client,
            AdvanceOwner::Detached(number) => return self.detached.remove(&number),
        };
        let awaited = self.awaited.get_mut(&client)?;
        match std::mem::replace(awaited, Awaited::GoesOn { has_killed: false }) {
            Awaited::Stopped(advance) => Some(advance),
            goes_on @ Awaited::GoesOn { .. } => {
                *awaited = goes_on;
                None
            }
        }
    }

    /// An advance has stopped again; whether its client still waits for it. If not, it comes back.
    pub(super) fn put_back(
        &mut self,
        client: u64,
        mut advance: Box<ClockAdvance>,
    ) -> Result<(), Box<ClockAdvance>> {
        match self.awaited.get_mut(&client) {
            Some(awaited) => {
                if matches!(awaited, Awaited::GoesOn { has_killed: true }) {
                    advance.note_killed();
                }
                *awaited = Awaited::Stopped(advance);
                Ok(())
            }
            None => Err(advance),
        }
    }

    /// The advance that a client waits for, unless it goes on.
    pub(super) fn get_mut(&mut self, client: u64) -> Option<&mut ClockAdvance> {
        match self.awaited.get_mut(&client)? {
            Awaited::Stopped(advance) => Some(advance),
            Awaited::GoesOn { .. } => None,
        }
    }

    /// A client no longer waits. Returns its advance, unless that goes on.
    pub(super) fn end(&mut self, client: u64) -> Option<Box<ClockAdvance>> {
        match self.awaited.remove(&client)? {
            Awaited::Stopped(advance) => Some(advance),
            Awaited::GoesOn { .. } => None,
        }
    }

    /// Whether a client is killed by its own advance, which goes on: it is noted.
    pub(super) fn note_killed(&mut self, client: u64) -> bool {
        match self.awaited.get_mut(&client) {
            Some(Awaited::GoesOn { has_killed }) => {
                *has_killed = true;
                true
            }
            _ => false,
        }
    }

    /// Ends all advances without clients. A number that was given is not given again.
    pub(super) fn clear_detached(&mut self) {
        self.detached.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: AdvanceOwner = AdvanceOwner::Client(7);

    #[test]
    fn an_advance_goes_on_for_its_client_or_without_it() {
        let mut waiting = WaitingAdvances::default();
        waiting.begin(7, Box::default());
        assert!(waiting.get_mut(7).is_some() && !waiting.note_killed(7));
        let advance = waiting.take(CLIENT).expect("it has stopped");
        assert!(waiting.take(CLIENT).is_none() && waiting.get_mut(7).is_none(), "it goes on");
        assert!(waiting.note_killed(7));
        waiting.put_back(7, advance).expect("the client waits");
        assert!(waiting.get_mut(7).expect("it has stopped").has_killed());
        let advance = waiting.take(CLIENT).expect("it has stopped");
        assert!(waiting.end(7).is_none());
        let advance = waiting.put_back(7, advance).expect_err("the client waits no longer");
        let number = waiting.detach(advance);
        assert!(waiting.take(AdvanceOwner::Detached(number)).is_some());
        assert!(waiting.take(AdvanceOwner::Detached(number)).is_none());
    }

    #[test]
    fn a_reset_ends_detached_advances_and_no_number_comes_twice() {
        let mut waiting = WaitingAdvances::default();
        let first = waiting.detach(Box::default());
        waiting.clear_detached();
        assert!(waiting.take(AdvanceOwner::Detached(first)).is_none());
        assert_ne!(waiting.detach(Box::default()), first);
    }
}
