//! The use of keys and arguments in a script, as far as its text shows it.

use crate::differential::Commands;
use std::collections::BTreeSet;

/// The use of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// The name of a command; all of these publish.
    Command,
    /// In arithmetic or a comparison.
    Number,
    /// The argument of this name to a command of this group.
    Argument(&'static str, &'static str),
    /// Unknown.
    Any,
}

/// A script's needs.
#[derive(Clone, Debug)]
pub struct Shape {
    /// For each key, the groups of commands that are called on it.
    pub keys: Vec<BTreeSet<&'static str>>,
    /// For each argument, its use.
    pub arguments: Vec<Use>,
    /// Whether it takes any number of arguments.
    pub more_arguments: bool,
    /// Whether it takes any number of keys.
    pub more_keys: bool,
    /// Whether the script counts up to a given number. Numbers must then be small, or the script runs for hours.
    pub counts: bool,
    /// The commands it calls by name, in lower case: `get`, `xinfo|groups`.
    pub commands: BTreeSet<String>,
    /// The formats by which the script unpacks values.
    pub formats: Vec<String>,
    /// The script's short string literals: fields, states, separators.
    pub words: Vec<String>,
}

impl Shape {
    /// Reads a script. Quadratic in its length at the worst.
    pub fn of(script: &str, commands: &Commands) -> Shape {
        let words: Vec<String> = quoted(script);
        let mut shape = Shape {
            keys: vec![BTreeSet::new(); highest(script, "KEYS[")],
            arguments: vec![Use::Any; highest(script, "ARGV[")],
            more_arguments: is_used_whole(script, "ARGV"),
            more_keys: is_used_whole(script, "KEYS"),
            counts: counts(script),
            commands: BTreeSet::new(),
            formats: formats(script),
            words: words.into_iter().filter(|word| (1..=16).contains(&word.len())).collect(),
        };
        for index in 0..shape.arguments.len() {
            if is_number(script, &format!("ARGV[{}]", index + 1)) {
                shape.arguments[index] = Use::Number;
            }
        }
        for call in calls(script) {
            shape.learn(&call, commands);
        }
        shape
    }

    /// Derives the use of arguments from one call.
    fn learn(&mut self, call: &[String], commands: &Commands) {
        let Some((name, _)) = call.split_first() else { return };
        if let Some(index) = place(name, "ARGV[")
            && let Some(argument) = self.arguments.get_mut(index)
        {
            *argument = Use::Command;
        }
        let words: Vec<Vec<u8>> = call
            .iter()
            .map_while(|text| literal(text))
            .take(2)
            .map(|word| word.as_bytes().to_vec())
            .collect();
        let Some(first) = words.first() else { return };
        let Some(subject) = commands.find(&words) else {
            self.commands.insert(String::from_utf8_lossy(first).to_lowercase());
            return;
        };
        self.commands.insert(subject.name().to_string());
        // A subcommand is two words.
        let (_, rest) = call.split_at(subject.name().split('|').count());
        let (names, group) = (subject.syntax.arguments(), subject.command.spec.group);
        for (at, text) in rest.iter().enumerate() {
            if let Some(index) = place(text, "KEYS[") {
                self.keys[index].insert(group);
            }
            let after = at.checked_sub(1).and_then(|before| literal(&rest[before])).map(str::to_lowercase);
            let name = match after.as_deref() {
                Some("px") => "milliseconds",
                Some("ex") => "seconds",
                _ => names.get(at).copied().unwrap_or("value"),
            };
            let inner =
                text.strip_prefix("tonumber(").and_then(|text| text.strip_suffix(')')).unwrap_or(text);
            if let Some(index) = place(inner, "ARGV[")
                && self.arguments[index] != Use::Command
            {
                self.arguments[index] = Use::Argument(name, group);
            }
        }
    }

    /// Whether the script reads the lifetime of keys.
    pub fn reads_times(&self) -> bool {
        self.commands.iter().any(|name| name.ends_with("ttl") || name.ends_with("expiretime"))
    }

    /// Whether the effect depends on the server's random choices, or on the exact time, as the ids of a stream do.
    pub fn chooses(&self) -> bool {
        let random = ["spop", "srandmember", "hrandfield", "zrandmember", "randomkey", "xadd"];
        random.iter().any(|name| self.commands.contains(*name))
    }

    /// Whether the script asks for the memory of keys, which each server stores in its own way.
    pub fn measures(&self) -> bool {
        self.commands.contains("memory|usage")
    }

    /// Whether the script scans a set by cursors. The table of 7.0 and the listpack of 7.2 return it in different
    /// steps.
    pub fn scans_sets(&self) -> bool {
        self.commands.contains("sscan")
    }

    /// Whether it reads elements in an order that is not promised.
    pub fn unordered(&self) -> bool {
        let names = [
            "smembers", "sscan", "sdiff", "sinter", "sunion", "hgetall", "hkeys", "hvals", "hscan", "keys",
            "scan",
        ];
        names.iter().any(|name| self.commands.contains(*name))
    }
}

/// Whether a `for` counts up to something else than the length of a table.
fn counts(script: &str) -> bool {
    let begins = script.match_indices("for ").map(|(at, found)| at + found.len());
    begins.map(|begin| script[begin..].split(" do").next().unwrap_or_default()).any(|head| {
        let mut parts = head.split(',');
        let is_numeric = parts.next().is_some_and(|first| first.contains('='));
        is_numeric && parts.next().is_some_and(|bound| !bound.contains('#'))
    })
}

