//! The check whether a user may make a request.

use super::selector::{KeyPattern, KeyRights, Selector};
use super::user::User;
use crate::spec::{Args, Command, Flags, Key, KeyFlags};

/// The reason why a user may not make a request, in the order of the checks: a greater reason comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Denied {
    /// No selector of the user allows the command.
    Command,
    /// The user has no right to the key at this place.
    Key(usize),
    /// The user has no right to the channel at this place.
    Channel(usize),
}

/// Returns the reason why a user may not make a request. Of the denials of all selectors it is the one that stands last
/// in the request. O(selectors × (keys × patterns × length)).
pub(crate) fn denied(user: &User, command: &Command, request: Args<'_>) -> Option<Denied> {
    let mut keys = None;
    let mut most = Denied::Command;
    for selector in user.selectors() {
        most = most.max(selector.denies(command, request, &mut keys)?);
    }
    Some(most)
}

/// The rights to a key that its flags require.
fn rights(flags: KeyFlags) -> KeyRights {
    const CHANGES: KeyFlags = KeyFlags::of(&[KeyFlags::INSERT, KeyFlags::DELETE, KeyFlags::UPDATE]);
    let mut rights = KeyRights::empty();
    rights.set(KeyRights::READ, flags.contains(KeyFlags::ACCESS));
    rights.set(KeyRights::WRITE, flags.intersects(CHANGES));
    rights
}

impl Selector {
    /// Returns the part of a request that the selector denies. `keys`: the keys of the request, once they are known.
    fn denies(&self, command: &Command, request: Args<'_>, keys: &mut Option<Vec<Key>>) -> Option<Denied> {
        if !self.allows_command(command, request) {
            return Some(Denied::Command);
        }
        if !self.keys.is_all() && command.spec.has_keys() {
            let keys = keys.get_or_insert_with(|| command.spec.find_touched_keys(request));
            let is_denied = |(at, flags): &&Key| !self.reaches_key(&request[*at], rights(*flags));
            if let Some((at, _)) = keys.iter().find(is_denied) {
                return Some(Denied::Key(*at));
            }
        }
        let are_patterns = command.spec.channels?.are_patterns;
        let mut channels = command.spec.channel_positions(request);
        channels.find(|&at| !self.reaches_channel(&request[at], are_patterns)).map(Denied::Channel)
    }

    fn allows_command(&self, command: &Command, request: Args<'_>) -> bool {
        self.all_commands
            || command.has(Flags::NO_AUTH)
            || self.commands.contains(command.id)
            || request.get(1).is_some_and(|first| {
                self.first_arguments(command.id).iter().any(|known| known.eq_ignore_ascii_case(first))
            })
    }
}

impl User {
    /// Whether a selector that allows this request lets it read all keys.
    pub(crate) fn reads_all_keys(&self, command: &Command, request: Args<'_>) -> bool {
        let reads_all = |selector: &Selector| {
            let all =
                |pattern: &KeyPattern| pattern.rights.contains(KeyRights::READ) && *pattern.pattern == *b"*";
            selector.keys.is_all() || selector.keys.patterns().iter().any(all)
        };
        self.selectors()
            .any(|selector| selector.denies(command, request, &mut None).is_none() && reads_all(selector))
    }
}
