//! Reading of streams.

use crate::rdb::listpack::Listpack;
use crate::rdb::{Corrupt, Reader, stream_flags, types};
use crate::values::stream::{Group, Log, NodeLimits, Pending, StreamId};
use crate::values::{Stream, Text, parse_integer};
use std::collections::BTreeMap;

/// The code of an unknown number.
const UNKNOWN: u64 = u64::MAX;

/// The time of a pending entry's last delivery, and the number of its deliveries.
type Delivered = (i64, u64);

/// Reads a stream in this form. Ids must ascend, counts must agree, and every pending entry must have a consumer.
pub(super) fn read(form: u8, reader: &mut Reader<'_>) -> Result<Stream, Corrupt> {
    let mut stream = Stream::new();
    let nodes = reader.length()?;
    let mut last = None;
    for _ in 0..nodes {
        let first = read_key(&reader.string()?)?;
        last = Some(read_node(first, last, &reader.string()?, &mut stream.log)?);
    }
    let (len, last_id) = (reader.length()?, read_id(reader)?);
    if last.is_some_and(|last| last > last_id) {
        return Err(Corrupt);
    }
    let (first_id, max_deleted_id, entries_added) = if form == types::STREAM {
        (None, StreamId::MIN, len as u64)
    } else {
        (Some(read_id(reader)?), read_id(reader)?, reader.number()?)
    };
    stream.log.finish_restored(first_id, last_id, entries_added, max_deleted_id);
    if stream.len() != len {
        return Err(Corrupt);
    }
    let groups = reader.length()?;
    for _ in 0..groups {
        let name = reader.string()?;
        let group = read_group(form, reader, &stream.log)?;
        if !stream.groups.add(&name, group) {
            return Err(Corrupt);
        }
    }
    Ok(stream)
}

fn read_id(reader: &mut Reader<'_>) -> Result<StreamId, Corrupt> {
    Ok(StreamId::new(reader.number()?, reader.number()?))
}

fn read_key(bytes: &[u8]) -> Result<StreamId, Corrupt> {
    let id = u128::from_be_bytes(bytes.try_into().map_err(|_| Corrupt)?);
    // Each cast keeps one half of the id.
    Ok(StreamId::new((id >> 64) as u64, id as u64))
}

/// Reads a node whose entries must follow the entry with the id `before`; returns the id of its last entry.
fn read_node(
    first: StreamId,
    before: Option<StreamId>,
    bytes: &[u8],
    log: &mut Log,
) -> Result<StreamId, Corrupt> {
    if bytes.len() > NodeLimits::LARGEST {
        return Err(Corrupt);
    }
    let listpack = Listpack::parse(bytes)?;
    let mut elements = listpack.iter();
    let mut count = || self::count(&mut elements, listpack.len());
    let (live, deleted, shared) = (count()?, count()?, count()?);
    let fields: Vec<Text<'_>> = elements.by_ref().take(shared).collect();
    if fields.len() < shared || integer(&mut elements)? != 0 || live == 0 {
        return Err(Corrupt);
    }
    log.push_node(first, &fields.iter().map(|field| &**field).collect::<Vec<_>>());
    let (mut last, mut deleted_here) = (before, 0);
    for _ in 0..live.checked_add(deleted).ok_or(Corrupt)? {
        let (id, is_deleted) = read_entry(first, shared, &mut elements, listpack.len(), log)?;
        if id < first || last.is_some_and(|last| id <= last) {
            return Err(Corrupt);
        }
        last = Some(id);
        deleted_here += usize::from(is_deleted);
    }
    if deleted_here != deleted || elements.next().is_some() {
        return Err(Corrupt);
    }
    last.ok_or(Corrupt)
}

/// Reads an entry into the last node; returns its id, and whether it is deleted.
fn read_entry<'a>(
    first: StreamId,
    shared: usize,
    elements: &mut impl Iterator<Item = Text<'a>>,
    most: usize,
    log: &mut Log,
) -> Result<(StreamId, bool), Corrupt> {
    let flags = integer(elements)?;
    let [ms, seq] = [integer(elements)?, integer(elements)?];
    let id = StreamId::new(first.ms.wrapping_add_signed(ms), first.seq.wrapping_add_signed(seq));
    let shares_fields = flags & stream_flags::SHARED_FIELDS != 0;
    let (texts, others) = if shares_fields { (shared, 3) } else { (count(elements, most)? * 2, 4) };
    let texts: Vec<Text<'_>> = elements.by_ref().take(texts).collect();
    if integer(elements)? != (texts.len() + others) as i64 {
        return Err(Corrupt);
    }
    let is_deleted = flags & stream_flags::DELETED != 0;
    log.push_restored(id, is_deleted, !shares_fields, &texts.iter().map(|text| &**text).collect::<Vec<_>>());
    Ok((id, is_deleted))
}

fn integer<'a>(elements: &mut impl Iterator<Item = Text<'a>>) -> Result<i64, Corrupt> {
    elements.next().and_then(|text| parse_integer(&text)).ok_or(Corrupt)
}

/// Reads the next element as a count, which must not exceed the number of elements.
fn count<'a>(elements: &mut impl Iterator<Item = Text<'a>>, most: usize) -> Result<usize, Corrupt> {
    usize::try_from(integer(elements)?).ok().filter(|count| *count <= most).ok_or(Corrupt)
}

fn read_group(form: u8, reader: &mut Reader<'_>, log: &Log) -> Result<Group, Corrupt> {
    let last_id = read_id(reader)?;
    let entries_read = match form {
        types::STREAM => log.count_up_to(last_id),
        _ => Some(reader.number()?).filter(|read| *read != UNKNOWN),
    };
    let mut group = Group::new(last_id, entries_read);
    let mut pending = BTreeMap::new();
    for _ in 0..reader.length()? {
        let id = read_key(reader.bytes(16)?)?;
        let delivered = (i64::from_le_bytes(reader.array()?), reader.number()?);
        if pending.insert(id, delivered).is_some() {
            return Err(Corrupt);
        }
    }
    for _ in 0..reader.length()? {
        read_consumer(form, reader, &mut pending, &mut group)?;
    }
    if pending.is_empty() { Ok(group) } else { Err(Corrupt) }
}

/// Reads a consumer, and assigns its pending entries to it.
fn read_consumer(
    form: u8,
    reader: &mut Reader<'_>,
    pending: &mut BTreeMap<StreamId, Delivered>,
    group: &mut Group,
) -> Result<(), Corrupt> {
    let name = reader.string()?;
    let seen_ms = i64::from_le_bytes(reader.array()?);
    let active_ms = if form == types::STREAM_3 { i64::from_le_bytes(reader.array()?) } else { seen_ms };
    let (consumer, is_new) = group.find_or_add(&name, seen_ms);
    if !is_new {
        return Err(Corrupt);
    }
    group.set_times(consumer, seen_ms, (active_ms >= 0).then_some(active_ms));
    for _ in 0..reader.length()? {
        let id = read_key(reader.bytes(16)?)?;
        let (delivered_ms, deliveries) = pending.remove(&id).ok_or(Corrupt)?;
        group.assign(id, Pending { consumer, delivered_ms, deliveries });
    }
    Ok(())
}
