//! Ratios, CPU and throughput of the workloads under load.

use super::parts::{
    Bar, BarRow, bars, colour, digits, escape, grouped, legend, section, server_cell, table, time,
};
use crate::report::targets;
use crate::results::{Results, WorkloadInfo};
use crate::summary::{Cell, Spread};

/// Everything about the runs under load.
pub(super) fn sections(results: &Results) -> String {
    if results.runs.is_empty() {
        return String::new();
    }
    [ratios(results), cpu(results), throughput(results), figures(results)].concat()
}

/// One card of bars for each pipeline.
fn panels(
    results: &Results,
    one: Option<f64>,
    show: fn(f64) -> String,
    row: impl Fn(&WorkloadInfo, usize) -> BarRow,
) -> String {
    let mut html = String::from("<div class=\"panels\">\n");
    for pipeline in results.pipelines() {
        let rows =
            results.workloads.iter().map(|info| row(info, pipeline)).filter(|row| !row.bars.is_empty());
        let rows: Vec<BarRow> = rows.collect();
        if !rows.is_empty() {
            let title = match pipeline {
                1 => "One request at a time".to_string(),
                many => format!("Pipelines of {many}"),
            };
            html.push_str(&format!(
                "<div class=\"card\">\n<h3>{title}</h3>\n{}</div>\n",
                bars(&rows, one, show)
            ));
        }
    }
    html + "</div>\n"
}

fn ratios(results: &Results) -> String {
    let Some(baseline) = results.baseline() else { return String::new() };
    let others: Vec<&str> = servers(results).into_iter().filter(|name| *name != baseline).collect();
    let row = |info: &WorkloadInfo, pipeline| {
        let bar = |name: &&str| {
            let ours = *name == "lockwheel" && baseline == "redis";
            Some(Bar {
                class: colour(results, name),
                name: format!("{name}/{baseline}"),
                value: results.ratio(name, &info.name, pipeline)?,
                target: targets::cpu_ratio(&info.name, pipeline).filter(|_| ours),
            })
        };
        BarRow {
            label: info.name.clone(),
            note: String::new(),
            bars: others.iter().filter_map(bar).collect(),
        }
    };
    let content = panels(results, Some(1.0), |value| format!("{value:.2}"), row);
    if !content.contains("class=\"bar") {
        return String::new();
    }
    let one = format!("{baseline} = 1");
    let lead = format!(
        "Server CPU a request, as a part of what {} takes for the same: shorter is better. A ratio is formed inside \
         one round, in which the servers take turns; the bar is the median of the rounds, the thin line their least \
         and most.",
        escape(baseline)
    );
    let legend = legend(results, &others, &[("mark one", &one), ("mark goal", "target")]);
    section(&format!("CPU a request, beside {baseline}"), &lead, &(legend + &content))
}

fn cpu(results: &Results) -> String {
    let content = panels(results, None, digits, |info, pipeline| {
        measured(results, info, pipeline, |cell| cell.cpu_us())
    });
    if !content.contains("class=\"bar") {
        return String::new();
    }
    let lead = "All threads of the server, in microseconds a request: the median of the rounds, the thin line from \
                the least to the most. One request at a time is mostly the kernel's TCP, the same for every server.";
    let legend = legend(results, &servers(results), &[]);
    section("CPU a request, in µs", lead, &(legend + &content))
}

fn throughput(results: &Results) -> String {
    let rate = |cell: &Cell<'_>| {
        let Spread { median, min, max } = cell.rate()?;
        Some(Spread { median: median / 1e3, min: min / 1e3, max: max / 1e3 })
    };
    let content = panels(results, None, digits, |info, pipeline| measured(results, info, pipeline, rate));
    let lead = "Thousands of requests a second: longer is better. Where one core sends the load, that core is often \
                the limit, not the server; compare the CPU a request instead.";
    let legend = legend(results, &servers(results), &[]);
    let body = format!("<details><summary>Show</summary>\n{legend}{content}</details>\n");
    section("Throughput, in thousands a second", lead, &body)
}

