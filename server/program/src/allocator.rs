//! jemalloc, for INFO and MEMORY.

use lockwheel::{Allocator, AllocatorUsage};
use tikv_jemalloc_ctl::stats_print::{Options, stats_print};
use tikv_jemalloc_ctl::{Access, AsName, arenas, epoch, stats, version};

pub(crate) fn jemalloc() -> Allocator {
    // The version consists of the number, the number of changes since, and the commit, separated by `-`.
    let full = version::read().unwrap_or_default();
    let number = full.split('-').next().unwrap_or_default();
    Allocator { name: format!("jemalloc-{number}"), usage, report, purge }
}

fn report() -> String {
    let mut report = Vec::new();
    // Writing to memory does not fail.
    let _complete = stats_print(&mut report, Options::default());
    String::from_utf8_lossy(&report).into_owned()
}

/// Returns unused pages to the system by setting the time for which they are kept to 0 for a moment. Returns whether
/// that succeeded.
fn purge() -> bool {
    let Ok(arenas) = arenas::narenas::read() else { return false };
    for arena in 0..arenas {
        for kind in ["dirty", "muzzy"] {
            let name = format!("arena.{arena}.{kind}_decay_ms\0");
            // An arena that no thread has used yet has no pages.
            let kept_ms: Result<isize, _> = name.as_bytes().name().read();
            let Ok(kept_ms) = kept_ms else { continue };
            let given_back = name.as_bytes().name().write(0_isize);
            if given_back.and_then(|()| name.as_bytes().name().write(kept_ms)).is_err() {
                return false;
            }
        }
    }
    true
}

/// Returns the bytes that are allocated and kept now; 0 if the allocator gives no figures.
fn usage() -> AllocatorUsage {
    // The figures are those of the last epoch.
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
    fn allocated_bytes_are_counted_and_purge_returns_freed_memory() {
        let taken = vec![1_u8; 64 << 20];
        let before = usage();
        assert!(before.allocated >= taken.len() as u64, "{before:?}");
        assert!(before.active >= before.allocated && before.resident >= before.active, "{before:?}");
        drop(taken);
        assert!(purge());
        // Other tests may allocate a little meanwhile.
        assert!(usage().resident + (32 << 20) < before.resident, "{before:?} {:?}", usage());
        assert!(report().starts_with("___ Begin jemalloc statistics ___"), "{}", report());
        assert!(jemalloc().name.starts_with("jemalloc-5."), "{}", jemalloc().name);
    }
}
