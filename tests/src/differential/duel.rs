//! A real server and ours, with connections to both that send the same commands.

use super::commands::Subject;
use super::sequence::{Sent, Step, Way};
use crate::client::{Client, Protocol};
use crate::coverage::Coverage;
use crate::differences;
use crate::ours;
use crate::pair::{Claim, Difference, Pair, Skew, Verdict, word};
use crate::redis_server::{Kind, RealServer};
use crate::reply::Reply;
use crate::state::Snapshot;
use lockwheel::Server;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// The beginning of a report of different states.
pub const STATE_DIFFERS: &str = "state of database";

/// The number of databases of each server.
const DATABASES: usize = 16;

/// Two servers and the connections to them.
#[derive(Debug)]
pub struct Duel {
    real: RealServer,
    ours: Server,
    sessions: Vec<Pair>,
    /// The protocol of each session when a sequence begins.
    protocols: Vec<Protocol>,
    /// The connections that read the states: the real server's, ours. They speak RESP3, where doubles are numbers
    /// whatever their digits.
    observers: [Client; 2],
    differences: &'static [Difference],
    skew: Skew,
}

impl Duel {
    /// Starts both servers and a connection of each given protocol. Returns `None`, after one line, if the real server
    /// is not installed.
    pub fn start(kind: Kind, protocols: &[Protocol]) -> Option<Duel> {
        let real = RealServer::start(kind, &[])?;
        let ours = ours::server();
        let (skew, differences) = (Skew::default(), differences::against(kind));
        let pair = |&protocol: &Protocol| {
            let [theirs, own] = [real.addr(), ours.addr()].map(|addr| Client::connect_with(addr, protocol));
            Pair::with_skew(theirs, own, differences, skew.clone())
        };
        let sessions = protocols.iter().map(pair).collect();
        let mut observers = [real.addr(), ours.addr()].map(Client::connect_resp3);
        differences::keep_expired(&mut observers[0]);
        Some(Duel { real, ours, sessions, protocols: protocols.to_vec(), observers, differences, skew })
    }

    /// The kind of the real server.
    pub fn kind(&self) -> Kind {
        self.real.kind()
    }

    /// Our server.
    pub fn ours(&self) -> &Server {
        &self.ours
    }

    /// The connection of this number.
    pub fn session(&mut self, index: usize) -> &mut Pair {
        &mut self.sessions[index]
    }

