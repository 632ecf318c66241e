//! Refused requests: a refused attempt, release or renewal leaves no trace in keys; the reply shows it to the history.

use super::history::{Cause, Event, Happening};
use super::records::{self, LockRecords};
use super::redisson::{self, Channels, MODE_FIELD};
use super::warnings::lint;
use crate::spec::Args;
use lockwheel_resp::number;
use lockwheel_store::keyspace::{Keyspace, Tx};
use lockwheel_store::values::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplySummary<'a> {
    Null,
    Integer(i64),
    Error(&'a [u8]),
    /// A reply of another kind, such as an array, as its text.
    Other(&'a [u8]),
}

impl<'a> ReplySummary<'a> {
    pub(crate) fn read(reply: &'a [u8]) -> Option<Self> {
        let (kind, rest) = reply.split_first()?;
        let line = rest.split(|&byte| byte == b'\r').next()?;
        Some(match kind {
            b'_' => ReplySummary::Null,
            b'$' | b'*' if line == b"-1" => ReplySummary::Null,
            b':' => ReplySummary::Integer(number::parse_i64(line)?),
            b'-' => ReplySummary::Error(line),
            _ => ReplySummary::Other(reply),
        })
    }
}

/// Whether a request was a script that changed its first key and was answered null or a number. Most scripts are such,
/// and nothing was refused to them. O(1), apart from the entries that it has recorded of other keys.
#[inline]
pub(crate) fn has_script_acted(keyspace: &Keyspace, db: usize, args: Args<'_>, reply: &[u8]) -> bool {
    let is_of_one = matches!(reply, [b':' | b'_', ..] | [b'$', b'-', ..]);
    let Some(key) = args.get(3).filter(|_| is_of_one) else { return false };
    let history = LockRecords::in_keyspace(keyspace).and_then(LockRecords::history);
    history.is_some_and(|history| history.is_of_script() && history.has_recorded(db, key))
}

/// Records the refusal in the reply to a request that has ended. `source`: the text of its script, if known.
pub(crate) fn call_ended(
    tx: &mut Tx<'_>,
    command: &str,
    args: Args<'_>,
    (answer, source): (ReplySummary<'_>, Option<&[u8]>),
) {
    if is_for_another(answer) {
        return;
    }
    match command {
        "lock.acquire" | "lock.convert" => native_acquire(tx, &args.all()[1..2], &args[2], answer),
        "sem.acquire" => native_acquire(tx, &args.all()[1..2], &args[2], answer),
        "lock.macquire" => several_acquire(tx, args, answer),
        "lock.mrelease" => several_release(tx, args, answer),
        "lock.release" => native_release(tx, args, answer),
        "lock.renew" => native_renewal(tx, args, answer),
        "eval" | "evalsha" | "fcall" => {
            if matches!(answer, ReplySummary::Integer(0) | ReplySummary::Null)
                && source.is_some_and(deletes_by_comparison)
                && let Some(key) = args.get(3).filter(|_| args.count(2).is_ok_and(|count| count > 0))
            {
                records::note_comparison(tx, key);
            }
            script(tx, args, answer);
        }
        "set"
            if answer == ReplySummary::Null
                && args.all().iter().skip(3).any(|word| word.eq_ignore_ascii_case(b"nx")) =>
        {
            refused(tx, &args[1], &args[2]);
        }
        "set"
            if answer == ReplySummary::Null && args.all().iter().skip(3).any(|word| is_comparison(word)) =>
        {
            compared(tx, Event::RenewalRefused, &args[1], &args[2]);
        }
        "setnx" if answer == ReplySummary::Integer(0) => refused(tx, &args[1], &args[2]),
        "msetnx" if answer == ReplySummary::Integer(0) => {
            for [key, owner] in args.from(1).as_chunks::<2>().0 {
                refused(tx, key, owner);
            }
        }
        "delifeq" if answer == ReplySummary::Integer(0) => {
            records::note_comparison(tx, &args[1]);
            compared(tx, Event::ReleaseRefused, &args[1], &args[2]);
        }
        // A digest does not tell the owner that asks.
        "delex" if answer == ReplySummary::Integer(0) && args.is(2, "ifeq") && args.len() == 4 => {
            records::note_comparison(tx, &args[1]);
            compared(tx, Event::ReleaseRefused, &args[1], &args[3]);
        }
        "msetex" if answer == ReplySummary::Integer(0) => several_texts(tx, args),
        "keys" => {
            let what = Happening { cause: Cause::Keys, ..Happening::new(Event::Habit, &args[1], b"") };
            records::record(tx, what);
        }
        _ => {}
    }
}

/// Whether a script seems to delete a key if its text is the expected one. Only its words are checked.
fn deletes_by_comparison(source: &[u8]) -> bool {
    let has = |word: &[u8]| source.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    has(b"get") && (has(b"del") || has(b"unlink")) && (has(b"==") || has(b"~="))
}

/// Whether a word of SET requires that the key holds the owner's text.
fn is_comparison(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"ifeq") || word.eq_ignore_ascii_case(b"ifdeq")
}

/// Whether a node of a cluster or a replica has not run the request. Then another server decides about the lock.
fn is_for_another(answer: ReplySummary<'_>) -> bool {
    const WORDS: [&[u8]; 6] =
        [b"MOVED ", b"ASK ", b"TRYAGAIN ", b"CLUSTERDOWN ", b"CROSSSLOT ", b"READONLY "];
    matches!(answer, ReplySummary::Error(text) if WORDS.iter().any(|word| text.starts_with(word)))
}

/// Records a refusal for an owner that has asked for these keys.
fn native_acquire(tx: &mut Tx<'_>, keys: &[&[u8]], owner: &[u8], answer: ReplySummary<'_>) {
    let (cause, text) = match answer {
        ReplySummary::Null => (Cause::None, &b""[..]),
        ReplySummary::Error(text) => match text.strip_prefix(b"DEADLOCK ") {
            Some(cycle) => (Cause::Deadlock, cycle),
            None if text.starts_with(b"ERR") => return,
            None => (Cause::Error, &b""[..]),
        },
        _ => return,
    };
    for key in keys {
        if tx.marked(key).is_none() {
            records::note_unleased(tx, key, owner, Some(true));
        }
        let what =
            Happening { cause, text, native: Some(true), ..Happening::new(Event::Refused, key, owner) };
        records::record(tx, what);
    }
}

/// Returns the keys of a request for several locks, and the owner behind them.
fn several(args: Args<'_>) -> Option<(&[&[u8]], &[u8])> {
    let count = args.count(1).ok()?;
    Some((args.all().get(2..2 + count)?, args.get(2 + count)?))
}

/// Records the refusal of several locks, of those that others hold or else of the first.
fn several_acquire(tx: &mut Tx<'_>, args: Args<'_>, answer: ReplySummary<'_>) {
    let Some((keys, owner)) = several(args) else { return };
    let is_others =
        |key: &&&[u8]| tx.marked(key).is_some_and(|(value, _)| !redisson::is_held_by(value, owner));
    let others: Vec<&[u8]> = keys.iter().filter(is_others).copied().collect();
    let refused = if others.is_empty() { &keys[..keys.len().min(1)] } else { &others };
    native_acquire(tx, refused, owner, answer);
}

fn several_release(tx: &mut Tx<'_>, args: Args<'_>, answer: ReplySummary<'_>) {
    if let Some((keys, owner)) = several(args)
        && matches!(answer, ReplySummary::Error(text) if !text.starts_with(b"ERR"))
    {
        let is_lost = |key: &&&[u8]| !tx.peek(key).is_some_and(|value| redisson::is_held_by(value, owner));
        let lost: Vec<&[u8]> = keys.iter().filter(is_lost).copied().collect();
        lost.iter().for_each(|key| note(tx, Event::ReleaseRefused, key, owner));
    }
}

fn native_release(tx: &mut Tx<'_>, args: Args<'_>, answer: ReplySummary<'_>) {
    if matches!(answer, ReplySummary::Error(text) if !text.starts_with(b"ERR")) {
        note(tx, Event::ReleaseRefused, &args[1], &args[2]);
    }
}

/// Records the renewals that were refused. The reply is an array with 1 or 0 for each key.
fn native_renewal(tx: &mut Tx<'_>, args: Args<'_>, answer: ReplySummary<'_>) {
    let Ok(count) = args.count(1) else { return };
    let Some(owner) = args.get(2 + count) else { return };
    let keys = &args.from(2)[..count];
    match answer {
        ReplySummary::Error(text) if !text.starts_with(b"ERR") => {
            keys.iter().for_each(|key| note(tx, Event::RenewalRefused, key, owner));
        }
        ReplySummary::Other(reply) => {
            let renewed = flags(reply, count).unwrap_or_default();
            for (key, _) in keys.iter().zip(renewed).filter(|(_, renewed)| !renewed) {
                note(tx, Event::RenewalRefused, key, owner);
            }
        }
        _ => {}
    }
}

/// Records the refusal of a script for its first key, or for each if it renews several: it answers 1 or 0.
fn script(tx: &mut Tx<'_>, args: Args<'_>, answer: ReplySummary<'_>) {
    let of_one = !matches!(answer, ReplySummary::Other(_));
    // Most scripts have changed something. To see that takes no more than the first key, if there is one.
    if of_one && args.get(3).is_none_or(|key| has_recorded(tx, key)) {
        return;
    }
    let Ok(count) = args.count(2) else { return };
    let Some(arguments) = args.all().get(3 + count..) else { return };
    let keys = &args.from(3)[..count];
    if of_one && keys.is_empty() {
        return;
    }
    if let ReplySummary::Other(reply) = answer
        && let Some(renewed) = flags(reply, count)
    {
        let lost = keys.iter().zip(renewed).filter(|(_, renewed)| !renewed);
        for (key, _) in lost {
            if let Some(owner) = owner_of_script(tx, key, arguments) {
                note_script(tx, Event::RenewalRefused, key, &owner);
            }
        }
        return;
    }
    let Some(key) = keys.first() else { return };
    let Some(owner) = owner_of_script(tx, key, arguments) else { return };
    let is_unlock = keys.iter().any(|other| Channels::of(key).all.iter().any(|channel| **channel == **other));
    let renews = arguments.iter().any(|word| number::parse_i64(word).is_some_and(|number| number > 0));
    match answer {
        ReplySummary::Error(_) => {}
        ReplySummary::Null => note_script(tx, Event::ReleaseRefused, key, &owner),
        _ if is_unlock => note_script(tx, Event::ReleaseRefused, key, &owner),
        ReplySummary::Integer(0) if is_in_vain(tx, keys) => refused(tx, key, &owner),
        ReplySummary::Integer(0) if renews => note_script(tx, Event::RenewalRefused, key, &owner),
        ReplySummary::Integer(0) => note_script(tx, Event::ReleaseRefused, key, &owner),
        _ => refused(tx, key, &owner),
    }
}

/// Whether a script that answers 0 may have asked for the lock, and the reply is the time to wait. This happens in the
/// last millisecond of the lease, or by the place in the queue of a fair lock.
fn is_in_vain(tx: &Tx<'_>, keys: &[&[u8]]) -> bool {
    let Some((key, others)) = keys.split_first() else { return false };
    let queue = redisson::queue_key(key);
    tx.deadline(key).is_some_and(|deadline| deadline <= tx.now().wall_ms())
        || others.first().is_some_and(|other| **other == *queue)
}

/// Returns the elements of an array of `count` numbers that are all 1 or 0.
fn flags(reply: &[u8], count: usize) -> Option<Vec<bool>> {
    let mut lines = reply.split(|&byte| byte == b'\n').map(|line| line.trim_ascii_end());
    let len = lines.next()?.strip_prefix(b"*").and_then(number::parse_i64)?;
    if usize::try_from(len) != Ok(count) || count == 0 {
        return None;
    }
    let flag = |line: &[u8]| match line {
        b":1" => Some(true),
        b":0" => Some(false),
        _ => None,
    };
    lines.take(count).map(flag).collect()
}

/// Returns the owner among a script's arguments: one as Redisson names it, or one that has lost this lock.
fn owner_of_script(tx: &Tx<'_>, key: &[u8], arguments: &[&[u8]]) -> Option<Box<[u8]>> {
    if tx.marked(key).is_none() && tx.peek(key).is_some() {
        return None;
    }
    let is_owner = |word: &&&[u8]| redisson::is_owner(word) || records::last_loss(tx, key, word).is_some();
    arguments.iter().find(is_owner).map(|owner| (**owner).into())
}

/// Records that an owner's text was compared with that of a key and differs: the owner has lost the lock.
fn compared(tx: &mut Tx<'_>, event: Event, key: &[u8], owner: &[u8]) {
    let is_lock = tx.marked(key).is_some() || tx.peek(key).is_none();
    if is_lock && records::last_loss(tx, key, owner).is_some() {
        note(tx, event, key, owner);
    }
}

/// Records the refusal of a request that sets several texts or none, for the keys that others hold.
fn several_texts(tx: &mut Tx<'_>, args: Args<'_>) {
    let Ok(count) = args.count(1) else { return };
    let Some(words) = count.checked_mul(2).and_then(|words| args.all().get(2..)?.get(..words)) else {
        return;
    };
    let is_nx = args.all()[2 + words.len()..].iter().any(|word| word.eq_ignore_ascii_case(b"nx"));
    for [key, owner] in words.as_chunks::<2>().0.iter().filter(|_| is_nx) {
        refused(tx, key, owner);
    }
}

/// Records that a client asked for a held lock.
fn refused(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) {
    if tx.marked(key).is_none() {
        records::note_unleased(tx, key, owner, None);
    } else if !holds(tx, key, owner) {
        note(tx, Event::Refused, key, owner);
    }
}

fn holds(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> bool {
    match tx.peek(key) {
        Some(Value::Hash(hash)) => owner != MODE_FIELD && hash.contains(owner),
        Some(Value::Str(text)) => *text.text() == *owner,
        _ => false,
    }
}

/// Whether the request has made an entry for this key, or there is no history.
fn has_recorded(tx: &Tx<'_>, key: &[u8]) -> bool {
    let history = LockRecords::of(tx).history();
    history.is_none_or(|history| history.has_recorded(tx.db(), key))
}

/// Adds an entry for a script that has not changed this key, and notifies listeners.
fn note_script(tx: &mut Tx<'_>, event: Event, key: &[u8], owner: &[u8]) {
    if has_recorded(tx, key) {
        return;
    }
    note(tx, event, key, owner);
    match event {
        Event::ReleaseRefused => lint(tx, key, owner, "release-by-other"),
        _ if records::last_loss(tx, key, owner).is_some() => lint(tx, key, owner, "renewal-after-loss"),
        _ => {}
    }
}

/// Adds an entry, unless the request has made one for this key already and so has changed it.
fn note(tx: &mut Tx<'_>, event: Event, key: &[u8], owner: &[u8]) {
    if !has_recorded(tx, key) {
        let loss = records::last_loss(tx, key, owner);
        let grant = loss.map_or(0, |loss| loss.grant);
        records::record(tx, Happening { grant, ..Happening::new(event, key, owner) });
    }
}
