//! Sequences of commands, generated before the first one is sent. No command depends on an answer, so any part of a
//! sequence can be run again.

use super::commands::{Commands, Subject};
use crate::generate::{Form, Generated, Generator};
use crate::line;
use crate::pair::{CALL, PCALL, typed};
use lockwheel_engine::spec::Flags;

/// The way in which a step's commands reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Each command is sent by itself.
    Plain,
    /// The commands are sent between MULTI and EXEC.
    Transaction,
    /// A script calls the command and raises errors.
    Call,
    /// A script calls the command and returns errors.
    ProtectedCall,
}

/// One command of a step.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The command. `None` for a line that names no command.
    pub subject: Option<Subject>,
    /// The words and their properties.
    pub generated: Generated,
}

impl Sent {
    /// Whether the command may change keys, according to its row. EXEC's row says nothing of the queued commands.
    pub fn may_write(&self) -> bool {
        let may = |subject: &Subject| subject.command.has(Flags::WRITE) || subject.name() == "exec";
        self.subject.as_ref().is_none_or(may)
    }
}

/// Commands that one connection sends together.
#[derive(Clone, Debug)]
pub struct Step {
    /// The number of the connection.
    pub session: usize,
    /// The way in which the commands are sent.
    pub way: Way,
    /// The commands. Only a transaction has more than one.
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

    /// The requests on the wire.
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

    /// The step as a user would type it, a line for each request.
    pub fn text(&self) -> String {
        let lines: Vec<String> =
            self.requests().iter().map(|request| format!("{}> {}", self.session, typed(request))).collect();
        lines.join("\n")
    }
}

/// The most commands of a random transaction.
const MAX_TRANSACTION: usize = 5;

/// The commands that create a key of each kind; a sequence begins with them.
const MAKERS: &[&str] = &["set", "hset", "rpush", "sadd", "zadd", "geoadd", "xadd", "xgroup|create"];

/// The factor for the commands that create a stream and its groups, if a sequence is about streams.
const STREAM_MAKERS: usize = 4;

/// The ingredients of a random sequence.
#[derive(Clone, Debug)]
pub struct Mix<'a> {
    /// The commands that the sequence tests.
    pub subjects: Vec<&'a Subject>,
    /// The commands that create and use the same keys.
    pub others: Vec<&'a Subject>,
    /// The number of connections that send.
    pub sessions: usize,
    /// The ways in which commands are sent. A way occurs once for each unit of its weight.
    pub ways: &'static [Way],
    /// Whether scripts may call blocking commands. 7.0 refuses them, and so reaches another state.
    pub blocks_in_scripts: bool,
}

impl Mix<'_> {
    /// Generates a sequence of `length` steps after those that create keys.
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
        // All subjects are equally frequent.
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
        let mut count = if way == Way::Transaction { generator.rng().below(MAX_TRANSACTION + 1) } else { 1 };
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
            // Later commands of the same transaction would see different states.
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
