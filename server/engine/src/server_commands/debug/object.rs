//! DEBUG OBJECT, SDSLEN, HTSTATS and HTSTATS-KEY: the representation of values.

use super::peek;
use crate::core::DebugControl;
use crate::spec::{Args, CommandError, Outcome};
use lockwheel_resp::Reply;
use lockwheel_store::memory::block;
use lockwheel_store::rdb::{self, Writer};
use lockwheel_store::values::{Encoding, Value};

const NOT_A_STRING: &str = "ERR Not an sds encoded string.";
const NOT_A_TABLE: &str = "ERR The value stored at the specified key is not represented using an hash table";
const NO_DATABASE: &str = "ERR Out of range database";

/// Replies with a value's representation, in Redis' format but without the address: equal requests get equal replies.
pub(super) fn object(control: &mut DebugControl<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let list_max = control.config.encodings.list_max_listpack_size;
    let tx = control.tx();
    let clock = tx.access_clock(&args[2]).unwrap_or_default();
    let (lru, idle) = (clock.bits(), tx.accesses().idle_seconds(clock));
    let text = peek(control, &args[2], |value| {
        let mut writer = Writer::new();
        rdb::write_value(value, &mut writer);
        // The type byte is not counted.
        let length = writer.written().len() - 1;
        let encoding = value.encoding();
        let mut text = format!(
            "Value at:0x0 refcount:1 encoding:{encoding} serializedlength:{length} lru:{lru} \
             lru_seconds_idle:{idle}"
        );
        if let (Value::List(list), Encoding::Quicklist) = (value, encoding) {
            let (nodes, bytes) = list
                .blocks()
                .fold((0, 0), |(nodes, bytes), block| (nodes + 1, bytes + block.listpack_size()));
            let average = list.len() as f64 / f64::from(nodes);
            text += &format!(
                " ql_nodes:{nodes} ql_avg_node:{average:.2} ql_listpack_max:{list_max} ql_compressed:0 \
                 ql_uncompressed_size:{bytes}"
            );
        }
        text
    })?;
    reply.status(text.as_bytes());
    Ok(())
}

/// Replies with the memory of a key's name and of its string.
pub(super) fn string_lengths(
    control: &mut DebugControl<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    let lengths = peek(control, &args[2], |value| match value {
        Value::Str(text) if text.encoding() != Encoding::Int => {
            let len = text.len();
            Some((len, text.outside().saturating_sub(len), value.heap_bytes()))
        }
        _ => None,
    })?;
    let (len, available, bytes) = lengths.ok_or(CommandError::text(NOT_A_STRING))?;
    let key = args[2].len();
    let text = format!(
        "key_sds_len:{key}, key_sds_avail:0, key_zmalloc: {}, val_sds_len:{len}, val_sds_avail:{available}, \
         val_zmalloc: {bytes}",
        block(key),
    );
    reply.status(text.as_bytes());
    Ok(())
}

/// Replies with the number of keys of a database.
pub(super) fn table_of_database(
    control: &mut DebugControl<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    let mut tx = control.tx();
    let db = usize::try_from(args.int(2)?).ok().filter(|db| *db < tx.databases());
    tx.select(db.ok_or(CommandError::text(NO_DATABASE))?);
    let with_deadline = tx.iter().filter(|(key, _)| tx.deadline(key).is_some()).count();
    let [keys, expires] = [tx.len(), with_deadline].map(statistics);
    let text = format!("[Dictionary HT]\n{keys}[Expires HT]\n{expires}");
    reply.verbatim(*b"txt", text.as_bytes());
    Ok(())
}

/// Replies with the number of elements of a value that is stored in a table.
pub(super) fn table_of_key(control: &mut DebugControl<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let len = peek(control, &args[2], |value| {
        let is_table = matches!(value.encoding(), Encoding::Hashtable | Encoding::Skiplist);
        is_table.then(|| value.parts()).ok_or(CommandError::text(NOT_A_TABLE))
    })??;
    reply.verbatim(*b"txt", statistics(len).as_bytes());
    Ok(())
}

/// Returns the statistics of a table. There are no figures on chains, since the tables have none.
fn statistics(len: usize) -> String {
    let heading = "Hash table 0 stats (main hash table):\n";
    match len {
        0 => format!("{heading}No stats available for empty dictionaries\n"),
        _ => format!("{heading} number of elements: {len}\n"),
    }
}
