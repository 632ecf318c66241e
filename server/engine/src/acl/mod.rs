//! Access control: users, their passwords and rules, and the log of refusals.
//!
//! A [`User`] has selectors, sets of rights to commands, keys and channels, one of which must allow a request as a
//! whole. [`Users`] has all users by name; sessions refer to them by [`UserId`]. The words of rules (ACL SETUSER,
//! `user` lines, files of users) and errors are Redis'.

mod describe;
mod effect;
mod file;
mod log;
mod password;
mod rights;
mod rules;
mod selector;
mod user;
mod users;

pub(crate) use effect::{AclView, UserEffect};
pub use file::UserLine;
pub(crate) use file::{configured_users, describe_all, read_users};
pub(crate) use log::{AclLog, AclLogEntry, Refused, RequestOrigin};
pub use rights::Denied;
pub(crate) use rights::denied;
pub(crate) use rules::{Setting, has_spaces, merge_words};
pub(crate) use selector::Selector;
pub(crate) use user::User;
pub use users::Users;
pub use users::{Login, UserId};
