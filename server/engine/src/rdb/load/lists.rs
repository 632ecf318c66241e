//! Lists.

use super::read_count;
use crate::rdb::listpack::Listpack;
use crate::rdb::ziplist::Ziplist;
use crate::rdb::{Corrupt, Reader, types};
use crate::values::{Encodings, List, ListBuilder};

/// Reads a list in this form. Blocks stay what they are, so that the list is written as it was.
pub(super) fn read(form: u8, reader: &mut Reader<'_>, enc: &Encodings) -> Result<List, Corrupt> {
    let mut list = ListBuilder::new(enc);
    let nodes = if form == types::LIST_ZIPLIST { 1 } else { read_count(reader)? };
    for _ in 0..nodes {
        match form {
            types::LIST => list.push(&reader.string()?),
            types::LIST_QUICKLIST_2 => read_node(reader, &mut list)?,
            _ => list.push_block(Ziplist::parse(&reader.string()?)?.iter()),
        }
    }
    let list = list.finish();
    if list.is_empty() { Err(Corrupt) } else { Ok(list) }
}

fn read_node(reader: &mut Reader<'_>, list: &mut ListBuilder) -> Result<(), Corrupt> {
    let kind = reader.length()?;
    let node = reader.string()?;
    match kind {
        types::NODE_PLAIN => list.push_block([&*node]),
        types::NODE_PACKED => list.push_block(Listpack::parse(&node)?.iter()),
        _ => return Err(Corrupt),
    }
    Ok(())
}