/// A row with a bar for each server.
fn measured(
    results: &Results,
    info: &WorkloadInfo,
    pipeline: usize,
    figure: impl Fn(&Cell<'_>) -> Option<Spread>,
) -> BarRow {
    let bar = |name: &str| {
        let cell = results.cell_or_stand_in(name, &info.name, pipeline)?;
        let value = figure(&cell)?;
        Some(Bar { class: colour(results, name), name: name.to_string(), value, target: None })
    };
    let bars = servers(results).into_iter().filter_map(bar).collect();
    BarRow { label: info.name.clone(), note: String::new(), bars }
}

/// What each workload does.
fn workloads(results: &Results) -> String {
    let item = |info: &WorkloadInfo| {
        let against = info.against.as_ref().map(|other| format!("; servers without it do {other} beside it"));
        format!(
            "<dt>{}</dt><dd>{}{}</dd>\n",
            escape(&info.name),
            escape(&info.about),
            escape(&against.unwrap_or_default())
        )
    };
    let list: String = results.workloads.iter().map(item).collect();
    format!("<details><summary>What the workloads do</summary>\n<dl>\n{list}</dl></details>\n")
}

/// Each figure of each workload in a table.
fn figures(results: &Results) -> String {
    let heads = [
        "workload",
        "P",
        "server",
        "rounds",
        "CPU µs",
        "least",
        "most",
        "user µs",
        "kernel µs",
        "requests/s",
        "p50",
        "p99",
        "p99.9",
        "slowest",
        "resident MiB",
    ];
    let mut rows = Vec::new();
    for info in &results.workloads {
        for pipeline in results.pipelines() {
            for server in servers(results) {
                if let Some(cell) = results.cell(server, &info.name, pipeline) {
                    rows.push(figures_row(results, &info.name, pipeline, server, &cell));
                }
            }
        }
    }
    let table = table(&heads, 1, &rows);
    format!(
        "<section>\n{}<details><summary>All figures of the runs under load</summary>\n{table}</details>\n</section>\n",
        workloads(results)
    )
}

fn figures_row(
    results: &Results,
    workload: &str,
    pipeline: usize,
    server: &str,
    cell: &Cell<'_>,
) -> Vec<String> {
    let dash = || "–".to_string();
    let us = |spread: Option<Spread>| spread.map_or_else(dash, |spread| format!("{:.3}", spread.median));
    let ns = |figure: fn(&crate::results::Run) -> Option<f64>| {
        us(Spread::of(cell.runs.iter().filter_map(|run| figure(run)).map(|ns| ns / 1e3)))
    };
    let late = |figure: fn(&crate::results::Run) -> f64| {
        cell.each(figure).map_or_else(dash, |spread| time(spread.median))
    };
    let cpu = cell.cpu_us();
    let resident = Spread::of(cell.runs.iter().filter_map(|run| run.resident).map(|bytes| bytes as f64));
    vec![
        escape(workload),
        pipeline.to_string(),
        server_cell(results, server),
        cell.runs.len().to_string(),
        us(cpu),
        cpu.map_or_else(dash, |spread| format!("{:.3}", spread.min)),
        cpu.map_or_else(dash, |spread| format!("{:.3}", spread.max)),
        ns(|run| run.user_ns),
        ns(|run| run.system_ns),
        cell.rate().map_or_else(dash, |spread| grouped(spread.median)),
        late(|run| run.latency.p50),
        late(|run| run.latency.p99),
        late(|run| run.latency.p999),
        late(|run| run.latency.max),
        resident.map_or_else(dash, |spread| digits(spread.median / 1024f64.powi(2))),
    ]
}

/// The names of the servers, in their order.
pub(super) fn servers(results: &Results) -> Vec<&str> {
    results.servers.iter().map(|server| server.name.as_str()).collect()
}
