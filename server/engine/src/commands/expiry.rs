//! Deadlines of keys: EXPIRE, TTL and the like, PERSIST.

use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, quotable};
use lockwheel_resp::{Reply, number};
use lockwheel_store::keyspace::{Tx, events};
use std::ops::Range;

const UPDATES: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])];
const READS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])];

pub(super) const NX_WITH_OTHERS: &str = "ERR NX and XX, GT or LT options at the same time are not compatible";
pub(super) const GT_WITH_LT: &str = "ERR GT and LT options at the same time are not compatible";

/// The errors of EXPIRE and similar commands, and `$more`.
macro_rules! expire_errors {
    ($($more:expr),*) => {
        &[
            "ERR Unsupported option *",
            NX_WITH_OTHERS,
            GT_WITH_LT,
            "ERR value is not an integer or out of range",
            $($more),*
        ]
    };
}

pub(super) const ROWS: &[Row<DataHandler>] = &[
    expire_row("expire", expire, "1.0.0", IN_SECONDS)
        .syntax("key seconds [condition@7.0.0: NX | XX | GT | LT]")
        .errors(expire_errors!("ERR invalid expire time in 'expire' command"))
        .older(&[(
            "7.0.0",
            before_conditions(expire_row("expire", expire, "1.0.0", IN_SECONDS), "key seconds"),
        )]),
    expire_row("pexpire", pexpire, "2.6.0", IN_MILLISECONDS)
        .syntax("key milliseconds [condition@7.0.0: NX | XX | GT | LT]")
        .errors(expire_errors!("ERR invalid expire time in 'pexpire' command"))
        .older(&[(
            "7.0.0",
            before_conditions(expire_row("pexpire", pexpire, "2.6.0", IN_MILLISECONDS), "key milliseconds"),
        )]),
    expire_row("expireat", expireat, "1.2.0", AT_SECONDS)
        .syntax("key unix-time-seconds [condition@7.0.0: NX | XX | GT | LT]")
        .errors(expire_errors!("ERR invalid expire time in 'expireat' command"))
        .older(&[(
            "7.0.0",
            before_conditions(expire_row("expireat", expireat, "1.2.0", AT_SECONDS), "key unix-time-seconds"),
        )]),
    expire_row("pexpireat", pexpireat, "2.6.0", AT_MILLISECONDS)
        .syntax("key unix-time-milliseconds [condition@7.0.0: NX | XX | GT | LT]")
        .errors(expire_errors!())
        .older(&[(
            "7.0.0",
            before_conditions(
                expire_row("pexpireat", pexpireat, "2.6.0", AT_MILLISECONDS),
                "key unix-time-milliseconds",
            ),
        )]),
    read_row("expiretime", expiretime)
        .about("generic", "7.0.0", "O(1)")
        .summary("The deadline of a key as a Unix time in seconds; -1: it has none, -2: there is no such key."),
    read_row("pexpiretime", pexpiretime)
        .about("generic", "7.0.0", "O(1)")
        .summary("The deadline of a key as a Unix time in milliseconds; -1: it has none, -2: there is no such key."),
    read_row("ttl", ttl)
        .about("generic", "1.0.0", "O(1)")
        .summary("The time that a key has left, in seconds; -1: it has no deadline, -2: there is no such key.")
        .history(&[("2.8.0", "Added the -2 reply.")])
        .tips(&["nondeterministic_output"]),
    read_row("pttl", pttl)
        .about("generic", "2.6.0", "O(1)")
        .summary("The time that a key has left, in milliseconds; -1: it has no deadline, -2: there is no such key.")
        .history(&[("2.8.0", "Added the -2 reply.")])
        .tips(&["nondeterministic_output"]),
    write_row("persist", 2, persist)
        .about("generic", "2.2.0", "O(1)")
        .summary("Removes the deadline of a key.")
        .syntax("key"),
];

const fn write_row(name: &'static str, arity: i32, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, arity, handler).flags(&[Flags::WRITE, Flags::FAST]).categories(&["keyspace"]).keys(UPDATES)
}

const IN_SECONDS: &str = "Gives a key a deadline, in seconds from now.";
const IN_MILLISECONDS: &str = "Gives a key a deadline, in milliseconds from now.";
const AT_SECONDS: &str = "Gives a key a deadline, a Unix time in seconds.";
const AT_MILLISECONDS: &str = "Gives a key a deadline, a Unix time in milliseconds.";

const fn expire_row(
    name: &'static str,
    handler: DataHandler,
    since: &'static str,
    summary: &'static str,
) -> Row<DataHandler> {
    write_row(name, -3, handler)
        .history(&[("7.0.0", "Added options: `NX`, `XX`, `GT` and `LT`.")])
        .about("generic", since, "O(1)")
        .summary(summary)
}

/// The row of a command of the EXPIRE family without conditions, as before 7.0.
const fn before_conditions(row: Row<DataHandler>, syntax: &'static str) -> Row<DataHandler> {
    row.arity(3).history(&[]).syntax(syntax).errors(BEFORE_CONDITIONS)
}

