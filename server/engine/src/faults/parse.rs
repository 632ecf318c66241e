//! The words of a rule, and of a group of clients.

use super::action::{Action, Latency, ReplyAction, RequestAction, Slices, Substitute};
use super::condition::{Conditions, ReplyKind};
use super::group::Group;
use super::rule::Parsed;
use crate::spec::{Args, CommandError, errors};

const WRONG_SHA: CommandError = CommandError::text("ERR a script is named by the 40 digits of its SHA-1");
const WRONG_CHANCE: CommandError = CommandError::text("ERR PROB is a number from 0 to 1");
const RESULT_OF_REQUEST: CommandError =
    CommandError::text("ERR RESULT goes with actions on the reply only: this one acts before there is one");
const REPEATED: CommandError = CommandError::text("ERR a condition is named twice");
const NO_ACTION: CommandError = CommandError::text("ERR a rule ends with DO and an action");

/// The words of a rule behind its name.
pub(super) fn rule(
    words: Args<'_>,
    resolve: &dyn Fn(&[u8]) -> Option<String>,
) -> Result<Parsed, CommandError> {
    let mut parser = Parser { words, at: 0, resolve };
    let mut options = Options::default();
    while !parser.takes("do") {
        parser.option(&mut options)?;
    }
    let action_at = parser.at;
    let action = parser.action()?;
    if parser.at != words.len() {
        return Err(errors::SYNTAX);
    }
    let Options { conditions, result, skip, times, chance } = options;
    if result.is_some() && !matches!(action, Action::OnReply(_)) {
        return Err(RESULT_OF_REQUEST);
    }
    Ok(Parsed { conditions, result, skip: skip.unwrap_or(0), times, chance, action, action_at })
}

/// Reads `id`, `NAME pattern`, `LIB pattern`, `ADDR address` or `ALL` from argument `at` on; the group, and the
/// argument behind it.
pub(crate) fn parse_group(args: Args<'_>, at: usize) -> Result<(Group, usize), CommandError> {
    let value = || args.get(at + 1).map(Box::from).ok_or(errors::SYNTAX);
    if args.is(at, "name") {
        Ok((Group::Name(value()?), at + 2))
    } else if args.is(at, "lib") {
        Ok((Group::Library(value()?), at + 2))
    } else if args.is(at, "addr") {
        Ok((Group::Address(value()?), at + 2))
    } else if args.is(at, "all") {
        Ok((Group::All, at + 1))
    } else {
        let id = args.get(at).ok_or(errors::SYNTAX)?;
        let id = lockwheel_resp::number::parse_i64(id).and_then(|id| u64::try_from(id).ok());
        Ok((Group::Id(id.ok_or(errors::SYNTAX)?), at + 1))
    }
}

/// What is said before DO.
#[derive(Default)]
struct Options {
    conditions: Conditions,
    result: Option<ReplyKind>,
    skip: Option<u64>,
    times: Option<u64>,
    chance: Option<f64>,
}

struct Parser<'a> {
    words: Args<'a>,
    at: usize,
    resolve: &'a dyn Fn(&[u8]) -> Option<String>,
}

