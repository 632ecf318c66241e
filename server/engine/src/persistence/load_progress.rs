//! The progress of the loading of the data at the start.

/// The progress of the loading, as INFO shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadProgress {
    /// The begin, in seconds of the system's wall clock.
    began_s: i64,
    /// The bytes of all files.
    total: u64,
    /// The bytes of the files before the present one.
    before: u64,
    /// The bytes that were loaded.
    loaded: u64,
    /// The memory that the server used when it wrote the file, in bytes.
    used_bytes: u64,
}

impl LoadProgress {
    /// Begins to load files of so many bytes at an instant, in seconds of the system's wall clock.
    pub(crate) fn new(began_s: i64, total: u64) -> Self {
        LoadProgress { began_s, total, before: 0, loaded: 0, used_bytes: 0 }
    }

    /// Records that the present file was loaded up to this offset.
    pub(crate) fn reach(&mut self, offset: usize) {
        self.loaded = self.before + offset as u64;
    }

    /// Records that the present file was loaded. It has so many bytes.
    pub(crate) fn end_file(&mut self, len: usize) {
        self.reach(len);
        self.before = self.loaded;
    }

    /// Records the memory that the server used when it wrote the file.
    pub(crate) fn note_used(&mut self, bytes: u64) {
        self.used_bytes = bytes;
    }

    /// Returns the names and values of the fields of INFO, at an instant in seconds of the system's wall clock.
    pub(crate) fn fields(&self, now_s: i64) -> [(&'static str, String); 6] {
        let percent = 100.0 * self.loaded as f64 / self.total.max(1) as f64;
        let elapsed_s = now_s.saturating_sub(self.began_s).max(0).unsigned_abs();
        let left = self.total.saturating_sub(self.loaded);
        // As in Redis, the rest takes a second if nothing is known.
        let eta_s = elapsed_s.saturating_mul(left).checked_div(self.loaded).unwrap_or(1);
        [
            ("loading_start_time", self.began_s.to_string()),
            ("loading_total_bytes", self.total.to_string()),
            ("loading_rdb_used_mem", self.used_bytes.to_string()),
            ("loading_loaded_bytes", self.loaded.to_string()),
            ("loading_loaded_perc", format!("{percent:.2}")),
            ("loading_eta_seconds", eta_s.to_string()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_expected_to_take_as_long_as_the_part_before_it() {
        let mut progress = LoadProgress::new(100, 400);
        let field = |progress: &LoadProgress, at: usize| progress.fields(106)[at].1.clone();
        assert_eq!((field(&progress, 4), field(&progress, 5)), ("0.00".to_owned(), "1".to_owned()));
        progress.end_file(50);
        progress.reach(50);
        assert_eq!((field(&progress, 3), field(&progress, 4)), ("100".to_owned(), "25.00".to_owned()));
        assert_eq!(field(&progress, 5), "18");
    }
}
