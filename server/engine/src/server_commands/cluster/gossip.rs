//! The messages of other nodes.

use crate::cluster::{ClusterControl, ClusterOutcome, ClusterRequest, GossipMessage};
use crate::spec::{Args, CommandError};
use std::net::IpAddr;

const NO_MESSAGE: CommandError = CommandError::text("ERR Invalid message of a node");

pub(super) fn gossip(control: &mut ClusterControl<'_>, args: Args<'_>) -> ClusterOutcome {
    let message = Box::new(GossipMessage::read(&args[2]).ok_or(NO_MESSAGE)?);
    let slot = control.sessions.find(control.session);
    let ip = slot.map_or("", |slot| ip_of(&control.sessions.get(slot).peer.addr));
    Ok(ClusterRequest::Hear { message, ip: ip.to_owned() })
}

/// Returns the IP address of a peer. A peer on a Unix socket has none.
fn ip_of(address: &str) -> &str {
    let ip = address.rsplit_once(':').map_or("", |(ip, _)| ip).trim_matches(['[', ']']);
    if ip.parse::<IpAddr>().is_ok() { ip } else { "" }
}

#[cfg(test)]
mod tests {
    use super::ip_of;

    #[test]
    fn only_a_peer_of_the_network_has_an_address() {
        let addresses = ["127.0.0.1:7000", "[::1]:7000", "/tmp/redis.sock:0", ""];
        assert_eq!(addresses.map(ip_of), ["127.0.0.1", "::1", "", ""]);
    }
}
