//! The server as a process: from its arguments to its end.

use super::files::SystemFiles;
use super::output::say;
use super::parent::Parent;
use super::ready::{Announcement, Failure};
use super::role::{REDIS_SENTINEL, is_called};
use super::supervisor::Supervisor;
use super::usage_error::explain;
use super::{allocator, background, command_line, log, log_role, ready};
use lockwheel::{BindError, Builder, Handle, Server, Stage, StartError};
use lockwheel_engine::COMMAND_NAMES;
use lockwheel_engine::config::{Config, Invocation, system_reason};
use lockwheel_engine::spec::REDIS_VERSION;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, process};

/// Serves, or prints the requested text. `arguments` are without the program's name, and extend `defaults`.
pub(crate) fn main(
    started_as: &OsStr,
    defaults: Config,
    arguments: Vec<OsString>,
) -> Result<ExitCode, String> {
    let parent = Parent::now();
    let started_in = env::current_dir().unwrap_or_default();
    let mut files = SystemFiles::default();
    let is_sentinel = is_called(started_as, REDIS_SENTINEL);
    let defaults = if is_sentinel { defaults.with_sentinel_defaults() } else { defaults };
    let words = arguments.iter().cloned().map(OsString::into_encoded_bytes);
    match Invocation::with_defaults(defaults, words, &mut files, COMMAND_NAMES) {
        Invocation::Run(config) => {
            let beginning = Beginning { started_as, has_arguments: !arguments.is_empty(), started_in };
            start(*config, &beginning, &files, parent).map(|()| ExitCode::SUCCESS)
        }
        Invocation::Help => say(command_line::help(started_as).as_bytes()),
        Invocation::Version => say(command_line::version(started_as).as_bytes()),
        Invocation::Fail(error) => Err(explain(&error, started_as, &arguments)),
    }
}

struct Beginning<'a> {
    started_as: &'a OsStr,
    has_arguments: bool,
    started_in: PathBuf,
}

/// The default file for the process id of a server in the background, as in Redis.
const DEFAULT_PID_FILE: &str = "/var/run/redis.pid";

/// Makes the configured paths absolute (`dir` is entered; the data file is from `started_in`). Tries the log file.
pub(crate) fn prepare(config: &mut Config, started_in: &Path) -> Result<(), String> {
    if !config.saves.load.is_empty() {
        config.saves.load = started_in.join(&config.saves.load).to_string_lossy().into_owned();
    }
    if let Ok(dir) = env::current_dir() {
        config.dir = dir.to_string_lossy().into_owned();
    }
    log::open(&config.logfile).map(drop).map_err(|error| {
        let reason = system_reason(&error);
        format!(
            "\n*** FATAL CONFIG FILE ERROR (Redis {REDIS_VERSION}) ***\nCan't open the log file: {reason}"
        )
    })
}

/// Checks that a sentinel can write its configuration file, in which it keeps its state.
fn check_state_file(path: &str) -> Result<(), String> {
    let opened = OpenOptions::new().append(true).open(path);
    opened.map(drop).map_err(|error| {
        let reason = system_reason(&error);
        format!("Sentinel config file {path} is not writable: {reason}. Exiting...")
    })
}

/// Serves until a signal or SHUTDOWN ends the server, or starts a background process that does so.
fn start(
    mut config: Config,
    beginning: &Beginning<'_>,
    files: &SystemFiles,
    parent: Option<Parent>,
) -> Result<(), String> {
    prepare(&mut config, &beginning.started_in)?;
    if config.is_sentinel() {
        check_state_file(&config.file)?;
    }
    let (supervisor, complaint) = Supervisor::find(config.supervised);
    let background = config.daemonize && supervisor.is_none();
    if background && config.exit_with_parent {
        return Err("exit-with-parent and daemonize exclude each other".to_owned());
    }
    if background && !background::arrive() {
        let sent = background::send(&beginning.started_in, files.stdin.as_deref());
        return sent.map_err(|error| format!("Can't start in the background: {}", system_reason(&error)));
    }
    if background && config.pidfile.is_empty() {
        config.pidfile = DEFAULT_PID_FILE.to_owned();
    }
    let announcement = Announcement::of(&config)?;
    log::start(&config, log::Stream::Out);
    complaint.iter().for_each(|complaint| tracing::warn!("{complaint}"));
    let parent = parent.filter(|_| config.exit_with_parent);
    if config.exit_with_parent && parent.is_none() {
        tracing::warn!("exit-with-parent: there is no parent process to wait for");
    }
    log_start(&config, beginning);
    let builder = Server::builder().config(config.clone()).started_in(beginning.started_in.clone());
    serve(&config, builder, announcement, supervisor, parent)
}