impl<'a> Parser<'a> {
    /// Takes this word, if it is next.
    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.words.is(self.at, word);
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes the next word.
    fn word(&mut self) -> Result<&'a [u8], CommandError> {
        self.at += 1;
        self.words.get(self.at - 1).ok_or(errors::SYNTAX)
    }

    fn text(&mut self) -> Result<Box<[u8]>, CommandError> {
        self.word().map(Box::from)
    }

    fn integer(&mut self) -> Result<i64, CommandError> {
        self.word()?;
        self.words.int(self.at - 1)
    }

    /// A number from `min` on.
    fn number(&mut self, min: i64) -> Result<u64, CommandError> {
        self.word()?;
        let number = self.words.int_in(self.at - 1, min, i64::MAX, errors::OUT_OF_RANGE_POSITIVE)?;
        Ok(number.unsigned_abs())
    }

    fn index(&mut self) -> Result<usize, CommandError> {
        usize::try_from(self.number(1)?).map_err(|_| errors::OUT_OF_RANGE_POSITIVE)
    }

    fn option(&mut self, options: &mut Options) -> Result<(), CommandError> {
        let Options { conditions, result, skip, times, chance } = options;
        if self.takes("on") {
            let name = self.word()?;
            let unknown = || CommandError::new([b"ERR unknown command '", name, b"'"].concat());
            put(&mut conditions.command, (self.resolve)(name).ok_or_else(unknown)?.into())
        } else if self.takes("script") {
            put(&mut conditions.script, sha(self.word()?)?)
        } else if self.takes("contains") {
            put(&mut conditions.contains, self.text()?)
        } else if self.takes("key") {
            put(&mut conditions.key, self.text()?)
        } else if self.takes("channel") {
            put(&mut conditions.channel, self.text()?)
        } else if self.takes("arg") {
            let index = self.index()?;
            put(&mut conditions.argument, (index, self.text()?))
        } else if self.takes("client") {
            put(&mut conditions.client, Group::Id(self.number(1)?))
        } else if self.takes("clientname") {
            put(&mut conditions.client, Group::Name(self.text()?))
        } else if self.takes("lib") {
            put(&mut conditions.client, Group::Library(self.text()?))
        } else if self.takes("result") {
            put(result, self.kind()?)
        } else if self.takes("skip") {
            put(skip, self.number(0)?)
        } else if self.takes("times") {
            put(times, self.number(1)?)
        } else if self.takes("prob") {
            let drawn = lockwheel_resp::number::parse_f64(self.word()?);
            put(chance, drawn.filter(|chance| (0.0..=1.0).contains(chance)).ok_or(WRONG_CHANCE)?)
        } else if self.at == self.words.len() {
            Err(NO_ACTION)
        } else {
            Err(errors::SYNTAX)
        }
    }

    fn kind(&mut self) -> Result<ReplyKind, CommandError> {
        if self.takes("ok") {
            Ok(ReplyKind::Ok)
        } else if self.takes("error") {
            Ok(ReplyKind::Error)
        } else if self.takes("nil") {
            Ok(ReplyKind::Nil)
        } else {
            Err(errors::SYNTAX)
        }
    }

    fn action(&mut self) -> Result<Action, CommandError> {
        if self.at == self.words.len() {
            return Err(NO_ACTION);
        }
        if self.takes("losepublish") {
            return Ok(Action::LosePublish);
        }
        if let Some(action) = self.reply_action()? {
            return Ok(Action::OnReply(action));
        }
        self.request_action().map(Action::OnRequest)
    }

    fn reply_action(&mut self) -> Result<Option<ReplyAction>, CommandError> {
        Ok(Some(if self.takes("dropreply") {
            ReplyAction::Drop { cut_after_ms: self.cut_after_ms()? }
        } else if self.takes("delayreply") {
            ReplyAction::Delay(self.latency()?)
        } else if self.takes("holdreply") {
            ReplyAction::Hold
        } else if self.takes("reply") {
            ReplyAction::Replace(self.substitute()?)
        } else if self.takes("closeafter") {
            ReplyAction::Close
        } else if self.takes("resetafter") {
            ReplyAction::Reset
        } else if self.takes("slice") {
            let bytes = self.index()?;
            let every_ms = if self.takes("every") { self.number(0)? } else { 0 };
            ReplyAction::Slice(Slices { bytes, every_ms })
        } else if self.takes("bandwidth") {
            /// Milliseconds between two pieces: short enough for a client, and not one for each byte.
            const EVERY_MS: u64 = 10;
            // A thousand bytes a second are one a millisecond.
            let bytes = self.index()?.saturating_mul(EVERY_MS as usize);
            ReplyAction::Slice(Slices { bytes, every_ms: EVERY_MS })
        } else if self.takes("truncate") {
            let bytes = usize::try_from(self.number(0)?).map_err(|_| errors::OUT_OF_RANGE_POSITIVE)?;
            ReplyAction::Truncate(bytes)
        } else {
            return Ok(None);
        }))
    }

    fn request_action(&mut self) -> Result<RequestAction, CommandError> {
        Ok(if self.takes("droprequest") {
            RequestAction::Drop { cut_after_ms: self.cut_after_ms()? }
        } else if self.takes("delay") {
            RequestAction::Delay(self.latency()?)
        } else if self.takes("hold") {
            RequestAction::Hold
        } else if self.takes("error") {
            RequestAction::Error(self.text()?)
        } else if self.takes("close") {
            RequestAction::Close
        } else if self.takes("reset") {
            RequestAction::Reset
        } else if self.takes("duplicate") {
            RequestAction::Duplicate
        } else if self.takes("noscript") {
            RequestAction::ForgetScript
        } else if self.takes("expire") {
            RequestAction::ExpireKeys
        } else if self.takes("arg") {
            let argument = self.index()?;
            if !self.takes("add") {
                return Err(errors::SYNTAX);
            }
            RequestAction::Add { argument, by: self.integer()? }
        } else if self.takes("timeshift") {
            RequestAction::ShiftTimes
        } else {
            return Err(errors::SYNTAX);
        })
    }

    fn latency(&mut self) -> Result<Latency, CommandError> {
        let ms = self.number(0)?;
        let jitter_ms = if self.takes("jitter") { self.number(0)? } else { 0 };
        Ok(Latency { ms, jitter_ms })
    }

    fn cut_after_ms(&mut self) -> Result<Option<u64>, CommandError> {
        if self.takes("closeafter") { self.number(0).map(Some) } else { Ok(None) }
    }

    fn substitute(&mut self) -> Result<Substitute, CommandError> {
        if self.takes("null") {
            Ok(Substitute::Null)
        } else if self.takes("ok") {
            Ok(Substitute::Ok)
        } else if self.takes("int") {
            self.integer().map(Substitute::Integer)
        } else if self.takes("bulk") {
            self.text().map(Substitute::Bulk)
        } else if self.takes("raw") {
            self.text().map(Substitute::Raw)
        } else {
            Err(errors::SYNTAX)
        }
    }
}

/// Puts a value where there is none.
fn put<T>(place: &mut Option<T>, value: T) -> Result<(), CommandError> {
    if place.replace(value).is_some() { Err(REPEATED) } else { Ok(()) }
}

fn sha(digits: &[u8]) -> Result<[u8; 40], CommandError> {
    let digits: [u8; 40] = digits.try_into().map_err(|_| WRONG_SHA)?;
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    if is_hex { Ok(digits.map(|digit| digit.to_ascii_lowercase())) } else { Err(WRONG_SHA) }
}
