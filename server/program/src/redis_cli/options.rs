//! The command line of redis-cli.

use crate::client::{Address, Login, PORT, Target, Trust};
use std::ffi::OsString;
use std::{env, slice};

pub(super) enum Asked {
    Help,
    Version,
    Commands(Box<Options>),
}

/// The commands to send, and the options of the connection.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) address: Address,
    pub(super) trust: Trust,
    pub(super) login: Login,
    pub(super) database: Option<String>,
    /// `-e`: an error reply is a failure.
    pub(super) error_is_failure: bool,
    /// `-x`: the last argument comes from standard input.
    pub(super) last_from_stdin: bool,
    pub(super) warns_of_password: bool,
    /// The command. If it is empty, commands come from standard input.
    pub(super) command: Vec<Vec<u8>>,
}

/// Parses the arguments, up to the command. Returns redis-cli's message about a wrong option.
pub(super) fn read(arguments: &[OsString]) -> Result<Asked, String> {
    let mut reading = Reading::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.as_slice().first()
        && argument.as_encoded_bytes().starts_with(b"-")
    {
        rest.next();
        if let Some(asked) = reading.option(&argument.to_string_lossy(), &mut rest)? {
            return Ok(asked);
        }
    }
    let command = rest.map(|argument| argument.clone().into_encoded_bytes()).collect();
    Ok(Asked::Commands(Box::new(reading.options(command))))
}

#[derive(Default)]
struct Reading {
    options: Options,
    host: Option<String>,
    port: Option<u16>,
    socket: Option<OsString>,
    tls: bool,
    is_quiet: bool,
}

impl Reading {
    /// Reads one option. Returns `Some` if it makes up the whole request.
    fn option(&mut self, name: &str, rest: &mut slice::Iter<'_, OsString>) -> Result<Option<Asked>, String> {
        let options = &mut self.options;
        let next = rest.as_slice().first();
        let value = || next.cloned().ok_or_else(|| unrecognized(name));
        let text = || value().map(|value| value.to_string_lossy().into_owned());
        match name {
            "--help" => return Ok(Some(Asked::Help)),
            "-v" | "--version" => return Ok(Some(Asked::Version)),
            "-h" if next.is_none() => return Ok(Some(Asked::Help)),
            "-h" => self.host = Some(text()?),
            // A text that is no number counts as 0, as in redis-cli.
            "-p" => self.port = Some(text()?.parse().unwrap_or(0)),
            "-s" => self.socket = Some(value()?),
            "-n" => options.database = Some(text()?),
            "-a" | "--pass" => {
                options.login.password = Some(value()?.into_encoded_bytes());
                options.warns_of_password = true;
            }
            "--user" => options.login.user = Some(value()?.into_encoded_bytes()),
            "-u" => self.url(&text()?)?,
            "--tls" => self.tls = true,
            "--cacert" => options.trust.ca_file = Some(value()?.into()),
            "--insecure" => options.trust.insecure = true,
            "--cert" => options.trust.cert_file = Some(value()?.into()),
            "--key" => options.trust.key_file = Some(value()?.into()),
            "-e" => options.error_is_failure = true,
            "-x" => options.last_from_stdin = true,
            "--no-auth-warning" => self.is_quiet = true,
            // Both options select the default.
            "--raw" | "-2" => {}
            _ => return Err(unrecognized(name)),
        }
        if WITH_VALUE.contains(&name) {
            rest.next();
        }
        Ok(None)
    }

    fn url(&mut self, url: &str) -> Result<(), String> {
        let target = Target::from_url(url)?;
        match target.address {
            Address::Tcp { host, port, tls } => {
                (self.host, self.port) = (Some(host), Some(port));
                self.tls |= tls;
            }
            Address::Unix(path) => self.socket = Some(path.into()),
        }
        self.options.warns_of_password |= target.login.password.is_some();
        self.options.login = target.login;
        self.options.database = target.database;
        Ok(())
    }

    fn options(self, command: Vec<Vec<u8>>) -> Options {
        let mut options = Options { command, ..self.options };
        options.warns_of_password &= !self.is_quiet;
        options.address = match self.socket {
            Some(path) => Address::Unix(path.into()),
            None => Address::Tcp {
                host: self.host.unwrap_or_else(|| "127.0.0.1".to_owned()),
                port: self.port.unwrap_or(PORT),
                tls: self.tls,
            },
        };
        if options.login.password.is_none() {
            options.login.password = env::var_os("REDISCLI_AUTH").map(OsString::into_encoded_bytes);
        }
        options
    }
}

const WITH_VALUE: &[&str] =
    &["-h", "-p", "-s", "-n", "-a", "--pass", "--user", "-u", "--cacert", "--cert", "--key"];

fn unrecognized(name: &str) -> String {
    format!("Unrecognized option or bad number of args for: '{name}'")
}
