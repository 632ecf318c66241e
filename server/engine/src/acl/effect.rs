//! The view that ACL commands have of the users, and the changes that they ask for.

use super::rules::Setting;
use super::user::User;
use super::users::{Login, UserId, Users};

/// The view that an ACL command has of the users.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AclView<'a> {
    /// The users of the server.
    pub(crate) users: &'a Users,
    /// The setting that rules are read against.
    pub(crate) setting: Setting<'a>,
    /// The login of the client.
    pub(crate) login: Login,
    /// Whether the users have a file.
    pub(crate) has_file: bool,
}

/// A change that an ACL command asks for.
#[derive(Debug)]
pub(crate) enum UserEffect {
    /// Nothing.
    None,
    /// Adds a user, or changes the one of the same name. Clients that listen to channels which that user may not hear
    /// any more are disconnected.
    Put(Box<User>),
    /// Removes these users, and disconnects their clients.
    Remove(Vec<UserId>),
    /// Reads the users from their file, instead of all others. Their clients are disconnected, but for those of the
    /// default user.
    Load,
    /// Writes the users to their file.
    Save,
}
