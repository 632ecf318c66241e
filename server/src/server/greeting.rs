//! The first lines of the log, before a server reads its data: version, mode and port.

use lockwheel_engine::config::Config;
use lockwheel_engine::statistics::Process;
use std::fs;

/// Logs these lines, as Redis does.
pub(super) fn log(config: &Config, process: &Process) {
    let (mode, port, id) = (config.mode(), config.shown_port(), process.id);
    tracing::info!("monotonic clock: {}", process.monotonic_clock);
    if config.always_show_logo {
        // Harnesses read the process id here.
        let about = format!(" Running in {mode} mode\n Port: {port}\n PID: {id}\n");
        tracing::info!("Lockwheel {}\n\n{about}", env!("CARGO_PKG_VERSION"));
    } else {
        tracing::info!("Running mode={mode}, port={port}.");
    }
    warn_of_backlog(config.tcp_backlog);
    tracing::info!("Server initialized");
}

/// Warns if the system's backlog of connections is known to be less than `tcp-backlog`.
fn warn_of_backlog(wished: i32) {
    const LIMIT: &str = "/proc/sys/net/core/somaxconn";
    let limit = fs::read_to_string(LIMIT).ok().and_then(|text| text.trim().parse::<i32>().ok());
    if let Some(limit) = limit.filter(|&limit| limit > 0 && limit < wished) {
        tracing::warn!(
            "WARNING: The TCP backlog setting of {wished} cannot be enforced because {LIMIT} is set to the lower value \
             of {limit}."
        );
    }
}
