//! A sentinel in the engine: its requests are executed, and its connections' events are passed to it.

use super::engine::Engine;
use super::progress::Stop;
use crate::config::system_reason;
use crate::member::TopologyRequest;
use crate::pubsub::Audience;
use crate::sentinel::Sentinel;
use crate::sentinel_server::{SentinelEffect, SentinelHandler, SentinelRequest, SentinelServer};
use crate::spec::{Args, CommandError, Outcome};
use lockwheel_resp::Reply;

/// The error if a change could not be saved to the file.
const NOT_SAVED: CommandError = CommandError::text("ERR Failed to save config file. Check server logs.");

impl Engine {
    /// Starts monitoring if the server is a sentinel. Called after [`Engine::set_host`].
    pub fn begin_as_sentinel(&mut self) {
        if let (Some(sentinel), Some(host)) = (&mut self.sentinel, self.environment.host.clone()) {
            sentinel.resolve_by(Box::new(move |name| host.resolve(name)));
        }
        if self.sentinel.is_some() {
            self.save_sentinel();
        }
        let Some(sentinel) = &mut self.sentinel else { return };
        tracing::info!("Sentinel ID is {}", sentinel.state().id());
        sentinel.announce_masters();
        self.follow_sentinel();
        if let Some(sentinel) = &mut self.sentinel {
            sentinel.plan_tick(self.clock.monotonic_timers(&mut self.keyspace));
        }
    }

    /// Monitors the masters in these configuration lines (without the word `sentinel`) at once, ignoring invalid lines.
    pub fn watch(&mut self, lines: &[&[&str]]) {
        self.with_sentinel(|state| SentinelServer::watch(state, lines));
    }

    /// Returns the sentinel, if the server is one.
    pub fn sentinel(&self) -> Option<&SentinelServer> {
        self.sentinel.as_deref()
    }

    /// Runs `work` on the sentinel, if the server is one, at the current time, and executes its requests.
    pub(crate) fn with_sentinel<T>(&mut self, work: impl FnOnce(&mut Sentinel) -> T) -> Option<T> {
        let done = self.sentinel.as_mut()?.tell(self.clock.now(), work);
        self.follow_sentinel();
        Some(done)
    }

    /// Executes the sentinel's requests in order, and saves its new state.
    fn follow_sentinel(&mut self) {
        loop {
            let Some(sentinel) = &mut self.sentinel else { return };
            match sentinel.next_effect(&mut self.outbound) {
                None => return,
                Some(SentinelEffect::Publish { name, text }) => {
                    self.send_to_receivers(Audience::Everyone, name.as_bytes(), text.as_bytes());
                }
                Some(SentinelEffect::Crash) => self.stop = Some(Stop::Shutdown),
                Some(SentinelEffect::Save) => self.save_sentinel(),
            }
        }
    }

    fn save_sentinel(&mut self) {
        // A sentinel in a process with other servers has no file; its state lives in its engine.
        let saved = if self.config.file.is_empty() { Ok(()) } else { self.config_file().rewrite(false) };
        match &saved {
            Ok(()) => tracing::info!("Sentinel new configuration saved on disk"),
            Err(error) => tracing::warn!(
                "WARNING: Sentinel was not able to save the new configuration on disk!!!: {}",
                system_reason(error)
            ),
        }
        self.sentinel.iter_mut().for_each(|sentinel| sentinel.set_saved(saved.is_ok()));
    }

    /// Runs a command on the sentinel and executes its request. Fails also if the change cannot be saved.
    pub(super) fn run_on_sentinel(
        &mut self,
        run: SentinelHandler,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Outcome {
        let Some(request) = self.with_sentinel(|sentinel| run(sentinel, args, reply)) else { return Ok(()) };
        let request = request?;
        match request {
            SentinelRequest::Answered => return Ok(()),
            SentinelRequest::End => {
                self.stop = Some(Stop::Shutdown);
                return Ok(());
            }
            SentinelRequest::Count(count) => {
                reply.integer(count);
                return Ok(());
            }
            SentinelRequest::Verdict(verdict) => {
                reply.array(3);
                reply.integer(i64::from(verdict.is_down));
                reply.bulk(verdict.leader.as_bytes());
                reply.integer(verdict.leader_epoch as i64);
                return Ok(());
            }
            SentinelRequest::Flush => self.save_sentinel(),
            SentinelRequest::Announced => self.member.ask(TopologyRequest::Announced),
            SentinelRequest::Done | SentinelRequest::Saved => {}
        }
        let must_be_saved = !matches!(request, SentinelRequest::Done);
        if must_be_saved && !self.sentinel.as_ref().is_some_and(|sentinel| sentinel.is_saved()) {
            return Err(NOT_SAVED);
        }
        reply.ok();
        Ok(())
    }
}
