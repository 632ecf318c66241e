//! A user and its rights.

use super::password::PasswordHash;
use super::selector::Selector;
use lockwheel_store::memory::{block, vec_heap_bytes};

/// A user: the conditions of its login, and its rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: Box<[u8]>,
    /// Whether clients may log in as this user. Clients that have logged in stay.
    pub(crate) enabled: bool,
    /// Whether any password is right.
    pub(crate) nopass: bool,
    /// Whether payloads of RESTORE are checked in depth. The value is only kept and shown: payloads are always checked.
    pub(super) sanitizing: Sanitizing,
    pub(super) passwords: Vec<PasswordHash>,
    pub(super) root: Selector,
    /// The other selectors. A request that one of them allows is allowed too.
    pub(super) others: Vec<Selector>,
}

/// The rule of a user for payloads of RESTORE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sanitizing {
    /// No rule.
    #[default]
    Unsaid,
    /// Payloads are checked.
    Asked,
    /// Payloads are not checked.
    Skipped,
}

impl User {
    /// The name of the user that always exists.
    pub(crate) const DEFAULT: &'static [u8] = b"default";

    /// A new user, which cannot log in and has no rights. It has the right to all channels if that is the default.
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

    /// The default user of a server without configured users. It has all rights and needs no password.
    pub(crate) fn everybody() -> Self {
        let mut user = User::new(User::DEFAULT, true);
        (user.enabled, user.nopass) = (true, true);
        user.root = Selector::unrestricted();
        user
    }

    /// Approximate bytes of heap of the user's name, which the list of names holds too, and of its rights. O(patterns).
    pub(super) fn memory(&self) -> usize {
        let selectors = self.selectors().map(Selector::memory).sum::<usize>();
        2 * block(self.name.len())
            + vec_heap_bytes(&self.passwords)
            + vec_heap_bytes(&self.others)
            + selectors
    }

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

    /// All selectors, the root selector first.
    pub(crate) fn selectors(&self) -> impl Iterator<Item = &Selector> {
        std::iter::once(&self.root).chain(&self.others)
    }

    pub(crate) fn root(&self) -> &Selector {
        &self.root
    }

    /// The selectors other than the root selector.
    pub(crate) fn other_selectors(&self) -> &[Selector] {
        &self.others
    }

    pub(crate) fn passwords(&self) -> &[PasswordHash] {
        &self.passwords
    }

    /// Replaces all passwords by this one. With an empty password any password is right.
    pub(crate) fn set_password(&mut self, password: &[u8]) {
        self.passwords.clear();
        self.nopass = password.is_empty();
        if !self.nopass {
            self.passwords.push(PasswordHash::of(password));
        }
    }

    /// The words of the rules for the login, in Redis' order.
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

    /// Whether a client of this user may stay subscribed to a channel, or to a pattern of channels.
    pub(crate) fn may_hear(&self, channel: &[u8], is_pattern: bool) -> bool {
        self.selectors().any(|selector| selector.reaches_channel(channel, is_pattern))
    }
}
