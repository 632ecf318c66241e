//! Lists.

use super::read_count;
use crate::rdb::listpack::Listpack;
use crate::rdb::ziplist::Ziplist;
use crate::rdb::{Corrupt, Reader, types};
use crate::values::{Encodings, List, ListBuilder};

/// Reads a list in this form. Blocks are kept, so that the list is written as it was. As in Redis 7.2, a list that was
/// one ziplist stays large. So does a list with an element in a node of its own.
pub(super) fn read(form: u8, reader: &mut Reader<'_>, enc: &Encodings) -> Result<List, Corrupt> {
    let mut list = ListBuilder::new(enc);
    let nodes = if form == types::LIST_ZIPLIST { 1 } else { read_count(reader)? };
    let mut may_be_small = form != types::LIST_ZIPLIST;
    for _ in 0..nodes {
        match form {
            types::LIST => list.push(&reader.string()?),
            types::LIST_QUICKLIST_2 => may_be_small &= read_node(reader, &mut list)? == types::NODE_PACKED,
            _ => list.push_block(Ziplist::parse(&reader.string()?)?.iter()),
        }
    }
    let list = list.finish(may_be_small);
    if list.is_empty() { Err(Corrupt) } else { Ok(list) }
}

/// Reads a node; returns its kind.
fn read_node(reader: &mut Reader<'_>, list: &mut ListBuilder) -> Result<usize, Corrupt> {
    let kind = reader.length()?;
    let node = reader.string()?;
    match kind {
        types::NODE_PLAIN => list.push_block([&*node]),
        types::NODE_PACKED => list.push_block(Listpack::parse(&node)?.iter()),
        _ => return Err(Corrupt),
    }
    Ok(kind)
}
