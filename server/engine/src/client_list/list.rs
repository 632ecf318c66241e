//! The list of clients.

use crate::acl::Users;
use crate::clients::{Closing, Session, Sessions, Slot};
use crate::cluster::Cluster;
use crate::faults::Faults;
use crate::replication::{ReplicaLink, Replication};
use crate::spec::{Args, CommandTable};
use crate::waits::Waits;
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::time::Now;

/// The clients, with the parts that know something about them.
#[derive(Clone, Copy)]
pub(crate) struct ClientList<'e> {
    pub(crate) sessions: &'e Sessions,
    pub(crate) waits: &'e Waits,
    pub(crate) commands: &'e CommandTable,
    pub(crate) users: &'e Users,
    pub(crate) keyspace: &'e Keyspace,
    /// The stream of replicas that do not keep up.
    pub(crate) replication: &'e Replication,
    /// The master, if this is a replica.
    pub(crate) following: Option<&'e ReplicaLink>,
    /// The cluster, if this is a node of one.
    pub(crate) cluster: Option<&'e Cluster>,
    pub(crate) faults: &'e Faults,
    pub(crate) now: Now,
    pub(crate) batch: u64,
}

impl<'e> ClientList<'e> {
    pub(crate) fn listed(self) -> impl Iterator<Item = &'e Session> {
        self.sessions.live().filter(move |session| !self.is_unheard_master(session))
    }

    /// Returns the client of this number, unless it is being disconnected.
    pub(crate) fn find(self, id: u64) -> Option<&'e Session> {
        let session = self.sessions.get(self.sessions.find(id)?);
        (session.closing != Some(Closing::Now) && !self.is_unheard_master(session)).then_some(session)
    }

    /// Whether a session runs what a master sends that is not heard: that is no client yet, or none any more. The
    /// session that runs the requests of a file is no client either.
    fn is_unheard_master(self, session: &Session) -> bool {
        if session.loads_file() {
            return true;
        }
        let following = self.following.filter(|following| following.slot() == session.slot);
        following.is_some_and(|following| !following.is_connected())
    }

    /// Returns a client that asks for something with these arguments, as the log names it.
    pub(crate) fn asking(self, slot: Slot, args: Args<'_>) -> String {
        let mut line = Vec::new();
        self.describe_to(slot, args, self.sessions.get(slot), &mut line);
        String::from_utf8_lossy(line.trim_ascii_end()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acl::{Login, User};
    use crate::clients::Peer;
    use crate::spec::Registration;
    use lockwheel_store::memory::ClientBytes;

    #[test]
    fn a_closing_client_is_neither_listed_nor_found() {
        let mut registration = Registration::<()>::default();
        registration.add(&[], |handler| handler);
        let (commands, _) = registration.finish(&[]).expect("there are no commands");
        let (mut sessions, mut keyspace) = (Sessions::default(), Keyspace::new(1, 7));
        let (now, account) = (Now::default(), ClientBytes::default());
        let mut connect = |id| {
            sessions.add(id, |slot| Session::new(id, slot, Peer::default(), Login::Server, now, &account))
        };
        let [first, second] = [connect(1), connect(2)];
        sessions.get_mut(first).close(Closing::Now);
        let replication = Replication::new(keyspace.rng());
        let clients = ClientList {
            sessions: &sessions,
            waits: &Waits::default(),
            commands: &commands,
            users: &Users::new(User::new(User::DEFAULT, true), []),
            keyspace: &keyspace,
            replication: &replication,
            following: None,
            cluster: None,
            faults: &Faults::new(7),
            now,
            batch: 0,
        };
        assert!(clients.listed().map(|session| session.id).eq([2]));
        assert!(clients.find(1).is_none() && clients.find(3).is_none());
        assert_eq!(clients.find(2).map(|session| session.slot), Some(second));
        let mut line = Vec::new();
        clients.describe(clients.sessions.get(second), &mut line);
        assert!(line.starts_with(b"id=2 "), "{}", String::from_utf8_lossy(&line));
    }
}
