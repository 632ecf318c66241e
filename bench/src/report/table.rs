//! The figures as plain text.

use super::waiting;
use crate::results::Results;
use crate::summary::{Cell, Spread};

/// Returns all tables.
pub fn tables(results: &Results) -> String {
    let mut text = head(results);
    if !results.runs.is_empty() {
        text.push_str("\nServer CPU a request in us: median [least .. most]\n");
        text.push_str(&aligned(&cpu_rows(results)));
        text.push_str(
            "\nThroughput in thousands a second, and latency of a batch in us (medians of the rounds)\n",
        );
        text.push_str(&aligned(&rate_rows(results)));
    }
    if !results.memory.is_empty() {
        text.push_str("\nResident memory: bytes each, then MiB before, loaded, after FLUSHALL\n");
        text.push_str(&aligned(&memory_rows(results)));
    }
    if !results.startup.is_empty() {
        text.push_str(
            "\nFrom exec to the first PONG in ms, and resident MiB when idle: median [least .. most]\n",
        );
        text.push_str(&aligned(&startup_rows(results)));
    }
    for table in waiting::tables(results) {
        text.push_str(&format!("\n{}\n{}", table.heading, aligned(&table.rows)));
    }
    text
}

fn head(results: &Results) -> String {
    let (machine, method, noise) = (&results.machine, &results.method, &results.noise);
    let servers: Vec<String> =
        results.servers.iter().map(|server| format!("{} ({})", server.name, server.version)).collect();
    let cores = |cores: &[usize]| match cores {
        [] => "any core".to_string(),
        cores => format!("core {}", cores.iter().map(usize::to_string).collect::<Vec<_>>().join("+")),
    };
    let mut text = format!(
        "{}\n{}, {} cores, {}, {}\nserver on {}, load on {}; {} connections, {} keys, {} rounds of {} s{}\n",
        servers.join(", "),
        machine.processor,
        machine.cores,
        machine.system,
        machine.congestion_control,
        cores(&method.server_cores),
        cores(&method.load_cores),
        method.connections,
        method.keys,
        method.rounds,
        method.seconds,
        method.rate.map_or(String::new(), |rate| format!(", {rate} requests a second")),
    );
    if let Some((least, most)) = noise.loop_ns {
        let stolen = noise.stolen_share.unwrap_or(0.0) * 100.0;
        text.push_str(&format!(
            "noise: the speed of the server's core moved by {:.2} times, the host took {stolen:.1} %\n",
            most / least
        ));
    }
    text
}

fn cpu_rows(results: &Results) -> Vec<Vec<String>> {
    let baseline = results.baseline();
    let others: Vec<&str> = results
        .servers
        .iter()
        .map(|server| server.name.as_str())
        .filter(|name| Some(*name) != baseline)
        .collect();
    let mut first = vec!["workload".to_string(), "P".to_string()];
    first.extend(results.servers.iter().map(|server| server.name.clone()));
    if let Some(baseline) = baseline {
        first.extend(others.iter().map(|name| format!("{name}/{baseline}")));
    }
    let mut rows = vec![first];
    for (workload, pipeline) in lines(results) {
        let mut row = vec![workload.to_string(), pipeline.to_string()];
        for server in &results.servers {
            let cell = results.cell_or_stand_in(&server.name, workload, pipeline);
            row.push(spread(cell.as_ref().and_then(Cell::cpu_us), 3));
        }
        if baseline.is_some() {
            let ratios = others.iter().map(|name| results.ratio(name, workload, pipeline));
            row.extend(ratios.map(|ratio| spread(ratio, 2)));
        }
        rows.push(row);
    }
    rows
}

