//! Reports of the results for people and programs: tables, JSON, CSV, a page with plots.

mod by_hand;
mod csv;
mod html;
mod table;
mod targets;
mod waiting;

pub use by_hand::by_hand;
pub use csv::csv;
pub use html::html;
pub use table::tables;

use crate::error::{Error, Result};
use crate::results::Results;
use crate::workloads::Workload;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Writes the tables to `screen`, and the files into a directory if one is given.
///
/// # Errors
/// Returns an error if something cannot be written.
pub fn write(results: &Results, directory: Option<&Path>, screen: &mut dyn Write) -> Result<()> {
    let text = format!("{}\n{}", tables(results), by_hand(&results.pipelines()));
    screen.write_all(text.as_bytes()).map_err(Error::io("write the tables"))?;
    let Some(directory) = directory else { return Ok(()) };
    fs::create_dir_all(directory).map_err(Error::io(format!("make {}", directory.display())))?;
    let json = serde_json::to_string_pretty(results).map_err(|error| Error::other(error.to_string()))?;
    let mut files =
        vec![("results.json", json + "\n"), ("runs.csv", csv(results)), ("report.html", html(results))];
    files.extend(waiting::tables(results).iter().map(|table| (table.file, waiting::csv(table))));
    for (name, text) in files {
        let path = directory.join(name);
        fs::write(&path, text).map_err(Error::io(format!("write {}", path.display())))?;
    }
    Ok(())
}

/// Writes the names and the descriptions of workloads.
///
/// # Errors
/// Returns an error if the list cannot be written.
pub fn list(rows: &[Workload], screen: &mut dyn Write) -> Result<()> {
    let lines: Vec<Vec<String>> =
        rows.iter().map(|row| vec![row.name.clone(), row.family.to_string(), row.about.clone()]).collect();
    screen.write_all(table::left(&lines).as_bytes()).map_err(Error::io("write the list"))
}
