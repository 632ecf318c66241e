//! Runs a family of commands against the real servers, and reports differences.

use super::commands::{Commands, Subject};
use super::directed;
use super::duel::{Duel, STATE_DIFFERS};
use super::elsewhere;
use super::sequence::{Mix, Step, Way};
use super::shrink::shrink;
use crate::client::Protocol;
use crate::coverage::Coverage;
use crate::generate::Generator;
use crate::redis_server::Kind;

/// Steps of a random sequence, after those that create keys.
const SEQUENCE: usize = 25;

/// The factor by which a run may grow if not everything has been produced.
const MAX_ROUNDS: u64 = 10;

/// The number of different failures after which a run ends.
const MAX_FAILURES: usize = 8;

/// The ways in which random commands are sent.
const WAYS: &[Way] =
    &[Way::Plain, Way::Plain, Way::Plain, Way::Plain, Way::Transaction, Way::Call, Way::ProtectedCall];

/// The size of a run: the number of random sequences against each server.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Sequences against redis-server 7.0.15, in RESP2 and in RESP3 each.
    pub redis: usize,
    /// Sequences against valkey-server, in RESP2 and in RESP3 each.
    pub valkey: usize,
}

/// A family of commands under test.
#[derive(Debug)]
pub struct Family<'a> {
    /// The name of the family, for failures.
    pub name: &'a str,
    /// The commands that are compared, and must be covered completely.
    pub subjects: Vec<&'a Subject>,
    /// The commands that are also sent now and then.
    pub others: Vec<&'a Subject>,
    /// The number of connections that send.
    pub sessions: usize,
    /// The ways in which random commands are sent.
    pub ways: &'static [Way],
}

impl<'a> Family<'a> {
    /// The commands that Valkey has and Redis 7.2 lacks, mixed with all others.
    pub fn newer(commands: &'a Commands) -> Family<'a> {
        let subjects = commands.iter().filter(|subject| subject.is_newer()).collect();
        Family { name: "newer than Redis 7.2", subjects, ..Family::of_group(commands, "hash") }
    }

    /// The commands of a group, mixed with those of all others.
    pub fn of_group(commands: &'a Commands, group: &'a str) -> Family<'a> {
        let others = commands
            .iter()
            .filter(|subject| subject.at_random() && !subject.is_of_transactions())
            .filter(|subject| !empties(subject));
        Family {
            name: group,
            subjects: commands.of_group(group).filter(|subject| !subject.is_newer()).collect(),
            // Random commands cannot cover scripts and messages.
            others: others
                .filter(|subject| !matches!(subject.command.spec.group, "scripting" | "pubsub"))
                .collect(),
            sessions: 2,
            ways: WAYS,
        }
    }
}

/// Whether the command leaves few keys for other commands.
fn empties(subject: &Subject) -> bool {
    matches!(subject.name(), "flushall" | "flushdb" | "swapdb")
}

