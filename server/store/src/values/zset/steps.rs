//! Differences between the stored and the real scores of a large sorted set, each from a position of its order on.

use crate::memory::vec_heap_bytes;

/// The most steps that are kept. Small in tests, so that they reach it.
const MAX_STEPS: usize = if cfg!(test) { 4 } else { 256 };

/// The shift of stored scores above `above`, exclusively. `total` includes all earlier steps.
#[derive(Clone, Copy, Debug)]
struct Step {
    above: f64,
    total: f64,
}

/// The positions from which scores are shifted by different amounts, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps(Vec<Step>);

impl Steps {
    /// The shift of a stored score. O(log steps).
    pub(super) fn at(&self, score: f64) -> f64 {
        let passed = self.0.partition_point(|step| step.above < score);
        passed.checked_sub(1).map_or(0.0, |last| self.0[last].total)
    }

    /// The stored score that `score` computes from the last total, if it is above all steps.
    pub(super) fn above_all(&self, score: impl FnOnce(f64) -> f64) -> Option<f64> {
        let last = self.0.last()?;
        let score = score(last.total);
        (score > last.above).then_some(score)
    }

    /// Shifts scores above this one by `by` more. O(steps).
    pub(super) fn add(&mut self, above: f64, by: f64) {
        let at = self.0.partition_point(|step| step.above < above);
        if self.0.get(at).is_none_or(|step| step.above != above) {
            let total = at.checked_sub(1).map_or(0.0, |before| self.0[before].total);
            self.0.insert(at, Step { above, total });
        }
        self.0[at..].iter_mut().for_each(|step| step.total += by);
    }

    /// Whether there is no room for another step.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MAX_STEPS
    }

    /// The shift of the highest scores.
    pub(super) fn last(&self) -> f64 {
        self.0.last().map_or(0.0, |step| step.total)
    }

    /// Bytes of heap that it holds. O(1).
    pub(super) fn heap_bytes(&self) -> usize {
        vec_heap_bytes(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_shifted_by_all_steps_below_them() {
        let mut steps = Steps::default();
        for (above, by) in [(10.0, -3.0), (30.0, -5.0), (20.0, -7.0), (20.0, -1.0)] {
            steps.add(above, by);
        }
        let shifts = [5.0, 10.0, 11.0, 20.0, 21.0, 30.0, 31.0].map(|score| steps.at(score));
        assert_eq!(shifts, [0.0, 0.0, -3.0, -3.0, -11.0, -11.0, -16.0]);
        assert_eq!((steps.last(), steps.above_all(|total| 20.0 - total)), (-16.0, Some(36.0)));
        assert_eq!(steps.above_all(|total| 14.0 - total), None);
    }
}
