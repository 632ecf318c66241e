//! Parameters with a grammar or a rule of their own. The errors are Redis', except for values that only we refuse.

use super::limits::OutputLimit;
use super::parameter::{ReadContext, Reason, Value};
use super::values::{c_integer, choice, integer, no_choice, size, size_in};
use super::{TimeMode, instant};
use lockwheel_resp::number;
use lockwheel_store::keyspace::EventClasses;

type Words<'a> = &'a [&'a [u8]];

const ARITY: &str = "wrong number of arguments";

/// The words of a parameter. A single empty word means no words.
fn unless_empty<'a>(words: Words<'a>) -> Words<'a> {
    if let [b""] = words { &[] } else { words }
}

/// `bind`: at most 16 addresses. Whether the server can listen on them shows later, when it binds them.
pub(super) fn bind(words: Words<'_>, _: &ReadContext<'_>) -> Result<Value, Reason> {
    const MAX_ADDRESSES: usize = 16;
    let words = unless_empty(words);
    if words.len() > MAX_ADDRESSES {
        return Err("Too many bind addresses specified.".into());
    }
    Ok(Value::Words(words.iter().map(|word| word.to_vec()).collect()))
}

/// `save`: pairs of seconds and changes. A second line of a file adds to the first.
pub(super) fn save(words: Words<'_>, context: &ReadContext<'_>) -> Result<Value, Reason> {
    const INVALID: &str = "Invalid save parameters";
    let (pairs, []) = unless_empty(words).as_chunks::<2>() else { return Err(INVALID.into()) };
    let mut points = match context.current() {
        Value::Words(points) if context.again && words != [b""] => points,
        _ => Vec::new(),
    };
    for [seconds, changes] in pairs {
        let (Some(seconds @ 1..), Some(changes @ 0..)) = (c_integer(seconds), c_integer(changes)) else {
            return Err(INVALID.into());
        };
        // Redis keeps the low 32 bits of the changes.
        let changes = changes as i32;
        points.extend([seconds.to_string().into_bytes(), changes.to_string().into_bytes()]);
    }
    Ok(Value::Words(points))
}

/// `notify-keyspace-events`: a letter for each class.
pub(super) fn events(words: Words<'_>, _: &ReadContext<'_>) -> Result<Value, Reason> {
    let classes = EventClasses::parse(words[0]);
    classes.map(Value::Events).ok_or("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".into())
}

/// `oom-score-adj`: `relative` is another word for `yes`.
pub(super) fn oom_score_adj(words: Words<'_>, _: &ReadContext<'_>) -> Result<Value, Reason> {
    match choice(words[0], &["no", "yes", "relative", "absolute"])? {
        "relative" => Ok(Value::Choice("yes")),
        other => Ok(Value::Choice(other)),
    }
}

/// `oom-score-adj-values`: three numbers.
pub(super) fn oom_score_adj_values(words: Words<'_>, _: &ReadContext<'_>) -> Result<Value, Reason> {
    if words.len() != 3 {
        return Err(ARITY.into());
    }
    let mut scores = Vec::new();
    for word in words {
        let score = c_integer(word).filter(|score| (-2000..=2000).contains(score));
        let score = score.ok_or("Invalid oom-score-adj-values, elements must be between -2000 and 2000.")?;
        scores.push(score.to_string().into_bytes());
    }
    Ok(Value::Words(scores))
}

/// `latency-tracking-info-percentiles`: numbers from 0 to 100, shown with at most six decimals.
pub(super) fn percentiles(words: Words<'_>, _: &ReadContext<'_>) -> Result<Value, Reason> {
    let mut percentiles = Vec::new();
    for word in unless_empty(words) {
        let percentile =
            number::parse_f64(word).ok_or("Invalid latency-tracking-info-percentiles parameters")?;
        if !(0.0..=100.0).contains(&percentile) {
            const RANGE: &str = "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]";
            return Err(RANGE.into());
        }
        let text = format!("{percentile:.6}");
        percentiles.push(text.trim_end_matches('0').trim_end_matches('.').as_bytes().to_vec());
    }
    Ok(Value::Words(percentiles))
}

