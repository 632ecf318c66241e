//! Runs scripts on both servers from the same states, and compares all visible results.

use super::shape::Shape;
use super::sources::Script;
use super::values;
use crate::client::{Client, Protocol};
use crate::differences;
use crate::differential::{Commands, Duel};
use crate::pair::typed;
use crate::redis_server::Kind;
use crate::reply::Reply;
use crate::rng::Rng;
use crate::state::Snapshot;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

/// The states from which each script runs, in each protocol.
const ROUNDS: usize = 3;
/// The most states from which a script runs while it has only failed.
const MAX_ROUNDS: usize = 40;
/// The number of runs from a state, each with other arguments.
const RUNS: usize = 3;
/// A key that expires within this number of milliseconds may expire on one side only.
const ENDS_SOON_MS: i64 = 10_000;
/// The number of failing scripts after which the comparison ends.
const MAX_FAILURES: usize = 12;
/// The number of digits that exceeds a double's precision.
const HUGE_DIGITS: usize = 17;
/// The end mark of a subscriber's messages.
const MARKER: &[u8] = b"(that is all)";

/// The results of a version's scripts.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The number of scripts.
    pub scripts: usize,
    /// The number of scripts that were run.
    pub run: usize,
    /// The number of scripts of those that succeeded at least once.
    pub succeeded: usize,
    /// The commands that our table lacks, each with the number of scripts that call it. These scripts were not run.
    pub without: BTreeMap<String, usize>,
    /// Classes and texts of the scripts that only failed, each with its last error.
    pub only_failed: Vec<(String, String)>,
}

/// Runs all scripts against redis-server and ours and requires that replies, errors, messages and states agree. Returns
/// `None` if redis-server is not installed.
///
/// # Panics
/// Panics with the difference, if there is one.
#[track_caller]
pub fn compare(scripts: &[Script], seed: u64) -> Option<Outcome> {
    let commands = Commands::all();
    let mut outcome = Outcome { scripts: scripts.len(), ..Outcome::default() };
    let mut trials = [Trial::start(Protocol::Resp2)?, Trial::start(Protocol::Resp3)?];
    let mut shapes: Vec<Shape> = scripts.iter().map(|script| Shape::of(&script.text, &commands)).collect();
    // A script of a class may count up to a number that another one stores.
    let counting: BTreeSet<&str> = scripts
        .iter()
        .zip(&shapes)
        .filter(|(_, shape)| shape.counts)
        .map(|(script, _)| script.class.as_str())
        .collect();
    scripts
        .iter()
        .zip(&mut shapes)
        .for_each(|(script, shape)| shape.counts = counting.contains(&*script.class));
    let runnable: Vec<bool> = shapes.iter().map(|shape| lacks(shape, &commands).is_empty()).collect();
    let mut failures = Vec::new();
    for (index, script) in scripts.iter().enumerate() {
        if !runnable[index] {
            for name in lacks(&shapes[index], &commands) {
                *outcome.without.entry(name).or_default() += 1;
            }
            continue;
        }
        let friends: Vec<(&str, &Shape)> = (0..scripts.len())
            .filter(|&other| scripts[other].class == script.class && runnable[other])
            .map(|other| (scripts[other].text.as_str(), &shapes[other]))
            .collect();
        outcome.run += 1;
        // Each script has its own random numbers: the length of one run does not affect the next.
        let seed = seed.wrapping_mul(scripts.len() as u64).wrapping_add(index as u64);
        match run_script(&mut trials, seed, (&script.text, &shapes[index]), &friends) {
            Ok(None) => outcome.succeeded += 1,
            Ok(Some(error)) => outcome.only_failed.push((script.class.clone(), error)),
            Err(text) => failures.push(format!("{}\n{}\n{text}", script.class, script.text)),
        }
        if failures.len() >= MAX_FAILURES {
            break;
        }
    }
    assert!(failures.is_empty(), "LOCKWHEEL_SEED={seed}\n\n{}", failures.join("\n\n"));
    Some(outcome)
}

/// The commands that a script calls and our table lacks.
fn lacks(shape: &Shape, commands: &Commands) -> Vec<String> {
    // A command that redis-server lacks cannot be compared with it.
    let is_there =
        |name: &String| commands.iter().any(|subject| subject.name() == name && !subject.is_newer());
    shape.commands.iter().filter(|name| !is_there(name)).cloned().collect()
}

/// Runs one script from several states. Returns the last error if it never succeeded.
fn run_script(
    trials: &mut [Trial; 2],
    seed: u64,
    script: (&str, &Shape),
    friends: &[(&str, &Shape)],
) -> Result<Option<String>, String> {
    let mut last_error = Some("never run".to_string());
    for round in 0..MAX_ROUNDS {
        if round >= 2 * ROUNDS && last_error.is_none() {
            break;
        }
        let mut rng = Rng::new(seed.wrapping_mul(MAX_ROUNDS as u64).wrapping_add(round as u64));
        match trials[round % 2].round(&mut rng, script, friends)? {
            Reached::Success => last_error = None,
            Reached::Error(text) if last_error.is_some() => last_error = Some(text),
            _ => {}
        }
    }
    Ok(last_error)
}

