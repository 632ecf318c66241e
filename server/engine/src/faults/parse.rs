//! The words of a rule, and of a group of clients.

use super::action::{Action, Latency, ReplyAction, RequestAction, Slices, Substitute};
use super::condition::{Conditions, ReplyKind};
use super::group::Group;
use super::rule::Parsed;
use crate::spec::syntax::Shown;
use crate::spec::{Args, CommandError, ValidValues, errors};
use lockwheel_resp::number;

const WRONG_SHA: CommandError = CommandError::text("ERR a script is named by the 40 digits of its SHA-1");
const WRONG_CHANCE: CommandError = CommandError::text("ERR PROB is a number from 0 to 1");
const RESULT_OF_REQUEST: CommandError =
    CommandError::text("ERR RESULT goes with actions on the reply only: this one acts before there is one");
const NO_ACTION: CommandError = CommandError::text("ERR a rule ends with DO and an action");

/// Gives the full name of a command in lower case.
///
/// Errors: there is no such command.
pub(super) type CommandResolver<'a> = dyn Fn(&[u8]) -> Result<String, CommandError> + 'a;

/// The words of a rule: those of the request behind the rule's name.
pub(super) fn rule(args: Args<'_>, resolve: &CommandResolver<'_>) -> Result<Parsed, CommandError> {
    let mut parser = Parser { args, at: 2, resolve };
    let mut options = Options::default();
    while !parser.takes("do") {
        parser.option(&mut options)?;
    }
    let action_at = parser.at - 2;
    let action = parser.action()?;
    if parser.at != args.len() {
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
        // A word that is no number may be meant for a keyword.
        if !is_number(id) {
            return Err(errors::SYNTAX);
        }
        let id = args.int_in(at, 0, i64::MAX, errors::OUT_OF_RANGE_POSITIVE)?;
        Ok((Group::Id(id.unsigned_abs()), at + 1))
    }
}

/// Whether a word is meant as an integer, by its first byte; it may be a wrong one.
pub(crate) fn is_number(word: &[u8]) -> bool {
    word.first().is_some_and(|first| first.is_ascii_digit() || matches!(first, b'-' | b'+'))
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
    args: Args<'a>,
    at: usize,
    resolve: &'a CommandResolver<'a>,
}

impl<'a> Parser<'a> {
    /// Takes this word, if it is next.
    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.args.is(self.at, word);
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes the next word.
    fn word(&mut self) -> Result<&'a [u8], CommandError> {
        self.at += 1;
        self.args.get(self.at - 1).ok_or(errors::SYNTAX)
    }

    fn text(&mut self) -> Result<Box<[u8]>, CommandError> {
        self.word().map(Box::from)
    }

    /// An error of the last word.
    fn wrong(&self, error: CommandError, wanted: &'static str) -> CommandError {
        error.of_argument(self.at - 1, ValidValues::Value(wanted))
    }

    fn integer(&mut self) -> Result<i64, CommandError> {
        self.word()?;
        self.args.int(self.at - 1)
    }

    /// A number from `min` on.
    fn number(&mut self, min: i64) -> Result<u64, CommandError> {
        self.word()?;
        let number = self.args.int_in(self.at - 1, min, i64::MAX, errors::OUT_OF_RANGE_POSITIVE)?;
        Ok(number.unsigned_abs())
    }

    fn index(&mut self) -> Result<usize, CommandError> {
        usize::try_from(self.number(1)?).map_err(|_| errors::OUT_OF_RANGE_POSITIVE)
    }

    /// Reads one option, which may be given once.
    fn option(&mut self, options: &mut Options) -> Result<(), CommandError> {
        let word = self.args.get(self.at).unwrap_or_default();
        let repeated = || CommandError::new(format!("ERR a condition is named twice: '{}'", Shown(word)));
        if self.is_new_option(options)? { Ok(()) } else { Err(repeated()) }
    }

    /// Reads one option; whether there was none like it before.
    fn is_new_option(&mut self, options: &mut Options) -> Result<bool, CommandError> {
        let Options { conditions, result, skip, times, chance } = options;
        if self.takes("on") {
            put(&mut conditions.command, (self.resolve)(self.word()?)?.into())
        } else if self.takes("script") {
            let sha = sha(self.word()?).ok_or_else(|| self.wrong(WRONG_SHA, "40 hexadecimal digits"))?;
            put(&mut conditions.script, sha)
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
            let drawn = number::parse_f64(self.word()?).filter(|chance| (0.0..=1.0).contains(chance));
            put(chance, drawn.ok_or_else(|| self.wrong(WRONG_CHANCE, "a number from 0 to 1"))?)
        } else if self.at == self.args.len() {
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
        if self.at == self.args.len() {
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

/// Puts a value into a place; whether that was empty.
fn put<T>(place: &mut Option<T>, value: T) -> Result<bool, CommandError> {
    Ok(place.replace(value).is_none())
}

fn sha(digits: &[u8]) -> Option<[u8; 40]> {
    let digits: [u8; 40] = digits.try_into().ok()?;
    digits.iter().all(u8::is_ascii_hexdigit).then(|| digits.map(|digit| digit.to_ascii_lowercase()))
}
