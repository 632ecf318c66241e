//! XADD and XTRIM.

use super::free_later;
use super::ids::NewId;
use super::replies::write_id;
use super::trim_options::{Command, TrimOptions};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::Stream;
use lockwheel_store::values::stream::{Keep, Log, NodeLimits, StreamId, Trim};

const UPDATES: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])
    .notes("UPDATE instead of INSERT because of the optional trimming feature")];
const DELETES: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::DELETE])];

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("xadd", -5, xadd as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["stream"])
        .keys(UPDATES)
        .about(
            "stream",
            "5.0.0",
            "O(1) when adding a new entry, O(N) when trimming where N being the number of entries evicted.",
        )
        .summary("Appends an entry to a stream, and may remove the oldest ones.")
        .history(&[
            ("6.2.0", "Added the `NOMKSTREAM` option, `MINID` trimming strategy and the `LIMIT` option."),
            ("7.0.0", "Added support for the `<ms>-*` explicit ID form."),
        ])
        .syntax(
            "key [NOMKSTREAM@6.2.0] [trim: (strategy: MAXLEN | MINID@6.2.0) [operator: = | ~] threshold \
             [LIMIT count@6.2.0]] (id_or_auto: * | id) (field value) ...",
        )
        .tips(&["nondeterministic_output"])
        .errors(&[
            "ERR Invalid stream ID specified as stream command argument",
            "ERR The ID specified in XADD must be greater than 0-0",
            "ERR The ID specified in XADD is equal or smaller than the target stream top item",
            "ERR The stream has exhausted the last possible ID, unable to add more items",
            "ERR Elements are too large to be stored",
            "ERR The MAXLEN argument must be >= 0.",
            "ERR The LIMIT argument must be >= 0.",
            "ERR value is not an integer or out of range",
            "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
            "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
            "ERR syntax error, LIMIT cannot be used without the special ~ option",
        ])
        .refusing_before("7.0.0", id_with_any_number),
    Row::new("xtrim", -4, xtrim as DataHandler)
        .flags(&[Flags::WRITE])
        .categories(&["stream"])
        .keys(DELETES)
        .about(
            "stream",
            "5.0.0",
            "O(N), with N being the number of evicted entries. Constant times are very small however, since \
             entries are organized in macro nodes containing multiple entries that can be released with a single \
             deallocation.",
        )
        .summary("Removes the oldest entries of a stream.")
        .history(&[("6.2.0", "Added the `MINID` trimming strategy and the `LIMIT` option.")])
        .syntax(
            "key (trim: (strategy: MAXLEN | MINID@6.2.0) [operator: = | ~] threshold [LIMIT count@6.2.0])",
        )
        .tips(&["nondeterministic_output"])
        .errors(&[
            "ERR Invalid stream ID specified as stream command argument",
            "ERR The MAXLEN argument must be >= 0.",
            "ERR The LIMIT argument must be >= 0.",
            "ERR value is not an integer or out of range",
            "ERR syntax error",
            "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
            "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
            "ERR syntax error, XTRIM must be called with a trimming strategy",
            "ERR syntax error, LIMIT cannot be used without the special ~ option",
        ]),
];

/// The error for an id with only one of its numbers, which was refused before 7.0.
fn id_with_any_number(args: Args<'_>) -> Option<CommandError> {
    let any = NodeLimits { bytes: 0, entries: 0 };
    let options = TrimOptions::parse(args, Command::Add, any).ok()?;
    matches!(options.id, NewId::AutoSeq(_)).then_some(errors::INVALID_STREAM_ID)
}

fn xadd(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let limits = tx.encodings().stream_node;
    let options = TrimOptions::parse(args, Command::Add, limits)?;
    let texts = args.from(options.fields);
    if texts.is_empty() || !texts.len().is_multiple_of(2) {
        return Err(CommandError::arity("xadd"));
    }
    if options.id == NewId::Exact(StreamId::MIN) {
        return Err(errors::ID_NOT_ABOVE_ZERO);
    }
    if texts.iter().map(|text| text.len()).sum::<usize>() > NodeLimits::LARGEST {
        tx.write::<Stream>(&args[1])?;
        return Err(errors::ELEMENTS_TOO_LARGE);
    }
    let now_ms = u64::try_from(tx.now().wall_ms()).unwrap_or(0);
    let append = |log: &mut Log| {
        let id = new_id(log, options.id, now_ms)?;
        log.append(id, texts, limits).map_err(|_| errors::ELEMENTS_TOO_LARGE)?;
        Ok::<_, CommandError>(id)
    };
    let id = match tx.write::<Stream>(&args[1])? {
        Some(edit) => append(&mut edit.value.log)?,
        None if options.no_make => {
            reply.null();
            return Ok(());
        }
        None => {
            // The key is created only with an entry.
            let mut stream = Stream::default();
            let id = append(&mut stream.log)?;
            *tx.write_or_new::<Stream>(&args[1])?.value = stream;
            id
        }
    };
    write_id(id, reply);
    tx.changed(&args[1], events::XADD);
    if let Some(how) = options.trim
        && trim(tx, &args[1], how)? > 0
    {
        tx.notify(&args[1], events::XTRIM);
    }
    propagate_added(tx, args, &options, id)
}