/// The progress of a script.
enum Reached {
    Success,
    Error(String),
    /// The answer could not be compared.
    Nothing,
}

/// Two servers, a connection to each, and on each a subscriber to everything.
struct Trial {
    duel: Duel,
    listeners: [Client; 2],
}

impl Trial {
    fn start(protocol: Protocol) -> Option<Trial> {
        let duel = Duel::start(Kind::Redis, &[protocol])?;
        let listeners = duel.addresses().map(Client::connect);
        let mut trial = Trial { duel, listeners };
        for listener in &mut trial.listeners {
            listener.line("PSUBSCRIBE *");
        }
        Some(trial)
    }

    /// Prepares a state and runs the script from it.
    fn round(
        &mut self,
        rng: &mut Rng,
        (script, shape): (&str, &Shape),
        friends: &[(&str, &Shape)],
    ) -> Result<Reached, String> {
        self.duel.reset();
        let mut lines = Vec::new();
        for command in self.prepared(rng, shape) {
            self.send(&command, &mut lines);
        }
        for _ in 0..rng.below(4) {
            let (text, shape) = *rng.pick(friends);
            if !self.run(rng, text, shape, &mut lines)?.1 {
                return Ok(Reached::Nothing);
            }
        }
        let mut reached = Reached::Nothing;
        for _ in 0..RUNS {
            let (reply, comparable) = self.run(rng, script, shape, &mut lines)?;
            match reply {
                Reply::Error(text) if !matches!(reached, Reached::Success) => reached = Reached::Error(text),
                Reply::Error(_) => {}
                _ => reached = Reached::Success,
            }
            if !comparable {
                break;
            }
        }
        Ok(reached)
    }

    /// Generates commands that create some of the script's keys.
    fn prepared(&mut self, rng: &mut Rng, shape: &Shape) -> Vec<Vec<Vec<u8>>> {
        let mut commands = Vec::new();
        for (index, groups) in shape.keys.iter().enumerate() {
            let groups: Vec<&str> = groups.iter().copied().collect();
            if !groups.is_empty() && rng.chance(65) {
                let group = *rng.pick(&groups);
                commands.extend(values::makers(rng, &key(index), group, shape));
            }
        }
        commands
    }

    fn send(&mut self, command: &[Vec<u8>], lines: &mut Vec<String>) {
        lines.push(typed(command));
        let (real, ours) = self.duel.session(0).clients();
        for client in [real, ours] {
            client.cmd(command);
        }
    }

    /// Runs a script once with random arguments. Returns the real reply, and whether the states must still be the same.
    fn run(
        &mut self,
        rng: &mut Rng,
        script: &str,
        shape: &Shape,
        lines: &mut Vec<String>,
    ) -> Result<(Reply, bool), String> {
        let request = request(rng, script, shape);
        let shown = [vec![b"EVAL".to_vec(), b"...".to_vec()], request[2..].to_vec()].concat();
        lines.push(typed(&shown));
        // Also measures the time between the two servers.
        let _ = self.duel.session(0).run(&request);
        let [real, ours] = self.duel.session(0).last().clone();
        let (real, ours) = (real.reply, ours.reply);
        let skew = self.duel.skew_ms();
        let differ = |what: &str, real: &dyn std::fmt::Debug, ours: &dyn std::fmt::Debug| {
            Err(format!("{}\n{what}\n real: {real:?}\n ours: {ours:?}\n of {script}", lines.join("\n")))
        };
        let same = agree(&real, &ours, shape, skew);
        let huge = lines.iter().any(|line| has_huge_number(line));
        if shape.chooses() || !same && (shape.scans_sets() || huge) {
            self.listeners.iter_mut().for_each(|listener| drop(take_messages(listener)));
            return Ok((real, false));
        }
        if !same {
            return differ("answers otherwise", &real, &ours);
        }
        let [real_told, our_told] = self.listeners.each_mut().map(take_messages);
        if !all_agree(&real_told, &our_told, shape, skew) {
            return differ("publishes otherwise", &real_told, &our_told);
        }
        let mut states = self.duel.states();
        // A value computed from a remaining time differs as much as the times did.
        let moved =
            shape.reads_times() && states.iter_mut().any(|(_, real, ours)| move_together(real, ours, skew));
        let found: Vec<String> =
            states.iter().flat_map(|(_, real, ours)| real.differences_within(ours, skew)).collect();
        if states.iter().any(|(_, real, ours)| ends_soon(real) || ends_soon(ours)) {
            return Ok((real, false));
        }
        if !found.is_empty() && huge {
            return Ok((real, false));
        }
        if !found.is_empty() {
            return differ("leaves another state", &"", &found);
        }
        Ok((real, !moved))
    }
}

