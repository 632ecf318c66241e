//! Which cores a thread runs on. Where the system has no such thing, nothing happens.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores that the calling thread may run on, in order.
#[cfg(target_os = "linux")]
pub fn available() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect()
}

/// Lets the calling thread, and all threads and processes that it starts, run on these cores only. Whether it does.
#[cfg(target_os = "linux")]
pub fn pin(cores: &[usize]) -> bool {
    let mut set = CpuSet::new();
    cores.iter().filter(|&&core| core < CpuSet::MAX_CPU).for_each(|&core| set.set(core));
    sched_setaffinity(None, &set).is_ok()
}

/// Nothing is known.
#[cfg(not(target_os = "linux"))]
pub fn available() -> Vec<usize> {
    Vec::new()
}

/// Nothing is pinned.
#[cfg(not(target_os = "linux"))]
pub fn pin(_: &[usize]) -> bool {
    false
}

/// Pins the calling thread until it is dropped; of no cores, not at all.
pub struct Pinned {
    before: Vec<usize>,
}

impl Pinned {
    /// To these cores.
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

/// Which cores the server has and which the load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Of the server's threads; empty: any.
    pub server: Vec<usize>,
    /// Of the load's threads; empty: any.
    pub load: Vec<usize>,
}

impl Layout {
    /// A core for each thread of both, when there are enough; else nothing is pinned.
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