/// `shutdown-on-sigterm` and `shutdown-on-sigint`: any of some words, shown in the order of this list.
pub(super) fn shutdown(words: Words<'_>, _: &ReadContext<'_>) -> Result<Value, Reason> {
    const NAMES: &[&str] = &["default", "save", "nosave", "now", "force"];
    if words.is_empty() {
        return Err(no_choice(NAMES));
    }
    let given = words.iter().map(|word| choice(word, NAMES)).collect::<Result<Vec<_>, _>>()?;
    if given.contains(&"save") && given.contains(&"nosave") {
        return Err("shutdown options SAVE and NOSAVE can't be used simultaneously".into());
    }
    let shown = NAMES[1..].iter().filter(|name| given.contains(name));
    let shown: Vec<Vec<u8>> = shown.map(|name| name.as_bytes().to_vec()).collect();
    Ok(Value::Words(if shown.is_empty() { vec![b"default".to_vec()] } else { shown }))
}

/// `hz`: values outside 1 to 500 become the nearest of the two.
pub(super) fn hz(words: Words<'_>, _: &ReadContext<'_>) -> Result<Value, Reason> {
    match integer(words[0], 0, i32::MAX.into())? {
        Value::Integer(hz) => Ok(Value::Integer(hz.clamp(1, 500))),
        other => Ok(other),
    }
}

/// `repl-backlog-size`: a smaller value becomes 16 KiB.
pub(super) fn backlog(words: Words<'_>, _: &ReadContext<'_>) -> Result<Value, Reason> {
    const MIN_BYTES: u64 = 16 << 10;
    let bytes = size_in(words[0], 1, i64::MAX as u64)?;
    Ok(Value::Size(bytes.max(MIN_BYTES)))
}

/// `dir`: a directory. Quotes around it, which test suites of some clients use, are dropped.
pub(super) fn dir(words: Words<'_>, _: &ReadContext<'_>) -> Result<Value, Reason> {
    let path = match words[0] {
        [b'"', path @ .., b'"'] => path,
        path => path,
    };
    Ok(Value::Text(path.to_vec()))
}

/// `client-output-buffer-limit`: `class hard soft soft-seconds`, any number of times. Other classes keep their limits.
pub(super) fn output_limits(words: Words<'_>, context: &ReadContext<'_>) -> Result<Value, Reason> {
    const ARITY: &str = "Wrong number of arguments in buffer limit configuration.";
    const CLASS: &str = "Invalid client class specified in buffer limit configuration.";
    const NUMBERS: &str = "Error in hard, soft or soft_seconds setting \
         in buffer limit configuration.";
    let Value::OutputLimits(mut limits) = context.current() else { return Err(ARITY.into()) };
    let (groups, []) = words.as_chunks::<4>() else { return Err(ARITY.into()) };
    for [class, hard, soft, soft_seconds] in groups {
        let limit = match class.to_ascii_lowercase().as_slice() {
            b"normal" => &mut limits.normal,
            b"slave" | b"replica" => &mut limits.replica,
            b"pubsub" => &mut limits.pubsub,
            _ => return Err(CLASS.into()),
        };
        *limit = read_limit(hard, soft, soft_seconds).ok_or(NUMBERS)?;
    }
    Ok(Value::OutputLimits(limits))
}

fn read_limit(hard: &[u8], soft: &[u8], soft_seconds: &[u8]) -> Option<OutputLimit> {
    // Redis keeps the low 32 bits of the seconds.
    let soft_seconds = c_integer(soft_seconds)? as i32;
    let bytes = |text| size(text).map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    (soft_seconds >= 0).then_some(OutputLimit {
        hard: bytes(hard)?,
        soft: bytes(soft)?,
        soft_seconds: soft_seconds.into(),
    })
}

/// `replicaof`: `no one`, or a master's host and port.
pub(super) fn replicaof(words: Words<'_>, _: &ReadContext<'_>) -> Result<Value, Reason> {
    let [host, port] = words else { return Err(ARITY.into()) };
    if host.eq_ignore_ascii_case(b"no") && port.eq_ignore_ascii_case(b"one") {
        return Ok(Value::Words(Vec::new()));
    }
    if !c_integer(port).is_some_and(|port| (0..=65535).contains(&port)) {
        return Err("Invalid master port".into());
    }
    Ok(Value::Words(vec![host.to_vec(), port.to_vec()]))
}

/// `time`: `real`, `manual`, or the instant of a frozen clock.
pub(super) fn time(words: Words<'_>, _: &ReadContext<'_>) -> Result<Value, Reason> {
    let mode = match words[0].to_ascii_lowercase().as_slice() {
        b"real" => Some(TimeMode::Real),
        b"manual" => Some(TimeMode::Manual),
        _ => instant::parse(words[0]).map(TimeMode::At),
    };
    let allowed = "argument must be 'real', 'manual' or an instant from 1970-01-01T00:00:00Z to \
                   9999-12-30T21:59:59.999Z, to the millisecond";
    mode.map(Value::Time).ok_or(allowed.into())
}