/// Whether a table is used otherwise than by indices that are visible in the text.
fn is_used_whole(script: &str, table: &str) -> bool {
    script.match_indices(table).any(|(at, found)| {
        let mut after = script[at + found.len()..].chars();
        !(after.next() == Some('[') && after.next().is_some_and(|c| c.is_ascii_digit()))
    })
}

/// The highest index that follows `prefix`: the least number of keys or arguments.
fn highest(script: &str, prefix: &str) -> usize {
    let indices = script.match_indices(prefix).filter_map(|(at, _)| {
        let digits: String = script[at + prefix.len()..].chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<usize>().ok()
    });
    indices.max().unwrap_or(0)
}

/// The index, from 0, if the text is `KEYS[n]` or `ARGV[n]` and nothing else.
fn place(text: &str, prefix: &str) -> Option<usize> {
    let index: usize = text.trim().strip_prefix(prefix)?.strip_suffix(']')?.parse().ok()?;
    index.checked_sub(1)
}

/// The value, if the text is one string literal.
fn literal(text: &str) -> Option<&str> {
    let text = text.trim();
    let inner = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    inner.or_else(|| text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')))
}

/// Whether a script computes with this expression.
fn is_number(script: &str, expression: &str) -> bool {
    if script.contains(&format!("tonumber({expression})")) {
        return true;
    }
    let operators = ["-", "+", "*", "<", ">"];
    script.match_indices(expression).any(|(at, _)| {
        let before = script[..at].trim_end();
        let after = script[at + expression.len()..].trim_start();
        // Two dots concatenate texts, two dashes begin a comment.
        operators.iter().any(|operator| before.ends_with(operator) || after.starts_with(operator))
    })
}

/// The arguments of every `redis.call` and `redis.pcall`, as they are written.
fn calls(script: &str) -> Vec<Vec<String>> {
    let begins = script.match_indices("call(").map(|(at, found)| at + found.len());
    begins.map(|begin| split_arguments(&script[begin..])).collect()
}

/// The arguments up to the bracket that closes the call.
fn split_arguments(text: &str) -> Vec<String> {
    let mut arguments = vec![String::new()];
    let (mut depth, mut quote) = (0, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '{' | '[') => depth += 1,
            (None, ')') if depth == 0 => break,
            (None, ')' | '}' | ']') => depth -= 1,
            (None, ',') if depth == 0 => {
                arguments.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = arguments.last_mut() {
            last.push(c);
        }
    }
    arguments.iter().map(|argument| argument.trim().to_string()).collect()
}

/// The formats by which values are unpacked.
fn formats(script: &str) -> Vec<String> {
    let begins = script.match_indices("struct.unpack(").map(|(at, found)| at + found.len());
    let mut formats: Vec<String> = begins
        .filter_map(|begin| {
            split_arguments(&script[begin..]).first().and_then(|text| literal(text).map(String::from))
        })
        .collect();
    formats.sort();
    formats.dedup();
    formats
}

/// All string literals of a script.
fn quoted(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = script;
    while let Some(at) = rest.find(['\'', '"']) {
        let quote = &rest[at..=at];
        let Some((text, after)) = rest[at + 1..].split_once(quote) else { break };
        found.push(text.to_string());
        rest = after;
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_script_is_understood() {
        let script = "if redis.call('exists', KEYS[1]) == 0 then redis.call('hincrby', KEYS[1], ARGV[2], 1); \
                      redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; \
                      redis.call(ARGV[3], KEYS[2], 'f' .. ARGV[4] + 1); return redis.call('pttl', KEYS[1]);";
        let shape = Shape::of(script, &Commands::all());
        assert_eq!(shape.keys.len(), 2);
        assert!(shape.keys[0].contains("hash") && shape.keys[1].is_empty());
        assert_eq!(shape.arguments[0], Use::Argument("milliseconds", "generic"));
        assert_eq!(shape.arguments[1], Use::Argument("field", "hash"));
        assert_eq!(shape.arguments[2..], [Use::Command, Use::Number]);
        assert_eq!(shape.commands.iter().collect::<Vec<_>>(), ["exists", "hincrby", "pexpire", "pttl"]);
        assert!(shape.reads_times() && !shape.more_arguments && !shape.chooses());
    }

    #[test]
    fn subcommands_are_found_with_their_keys_and_arguments() {
        let script = "redis.call('xgroup', 'create', KEYS[1], ARGV[2], ARGV[1], 'MKSTREAM'); \
                      redis.call('NO.SUCH', KEYS[2])";
        let shape = Shape::of(script, &Commands::all());
        assert_eq!(shape.commands.iter().collect::<Vec<_>>(), ["no.such", "xgroup|create"]);
        assert!(shape.keys[0].contains("stream") && shape.keys[1].is_empty());
        assert_eq!(shape.arguments[1], Use::Argument("group", "stream"));
    }

    #[test]
    fn formats_and_words_are_found() {
        let shape =
            Shape::of("local t, v = struct.unpack('dLc0', x); if v == 'read' then end", &Commands::all());
        assert_eq!(
            (shape.formats, shape.words),
            (vec!["dLc0".to_string()], vec!["dLc0".into(), "read".into()])
        );
    }
}
