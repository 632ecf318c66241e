//! The measured workloads: a table, with one file per family.
//!
//! A workload defines the turn of a connection (its requests, on one key), the initial state of the database, and the
//! right replies. A new workload is a row in the file of its family.

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
    /// The name: `get`, `pair:evalsha`.
    pub name: String,
    /// The family of related workloads.
    pub family: &'static str,
    /// A description in one line.
    pub about: String,
    /// The requests that are sent once for each key before the first run on a server. They make the state that the
    /// turns need.
    pub preload: Vec<Step>,
    /// The requests of a turn.
    pub turn: Vec<Step>,
    /// The order in which keys are taken.
    pub walk: Walk,
    /// The scripts that must be loaded.
    pub scripts: Vec<String>,
    /// The library of functions that must be loaded.
    pub library: Option<String>,
    /// The command that a server must support.
    pub needs: Option<&'static str>,
    /// The workload for the comparison with servers that lack that command.
    pub against: Option<&'static str>,
    /// Whether the database is emptied before each run, because the data of the turns would only grow.
    pub grows: bool,
}

/// The order in which a workload takes its keys.
#[derive(Clone, Debug)]
pub enum Walk {
    /// At random, as long as the run lasts.
    Random,
    /// Each key once. Before each pass, unmeasured requests reset every key. Passes are repeated until the run has
    /// lasted long enough.
    Each {
        /// The requests that make a fresh state for a key.
        reset: Vec<Step>,
    },
}

impl Workload {
    /// Creates a row without preparations.
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

/// Returns all workloads, in the order of display.
///
/// # Errors
/// Returns an error if a row's template is wrong. A test creates all rows.
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

/// Returns the rows that are selected by name, by the name before the colon, or by family. The workloads that they are
/// compared with are included. Returns all rows if no names are given.
///
/// # Errors
/// Returns an error if a name selects nothing.
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

/// Creates a request from words that may contain placeholders, and its exact reply.
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
