//! Clients that a change of users disconnects.

use super::session::Session;
use super::sessions::Sessions;
use super::slot::Slot;
use super::subscribed::Subscribed;
use crate::acl::{Login, User, UserEffect, UserId, Users};

impl Sessions {
    /// Returns the clients that a change of users disconnects: their user is gone, or may not hear all channels that
    /// they are subscribed to. O(clients), for each removed user.
    pub(crate) fn losing_their_user(&self, change: &UserEffect, users: &Users) -> Vec<Slot> {
        match change {
            UserEffect::None | UserEffect::Save => Vec::new(),
            UserEffect::Put(user) => {
                let id = users.find(&user.name);
                let is_changed = |session: &Session| id.is_some() && session.login.user() == id;
                self.slots_where(|session| is_changed(session) && !hears_all(user, session))
            }
            UserEffect::Remove(ids) => {
                let of_user = |id: &UserId| self.slots_where(|session| session.login == Login::As(*id));
                ids.iter().flat_map(of_user).collect()
            }
            UserEffect::Load => {
                self.slots_where(|session| matches!(session.login, Login::As(id) if id != UserId::DEFAULT))
            }
        }
    }

    /// Logs each client in as the user of its name among other users, or as none. O(clients).
    pub(crate) fn log_in_again(&mut self, before: &Users, after: &Users) {
        for slot in self.slots().collect::<Vec<_>>() {
            let session = self.get_mut(slot);
            if let Login::As(id) = session.login {
                session.login = after.find(&before.get(id).name).map_or(Login::None, Login::As);
            }
        }
    }

    fn slots_where(&self, is_meant: impl Fn(&Session) -> bool) -> Vec<Slot> {
        self.slots().filter(|slot| is_meant(self.get(*slot))).collect()
    }
}

/// Whether a user may hear all channels and patterns that a session is subscribed to.
fn hears_all(user: &User, session: &Session) -> bool {
    let all = |names: &Subscribed, are_patterns| names.iter().all(|name| user.may_hear(name, are_patterns));
    all(&session.channels, false) && all(&session.shards, false) && all(&session.patterns, true)
}

#[cfg(test)]
mod tests {
    use super::super::Peer;
    use super::*;
    use lockwheel_store::memory::ClientBytes;
    use lockwheel_store::time::Now;

    /// Users `default`, `a` and `b`, and a client of each user, in this order.
    fn clients() -> (Users, Sessions, [Slot; 3]) {
        let user = |name: &str| User::new(name.as_bytes(), true);
        let users = Users::new(user("default"), ["a", "b"].map(user));
        let mut sessions = Sessions::default();
        let names: [&[u8]; 3] = [b"default", b"a", b"b"];
        let slots = [1, 2, 3].map(|id: u64| {
            let login = Login::As(users.find(names[id as usize - 1]).expect("there is one"));
            let account = ClientBytes::default();
            sessions.add(id, |slot| Session::new(id, slot, Peer::default(), login, Now::default(), &account))
        });
        (users, sessions, slots)
    }

    #[test]
    fn clients_of_removed_users_lose_their_user() {
        let (users, sessions, [_, of_a, of_b]) = clients();
        let ids = [b"b", b"a"].map(|name| users.find(name).expect("there is one")).to_vec();
        assert_eq!(sessions.losing_their_user(&UserEffect::Remove(ids), &users), [of_b, of_a]);
    }

    #[test]
    fn clients_lose_a_changed_user_that_forbids_their_subscriptions() {
        let (users, mut sessions, [_, of_a, _]) = clients();
        let put = |all_channels| UserEffect::Put(Box::new(User::new(b"a", all_channels)));
        assert_eq!(sessions.losing_their_user(&put(false), &users), [], "it hears nothing");
        sessions.get_mut(of_a).channels.insert(b"news");
        assert_eq!(sessions.losing_their_user(&put(true), &users), []);
        assert_eq!(sessions.losing_their_user(&put(false), &users), [of_a]);
        let new_user = UserEffect::Put(Box::new(User::new(b"c", false)));
        assert_eq!(sessions.losing_their_user(&new_user, &users), []);
    }

    #[test]
    fn after_a_reload_a_client_keeps_its_user_by_name_or_loses_it() {
        let (before, mut sessions, [of_default, of_a, of_b]) = clients();
        let after = Users::new(User::new(User::DEFAULT, true), [User::new(b"b", true)]);
        sessions.log_in_again(&before, &after);
        let login = |slot| sessions.get(slot).login;
        assert_eq!(
            [of_default, of_a, of_b].map(login),
            [Login::As(UserId::DEFAULT), Login::None, Login::As(after.find(b"b").expect("there is one")),]
        );
    }

    #[test]
    fn loading_users_disconnects_all_but_clients_of_the_default_user() {
        let (users, sessions, [_, of_a, of_b]) = clients();
        assert_eq!(sessions.losing_their_user(&UserEffect::Load, &users), [of_a, of_b]);
        assert_eq!(sessions.losing_their_user(&UserEffect::Save, &users), []);
    }
}
