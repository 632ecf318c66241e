//! The grammar and the parser of rules.

use super::action::{Action, FaultDelay, ReplyAction, RequestAction, Slices, Substitute};
use super::condition::{Conditions, ReplyKind};
use super::group::Group;
use super::rule::Parsed;
use crate::spec::{
    Args, CommandError, CommandGrammar, Mismatch, ParsedArgs, Symbol, errors, grammar, symbols,
};
use lockwheel_resp::number;

const WRONG_SHA: CommandError = CommandError::text("ERR invalid SHA-1");
const WRONG_CHANCE: CommandError = CommandError::text("ERR invalid probability");
const RESULT_OF_REQUEST: CommandError =
    CommandError::text("ERR RESULT needs an action on the reply, such as DROPREPLY");
const NO_ACTION: CommandError = CommandError::text("ERR a rule must end with DO and an action");

/// Resolves the full name of a command in lower case, or returns an error if it does not exist.
pub(super) type CommandResolver<'a> = dyn Fn(&[u8]) -> Result<String, CommandError> + 'a;

/// The grammar of `FAULT.ADD`.
pub(crate) const ADD: &CommandGrammar = grammar!(
    "name [ON command] [SCRIPT sha1] [CONTAINS text] [KEY key-glob] [CHANNEL channel-glob] [ARG index:1.. value] \
     [CLIENT client-id:1.. | CLIENTNAME name-glob | LIB library-glob] [RESULT (OK | ERROR | NIL)] \
     [SKIP matches:0..] [TIMES hits:1..] [PROB chance] DO (DROPREQUEST [CLOSEAFTER milliseconds:0..] | DROPREPLY \
     [CLOSEAFTER milliseconds:0..] | DELAY milliseconds:0.. [JITTER milliseconds:0..] | DELAYREPLY \
     milliseconds:0.. [JITTER milliseconds:0..] | HOLD | HOLDREPLY | ERROR error | REPLY (NULL | OK | INT integer \
     | BULK bulk | RAW raw) | CLOSE | CLOSEAFTER | RESET | RESETAFTER | SLICE slice-bytes:1.. [EVERY \
     milliseconds:0..] | BANDWIDTH kilobytes:1.. | TRUNCATE bytes:0.. | DUPLICATE | LOSEPUBLISH | NOSCRIPT | EXPIRE \
     | ARG changed-index:1.. ADD added | TIMESHIFT)"
);

symbols!(ADD: ON, SCRIPT, CONTAINS, KEY, CHANNEL, ARG, CLIENT, CLIENTNAME, LIB, NIL, SKIP, TIMES, PROB, DO);
symbols!(ADD: DROPREQUEST, DROPREPLY, DELAY, DELAYREPLY, HOLD, HOLDREPLY, REPLY, NULL, INT, BULK, RAW);
symbols!(ADD: CLOSE, RESET, RESETAFTER, SLICE, EVERY, BANDWIDTH, TRUNCATE, DUPLICATE, LOSEPUBLISH, NOSCRIPT);
symbols!(ADD: EXPIRE);

const RESULT_OK: Symbol = ADD.symbol("RESULT OK");
const RESULT_ERROR: Symbol = ADD.symbol("RESULT ERROR");
const DROP_REQUEST_CLOSE: Symbol = ADD.symbol("DROPREQUEST CLOSEAFTER");
const DROP_REPLY_CLOSE: Symbol = ADD.symbol("DROPREPLY CLOSEAFTER");
const DELAY_JITTER: Symbol = ADD.symbol("DELAY JITTER");
const DELAY_REPLY_JITTER: Symbol = ADD.symbol("DELAYREPLY JITTER");
const ERROR: Symbol = ADD.symbol("DO ERROR");
const REPLY_OK: Symbol = ADD.symbol("REPLY OK");
const CLOSE_AFTER: Symbol = ADD.symbol("CLOSE CLOSEAFTER");
const CHANGED_ARG: Symbol = ADD.symbol("DO ARG");
const ADDED: Symbol = ADD.symbol("DO ARG ADD");

/// The parsed words of a rule; its grammar has at most this many symbols.
type Words<'a> = ParsedArgs<'a, 64>;

/// Parses the words of a rule, which follow its name in the request.
pub(super) fn rule(args: Args<'_>, resolve: &CommandResolver<'_>) -> Result<Parsed, CommandError> {
    let words: Words<'_> = ADD.matched(args).map_err(|mismatch| explained(args, mismatch))?;
    let (conditions, action) = (conditions(&words, resolve)?, action(&words)?);
    let result =
        words.one_of(&[(RESULT_OK, ReplyKind::Ok), (RESULT_ERROR, ReplyKind::Error), (NIL, ReplyKind::Nil)]);
    if result.is_some() && !matches!(action, Action::OnReply(_)) {
        return Err(RESULT_OF_REQUEST);
    }
    let chance = words.value(PROB).map(|value| {
        let drawn = number::parse_f64(value).filter(|chance| (0.0..=1.0).contains(chance));
        drawn.ok_or_else(|| words.wrong(PROB, &WRONG_CHANCE, &"a number from 0 to 1"))
    });
    let (skip, times) = (words.number(SKIP)?.unwrap_or(0), words.number(TIMES)?);
    // The first word behind the name has the index 0.
    let action_at = words.index(DO).map_or(0, |at| at - 2);
    Ok(Parsed { conditions, result, skip, times, chance: chance.transpose()?, action, action_at })
}

/// Returns the error for words that are not a valid rule.
#[cold]
fn explained(args: Args<'_>, mismatch: Mismatch) -> CommandError {
    let begins_action = |word: &&str| ["DO", "DROPREQUEST"].contains(word);
    match mismatch {
        Mismatch::Word(at) if at == args.len() && ADD.expected(args, at).iter().any(begins_action) => {
            NO_ACTION
        }
        _ => ADD.explain(args, mismatch),
    }
}

