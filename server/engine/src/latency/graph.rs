//! LATENCY GRAPH: the samples of an event, drawn with letters.

use super::Series;

/// The columns of one block of the graph. Further samples are drawn in blocks below it.
const COLUMNS: usize = 80;
/// The lines of the graph, and the steps of each line.
const ROWS: usize = 4;
const STEPS: [char; 3] = ['_', 'o', '#'];

/// Returns the graph of an event's samples, with their ages at `now`, in seconds since the epoch.
pub(crate) fn draw(series: &Series, now: i64) -> String {
    let lengths = || series.samples().map(|sample| sample.took_ms);
    let (low, high) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
    let (name, longest) = (series.event.name(), series.longest_ms);
    let mut graph = format!("{name} - high {high} ms, low {low} ms (all time high {longest} ms)\n");
    graph.push_str(&"-".repeat(COLUMNS));
    graph.push('\n');
    let columns: Vec<Column> = series
        .samples()
        .map(|sample| Column {
            step: step(sample.took_ms - low, high - low),
            label: ago(now.saturating_sub(sample.unix_time)),
        })
        .collect();
    for (at, part) in columns.chunks(COLUMNS).enumerate() {
        if at > 0 {
            graph.push('\n');
        }
        draw_part(part, &mut graph);
    }
    graph
}

struct Column {
    /// The height, in steps.
    step: usize,
    /// The age of the sample, written from top to bottom.
    label: String,
}

fn draw_part(columns: &[Column], graph: &mut String) {
    for row in (0..ROWS).rev() {
        graph.extend(columns.iter().map(|column| match column.step.checked_sub(row * STEPS.len()) {
            None => ' ',
            Some(above) => STEPS.get(above).copied().unwrap_or('|'),
        }));
        graph.push('\n');
    }
    graph.push_str(&" ".repeat(columns.len()));
    graph.push('\n');
    let longest = columns.iter().map(|column| column.label.len()).max().unwrap_or(0);
    for at in 0..longest {
        graph.extend(columns.iter().map(|column| column.label.chars().nth(at).unwrap_or(' ')));
        graph.push('\n');
    }
}

/// Returns the height, in steps, of a sample that is `above_ms` longer than the shortest one.
fn step(above_ms: u64, range_ms: u64) -> usize {
    let steps = ROWS * STEPS.len();
    let step = u128::from(above_ms) * steps as u128 / u128::from(range_ms.max(1));
    usize::try_from(step).unwrap_or(usize::MAX).min(steps - 1)
}

/// Formats a number of seconds in the largest unit that fits.
fn ago(seconds: i64) -> String {
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Latency, LatencyEvent};
    use super::*;

    fn graph(samples: &[(i64, u64)], now: i64) -> String {
        let mut latency = Latency::new(1);
        for &(second, ms) in samples {
            latency.took(LatencyEvent::Command, ms * 1_000_000, second);
        }
        draw(latency.find(b"command").expect("there are some"), now)
    }

    #[test]
    fn a_graph_has_heights_and_ages() {
        let lines = [
            "command - high 300 ms, low 100 ms (all time high 300 ms)",
            &"-".repeat(80),
            "  #",
            " o|",
            " ||",
            "_||",
            "   ",
            "111",
            "d5s",
            " m ",
            "",
        ];
        let drawn = graph(&[(0, 100), (86_400, 220), (87_300 + 1, 300)], 87_302);
        assert_eq!(drawn, lines.join("\n"));
    }

    #[test]
    fn equal_samples_are_drawn_at_the_bottom() {
        let drawn = graph(&[(5, 7)], 10);
        assert!(drawn.ends_with("-\n \n \n \n_\n \n5\ns\n"), "{drawn}");
    }

    #[test]
    fn many_samples_are_drawn_in_parts() {
        let samples: Vec<(i64, u64)> = (1..=81).map(|second| (second, 10)).collect();
        let drawn = graph(&samples, 81);
        assert_eq!(drawn.lines().filter(|line| line.ends_with('_')).count(), 2, "{drawn}");
    }
}