/// `seed`: 64 bits. An empty word lets the system pick a seed.
pub(super) fn seed(words: Words<'_>, _: &ReadContext<'_>) -> Result<Value, Reason> {
    let text = std::str::from_utf8(words[0]).unwrap_or("?");
    if text.is_empty() {
        return Ok(Value::Seed(None));
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let seed = text.parse().ok().filter(|_| digits);
    seed.map(|seed| Value::Seed(Some(seed)))
        .ok_or("argument must be between 0 and 18446744073709551615 inclusive".into())
}

fn text(value: &Value) -> &[u8] {
    match value {
        Value::Text(text) => text,
        _ => b"",
    }
}

fn ensure(holds: bool, reason: &'static str) -> Result<(), Reason> {
    if holds { Ok(()) } else { Err(reason.into()) }
}

fn is_base_name(path: &[u8]) -> bool {
    !path.iter().any(|byte| matches!(byte, b'/' | b'\\'))
}

/// A rule for `activedefrag`: only `no` is allowed, because the allocator cannot tell which pages are sparse.
pub(super) fn activedefrag(value: &Value) -> Result<(), Reason> {
    const WHY: &str = "Active defragmentation cannot be enabled: it requires a Redis server compiled with a modified \
                       Jemalloc like the one shipped by default with the Redis source distribution";
    ensure(*value == Value::Flag(false), WHY)
}

/// A rule for `tls-cluster` and `tls-replication`: only `no`, since links between servers are not encrypted.
pub(super) fn tls_links(value: &Value) -> Result<(), Reason> {
    ensure(*value == Value::Flag(false), "Unable to update TLS configuration. Check server logs.")
}

pub(super) fn dbfilename(value: &Value) -> Result<(), Reason> {
    ensure(is_base_name(text(value)), "dbfilename can't be a path, just a filename")
}

pub(super) fn appendfilename(value: &Value) -> Result<(), Reason> {
    ensure(!text(value).is_empty(), "appendfilename can't be empty")?;
    ensure(is_base_name(text(value)), "appendfilename can't be a path, just a filename")
}

pub(super) fn appenddirname(value: &Value) -> Result<(), Reason> {
    ensure(!text(value).is_empty(), "appenddirname can't be empty")?;
    ensure(is_base_name(text(value)), "appenddirname can't be a path, just a dirname")
}

pub(super) fn hostname(value: &Value) -> Result<(), Reason> {
    ensure(text(value).len() < 256, "Hostnames must be less than 256 characters")?;
    let fine = text(value).iter().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(byte));
    ensure(fine, "Hostnames may only contain alphanumeric characters, hyphens or dots")
}

pub(super) fn nodename(value: &Value) -> Result<(), Reason> {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"-./:_`".contains(byte);
    let fine = text(value).iter().all(allowed);
    ensure(fine, "Announced human node name contained invalid character")
}

/// A rule for `locale-collate`: the locales that every system has.
pub(super) fn locale(value: &Value) -> Result<(), Reason> {
    let known: [&[u8]; 4] = [b"", b"C", b"POSIX", b"C.UTF-8"];
    ensure(known.contains(&text(value)), "Invalid locale name")
}

/// A rule for `proc-title-template`: only known variables, and not empty if those that may be empty are.
pub(super) fn proc_title(value: &Value) -> Result<(), Reason> {
    const NEVER_EMPTY: &[&[u8]] = &[b"listen-addr", b"port", b"tls-port", b"config-file"];
    const PERHAPS_EMPTY: &[&[u8]] = &[b"title", b"server-mode", b"unixsocket"];
    let mut rest = text(value);
    let mut shows = false;
    let valid = loop {
        match rest {
            [] => break shows,
            [b'{', b'{', after @ ..] => (rest, shows) = (after, true),
            [b'{', after @ ..] => {
                let Some(end) = after.iter().position(|&byte| byte == b'}') else { break false };
                let never_empty = NEVER_EMPTY.contains(&&after[..end]);
                if !never_empty && !PERHAPS_EMPTY.contains(&&after[..end]) {
                    break false;
                }
                shows |= never_empty;
                rest = &after[end + 1..];
            }
            [byte, after @ ..] => {
                shows |= *byte != b' ';
                rest = after;
            }
        }
    };
    ensure(valid, "template format is invalid or contains unknown variables")
}
