//! Scripts that run on redis-server and on ours, with a comparison of the answers byte by byte.

use lockwheel::Server;
use lockwheel_tests::client::{Client, Protocol};
use lockwheel_tests::differential::{rounds, seed};
use lockwheel_tests::ours::server;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::rng::Rng;

/// A script and its argument.
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) argument: Vec<u8>,
}

impl Script {
    pub(crate) fn new(text: impl Into<String>, argument: impl Into<Vec<u8>>) -> Script {
        Script { text: text.into(), argument: argument.into() }
    }

    fn request(&self) -> Vec<Vec<u8>> {
        vec![b"EVAL".to_vec(), self.text.clone().into_bytes(), b"0".to_vec(), self.argument.clone()]
    }
}

/// Both servers.
struct Trial {
    real: Client,
    ours: Client,
    _servers: (RealServer, Server),
}

/// Scripts in one pipeline.
const BATCH: usize = 100;

impl Trial {
    /// Starts both servers. Returns `None` if there is no redis-server.
    fn start(protocol: Protocol) -> Option<Trial> {
        let real = RealServer::start(Kind::Redis, &[])?;
        let ours = server();
        Some(Trial {
            real: Client::connect_with(real.addr(), protocol),
            ours: Client::connect_with(ours.addr(), protocol),
            _servers: (real, ours),
        })
    }

    /// Describes the differences.
    fn compare(&mut self, scripts: &[Script]) -> Vec<String> {
        let requests: Vec<_> = scripts.iter().map(Script::request).collect();
        let (real, ours) = (self.real.pipeline(&requests), self.ours.pipeline(&requests));
        let answers = scripts.iter().zip(real.iter().zip(&ours));
        let different = answers.filter(|(_, (real, ours))| real != ours);
        let shown = different.map(|(script, (real, ours))| {
            let argument = script.argument.escape_ascii();
            format!("{}\n  with {argument}\n  redis {real}\n  ours  {ours}", script.text)
        });
        shown.collect()
    }
}

/// Compares this number of generated scripts, times `LOCKWHEEL_ROUNDS`, in each protocol.
///
/// # Panics
/// Panics if answers differ, or if fewer than a third of them are no errors.
#[track_caller]
pub(crate) fn compare(count: usize, mut make: impl FnMut(&mut Rng) -> Script) {
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let Some(mut trial) = Trial::start(protocol) else { return };
        let mut rng = Rng::new(seed());
        for _ in 0..(count * rounds()).div_ceil(BATCH) {
            let scripts: Vec<_> = (0..BATCH).map(|_| make(&mut rng)).collect();
            let different = trial.compare(&scripts);
            assert!(different.is_empty(), "LOCKWHEEL_SEED={}\n{}", seed(), different.join("\n"));
        }
    }
}
