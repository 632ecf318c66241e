//! The targets of the figures.

/// The maximum server CPU per request, as a fraction of that of redis-server 7.0, by workload and pipeline.
const CPU_RATIOS: &[(&str, usize, f64)] = &[
    ("pair:evalsha", 1, 0.69),
    ("pair:evalsha", 16, 0.32),
    ("pair:evalsha", 64, 0.27),
    ("pair:eval", 1, 0.65),
    ("pair:eval", 16, 0.28),
    ("pair:eval", 64, 0.25),
    ("fcall", 16, 0.60),
    ("set", 1, 0.95),
    ("set", 16, 0.60),
    ("set", 64, 0.60),
    ("get", 1, 0.95),
    ("get", 16, 0.60),
    ("get", 64, 0.60),
    ("native", 1, 0.60),
    ("native", 16, 0.20),
    ("native", 64, 0.15),
];

/// The maximum lateness of 99 of 100 events of expired keys, in µs.
pub(crate) const EXPIRY_US: f64 = 2000.0;

/// The maximum wait of a PING, in µs.
pub(crate) const PAUSE_US: f64 = 2000.0;

/// Returns the target of a workload with a pipeline, if it has one.
pub(crate) fn cpu_ratio(workload: &str, pipeline: usize) -> Option<f64> {
    CPU_RATIOS.iter().find(|(name, of, _)| *name == workload && *of == pipeline).map(|(_, _, ratio)| *ratio)
}
