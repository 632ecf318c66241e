//! Replies as redis-cli shows them at a terminal.

use crate::reply::{Reply, quoted};

/// A reply as redis-cli shows it, with a line feed at the end and no space at the end of a line.
pub fn shown(reply: &Reply) -> String {
    let text = format(reply, "");
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A reply whose first line is written behind a prefix that the caller has written. Further lines begin with `prefix`.
fn format(reply: &Reply, prefix: &str) -> String {
    match reply {
        Reply::Status(text) => format!("{}\n", String::from_utf8_lossy(text)),
        Reply::Error(text) => format!("(error) {text}\n"),
        Reply::Int(number) => format!("(integer) {number}\n"),
        Reply::Bulk(bytes) => format!("{}\n", quoted(bytes)),
        Reply::Null => "(nil)\n".to_owned(),
        Reply::Double(number) => format!("(double) {number}\n"),
        Reply::Bool(value) => format!("({value})\n"),
        Reply::BigNumber(digits) => format!("{}\n", String::from_utf8_lossy(digits)),
        Reply::Verbatim(_, text) => format!("{}\n", String::from_utf8_lossy(text)),
        Reply::Array(items) | Reply::Push(items) => format_items(items, ("array", ')'), prefix),
        Reply::Set(items) => format_items(items, ("set", '~'), prefix),
        Reply::Map(pairs) => format_pairs(pairs, prefix),
    }
}

fn format_items(items: &[Reply], (name, sign): (&str, char), prefix: &str) -> String {
    if items.is_empty() {
        return format!("(empty {name})\n");
    }
    let width = items.len().to_string().len();
    let inner = format!("{prefix}{}", " ".repeat(width + 2));
    let mut text = String::new();
    for (index, item) in items.iter().enumerate() {
        let before = if index == 0 { "" } else { prefix };
        text.push_str(&format!("{before}{:width$}{sign} {}", index + 1, format(item, &inner)));
    }
    text
}

fn format_pairs(pairs: &[(Reply, Reply)], prefix: &str) -> String {
    if pairs.is_empty() {
        return "(empty hash)\n".to_owned();
    }
    let width = pairs.len().to_string().len();
    let inner = format!("{prefix}{}", " ".repeat(width + 2));
    let mut text = String::new();
    for (index, (name, value)) in pairs.iter().enumerate() {
        let before = if index == 0 { "" } else { prefix };
        let name = format(name, &inner);
        text.push_str(&format!("{before}{:width$}# {} => ", index + 1, name.trim_end()));
        if has_several_lines(value) {
            text.push_str(&format!("\n{inner}"));
        }
        text.push_str(&format(value, &inner));
    }
    text
}

/// Whether redis-cli writes the value of a map below its name.
fn has_several_lines(reply: &Reply) -> bool {
    match reply {
        Reply::Array(items) | Reply::Push(items) | Reply::Set(items) => match &items[..] {
            [] => false,
            [item] => has_several_lines(item),
            _ => true,
        },
        Reply::Map(pairs) => match &pairs[..] {
            [] => false,
            [(_, value)] => has_several_lines(value),
            _ => true,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Reply {
        Reply::Bulk(text.as_bytes().to_vec())
    }

    #[test]
    fn nested_replies_are_indented() {
        let holder =
            Reply::Map(vec![(bulk("owner"), bulk("bob")), (bulk("ids"), Reply::Array(vec![bulk("a")]))]);
        let reply = Reply::Map(vec![
            (bulk("ttl"), Reply::Int(-1)),
            (bulk("holders"), Reply::Array(vec![holder])),
            (bulk("waiters"), Reply::Array(vec![])),
        ]);
        let expected = "1# \"ttl\" => (integer) -1\n2# \"holders\" =>\n   1) 1# \"owner\" => \"bob\"\n      2# \"ids\" \
                        => 1) \"a\"\n3# \"waiters\" => (empty array)\n";
        assert_eq!(shown(&reply), expected);
    }

    #[test]
    fn plain_replies_are_one_line() {
        for (reply, expected) in [
            (Reply::Status(b"OK".to_vec()), "OK\n"),
            (Reply::Error("ERR no".into()), "(error) ERR no\n"),
            (Reply::Null, "(nil)\n"),
            (bulk("a\"b\n"), "\"a\\\"b\\n\"\n"),
        ] {
            assert_eq!(shown(&reply), expected);
        }
    }
}
