//! The coverage of a random run: it fails if an option or an error of a row was never seen.

use crate::generate::Generated;
use crate::reply::Reply;
use lockwheel_engine::spec::syntax::Syntax;
use std::collections::{BTreeMap, BTreeSet};

/// Tokens sent and errors returned, by command.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    commands: BTreeMap<String, Seen>,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    /// The number of times the command was sent.
    count: u64,
    /// Tokens of commands that were not refused.
    tokens: BTreeSet<String>,
    errors: BTreeSet<String>,
}

impl Coverage {
    /// Creates an empty coverage.
    pub fn new() -> Coverage {
        Coverage::default()
    }

    /// Records a command and its answer. Tokens count only if the command was not refused: an option that no server
    /// accepts has not been tested.
    pub fn record(&mut self, name: &str, command: &Generated, reply: &Reply) {
        let seen = self.commands.entry(name.to_lowercase()).or_default();
        seen.count += 1;
        match reply {
            Reply::Error(text) => {
                seen.errors.insert(text.clone());
            }
            _ => seen.tokens.extend(command.tokens.iter().cloned()),
        }
    }

    /// Returns how often a command was sent.
    pub fn count(&self, name: &str) -> u64 {
        self.commands.get(&name.to_lowercase()).map_or(0, |seen| seen.count)
    }

    /// Lists the parts of a command that were never produced, one a line. Empty if all were.
    ///
    /// `errors` are the texts that the command's row lists. Each is exact or, if it ends in `*`, a prefix.
    pub fn missing(&self, name: &str, syntax: &Syntax<'_>, errors: &[&str]) -> Vec<String> {
        let Some(seen) = self.commands.get(&name.to_lowercase()) else {
            return vec![format!("{name}: never sent")];
        };
        let tokens: BTreeSet<String> = syntax.tokens().iter().map(|token| token.to_uppercase()).collect();
        let unsent = tokens.difference(&seen.tokens).map(|token| format!("{name}: {token} never accepted"));
        let unseen = errors
            .iter()
            .filter(|text| !seen.errors.iter().any(|error| matches(error, text)))
            .map(|text| format!("{name}: never answered {text}"));
        unsent.chain(unseen).collect()
    }
}

/// Whether an error has this form. `*` at the end stands for anything, and so does text between quotes, as `'name'` in
/// `unknown type 'name'`.
fn matches(error: &str, expected: &str) -> bool {
    let (expected, open) = match expected.strip_suffix('*') {
        Some(beginning) => (beginning, true),
        None => (expected, false),
    };
    // A quote after a letter is an apostrophe.
    let mut parts = expected.split(" '");
    let Some(mut rest) = parts.next().and_then(|first| error.strip_prefix(first)) else { return false };
    for part in parts {
        let literal = part.split_once('\'').map_or(part, |(_, literal)| literal);
        let Some(quoted) = rest.strip_prefix(" '") else { return false };
        let Some(at) = quoted.find(&format!("'{literal}")) else { return false };
        rest = &quoted[at + 1 + literal.len()..];
    }
    open || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Form;

    fn command(tokens: &[&str]) -> Generated {
        let tokens = tokens.iter().map(ToString::to_string).collect();
        Generated { arguments: vec![], tokens, form: Form::Valid }
    }

    #[test]
    fn missing_coverage_is_reported() {
        let syntax = Syntax::parse("key [NX | XX] [GET]").unwrap();
        let errors = ["ERR syntax error", "ERR invalid *"];
        let mut coverage = Coverage::new();
        assert_eq!(coverage.missing("set", &syntax, &errors), ["set: never sent"]);
        coverage.record("SET", &command(&["NX"]), &Reply::Null);
        coverage.record("SET", &command(&["GET", "XX"]), &Reply::Error("ERR syntax error".into()));
        let expected =
            ["set: GET never accepted", "set: XX never accepted", "set: never answered ERR invalid *"];
        assert_eq!(coverage.missing("set", &syntax, &errors), expected);
        coverage.record("set", &command(&["GET", "XX"]), &Reply::Error("ERR invalid expire".into()));
        coverage.record("set", &command(&["GET", "XX"]), &Reply::Null);
        assert_eq!(coverage.missing("set", &syntax, &errors), Vec::<String>::new());
        assert_eq!(coverage.count("Set"), 4);
    }

    #[test]
    fn any_text_between_quotes_matches() {
        assert!(matches("ERR unknown 'a'. Try", "ERR unknown 'name'. Try"));
        assert!(matches("ERR 'a' of 'b': no", "ERR 'x' of 'y'*"));
        assert!(!matches("ERR unknown 'a'", "ERR unknown 'name'. Try"));
        assert!(!matches("ERR unknown 'a'. Try it", "ERR unknown 'name'. Try"));
        assert!(!matches("ERR unknown", "ERR unknown 'name'"));
        assert!(!matches("ERR syntax error", "ERR syntax"));
        assert!(matches("ERR LIMIT can't be negative", "ERR LIMIT can't be negative"));
        assert!(matches("ERR Can't execute 'get': no", "ERR Can't execute 'command': no"));
    }
}
