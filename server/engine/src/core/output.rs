//! The engine's requests to its driver: one queue, drained after each batch.

use super::engine::Engine;
use super::hooks::Hook;
use super::progress::{Crash, Stop};
use super::replication::deliver_propagated;
use crate::outbound::OutboundId;
use lockwheel_store::keyspace::Garbage;
use std::time::Duration;

/// A request of the engine to its driver.
#[derive(Debug)]
pub enum Output {
    /// The whole server sleeps for this time before the effects of the batch show: DEBUG SLEEP.
    Sleep(Duration),
    /// The session with this id has output not caused by its own requests, is unblocked, or must be closed. Its
    /// connection calls [`Engine::take_output`], now or later, and checks [`Engine::sessions`].
    Session(u64),
    /// A connection to another server must be opened, written to or closed, according to [`Engine::outbound_mut`].
    Outbound(OutboundId),
    /// Memory to free without the lock, and on another thread if that takes long.
    Garbage(Garbage),
    /// The server ends: SHUTDOWN.
    Shutdown,
    /// The process ends or restarts at once; among other servers, [`Engine::crash_alone`] crashes only this one.
    Crash(Crash),
    /// There is nothing more for now. [`Engine::begin`] must be called by this time, in microseconds of the system's
    /// monotonic clock. `None`: not before there is a request.
    Idle {
        /// The time by which the next batch must begin.
        deadline_us: Option<u64>,
    },
}

impl Engine {
    /// Returns the next request to the driver. Call this after a batch until it returns [`Output::Idle`].
    ///
    /// Replies to a session's own requests are not announced: its connection calls [`Engine::take_output`] after
    /// running them. While a script runs, only [`Output::Shutdown`] comes, since its effects show when it ends.
    #[inline]
    pub fn poll_output(&mut self) -> Output {
        let is_script_running = self.scripts.is_running();
        if (self.stop.is_some() || is_script_running)
            && let Some(output) = Stop::take_first(&mut self.stop, is_script_running)
        {
            return output;
        }
        deliver_propagated(self);
        if self.hooks.has(Hook::Broadcast) {
            self.broadcast_changes();
        }
        let session = self.sessions.next_woken().map(Output::Session);
        let outbound = || self.outbound.next_pending().map(Output::Outbound);
        let effect = session.or_else(outbound).or_else(|| self.keyspace.take_garbage().map(Output::Garbage));
        effect.unwrap_or_else(|| match self.stop.take() {
            Some(_) => Output::Shutdown,
            None => Output::Idle { deadline_us: self.next_deadline() },
        })
    }
}

impl Stop {
    /// Takes the output that precedes the effects of the batch; while a script runs, only the server's end.
    #[cold]
    fn take_first(stop: &mut Option<Stop>, is_script_running: bool) -> Option<Output> {
        if is_script_running {
            let shutdown = stop.take_if(|stop| *stop == Stop::Shutdown);
            return Some(shutdown.map_or(Output::Idle { deadline_us: None }, |_| Output::Shutdown));
        }
        match stop.take_if(|stop| *stop != Stop::Shutdown)? {
            Stop::Sleep(time) => Some(Output::Sleep(time)),
            Stop::Crash(crash) => Some(Output::Crash(crash)),
            Stop::Shutdown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::Peer;
    use crate::config::Config;
    use crate::core::Progress;
    use lockwheel_store::time::Now;

    fn drain(engine: &mut Engine) -> Vec<String> {
        let mut outputs = Vec::new();
        loop {
            let output = engine.poll_output();
            let last = matches!(output, Output::Idle { .. });
            outputs.push(match output {
                Output::Garbage(garbage) => format!("{} parts", garbage.parts()),
                output => format!("{output:?}"),
            });
            if last {
                return outputs;
            }
        }
    }

    #[test]
    fn output_order_is_sleep_sessions_garbage_and_end() {
        let mut engine = Engine::new(Config::default(), 7, Now::default());
        let [main, first, second] = [0; 3].map(|_| engine.connect(Peer::default()));
        assert_eq!(drain(&mut engine), ["Idle { deadline_us: None }"]);
        let members: Vec<Vec<u8>> = (0..5000).map(|n| format!("member {n}").into_bytes()).collect();
        let words: Vec<&[u8]> =
            [&b"SADD"[..], b"s"].into_iter().chain(members.iter().map(Vec::as_slice)).collect();
        assert_eq!(engine.execute(main, &words), Progress::Continue);
        engine.execute(second, &[b"SUBSCRIBE", b"c"]);
        engine.execute(first, &[b"SUBSCRIBE", b"c"]);
        engine.execute(main, &[b"DEL", b"s"]);
        engine.execute(main, &[b"PUBLISH", b"c", b"m"]);
        engine.execute(main, &[b"SET", b"k", b"v", b"PX", b"10"]);
        engine.stop = Some(Stop::Sleep(Duration::from_secs(1)));
        assert_eq!(engine.execute(main, &[b"PING"]), Progress::Stop);
        assert_eq!(
            drain(&mut engine),
            ["Sleep(1s)", "Session(2)", "Session(3)", "5000 parts", "Idle { deadline_us: Some(11000) }"]
        );
        engine.execute(main, &[b"PUBLISH", b"c", b"m"]);
        assert_eq!(engine.execute(main, &[b"SHUTDOWN"]), Progress::Stop);
        // Neither session has taken its earlier output, so it is not announced again.
        assert_eq!(drain(&mut engine), ["Shutdown", "Idle { deadline_us: Some(11000) }"]);
    }

    #[test]
    fn only_the_end_of_the_server_is_output_during_a_script() {
        let mut engine = Engine::new(Config::default(), 7, Now::default());
        let [main, listener] = [0; 2].map(|_| engine.connect(Peer::default()));
        engine.execute(listener, &[b"SUBSCRIBE", b"c"]);
        engine.execute(main, &[b"PUBLISH", b"c", b"m"]);
        let runtime = engine.scripts.take().expect("no script runs");
        assert_eq!(drain(&mut engine), ["Idle { deadline_us: None }"]);
        engine.execute(main, &[b"SHUTDOWN", b"NOSAVE"]);
        assert_eq!(drain(&mut engine), ["Shutdown", "Idle { deadline_us: None }"]);
        engine.scripts.put_back(runtime);
        assert_eq!(drain(&mut engine), ["Session(2)", "Idle { deadline_us: None }"]);
    }
}