fn rate_rows(results: &Results) -> Vec<Vec<String>> {
    let mut first = vec!["workload".to_string(), "P".to_string()];
    for server in &results.servers {
        first.extend([server.name.clone(), "p50".to_string(), "p99".to_string(), "p99.9".to_string()]);
    }
    first.push("load's own CPU".to_string());
    let mut rows = vec![first];
    for (workload, pipeline) in lines(results) {
        let mut row = vec![workload.to_string(), pipeline.to_string()];
        for server in &results.servers {
            match results.cell_or_stand_in(&server.name, workload, pipeline) {
                Some(cell) => row.extend(rate_and_latency(&cell)),
                None => row.extend(vec!["-".to_string(); 4]),
            }
        }
        let load = results.runs.iter().filter(|run| run.workload == workload && run.pipeline == pipeline);
        let load = Spread::of(load.filter_map(|run| run.load_cpu_ns));
        row.push(load.map_or("-".to_string(), |load| format!("{:.2}", load.median / 1e3)));
        rows.push(row);
    }
    rows
}

fn rate_and_latency(cell: &Cell<'_>) -> [String; 4] {
    let median = |spread: Option<Spread>| spread.map_or(0.0, |spread| spread.median);
    [
        median(cell.rate()) / 1e3,
        median(cell.each(|run| run.latency.p50)),
        median(cell.each(|run| run.latency.p99)),
        median(cell.each(|run| run.latency.p999)),
    ]
    .map(|figure| format!("{figure:.0}"))
}

const MIB: f64 = 1024.0 * 1024.0;

fn memory_rows(results: &Results) -> Vec<Vec<String>> {
    let mut rows = vec![
        ["kind", "server", "pieces", "bytes each", "before", "loaded", "flushed"].map(String::from).to_vec(),
    ];
    for memory in &results.memory {
        let mib = |bytes: u64| format!("{:.1}", bytes as f64 / MIB);
        rows.push(vec![
            memory.kind.clone(),
            memory.server.clone(),
            memory.keys.to_string(),
            format!("{:.1}", memory.per_key()),
            mib(memory.before),
            mib(memory.loaded),
            mib(memory.flushed),
        ]);
    }
    rows
}

fn startup_rows(results: &Results) -> Vec<Vec<String>> {
    let mut rows = vec![["server", "ready", "idle"].map(String::from).to_vec()];
    for startup in &results.startup {
        let ready = Spread::of(startup.seconds.iter().map(|seconds| seconds * 1e3));
        let idle = Spread::of(startup.idle.iter().map(|&bytes| bytes as f64 / MIB));
        rows.push(vec![startup.server.clone(), spread(ready, 1), spread(idle, 1)]);
    }
    rows
}

/// Returns the rows of both tables: workloads in their order, each with every pipeline.
fn lines(results: &Results) -> Vec<(&str, usize)> {
    let pipelines = results.pipelines();
    let names = results.workloads.iter().map(|info| info.name.as_str());
    names.flat_map(|name| pipelines.iter().map(move |&pipeline| (name, pipeline))).collect()
}

fn spread(spread: Option<Spread>, digits: usize) -> String {
    match spread {
        Some(Spread { median, min, max }) => format!("{median:.digits$} [{min:.digits$} .. {max:.digits$}]"),
        None => "-".to_string(),
    }
}

/// Formats columns as wide as their widest field. The first is aligned to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    columns(
        rows,
        |column, width, field| {
            if column == 0 { format!("{field:<width$}") } else { format!("{field:>width$}") }
        },
    )
}

/// Formats columns as wide as their widest field, all aligned to the left.
pub(super) fn left(rows: &[Vec<String>]) -> String {
    columns(rows, |_, width, field| format!("{field:<width$}"))
}

fn columns(rows: &[Vec<String>], pad: impl Fn(usize, usize, &str) -> String) -> String {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|field| field.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..rows.iter().map(Vec::len).max().unwrap_or(0)).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let fields: Vec<String> =
            row.iter().enumerate().map(|(column, field)| pad(column, widths[column], field)).collect();
        text.push_str(fields.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn columns_stand_under_each_other() {
        let rows = [vec!["a".to_string(), "1".to_string()], vec!["long".to_string(), "100".to_string()]];
        assert_eq!(aligned(&rows), "a       1\nlong  100\n");
    }
}