fn propagate_added(tx: &mut Tx<'_>, args: Args<'_>, options: &TrimOptions, id: StreamId) -> Outcome {
    if !tx.is_propagated() {
        return Ok(());
    }
    let trimmed = exact_trimming(tx, args, options)?;
    let id = (!matches!(options.id, NewId::Exact(_))).then(|| id.text());
    let mut words = allocation::collect(args.all().iter().copied());
    if let Some(id) = &id {
        words[options.fields - 1] = id;
    }
    propagate_with(tx, words, options, trimmed.as_deref());
    Ok(())
}

fn propagate_trimmed(tx: &mut Tx<'_>, args: Args<'_>, options: &TrimOptions) -> Outcome {
    if tx.is_propagated() {
        let trimmed = exact_trimming(tx, args, options)?;
        let words = allocation::collect(args.all().iter().copied());
        propagate_with(tx, words, options, trimmed.as_deref());
    }
    Ok(())
}

fn propagate_with<'w>(
    tx: &mut Tx<'_>,
    mut words: Vec<&'w [u8]>,
    options: &TrimOptions,
    threshold: Option<&'w [u8]>,
) {
    if let Some(threshold) = threshold {
        words[options.threshold - 1] = b"=";
        words[options.threshold] = threshold;
    }
    tx.propagate(&words);
}

/// Returns the threshold at which exact trimming leaves the present entries. `None`: it was exact, or there was none.
fn exact_trimming(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    options: &TrimOptions,
) -> Result<Option<Vec<u8>>, CommandError> {
    let Some(Trim { keep, whole_nodes: true, .. }) = options.trim else { return Ok(None) };
    let Some(edit) = tx.write::<Stream>(&args[1])? else { return Ok(None) };
    let log = &edit.value.log;
    Ok(Some(match keep {
        Keep::Last(_) => log.len().to_string().into_bytes(),
        Keep::From(_) if log.is_empty() => StreamId::MAX.text().to_vec(),
        Keep::From(_) => log.first_id().text().to_vec(),
    }))
}

fn new_id(log: &Log, id: NewId, now_ms: u64) -> Result<StreamId, CommandError> {
    let last = log.last_id();
    if last == StreamId::MAX {
        return Err(errors::STREAM_EXHAUSTED);
    }
    let id = match id {
        NewId::Auto => log.next_id(now_ms).ok_or(errors::STREAM_EXHAUSTED)?,
        NewId::AutoSeq(ms) if ms == last.ms && last.seq == u64::MAX => return Err(errors::ID_NOT_ABOVE_TOP),
        NewId::AutoSeq(ms) if ms == last.ms => StreamId::new(ms, last.seq + 1),
        NewId::AutoSeq(ms) => StreamId::new(ms, 0),
        NewId::Exact(id) => id,
    };
    if id > last { Ok(id) } else { Err(errors::ID_NOT_ABOVE_TOP) }
}

fn xtrim(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let options = TrimOptions::parse(args, Command::Trim, tx.encodings().stream_node)?;
    let removed = match options.trim {
        Some(how) => trim(tx, &args[1], how)?,
        None => 0,
    };
    if removed > 0 {
        tx.changed(&args[1], events::XTRIM);
        propagate_trimmed(tx, args, &options)?;
    }
    reply.integer(removed as i64);
    Ok(())
}

/// Trims a stream. Returns the number of removed entries.
fn trim(tx: &mut Tx<'_>, key: &[u8], how: Trim) -> Result<usize, CommandError> {
    let Some(edit) = tx.write::<Stream>(key)? else { return Ok(0) };
    let (removed, nodes) = edit.value.log.trim(how);
    if !nodes.is_empty() {
        free_later(tx, nodes.into());
    }
    Ok(removed)
}
