//! Commands that connect to another server through the host. Their first arguments are its address.

use super::call::Call;
use super::engine::{Engine, HostedHandler};
use crate::member::TopologyRequest;
use crate::spec::{Args, Outcome};
use lockwheel_resp::Reply;

impl Engine {
    /// Runs such a command. A server of this process that is cut off from this one is unreachable, as behind a broken
    /// network. A reachable one then goes on with this server's grant numbers and the holds of the keys that it got.
    pub(super) fn run_hosted(
        &mut self,
        run: HostedHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Outcome {
        let named = args.get(1).zip(args.get(2));
        let member = named.and_then(|(host, port)| self.member.place_named(host, port));
        let is_cut = member.is_some_and(|place| self.member.is_cut_from(place));
        let actor = call.actor(args);
        let host = self.environment.host.as_deref().filter(|_| !is_cut);
        let outcome = run(&mut self.keyspace.tx_by(&actor, call.db, self.clock.now()), host, args, reply);
        if let Some(place) = member {
            self.member.ask(TopologyRequest::Moved(place));
        }
        outcome
    }
}
