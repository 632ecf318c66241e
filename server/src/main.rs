//! The `lockwheel` binary: arguments, log, exit codes. 0: ended as asked; 1: wrong arguments, or it cannot start.

mod program;

use lockwheel::{BindError, Server, Stage, StartError};
use lockwheel_engine::check_renames;
use lockwheel_engine::config::{Config, Invocation, system_reason};
use lockwheel_engine::spec::REDIS_VERSION;
use program::files::{PublishedFile, SystemFiles};
use program::supervisor::Supervisor;
use program::{allocator, background, log};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, process};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let started_in = env::current_dir().unwrap_or_default();
    let mut files = SystemFiles::default();
    let arguments = env::args_os().skip(1).map(std::ffi::OsString::into_encoded_bytes);
    let done = match Invocation::from_arguments(arguments, &mut files, check_renames) {
        Invocation::Run(config) => run(*config, started_in, &files),
        Invocation::Print(text) => say(&text).map_err(|error| error.to_string()),
        Invocation::Fail(message) => Err(message),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // If this fails, there is no other way to report it.
            let _unheard = writeln!(io::stderr(), "{message}");
            ExitCode::FAILURE
        }
    }
}

/// Where the process id of a server in the background goes when nothing else is said, as Redis has it.
const DEFAULT_PID_FILE: &str = "/var/run/redis.pid";

/// Serves until a signal or SHUTDOWN ends it, or starts a background process that does so.
fn run(mut config: Config, started_in: PathBuf, files: &SystemFiles) -> Result<(), String> {
    // The configuration has made its directory the working one.
    config.dir = env::current_dir().map_or(config.dir, |dir| dir.to_string_lossy().into_owned());
    log::open(&config.logfile).map_err(|error| {
        let reason = system_reason(&error);
        format!(
            "\n*** FATAL CONFIG FILE ERROR (Redis {REDIS_VERSION}) ***\nCan't open the log file: {reason}"
        )
    })?;
    let (supervisor, complaint) = Supervisor::find(config.supervised);
    let background = config.daemonize && supervisor.is_none();
    if background && !background::arrive() {
        let sent = background::send(&started_in, files.stdin.as_deref());
        return sent.map_err(|error| format!("Can't start in the background: {}", system_reason(&error)));
    }
    if background && config.pidfile.is_empty() {
        config.pidfile = DEFAULT_PID_FILE.to_owned();
    }
    log::start(&config);
    complaint.iter().for_each(|complaint| tracing::warn!("{complaint}"));
    serve(config, supervisor)
}

fn serve(config: Config, supervisor: Option<Supervisor>) -> Result<(), String> {
    let (port_file, pid_file) = (config.port_file.clone(), config.pidfile.clone());
    let (unix_socket, log_file) = (config.unixsocket.clone(), config.logfile.clone());
    let (id, port, has_log) = (process::id(), config.port, !log_file.is_empty());
    tracing::info!("oO0OoO0OoO0Oo Lockwheel is starting oO0OoO0OoO0Oo");
    tracing::info!(
        "Redis version={REDIS_VERSION}, bits={}, commit=00000000, modified=0, pid={id}, just started",
        usize::BITS
    );
    tracing::info!("Configuration loaded");
    let mut published = None;
    let served = Server::builder().config(config).allocator(allocator::usage).serve(|stage| {
        match stage {
            Stage::Ready(server) => {
                published = publish(server.port(), &pid_file, &port_file)?;
                announce_all_ready(server.port(), &unix_socket, has_log);
                supervisor.into_iter().for_each(Supervisor::ready);
            }
            Stage::Stopping => {
                tracing::info!("User requested shutdown...");
                supervisor.into_iter().for_each(Supervisor::stopping);
            }
        }
        Ok(())
    });
    served.map_err(|failure| match failure {
        Failure::Start(error) => cannot_start(&error, port, has_log),
        Failure::PortFile(reason) => format!("Can't write the file '{port_file}': {reason}"),
    })?;
    if let Some(file) = published {
        tracing::info!("Removing the pid file.");
        file.remove();
    }
    tracing::info!("Lockwheel is now ready to exit, bye bye...");
    Ok(())
}

/// Why it does not serve.
enum Failure {
    Start(StartError),
    /// The port could not be written to its file; why not.
    PortFile(String),
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Failure::Start(error)
    }
}

/// Writes the process' id and the port to their files. The first, if there is one.
fn publish(port: u16, pid_file: &str, port_file: &str) -> Result<Option<PublishedFile>, Failure> {
    tracing::info!("Running mode=standalone, port={port}.");
    let pid_file = PublishedFile::write(pid_file, process::id());
    if let Err(error) = &pid_file {
        tracing::warn!("Failed to write PID file: {}", system_reason(error));
    }
    tracing::info!("Server initialized");
    let written = PublishedFile::write(port_file, port);
    written.map_err(|error| Failure::PortFile(system_reason(&error)))?;
    Ok(pid_file.unwrap_or_default())
}

fn announce_all_ready(port: u16, unix_socket: &str, has_log: bool) {
    let tcp = format!("Ready to accept connections tcp, port={port}");
    let unix = format!("The server is now ready to accept connections at {unix_socket}");
    for (ready, is_so) in [(tcp, port != 0), (unix, !unix_socket.is_empty())] {
        if is_so {
            announce_ready(&ready, has_log);
        }
    }
}

/// Harnesses wait for this line on standard output, wherever the log goes. Nothing may be reading it.
fn announce_ready(text: &str, has_log: bool) {
    if has_log {
        tracing::info!("{text}");
    }
    let _unheard = say(&log::line('*', text));
}

/// Why it cannot start, in Redis' words: for standard error, and for the log if that is a file.
fn cannot_start(error: &StartError, port: u16, has_log: bool) -> String {
    let mut lines = vec![error.to_string()];
    if let StartError::Bind(BindError::Address { .. }) = error {
        lines =
            vec![format!("Warning: {error}"), format!("Failed listening on port {port} (TCP), aborting.")];
    }
    lines.iter().filter(|_| has_log).for_each(|line| tracing::error!("{line}"));
    lines.join("\n")
}

fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}
