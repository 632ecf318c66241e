//! Output of the program on its standard streams.

use std::io::{self, Write};
use std::process::ExitCode;

/// Writes to standard output. Returns the reason if the output cannot be written.
pub(crate) fn say(text: &[u8]) -> Result<ExitCode, String> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text).and_then(|()| out.flush());
    written.map(|()| ExitCode::SUCCESS).map_err(|error| error.to_string())
}

/// Writes a line to standard error. If this fails, there is no other way to report it.
pub(crate) fn say_error(text: &str) {
    let _unheard = writeln!(io::stderr(), "{text}");
}