fn log_start(config: &Config, beginning: &Beginning<'_>) {
    tracing::info!("oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo");
    tracing::info!(
        "Redis version={REDIS_VERSION}, bits={}, commit=00000000, modified=0, pid={}, just started",
        usize::BITS,
        process::id()
    );
    if beginning.has_arguments {
        tracing::info!("Configuration loaded");
    } else {
        let name = if config.is_sentinel() { "sentinel" } else { "redis" };
        tracing::warn!(
            "Warning: no config file specified, using the default config. In order to specify a config file use {} \
             /path/to/{name}.conf",
            beginning.started_as.display()
        );
    }
    log_role::begin();
}

fn serve(
    config: &Config,
    builder: Builder,
    mut announcement: Announcement,
    supervisor: Option<Supervisor>,
    parent: Option<Parent>,
) -> Result<(), String> {
    let unix_socket = config.unixsocket.clone();
    let (is_sentinel, has_log) = (config.is_sentinel(), !config.logfile.is_empty());
    let mut published = None;
    let builder = builder.begins_with_saved(true).allocator(allocator::jemalloc());
    let served = builder.serve(|stage| {
        match stage {
            Stage::Ready(server) => {
                watch(parent, std::slice::from_ref(server))?;
                published = announcement.publish(server)?;
                // A sentinel of Redis has no such line either.
                if !is_sentinel {
                    ready::print(server, &unix_socket, has_log);
                }
                warn_of_maxmemory(config.maxmemory);
                supervisor.into_iter().for_each(Supervisor::ready);
            }
            Stage::Stopping => supervisor.into_iter().for_each(Supervisor::stopping),
        }
        Ok(())
    });
    served.map_err(|failure| match failure {
        Failure::Start(error) => cannot_start(&error, true),
        Failure::Announcement(sentence) => sentence,
    })?;
    if let Some(file) = published {
        tracing::info!("Removing the pid file.");
        file.remove();
    }
    let name = if is_sentinel { "Sentinel" } else { "Redis" };
    tracing::warn!("{name} is now ready to exit, bye bye...");
    Ok(())
}

/// The least limit of memory, in bytes, that causes no warning.
const MIN_USUAL_MAXMEMORY: u64 = 1 << 20;

/// Warns of a limit of memory that may lack its unit. A limit of 0 means no limit.
pub(crate) fn warn_of_maxmemory(bytes: u64) {
    if (1..MIN_USUAL_MAXMEMORY).contains(&bytes) {
        tracing::warn!(
            "WARNING: You specified a maxmemory value that is less than 1MB (current value is {bytes} bytes). Are you \
             sure this is what you really want?"
        );
    }
}

/// Ends the servers when their parent process has ended.
pub(crate) fn watch(parent: Option<Parent>, servers: &[Server]) -> Result<(), StartError> {
    let Some(parent) = parent else { return Ok(()) };
    let handles: Vec<Handle> = servers.iter().map(Server::handle).collect();
    let gone = move || {
        tracing::info!("The parent process has ended.");
        handles.iter().for_each(Handle::shutdown);
    };
    parent.on_end(gone).map_err(StartError::System)
}

/// Returns why the server cannot start, in Redis' words, for standard error and a log that `is_elsewhere`.
pub(crate) fn cannot_start(error: &StartError, is_elsewhere: bool) -> String {
    let lines = match error {
        StartError::Bind(BindError::Address { port, tls, .. }) => {
            let kind = if *tls { "TLS" } else { "TCP" };
            vec![format!("Warning: {error}"), format!("Failed listening on port {port} ({kind}), aborting.")]
        }
        StartError::Bind(BindError::Tls(_)) => {
            vec![error.to_string(), "Failed to configure TLS. Check logs for more info.".to_owned()]
        }
        _ => error.to_string().lines().map(str::to_owned).collect(),
    };
    lines.iter().filter(|_| is_elsewhere).for_each(|line| tracing::error!("{line}"));
    lines.join("\n")
}
