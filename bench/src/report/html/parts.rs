//! The parts of the page: legends, bars, ranges, tables.

use super::numbers::{decade, time};
use crate::results::Results;
use crate::summary::Spread;
use maud::{Markup, html};

/// The number of colours of the style.
const COLOURS: usize = 6;

/// Returns the class of a server's colour, which is the same everywhere on the page.
pub(super) fn colour(results: &Results, server: &str) -> String {
    let index = results.servers.iter().position(|info| info.name == server).unwrap_or(COLOURS - 1);
    format!("s{}", index.min(COLOURS - 1))
}

/// A section with a heading, a line of instructions, and its content.
pub(super) fn section(title: &str, lead: &Markup, body: &Markup) -> Markup {
    html! {
        section {
            h2 { (title) }
            p { (lead) }
            (body)
        }
    }
}

/// A legend: the colours of servers, then further entries with their classes and texts.
pub(super) fn legend(results: &Results, servers: &[&str], marks: &[(&str, &str)]) -> Markup {
    html! {
        ul.legend {
            @for server in servers {
                li class=(colour(results, server)) { (server) }
            }
            @for (class, text) in marks {
                li class=(class) { (text) }
            }
        }
    }
}

/// One bar of a row.
pub(super) struct Bar {
    /// The class of its colour.
    pub(super) class: String,
    /// The name of the server.
    pub(super) name: String,
    /// The length, and its variation.
    pub(super) value: Spread,
    /// The target, if there is one.
    pub(super) target: Option<f64>,
}

/// The subject of a row, and its bars.
pub(super) struct BarRow {
    pub(super) label: String,
    pub(super) note: String,
    pub(super) bars: Vec<Bar>,
}

/// Rows of bars on one scale from zero. A line marks `one` if that is on the scale. `show` formats a figure.
pub(super) fn bars(rows: &[BarRow], one: Option<f64>, show: impl Fn(f64) -> String) -> Markup {
    let values =
        rows.iter().flat_map(|row| &row.bars).flat_map(|bar| [bar.value.max, bar.target.unwrap_or(0.0)]);
    let most = values.fold(one.map_or(0.0, |one| one * 1.08), f64::max).max(f64::MIN_POSITIVE);
    let part = |value: f64| format!("{:.2}%", (100.0 * value / most).clamp(0.0, 100.0));
    let scale = one.map(|one| format!("--one:{}", part(one)));
    html! {
        div class=[one.map(|_| "scaled")] style=[scale] {
            @for row in rows {
                div.row {
                    (what(&row.label, &row.note))
                    div {
                        @for one in &row.bars {
                            (bar(one, &part, &show))
                        }
                    }
                }
            }
        }
    }
}

fn bar(bar: &Bar, part: &dyn Fn(f64) -> String, show: &dyn Fn(f64) -> String) -> Markup {
    let Bar { class, name, value, target } = bar;
    let (low, high) = (show(value.min), show(value.max));
    let goal = target.map_or(String::new(), |target| format!(", target {}", show(target)));
    html! {
        div.bar.(class) title={ (name) ": " (show(value.median)) " (" (low) " to " (high) ")" (goal) } {
            div.track {
                i style={ "width:" (part(value.median)) } {}
                u style={ "left:" (part(value.min)) ";width:" (part(value.max - value.min)) } {}
                @if let Some(target) = target {
                    s style={ "left:" (part(*target)) } {}
                }
            }
            span { (show(value.median)) }
        }
    }
}

/// The texts before or above the bars of a row.
fn what(label: &str, note: &str) -> Markup {
    html! {
        div.what {
            (label)
            @if !note.is_empty() {
                small { (note) }
            }
        }
    }
}

