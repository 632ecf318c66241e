//! Latency by percentile: a small plot for each workload and pipeline.

use super::load::servers;
use super::numbers::time;
use super::parts::{colour, legend};
use crate::results::{Latency, Results, WorkloadInfo};
use crate::summary::Cell;
use maud::{Markup, html};

/// The size of the plot in its own units, which are about the pixels on a phone.
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 190.0;
/// The room for the texts of the axes.
const LEFT: f64 = 46.0;
const BOTTOM: f64 = 22.0;
const TOP: f64 = 8.0;
const RIGHT: f64 = 10.0;

/// The percentiles that have a line and a text.
const TICKS: [f64; 5] = [0.0, 50.0, 90.0, 99.0, 99.9];

/// The end of the curves. Beyond it a run of a second has too few samples.
const LAST: f64 = 99.99;

/// All curves, with a folding part for each pipeline; empty if no run kept its curve.
pub(super) fn section(results: &Results) -> Markup {
    let parts: Vec<(usize, usize, Vec<Markup>)> = results
        .pipelines()
        .into_iter()
        .enumerate()
        .map(|(index, pipeline)| (index, pipeline, plots(results, pipeline)))
        .filter(|(_, _, plots)| !plots.is_empty())
        .collect();
    if parts.is_empty() {
        return html! {};
    }
    let lead = match results.method.rate {
        Some(rate) => html! {
            "From when a request should have been sent, " (rate) " a second, to its reply: nobody waits for the last \
             reply, so that a slow one counts for all that it delays."
        },
        None => html! {
            "From sending a batch to its last reply, every connection sending as soon as it can: a latency under \
             full load, which is mostly a queue. With --rate it is measured at a load of your choice."
        },
    };
    let body = html! {
        div.card {
            (legend(results, &servers(results), &[]))
            @for (index, pipeline, plots) in &parts {
                details open[*index == 0] {
                    summary {
                        @match pipeline {
                            1 => "One request at a time",
                            many => { "Pipelines of " (many) ": the time of a whole batch" }
                        }
                    }
                    div.charts {
                        @for plot in plots {
                            (plot)
                        }
                    }
                }
            }
        }
    };
    super::parts::section("Latency by percentile", &lead, &body)
}

/// Returns the curve of a cell, which is that of the run with the median 99th percentile.
fn curve<'a>(cell: &Cell<'a>) -> Option<&'a Latency> {
    let mut runs: Vec<&Latency> =
        cell.runs.iter().map(|run| &run.latency).filter(|latency| !latency.curve.is_empty()).collect();
    runs.sort_by(|one, other| one.p99.total_cmp(&other.p99));
    runs.get(runs.len().saturating_sub(1) / 2).copied()
}

/// The curves of one workload: the name of the server, and percentiles with their times.
type Curves<'a> = Vec<(&'a str, Vec<(f64, f64)>)>;

fn curves<'a>(results: &'a Results, info: &WorkloadInfo, pipeline: usize) -> Curves<'a> {
    let of = |name: &'a str| {
        let cell = results.cell_or_stand_in(name, &info.name, pipeline)?;
        let points = curve(&cell)?.curve.iter().filter(|(percent, _)| *percent <= LAST);
        Some((name, points.map(|(percent, us)| (*percent, us.max(1.0))).collect::<Vec<_>>()))
    };
    servers(results).into_iter().filter_map(of).filter(|(_, points)| !points.is_empty()).collect()
}

