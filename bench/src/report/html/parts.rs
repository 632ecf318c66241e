//! What the page is put together from: text made safe, numbers for people, legends, bars, ranges, tables.

use crate::results::Results;
use crate::summary::Spread;
use std::fmt::Write as _;

/// Colours that the style knows.
const COLOURS: usize = 6;

/// Text as it may stand between tags and in quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// A number with three digits that count.
pub(super) fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => grouped(value),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A whole number, its digits in groups of three.
pub(super) fn grouped(value: f64) -> String {
    let plain = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in plain.chars().enumerate() {
        if index > 0 && (plain.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value <= -0.5 { format!("-{text}") } else { text }
}

/// A time given in microseconds, in the unit that suits it.
pub(super) fn time(us: f64) -> String {
    match us.abs() {
        size if size >= 999_500.0 => format!("{} s", digits(us / 1e6)),
        size if size >= 999.5 => format!("{} ms", digits(us / 1e3)),
        size if size >= 10.0 => format!("{us:.0} µs"),
        _ => format!("{us:.1} µs"),
    }
}

/// Bytes, in the unit that suits them.
pub(super) fn bytes(count: f64) -> String {
    match count {
        count if count >= 1024.0 * 1024.0 * 1024.0 => format!("{} GiB", digits(count / 1024f64.powi(3))),
        count if count >= 1024.0 * 1024.0 => format!("{} MiB", digits(count / 1024f64.powi(2))),
        count if count >= 1024.0 => format!("{} KiB", digits(count / 1024.0)),
        count => format!("{count:.0} B"),
    }
}

/// The class of a server's colour: the same everywhere on the page.
pub(super) fn colour(results: &Results, server: &str) -> String {
    let index = results.servers.iter().position(|info| info.name == server).unwrap_or(COLOURS - 1);
    format!("s{}", index.min(COLOURS - 1))
}

/// A section with a heading, a line on how to read it, and its content.
pub(super) fn section(title: &str, lead: &str, body: &str) -> String {
    format!("<section>\n<h2>{}</h2>\n<p>{lead}</p>\n{body}</section>\n", escape(title))
}

/// The colours of servers, then further entries: their classes and texts.
pub(super) fn legend(results: &Results, servers: &[&str], marks: &[(&str, &str)]) -> String {
    let mut list = String::from("<ul class=\"legend\">");
    for server in servers {
        let _ = write!(list, "<li class=\"{}\">{}</li>", colour(results, server), escape(server));
    }
    for (class, text) in marks {
        let _ = write!(list, "<li class=\"{class}\">{}</li>", escape(text));
    }
    list + "</ul>\n"
}

/// One bar of a row.
pub(super) struct Bar {
    /// Its colour's class.
    pub(super) class: String,
    /// Whose it is.
    pub(super) name: String,
    /// How long it is, and how far it moved.
    pub(super) value: Spread,
    /// What is to be reached, where something is.
    pub(super) target: Option<f64>,
}

/// What a row is about, and its bars.
pub(super) struct BarRow {
    pub(super) label: String,
    pub(super) note: String,
    pub(super) bars: Vec<Bar>,
}

/// Rows of bars on one scale from zero, with a line at `one` if the scale has such a place. `show` writes a figure.
pub(super) fn bars(rows: &[BarRow], one: Option<f64>, show: impl Fn(f64) -> String) -> String {
    let values =
        rows.iter().flat_map(|row| &row.bars).flat_map(|bar| [bar.value.max, bar.target.unwrap_or(0.0)]);
    let most = values.fold(one.map_or(0.0, |one| one * 1.08), f64::max).max(f64::MIN_POSITIVE);
    let part = |value: f64| format!("{:.2}%", (100.0 * value / most).clamp(0.0, 100.0));
    let mut html = match one {
        Some(one) => format!("<div class=\"scaled\" style=\"--one:{}\">\n", part(one)),
        None => "<div>\n".to_string(),
    };
    for row in rows {
        html.push_str("<div class=\"row\">");
        html.push_str(&what(&row.label, &row.note));
        html.push_str("<div>");
        for Bar { class, name, value, target } in &row.bars {
            let (low, high) = (show(value.min), show(value.max));
            let goal = target.map_or(String::new(), |target| format!(", target {}", show(target)));
            let title = escape(&format!("{name}: {} ({low} to {high}){goal}", show(value.median)));
            let _ = write!(
                html,
                "<div class=\"bar {class}\" title=\"{title}\"><div class=\"track\"><i style=\"width:{}\"></i>\
                 <u style=\"left:{};width:{}\"></u>",
                part(value.median),
                part(value.min),
                part(value.max - value.min),
            );
            if let Some(target) = target {
                let _ = write!(html, "<s style=\"left:{}\"></s>", part(*target));
            }
            let _ = write!(html, "</div><span>{}</span></div>", escape(&show(value.median)));
        }
        html.push_str("</div></div>\n");
    }
    html + "</div>\n"
}

/// What stands before or above the bars of a row.
fn what(label: &str, note: &str) -> String {
    let note = if note.is_empty() { String::new() } else { format!("<small>{}</small>", escape(note)) };
    format!("<div class=\"what\">{}{note}</div>", escape(label))
}

/// A time with others above it: a dot and a line to the last, on a scale of powers of ten.
pub(super) struct Range {
    /// Its colour's class.
    pub(super) class: String,
    /// Whose it is.
    pub(super) name: String,
    /// Names and times in µs, rising: the first is the dot, the others are marks on the line.
    pub(super) marks: Vec<(&'static str, f64)>,
    /// Which of them is what matters: it stands beside the range.
    pub(super) key: usize,
}

/// What a row is about, and its ranges.
pub(super) struct RangeRow {
    pub(super) label: String,
    pub(super) note: String,
    pub(super) ranges: Vec<Range>,
}

/// Rows of ranges on one scale of powers of ten, with a line at `target` µs if there is one.
pub(super) fn ranges(rows: &[RangeRow], target: Option<f64>) -> String {
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
    let mut html = format!("<div class=\"log wide\" style=\"--decade:{:.4}%\">\n", 100.0 / decades);
    html.push_str("<div class=\"row ticks\"><div></div><div class=\"bar\"><div class=\"track\">");
    // The last tick's text would stand over the figures.
    for power in first..last {
        let at = 10f64.powi(power);
        // On a narrow page there is room for every other one, when they are many.
        let class = if decades > 4.0 && (power - first) % 2 == 1 { " class=\"between\"" } else { "" };
        let _ = write!(html, "<b{class} style=\"left:{}\">{}</b>", part(at), decade(power));
    }
    html.push_str("</div><span></span></div></div>\n");
    for row in rows {
        html.push_str("<div class=\"row\">");
        html.push_str(&what(&row.label, &row.note));
        html.push_str("<div>");
        for range in &row.ranges {
            html.push_str(&range_bar(range, target, &part));
        }
        html.push_str("</div></div>\n");
    }
    html + "</div>\n"
}

fn range_bar(range: &Range, target: Option<f64>, part: &dyn Fn(f64) -> String) -> String {
    let marks: Vec<String> = range.marks.iter().map(|(name, us)| format!("{name} {}", time(*us))).collect();
    let title = escape(&format!("{}: {}", range.name, marks.join(", ")));
    let mut html = format!("<div class=\"bar {}\" title=\"{title}\"><div class=\"track\">", range.class);
    if let (Some((_, first)), Some((_, last))) = (range.marks.first(), range.marks.last()) {
        let (left, right) = (part(*first), part(*last));
        let _ = write!(html, "<u style=\"left:{left};width:calc({right} - {left})\"></u>");
    }
    if let Some(target) = target {
        let _ = write!(html, "<s style=\"left:{}\"></s>", part(target));
    }
    for (index, (_, us)) in range.marks.iter().enumerate() {
        let class = if index == 0 { "" } else { " class=\"end\"" };
        let _ = write!(html, "<i{class} style=\"left:{}\"></i>", part(*us));
    }
    let figure = range.marks.get(range.key).map_or(String::new(), |(_, us)| time(*us));
    let others: Vec<String> = marks.iter().take(1).filter(|_| range.key > 0).cloned().collect();
    let others = others.first().map_or(String::new(), |first| format!("<em>{first} · </em>"));
    let name = range.marks.get(range.key).map_or("", |(name, _)| name);
    let _ = write!(html, "</div><span>{others}<em>{name} </em>{figure}</span></div>");
    html
}

/// A power of ten of microseconds: `100 µs`, `1 ms`.
fn decade(power: i32) -> String {
    let (unit, power) = match power {
        ..3 => ("µs", power),
        3..6 => ("ms", power - 3),
        _ => ("s", power - 6),
    };
    format!("{} {unit}", 10f64.powi(power))
}

/// A table: the heads of its columns, and rows of cells that are HTML. Columns named in `left` are set to the left.
pub(super) fn table(heads: &[&str], left: usize, rows: &[Vec<String>]) -> String {
    let class = |column: usize| if column < left { " class=\"t\"" } else { "" };
    let mut html = String::from("<div class=\"scroll\"><table>\n<thead><tr>");
    for (column, head) in heads.iter().enumerate() {
        let _ = write!(html, "<th{}>{}</th>", class(column), escape(head));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        html.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            if cell.starts_with("<td") {
                html.push_str(cell);
            } else {
                let _ = write!(html, "<td{}>{cell}</td>", class(column));
            }
        }
        html.push_str("</tr>\n");
    }
    html + "</tbody></table></div>\n"
}

/// The cell of a table that names a server, with its colour.
pub(super) fn server_cell(results: &Results, server: &str) -> String {
    format!("<td class=\"t k {}\">{}</td>", colour(results, server), escape(server))
}
