//! jemalloc's figures, for INFO.

use lockwheel::AllocatorUsage;
use tikv_jemalloc_ctl::{epoch, stats};

/// The bytes it has handed out and keeps now; 0 where it gives no figures.
pub(crate) fn usage() -> AllocatorUsage {
    // Its figures are those of the last epoch.
    let _stale = epoch::advance();
    let bytes = |read: Result<usize, _>| read.map_or(0, |bytes: usize| bytes as u64);
    AllocatorUsage {
        allocated: bytes(stats::allocated::read()),
        active: bytes(stats::active::read()),
        resident: bytes(stats::resident::read()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_out_is_told_of() {
        let before = usage();
        let taken = vec![1_u8; 32 << 20];
        let after = usage();
        // Other tests give back meanwhile what they have taken.
        assert!(after.allocated >= taken.len() as u64, "{after:?}");
        assert!(after.allocated > before.allocated, "{before:?} {after:?}");
        assert!(after.active >= after.allocated && after.resident >= after.active, "{after:?}");
    }
}
