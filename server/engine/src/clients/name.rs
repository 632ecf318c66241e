//! Client names.

use crate::spec::CommandError;

/// A client's name shows up in CLIENT LIST's lines, so it holds no space and nothing unprintable.
pub(crate) fn check_client_name(name: &[u8]) -> Result<(), CommandError> {
    if name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        return Ok(());
    }
    Err(CommandError::text("ERR Client names cannot contain spaces, newlines or special characters."))
}
