//! Waiters as in Redisson, with one connection for commands and one for messages. A waiter tries, subscribes to the
//! channel, and tries again, since the lock may have become free in between. Then it sleeps, and tries again at each
//! message.

use super::Locking;
use super::scripts::{FAIR_TRY, FAIR_UNLOCK, TRY, UNLOCK};
use crate::waiting::client::Client;
use crate::waiting::crowd::{Crowd, WaiterIndex};
use crate::waiting::results::LockKind;
use crate::waiting::wire::Reply;
use crate::workloads::{
    READ_LOCK, READ_UNLOCK, SEMAPHORE_ACQUIRE, SEMAPHORE_RELEASE, WRITE_LOCK, WRITE_UNLOCK,
};
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

const LOCK: &[u8] = b"bench:handoff";
const BRACED: &[u8] = b"{bench:handoff}";
const CHANNEL: &[u8] = b"redisson_lock__channel:{bench:handoff}";
const WRITE_CHANNEL: &[u8] = b"redisson_rwlock:{bench:handoff}";
const SEMAPHORE_CHANNEL: &[u8] = b"redisson_sc:{bench:handoff}";
const QUEUE: &[u8] = b"redisson_lock_queue:{bench:handoff}";
const DEADLINES: &[u8] = b"redisson_lock_timeout:{bench:handoff}";

/// The end of the field name of a writer.
const WRITER: &str = ":write";

/// The message of an unlock.
const UNLOCKED: &[u8] = b"0";

/// The lease, as Redisson's watchdog sets it.
const LEASE_MS: &[u8] = b"30000";

/// The default time for which the head of a fair lock's queue may sleep.
const PATIENCE_MS: &[u8] = b"300000";

/// The time for which the result of an unlock is kept: all tries of a command with the default timeouts.
const KEEP_MS: &[u8] = b"13500";

/// The parties that use one lock.
#[derive(Debug)]
pub(super) struct Scripted {
    kind: LockKind,
    /// The channel. For a fair lock, the name of the waiter is missing.
    channel: &'static [u8],
    /// The digests of the scripts.
    take: Vec<u8>,
    give: Vec<u8>,
    /// The digests of the scripts of readers.
    read: [Vec<u8>; 2],
    parties: Vec<Party>,
    messages: u64,
    busy: usize,
    /// Whether a party has tried since the last release.
    tried: bool,
    unlocks: u64,
}

#[derive(Debug)]
struct Party {
    owner: Vec<u8>,
    channel: Vec<u8>,
    step: Step,
    subscribed: bool,
    /// Whether a message arrived during a try, so that the reply may be older than the message.
    told: bool,
    /// The key of the result of the last unlock.
    kept: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The party neither holds nor waits.
    Out,
    /// The first try, before any subscription.
    Trying,
    Subscribing,
    /// A try of a subscribed party.
    Retrying,
    Waiting,
    /// The party holds the lock and is leaving the channel.
    Leaving,
    Holding,
    Unlocking,
    /// The party is deleting the kept result.
    Forgetting,
}

impl Step {
    fn rests(self) -> bool {
        matches!(self, Step::Out | Step::Waiting | Step::Holding)
    }
}

impl Scripted {
    /// Creates this many parties, all outside. Loads the scripts and deletes the keys of an earlier run.
    pub(super) fn new(control: &mut Client, parties: usize, kind: LockKind) -> io::Result<Scripted> {
        control.call(&[b"DEL", LOCK, QUEUE, DEADLINES])?;
        if kind == LockKind::Semaphore {
            control.call(&[b"SET", LOCK, b"1"])?;
        }
        let mut load = |script: &str| -> io::Result<Vec<u8>> {
            let digest = control.call(&[b"SCRIPT", b"LOAD", script.as_bytes()])?;
            Ok(digest.text().unwrap_or_default().to_vec())
        };
        let (take, give, channel) = match kind {
            LockKind::Fair => (FAIR_TRY, FAIR_UNLOCK, CHANNEL),
            LockKind::Write | LockKind::Read => (WRITE_LOCK, WRITE_UNLOCK, WRITE_CHANNEL),
            LockKind::Semaphore => (SEMAPHORE_ACQUIRE, SEMAPHORE_RELEASE, SEMAPHORE_CHANNEL),
            _ => (TRY, UNLOCK, CHANNEL),
        };
        let (take, give, read) = (load(take)?, load(give)?, [load(READ_LOCK)?, load(READ_UNLOCK)?]);
        let party = |number| {
            let is_writer = kind == LockKind::Write || (kind == LockKind::Read && number == 0);
            let writes = if is_writer { WRITER } else { "" };
            let owner = format!("8743c9c0-0795-4907-87fd-{number:012}:1{writes}").into_bytes();
            let is_fair = kind == LockKind::Fair;
            let channel = if is_fair { [channel, b":", &owner].concat() } else { channel.to_vec() };
            Party { owner, channel, step: Step::Out, subscribed: false, told: false, kept: Vec::new() }
        };
        let parties = (0..parties).map(party).collect();
        let [messages, unlocks] = [0, 0];
        Ok(Scripted { kind, channel, take, give, read, parties, messages, busy: 0, tried: false, unlocks })
    }

