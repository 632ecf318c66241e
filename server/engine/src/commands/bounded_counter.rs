//! A counter with bounds and a deadline, as in Redis 8.8: INCREX. Taken from the public documentation.

use super::set_options::{Ttl, TtlWords};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::number::{self, Extended};
use lockwheel_resp::{Protocol, Reply};
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::{Str, Value};

const ENX_ALONE: &str = "ERR ENX flag requires an expiration";
const BOUNDS: &str = "ERR LBOUND can't be greater than UBOUND";
const DELTA: &str = "ERR applied increment would overflow";
const NOT_FINITE: &str = "ERR increment would produce NaN or Infinity";

pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("increx", -2, increx as DataHandler)
    .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
    .categories(&["string"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE])])
    .about("string", "8.8.0", "O(1)")
    .summary("Adds to the number that a key holds, within bounds, and sets its deadline; no key counts as 0.")
    .syntax(
        "key [increment: BYFLOAT float:double | BYINT integer:integer] [SATURATE] [LBOUND lowerbound] \
         [UBOUND upperbound] [expiration: EX seconds | PX milliseconds | EXAT unix-time-seconds | \
         PXAT unix-time-milliseconds | PERSIST] [ENX]",
    )
    .errors(&[
        "ERR syntax error",
        ENX_ALONE,
        BOUNDS,
        DELTA,
        NOT_FINITE,
        "ERR Increment is not an integer or out of range",
        "ERR Increment is not a valid float",
        "ERR invalid expire time in 'increx' command",
    ])];

#[derive(Debug, Default)]
struct Options {
    by_float: Option<usize>,
    by_int: Option<usize>,
    lower: Option<usize>,
    upper: Option<usize>,
    /// SATURATE: a number out of bounds becomes the bound.
    saturate: bool,
    /// ENX: an existing deadline stays.
    keep_deadline: bool,
    ttl: TtlWords,
}

impl Options {
    /// Reads the options of a request. Fails if one is given twice or wrong, or if ENX has no deadline to set.
    fn read(args: Args<'_>) -> Result<Self, CommandError> {
        let mut options = Options::default();
        let mut at = 2;
        while at < args.len() {
            at = options.read_word(args, at)?;
        }
        let exclude = options.by_float.is_some() && options.by_int.is_some()
            || options.keep_deadline && options.ttl.get() == Ttl::Persist;
        if exclude {
            return Err(errors::SYNTAX);
        }
        if options.keep_deadline && options.ttl.get() == Ttl::Unsaid {
            return Err(CommandError::text(ENX_ALONE));
        }
        Ok(options)
    }

    /// Reads the option at `at`, and returns the place of the next.
    fn read_word(&mut self, args: Args<'_>, at: usize) -> Result<usize, CommandError> {
        let numbered = [
            ("byfloat", &mut self.by_float),
            ("byint", &mut self.by_int),
            ("lbound", &mut self.lower),
            ("ubound", &mut self.upper),
        ];
        if let Some((_, number)) = numbered.into_iter().find(|(word, _)| args.is(at, word)) {
            let is_free = number.replace(at + 1).is_none() && at + 1 < args.len();
            return if is_free { Ok(at + 2) } else { Err(errors::SYNTAX) };
        }
        let flags = [("saturate", &mut self.saturate), ("enx", &mut self.keep_deadline)];
        if let Some((_, flag)) = flags.into_iter().find(|(word, _)| args.is(at, word)) {
            return if std::mem::replace(flag, true) { Err(errors::SYNTAX) } else { Ok(at + 1) };
        }
        if self.ttl.get() != Ttl::Unsaid {
            return Err(errors::SYNTAX);
        }
        let persist = |args: Args<'_>, at| args.is(at, "persist").then_some(Ttl::Persist);
        self.ttl.read(args, at, args.len(), persist)
    }
}

fn increx(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let options = Options::read(args)?;
    match options.by_float {
        Some(at) => add_float(tx, args, &options, at, reply),
        None => add_integer(tx, args, &options, reply),
    }
}

fn integer(args: Args<'_>, at: Option<usize>, name: &str, default: i64) -> Result<i64, CommandError> {
    let Some(at) = at else { return Ok(default) };
    number::parse_i64(&args[at])
        .ok_or_else(|| CommandError::new(format!("ERR {name} is not an integer or out of range")))
}

