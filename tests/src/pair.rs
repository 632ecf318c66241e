//! One command sent to a real server and to ours, and whether the answers agree.
//!
//! Answers are compared byte for byte, with two exceptions. Redis itself promises less for some (the order of a set, a
//! random member, the time), and some differences are declared.

use crate::client::{Client, split};
use crate::compare::{Comparison, comparison_of};
use crate::reply::{Reply, quoted};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One answer: its meaning and its bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The decoded reply.
    pub reply: Reply,
    /// The bytes of the wire.
    pub raw: Vec<u8>,
}

/// One command with both answers.
#[derive(Debug)]
pub struct Exchange<'a> {
    /// The command.
    pub arguments: &'a [Vec<u8>],
    /// The real server's answer.
    pub real: &'a Answer,
    /// Our answer.
    pub ours: &'a Answer,
}

/// The reason why two servers may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Redis 7.2 answers as we do; the older server does not. Tested against a server of the 7.2 line.
    Redis72,
    /// The other server is newer than 7.2, or not Redis, and differs from 7.2; 7.0.15 answers as we do.
    Newer,
    /// Ours differs from every Redis, on purpose.
    OnPurpose,
}

/// A known difference: an entry of the one committed list.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// A short name, shown when the difference applies.
    pub name: &'static str,
    /// The reason for the difference.
    pub reason: &'static str,
    /// The ground of the difference.
    pub claim: Claim,
    /// Lines that show the difference on empty servers: the answer to the last line shows it. Empty if the difference
    /// depends on chance.
    pub example: &'static [&'static str],
    /// Whether an exchange whose answers disagree shows this difference.
    pub applies: fn(&Exchange<'_>) -> bool,
}

/// The result of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The answers agree.
    Equal,
    /// The answers disagree by the declared difference of this name.
    Declared(&'static str),
    /// The answers disagree; the text shows the command and both answers.
    Mismatch(String),
}

/// A script that calls the command in ARGV and raises its error.
pub const CALL: &str = "return redis.call(unpack(ARGV))";
/// A script that calls the command in ARGV and returns its error.
pub const PCALL: &str = "return redis.pcall(unpack(ARGV))";

/// The command that a script calls, if the script is [`CALL`] or [`PCALL`]; else the command itself.
pub fn called(arguments: &[Vec<u8>]) -> &[Vec<u8>] {
    match arguments {
        [name, script, keys, inner @ ..]
            if name.eq_ignore_ascii_case(b"EVAL")
                && (script == CALL.as_bytes() || script == PCALL.as_bytes())
                && keys == b"0"
                && !inner.is_empty() =>
        {
            inner
        }
        _ => arguments,
    }
}

/// Two connections to which the same commands are sent.
#[derive(Debug)]
pub struct Pair {
    real: Client,
    ours: Client,
    differences: &'static [Difference],
    /// The number of times each declared difference was seen.
    met: BTreeMap<&'static str, u64>,
    /// The commands of an open transaction, whose answers come with EXEC.
    queued: Option<Vec<Vec<Vec<u8>>>>,
    /// The answers to the last command: the real server's, ours.
    last: Option<[Answer; 2]>,
    skew: Skew,
}

/// The measured time difference with which two servers may have seen one command.
///
/// Clones share the measure, because a deadline set through one connection is read through another.
#[derive(Clone, Debug, Default)]
pub struct Skew(Arc<AtomicU64>);

impl Skew {
    /// The milliseconds by which two deadlines, or two readings of one, may differ.
    pub fn ms(&self) -> u64 {
        // One exchange set the deadline, another reads it.
        SKEW_MS_MIN + 2 * self.0.load(Ordering::Relaxed)
    }

    fn took(&self, time: Duration) {
        self.0.fetch_max(time.as_millis().try_into().unwrap_or(u64::MAX / 4), Ordering::Relaxed);
    }
}

/// The bound lies far below any unit's factor between generated times, and above a clock tick of either server.
const SKEW_MS_MIN: u64 = 20;

impl Pair {
    /// Pairs two connections; both should speak the same protocol.
    pub fn new(real: Client, ours: Client, differences: &'static [Difference]) -> Pair {
        Pair::with_skew(real, ours, differences, Skew::default())
    }

    /// Works as [`Pair::new`], with a measure of time that other pairs to the same servers share.
    pub fn with_skew(real: Client, ours: Client, differences: &'static [Difference], skew: Skew) -> Pair {
        assert_eq!(real.protocol(), ours.protocol(), "both sides speak one protocol");
        Pair { real, ours, differences, met: BTreeMap::new(), queued: None, last: None, skew }
    }

