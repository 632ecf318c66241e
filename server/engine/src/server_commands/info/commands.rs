//! INFO's statistics of commands: calls, failures and duration.

use super::lines::Lines;
use crate::config::Config;
use crate::spec::CommandTable;
use crate::statistics::Stats;

/// Writes the calls and the duration of each command that ran at least once.
pub(super) fn commandstats(commands: &CommandTable, stats: &Stats, lines: &mut Lines) {
    for command in commands.iter_all() {
        let stats = stats.of(command.id);
        if stats.calls + stats.rejected + stats.failed == 0 {
            continue;
        }
        let usec = stats.took_ns / 1000;
        let per_call = usec as f64 / stats.calls.max(1) as f64;
        lines.field(
            &format!("cmdstat_{}", command.name),
            format_args!(
                "calls={},usec={},usec_per_call={per_call:.2},rejected_calls={},failed_calls={}",
                stats.calls, usec, stats.rejected, stats.failed
            ),
        );
    }
}

/// Writes the number of error replies by error code.
pub(super) fn errorstats(stats: &Stats, lines: &mut Lines) {
    for (code, count) in stats.errors() {
        let code = String::from_utf8_lossy(code);
        lines.field(&format!("errorstat_{code}"), format_args!("count={count}"));
    }
}

/// Writes the latency percentiles of each called command, in microseconds.
pub(super) fn latencystats(config: &Config, commands: &CommandTable, stats: &Stats, lines: &mut Lines) {
    if !config.latency_tracking {
        return;
    }
    let percentiles = &config.latency_tracking_info_percentiles;
    let parsed = percentiles.iter().filter_map(|text| Some((text, text.parse::<f64>().ok()?)));
    let percentiles: Vec<(&String, f64)> = parsed.collect();
    for command in commands.iter_all() {
        let durations = stats.durations(command.id);
        if durations.calls() == 0 {
            continue;
        }
        let of = |&(text, percent): &(&String, f64)| {
            format!("p{text}={:.3}", durations.percentile_ns(percent) as f64 / 1000.0)
        };
        let shown: Vec<String> = percentiles.iter().map(of).collect();
        lines.field(&format!("latency_percentiles_usec_{}", command.name), shown.join(","));
    }
}
