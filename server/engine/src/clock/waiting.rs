//! Advances that have not ended, and the clients that wait for them.

use super::advance::ClockAdvance;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdvanceOwner {
    /// The client with this number, which waits for the advance.
    Client(u64),
    /// No client: it has gone, or no longer waits. The advance has this number.
    Detached(u64),
}

/// An advance that a client waits for.
#[derive(Debug)]
enum Awaited {
    /// The advance is to be continued.
    Stopped(Box<ClockAdvance>),
    /// The advance is being continued. `has_killed`: it has disconnected its client, which first gets its reply.
    GoesOn { has_killed: bool },
}

/// The advances that have stopped on the way, and the clients of the advances that are being continued.
#[derive(Debug, Default)]
pub(super) struct WaitingAdvances {
    awaited: BTreeMap<u64, Awaited>,
    /// The advances without clients, by numbers that are never reused.
    detached: BTreeMap<u64, Box<ClockAdvance>>,
    last_detached: u64,
}

impl WaitingAdvances {
    /// Records that a client waits for an advance.
    pub(super) fn begin(&mut self, client: u64, advance: Box<ClockAdvance>) {
        self.awaited.insert(client, Awaited::Stopped(advance));
    }

    /// Adds an advance without a client. Returns its number.
    pub(super) fn detach(&mut self, advance: Box<ClockAdvance>) -> u64 {
        self.last_detached += 1;
        self.detached.insert(self.last_detached, advance);
        self.last_detached
    }

    /// Takes an advance to continue it, if it still exists and is not being continued already.
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

    /// Puts an advance back that has stopped again. Returns it as an error if its client no longer waits.
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

    /// Returns the advance that a client waits for, unless it is being continued.
    pub(super) fn get_mut(&mut self, client: u64) -> Option<&mut ClockAdvance> {
        match self.awaited.get_mut(&client)? {
            Awaited::Stopped(advance) => Some(advance),
            Awaited::GoesOn { .. } => None,
        }
    }

    /// Records that a client no longer waits. Returns its advance, unless that is being continued.
    pub(super) fn end(&mut self, client: u64) -> Option<Box<ClockAdvance>> {
        match self.awaited.remove(&client)? {
            Awaited::Stopped(advance) => Some(advance),
            Awaited::GoesOn { .. } => None,
        }
    }

    /// Whether a client is killed by its own advance, which is being continued. If so, that is recorded.
    pub(super) fn note_killed(&mut self, client: u64) -> bool {
        match self.awaited.get_mut(&client) {
            Some(Awaited::GoesOn { has_killed }) => {
                *has_killed = true;
                true
            }
            _ => false,
        }
    }

    /// Drops all advances without clients. Their numbers are not reused.
    pub(super) fn clear_detached(&mut self) {
        self.detached.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: AdvanceOwner = AdvanceOwner::Client(7);

    #[test]
    fn an_advance_continues_with_or_without_its_client() {
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
    fn a_reset_ends_detached_advances_and_numbers_are_not_reused() {
        let mut waiting = WaitingAdvances::default();
        let first = waiting.detach(Box::default());
        waiting.clear_detached();
        assert!(waiting.take(AdvanceOwner::Detached(first)).is_none());
        assert_ne!(waiting.detach(Box::default()), first);
    }
}
