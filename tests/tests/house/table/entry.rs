//! A server's description of its commands: COMMAND and COMMAND DOCS, field by field.

use crate::table::wire::Wire;
use lockwheel_tests::reply::Reply;
use std::collections::BTreeMap;

/// The fields of a command by their names.
pub(crate) type Fields = BTreeMap<String, Reply>;

/// The fields of every command and subcommand, by its full name.
pub(crate) type Entries = BTreeMap<String, Fields>;

/// The fields of an entry of COMMAND INFO, in order; the subcommands follow.
pub(crate) const INFO: [&str; 9] =
    ["name", "arity", "flags", "first key", "last key", "key step", "categories", "tips", "key specs"];

/// The field that holds the names of the others in the order of the reply.
pub(crate) const ORDER: &str = "fields";

/// Reads COMMAND.
pub(crate) fn info(client: &mut Wire) -> Entries {
    let mut entries = Entries::new();
    elements(client.line("COMMAND")).for_each(|entry| read_info(entry, &mut entries));
    entries
}

fn read_info(entry: Reply, entries: &mut Entries) {
    let mut fields = elements(entry);
    let named: Fields = INFO.iter().map(ToString::to_string).zip(fields.by_ref()).collect();
    entries.insert(text(&named["name"]), named);
    fields.flat_map(elements).for_each(|subcommand| read_info(subcommand, entries));
}

/// Reads COMMAND DOCS, without the subcommands of a container.
pub(crate) fn docs(client: &mut Wire) -> Entries {
    let mut entries = Entries::new();
    read_docs(client.line("COMMAND DOCS"), &mut entries);
    entries
}

fn read_docs(docs: Reply, entries: &mut Entries) {
    for (name, entry) in pairs(docs) {
        let (mut fields, mut order) = (Fields::new(), Vec::new());
        for (field, value) in pairs(entry) {
            if field == "subcommands" {
                read_docs(value, entries);
            } else {
                order.push(Reply::Bulk(field.clone().into_bytes()));
                fields.insert(field, value);
            }
        }
        fields.insert(ORDER.to_owned(), Reply::Array(order));
        entries.insert(name, fields);
    }
}

/// Removes the display texts of arguments.
pub(crate) fn without_display(arguments: &Reply) -> Reply {
    let mut arguments = arguments.clone();
    each_argument(&mut arguments, &mut |fields| {
        let is_shown = |name: &Reply| name.as_bytes() == Some(b"display_text");
        match fields {
            Reply::Map(pairs) => pairs.retain(|(name, _)| !is_shown(name)),
            Reply::Array(items) => {
                if let Some(at) = items.iter().step_by(2).position(is_shown) {
                    items.drain(2 * at..2 * at + 2);
                }
            }
            _ => {}
        }
    });
    arguments
}

/// The token of each argument, and its display text.
pub(crate) fn displays(arguments: &Reply) -> Vec<(String, String)> {
    let (mut shown, mut arguments) = (Vec::new(), arguments.clone());
    each_argument(&mut arguments, &mut |argument| {
        let fields: Fields = pairs(argument.clone()).collect();
        let field = |name: &str| fields.get(name).map(text);
        shown.extend(field("display_text").map(|display| (field("token").unwrap_or_default(), display)));
    });
    shown
}

/// Calls `look` for each argument of a list and of the groups in it.
fn each_argument(arguments: &mut Reply, look: &mut impl FnMut(&mut Reply)) {
    let Reply::Array(arguments) = arguments else { return };
    for argument in arguments {
        look(argument);
        match argument {
            Reply::Map(pairs) => {
                let groups = pairs.iter_mut().filter(|(name, _)| name.as_bytes() == Some(b"arguments"));
                groups.for_each(|(_, inner)| each_argument(inner, look));
            }
            Reply::Array(items) => {
                let groups =
                    items.chunks_exact_mut(2).filter(|pair| pair[0].as_bytes() == Some(b"arguments"));
                groups.for_each(|pair| each_argument(&mut pair[1], look));
            }
            _ => {}
        }
    }
}

/// The elements of a list or set. A map's keys and values alternate.
pub(crate) fn elements(reply: Reply) -> std::vec::IntoIter<Reply> {
    reply.into_elements().expect("a list").into_iter()
}

/// The keys and values of a map, which alternate in a list of RESP2.
pub(crate) fn pairs(reply: Reply) -> impl Iterator<Item = (String, Reply)> {
    let mut elements = elements(reply);
    std::iter::from_fn(move || Some((text(&elements.next()?), elements.next()?)))
}

/// The text of a bulk or simple string.
pub(crate) fn text(reply: &Reply) -> String {
    String::from_utf8_lossy(reply.as_bytes().expect("a text")).into_owned()
}
