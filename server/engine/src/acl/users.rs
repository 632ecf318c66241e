//! All users, by name.

use super::rights::{Denied, denied};
use super::user::User;
use crate::spec::{Args, Command};
use lockwheel_store::memory::vec_heap_bytes;
use std::collections::BTreeMap;

/// The id of a user, by which sessions refer to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserId(u32);

impl UserId {
    /// The user that always exists.
    pub const DEFAULT: UserId = UserId(0);
}

/// The identity with which a client makes requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Login {
    /// The client has not logged in. It acts as the default user, if that user needs no login.
    #[default]
    None,
    /// The client acts as this user.
    As(UserId),
    /// The server's own process, which has all rights.
    Server,
}

impl Login {
    pub(crate) fn acts_as(self, user: UserId) -> bool {
        match self {
            Login::None => user == UserId::DEFAULT,
            Login::As(id) => user == id,
            Login::Server => false,
        }
    }

    /// The user that the client has logged in as, if any.
    pub(crate) fn user(self) -> Option<UserId> {
        match self {
            Login::As(id) => Some(id),
            Login::None | Login::Server => None,
        }
    }
}

/// All users.
#[derive(Clone, Debug)]
pub struct Users {
    /// The users by id. A free id is used again.
    all: Vec<Option<User>>,
    by_name: BTreeMap<Box<[u8]>, UserId>,
    /// Whether some user lacks a right. While no user does, requests are not checked.
    restricted: bool,
    /// Approximate bytes of heap of the names and rights.
    bytes: usize,
}

impl Users {
    /// The default user and other users, each name once.
    pub(crate) fn new(default: User, others: impl IntoIterator<Item = User>) -> Self {
        let mut users = Users { all: Vec::new(), by_name: BTreeMap::new(), restricted: false, bytes: 0 };
        users.put(default);
        others.into_iter().for_each(|user| users.put(user));
        users
    }

    /// Whether some user lacks a right.
    #[inline]
    pub(crate) fn are_restricted(&self) -> bool {
        self.restricted
    }

    /// Whether every client has all rights without a login.
    pub fn are_open(&self) -> bool {
        !self.restricted && self.get(UserId::DEFAULT).is_open()
    }

    /// Whether the default user needs no password.
    #[inline]
    pub fn is_default_without_password(&self) -> bool {
        self.get(UserId::DEFAULT).nopass
    }

    /// Returns the login of a client that comes: the default user's, unless that needs a password.
    pub(crate) fn first_login(&self) -> Login {
        if self.get(UserId::DEFAULT).is_open() { Login::As(UserId::DEFAULT) } else { Login::None }
    }

    /// Whether a client of this login has logged in, or needs no login.
    #[inline]
    pub(crate) fn are_satisfied_by(&self, login: Login) -> bool {
        login != Login::None || self.get(UserId::DEFAULT).is_open()
    }

    /// Returns the user that a client of this login acts as. `None`: the server's own process, which has all rights.
    pub(crate) fn acting(&self, login: Login) -> Option<&User> {
        match login {
            Login::None => Some(self.get(UserId::DEFAULT)),
            Login::As(id) => Some(self.get(id)),
            Login::Server => None,
        }
    }

    pub(crate) fn name(&self, login: Login) -> &[u8] {
        self.acting(login).map_or(User::DEFAULT, |user| &user.name)
    }

    /// Returns the user of this name and password. O(log users).
    pub(crate) fn admit(&self, name: &[u8], password: &[u8]) -> Option<UserId> {
        self.find(name).filter(|id| self.get(*id).admits(password))
    }

    /// Returns why a client of this login may not make a request: one test of a flag while no user is restricted.
    #[inline(always)]
    pub(crate) fn denied(&self, login: Login, command: &Command, request: Args<'_>) -> Option<Denied> {
        if self.restricted { self.denied_by_rules(login, command, request) } else { None }
    }

    #[cold]
    #[inline(never)]
    fn denied_by_rules(&self, login: Login, command: &Command, request: Args<'_>) -> Option<Denied> {
        denied(self.acting(login)?, command, request)
    }

    /// Whether a request of a client of this login may read keys that it does not name.
    pub(crate) fn may_read_all_keys(&self, login: Login, command: &Command, request: Args<'_>) -> bool {
        !self.restricted || self.acting(login).is_none_or(|user| user.reads_all_keys(command, request))
    }

    /// Returns a user. O(1).
    ///
    /// # Panics
    /// Panics if the user has been removed. No session refers to a removed user.
    pub(crate) fn get(&self, id: UserId) -> &User {
        self.all[id.0 as usize].as_ref().expect("sessions of removed users are closed")
    }

    /// The user of this name. O(log users).
    pub(crate) fn find(&self, name: &[u8]) -> Option<UserId> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &User> {
        self.by_name.values().map(|id| self.get(*id))
    }

    /// Adds a user, or replaces the user of the same name. O(users).
    pub(crate) fn put(&mut self, user: User) {
        match self.find(&user.name) {
            Some(id) => self.all[id.0 as usize] = Some(user),
            None => self.add(user),
        }
        self.note_changed();
    }

    fn add(&mut self, user: User) {
        let free = self.all.iter().position(Option::is_none).unwrap_or(self.all.len());
        self.by_name.insert(user.name.clone(), UserId(free as u32));
        self.all.resize(self.all.len().max(free + 1), None);
        self.all[free] = Some(user);
    }

    /// Replaces all passwords of the default user by this one. With an empty password any password is right.
    pub(crate) fn set_default_password(&mut self, password: &[u8]) {
        if let Some(default) = &mut self.all[UserId::DEFAULT.0 as usize] {
            default.set_password(password);
        }
        self.note_changed();
    }

    /// Removes a user. O(users).
    pub(crate) fn remove(&mut self, id: UserId) {
        if let Some(user) = self.all[id.0 as usize].take() {
            self.by_name.remove(&user.name);
        }
        self.note_changed();
    }

    /// Approximate bytes of heap of all users. O(1).
    pub(crate) fn memory(&self) -> usize {
        self.bytes
    }

    fn note_changed(&mut self) {
        self.restricted = self.all.iter().flatten().any(|user| !user.is_unrestricted());
        self.bytes = vec_heap_bytes(&self.all) + self.all.iter().flatten().map(User::memory).sum::<usize>();
    }
}