    /// Sends a command to both and compares the answers.
    ///
    /// SPOP of a part, and a random choice stored by a script, leave the two sides in different states: the caller must
    /// make them equal again.
    #[track_caller]
    pub fn run(&mut self, arguments: &[Vec<u8>]) -> Verdict {
        let begin = Instant::now();
        // Both servers work at the same time; their order cannot change the result.
        self.real.send(arguments);
        self.ours.send(arguments);
        let real = answer(&mut self.real, arguments);
        let ours = answer(&mut self.ours, arguments);
        self.skew.took(begin.elapsed());
        let verdict = self.judge(arguments, &real, &ours);
        if let Verdict::Declared(name) = verdict {
            *self.met.entry(name).or_default() += 1;
        }
        self.follow_transaction(arguments, &real.reply);
        self.last = Some([real, ours]);
        verdict
    }

    /// Runs a line and requires that the answers agree, or differ as declared.
    #[track_caller]
    pub fn check(&mut self, line: &str) -> &mut Pair {
        if let Verdict::Mismatch(text) = self.run(&split(line)) {
            panic!("{text}");
        }
        self
    }

    /// The answers to the last command: the real server's, ours.
    ///
    /// # Panics
    /// Panics before the first command.
    pub fn last(&self) -> &[Answer; 2] {
        self.last.as_ref().expect("a command was run")
    }

    /// Records that no transaction is open, for a caller that has reset the connections without this pair's knowledge.
    pub fn forget_transaction(&mut self) {
        self.queued = None;
    }

    /// Whether a transaction is open.
    pub fn in_transaction(&self) -> bool {
        self.queued.is_some()
    }

    /// The number of times each declared difference was seen. One that was never seen is out of date, or its test is.
    pub fn met(&self) -> &BTreeMap<&'static str, u64> {
        &self.met
    }

    /// The connections: the real server's, ours.
    pub fn clients(&mut self) -> (&mut Client, &mut Client) {
        (&mut self.real, &mut self.ours)
    }

    /// Whether two answers agree. Answers of a transaction are compared element by element.
    fn judge(&self, arguments: &[Vec<u8>], real: &Answer, ours: &Answer) -> Verdict {
        if real.raw == ours.raw {
            return Verdict::Equal;
        }
        let is_exec = arguments.first().is_some_and(|name| name.eq_ignore_ascii_case(b"EXEC"));
        if let (true, Reply::Array(reals), Reply::Array(ours_all)) = (is_exec, &real.reply, &ours.reply)
            && let Some(queued) = &self.queued
            && reals.len() == ours_all.len()
            && reals.len() == queued.len()
        {
            let mut declared = Verdict::Equal;
            for (command, (real, ours)) in queued.iter().zip(reals.iter().zip(ours_all)) {
                match self.judge_one(command, &Answer::nested(real), &Answer::nested(ours)) {
                    Verdict::Equal => {}
                    // The following commands of the transaction have met another state.
                    Verdict::Declared(name) if real.is_error() != ours.is_error() => {
                        return Verdict::Declared(name);
                    }
                    Verdict::Declared(name) => declared = Verdict::Declared(name),
                    mismatch => return mismatch,
                }
            }
            return declared;
        }
        let exact = comparison_of(called(arguments)) == Comparison::Exact;
        if exact && real.reply == ours.reply {
            // Whether two replies are equal in meaning only: another null, or a simple string instead of a bulk string.
            return self.declared_or_mismatch(arguments, real, ours);
        }
        self.judge_one(arguments, real, ours)
    }

    fn judge_one(&self, arguments: &[Vec<u8>], real: &Answer, ours: &Answer) -> Verdict {
        if comparison_of(called(arguments)).agree(&real.reply, &ours.reply, self.skew.ms()) {
            return Verdict::Equal;
        }
        self.declared_or_mismatch(arguments, real, ours)
    }

    fn declared_or_mismatch(&self, arguments: &[Vec<u8>], real: &Answer, ours: &Answer) -> Verdict {
        let exchange = Exchange { arguments: called(arguments), real, ours };
        match self.differences.iter().find(|difference| (difference.applies)(&exchange)) {
            Some(difference) => Verdict::Declared(difference.name),
            None => Verdict::Mismatch(describe(&Exchange { arguments, ..exchange })),
        }
    }

    /// Maintains the list of queued commands as the real server sees it.
    fn follow_transaction(&mut self, arguments: &[Vec<u8>], reply: &Reply) {
        let name = arguments.first().map_or(&[][..], Vec::as_slice).to_ascii_uppercase();
        match (name.as_slice(), reply) {
            (b"MULTI", reply) if !reply.is_error() => self.queued = Some(Vec::new()),
            (b"DISCARD" | b"RESET", reply) if !reply.is_error() => self.queued = None,
            // The command ends the transaction even if it is refused.
            (b"EXEC", _) => self.queued = None,
            (_, Reply::Status(text)) if text == b"QUEUED" => {
                self.queued.get_or_insert_default().push(arguments.to_vec());
            }
            _ => {}
        }
    }
}

