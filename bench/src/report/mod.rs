//! What was found, for people and programs: tables, JSON, CSV, a page with plots.

mod csv;
mod html;
mod table;
mod targets;

pub use csv::csv;
pub use html::html;
pub use table::tables;

use crate::error::{Error, Result};
use crate::results::Results;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Writes the tables to `screen`, and the files into a directory if there is one to be.
///
/// # Errors
/// When something cannot be written.
pub fn write(results: &Results, directory: Option<&Path>, screen: &mut dyn Write) -> Result<()> {
    screen.write_all(tables(results).as_bytes()).map_err(Error::io("write the tables"))?;
    let Some(directory) = directory else { return Ok(()) };
    fs::create_dir_all(directory).map_err(Error::io(format!("make {}", directory.display())))?;
    let json = serde_json::to_string_pretty(results).map_err(|error| Error::other(error.to_string()))?;
    for (name, text) in
        [("results.json", json + "\n"), ("runs.csv", csv(results)), ("report.html", html(results))]
    {
        let path = directory.join(name);
        fs::write(&path, text).map_err(Error::io(format!("write {}", path.display())))?;
    }
    Ok(())
}