    fn is_reader(&self, who: usize) -> bool {
        self.kind == LockKind::Read && who > 0
    }

    fn step(&mut self, who: usize, step: Step) {
        let before = std::mem::replace(&mut self.parties[who].step, step);
        self.busy += usize::from(!step.rests());
        self.busy -= usize::from(!before.rests());
    }

    fn take(&mut self, crowd: &mut Crowd, who: usize, step: Step) -> io::Result<()> {
        self.step(who, step);
        let owner = &self.parties[who].owner;
        if self.kind == LockKind::Semaphore {
            return crowd.send(commands(who), &[b"EVALSHA", &self.take, b"1", LOCK, b"1"]);
        }
        if self.is_reader(who) {
            let (holds, writer) = (holds_of(owner), [owner, WRITER.as_bytes()].concat());
            let [take, _] = &self.read;
            return crowd
                .send(commands(who), &[b"EVALSHA", take, b"2", LOCK, &holds, LEASE_MS, owner, &writer]);
        }
        if self.kind != LockKind::Fair {
            return crowd.send(commands(who), &[b"EVALSHA", &self.take, b"1", LOCK, LEASE_MS, owner]);
        }
        let now = now_ms();
        let (keys, values) = ([LOCK, QUEUE, DEADLINES], [LEASE_MS, owner, PATIENCE_MS, &now]);
        crowd.send(commands(who), &[&[b"EVALSHA", &self.take[..], b"3"], &keys[..], &values[..]].concat())
    }

    /// Handles the reply to a try: the lock, or the remaining time.
    fn answered(&mut self, crowd: &mut Crowd, who: usize, taken: bool) -> io::Result<Option<usize>> {
        if taken {
            crowd.look_first_at(None);
            if self.parties[who].subscribed {
                self.step(who, Step::Leaving);
                crowd.send(messages(who), &[b"UNSUBSCRIBE", &self.parties[who].channel])?;
            } else {
                self.step(who, Step::Holding);
            }
            return Ok(Some(who));
        }
        if !self.parties[who].subscribed {
            self.step(who, Step::Subscribing);
            crowd.send(messages(who), &[b"SUBSCRIBE", &self.parties[who].channel])?;
        } else if std::mem::take(&mut self.parties[who].told) {
            self.take(crowd, who, Step::Retrying)?;
        } else {
            self.step(who, Step::Waiting);
        }
        Ok(None)
    }

    /// Handles a reply or message on the connection for messages.
    fn messaged(&mut self, crowd: &mut Crowd, who: usize, reply: &Reply) -> io::Result<()> {
        if reply.message().is_some() {
            self.messages += 1;
            if self.parties[who].step != Step::Waiting {
                self.parties[who].told = true;
                return Ok(());
            }
            if !std::mem::replace(&mut self.tried, true) && self.kind != LockKind::Read {
                crowd.look_first_at(Some(commands(who)));
            }
            return self.take(crowd, who, Step::Retrying);
        }
        match self.parties[who].step {
            Step::Subscribing => {
                self.parties[who].subscribed = true;
                self.take(crowd, who, Step::Retrying)
            }
            Step::Leaving => {
                self.parties[who].subscribed = false;
                self.parties[who].told = false;
                self.step(who, Step::Holding);
                Ok(())
            }
            step => Err(unexpected(step, reply)),
        }
    }
}

impl Locking for Scripted {
    fn connections_per_party(&self) -> usize {
        2
    }

    fn messages_per_release(&self) -> u64 {
        if self.kind == LockKind::Fair { 1 } else { self.parties.len() as u64 - 1 }
    }

