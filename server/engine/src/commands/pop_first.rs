//! Commands that pop from the first nonempty of several keys, and may wait for one: BLPOP, LMPOP, BZPOPMIN and others.

use crate::spec::{
    Args, Asking, Attempt, BlockingHandler, BlockingOutcome, CommandError, DataHandler, Flags, Flow,
    KeyFlags, KeySpec, Null, Outcome, Row, TimeoutRule, Wait, WaitClass, errors, parse_timeout_ms,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Edit, Event, Tx, Typed};
use lockwheel_store::values::Value;
use std::fmt::Debug;
use std::ops::Range;

/// The use that these commands make of their keys.
pub(super) const POPS: KeyFlags = KeyFlags::of(&[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::DELETE]);

/// A type of value whose elements can be removed at either end.
pub(super) trait Pop: Typed + Debug + 'static {
    type End: Copy + Debug + Send + PartialEq;
    /// The words of the ends, in lower case.
    const ENDS: [(&'static str, Self::End); 2];
    const CLASS: &'static WaitClass;
    /// The number of values in the reply of one element.
    const WIDTH: usize;

    /// Removes the element at an end and replies its [`Pop::WIDTH`] values of an array. Whether the value is empty now.
    fn take_one(edit: Edit<'_, Self>, end: Self::End, reply: &mut dyn Reply) -> bool;

    /// Removes up to `count` elements at an end and replies them as one array. Returns whether the value is empty now.
    fn take(edit: Edit<'_, Self>, end: Self::End, count: usize, reply: &mut dyn Reply) -> bool;

    fn len(&self) -> usize;

    fn command(end: Self::End) -> &'static [u8];

    fn event(end: Self::End) -> Event;
}

/// The class of waiters for a type of value. Each waiter takes elements for itself.
pub(super) const fn class_of(name: &'static str, accepts: fn(Option<&Value>) -> bool) -> WaitClass {
    WaitClass { name, line: name, accepts, asking: Asking::InOrder, out_of_turn: None, counts: true }
}

/// Reports the removal of at least one element.
pub(super) fn taken<T: Pop>(tx: &mut Tx<'_>, key: &[u8], end: T::End, empty: bool) {
    tx.changed(key, T::event(end));
    if empty {
        tx.delete(key);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PopFirst<E> {
    keys: Range<usize>,
    end: E,
    /// The most elements, at least 1, replied as an array. `None`: one element, replied without an array.
    count: Option<usize>,
}

impl<E: Copy> PopFirst<E> {
    /// Reads `numkeys key [key ...] (WORD | WORD) [COUNT count]`, where `numkeys` is argument `at`.
    fn parse(args: Args<'_>, at: usize, ends: [(&str, E); 2]) -> Result<Self, CommandError> {
        let numkeys = at_least_one(args, at).ok_or(errors::NUMKEYS_NOT_POSITIVE)?;
        let word = numkeys.saturating_add(at + 1);
        let end = ends.iter().find(|(known, _)| args.is(word, known)).ok_or(errors::SYNTAX)?.1;
        let count = match args.len() - word - 1 {
            0 => 1,
            2.. if args.is(word + 1, "count") => {
                at_least_one(args, word + 2).ok_or(errors::COUNT_NOT_POSITIVE)?
            }
            _ => return Err(errors::SYNTAX),
        };
        if args.len() > word + 3 {
            return Err(errors::SYNTAX);
        }
        Ok(PopFirst { keys: at + 1..word, end, count: Some(count) })
    }

    /// Pops from the first key that has a `T`. Returns whether there is such a key.
    fn pop<T: Pop<End = E>>(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        waits: bool,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        let Some(at) = first_ready::<T>(tx, args, self.keys.clone(), waits)? else { return Ok(false) };
        let Some(edit) = tx.write::<T>(&args[at])? else { return Ok(false) };
        reply.array(1 + if self.count.is_some() { 1 } else { T::WIDTH });
        reply.bulk(&args[at]);
        let len = edit.value.len();
        let empty = match self.count {
            None => T::take_one(edit, self.end, reply),
            Some(count) => T::take(edit, self.end, count, reply),
        };
        taken::<T>(tx, &args[at], self.end, empty);
        match self.count {
            None => tx.propagate(&[T::command(self.end), &args[at]]),
            Some(count) => tx.propagate_with(&[T::command(self.end), &args[at]], count.min(len) as i64),
        }
        Ok(true)
    }
}

/// Argument `index` as a count of at least 1.
fn at_least_one(args: Args<'_>, index: usize) -> Option<usize> {
    args.int(index).ok().filter(|&number| number >= 1).map(|number| number as usize)
}

/// LMPOP and ZMPOP.
pub(super) fn multi_pop<T: Pop>(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if !PopFirst::parse(args, 1, T::ENDS)?.pop::<T>(tx, args, false, reply)? {
        reply.null_array();
    }
    Ok(())
}

/// BLMPOP and BZMPOP.
pub(super) fn blocking_multi_pop<T: Pop>(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> BlockingOutcome {
    let request = PopFirst::parse(args, 2, T::ENDS)?;
    let timeout_ms = parse_timeout_ms(&args[1], TimeoutRule::of(tx))?;
    pop_or_wait::<T>(tx, args, request, timeout_ms, reply)
}

/// BLPOP, BZPOPMIN and the like.
pub(super) fn blocking_pop<T: Pop>(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    end: T::End,
    reply: &mut dyn Reply,
) -> BlockingOutcome {
    let keys = 1..args.len() - 1;
    let timeout_ms = parse_timeout_ms(&args[keys.end], TimeoutRule::of(tx))?;
    pop_or_wait::<T>(tx, args, PopFirst { keys, end, count: None }, timeout_ms, reply)
}

/// A [`PopFirst`] of type `T` that waits.
#[derive(Debug)]
struct Waiting<T: Pop>(PopFirst<T::End>);

impl<T: Pop> Attempt for Waiting<T> {
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        waited_ms: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        self.0.pop::<T>(tx, args, waited_ms.is_some(), reply)
    }
}

fn pop_or_wait<T: Pop>(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    request: PopFirst<T::End>,
    timeout_ms: Option<u64>,
    reply: &mut dyn Reply,
) -> BlockingOutcome {
    if request.pop::<T>(tx, args, false, reply)? {
        return Ok(Flow::Done);
    }
    let keys = request.keys.clone();
    Ok(Wait::on_keys(keys, T::CLASS, Waiting::<T>(request), timeout_ms, Null::Array).into())
}

/// The first of these arguments that is a key with a value of type `T`, if any. Fails if a key before it holds another
/// type, unless the command is waiting (`waits`): a change of type does not notify it.
pub(super) fn first_ready<T: Typed>(
    tx: &Tx<'_>,
    args: Args<'_>,
    keys: Range<usize>,
    waits: bool,
) -> Result<Option<usize>, CommandError> {
    let is_ready = |at: usize| tx.peek(&args[at]).map(|value| T::of(value).is_some());
    if waits && !keys.clone().any(|at| is_ready(at) == Some(true)) {
        return Ok(None);
    }
    for at in keys {
        match is_ready(at) {
            None => {}
            Some(true) => return Ok(Some(at)),
            Some(false) => return Err(errors::WRONG_TYPE),
        }
    }
    Ok(None)
}

const ALL_BUT_LAST: &[KeySpec] = &[KeySpec::range(1, -2, 1, &[POPS])];
const COUNTED: &[KeySpec] = &[KeySpec::counted(1, &[POPS])];
const COUNTED_BEHIND_TIMEOUT: &[KeySpec] = &[KeySpec::counted(2, &[POPS])];

/// The row of BLPOP and the like, without its family and texts.
pub(super) const fn blocking_pop_row(name: &'static str, handler: BlockingHandler) -> Row<BlockingHandler> {
    Row::new(name, -3, handler)
        .flags(&[Flags::WRITE, Flags::BLOCKING])
        .keys(ALL_BUT_LAST)
        .history(&[("6.0.0", "`timeout` is interpreted as a double instead of an integer.")])
        .syntax("key [key ...] timeout")
        .errors(TIMEOUT_ERRORS)
}

pub(super) const TIMEOUT_ERRORS: &[&str] =
    &["ERR timeout is not a float or out of range", "ERR timeout is negative", "ERR timeout is out of range"];

/// The row of LMPOP and ZMPOP, without its family and texts.
pub(super) const fn multi_pop_row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -4, handler).flags(&[Flags::WRITE, Flags::MOVABLEKEYS]).keys(COUNTED).errors(&[
        "ERR numkeys should be greater than 0",
        "ERR count should be greater than 0",
        "ERR syntax error",
    ])
}

/// The row of BLMPOP and BZMPOP, without its family and texts.
pub(super) const fn blocking_multi_pop_row(
    name: &'static str,
    handler: BlockingHandler,
) -> Row<BlockingHandler> {
    Row::new(name, -5, handler)
        .flags(&[Flags::WRITE, Flags::BLOCKING, Flags::MOVABLEKEYS])
        .keys(COUNTED_BEHIND_TIMEOUT)
        .errors(&[
            "ERR numkeys should be greater than 0",
            "ERR count should be greater than 0",
            "ERR syntax error",
            "ERR timeout is not a float or out of range",
            "ERR timeout is negative",
            "ERR timeout is out of range",
        ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<PopFirst<char>, CommandError> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        PopFirst::parse(Args::new(&words), 1, [("left", 'l'), ("right", 'r')])
    }

    #[test]
    fn mpop_reads_numkeys_and_an_optional_count() {
        let two = PopFirst { keys: 2..4, end: 'r', count: Some(1) };
        assert_eq!(parse("lmpop 2 a b RIGHT"), Ok(two.clone()));
        let seven = PopFirst { end: 'l', count: Some(7), ..two };
        assert_eq!(parse("lmpop 2 a b left count 7"), Ok(seven));
    }

    #[test]
    fn errors_equal_those_of_redis() {
        for (line, error) in [
            ("lmpop 0 a LEFT", errors::NUMKEYS_NOT_POSITIVE),
            ("lmpop x a LEFT", errors::NUMKEYS_NOT_POSITIVE),
            ("lmpop 9223372036854775808 a LEFT", errors::NUMKEYS_NOT_POSITIVE),
            ("lmpop 9223372036854775807 a LEFT", errors::SYNTAX),
            ("lmpop 2 a LEFT", errors::SYNTAX),
            ("lmpop 1 a UP", errors::SYNTAX),
            ("lmpop 1 a LEFT COUNT", errors::SYNTAX),
            ("lmpop 1 a LEFT FOO 1", errors::SYNTAX),
            ("lmpop 1 a LEFT COUNT 0", errors::COUNT_NOT_POSITIVE),
            ("lmpop 1 a LEFT COUNT 0 COUNT 1", errors::COUNT_NOT_POSITIVE),
            ("lmpop 1 a LEFT COUNT 1 COUNT 1", errors::SYNTAX),
        ] {
            assert_eq!(parse(line), Err(error), "{line}");
        }
    }
}