fn add_integer(tx: &mut Tx<'_>, args: Args<'_>, options: &Options, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let increment = integer(args, options.by_int, "Increment", 1)?;
    let lower = integer(args, options.lower, "LBOUND", i64::MIN)?;
    let upper = integer(args, options.upper, "UBOUND", i64::MAX)?;
    if lower > upper {
        return Err(CommandError::text(BOUNDS));
    }
    let deadline = deadline_ms(tx, args, options)?;
    let old = match tx.read::<Str>(key)? {
        Some(text) => text.to_i64().ok_or(errors::NOT_AN_INTEGER)?,
        None => 0,
    };
    let exact = i128::from(old) + i128::from(increment);
    let cut = exact.clamp(i128::from(lower), i128::from(upper));
    // Beyond a bound nothing changes, unless SATURATE sets the number to the bound.
    let (new, delta) = if cut == exact || options.saturate {
        let delta = i64::try_from(cut - i128::from(old)).map_err(|_| CommandError::text(DELTA))?;
        // Both bounds are of this type.
        let new = cut as i64;
        put(tx, key, Str::from_i64(new));
        tx.changed(key, events::INCRBY);
        set_deadline(tx, key, options, deadline);
        (new, delta)
    } else {
        (old, 0)
    };
    reply.array(2);
    reply.integer(new);
    reply.integer(delta);
    Ok(())
}

fn float(args: Args<'_>, at: usize, name: &str) -> Result<Extended, CommandError> {
    let number = Extended::parse(&args[at]).filter(|number| number.is_finite());
    number.ok_or_else(|| CommandError::new(format!("ERR {name} is not a valid float")))
}

fn add_float(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    options: &Options,
    at: usize,
    reply: &mut dyn Reply,
) -> Outcome {
    let key = &args[1];
    let increment = float(args, at, "Increment")?;
    let lower = options.lower.map(|at| float(args, at, "LBOUND")).transpose()?;
    let upper = options.upper.map(|at| float(args, at, "UBOUND")).transpose()?;
    if lower.zip(upper).is_some_and(|(lower, upper)| lower.exceeds(upper)) {
        return Err(CommandError::text(BOUNDS));
    }
    let deadline = deadline_ms(tx, args, options)?;
    let zero = Extended::parse(b"0").ok_or(errors::NOT_A_FLOAT)?;
    let old = match tx.read::<Str>(key)? {
        Some(text) => Extended::parse(&text.text()).ok_or(errors::NOT_A_FLOAT)?,
        None => zero,
    };
    let exact = old.add(increment).ok_or_else(|| CommandError::text(NOT_FINITE))?;
    let bound = match (lower, upper) {
        (Some(lower), _) if lower.exceeds(exact) => Some(lower),
        (_, Some(upper)) if exact.exceeds(upper) => Some(upper),
        _ => None,
    };
    // Beyond a bound nothing changes, unless SATURATE sets the number to the bound.
    let added = match bound {
        None => Some((exact, increment)),
        Some(bound) if options.saturate => {
            let delta = bound.add(old.negated()).ok_or_else(|| CommandError::text(NOT_FINITE))?;
            Some((bound, delta))
        }
        Some(_) => None,
    };
    if let Some((new, _)) = added {
        put(tx, key, Str::text_only(text(new).as_bytes()));
        tx.changed(key, events::INCRBYFLOAT);
        set_deadline(tx, key, options, deadline);
    }
    let (new, delta) = added.unwrap_or((old, zero));
    reply.array(2);
    for number in [new, delta] {
        match reply.protocol() {
            Protocol::Resp2 => reply.bulk(text(number).as_bytes()),
            Protocol::Resp3 => reply.decimal(text(number).parse().unwrap_or_default()),
        }
    }
    Ok(())
}

fn text(number: Extended) -> String {
    number.text().unwrap_or_default()
}

fn put(tx: &mut Tx<'_>, key: &[u8], text: Str) {
    tx.set(key, Value::Str(text), true);
}

/// The deadline of a request, in wall milliseconds; `None` if it sets none.
fn deadline_ms(tx: &Tx<'_>, args: Args<'_>, options: &Options) -> Result<Option<i64>, CommandError> {
    match options.ttl.get() {
        Ttl::Set(form, at) => form.read_deadline_ms(tx, args, at, 1, "increx").map(Some),
        _ => Ok(None),
    }
}

/// Sets or clears the deadline of a key, as the options say. A deadline that has passed deletes the key.
fn set_deadline(tx: &mut Tx<'_>, key: &[u8], options: &Options, deadline: Option<i64>) {
    match (options.ttl.get(), deadline) {
        (Ttl::Set(..), Some(_)) if options.keep_deadline && tx.deadline(key).is_some() => {}
        (Ttl::Set(form, _), Some(deadline)) if form.is_absolute() && tx.has_passed(deadline) => {
            tx.delete(key);
        }
        (_, Some(deadline)) => {
            tx.set_deadline(key, deadline);
            tx.notify(key, events::EXPIRE);
        }
        (Ttl::Persist, None) if tx.clear_deadline(key) => tx.notify(key, events::PERSIST),
        _ => {}
    }
}
