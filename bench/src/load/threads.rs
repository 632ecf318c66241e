//! Load from several threads, with one generator each.

use super::generator::{Generator, Outcome, Plan};
use crate::error::{Error, Result};
use crate::servers::affinity;
use std::net::SocketAddr;
use std::thread;

/// All connections to a server: one generator, or several on separate threads.
pub struct Load {
    generators: Vec<Generator>,
    cores: Vec<usize>,
}

impl Load {
    /// Opens `connections` connections, spread over `threads` generators. Each thread runs on the core at its index in
    /// `cores`, if there is one.
    ///
    /// # Errors
    /// Returns an error if the server does not accept.
    pub fn connect(addr: SocketAddr, connections: u64, threads: usize, cores: &[usize]) -> Result<Load> {
        let threads = (threads.max(1) as u64).min(connections.max(1));
        let connections = connections.max(1);
        let bound = |thread: u64| thread * connections / threads;
        let generators = (0..threads)
            .map(|thread| Generator::connect(addr, bound(thread)..bound(thread + 1), connections))
            .collect::<Result<_>>()?;
        Ok(Load { generators, cores: cores.to_vec() })
    }

    /// Runs a plan on all connections. A single generator runs on the calling thread.
    ///
    /// # Errors
    /// Returns the first error of a generator: see [`Generator::run`].
    pub fn run(&mut self, plan: &Plan<'_>) -> Result<Outcome> {
        if let [only] = self.generators.as_mut_slice() {
            return only.run(plan);
        }
        let cores = &self.cores;
        let outcomes: Vec<Result<Outcome>> = thread::scope(|scope| {
            let threads: Vec<_> = self
                .generators
                .iter_mut()
                .enumerate()
                .map(|(index, generator)| {
                    scope.spawn(move || {
                        if let Some(&core) = cores.get(index) {
                            affinity::pin(&[core]);
                        }
                        generator.run(plan)
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err(Error::other("a load thread panicked"))))
                .collect()
        });
        let mut outcomes = outcomes.into_iter();
        let mut all = outcomes.next().unwrap_or_else(|| Err(Error::other("no load thread")))?;
        for outcome in outcomes {
            let outcome = outcome?;
            all.ops += outcome.ops;
            all.elapsed = all.elapsed.max(outcome.elapsed);
            all.latency.add(&outcome.latency).map_err(|error| Error::other(format!("{error:?}")))?;
            all.cpu = all.cpu.zip(outcome.cpu).map(|(a, b)| a + b);
            all.counter = all.counter.max(outcome.counter);
        }
        Ok(all)
    }
}
