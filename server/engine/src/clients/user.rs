//! The user a session acts as.

/// A user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum User {
    /// The one that always exists and may do everything.
    #[default]
    Default,
}

impl User {
    /// The user of this name.
    pub fn named(name: &[u8]) -> Option<User> {
        (name == User::Default.name().as_bytes()).then_some(User::Default)
    }

    /// The user's name.
    pub fn name(self) -> &'static str {
        match self {
            User::Default => "default",
        }
    }
}
