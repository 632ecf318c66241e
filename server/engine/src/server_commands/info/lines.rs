//! The lines of INFO.

use crate::config::Config;
use crate::server_commands::memory_figures::Overhead;
use std::fmt::{Display, Write};

/// The text of INFO, while it is written.
#[derive(Default)]
pub(super) struct Lines(String);

impl Lines {
    pub(super) fn text(&self) -> &str {
        &self.0
    }

    pub(super) fn begin(&mut self, heading: &str) {
        let gap = if self.0.is_empty() { "" } else { "\r\n" };
        self.line(format_args!("{gap}# {heading}"));
    }

    pub(super) fn line(&mut self, line: impl Display) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "{line}\r\n");
    }

    pub(super) fn field(&mut self, name: &str, value: impl Display) {
        self.line(format_args!("{name}:{value}"));
    }

    /// Writes fields that are always 0 here.
    pub(super) fn zeros(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.field(name, 0));
    }

    /// Writes the ratio and the difference of two sizes.
    pub(super) fn overhead(&mut self, name: &str, overhead: Overhead) {
        self.field(&format!("{name}_ratio"), format_args!("{:.2}", overhead.ratio));
        self.field(&format!("{name}_bytes"), overhead.bytes);
    }

    /// Writes a number of bytes, also in human-readable form.
    pub(super) fn bytes(&mut self, name: &str, bytes: u64) {
        self.field(name, bytes);
        self.field(&format!("{name}_human"), human(bytes));
    }
}

/// Formats a number of bytes with a unit and two decimal places.
pub(super) fn human(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    match UNITS.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{:.2}{unit}", bytes as f64 / *size as f64),
        None => format!("{bytes}B"),
    }
}

pub(super) fn parameter(config: &Config, name: &str) -> String {
    let value = config.get(&[name.as_bytes()]).pop().map(|(_, value)| value).unwrap_or_default();
    String::from_utf8_lossy(&value).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_for_people() {
        let texts = [0, 1023, 1024, 1_536_000, 3 << 30, 5 << 40].map(human);
        assert_eq!(texts, ["0B", "1023B", "1.00K", "1.46M", "3.00G", "5.00T"]);
    }
}
