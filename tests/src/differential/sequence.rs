//! Sequences of commands, made before the first is sent: what is sent never depends on an answer, so any part of a
//! sequence can be run again.

use super::commands::{Commands, Subject};
use crate::generate::{Form, Generated, Generator};
use crate::line;
use crate::pair::{CALL, PCALL, typed};
use lockwheel_engine::spec::Flags;

/// How a step's commands reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Each by itself.
    Plain,
    /// Between MULTI and EXEC.
    Transaction,
    /// From a script, errors raised.
    Call,
    /// From a script, errors returned.
    ProtectedCall,
}

/// One command of a step.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Which command it is; none for a line that names no command.
    pub subject: Option<Subject>,
    /// The words and what is known of them.
    pub generated: Generated,
}

impl Sent {
    /// Whether it may change keys, by its row; EXEC's says nothing of what was queued.
    pub fn may_write(&self) -> bool {
        let may = |subject: &Subject| subject.command.has(Flags::WRITE) || subject.name() == "exec";
        self.subject.as_ref().is_none_or(may)
    }
}

/// Commands that one connection sends together.
#[derive(Clone, Debug)]
pub struct Step {
    /// Which of the connections.
    pub session: usize,
    /// How.
    pub way: Way,
    /// What. Only a transaction has more than one.
    pub commands: Vec<Sent>,
}

impl Step {
    /// One command as it was written.
    pub fn written(commands: &Commands, text: &str) -> Step {
        let arguments = line::split(text).unwrap_or_else(|| panic!("unbalanced quotes in {text}"));
        let subject = commands.find(&arguments).cloned();
        let tokens = subject.as_ref().map(|subject| subject.tokens_in(&arguments)).unwrap_or_default();
        let generated = Generated { arguments, tokens, form: Form::Valid };
        Step { session: 0, way: Way::Plain, commands: vec![Sent { subject, generated }] }
    }

    /// What goes over the wire, request by request.
    pub fn requests(&self) -> Vec<Vec<Vec<u8>>> {
        let own = self.commands.iter().map(|sent| sent.generated.arguments.clone());
        let words = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>();
        let from_script =
            |script: &str, command: Vec<Vec<u8>>| [words(&["EVAL", script, "0"]), command].concat();
        match self.way {
            Way::Plain => own.collect(),
            Way::Transaction => {
                [words(&["MULTI"])].into_iter().chain(own).chain([words(&["EXEC"])]).collect()
            }
            Way::Call => own.map(|command| from_script(CALL, command)).collect(),
            Way::ProtectedCall => own.map(|command| from_script(PCALL, command)).collect(),
        }
    }

    /// The step as one would type it, a line a request.
    pub fn text(&self) -> String {
        let lines: Vec<String> =
            self.requests().iter().map(|request| format!("{}> {}", self.session, typed(request))).collect();
        lines.join("\n")
    }
}

/// How many commands a random transaction has at the most.
const TRANSACTION_MAX: usize = 5;

/// The command that makes a key of each kind; what a sequence begins with.
const MAKERS: &[&str] = &["set", "hset", "rpush", "sadd", "zadd", "geoadd", "xadd", "xgroup|create"];

/// How often the commands that make a stream and its groups come when a sequence is about streams.
const STREAM_MAKERS: usize = 4;

/// What a random sequence is made of.
#[derive(Clone, Debug)]
pub struct Mix<'a> {
    /// What it is about.
    pub subjects: Vec<&'a Subject>,
    /// What makes and meets its keys.
    pub others: Vec<&'a Subject>,
    /// How many connections send.
    pub sessions: usize,
    /// The ways that commands go, each as often as it stands here.
    pub ways: &'static [Way],
    /// Whether scripts may call commands that block, which 7.0 refuses, and so comes to another state.
    pub blocks_in_scripts: bool,
}

impl Mix<'_> {
    /// A sequence of `length` steps after those that make keys.
    pub fn sequence(&self, generator: &mut Generator, length: usize) -> Vec<Step> {
        let makers: Vec<&Subject> =
            self.others.iter().copied().filter(|subject| MAKERS.contains(&subject.name())).collect();
        let mut steps: Vec<Step> = makers.iter().map(|maker| plain(generator, maker)).collect();
        if self.subjects.iter().any(|subject| subject.command.spec.group == "stream") {
            let of_streams = || makers.iter().filter(|maker| maker.command.spec.group == "stream");
            for _ in 1..STREAM_MAKERS {
                steps.extend(of_streams().map(|maker| plain(generator, maker)));
            }
        }
        // Every subject comes up equally often.
        let mut deck: Vec<&Subject> = Vec::new();
        for _ in 0..length {
            if deck.is_empty() {
                deck.clone_from(&self.subjects);
                generator.rng().shuffle(&mut deck);
            }
            let step = self.step(generator, &mut deck);
            steps.push(step);
        }
        steps
    }

    fn step(&self, generator: &mut Generator, deck: &mut Vec<&Subject>) -> Step {
        let session = generator.rng().below(self.sessions);
        let mut way = *generator.rng().pick(self.ways);
        let mut count = if way == Way::Transaction { generator.rng().below(TRANSACTION_MAX + 1) } else { 1 };
        let mut commands = Vec::new();
        while count > 0 {
            count -= 1;
            let other = !self.others.is_empty() && generator.rng().chance(15);
            let subject = match deck.pop() {
                Some(subject) if !other => subject,
                _ => {
                    *generator.rng().pick(if self.others.is_empty() { &self.subjects } else { &self.others })
                }
            };
            if !self.blocks_in_scripts && subject.command.has(Flags::BLOCKING) && way != Way::Transaction {
                way = Way::Plain;
            }
            let sent = sent(generator, subject);
            // What follows in the same transaction would see different states.
            let chooses = subject.chooses(&sent.generated.arguments);
            commands.push(sent);
            if chooses {
                break;
            }
        }
        Step { session, way, commands }
    }
}

fn plain(generator: &mut Generator, subject: &Subject) -> Step {
    Step { session: 0, way: Way::Plain, commands: vec![sent(generator, subject)] }
}

fn sent(generator: &mut Generator, subject: &Subject) -> Sent {
    let row = subject.command.spec;
    let generated = generator.command(subject.name(), row.group, &subject.syntax);
    Sent { subject: Some(subject.clone()), generated }
}
