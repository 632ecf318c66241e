//! Logins of clients: what AUTH and HELLO see, and what they ask for.

use super::{Session, Sessions, Slot};
use crate::acl::{Login, Users};
use crate::spec::CommandError;

pub(crate) struct LoginControl<'e> {
    pub(crate) users: &'e Users,
    pub(crate) sessions: &'e mut Sessions,
    pub(crate) slot: Slot,
    /// The facts that HELLO tells about the server.
    pub(crate) server: ServerFacts<'e>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerFacts<'e> {
    /// The version of Redis whose commands the server has.
    pub(crate) release: &'e str,
    /// The mode: a server by itself, a sentinel or a node of a cluster.
    pub(crate) mode: &'e str,
    /// The part in replication. A sentinel has none.
    pub(crate) role: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoginEffect {
    None,
    /// The client takes no pushes any more: its waits by ticket end.
    EndTickets,
}

/// The reason why a login is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LoginError {
    /// There is no such user with this password. The attempt is logged under the name.
    WrongPassword {
        name: Box<[u8]>,
    },
    Request(CommandError),
}

impl From<CommandError> for LoginError {
    fn from(error: CommandError) -> Self {
        LoginError::Request(error)
    }
}

impl LoginControl<'_> {
    /// Logs the client in as a user, or returns an error if there is none with this password.
    pub(crate) fn log_in(&mut self, name: &[u8], password: &[u8]) -> Result<(), LoginError> {
        let id = self.users.admit(name, password);
        let id = id.ok_or_else(|| LoginError::WrongPassword { name: name.into() })?;
        self.session_mut().login = Login::As(id);
        Ok(())
    }

    pub(crate) fn session_mut(&mut self) -> &mut Session {
        self.sessions.get_mut(self.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acl::User;
    use crate::clients::Peer;
    use lockwheel_store::memory::ClientBytes;
    use lockwheel_store::time::Now;

    #[test]
    fn a_wrong_password_leaves_the_login_unchanged() {
        let mut user = User::new(User::DEFAULT, true);
        user.enabled = true;
        let mut users = Users::new(user, []);
        users.set_default_password(b"secret");
        let mut sessions = Sessions::default();
        let (now, account) = (Now::default(), ClientBytes::default());
        let slot = sessions
            .add(1, |slot| Session::new(1, slot, Peer::default(), users.first_login(), now, &account));
        let server = ServerFacts { release: "7.2.0", mode: "standalone", role: Some("master") };
        let mut control = LoginControl { users: &users, sessions: &mut sessions, slot, server };
        for (name, password) in [(User::DEFAULT, &b"wrong"[..]), (b"nobody", b"secret")] {
            let refused = LoginError::WrongPassword { name: name.into() };
            assert_eq!(control.log_in(name, password), Err(refused));
            assert!(!control.session_mut().is_authenticated(&users));
        }
        assert_eq!(control.log_in(User::DEFAULT, b"secret"), Ok(()));
        assert!(control.session_mut().is_authenticated(&users));
    }
}
