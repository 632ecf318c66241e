//! The commands of the table that are compared, and those that are not, with the reason.

use crate::ours;
use lockwheel_engine::spec::Args;
use lockwheel_engine::spec::syntax::Syntax;
use lockwheel_engine::spec::{Command, Version};
use std::sync::Arc;

/// Groups of commands that no Redis has.
pub const OWN_GROUPS: &[&str] = &["lock", "control"];

/// Commands that are not sent at random: their name, and the tests that cover them instead. A container's name means
/// all of its subcommands.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("acl", "what it tells is about users: the tests of users"),
    ("shutdown", "ends the server: the tests of the process"),
    ("quit", "ends the connection: the tests of the connection"),
    ("hello", "changes how replies are read: directed lines, the tests of the connection"),
    ("reset", "changes how replies are read: directed lines, and the end of every sequence"),
    ("auth", "its errors depend on a password: the tests of the connection"),
    ("debug|help", "each server explains what it has"),
    ("debug", "its subcommands belong to one server: the tests of the server"),
    ("client", "its answers are about this connection: directed lines, the tests of clients"),
    ("config", "each server has its own parameters: directed lines, the tests of parameters"),
    ("command", "each server has its own commands: directed lines, the tests of the table"),
    ("pubsub|help", "each server explains what it has"),
    ("object|help", "each server explains what it has"),
    ("module", "each server has its own modules: the tests of a server by itself"),
    (
        "dump",
        "a table has an order of its own: the bytes of all other values are part of the states compared",
    ),
    ("migrate", "talks to another server: the tests of MIGRATE"),
    ("cluster", "always the same error: the tests of a server by itself"),
    ("asking", "always the same error: the tests of a server by itself"),
    ("readonly", "always the same error: the tests of a server by itself"),
    ("readwrite", "always the same error: the tests of a server by itself"),
    ("replicaof", "a real server would look for a master: the tests of a server by itself"),
    ("slaveof", "a real server would look for a master: the tests of a server by itself"),
    ("replconf", "its words are those of replicas: the tests of a server by itself"),
    ("psync", "a real server would send all its keys: the tests of a server by itself"),
    ("sync", "a real server would send all its keys: the tests of a server by itself"),
    ("failover", "the tests of a server by itself"),
    ("waitaof", "0 milliseconds are for ever: the tests of a server by itself"),
    ("save", "a real server would write a file: the tests of a server by itself"),
    ("bgsave", "a real server would write a file: the tests of a server by itself"),
    ("bgrewriteaof", "a real server would write a file: the tests of a server by itself"),
    ("lastsave", "its answer is the time: the tests of a server by itself"),
    ("lolwut", "each server has a version of its own: the tests of a server by itself"),
    ("memory|help", "each server explains what it has"),
    ("memory|doctor", "what it tells is about this server: the tests of memory"),
    ("memory|malloc-stats", "each server has an allocator of its own: the tests of memory"),
    ("memory|purge", "the tests of memory"),
    ("memory|stats", "what it tells is about this server: the tests of memory"),
    ("monitor", "answers again and again: the tests of MONITOR"),
    ("latency", "its answers are about how long calls took: the tests of LATENCY"),
    ("script|help", "each server explains what it has"),
    ("xgroup|help", "7.0 and 7.2 end otherwise: the tests of streams"),
    ("xinfo|help", "7.0 and 7.2 end otherwise: the tests of streams"),
    ("function|help", "each server explains what it has"),
    ("slowlog", "its answers are about how long calls took: directed lines, the tests of the slow log"),
    ("pfselftest", "a real server takes seconds for it: the tests of HyperLogLogs"),
    ("sort", "the order of equals is open: directed lines, and random ones of the tests of sorting"),
    ("sort_ro", "the order of equals is open: directed lines, and random ones of the tests of sorting"),
    ("ssubscribe", "answers more than once: compare_messages"),
    ("sunsubscribe", "answers more than once: compare_messages"),
    ("wait", "0 milliseconds are for ever: directed lines"),
    ("role", "its answer is about this server: directed lines"),
    ("info", "its answer is about this server: the tests of the server"),
    ("subscribe", "answers more than once: compare_messages"),
    ("unsubscribe", "answers more than once: compare_messages"),
    ("psubscribe", "answers more than once: compare_messages"),
    ("punsubscribe", "answers more than once: compare_messages"),
    (
        "eval",
        "its words are a program: every other command is called from it, and directed lines, Redisson's scripts",
    ),
    ("eval_ro", "its words are a program: directed lines, Redisson's scripts"),
    ("evalsha", "its words are a program: directed lines, Redisson's scripts"),
    ("evalsha_ro", "its words are a program: directed lines, Redisson's scripts"),
    ("script|debug", "a real server starts its debugger: directed lines, the tests of libraries"),
    ("script|kill", "needs a script that runs: the tests of slow scripts"),
];

/// Commands that queue, or that a transaction refuses. Only the family `transactions` sends them at random.
const OF_TRANSACTIONS: &[&str] = &["multi", "exec", "discard", "watch", "unwatch"];

