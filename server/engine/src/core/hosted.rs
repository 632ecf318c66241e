//! Commands that talk to another server through the host: their first arguments say where that listens.

use super::call::Call;
use super::engine::{Engine, HostedHandler};
use crate::member::TopologyRequest;
use crate::spec::{Args, Outcome, atoi};
use lockwheel_resp::Reply;

impl Engine {
    /// Runs such a command. A server of this process that this one is cut off from is not there, as one behind a
    /// broken network; what others are sent they are told the origin of.
    pub(super) fn run_hosted(
        &mut self,
        run: HostedHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Outcome {
        let member = self.member_named(args);
        let is_cut = member.is_some_and(|place| self.member.is_cut_from(place));
        let actor = call.actor(args);
        let host = self.environment.host.as_deref().filter(|_| !is_cut);
        let outcome = run(&mut self.keyspace.tx_by(&actor, call.db, self.clock.now()), host, args, reply);
        if let Some(place) = member {
            self.member.ask(TopologyRequest::Moved(place));
        }
        outcome
    }

    /// The server of this process that arguments name by host and port.
    fn member_named(&self, args: Args<'_>) -> Option<usize> {
        let host = std::str::from_utf8(args.get(1)?).ok()?;
        let port = u16::try_from(atoi(args.get(2)?)).ok()?;
        self.member.place_of(host, port)
    }
}
