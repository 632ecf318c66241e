//! The commands that Redisson's scripts call and our server lacks: `not-here.txt`.

use std::collections::BTreeMap;

const TEXT: &str = include_str!("not-here.txt");

/// A command that our server lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotHere {
    /// The name of the command, in lower case.
    pub name: &'static str,
    /// The reason why it is missing.
    pub reason: &'static str,
    /// The number of scripts that call the command, by version.
    calls: BTreeMap<&'static str, usize>,
}

impl NotHere {
    /// All missing commands.
    ///
    /// # Panics
    /// Panics with the line if a line cannot be parsed.
    pub fn all() -> Vec<NotHere> {
        let mut lines = TEXT.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let versions: Vec<&str> = match lines.next().and_then(|line| line.strip_prefix("versions")) {
            Some(versions) => versions.split_whitespace().collect(),
            None => panic!("the first line names the versions"),
        };
        let mut reason = "";
        let mut all = Vec::new();
        for line in lines {
            match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                Some(heading) => reason = heading,
                None => {
                    all.push(read(line, reason, &versions).unwrap_or_else(|| panic!("what is this? {line}")))
                }
            }
        }
        all
    }

    /// The number of scripts of a version that call each missing command.
    pub fn called_by(version: &str) -> BTreeMap<String, usize> {
        let calls = |each: &NotHere| each.calls.get(version).copied().unwrap_or_default();
        let all = NotHere::all().into_iter().map(|each| (each.name.to_string(), calls(&each)));
        all.filter(|(_, calls)| *calls > 0).collect()
    }

    /// Whether valkey-server has the command.
    pub fn is_of_valkey(&self) -> bool {
        self.reason.starts_with("Valkey has them: ")
    }
}

/// A command with a number for each version.
fn read(line: &'static str, reason: &'static str, versions: &[&'static str]) -> Option<NotHere> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let numbers = words.map(|word| word.parse().ok()).collect::<Option<Vec<usize>>>()?;
    let is_whole = numbers.len() == versions.len() && !reason.is_empty();
    is_whole.then(|| NotHere { name, reason, calls: versions.iter().copied().zip(numbers).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;
    use crate::redis_commands;
    use crate::redis_server::{Kind, RealServer};
    use crate::reply::Reply;
    use std::collections::BTreeSet;

    #[test]
    fn nothing_of_redis_7_2_is_listed_nor_anything_twice() {
        let known = redis_commands::all();
        let all = NotHere::all();
        for each in &all {
            assert!(!known.contains_key(each.name), "{} is a command of Redis 7.2", each.name);
            assert!(each.calls.values().any(|calls| *calls > 0), "nothing calls {}", each.name);
        }
        let names: BTreeSet<&str> = all.iter().map(|each| each.name).collect();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn real_servers_have_the_commands_named_in_the_reasons() {
        for kind in [Kind::Redis, Kind::Valkey] {
            let Some(server) = RealServer::start(kind, &[]) else { continue };
            let mut client = Client::connect(server.addr());
            for each in NotHere::all() {
                let told =
                    client.line(&format!("COMMAND INFO {}", each.name)).into_elements().unwrap_or_default();
                let has = told.first().is_some_and(|row| matches!(row, Reply::Array(_)));
                assert_eq!(has, kind == Kind::Valkey && each.is_of_valkey(), "{} on {kind:?}", each.name);
            }
        }
    }
}