/// Commands that choose at random and change the chosen items. Their keys are deleted afterwards on both sides.
const CHOOSES: &[&str] = &["spop"];

/// A command that is compared.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The command or subcommand.
    pub command: Arc<Command>,
    /// Its synopsis.
    pub syntax: Syntax<'static>,
}

impl Subject {
    fn new(command: &Arc<Command>) -> Subject {
        let syntax = Syntax::parse(command.spec.syntax)
            .unwrap_or_else(|error| panic!("the synopsis of {}: {error}", command.name));
        Subject { command: Arc::clone(command), syntax }
    }

    /// The command's full name in lower case: `get`, `object|encoding`.
    pub fn name(&self) -> &str {
        &self.command.name
    }

    /// Whether no Redis of the emulated line has the command: only a server that grew out of it does.
    pub fn is_newer(&self) -> bool {
        !Version::V7_2.has(self.command.spec.since)
    }

    /// Whether the installed redis-server, 7.0, has the command.
    pub fn is_of_redis_server(&self) -> bool {
        Version::V7_0.has(self.command.spec.since)
    }

    /// Whether the command may be sent at random.
    pub fn at_random(&self) -> bool {
        !LEFT_OUT.iter().any(|(name, _)| {
            self.name() == *name || self.name().strip_prefix(name).is_some_and(|rest| rest.starts_with('|'))
        })
    }

    /// Whether the command opens, closes or guards a transaction.
    pub fn is_of_transactions(&self) -> bool {
        OF_TRANSACTIONS.contains(&self.name())
    }

    /// Whether a request of this command leaves the two servers in different states.
    pub fn chooses(&self, arguments: &[Vec<u8>]) -> bool {
        let by_its_clock = self.name() == "xadd" && arguments.iter().any(|word| word == b"*");
        CHOOSES.contains(&self.name()) || by_its_clock
    }

    /// The keys in a request of this command. Empty if the request is malformed.
    pub fn keys(&self, arguments: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let words: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
        let positions = self.command.key_positions(Args::new(&words));
        positions.into_iter().filter_map(|at| arguments.get(at).cloned()).collect()
    }

    /// The tokens of the synopsis among these words, in upper case.
    pub fn tokens_in(&self, arguments: &[Vec<u8>]) -> Vec<String> {
        let mut tokens: Vec<String> = self.syntax.tokens().iter().map(|token| token.to_uppercase()).collect();
        tokens.retain(|token| arguments.iter().any(|word| word.eq_ignore_ascii_case(token.as_bytes())));
        tokens
    }
}

/// All commands that a Redis has too.
#[derive(Clone, Debug)]
pub struct Commands(Vec<Subject>);

impl Commands {
    /// Reads the commands from the table.
    pub fn all() -> Commands {
        fn walk(command: &Arc<Command>, subjects: &mut Vec<Subject>) {
            if command.subcommands.is_empty() {
                subjects.push(Subject::new(command));
            }
            command.subcommands.iter().for_each(|sub| walk(sub, subjects));
        }
        let mut subjects = Vec::new();
        for command in ours::commands().iter().filter(|command| !OWN_GROUPS.contains(&command.spec.group)) {
            walk(command, &mut subjects);
        }
        Commands(subjects)
    }

    /// Iterates over the commands.
    pub fn iter(&self) -> impl Iterator<Item = &Subject> {
        self.0.iter()
    }

    /// The commands of one group.
    pub fn of_group<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Subject> {
        self.0.iter().filter(move |subject| subject.command.spec.group == group)
    }

    /// Returns the command that a request names, if it is one of these.
    pub fn find(&self, arguments: &[Vec<u8>]) -> Option<&Subject> {
        let lower = |index: usize| {
            let word = arguments.get(index).map_or(&[][..], Vec::as_slice);
            String::from_utf8_lossy(word).to_lowercase()
        };
        let named = |name: &str| self.0.iter().find(|subject| subject.name() == name);
        named(&format!("{}|{}", lower(0), lower(1))).or_else(|| named(&lower(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_excluded_from_random_requests_exist() {
        let commands = Commands::all();
        assert!(commands.iter().any(|subject| subject.name() == "set" && subject.at_random()));
        let evals: Vec<&Subject> = commands.of_group("scripting").filter(|each| !each.at_random()).collect();
        assert!(evals.iter().any(|subject| subject.name() == "script|kill"));
    }

    #[test]
    fn a_request_finds_its_row_keys_and_tokens() {
        let commands = Commands::all();
        let words = |line: &str| crate::client::split(line);
        let set = commands.find(&words("SeT k v nx")).unwrap();
        assert_eq!(set.name(), "set");
        assert_eq!(set.keys(&words("SET k v nx")), [b"k"]);
        assert_eq!(set.tokens_in(&words("SET k v nx")), ["NX"]);
        assert_eq!(commands.find(&words("OBJECT encoding k")).unwrap().name(), "object|encoding");
        assert!(commands.find(&words("NO such")).is_none());
    }
}
