//! Whether a user may make a request.

use super::selector::{KeyPattern, KeyRights, Selector};
use super::user::User;
use crate::spec::{Args, Command, Flags, Key, KeyFlags};

/// Why a user may not make a request; the greater tells more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Denied {
    /// No set of rights has the command.
    Command,
    /// The key at this place is out of reach.
    Key(usize),
    /// The channel at this place is out of reach.
    Channel(usize),
}

/// Why a user may not make a request: of what each set of rights denies, what comes last in the request. O(sets ×
/// (keys × patterns × length)).
pub(crate) fn denied(user: &User, command: &Command, request: Args<'_>) -> Option<Denied> {
    let mut keys = None;
    let mut most = Denied::Command;
    for selector in user.selectors() {
        most = most.max(selector.denies(command, request, &mut keys)?);
    }
    Some(most)
}

/// What must be allowed to be done to a key.
fn rights(flags: KeyFlags) -> KeyRights {
    const CHANGES: KeyFlags = KeyFlags::of(&[KeyFlags::INSERT, KeyFlags::DELETE, KeyFlags::UPDATE]);
    let mut rights = KeyRights::empty();
    rights.set(KeyRights::READ, flags.contains(KeyFlags::ACCESS));
    rights.set(KeyRights::WRITE, flags.intersects(CHANGES));
    rights
}

impl Selector {
    /// What it denies of a request. `keys`: the keys of the request, once they are known.
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
    /// Whether a set of rights that has this request lets it read all keys.
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