    fn blocked(&self) -> u64 {
        0
    }

    fn wake_ups(&self) -> u64 {
        self.messages
    }

    fn busy(&self) -> usize {
        self.busy
    }

    fn join(&mut self, crowd: &mut Crowd, who: usize) -> io::Result<()> {
        self.take(crowd, who, Step::Trying)
    }

    fn release(&mut self, crowd: &mut Crowd, who: usize) -> io::Result<()> {
        self.tried = false;
        self.unlocks += 1;
        self.parties[who].kept =
            format!("redisson_unlock_latch:{{bench:handoff}}:{:032x}", self.unlocks).into();
        self.step(who, Step::Unlocking);
        let Party { owner, kept, .. } = &self.parties[who];
        if self.kind == LockKind::Semaphore {
            let words: [&[u8]; 7] = [b"EVALSHA", &self.give, b"2", LOCK, self.channel, b"1", b"PUBLISH"];
            return crowd.send(commands(who), &words);
        }
        if self.is_reader(who) {
            let holds = holds_of(owner);
            let keys: [&[u8]; 5] = [LOCK, self.channel, &holds, BRACED, kept];
            let head: [&[u8]; 3] = [b"EVALSHA", &self.read[1], b"5"];
            let values = [UNLOCKED, owner, b"PUBLISH", KEEP_MS];
            return crowd.send(commands(who), &[&head[..], &keys[..], &values[..]].concat());
        }
        if self.kind != LockKind::Fair {
            let keys: [&[u8]; 3] = [LOCK, self.channel, kept];
            let values = [UNLOCKED, LEASE_MS, owner, b"PUBLISH", KEEP_MS];
            let head: [&[u8]; 3] = [b"EVALSHA", &self.give, b"3"];
            return crowd.send(commands(who), &[&head[..], &keys[..], &values[..]].concat());
        }
        let now = now_ms();
        let keys: [&[u8]; 5] = [LOCK, QUEUE, DEADLINES, CHANNEL, kept];
        let values = [UNLOCKED, LEASE_MS, owner, &now, b"PUBLISH", KEEP_MS];
        let head: [&[u8]; 3] = [b"EVALSHA", &self.give, b"5"];
        crowd.send(commands(who), &[&head[..], &keys[..], &values[..]].concat())
    }

    fn acknowledge_wake(
        &mut self,
        crowd: &mut Crowd,
        place: WaiterIndex,
        reply: &Reply,
    ) -> io::Result<Option<usize>> {
        let who = place / 2;
        if place == messages(who) {
            return self.messaged(crowd, who, reply).map(|()| None);
        }
        match (self.parties[who].step, reply) {
            (Step::Trying | Step::Retrying, Reply::Integer(taken)) if self.kind == LockKind::Semaphore => {
                self.answered(crowd, who, *taken == 1)
            }
            (Step::Unlocking, Reply::Null) if self.kind == LockKind::Semaphore => {
                self.step(who, Step::Out);
                Ok(None)
            }
            (Step::Trying | Step::Retrying, Reply::Null) => self.answered(crowd, who, true),
            (Step::Trying | Step::Retrying, Reply::Integer(_)) => self.answered(crowd, who, false),
            // The reply tells a reader whether it was the last.
            (Step::Unlocking, Reply::Integer(last)) if *last == 1 || self.is_reader(who) => {
                self.step(who, Step::Forgetting);
                crowd.send(commands(who), &[b"DEL", &self.parties[who].kept]).map(|()| None)
            }
            (Step::Forgetting, Reply::Integer(1)) => {
                self.step(who, Step::Out);
                Ok(None)
            }
            (step, reply) => Err(unexpected(step, reply)),
        }
    }
}

/// Returns the index of the connection for commands.
fn commands(who: usize) -> WaiterIndex {
    2 * who
}

/// Returns the index of the connection for messages.
fn messages(who: usize) -> WaiterIndex {
    2 * who + 1
}

/// Returns the beginning of the names of a reader's hold keys.
fn holds_of(owner: &[u8]) -> Vec<u8> {
    [BRACED, b":", owner, b":rwlock_timeout"].concat()
}

fn unexpected(step: Step, reply: &Reply) -> io::Error {
    io::Error::other(format!("a party that was {step:?} heard {reply:?}"))
}

/// Returns the client's time, in ms since 1970, as text.
fn now_ms() -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_millis().to_string().into_bytes()
}
