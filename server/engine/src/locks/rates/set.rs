//! `RATE.SET`: sets the permits of an interval.

use super::super::key_changes;
use super::super::redisson::{RATE_FIELDS, rate_permits_key, rate_value_key};
use super::limiter::PER_CLIENT;
use crate::spec::{
    Args, CommandGrammar, DataHandler, Flags, KeyFlags, KeySpec, Outcome, ParsedArgs, Row, Symbol, grammar,
    symbols,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{KeyRequest, Tx, events};
use lockwheel_store::values::Hash;

const SET: &CommandGrammar = grammar!("key permits:1.. milliseconds:1.. [NX] [CLIENT client-id=id:string]");
const PERMITS: Symbol = SET.symbol("permits");
const INTERVAL: Symbol = SET.symbol("milliseconds");

symbols!(SET: NX, CLIENT);

pub(super) const ROWS: &[Row<DataHandler>] = &[
    Row::new("rate.set", -4, set as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["lock"])
        .keys(&[KeySpec::one(1, &[KeyFlags::OW, KeyFlags::UPDATE])])
        .about("lock", "7.2.0", "O(1)")
        .summary("Sets the permits per interval, for all clients or each; with NX only if none are set.")
        .reply("An integer: 1 if the rate was set, 0 if NX is given and a rate is set.")
        .options(&[&[
            ("permits", "The permits of an interval."),
            ("milliseconds", "The length of the interval."),
            ("NX", "Sets the rate only if none is set. Without NX, all taken permits are free again."),
            (
                "CLIENT client-id",
                "Gives each client permits of its own. Without NX, only those of this client are free again.",
            ),
        ]])
        .example(&["RATE.SET mail 2 1000", "RATE.SET mail 5 1000 NX"])
        .help(&[
            "RATE.SET <key> <permits> <milliseconds> [NX] [CLIENT <id>]",
            "    Set the permits per interval; with CLIENT each client has its own. Without NX all permits",
            "    are free again; with CLIENT those of that client.",
        ])
        .grammar(SET)
        .errors(&[
            "ERR syntax error: *",
            "ERR value is out of range, must be positive: *",
            "ERR value is not an integer or out of range: *",
        ]),
    Row::help_command("rate.help", 1)
        .flags(&[Flags::LOADING, Flags::STALE])
        .categories(&["lock"])
        .about("lock", "7.2.0", "O(1)")
        .summary("Explains the rate commands."),
];

fn set(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let options: ParsedArgs<'_> = SET.parse(args)?;
    let (only_new, client) = (options.has(NX), options.value(CLIENT));
    let number = |symbol| options.integer(symbol).map(Option::unwrap_or_default);
    let kind = if client.is_some() { PER_CLIENT } else { 0 };
    let values = [number(PERMITS)?, number(INTERVAL)?, 0, kind].map(|value| value.to_string().into_bytes());
    let [rate, interval, keep_alive, r#type] = RATE_FIELDS;
    // Redisson writes the fields in these two orders.
    let order =
        if only_new { [rate, interval, keep_alive, r#type] } else { [rate, interval, r#type, keep_alive] };
    let is_set = tx.read::<Hash>(key)?.is_some_and(|hash| hash.contains(r#type));
    let edit = tx.write_or_new::<Hash>(key)?;
    let mut fields: Vec<(&[u8], &[u8])> = Vec::new();
    for field in order {
        let value = RATE_FIELDS.iter().position(|one| *one == field).map(|at| &values[at]);
        if let Some(value) = value.filter(|_| !only_new || !edit.value.contains(field)) {
            edit.value.set(field, value, edit.encodings);
            fields.push((field, value));
        }
    }
    if !only_new {
        key_changes::delete(tx, &rate_value_key(key, client));
        key_changes::delete(tx, &rate_permits_key(key, client));
    }
    if !fields.is_empty() {
        tx.changed(key, events::HSET);
        tx.propagate_key(key, &[KeyRequest::SetFields(&fields)]);
    }
    reply.integer(i64::from(!only_new || !is_set));
    Ok(())
}
