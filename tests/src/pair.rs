//! The same command to a real server and to ours, and whether the answers agree.
//!
//! Answers are compared byte for byte, except where Redis itself promises less (the order of a set, a random
//! member, the time), and except for declared differences.

use crate::client::{Client, split};
use crate::compare::{Comparison, comparison_of};
use crate::reply::{Reply, quoted};
use std::collections::BTreeMap;

/// One answer: what it means and its bytes.
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

/// A difference on purpose: a line of the one committed list.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// A short name, shown where it applies.
    pub name: &'static str,
    /// Why we differ.
    pub reason: &'static str,
    /// Whether this is the difference seen in an exchange whose answers disagree.
    pub applies: fn(&Exchange<'_>) -> bool,
}

/// What came of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The answers agree.
    Equal,
    /// They disagree by the declared difference of this name.
    Declared(&'static str),
    /// They disagree; a text that shows the command and both answers.
    Mismatch(String),
}

/// Two connections that are sent the same commands.
#[derive(Debug)]
pub struct Pair {
    real: Client,
    ours: Client,
    differences: &'static [Difference],
    /// How often each declared difference was met.
    met: BTreeMap<&'static str, u64>,
    /// The commands of an open transaction, whose answers come with EXEC.
    queued: Vec<Vec<Vec<u8>>>,
}

impl Pair {
    /// Pairs two connections; both should speak the same protocol.
    pub fn new(real: Client, ours: Client, differences: &'static [Difference]) -> Pair {
        assert_eq!(real.protocol(), ours.protocol(), "both sides speak one protocol");
        Pair { real, ours, differences, met: BTreeMap::new(), queued: Vec::new() }
    }

    /// Sends a command to both and compares the answers.
    ///
    /// SPOP of a part, and a random choice stored by a script, leave the two sides in different states: the caller
    /// has to bring them together.
    #[track_caller]
    pub fn run(&mut self, arguments: &[Vec<u8>]) -> Verdict {
        let real = ask(&mut self.real, arguments);
        let ours = ask(&mut self.ours, arguments);
        let agrees = self.agree(arguments, &real, &ours);
        self.follow_transaction(arguments, &real.reply);
        if agrees {
            return Verdict::Equal;
        }
        let exchange = Exchange { arguments, real: &real, ours: &ours };
        if let Some(difference) = self.differences.iter().find(|difference| (difference.applies)(&exchange)) {
            *self.met.entry(difference.name).or_default() += 1;
            return Verdict::Declared(difference.name);
        }
        Verdict::Mismatch(describe(&exchange))
    }

    /// Runs a line and requires that the answers agree, or differ as declared.
    #[track_caller]
    pub fn check(&mut self, line: &str) -> &mut Pair {
        if let Verdict::Mismatch(text) = self.run(&split(line)) {
            panic!("{text}");
        }
        self
    }

    /// How often each declared difference was met. One never met is out of date, or its test is.
    pub fn met(&self) -> &BTreeMap<&'static str, u64> {
        &self.met
    }

    /// The connections: the real server's, ours.
    pub fn clients(&mut self) -> (&mut Client, &mut Client) {
        (&mut self.real, &mut self.ours)
    }

    fn agree(&self, arguments: &[Vec<u8>], real: &Answer, ours: &Answer) -> bool {
        if real.raw == ours.raw {
            return true;
        }
        let is_exec = arguments.first().is_some_and(|name| name.eq_ignore_ascii_case(b"EXEC"));
        match (&real.reply, &ours.reply) {
            (Reply::Status(text), _) if text == b"QUEUED" => false,
            (Reply::Array(real), Reply::Array(ours)) if is_exec => {
                let enough = real.len() == ours.len() && real.len() == self.queued.len();
                let mut each = self.queued.iter().zip(real.iter().zip(ours));
                enough && each.all(|(command, (real, ours))| comparison_of(command).agree(real, ours))
            }
            // The bytes differ: where only exact bytes will do, equal meaning is not enough.
            (real, ours) => {
                comparison_of(arguments) != Comparison::Exact && comparison_of(arguments).agree(real, ours)
            }
        }
    }

    /// Keeps the list of queued commands as the real server sees it.
    fn follow_transaction(&mut self, arguments: &[Vec<u8>], reply: &Reply) {
        match reply {
            Reply::Status(text) if text == b"QUEUED" => self.queued.push(arguments.to_vec()),
            _ => {
                let name = arguments.first().map_or(&[][..], Vec::as_slice).to_ascii_uppercase();
                if matches!(name.as_slice(), b"MULTI" | b"EXEC" | b"DISCARD" | b"RESET") {
                    self.queued.clear();
                }
            }
        }
    }
}

#[track_caller]
fn ask(client: &mut Client, arguments: &[Vec<u8>]) -> Answer {
    let reply = client.cmd(arguments);
    Answer { reply, raw: client.raw().to_vec() }
}

fn describe(exchange: &Exchange<'_>) -> String {
    let line: Vec<String> = exchange.arguments.iter().map(|argument| word(argument)).collect();
    let mut text =
        format!("{}\n real: {}\n ours: {}", line.join(" "), exchange.real.reply, exchange.ours.reply);
    if exchange.real.reply == exchange.ours.reply {
        let raw = [exchange.real, exchange.ours].map(|answer| quoted(&answer.raw));
        text.push_str(&format!("\n bytes: {}\n   and: {}", raw[0], raw[1]));
    }
    text
}

/// An argument as it would be typed: bare where that is possible.
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
    fn what_agrees_is_equal_and_what_may_vary_may() {
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
