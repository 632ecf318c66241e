//! A user.

use super::password::PasswordHash;
use super::selector::Selector;
use lockwheel_store::memory::{block, of_vec};

/// A user: whether and how it may log in, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    /// Its name.
    pub(crate) name: Box<[u8]>,
    /// Whether clients may log in as this user; who has done so stays.
    pub(crate) enabled: bool,
    /// Whether any password is right.
    pub(crate) nopass: bool,
    /// Whether payloads of RESTORE are checked in depth. Kept and shown; they always are.
    pub(super) sanitizing: Sanitizing,
    pub(super) passwords: Vec<PasswordHash>,
    /// Its own rights.
    pub(super) root: Selector,
    /// Other sets of rights: a request within one of them is allowed too.
    pub(super) others: Vec<Selector>,
}

/// What a user's rules say of payloads of RESTORE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sanitizing {
    /// Nothing.
    #[default]
    Unsaid,
    /// They are checked.
    Asked,
    /// They are not checked.
    Skipped,
}

impl User {
    /// The name of the user that always exists.
    pub(crate) const DEFAULT: &'static [u8] = b"default";

    /// A new user, who cannot log in and has no rights, but to all channels when that is the default.
    pub(crate) fn new(name: &[u8], all_channels: bool) -> Self {
        User {
            name: name.into(),
            enabled: false,
            nopass: false,
            sanitizing: Sanitizing::Unsaid,
            passwords: Vec::new(),
            root: Selector::new(all_channels),
            others: Vec::new(),
        }
    }

    /// The default user of a server without users in its configuration: everybody, with all rights.
    pub(crate) fn everybody() -> Self {
        let mut user = User::new(User::DEFAULT, true);
        (user.enabled, user.nopass) = (true, true);
        user.root = Selector::unrestricted();
        user
    }

    /// Bytes of memory of its name, which the list of names has too, and of its rights, about. O(patterns).
    pub(super) fn memory(&self) -> usize {
        let selectors = self.selectors().map(Selector::memory).sum::<usize>();
        2 * block(self.name.len()) + of_vec(&self.passwords) + of_vec(&self.others) + selectors
    }

    /// Whether it may do everything.
    pub(crate) fn is_unrestricted(&self) -> bool {
        self.root.is_unrestricted()
    }

    /// Whether clients need not log in to be this user.
    pub(crate) fn is_open(&self) -> bool {
        self.enabled && self.nopass
    }

    /// Whether clients log in as this user with this password.
    pub(crate) fn admits(&self, password: &[u8]) -> bool {
        let hash = PasswordHash::of(password);
        self.enabled && (self.nopass || self.passwords.iter().any(|known| known.is(&hash)))
    }

    /// Its sets of rights, its own first.
    pub(crate) fn selectors(&self) -> impl Iterator<Item = &Selector> {
        std::iter::once(&self.root).chain(&self.others)
    }

    /// Its own rights.
    pub(crate) fn root(&self) -> &Selector {
        &self.root
    }

    /// Its other sets of rights.
    pub(crate) fn other_selectors(&self) -> &[Selector] {
        &self.others
    }

    /// The sums of its passwords.
    pub(crate) fn passwords(&self) -> &[PasswordHash] {
        &self.passwords
    }

    /// Gives it this password alone; an empty one: any.
    pub(crate) fn set_password(&mut self, password: &[u8]) {
        self.passwords.clear();
        self.nopass = password.is_empty();
        if !self.nopass {
            self.passwords.push(PasswordHash::of(password));
        }
    }

    /// The words that tell how it logs in, in Redis' order.
    pub(crate) fn flags(&self) -> impl Iterator<Item = &'static str> {
        let flags = [
            (self.enabled, "on"),
            (!self.enabled, "off"),
            (self.nopass, "nopass"),
            (self.sanitizing == Sanitizing::Skipped, "skip-sanitize-payload"),
            (self.sanitizing == Sanitizing::Asked, "sanitize-payload"),
        ];
        flags.into_iter().filter_map(|(is, word)| is.then_some(word))
    }

    /// Whether somebody of this user may stay subscribed to a channel, or to a pattern of channels.
    pub(crate) fn may_hear(&self, channel: &[u8], is_pattern: bool) -> bool {
        self.selectors().any(|selector| selector.reaches_channel(channel, is_pattern))
    }
}
