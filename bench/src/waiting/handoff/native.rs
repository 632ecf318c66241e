//! Waiters on a native lock or semaphore, with one connection and one blocking command each.

use super::Locking;
use crate::waiting::client::Client;
use crate::waiting::crowd::{Crowd, WaiterIndex};
use crate::waiting::results::LockKind;
use crate::waiting::wire::Reply;
use std::io;

/// The name of the lock.
const LOCK: &[u8] = b"bench:handoff:native";

/// The lease, in ms, longer than any hand-off.
const LEASE_MS: &[u8] = b"30000";

/// The parties that wait for, hold and release a native lock.
#[derive(Debug)]
pub(super) struct Native {
    kind: LockKind,
    parties: Vec<Party>,
    wake_ups: u64,
    /// The number of parties whose release has not been answered.
    releasing: usize,
}

#[derive(Debug)]
struct Party {
    owner: Vec<u8>,
    step: Step,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Out,
    Waiting,
    Holding,
    Releasing,
}

impl Native {
    /// Creates this many parties, all outside. Deletes the keys of an earlier run.
    pub(super) fn new(control: &mut Client, parties: usize, kind: LockKind) -> io::Result<Native> {
        control.call(&[b"DEL", LOCK])?;
        if kind == LockKind::NativeSemaphore {
            control.call(&[b"SEM.INIT", LOCK, b"1"])?;
        }
        let party = |number| Party { owner: format!("owner:{number}").into_bytes(), step: Step::Out };
        Ok(Native { kind, parties: (0..parties).map(party).collect(), wake_ups: 0, releasing: 0 })
    }
}

impl Locking for Native {
    fn connections_per_party(&self) -> usize {
        1
    }

    fn messages_per_release(&self) -> u64 {
        if self.kind.is_shared() { self.blocked() } else { 1 }
    }

    fn blocked(&self) -> u64 {
        self.parties.len() as u64 - 1
    }

    fn wake_ups(&self) -> u64 {
        self.wake_ups
    }

    fn busy(&self) -> usize {
        self.releasing
    }

    fn join(&mut self, crowd: &mut Crowd, who: usize) -> io::Result<()> {
        self.parties[who].step = Step::Waiting;
        let owner = &self.parties[who].owner;
        let acquire: [&[u8]; 7] = [b"LOCK.ACQUIRE", LOCK, owner, b"PX", LEASE_MS, b"BLOCK", b"0"];
        let mode: &[&[u8]] = match self.kind {
            LockKind::NativeSemaphore => {
                return crowd.send(who, &[b"SEM.ACQUIRE", LOCK, owner, b"BLOCK", b"0"]);
            }
            LockKind::NativeFair => &[b"FAIR"],
            LockKind::NativeRead if who > 0 => &[b"SHARED"],
            LockKind::NativeWrite | LockKind::NativeRead => &[b"EXCLUSIVE"],
            _ => &[],
        };
        crowd.send(who, &[&acquire[..], mode].concat())
    }

    fn release(&mut self, crowd: &mut Crowd, who: usize) -> io::Result<()> {
        self.parties[who].step = Step::Releasing;
        self.releasing += 1;
        let is_semaphore = self.kind == LockKind::NativeSemaphore;
        let release: &[u8] = if is_semaphore { b"SEM.RELEASE" } else { b"LOCK.RELEASE" };
        crowd.send(who, &[release, LOCK, &self.parties[who].owner])
    }

    fn acknowledge_wake(
        &mut self,
        _: &mut Crowd,
        place: WaiterIndex,
        reply: &Reply,
    ) -> io::Result<Option<usize>> {
        let party = &mut self.parties[place];
        match (party.step, reply) {
            (Step::Waiting, Reply::Array(_)) => {
                party.step = Step::Holding;
                // The writer returns when all readers have left, and does not wait.
                self.wake_ups += u64::from(place > 0 || !self.kind.is_shared());
                Ok(Some(place))
            }
            (Step::Releasing, Reply::Integer(_)) => {
                party.step = Step::Out;
                self.releasing -= 1;
                Ok(None)
            }
            (step, reply) => Err(io::Error::other(format!("a party that was {step:?} heard {reply:?}"))),
        }
    }
}
