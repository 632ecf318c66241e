//! What is measured: a table of workloads, a file a family.
//!
//! A workload says what a turn of a connection is (its requests, on one key), what stands in the database before, and
//! which replies are right. Adding one is a row in its family's file.

mod libraries;
mod locks;
mod permits;
mod plain;
mod read_write;
mod script;
mod sorted;
mod streams;
mod user;

pub(crate) use libraries::{JOB, ORDER, ORDER_TEXT};
pub(crate) use permits::{ACQUIRE as SEMAPHORE_ACQUIRE, RELEASE as SEMAPHORE_RELEASE};
pub(crate) use read_write::{READ_LOCK, READ_UNLOCK, WRITE_LOCK, WRITE_UNLOCK};
pub(crate) use script::digest;
pub use user::script;

use crate::error::{Error, Result};
use crate::load::{Arg, Expect, Step};

/// One row of the table.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its name: `get`, `pair:evalsha`.
    pub name: String,
    /// Those that belong together.
    pub family: &'static str,
    /// One line on what it does.
    pub about: String,
    /// Sent once for each key before the first run on a server: what the turns need.
    pub preload: Vec<Step>,
    /// The requests of a turn.
    pub turn: Vec<Step>,
    /// How keys are taken.
    pub walk: Walk,
    /// Scripts that must be loaded.
    pub scripts: Vec<String>,
    /// A library of functions that must be loaded.
    pub library: Option<String>,
    /// The command that a server must know.
    pub needs: Option<&'static str>,
    /// The workload that those without that command are compared by.
    pub against: Option<&'static str>,
    /// Whether the database is emptied before each run: what the turns store would only grow.
    pub grows: bool,
}

/// How a workload takes its keys.
#[derive(Clone, Debug)]
pub enum Walk {
    /// By chance, as long as the run lasts.
    Random,
    /// Each once; before that, unmeasured, these requests for each key. Repeated until the run has lasted.
    Each {
        /// What makes a fresh state for every key.
        reset: Vec<Step>,
    },
}

impl Workload {
    /// A row without preparations.
    fn new(
        name: impl Into<String>,
        family: &'static str,
        about: impl Into<String>,
        turn: Vec<Step>,
    ) -> Workload {
        Workload {
            name: name.into(),
            family,
            about: about.into(),
            preload: Vec::new(),
            turn,
            walk: Walk::Random,
            scripts: Vec::new(),
            library: None,
            needs: None,
            against: None,
            grows: false,
        }
    }

    fn preload(mut self, steps: Vec<Step>) -> Self {
        self.preload = steps;
        self
    }

    fn each(mut self, reset: Vec<Step>) -> Self {
        self.walk = Walk::Each { reset };
        self
    }

    fn scripts(mut self, scripts: &[&str]) -> Self {
        self.scripts = scripts.iter().map(|script| (*script).to_string()).collect();
        self
    }

    fn grows(mut self) -> Self {
        self.grows = true;
        self
    }
}

/// All workloads, in the order they are shown.
///
/// # Errors
/// When a row's template is wrong: a test makes them all.
pub fn all() -> Result<Vec<Workload>> {
    let mut rows = plain::rows()?;
    rows.extend(sorted::rows()?);
    rows.extend(locks::rows()?);
    rows.extend(read_write::rows()?);
    rows.extend(permits::rows()?);
    rows.extend(streams::rows()?);
    rows.extend(libraries::rows()?);
    Ok(rows)
}

/// Those of the table that are asked for: by name, by the name before the colon, or by family, and those that they
/// are compared by; all when none is.
///
/// # Errors
/// When nothing has a name.
pub fn chosen(rows: Vec<Workload>, names: &[String]) -> Result<Vec<Workload>> {
    let is = |row: &Workload, name: &str| {
        row.name == name || row.family == name || row.name.split(':').next() == Some(name)
    };
    for name in names {
        if !rows.iter().any(|row| is(row, name)) {
            let known: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
            return Err(Error::other(format!(
                "there is no workload `{name}`; there are {}",
                known.join(" ")
            )));
        }
    }
    let wanted = |row: &Workload| names.is_empty() || names.iter().any(|name| is(row, name));
    let against: Vec<&str> = rows.iter().filter(|row| wanted(row)).filter_map(|row| row.against).collect();
    let kept: Vec<bool> =
        rows.iter().map(|row| wanted(row) || against.contains(&row.name.as_str())).collect();
    Ok(rows.into_iter().zip(kept).filter_map(|(row, kept)| kept.then_some(row)).collect())
}

/// A request of words that may hold placeholders, and its exact reply.
fn exact(words: &str, reply: &str) -> Result<Step> {
    request(words, Expect::exact(reply)?)
}

fn request(words: &str, expect: Expect) -> Result<Step> {
    let args: Vec<Arg<'_>> = words.split(' ').map(Arg::Text).collect();
    Step::new(&args, expect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_rows_can_be_made() {
        let rows = all().unwrap();
        let mut names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for row in &rows {
            assert!(!row.turn.is_empty() && !row.about.is_empty(), "{}", row.name);
            assert!(row.against.is_none_or(|other| names.contains(&other)), "{}", row.name);
        }
    }

    #[test]
    fn rows_are_chosen_by_name_stem_and_family() {
        let names = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_string()).collect();
            chosen(all().unwrap(), &wanted)
                .map(|rows| rows.into_iter().map(|row| row.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["get"]).unwrap(), ["get"]);
        assert_eq!(names(&["native"]).unwrap(), ["pair:evalsha", "native"]);
        assert_eq!(names(&["pair", "ping"]).unwrap(), ["ping", "pair:evalsha", "pair:eval"]);
        assert!(names(&["plain"]).unwrap().contains(&"lpush".to_string()));
        assert_eq!(names(&[]).unwrap().len(), all().unwrap().len());
        assert!(names(&["gett"]).unwrap_err().to_string().starts_with("there is no workload `gett`"));
    }
}