impl Answer {
    /// An element of a transaction's answer, without its own bytes.
    fn nested(reply: &Reply) -> Answer {
        Answer { reply: reply.clone(), raw: Vec::new() }
    }
}

#[track_caller]
fn answer(client: &mut Client, arguments: &[Vec<u8>]) -> Answer {
    let reply = client.reply_to(arguments);
    Answer { reply, raw: client.raw().to_vec() }
}

fn describe(exchange: &Exchange<'_>) -> String {
    let mut text = format!(
        "{}\n real: {}\n ours: {}",
        typed(exchange.arguments),
        exchange.real.reply,
        exchange.ours.reply
    );
    if exchange.real.reply == exchange.ours.reply {
        let raw = [exchange.real, exchange.ours].map(|answer| quoted(&answer.raw));
        text.push_str(&format!("\n bytes: {}\n   and: {}", raw[0], raw[1]));
    }
    text
}

/// A command as a user would type it.
pub fn typed(arguments: &[Vec<u8>]) -> String {
    arguments.iter().map(|argument| word(argument)).collect::<Vec<_>>().join(" ")
}

/// An argument as a user would type it: without quotes if possible.
pub fn word(argument: &[u8]) -> String {
    let bare = !argument.is_empty() && argument.iter().all(|byte| byte.is_ascii_graphic());
    let plain = bare && !argument.iter().any(|byte| matches!(byte, b'"' | b'\'' | b'\\'));
    if plain { String::from_utf8_lossy(argument).into_owned() } else { quoted(argument) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Protocol;
    use crate::redis_server::{Kind, RealServer};

    const DIFFERENCES: &[Difference] = &[Difference {
        name: "lolwut",
        reason: "each server draws its own picture",
        claim: Claim::OnPurpose,
        example: &["LOLWUT"],
        applies: |exchange| exchange.arguments[0].eq_ignore_ascii_case(b"LOLWUT"),
    }];

    fn with_pair(run: impl Fn(&mut Pair)) {
        let Some(redis) = RealServer::start(Kind::Redis, &[]) else { return };
        let Some(valkey) = RealServer::start(Kind::Valkey, &[]) else { return };
        for protocol in [Protocol::Resp2, Protocol::Resp3] {
            let connect = |server: &RealServer| Client::connect_with(server.addr(), protocol);
            let mut pair = Pair::new(connect(&redis), connect(&valkey), DIFFERENCES);
            pair.check("FLUSHALL");
            run(&mut pair);
        }
    }

    #[test]
    fn equal_replies_agree_and_variable_ones_may_differ() {
        with_pair(|pair| {
            pair.check("SADD s a b c d e f g").check("SMEMBERS s").check("SRANDMEMBER s").check("GET s");
            pair.check("SET k v EX 100000").check("PTTL k").check("SCAN 0").check("TIME");
            pair.check("MULTI").check("SMEMBERS s").check("PTTL k").check("NO SUCH").check("DISCARD");
            pair.check("MULTI").check("SMEMBERS s").check("PTTL k").check("RANDOMKEY").check("EXEC");
        });
    }

    #[test]
    fn another_state_is_a_mismatch() {
        with_pair(|pair| {
            pair.clients().0.line("SET k 1");
            let verdict = pair.run(&split("GET k"));
            assert_eq!(verdict, Verdict::Mismatch("GET k\n real: \"1\"\n ours: (nil)".to_string()));
            pair.check("MULTI").check("GET k");
            assert!(matches!(pair.run(&split("EXEC")), Verdict::Mismatch(_)));
            pair.clients().1.line("SET k 2");
            assert!(matches!(pair.run(&split("GET k")), Verdict::Mismatch(_)));
        });
    }

    #[test]
    fn declared_differences_are_counted() {
        with_pair(|pair| {
            assert_eq!(pair.run(&split("LOLWUT")), Verdict::Declared("lolwut"));
            assert_eq!(pair.met().get("lolwut"), Some(&1));
        });
    }

    #[test]
    fn words_are_typed_bare_where_they_can_be() {
        assert_eq!(word(b"a*b"), "a*b");
        assert_eq!(
            [word(b""), word(b"a b"), word(b"a\\"), word(b"\xff")].join(" "),
            r#""" "a b" "a\\" "\xff""#
        );
    }
}
