//! `run`: runs a command together with a server for it.

use super::client::encoded;
use super::files::SystemFiles;
use super::output::{say, say_error};
use super::parent::Parent;
use super::ready::{Announcement, Failure, port_of};
use super::signals::{Signal, Signals, pass_on};
use super::usage_error::explain;
use super::{allocator, command_line, exit, log, serve};
use lockwheel::Server;
use lockwheel_engine::COMMAND_NAMES;
use lockwheel_engine::config::{BindAddress, Config, Host, Invocation, system_reason};
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::sync::Notify;

/// The time that the server may take to end after the command.
const PATIENCE: Duration = Duration::from_millis(500);

/// Starts a server, runs the command, and returns the exit code of the command.
pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let parent = Parent::now();
    let started_in = std::env::current_dir().unwrap_or_default();
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let (options, command) = (&arguments[..end], arguments.get(end + 1..).unwrap_or_default());
    if options.iter().any(|option| option == "--help" || option == "-h") {
        return say(command_line::help_of_run().as_bytes());
    }
    let [name, rest @ ..] = command else {
        return Err(format!("A command must follow --\n\n{}", command_line::help_of_run().trim_end()));
    };
    let mut config =
        match Invocation::from_arguments(on_free_port(options), &mut SystemFiles::default(), COMMAND_NAMES) {
            Invocation::Run(config) => *config,
            Invocation::Help => return say(command_line::help_of_run().as_bytes()),
            Invocation::Version => {
                return say(command_line::version(OsStr::new(command_line::NAME)).as_bytes());
            }
            Invocation::Fail(error) => return Err(explain(&error, OsStr::new(command_line::NAME), &[])),
        };
    if config.daemonize {
        return Err("A server that runs a command cannot go into the background".to_owned());
    }
    let mut announcement = Announcement::of(&config)?;
    serve::prepare(&mut config, &started_in)?;
    log::start(&config, log::Stream::Error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| system_reason(&error))?;
    let _context = runtime.enter();
    // From here on signals go to the command.
    let mut signals = Signals::new().map_err(|error| system_reason(&error))?;
    let orphaned =
        orphaned(parent.filter(|_| config.exit_with_parent)).map_err(|error| system_reason(&error))?;
    let server = Server::builder().config(config.clone()).allocator(allocator::jemalloc()).start();
    let server = server.map_err(|error| serve::cannot_start(&error, !config.logfile.is_empty()))?;
    let published = announcement.publish(&server).map_err(|failure| match failure {
        Failure::Start(error) => error.to_string(),
        Failure::Announcement(sentence) => sentence,
    })?;
    let mut command = Command::new(name);
    command.args(rest).envs(environment(&config, &server));
    let code = match command.spawn() {
        Ok(child) => runtime.block_on(wait(child, &mut signals, &orphaned)),
        Err(error) => Ok(cannot_run(name, &error)),
    };
    server.stop(PATIENCE);
    published.into_iter().for_each(|file| file.remove());
    code.map(ExitCode::from).map_err(|error| system_reason(&error))
}

/// Returns the options with a free port, unless they name a port. The port of a configuration file is ignored.
fn on_free_port(options: &[OsString]) -> Vec<Vec<u8>> {
    let mut options: Vec<Vec<u8>> =
        options.iter().map(|option| option.clone().into_encoded_bytes()).collect();
    let behind_file = usize::from(options.first().is_some_and(|first| !first.starts_with(b"--")));
    options.splice(behind_file..behind_file, [b"--port".to_vec(), b"0".to_vec()]);
    options
}

/// Returns the environment variables that tell the command the address of the server.
fn environment(config: &Config, server: &Server) -> Vec<(&'static str, String)> {
    let login = match config.requirepass.as_slice() {
        [] => String::new(),
        password => format!(":{}@", encoded(password)),
    };
    let port = port_of(server);
    if port == 0 {
        let path = std::path::absolute(&config.unixsocket).unwrap_or_else(|_| (&config.unixsocket).into());
        let path = encoded(path.as_os_str().as_encoded_bytes()).replace("%2F", "/");
        return vec![("REDIS_URL", format!("unix://{login}{path}"))];
    }
    let host = host(&config.bind_addresses());
    let in_url = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let scheme = if server.port() == 0 { "rediss" } else { "redis" };
    let url = format!("{scheme}://{login}{in_url}:{port}");
    vec![("REDIS_URL", url), ("REDIS_HOST", host), ("REDIS_PORT", port.to_string())]
}

fn host(addresses: &[BindAddress]) -> String {
    match addresses.first().map(|address| &address.host) {
        None | Some(Host::Ip(IpAddr::V4(Ipv4Addr::UNSPECIFIED))) => Ipv4Addr::LOCALHOST.to_string(),
        Some(Host::Ip(IpAddr::V6(Ipv6Addr::UNSPECIFIED))) => Ipv6Addr::LOCALHOST.to_string(),
        Some(Host::Ip(ip)) => ip.to_string(),
        Some(Host::Name(name)) => name.clone(),
    }
}

fn orphaned(parent: Option<Parent>) -> io::Result<Arc<Notify>> {
    let orphaned = Arc::new(Notify::new());
    if let Some(parent) = parent {
        let told = orphaned.clone();
        parent.on_end(move || told.notify_one())?;
    }
    Ok(orphaned)
}

/// Prints why the command cannot be run. Returns the exit code that shells have for that.
pub(crate) fn cannot_run(name: &OsStr, error: &io::Error) -> u8 {
    say_error(&format!("{}: {}: {}", command_line::NAME, name.to_string_lossy(), system_reason(error)));
    if error.kind() == io::ErrorKind::NotFound { exit::NOT_FOUND } else { exit::NOT_EXECUTABLE }
}

/// Waits for the end of the command, and passes on the signals that end it. Returns its exit code.
async fn wait(mut child: Child, signals: &mut Signals, orphaned: &Notify) -> io::Result<u8> {
    loop {
        tokio::select! {
            status = child.wait() => return status.map(code),
            signal = signals.next() => pass_on(signal, &child),
            () = orphaned.notified() => pass_on(Signal::TERM, &child),
        }
    }
}

pub(crate) fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return exit::SIGNAL.saturating_add(u8::try_from(signal).unwrap_or(u8::MAX));
    }
    let code = status.code().unwrap_or(exit::FAILURE.into());
    // A wider exit code of another system remains a failure.
    u8::try_from(code).unwrap_or(exit::FAILURE)
}
