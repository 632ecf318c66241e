//! Figures for comparison, computed from single runs: medians, spreads, ratios.

use crate::results::{Results, Run};

/// A median with its minimum and maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
}

impl Spread {
    /// Computes the spread of some values. Returns `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Some(Spread { median, min, max })
    }
}

/// The runs of one workload on one server with one pipeline.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// The runs, one per round.
    pub runs: Vec<&'a Run>,
}

impl Cell<'_> {
    /// Returns the server CPU per request in microseconds, if the server's process is known.
    pub fn cpu_us(&self) -> Option<Spread> {
        Spread::of(self.runs.iter().filter_map(|run| run.cpu_ns).map(|ns| ns / 1e3))
    }

    /// Returns the requests per second.
    pub fn rate(&self) -> Option<Spread> {
        Spread::of(self.runs.iter().map(|run| run.rate()))
    }

    /// Returns the spread of a figure over the runs.
    pub fn each(&self, figure: impl Fn(&Run) -> f64) -> Option<Spread> {
        Spread::of(self.runs.iter().map(|run| figure(run)))
    }
}

impl Results {
    /// Returns the runs of a workload on a server; `None` if there are none.
    pub fn cell(&self, server: &str, workload: &str, pipeline: usize) -> Option<Cell<'_>> {
        let is = |run: &&Run| run.server == server && run.workload == workload && run.pipeline == pipeline;
        let runs: Vec<&Run> = self.runs.iter().filter(is).collect();
        (!runs.is_empty()).then_some(Cell { runs })
    }

    /// Returns the runs that a server's column shows for a workload: its own, or those of the workload that replaces
    /// it.
    pub fn cell_or_stand_in(&self, server: &str, workload: &str, pipeline: usize) -> Option<Cell<'_>> {
        self.cell(server, workload, pipeline).or_else(|| {
            let info = self.workloads.iter().find(|info| info.name == workload)?;
            self.cell(server, info.against.as_deref()?, pipeline)
        })
    }

    /// Returns the server that others are compared with: `redis`, or else the first one other than Lockwheel.
    pub fn baseline(&self) -> Option<&str> {
        let mut names = self.servers.iter().map(|server| server.name.as_str());
        names.clone().find(|name| *name == "redis").or_else(|| names.find(|name| *name != "lockwheel"))
    }

    /// Returns the measured pipelines, in ascending order.
    pub fn pipelines(&self) -> Vec<usize> {
        let mut pipelines: Vec<usize> = self.runs.iter().map(|run| run.pipeline).collect();
        pipelines.sort_unstable();
        pipelines.dedup();
        pipelines
    }

    /// Returns the server CPU per request on `server`, as a fraction of that on the baseline. The ratio is computed
    /// round by round, since the speed of a machine varies; the result is their median.
    pub fn ratio(&self, server: &str, workload: &str, pipeline: usize) -> Option<Spread> {
        let ours = self.cell(server, workload, pipeline)?;
        let theirs = self.cell_or_stand_in(self.baseline()?, workload, pipeline)?;
        Spread::of(ours.runs.iter().filter_map(|run| {
            let other = theirs.runs.iter().find(|other| other.round == run.round)?;
            Some(run.cpu_ns? / other.cpu_ns?)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_in_the_middle() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([3.0]), Some(Spread { median: 3.0, min: 3.0, max: 3.0 }));
        assert_eq!(Spread::of([5.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 5.0 }));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 9.0]), Some(Spread { median: 3.0, min: 1.0, max: 9.0 }));
    }
}
