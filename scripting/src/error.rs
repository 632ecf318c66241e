//! Errors of scripts that cannot be run.

use lockwheel_resp::allocation::{self, OutOfMemory};
use std::borrow::Cow;
use std::fmt;

/// The reason why a script was refused: the whole text of the error reply, with its code and without the leading `-`.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Vec<u8>);

impl Error {
    pub(crate) fn new(text: &str) -> Error {
        Error::with(text, b"")
    }

    /// An error of `text` and `detail` in one line: CR and LF become spaces. The detail ends at a NUL, as in C. It is
    /// left out if memory for it is short.
    pub(crate) fn with(text: &str, detail: &[u8]) -> Error {
        let whole = joined(&[text.as_bytes(), until_nul(detail)]);
        let mut bytes = whole.unwrap_or_else(|_| text.as_bytes().to_vec());
        one_line(&mut bytes);
        Error(bytes)
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&String::from_utf8_lossy(&self.0), f)
    }
}

impl std::error::Error for Error {}

/// The text before the first NUL: texts of errors and statuses are C strings in Redis.
pub(crate) fn until_nul(text: &[u8]) -> &[u8] {
    text.iter().position(|byte| *byte == 0).map_or(text, |end| &text[..end])
}

/// The number of copies of a text that becomes an error of Lua: the text itself, Lua's copy, and Lua's copy with the
/// place before it.
const COPIES: usize = 3;

/// Joins texts for an error of Lua.
///
/// # Errors
/// Returns the size if memory for all copies is short.
pub(crate) fn joined(texts: &[&[u8]]) -> Result<Vec<u8>, OutOfMemory> {
    let len = texts.iter().map(|text| text.len()).sum();
    allocation::check(COPIES * len)?;
    let mut all = allocation::try_with_capacity(len)?;
    texts.iter().for_each(|text| all.extend_from_slice(text));
    Ok(all)
}

/// The text in a form that is valid in a status or an error reply. Unwinds if memory for a copy is short.
pub(crate) fn single_line(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
        return text.into();
    }
    let mut line = allocation::copy(text).into_vec();
    one_line(&mut line);
    line.into()
}

/// Makes a text valid in a status or an error reply.
pub(crate) fn one_line(text: &mut [u8]) {
    for byte in text {
        if matches!(byte, b'\r' | b'\n') {
            *byte = b' ';
        }
    }
}
