//! The view of the users that ACL commands have, and the changes that these commands ask for.

use super::rules::Setting;
use super::user::User;
use super::users::{Login, UserId, Users};

/// The view of the users that an ACL command has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AclView<'a> {
    pub(crate) users: &'a Users,
    pub(crate) setting: Setting<'a>,
    pub(crate) login: Login,
    pub(crate) has_file: bool,
}

/// A change that an ACL command asks for.
#[derive(Debug)]
pub(crate) enum UserEffect {
    None,
    /// Adds a user, or replaces the user of the same name. A client of the user is disconnected if it is subscribed to
    /// a channel that the user has no right to any more.
    Put(Box<User>),
    /// Removes these users, and disconnects their clients.
    Remove(Vec<UserId>),
    /// Replaces all users by the users of the file. Clients of users other than the default user are disconnected.
    Load,
    /// Writes the users to their file.
    Save,
}