/// All plots of a pipeline, on one scale.
fn plots(results: &Results, pipeline: usize) -> Vec<Markup> {
    let all: Vec<(&WorkloadInfo, Curves<'_>)> =
        results.workloads.iter().map(|info| (info, curves(results, info, pipeline))).collect();
    let values = all.iter().flat_map(|(_, curves)| curves).flat_map(|(_, points)| points).map(|(_, us)| *us);
    let (least, most) = values.fold((f64::MAX, 1.0f64), |(least, most), us| (least.min(us), most.max(us)));
    let scale = Scale::new(least, most);
    let drawn = all.iter().filter(|(_, curves)| !curves.is_empty());
    drawn.map(|(info, curves)| plot(results, info, curves, &scale)).collect()
}

fn plot(results: &Results, info: &WorkloadInfo, curves: &Curves<'_>, scale: &Scale) -> Markup {
    html! {
        figure {
            figcaption { (info.name) }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img"
                aria-label={ "latency of " (info.name) " by percentile" } {
                (axes(scale))
                @for (name, points) in curves {
                    (line(&colour(results, name), name, points, scale))
                }
            }
        }
    }
}

/// The scale of times: logarithmic, from a round number to a round number.
struct Scale {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Scale {
    fn new(least: f64, most: f64) -> Scale {
        let steps = (0..10).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
        let steps: Vec<f64> = steps.collect();
        let low = steps.iter().rev().find(|step| **step <= least).copied().unwrap_or(1.0);
        let high = steps.iter().find(|step| **step >= most && **step > low).copied().unwrap_or(most * 2.0);
        let inside: Vec<f64> = steps.into_iter().filter(|step| (low..=high).contains(step)).collect();
        // More than six texts would be too close: only powers of ten remain then.
        let power = |step: &f64| step.log10().fract() == 0.0;
        let ticks = if inside.len() > 6 { inside.into_iter().filter(power).collect() } else { inside };
        Scale { low, high, ticks }
    }

    fn y(&self, us: f64) -> f64 {
        let part = (us / self.low).ln() / (self.high / self.low).ln();
        TOP + (1.0 - part.clamp(0.0, 1.0)) * (HEIGHT - TOP - BOTTOM)
    }
}

/// Returns the position of a percentile. Each step to the right halves the rest.
fn x(percent: f64) -> f64 {
    let rest = |percent: f64| (1.0 - percent.min(LAST) / 100.0).max(1e-9).log10();
    LEFT + rest(percent) / rest(LAST) * (WIDTH - LEFT - RIGHT)
}

/// Formats a coordinate, as finely as the eye can see.
fn at(coordinate: f64) -> String {
    format!("{coordinate:.1}")
}

fn axes(scale: &Scale) -> Markup {
    let (right, base) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    html! {
        @for tick in &scale.ticks {
            @let y = scale.y(*tick);
            line.grid x1=(LEFT) x2=(right) y1=(at(y)) y2=(at(y)) {}
            text x=(LEFT - 5.0) y=(at(y + 4.0)) text-anchor="end" { (time_tick(*tick)) }
        }
        @for tick in TICKS {
            @let x = at(x(tick));
            line.grid x1=(x) x2=(x) y1=(TOP) y2=(base) {}
            text x=(x) y=(at(HEIGHT - 6.0)) text-anchor="middle" {
                @if tick != 0.0 {
                    "p" (tick)
                }
            }
        }
        line.axis x1=(LEFT) x2=(right) y1=(base) y2=(base) {}
    }
}

/// Formats a round number of microseconds without redundant digits.
fn time_tick(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{} s", us / 1e6),
        us if us >= 1e3 => format!("{} ms", us / 1e3),
        us => format!("{us} µs"),
    }
}

fn line(class: &str, name: &str, points: &[(f64, f64)], scale: &Scale) -> Markup {
    let path: Vec<String> =
        points.iter().map(|(percent, us)| format!("{},{}", at(x(*percent)), at(scale.y(*us)))).collect();
    html! {
        g class=(class) {
            polyline.line points=(path.join(" ")) {}
            // Points for the mouse, which show the figures.
            @for (percent, us) in points {
                circle cx=(at(x(*percent))) cy=(at(scale.y(*us))) r="5" {
                    title { (name) " p" ((percent * 1000.0).round() / 1000.0) ": " (time(*us)) }
                }
            }
        }
    }
}
