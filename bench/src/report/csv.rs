//! The runs as comma-separated values, one run per line.

use crate::results::Results;
use std::fmt::Write;

/// Formats all runs.
pub fn csv(results: &Results) -> String {
    let mut text = String::from(
        "server,workload,pipeline,connections,round,ops,seconds,ops_per_second,cpu_ns,user_ns,system_ns,load_cpu_ns,\
         p50_us,p99_us,p999_us,max_us,resident\n",
    );
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.1}"));
    for run in &results.runs {
        let latency = &run.latency;
        // Writing to a string does not fail.
        let _infallible = writeln!(
            text,
            "{},{},{},{},{},{},{:.6},{:.0},{},{},{},{},{:.1},{:.1},{:.1},{:.1},{}",
            quoted(&run.server),
            quoted(&run.workload),
            run.pipeline,
            run.connections,
            run.round,
            run.ops,
            run.seconds,
            run.rate(),
            number(run.cpu_ns),
            number(run.user_ns),
            number(run.system_ns),
            number(run.load_cpu_ns),
            latency.p50,
            latency.p99,
            latency.p999,
            latency.max,
            run.resident.map_or(String::new(), |bytes| bytes.to_string()),
        );
    }
    text
}

/// Formats a text as a field, in quotes if necessary.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_field_is_quoted_when_it_has_to_be() {
        assert_eq!(quoted("pair:evalsha"), "pair:evalsha");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
