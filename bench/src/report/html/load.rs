//! Ratios, CPU and throughput of the workloads under load.

use super::numbers::{digits, grouped, time};
use super::parts::{Bar, BarRow, TableCell, bars, colour, legend, section, server_cell, table};
use crate::report::targets;
use crate::results::{Results, WorkloadInfo};
use crate::summary::{Cell, Spread};
use maud::{Markup, html};

/// All sections about the runs under load.
pub(super) fn sections(results: &Results) -> Markup {
    html! {
        @if !results.runs.is_empty() {
            (ratios(results))
            (cpu(results))
            (throughput(results))
            (figures(results))
        }
    }
}

/// One card of bars for each pipeline; `None` if there is no bar at all.
fn panels(
    results: &Results,
    one: Option<f64>,
    show: fn(f64) -> String,
    row: impl Fn(&WorkloadInfo, usize) -> BarRow,
) -> Option<Markup> {
    let panel = |pipeline| {
        let rows = results.workloads.iter().map(|info| row(info, pipeline));
        (pipeline, rows.filter(|row| !row.bars.is_empty()).collect::<Vec<_>>())
    };
    let panels: Vec<(usize, Vec<BarRow>)> =
        results.pipelines().into_iter().map(panel).filter(|(_, rows)| !rows.is_empty()).collect();
    let markup = html! {
        div.panels {
            @for (pipeline, rows) in &panels {
                div.card {
                    h3 {
                        @match pipeline {
                            1 => "One request at a time",
                            many => { "Pipelines of " (many) }
                        }
                    }
                    (bars(rows, one, show))
                }
            }
        }
    };
    (!panels.is_empty()).then_some(markup)
}

fn ratios(results: &Results) -> Markup {
    let Some(baseline) = results.baseline() else { return html! {} };
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
    let Some(content) = panels(results, Some(1.0), |value| format!("{value:.2}"), row) else {
        return html! {};
    };
    let one = format!("{baseline} = 1");
    let lead = html! {
        "Server CPU a request, as a part of what " (baseline) " takes for the same: shorter is better. A ratio is \
         formed inside one round, in which the servers take turns; the bar is the median of the rounds, the thin line \
         their least and most."
    };
    let body = html! {
        (legend(results, &others, &[("mark one", &one), ("mark goal", "target")]))
        (content)
    };
    section(&format!("CPU a request, beside {baseline}"), &lead, &body)
}

fn cpu(results: &Results) -> Markup {
    let row = |info: &WorkloadInfo, pipeline: usize| measured(results, info, pipeline, |cell| cell.cpu_us());
    let Some(content) = panels(results, None, digits, row) else { return html! {} };
    let lead = html! {
        "All threads of the server, in microseconds a request: the median of the rounds, the thin line from the \
         least to the most. One request at a time is mostly the kernel's TCP, the same for every server."
    };
    let body = html! {
        (legend(results, &servers(results), &[]))
        (content)
    };
    section("CPU a request, in µs", &lead, &body)
}

fn throughput(results: &Results) -> Markup {
    let rate = |cell: &Cell<'_>| {
        let Spread { median, min, max } = cell.rate()?;
        Some(Spread { median: median / 1e3, min: min / 1e3, max: max / 1e3 })
    };
    let row = |info: &WorkloadInfo, pipeline: usize| measured(results, info, pipeline, rate);
    let Some(content) = panels(results, None, digits, row) else { return html! {} };
    let lead = html! {
        "Thousands of requests a second: longer is better. Where one core sends the load, that core is often the \
         limit, not the server; compare the CPU a request instead."
    };
    let body = html! {
        details {
            summary { "Show" }
            (legend(results, &servers(results), &[]))
            (content)
        }
    };
    section("Throughput, in thousands a second", &lead, &body)
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

/// The descriptions of the workloads.
fn workloads(results: &Results) -> Markup {
    html! {
        details {
            summary { "What the workloads do" }
            dl {
                @for info in &results.workloads {
                    dt { (info.name) }
                    dd {
                        (info.about)
                        @if let Some(other) = &info.against {
                            "; servers without it do " (other) " beside it"
                        }
                    }
                }
            }
        }
    }
}

/// A table of each figure of each workload.
fn figures(results: &Results) -> Markup {
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
    html! {
        section {
            (workloads(results))
            details {
                summary { "All figures of the runs under load" }
                (table(&heads, 1, &rows))
            }
        }
    }
}

fn figures_row(
    results: &Results,
    workload: &str,
    pipeline: usize,
    server: &str,
    cell: &Cell<'_>,
) -> Vec<TableCell> {
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
        workload.into(),
        pipeline.to_string().into(),
        server_cell(results, server),
        cell.runs.len().to_string().into(),
        us(cpu).into(),
        cpu.map_or_else(dash, |spread| format!("{:.3}", spread.min)).into(),
        cpu.map_or_else(dash, |spread| format!("{:.3}", spread.max)).into(),
        ns(|run| run.user_ns).into(),
        ns(|run| run.system_ns).into(),
        cell.rate().map_or_else(dash, |spread| grouped(spread.median)).into(),
        late(|run| run.latency.p50).into(),
        late(|run| run.latency.p99).into(),
        late(|run| run.latency.p999).into(),
        late(|run| run.latency.max).into(),
        resident.map_or_else(dash, |spread| digits(spread.median / 1024f64.powi(2))).into(),
    ]
}

/// Returns the names of the servers, in their order.
pub(super) fn servers(results: &Results) -> Vec<&str> {
    results.servers.iter().map(|server| server.name.as_str()).collect()
}
