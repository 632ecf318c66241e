//! Commands that connect to another server through the host. Their first arguments are its address.

use super::call::Call;
use super::engine::{Host, HostedHandler};
use crate::member::{TopologyMember, TopologyRequest};
use crate::spec::{Args, Outcome};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::time::Now;

/// The keys, and the servers that they may be sent to.
pub(super) struct HostedControl<'e> {
    pub(super) keyspace: &'e mut Keyspace,
    /// The server as one of several of its process.
    pub(super) member: &'e mut TopologyMember,
    pub(super) host: Option<&'e dyn Host>,
    pub(super) now: Now,
}

impl HostedControl<'_> {
    /// Runs such a command. A server of this process that is cut off is unreachable, as behind a broken network. A
    /// reachable one inherits the grant numbers, and the holds of the keys that it got.
    pub(super) fn run(
        self,
        run: HostedHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Outcome {
        let named = args.get(1).zip(args.get(2));
        let member = named.and_then(|(host, port)| self.member.place_named(host, port));
        let is_cut = member.is_some_and(|place| self.member.is_cut_from(place));
        let actor = call.actor(args);
        let host = self.host.filter(|_| !is_cut);
        let outcome = run(&mut self.keyspace.tx_by(&actor, call.db, self.now), host, args, reply);
        if let Some(place) = member {
            self.member.ask(TopologyRequest::Moved(place));
        }
        outcome
    }
}