const BEFORE_CONDITIONS: &[&str] =
    &["ERR value is not an integer or out of range", "ERR invalid expire time in '*' command"];

const fn read_row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, 2, handler)
        .flags(&[Flags::READONLY, Flags::FAST])
        .categories(&["keyspace"])
        .keys(READS)
        .syntax("key")
}

/// The form of a deadline in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeForm {
    /// The milliseconds in a unit.
    unit_ms: i64,
    /// Whether the time counts from the Unix epoch instead of from now.
    absolute: bool,
}

impl TimeForm {
    /// Seconds from now.
    pub(super) const SECONDS: Self = TimeForm { unit_ms: 1000, absolute: false };
    /// Milliseconds from now.
    pub(super) const MILLISECONDS: Self = TimeForm { unit_ms: 1, absolute: false };
    /// Seconds since the Unix epoch.
    pub(super) const UNIX_SECONDS: Self = TimeForm { unit_ms: 1000, absolute: true };
    /// Milliseconds since the Unix epoch.
    pub(super) const UNIX_MILLISECONDS: Self = TimeForm { unit_ms: 1, absolute: true };

    /// The deadline that `value` means, in wall milliseconds. Fails, naming the command, if it does not fit 64 bits.
    pub(super) fn deadline_ms(self, value: i64, tx: &Tx<'_>, command: &str) -> Result<i64, CommandError> {
        let start = if self.absolute { 0 } else { tx.now().wall_ms() };
        let deadline = value.checked_mul(self.unit_ms).and_then(|ms| ms.checked_add(start));
        deadline.ok_or_else(|| invalid_expire_time(command))
    }

    /// The deadline that argument `at` means, in wall milliseconds, perhaps in the past. Fails, naming `command`, if
    /// the argument is not an integer, below `least`, or too large.
    pub(super) fn read_deadline_ms(
        self,
        tx: &Tx<'_>,
        args: Args<'_>,
        at: usize,
        least: i64,
        command: &str,
    ) -> Result<i64, CommandError> {
        match args.int(at)? {
            value if value < least => Err(invalid_expire_time(command)),
            value => self.deadline_ms(value, tx, command),
        }
    }

    pub(super) fn is_absolute(self) -> bool {
        self.absolute
    }
}

/// `invalid expire time` for a command, by its lower-case name.
pub(super) fn invalid_expire_time(command: &str) -> CommandError {
    CommandError::new(format!("ERR invalid expire time in '{command}' command"))
}

/// The conditions for setting a deadline. All given conditions must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Conditions {
    /// NX: the key has no deadline yet.
    none_yet: bool,
    /// XX: the key has a deadline.
    one_already: bool,
    /// GT: the new deadline is later than the present one. No deadline counts as the latest.
    later: bool,
    /// LT: the new deadline is earlier than the present one.
    earlier: bool,
}

impl Conditions {
    /// Reads the arguments of this range. Fails if one is no condition, or if two exclude each other.
    pub(super) fn parse(args: Args<'_>, range: Range<usize>) -> Result<Self, CommandError> {
        let mut found = Conditions::default();
        for at in range {
            if args.is(at, "nx") {
                found.none_yet = true;
            } else if args.is(at, "xx") {
                found.one_already = true;
            } else if args.is(at, "gt") {
                found.later = true;
            } else if args.is(at, "lt") {
                found.earlier = true;
            } else {
                return Err(unsupported(&args[at]));
            }
        }
        if found.none_yet && (found.one_already || found.later || found.earlier) {
            return Err(CommandError::text(NX_WITH_OTHERS));
        }
        if found.later && found.earlier {
            return Err(CommandError::text(GT_WITH_LT));
        }
        Ok(found)
    }

    /// Whether the deadline `new` may be set over the present one. Both are in milliseconds.
    pub(super) fn hold(self, current: Option<i64>, new: i64) -> bool {
        match current {
            None => !self.one_already && !self.later,
            Some(current) => {
                !self.none_yet && (!self.later || new > current) && (!self.earlier || new < current)
            }
        }
    }
}

fn unsupported(option: &[u8]) -> CommandError {
    CommandError::new([b"ERR Unsupported option ", quotable(option)].concat())
}

fn expire(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    give_deadline(tx, args, TimeForm::SECONDS, "expire", reply)
}

fn pexpire(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    give_deadline(tx, args, TimeForm::MILLISECONDS, "pexpire", reply)
}

fn expireat(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    give_deadline(tx, args, TimeForm::UNIX_SECONDS, "expireat", reply)
}

fn pexpireat(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    give_deadline(tx, args, TimeForm::UNIX_MILLISECONDS, "pexpireat", reply)
}

