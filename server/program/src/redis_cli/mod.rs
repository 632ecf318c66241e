//! The program as `redis-cli`, for health checks: sends one command and prints the reply as without a terminal.

mod options;
mod print;

use super::client::{Connection, Login};
use super::exit;
use super::output::{say, say_error};
use lockwheel_engine::config::system_reason;
use lockwheel_engine::spec::REDIS_VERSION;
use lockwheel_resp::{Value, split_words};
use options::{Asked, Options};
use std::ffi::OsString;
use std::io::{self, BufRead, Read};
use std::process::ExitCode;

const HELP: &str = "\
Usage: redis-cli [options] [command [argument]...]
  -h <host>           the server's host (default: 127.0.0.1)
  -p <port>           its port (default: 6379)
  -s <path>           its unix socket
  -a <password>       sent before the command; also REDISCLI_AUTH
  --pass <password>   the same
  --user <name>       the user of that password
  -u <url>            redis://user:password@host:port/database; rediss://… for TLS
  --tls               over TLS
  --cacert <file>     trust a server that these certificates lead to
  --insecure          trust any server
  --cert <file>       the certificate to show
  --key <file>        its key
  -n <number>         the database
  -x                  the command's last argument is standard input
  -e                  an error reply is an exit code: 1
  --no-auth-warning   say nothing of passwords on command lines
  --help              this text
  --version           the version

Without a command, each line of standard input is one. Replies are printed raw.";

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    match options::read(arguments)? {
        Asked::Help => say(format!("{HELP}\n").as_bytes()),
        Asked::Version => say(format!("redis-cli {REDIS_VERSION}\n").as_bytes()),
        Asked::Commands(options) => send(*options),
    }
}

fn send(options: Options) -> Result<ExitCode, String> {
    if options.warns_of_password {
        say_error(
            "Warning: Using a password with '-a' or '-u' option on the command line interface may not be safe.",
        );
    }
    let mut connection = Connection::open(&options.address, &options.trust, None).map_err(|error| {
        format!("Could not connect to Redis at {}: {}", options.address, system_reason(&error))
    })?;
    prepare(&mut connection, &options.login, options.database.as_deref());
    let mut command = options.command;
    // Lines after a failed one are sent too, as in redis-cli.
    let error_is_failure = options.error_is_failure && !command.is_empty();
    let mut session = Session { connection, error_is_failure };
    if command.is_empty() {
        return session.send_lines();
    }
    if options.last_from_stdin {
        let mut argument = Vec::new();
        io::stdin().read_to_end(&mut argument).map_err(|error| system_reason(&error))?;
        command.push(argument);
    }
    Ok(session.send(&command)?.unwrap_or(ExitCode::SUCCESS))
}

/// Sends AUTH and SELECT. A failure is printed, and the command is sent all the same.
fn prepare(connection: &mut Connection, login: &Login, database: Option<&str>) {
    if let Err(reason) = connection.log_in(login) {
        say_error(&format!("AUTH failed: {reason}"));
    }
    if let Some(database) = database
        && let Err(reason) = connection.command(&[b"SELECT", database.as_bytes()])
    {
        say_error(&format!("SELECT {database} failed: {reason}"));
    }
}

struct Session {
    connection: Connection,
    error_is_failure: bool,
}

impl Session {
    /// Sends a command and prints its reply, or all after a subscription or MONITOR. Returns any exit code to end with.
    fn send(&mut self, command: &[Vec<u8>]) -> Result<Option<ExitCode>, String> {
        let request: Vec<&[u8]> = command.iter().map(Vec::as_slice).collect();
        let plain = print::is_plain(command);
        let mut printed = match self.connection.ask(&request, |reply| printed(reply, plain)) {
            Ok(printed) => printed,
            // The reply to SHUTDOWN is the end of the connection.
            Err(_) if command[0].eq_ignore_ascii_case(b"shutdown") => return Ok(None),
            Err(error) => return Err(format!("Error: {}", system_reason(&error))),
        };
        loop {
            if printed.is_error && self.error_is_failure {
                say_error(String::from_utf8_lossy(&printed.text).trim_end_matches('\n'));
                return Ok(Some(ExitCode::from(exit::FAILURE)));
            }
            say(&printed.text)?;
            if printed.is_error || !print::goes_on(command) {
                return Ok(None);
            }
            let next = self.connection.next(|reply| self::printed(reply, false));
            printed = next.map_err(|error| format!("Error: {}", system_reason(&error)))?;
        }
    }

    fn send_lines(&mut self) -> Result<ExitCode, String> {
        for line in io::stdin().lock().split(b'\n') {
            let line = line.map_err(|error| system_reason(&error))?;
            let Some(command) = split_words(line.trim_ascii()) else {
                say(b"Invalid argument(s)\n")?;
                continue;
            };
            let is_end = |name: &[u8]| command.first().is_some_and(|word| word.eq_ignore_ascii_case(name));
            if is_end(b"quit") || is_end(b"exit") {
                break;
            }
            if !command.is_empty()
                && let Some(code) = self.send(&command)?
            {
                return Ok(code);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

struct Printed {
    text: Vec<u8>,
    is_error: bool,
}

fn printed(reply: Value<'_>, plain: bool) -> Printed {
    let is_error = matches!(reply, Value::Error(_) | Value::BlobError(_));
    let mut text = Vec::new();
    print::raw(reply, &mut text);
    // A text of several lines has its own line end.
    if !plain {
        text.push(b'\n');
    }
    Printed { text, is_error }
}
