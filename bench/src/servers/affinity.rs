//! The assignment of threads to cores. On systems without such a feature nothing happens.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Returns the cores that the calling thread may run on, in order.
#[cfg(target_os = "linux")]
pub fn available() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect()
}

/// Restricts the calling thread, and all threads and processes that it starts, to these cores. Returns whether that
/// succeeded.
#[cfg(target_os = "linux")]
pub fn pin(cores: &[usize]) -> bool {
    let mut set = CpuSet::new();
    cores.iter().filter(|&&core| core < CpuSet::MAX_CPU).for_each(|&core| set.set(core));
    sched_setaffinity(None, &set).is_ok()
}

/// Returns no cores: they are unknown on this system.
#[cfg(not(target_os = "linux"))]
pub fn available() -> Vec<usize> {
    Vec::new()
}

/// Pins nothing and returns false.
#[cfg(not(target_os = "linux"))]
pub fn pin(_: &[usize]) -> bool {
    false
}

/// A guard that pins the calling thread until dropped. It has no effect if there are no cores.
pub struct Pinned {
    before: Vec<usize>,
}

impl Pinned {
    /// Pins the calling thread to these cores.
    pub fn to(cores: &[usize]) -> Pinned {
        let before = available();
        if cores.is_empty() || !pin(cores) {
            return Pinned { before: Vec::new() };
        }
        Pinned { before }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if !self.before.is_empty() {
            pin(&self.before);
        }
    }
}

/// The distribution of cores between the server and the load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The cores of the server's threads; empty means any.
    pub server: Vec<usize>,
    /// The cores of the load's threads; empty means any.
    pub load: Vec<usize>,
}

impl Layout {
    /// Assigns a core to each thread of both sides if there are enough. Otherwise nothing is pinned.
    pub fn of(cores: &[usize], server_threads: usize, load_threads: usize) -> Layout {
        match cores.get(..server_threads + load_threads) {
            Some(cores) => {
                let (server, load) = cores.split_at(server_threads);
                Layout { server: server.to_vec(), load: load.to_vec() }
            }
            None => Layout::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_and_load_share_no_core() {
        let layout = Layout::of(&[1, 4, 5, 6], 2, 1);
        assert_eq!(layout, Layout { server: vec![1, 4], load: vec![5] });
        assert_eq!(Layout::of(&[0, 1], 2, 1), Layout::default());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_is_pinned() {
        std::thread::spawn(|| {
            let cores = available();
            let last = *cores.last().unwrap();
            let pinned = Pinned::to(&[last]);
            assert_eq!(available(), [last]);
            drop(pinned);
            assert_eq!(available(), cores);
        })
        .join()
        .unwrap();
    }
}