/// A time and greater ones: a dot, and a line to the last, on a scale of powers of ten.
pub(super) struct Range {
    /// The class of its colour.
    pub(super) class: String,
    /// The name of the server.
    pub(super) name: String,
    /// Names and times in µs, in ascending order. The first is the dot; the others are marks on the line.
    pub(super) marks: Vec<(&'static str, f64)>,
    /// The index of the most important mark, which is printed beside the range.
    pub(super) key: usize,
}

/// The subject of a row, and its ranges.
pub(super) struct RangeRow {
    pub(super) label: String,
    pub(super) note: String,
    pub(super) ranges: Vec<Range>,
}

/// Rows of ranges on one scale of powers of ten. A line marks `target`, in µs, if there is one.
pub(super) fn ranges(rows: &[RangeRow], target: Option<f64>) -> Markup {
    let values =
        rows.iter().flat_map(|row| &row.ranges).flat_map(|range| range.marks.iter().map(|mark| mark.1));
    let (least, most) = values.chain(target).fold((f64::MAX, 1.0), |(least, most): (f64, f64), value| {
        (least.min(value.max(1.0)), most.max(value))
    });
    let first = least.min(most).log10().floor() as i32;
    let last = (most.log10().ceil() as i32).max(first + 1);
    let decades = f64::from(last - first);
    let part = |value: f64| {
        let place = (value.max(1.0).log10() - f64::from(first)) / decades;
        format!("{:.2}%", (100.0 * place).clamp(0.0, 100.0))
    };
    // The text of the last tick would cover the figures.
    let ticks = first..last;
    html! {
        div.log.wide style=(format!("--decade:{:.4}%", 100.0 / decades)) {
            div.row.ticks {
                div {}
                div.bar {
                    div.track {
                        @for power in ticks {
                            // If there are many ticks, a narrow page has room only for every other one.
                            @let between = decades > 4.0 && (power - first) % 2 == 1;
                            b class=[between.then_some("between")] style={ "left:" (part(10f64.powi(power))) } {
                                (decade(power))
                            }
                        }
                    }
                    span {}
                }
            }
            @for row in rows {
                div.row {
                    (what(&row.label, &row.note))
                    div {
                        @for range in &row.ranges {
                            (range_bar(range, target, &part))
                        }
                    }
                }
            }
        }
    }
}

fn range_bar(range: &Range, target: Option<f64>, part: &dyn Fn(f64) -> String) -> Markup {
    let marks: Vec<String> = range.marks.iter().map(|(name, us)| format!("{name} {}", time(*us))).collect();
    let line = range.marks.first().zip(range.marks.last());
    html! {
        div.bar.(range.class) title={ (range.name) ": " (marks.join(", ")) } {
            div.track {
                @if let Some(((_, first), (_, last))) = line {
                    @let left = part(*first);
                    u style={ "left:" (left) ";width:calc(" (part(*last)) " - " (left) ")" } {}
                }
                @if let Some(target) = target {
                    s style={ "left:" (part(target)) } {}
                }
                @for (index, (_, us)) in range.marks.iter().enumerate() {
                    i class=[(index > 0).then_some("end")] style={ "left:" (part(*us)) } {}
                }
            }
            span {
                @if range.key > 0 && let Some(first) = marks.first() {
                    em { (first) " · " }
                }
                @if let Some((name, us)) = range.marks.get(range.key) {
                    em { (name) " " }
                    (time(*us))
                }
            }
        }
    }
}

/// A cell of a table.
pub(super) struct TableCell {
    /// The class of this cell, in place of the class of its column.
    class: Option<String>,
    text: Markup,
}

impl From<Markup> for TableCell {
    fn from(text: Markup) -> Self {
        Self { class: None, text }
    }
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        html! { (text) }.into()
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        html! { (text) }.into()
    }
}

/// A table: the heads of its columns, and rows of cells. The first `left` columns are aligned to the left.
pub(super) fn table(heads: &[&str], left: usize, rows: &[Vec<TableCell>]) -> Markup {
    let class = |column: usize| (column < left).then_some("t");
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        @for (column, head) in heads.iter().enumerate() {
                            th class=[class(column)] { (head) }
                        }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            @for (column, cell) in row.iter().enumerate() {
                                td class=[cell.class.as_deref().or(class(column))] { (cell.text) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A table cell with the name of a server, in its colour.
pub(super) fn server_cell(results: &Results, server: &str) -> TableCell {
    TableCell { class: Some(format!("t k {}", colour(results, server))), text: html! { (server) } }
}