fn give_deadline(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    form: TimeForm,
    command: &str,
    reply: &mut dyn Reply,
) -> Outcome {
    let key = &args[1];
    let conditions =
        if args.len() == 3 { Conditions::default() } else { Conditions::parse(args, 3..args.len())? };
    let deadline = form.deadline_ms(args.int(2)?, tx, command)?;
    // Without conditions the key is looked up only once, for the change.
    let wanted = conditions == Conditions::default()
        || (tx.exists(key) && conditions.hold(tx.deadline(key), deadline));
    let done = match tx.has_passed(deadline) {
        _ if !wanted => {
            tx.access(key);
            false
        }
        true => tx.delete(key),
        false => tx.expire_at(key, deadline),
    };
    if done && tx.has_passed(deadline) {
        tx.propagate_removal(key, |lazy| lazy.expire);
    } else if done {
        tx.changed(key, events::EXPIRE);
        if form != TimeForm::UNIX_MILLISECONDS {
            propagate_deadline(tx, args, deadline);
        }
    }
    reply.integer(i64::from(done));
    Ok(())
}

fn propagate_deadline(tx: &mut Tx<'_>, args: Args<'_>, deadline_ms: i64) {
    if args.len() == 3 {
        return tx.propagate_with(&[b"PEXPIREAT", &args[1]], deadline_ms);
    }
    if tx.is_propagated() {
        let mut at = Vec::new();
        number::write_i64(deadline_ms, &mut at);
        tx.propagate_parts(&[&[b"PEXPIREAT", &args[1], &at], args.from(3)]);
    }
}

/// The replies that are not a time.
const NO_KEY: i64 = -2;
const NO_DEADLINE: i64 = -1;

/// The deadline of the key that a request names, in wall milliseconds. Without a deadline, the error is the reply.
fn deadline_of(tx: &mut Tx<'_>, args: Args<'_>) -> Result<i64, i64> {
    match tx.inspect(&args[1]) {
        None => Err(NO_KEY),
        Some(_) => tx.deadline(&args[1]).ok_or(NO_DEADLINE),
    }
}

/// The milliseconds until the deadline, saturated: after a large step back of the clock they may exceed 64 bits.
fn left_of(tx: &mut Tx<'_>, args: Args<'_>) -> Result<i64, i64> {
    deadline_of(tx, args).map(|deadline| deadline.saturating_sub(tx.now().wall_ms()).max(0))
}

/// Milliseconds in seconds, rounded to the nearest as Redis does.
pub(super) fn seconds(ms: i64) -> i64 {
    ms.div_euclid(1000) + i64::from(ms.rem_euclid(1000) >= 500)
}

fn answer(number: Result<i64, i64>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(number.unwrap_or_else(|none| none));
    Ok(())
}

fn expiretime(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    answer(deadline_of(tx, args).map(seconds), reply)
}

fn pexpiretime(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    answer(deadline_of(tx, args), reply)
}

fn ttl(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    answer(left_of(tx, args).map(seconds), reply)
}

fn pttl(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    answer(left_of(tx, args), reply)
}

fn persist(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let had = tx.access(key) && tx.clear_deadline(key);
    if had {
        tx.changed(key, events::PERSIST);
    }
    reply.integer(i64::from(had));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn seconds_round_to_the_nearest() {
        for (ms, expected) in
            [(0, 0), (499, 0), (500, 1), (1499, 1), (1500, 2), (i64::MAX, 9_223_372_036_854_776)]
        {
            assert_eq!(seconds(ms), expected, "{ms}");
        }
    }

    #[test]
    fn conditions_treat_no_deadline_as_later_than_any() {
        let hold = |words: &[&[u8]], current, new| {
            let words = [&[&b"expire"[..], b"k", b"1"], words].concat();
            Conditions::parse(Args::new(&words), 3..words.len())
                .map(|conditions| conditions.hold(current, new))
        };
        let rows: &[(&str, [bool; 4])] = &[
            // Without a present deadline; then a new one earlier than, equal to and later than the present one.
            ("nx", [true, false, false, false]),
            ("XX", [false, true, true, true]),
            ("gt", [false, false, false, true]),
            ("LT", [true, true, false, false]),
        ];
        for (word, expected) in rows {
            let got =
                [None, Some(11), Some(10), Some(9)].map(|current| hold(&[word.as_bytes()], current, 10));
            assert_eq!(got, expected.map(Ok), "{word}");
        }
        assert_eq!(hold(&[b"xx", b"lt"], None, 10), Ok(false));
        assert_eq!(hold(&[b"nx", b"lt"], None, 10), Err(CommandError::text(NX_WITH_OTHERS)));
        assert_eq!(hold(&[b"xx", b"lt", b"gt"], None, 10), Err(CommandError::text(GT_WITH_LT)));
        assert_eq!(hold(&[b"a\0b"], None, 10), Err(CommandError::text("ERR Unsupported option a")));
    }

    proptest! {
        #[test]
        fn rounding_equals_that_of_wide_arithmetic(ms: i64) {
            let wide = (i128::from(ms) + 500).div_euclid(1000);
            prop_assert_eq!(i128::from(seconds(ms)), wide);
        }
    }
}
