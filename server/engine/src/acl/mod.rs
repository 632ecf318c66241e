//! Access control: users, their passwords and rules, and the log of refusals.
//!
//! A [`User`] has selectors. Each selector is a set of rights to commands, keys and channels, and one selector must
//! allow a request as a whole. [`Users`] has all users by name; sessions refer to users by [`UserId`]. The words of
//! rules are those of Redis (ACL SETUSER, `user` lines of a configuration, files of users), and so are the texts of
//! errors.

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
pub(crate) use log::{AclLog, Context, Entry, Refused};
pub use rights::Denied;
pub(crate) use rights::denied;
pub(crate) use rules::{Setting, has_spaces, merge_words};
pub(crate) use selector::Selector;
pub(crate) use user::User;
pub use users::Users;
pub use users::{Login, UserId};