/// Whether a line has a number that a double holds only roughly. The text that a script makes of it has an exponent in
/// 7.0, and is an integer to other commands in 7.2.
fn has_huge_number(line: &str) -> bool {
    line.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() >= HUGE_DIGITS)
}

/// The name of the key at this index: the same for all scripts of a class.
fn key(index: usize) -> Vec<u8> {
    format!("key:{}", index + 1).into_bytes()
}

fn request(rng: &mut Rng, script: &str, shape: &Shape) -> Vec<Vec<u8>> {
    let keys = shape.keys.len().max(1) + if shape.more_keys { rng.below(3) } else { 0 };
    let mut words = vec![b"EVAL".to_vec(), script.as_bytes().to_vec(), keys.to_string().into_bytes()];
    words.extend((0..keys).map(key));
    words.extend(shape.arguments.iter().map(|of| values::argument(rng, of, shape)));
    if shape.more_arguments {
        let more = rng.below(5);
        words.extend((0..more).map(|_| values::argument(rng, &super::shape::Use::Any, shape)));
    }
    words
}

/// Returns the messages of a subscriber since the last call.
fn take_messages(listener: &mut Client) -> Vec<Reply> {
    listener.send(&[b"PING".as_slice(), MARKER]);
    let mut frames = Vec::new();
    loop {
        match listener.read_frame() {
            Reply::Array(items) if items.last().and_then(Reply::as_bytes) == Some(MARKER) => return frames,
            frame => frames.push(frame),
        }
    }
}

fn all_agree(real: &[Reply], ours: &[Reply], shape: &Shape, skew_ms: u64) -> bool {
    real.len() == ours.len() && real.iter().zip(ours).all(|(real, ours)| agree(real, ours, shape, skew_ms))
}

/// Whether two replies agree, as far as the values that the script reads are promised.
fn agree(real: &Reply, ours: &Reply, shape: &Shape, skew_ms: u64) -> bool {
    if real == ours || differences::same_but_digits(real, ours) {
        return true;
    }
    match (real, ours) {
        // Both arrays have elements, or both are empty.
        (Reply::Int(real), Reply::Int(ours)) if shape.measures() => (*real > 0) == (*ours > 0),
        (Reply::Int(real), Reply::Int(ours)) => shape.reads_times() && real.abs_diff(*ours) <= skew_ms,
        (Reply::Array(real), Reply::Array(ours)) if shape.unordered() => {
            all_agree(&sorted(real), &sorted(ours), shape, skew_ms)
        }
        (Reply::Array(real), Reply::Array(ours)) => all_agree(real, ours, shape, skew_ms),
        _ => false,
    }
}

/// Sorts the elements, and the elements within them.
fn sorted(items: &[Reply]) -> Vec<Reply> {
    let mut items: Vec<Reply> = items
        .iter()
        .map(|item| match item {
            Reply::Array(items) => Reply::Array(sorted(items)),
            other => other.clone(),
        })
        .collect();
    items.sort_by_cached_key(Reply::to_string);
    items
}

/// Copies our contents into the real state if only numbers differ, by no more than the servers' times. Returns whether
/// any did.
fn move_together(real: &mut Snapshot, ours: &Snapshot, skew_ms: u64) -> bool {
    let mut moved = false;
    for (name, state) in &mut real.keys {
        let Some(ours) = ours.keys.get(name) else { continue };
        if state.content != ours.content && is_near(&state.content, &ours.content, skew_ms) {
            state.content.clone_from(&ours.content);
            state.dump.clone_from(&ours.dump);
            moved = true;
        }
    }
    moved
}

fn is_near(real: &Reply, ours: &Reply, skew_ms: u64) -> bool {
    let number = |reply: &Reply| match reply {
        Reply::Double(value) => Some(*value),
        Reply::Bulk(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    };
    match (real, ours) {
        (Reply::Array(real), Reply::Array(ours)) => {
            real.len() == ours.len() && real.iter().zip(ours).all(|(real, ours)| is_near(real, ours, skew_ms))
        }
        (Reply::Map(real), Reply::Map(ours)) => {
            let mut pairs = real.iter().zip(ours);
            real.len() == ours.len() && pairs.all(|(a, b)| a.0 == b.0 && is_near(&a.1, &b.1, skew_ms))
        }
        _ if real == ours => true,
        _ => number(real).zip(number(ours)).is_some_and(|(a, b)| (a - b).abs() <= skew_ms as f64),
    }
}

/// Whether a key's deadline is so near that it may pass between two reads.
fn ends_soon(state: &Snapshot) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
    state.keys.values().any(|key| key.deadline_ms >= 0 && key.deadline_ms < now + ENDS_SOON_MS)
}
