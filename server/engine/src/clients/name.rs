//! Client names.

use crate::spec::CommandError;

/// Checks the name of a client: a line of CLIENT LIST allows no spaces and no unprintable characters.
pub(crate) fn check_client_name(name: &[u8]) -> Result<(), CommandError> {
    if name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        return Ok(());
    }
    Err(CommandError::text("ERR Client names cannot contain spaces, newlines or special characters."))
}
