//! The reasons of errors of the system, in Redis' words.

use std::io;

/// The reason of an error of the system, in the words of C's `strerror`, as Redis reports it.
pub fn system_reason(error: &io::Error) -> String {
    match (error.raw_os_error(), error.kind()) {
        (None, io::ErrorKind::NotFound) => "No such file or directory".to_owned(),
        (None, io::ErrorKind::PermissionDenied) => "Permission denied".to_owned(),
        _ => {
            let text = error.to_string();
            let text = text.strip_prefix("failed to lookup address information: ").unwrap_or(&text);
            text.rsplit_once(" (os error ").map_or(text, |(reason, _)| reason).to_owned()
        }
    }
}