    /// The number of times each declared difference was seen, on all connections.
    pub fn met(&self) -> BTreeMap<&'static str, u64> {
        let mut met = BTreeMap::new();
        for (name, count) in self.sessions.iter().flat_map(|session| session.met()) {
            *met.entry(*name).or_default() += count;
        }
        met
    }

    /// Empties both servers and resets every connection.
    pub fn reset(&mut self) {
        for (session, &protocol) in self.sessions.iter_mut().zip(&self.protocols) {
            let (real, ours) = session.clients();
            for client in [real, ours] {
                client.line("RESET");
                if protocol == Protocol::Resp3 {
                    client.line("HELLO 3");
                }
            }
            session.forget_transaction();
        }
        for observer in &mut self.observers {
            observer.line("FLUSHALL");
            observer.line("SCRIPT FLUSH");
            observer.line("FUNCTION FLUSH");
        }
    }

    /// Runs steps on empty servers and compares the states at the end.
    ///
    /// A declared difference by which one server has written and the other refused leaves different states. The
    /// sequence ends there.
    ///
    /// # Errors
    /// Returns the number of steps run and the difference, at the first difference that is not declared.
    pub fn run(&mut self, steps: &[Step], coverage: &mut Coverage) -> Result<(), (usize, String)> {
        self.reset();
        for (index, step) in steps.iter().enumerate() {
            match self.step(step, coverage) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(text) => return Err((index + 1, text)),
            }
        }
        let lines = self.state_differences();
        if lines.is_empty() { Ok(()) } else { Err((steps.len(), lines.join("\n"))) }
    }

    /// Runs one step and compares the answers. Returns whether the states must still be the same.
    fn step(&mut self, step: &Step, coverage: &mut Coverage) -> Result<bool, String> {
        let session = &mut self.sessions[step.session];
        let mut queued = Vec::new();
        for (index, request) in step.requests().iter().enumerate() {
            let verdict = session.run(request);
            if let Verdict::Mismatch(text) = verdict {
                return Err(text);
            }
            let mut states_part = false;
            if let Verdict::Declared(name) = verdict {
                if name == differences::LEX_AMONG_SCORES {
                    return match self.key_of_equal_scores(step) {
                        Some(key) => Err(format!("{}\nall scores of {} are equal", step.text(), word(&key))),
                        None => Ok(false),
                    };
                }
                // One server may have queued a command that the other has refused, or written a value that the other
                // has not.
                let writes = step.commands.iter().any(Sent::may_write);
                states_part = session.in_transaction() || writes && one_refused(session);
            }
            let reply = reply_that_counts(session, &verdict, self.differences);
            let sent = match step.way {
                Way::Transaction => index.checked_sub(1).and_then(|index| step.commands.get(index)),
                Way::Plain => step.commands.get(index),
                // Errors in scripts contain the script's name.
                Way::Call | Way::ProtectedCall => step.commands.get(index).filter(|_| !reply.is_error()),
            };
            match sent.and_then(|sent| Some((sent.subject.as_ref()?, &sent.generated))) {
                Some(_) if is_queued(&reply) => queued.extend(index.checked_sub(1)),
                Some((subject, generated)) => coverage.record(subject.name(), generated, &reply),
                None => record_transaction(step, &queued, reply, coverage),
            }
            if states_part {
                return Ok(false);
            }
        }
        self.delete_random_differences(step);
        Ok(true)
    }

    /// A sorted set in which the step's ranges of members are well defined: all its scores are equal.
    fn key_of_equal_scores(&mut self, step: &Step) -> Option<Vec<u8>> {
        let keys = step.commands.iter().filter_map(|sent| {
            let subject = sent.subject.as_ref().filter(|subject| subject.name().contains("lex"))?;
            subject.keys(&sent.generated.arguments).into_iter().next()
        });
        let keys: Vec<Vec<u8>> = keys.collect();
        keys.into_iter().find(|key| {
            let ends = ["0", "-1"].map(|end| {
                let end = end.as_bytes();
                let found = self.observers[0].cmd(&[b"ZRANGE", key.as_slice(), end, end, b"WITHSCORES"]);
                found
                    .into_elements()
                    .and_then(|items| items.first().cloned())
                    .and_then(|pair| pair.into_elements().and_then(|pair| pair.get(1).map(Reply::to_string)))
            });
            ends[0].is_some() && ends[0] == ends[1]
        })
    }

    /// Deletes on both sides the keys that a random choice made different.
    fn delete_random_differences(&mut self, step: &Step) {
        for sent in &step.commands {
            let arguments = &sent.generated.arguments;
            let chooses = |subject: &&Subject| subject.chooses(arguments);
            let Some(subject) = sent.subject.as_ref().filter(chooses) else { continue };
            for key in subject.keys(arguments) {
                let (real, ours) = self.sessions[step.session].clients();
                for client in [real, ours] {
                    client.cmd(&[b"DEL".as_slice(), &key]);
                }
            }
        }
    }

    /// Lists the differences between the states of all databases, a line for each key.
    pub fn state_differences(&mut self) -> Vec<String> {
        let skew = self.skew.ms();
        let states = self.states().into_iter();
        let lines = states.flat_map(|(db, real, ours)| {
            let found = real.differences_within(&ours, skew);
            found.into_iter().map(move |line| format!("{STATE_DIFFERS} {db}: {line}"))
        });
        lines.collect()
    }

    /// The states of all databases that are not empty on both sides: the number, the real server's state, ours. Where
    /// they differ as declared, the real state has our value.
    pub fn states(&mut self) -> Vec<(usize, Snapshot, Snapshot)> {
        let used: BTreeSet<usize> = self.observers.iter_mut().flat_map(used_databases).collect();
        let mut states = Vec::new();
        for db in used {
            let [mut real, ours] = self.observers.each_mut().map(|observer| {
                observer.line(&format!("SELECT {db}"));
                Snapshot::read(observer)
            });
            differences::declare_states(self.real.kind(), &mut real, &ours);
            states.push((db, real, ours));
        }
        states
    }

    /// The addresses on which both servers listen: the real one's, ours.
    pub fn addresses(&self) -> [SocketAddr; 2] {
        [self.real.addr(), self.ours.addr()]
    }

    /// The milliseconds by which the times may differ at which both servers saw a command.
    pub fn skew_ms(&self) -> u64 {
        self.skew.ms()
    }
}

/// Whether exactly one of the two servers refused the last command, also within a transaction.
fn one_refused(session: &Pair) -> bool {
    fn refused(real: &Reply, ours: &Reply) -> bool {
        match (real, ours) {
            (Reply::Array(real), Reply::Array(ours)) => {
                real.iter().zip(ours).any(|(real, ours)| refused(real, ours))
            }
            _ => real.is_error() != ours.is_error(),
        }
    }
    let [real, ours] = session.last();
    refused(&real.reply, &ours.reply)
}

fn is_queued(reply: &Reply) -> bool {
    matches!(reply, Reply::Status(text) if text == b"QUEUED")
}

/// The reply that counts for coverage. If the real server differs because it is older, this is our reply.
fn reply_that_counts(session: &Pair, verdict: &Verdict, differences: &[Difference]) -> Reply {
    let [real, ours] = session.last();
    let claim = match verdict {
        Verdict::Declared(name) => differences.iter().find(|each| each.name == *name).map(|each| each.claim),
        _ => None,
    };
    match claim {
        Some(Claim::Redis72 | Claim::OnPurpose) => ours.reply.clone(),
        _ => real.reply.clone(),
    }
}

/// Records the answers of a transaction's commands, which came with EXEC's.
fn record_transaction(step: &Step, queued: &[usize], reply: Reply, coverage: &mut Coverage) {
    let (Way::Transaction, Reply::Array(replies)) = (step.way, reply) else { return };
    for (&index, reply) in queued.iter().zip(&replies) {
        if let Some(subject) = &step.commands[index].subject {
            coverage.record(subject.name(), &step.commands[index].generated, reply);
        }
    }
}

fn used_databases(observer: &mut Client) -> Vec<usize> {
    let word = |text: &str| text.as_bytes().to_vec();
    let questions: Vec<Vec<Vec<u8>>> = (0..DATABASES)
        .flat_map(|db| [vec![word("SELECT"), word(&db.to_string())], vec![word("DBSIZE")]])
        .collect();
    let answers = observer.pipeline(&questions);
    let sizes = answers.chunks(2).map(|pair| pair[1].as_int());
    sizes.enumerate().filter(|(_, size)| *size != Some(0)).map(|(db, _)| db).collect()
}
