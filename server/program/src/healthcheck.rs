//! `healthcheck`: checks whether a server replies.

use super::client::{Connection, Target, Trust};
use super::command_line::{UNAUTHENTICATED, arguments_of, trust};
use super::output::say;
use super::role::Subcommand;
use lockwheel_engine::config::system_reason;
use lockwheel_resp::Value;
use std::env;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

/// The time that a server may take for each reply.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let arguments = match arguments_of(Subcommand::HealthCheck, arguments) {
        Ok(arguments) => arguments,
        Err(code) => return Ok(code),
    };
    let url = arguments.get_one::<String>("URL").cloned().or_else(|| env::var("REDIS_URL").ok());
    let target = match url.filter(|url| !url.is_empty()) {
        Some(url) => Target::from_url(&url).map_err(|reason| no_address(&url, &reason))?,
        None => Target::default(),
    };
    let place = target.address.to_string();
    let without_login = arguments.get_flag(UNAUTHENTICATED);
    match ask(&target, &trust(&arguments)) {
        Err(reason) if without_login && reason.starts_with("NOAUTH ") => {
            say(format!("The server at {place} answers, and asks for a password.\n").as_bytes())
        }
        Ok(()) => say(format!("The server at {place} answers.\n").as_bytes()),
        Err(reason) => Err(format!("The server at {place} does not answer as it should: {reason}")),
    }
}

/// Returns the message for a word that is no URL of a server. The message contains no password.
fn no_address(url: &str, reason: &str) -> String {
    let shown = url.rsplit_once('@').map_or_else(|| url.to_owned(), |(_, place)| format!("…@{place}"));
    format!(
        "'{shown}' is no URL of a server ({reason}): it is redis://[user:password@]host[:port][/database], \
         rediss://… or unix://path"
    )
}

fn ask(target: &Target, trust: &Trust) -> Result<(), String> {
    let connected = Connection::open(&target.address, trust, Some(PATIENCE));
    let mut connection = connected.map_err(|error| system_reason(&error))?;
    connection.log_in(&target.login)?;
    if let Some(database) = &target.database {
        connection.command(&[b"SELECT", database.as_bytes()])?;
    }
    let answer = connection.ask(&[b"PING"], |reply| match reply {
        Value::Simple(b"PONG") => Ok(()),
        Value::Error(text) => Err(String::from_utf8_lossy(text).into_owned()),
        other => Err(format!("{other:?}")),
    });
    answer.map_err(|error| system_reason(&error))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_url_is_reported_without_its_password() {
        for (url, shown) in [
            ("foo", "'foo' is no URL of a server (Invalid URI scheme): it is redis://"),
            ("http://me:secret@x", "'…@x' is no URL of a server (Invalid URI scheme): it is redis://"),
        ] {
            let reason = Target::from_url(url).unwrap_err();
            assert!(no_address(url, &reason).starts_with(shown), "{url}");
        }
    }
}