/// The seed: the environment's `LOCKWHEEL_SEED`, else a fixed one.
pub fn seed() -> u64 {
    std::env::var("LOCKWHEEL_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// The factor by which a run is longer than usual: the environment's `LOCKWHEEL_ROUNDS`, else 1.
pub fn rounds() -> usize {
    std::env::var("LOCKWHEEL_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Runs a family's directed lines and random sequences against both real servers, as far as they are installed.
///
/// # Panics
/// Panics with the shrunk sequences if answers or states differ. Panics with a list if redis-server is installed and an
/// option or an error of a row was never produced.
#[track_caller]
pub fn differ(commands: &Commands, family: &Family<'_>, measure: Measure) {
    let mut coverage = Coverage::new();
    let mut failures = Vec::new();
    let runs = [
        (Kind::Redis, Protocol::Resp2, measure.redis),
        (Kind::Redis, Protocol::Resp3, measure.redis),
        (Kind::Valkey, Protocol::Resp2, measure.valkey),
        (Kind::Valkey, Protocol::Resp3, measure.valkey),
    ];
    // The sequences suffice to cover everything only if redis-server gets its share of them.
    let mut asks_for_all = false;
    for (number, (kind, protocol, sequences)) in runs.into_iter().enumerate() {
        let Some(mut duel) = Duel::start(kind, &vec![protocol; family.sessions]) else { continue };
        let lacks_all = kind == Kind::Redis && family.subjects.iter().all(|subject| subject.is_newer());
        if lacks_all {
            continue;
        }
        let is_newer = family.subjects.iter().any(|subject| subject.is_newer());
        asks_for_all |= kind == Kind::Redis || is_newer;
        let mut run = Run { duel: &mut duel, coverage: &mut coverage, failures: Vec::new() };
        run.directed(commands, family);
        run.at_random(family, seed().wrapping_mul(31).wrapping_add(number as u64), sequences * rounds());
        let title = format!("{} against {}, {protocol:?}", family.name, kind.program());
        failures.extend(run.failures.into_iter().map(|text| format!("{title}\n{text}")));
    }
    assert!(failures.is_empty(), "LOCKWHEEL_SEED={}\n\n{}", seed(), failures.join("\n\n"));
    if !asks_for_all {
        return;
    }
    let kind =
        if family.subjects.iter().all(|subject| subject.is_newer()) { Kind::Valkey } else { Kind::Redis };
    let failures = go_on(family, kind, &mut coverage, measure.redis.max(measure.valkey));
    assert!(failures.is_empty(), "LOCKWHEEL_SEED={}\n\n{}", seed(), failures.join("\n\n"));
    let missing = missing(family, &coverage);
    assert!(missing.is_empty(), "never produced, by the seed {}:\n{}", seed(), missing.join("\n"));
}

/// Runs more sequences until all of the family's rows are covered, at most [`MAX_ROUNDS`] times the given number. Each
/// new row changes all sequences, and a seed that misses a case early meets it later.
fn go_on(family: &Family<'_>, kind: Kind, coverage: &mut Coverage, sequences: usize) -> Vec<String> {
    let mut failures = Vec::new();
    for round in 0..MAX_ROUNDS {
        if !failures.is_empty() || missing(family, coverage).is_empty() {
            break;
        }
        let Some(mut duel) = Duel::start(kind, &vec![Protocol::Resp2; family.sessions]) else { break };
        let mut run = Run { duel: &mut duel, coverage, failures: Vec::new() };
        run.at_random(family, seed().wrapping_mul(31).wrapping_add(10 + round), sequences);
        failures = run.failures;
    }
    failures
}

/// Lists the parts of the family's rows that were never produced.
fn missing(family: &Family<'_>, coverage: &Coverage) -> Vec<String> {
    let mut lines = Vec::new();
    for subject in family.subjects.iter().filter(|subject| !elsewhere::is_elsewhere(subject.name())) {
        let errors: Vec<&str> = subject
            .command
            .spec
            .errors
            .iter()
            .copied()
            .filter(|error| !elsewhere::is_error_elsewhere(subject.name(), error))
            .collect();
        lines.extend(coverage.missing(subject.name(), &subject.syntax, &errors));
    }
    lines
}

/// Runs a family against one server.
struct Run<'a> {
    duel: &'a mut Duel,
    coverage: &'a mut Coverage,
    failures: Vec<String>,
}

impl Run<'_> {
    /// Runs the lines that chance would find too late.
    fn directed(&mut self, commands: &Commands, family: &Family<'_>) {
        let is_real = self.duel.kind() == Kind::Redis;
        let there = family.subjects.iter().filter(|subject| !is_real || subject.is_of_redis_server());
        for lines in directed::lines_of(there.map(|subject| subject.name())) {
            let steps: Vec<Step> = lines.iter().map(|line| Step::written(commands, line)).collect();
            self.sequence(&steps);
        }
    }

    fn at_random(&mut self, family: &Family<'_>, seed: u64, sequences: usize) {
        let subjects: Vec<&Subject> =
            family.subjects.iter().copied().filter(|subject| subject.at_random()).collect();
        if subjects.is_empty() {
            return;
        }
        let is_real = self.duel.kind() == Kind::Redis;
        let others = family.others.iter().copied().filter(|other| !(is_real && other.is_newer()));
        let mix = Mix {
            subjects,
            others: others.collect(),
            sessions: family.sessions,
            ways: family.ways,
            blocks_in_scripts: self.duel.kind() != Kind::Redis,
        };
        let mut generator = Generator::new(seed);
        for _ in 0..sequences {
            if self.failures.len() >= MAX_FAILURES {
                return;
            }
            let steps = mix.sequence(&mut generator, SEQUENCE);
            self.sequence(&steps);
        }
    }

    /// Runs a sequence. If it fails, finds the lines that matter. A failure that ends as an earlier one is not reported
    /// again.
    fn sequence(&mut self, steps: &[Step]) {
        let Err((count, first)) = self.duel.run(steps, self.coverage) else { return };
        let kept = self.shrunk(&steps[..count]);
        let text = match self.duel.run(&kept, &mut Coverage::new()) {
            Ok(()) => format!("differs, but not a second time:\n{first}"),
            Err((_, text)) => text,
        };
        let last = kept.last().and_then(|step| step.commands.last()).and_then(|sent| sent.subject.as_ref());
        let kind = if text.starts_with(STATE_DIFFERS) { "leaves another state" } else { "answers otherwise" };
        let title = format!("[{} {kind}]", last.map_or("", Subject::name));
        if !self.failures.iter().any(|known| known.starts_with(&title)) {
            let lines: Vec<String> = kept.iter().map(Step::text).collect();
            self.failures.push(format!("{title}\n{}\n{text}", lines.join("\n")));
        }
    }

    /// The steps of a failing sequence that matter, with those of their commands that matter.
    fn shrunk(&mut self, steps: &[Step]) -> Vec<Step> {
        let mut ignored = Coverage::new();
        let mut kept = shrink(steps, |fewer| self.duel.run(fewer, &mut ignored).is_err());
        for index in 0..kept.len() {
            let commands = kept[index].commands.clone();
            let needed = shrink(&commands, |fewer| {
                let mut tried = kept.clone();
                tried[index].commands = fewer.to_vec();
                self.duel.run(&tried, &mut ignored).is_err()
            });
            kept[index].commands = needed;
        }
        kept
    }
}
