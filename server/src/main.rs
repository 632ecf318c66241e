//! The `lockwheel` binary: arguments, log, exit codes. 0: ended as asked; 1: wrong arguments, or it cannot start.

use lockwheel::engine::config::{Config, Invocation, LogLevel, Source, log_stamp};
use lockwheel::{Server, StartError};
use std::fmt::Display;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs, process};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::prelude::*;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments = env::args_os().skip(1).map(std::ffi::OsString::into_encoded_bytes);
    let done = match Invocation::from_arguments(arguments, &mut read) {
        Invocation::Run(config) => run(*config),
        Invocation::Print(text) => say(&text).map_err(|error| error.to_string()),
        Invocation::Fail(message) => Err(message),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // There is nobody left to tell when this fails.
            let _unheard = writeln!(io::stderr(), "{message}");
            ExitCode::FAILURE
        }
    }
}

/// Configuration text, from where it is.
fn read(source: Source<'_>) -> io::Result<Vec<u8>> {
    match source {
        Source::File(path) => fs::read(path),
        Source::Stdin => {
            let mut text = Vec::new();
            io::stdin().read_to_end(&mut text)?;
            Ok(text)
        }
    }
}

/// How long the end waits for commands that run: whoever ends the process counts on it within a second.
const PATIENCE: Duration = Duration::from_millis(500);

/// Serves until a signal or SHUTDOWN ends it.
fn run(mut config: Config) -> Result<(), String> {
    config.dir = absolute(&config.dir);
    start_log(&config).map_err(|error| format!("Can't open the log file: {error}"))?;
    let (port_file, pid_file) = (config.port_file.clone(), config.pidfile.clone());
    let unix_socket = config.unixsocket.clone();
    let server = Server::builder()
        .config(config)
        .signals(true)
        .start()
        .map_err(|error: StartError| error.to_string())?;
    write_file(&pid_file, process::id())?;
    write_file(&port_file, server.port())?;
    // Harnesses wait for this line on standard output, wherever the log goes. Whoever started it may not listen.
    if server.port() != 0 {
        let _unheard = say(&log_line(&format!("Ready to accept connections tcp, port={}", server.port())));
    }
    if !unix_socket.is_empty() {
        let ready = format!("The server is now ready to accept connections at {unix_socket}");
        let _unheard = say(&log_line(&ready));
    }
    server.wait();
    server.stop(PATIENCE);
    if !pid_file.is_empty() {
        let _already_gone = fs::remove_file(&pid_file);
    }
    Ok(())
}

/// A line in the shape of Redis' log: process, role, instant in UTC, level, text.
fn log_line(text: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}:M {} * {text}", process::id(), log_stamp(now.as_millis() as i64))
}

fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

fn absolute(path: &str) -> String {
    let absolute = Path::new(path).canonicalize();
    absolute.map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// Writes a file that another process waits for: it appears with its content, all at once. No path: no file.
fn write_file(path: &str, content: impl Display) -> Result<(), String> {
    if path.is_empty() {
        return Ok(());
    }
    let unfinished = format!("{path}.{}", process::id());
    let written = fs::write(&unfinished, format!("{content}\n")).and_then(|()| fs::rename(&unfinished, path));
    written.map_err(|error| format!("Can't write the file '{path}': {error}"))
}

/// Logs what `loglevel` asks for, quietly by default, to `logfile` or standard output; the environment's `RUST_LOG`
/// comes first.
fn start_log(config: &Config) -> io::Result<()> {
    let level = match config.loglevel {
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Verbose => LevelFilter::INFO,
        LogLevel::Notice | LogLevel::Warning => LevelFilter::WARN,
    };
    let asked = env::var("RUST_LOG").ok().and_then(|asked| asked.parse::<Targets>().ok());
    let filter = asked.unwrap_or_else(|| Targets::new().with_default(level));
    let writer = if config.logfile.is_empty() {
        BoxMakeWriter::new(io::stdout)
    } else {
        BoxMakeWriter::new(Mutex::new(fs::File::options().create(true).append(true).open(&config.logfile)?))
    };
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(writer);
    tracing_subscriber::registry().with(lines.with_filter(filter)).init();
    Ok(())
}
