//! The script or function that a request runs, and its permissions.

use lockwheel_scripting::{EntryId, EntryKind, Flags};
use lockwheel_store::keyspace::ScriptInputs;

pub(crate) struct ScriptRun<'a> {
    pub(crate) id: EntryId,
    pub(crate) inputs: ScriptInputs<'a>,
    pub(crate) rules: ScriptRules,
}

impl ScriptRun<'_> {
    pub(crate) fn kind(&self) -> EntryKind {
        match self.id {
            EntryId::Script(_) => EntryKind::Script,
            EntryId::Function(_) => EntryKind::Function,
        }
    }
}

/// The permissions of a running script or function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScriptRules {
    /// Whether writes are refused.
    pub(crate) read_only: bool,
    /// Whether the script declares its flags. It is then refused as a whole and not command by command.
    pub(crate) declared: bool,
    /// Whether commands that may use memory run even when memory is short.
    pub(crate) takes_any_memory: bool,
    /// Whether the script may read data that may be stale.
    pub(crate) reads_stale: bool,
    /// Whether the script may use keys of several slots.
    pub(crate) crosses_slots: bool,
}

impl ScriptRules {
    /// Returns the permissions of a script with these flags. `read_only`: the calling command only reads.
    pub(crate) fn of(flags: Flags, read_only: bool) -> Self {
        let declared = flags.shebang;
        ScriptRules {
            read_only: read_only || flags.no_writes,
            declared,
            takes_any_memory: declared && flags.allow_oom,
            reads_stale: declared && flags.allow_stale,
            crosses_slots: !declared || flags.allow_cross_slot_keys,
        }
    }
}

pub(crate) fn log_message(level: u8, message: &[u8]) {
    let message = String::from_utf8_lossy(message);
    match level {
        0 => tracing::trace!(target: "script", "{message}"),
        1 => tracing::debug!(target: "script", "{message}"),
        2 => tracing::info!(target: "script", "{message}"),
        _ => tracing::warn!(target: "script", "{message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undeclared_script_has_no_permissions_of_flags() {
        let rules = ScriptRules::of(Flags { allow_oom: true, allow_stale: true, ..Flags::default() }, false);
        assert!(!rules.declared && !rules.takes_any_memory && !rules.reads_stale);
        assert!(
            rules.crosses_slots && !rules.read_only,
            "an undeclared script is refused command by command"
        );
    }

    #[test]
    fn a_declared_script_has_the_permissions_of_its_flags() {
        let flags = Flags { shebang: true, allow_oom: true, ..Flags::default() };
        let rules = ScriptRules::of(flags, false);
        assert!(rules.declared && rules.takes_any_memory && !rules.reads_stale && !rules.crosses_slots);
        let rules = ScriptRules::of(Flags { no_writes: true, ..flags }, false);
        assert!(rules.read_only);
        assert!(ScriptRules::of(flags, true).read_only, "a command that only reads runs it");
    }
}
