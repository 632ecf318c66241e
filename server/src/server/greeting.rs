//! The first lines of the log, before a server reads its data: its version, its mode, and where it listens.

use lockwheel_engine::config::Config;
use lockwheel_engine::statistics::Process;

/// Logs it, as Redis does.
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
    tracing::info!("Server initialized");
}