fn conditions(words: &Words<'_>, resolve: &CommandResolver<'_>) -> Result<Conditions, CommandError> {
    let text = |symbol| words.value(symbol).map(Box::from);
    let command = words.value(ON).map(resolve).transpose()?.map(Into::into);
    let script = words
        .value(SCRIPT)
        .map(|digits| sha(digits).ok_or_else(|| words.wrong(SCRIPT, &WRONG_SHA, &"40 hexadecimal digits")));
    let argument = index(words, ARG)?.zip(words.second_value(ARG).map(Box::from));
    let client = match words.number(CLIENT)? {
        Some(id) => Some(Group::Id(id)),
        None => text(CLIENTNAME).map(Group::Name).or_else(|| text(LIB).map(Group::Library)),
    };
    Ok(Conditions {
        command,
        script: script.transpose()?,
        contains: text(CONTAINS),
        key: text(KEY),
        channel: text(CHANNEL),
        argument,
        client,
    })
}

fn action(words: &Words<'_>) -> Result<Action, CommandError> {
    if words.has(LOSEPUBLISH) {
        return Ok(Action::LosePublish);
    }
    Ok(match reply_action(words)? {
        Some(action) => Action::OnReply(action),
        None => Action::OnRequest(request_action(words)?),
    })
}

fn reply_action(words: &Words<'_>) -> Result<Option<ReplyAction>, CommandError> {
    if words.has(DROPREPLY) {
        return Ok(Some(ReplyAction::Drop { cut_after_ms: words.number(DROP_REPLY_CLOSE)? }));
    }
    if let Some(latency) = latency(words, DELAYREPLY, DELAY_REPLY_JITTER)? {
        return Ok(Some(ReplyAction::Delay(latency)));
    }
    if let Some(bytes) = index(words, SLICE)? {
        let every_ms = words.number(EVERY)?.unwrap_or(0);
        return Ok(Some(ReplyAction::Slice(Slices { bytes, every_ms })));
    }
    if let Some(kilobytes) = index(words, BANDWIDTH)? {
        /// The milliseconds between two pieces: short for a client, and long enough not to send single bytes.
        const EVERY_MS: u64 = 10;
        // A kilobyte a second is a byte a millisecond.
        let bytes = kilobytes.saturating_mul(EVERY_MS as usize);
        return Ok(Some(ReplyAction::Slice(Slices { bytes, every_ms: EVERY_MS })));
    }
    if let Some(bytes) = index(words, TRUNCATE)? {
        return Ok(Some(ReplyAction::Truncate(bytes)));
    }
    Ok(if words.has(HOLDREPLY) {
        Some(ReplyAction::Hold)
    } else if words.has(REPLY) {
        Some(ReplyAction::Replace(substitute(words)?))
    } else if words.has(CLOSE_AFTER) {
        Some(ReplyAction::Close)
    } else {
        words.has(RESETAFTER).then_some(ReplyAction::Reset)
    })
}

fn request_action(words: &Words<'_>) -> Result<RequestAction, CommandError> {
    if let Some(latency) = latency(words, DELAY, DELAY_JITTER)? {
        return Ok(RequestAction::Delay(latency));
    }
    if let Some((argument, by)) = index(words, CHANGED_ARG)?.zip(words.integer(ADDED)?) {
        return Ok(RequestAction::Add { argument, by });
    }
    Ok(if words.has(DROPREQUEST) {
        RequestAction::Drop { cut_after_ms: words.number(DROP_REQUEST_CLOSE)? }
    } else if words.has(HOLD) {
        RequestAction::Hold
    } else if let Some(error) = words.value(ERROR) {
        RequestAction::Error(error.into())
    } else if words.has(CLOSE) {
        RequestAction::Close
    } else if words.has(RESET) {
        RequestAction::Reset
    } else if words.has(DUPLICATE) {
        RequestAction::Duplicate
    } else if words.has(NOSCRIPT) {
        RequestAction::ForgetScript
    } else if words.has(EXPIRE) {
        RequestAction::ExpireKeys
    } else {
        RequestAction::ShiftTimes
    })
}

fn latency(words: &Words<'_>, delay: Symbol, jitter: Symbol) -> Result<Option<FaultDelay>, CommandError> {
    let jitter_ms = words.number(jitter)?.unwrap_or(0);
    Ok(words.number(delay)?.map(|ms| FaultDelay { ms, jitter_ms }))
}

/// Parses an index or a number of bytes.
fn index(words: &Words<'_>, symbol: Symbol) -> Result<Option<usize>, CommandError> {
    let index = words.number(symbol)?.map(usize::try_from).transpose();
    index.map_err(|_| errors::OUT_OF_RANGE_POSITIVE)
}

fn substitute(words: &Words<'_>) -> Result<Substitute, CommandError> {
    if let Some(number) = words.integer(INT)? {
        return Ok(Substitute::Integer(number));
    }
    Ok(if words.has(NULL) {
        Substitute::Null
    } else if words.has(REPLY_OK) {
        Substitute::Ok
    } else if let Some(text) = words.value(BULK) {
        Substitute::Bulk(text.into())
    } else {
        Substitute::Raw(words.value(RAW).unwrap_or_default().into())
    })
}

fn sha(digits: &[u8]) -> Option<[u8; 40]> {
    let digits: [u8; 40] = digits.try_into().ok()?;
    digits.iter().all(u8::is_ascii_hexdigit).then(|| digits.map(|digit| digit.to_ascii_lowercase()))
}
