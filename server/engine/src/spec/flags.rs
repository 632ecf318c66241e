//! The flags of commands, and of their keys, with the names that COMMAND INFO gives them.

bitflags::bitflags! {
    /// The properties and permissions of a command, from its row.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Flags: u32 {
        /// May change keys.
        const WRITE = 1;
        /// Only reads keys.
        const READONLY = 1 << 1;
        /// May make memory grow.
        const DENYOOM = 1 << 2;
        /// For administrators.
        const ADMIN = 1 << 3;
        /// Belongs to publish/subscribe.
        const PUBSUB = 1 << 4;
        /// Refused in scripts.
        const NOSCRIPT = 1 << 5;
        /// May block the client.
        const BLOCKING = 1 << 6;
        /// Allowed while data is being loaded.
        const LOADING = 1 << 7;
        /// Allowed on a stale replica.
        const STALE = 1 << 8;
        /// Not shown to MONITOR.
        const SKIP_MONITOR = 1 << 9;
        /// Not logged as slow.
        const SKIP_SLOWLOG = 1 << 10;
        /// Constant or logarithmic time.
        const FAST = 1 << 11;
        /// Needs no authentication.
        const NO_AUTH = 1 << 12;
        /// Has effects beyond its own keys, so a read-only script may not call it.
        const MAY_REPLICATE = 1 << 13;
        /// Refused inside MULTI.
        const NO_MULTI = 1 << 14;
        /// The key positions depend on the arguments.
        const MOVABLEKEYS = 1 << 15;
        /// Answered while a slow script runs.
        const ALLOW_BUSY = 1 << 16;
        /// Refused while data is being loaded in the background.
        const NO_ASYNC_LOADING = 1 << 17;
        /// A request may have no key.
        const NO_MANDATORY_KEYS = 1 << 18;
        /// Runs on keys that a cluster is moving to this node.
        const ASKING = 1 << 22;
        /// Runs inside MULTI instead of being queued. Has no name.
        const UNQUEUED = 1 << 19;
        /// Runs for a RESP2 client that is subscribed. Has no name.
        const WHILE_SUBSCRIBED = 1 << 20;
        /// For tests that control the server. The configuration can switch such commands off. Has no name.
        const CONTROL = 1 << 21;
        /// Inside MULTI, it also runs before the transaction, which does not run if it fails. Has no name.
        const PRECONDITION = 1 << 23;
    }
}

impl Flags {
    /// Each flag with the name that COMMAND INFO gives it, in its order.
    pub const NAMES: &[(Flags, &str)] = &[
        (Flags::WRITE, "write"),
        (Flags::READONLY, "readonly"),
        (Flags::DENYOOM, "denyoom"),
        (Flags::ADMIN, "admin"),
        (Flags::PUBSUB, "pubsub"),
        (Flags::NOSCRIPT, "noscript"),
        (Flags::BLOCKING, "blocking"),
        (Flags::LOADING, "loading"),
        (Flags::STALE, "stale"),
        (Flags::SKIP_MONITOR, "skip_monitor"),
        (Flags::SKIP_SLOWLOG, "skip_slowlog"),
        (Flags::ASKING, "asking"),
        (Flags::FAST, "fast"),
        (Flags::NO_AUTH, "no_auth"),
        (Flags::MAY_REPLICATE, "may_replicate"),
        (Flags::NO_MANDATORY_KEYS, "no_mandatory_keys"),
        (Flags::NO_ASYNC_LOADING, "no_async_loading"),
        (Flags::NO_MULTI, "no_multi"),
        (Flags::MOVABLEKEYS, "movablekeys"),
        (Flags::ALLOW_BUSY, "allow_busy"),
    ];
}

bitflags::bitflags! {
    /// The use that a command makes of the keys of one [`KeySpec`](super::KeySpec).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct KeyFlags: u32 {
        /// Reads and changes in place.
        const RW = 1;
        /// Reads.
        const RO = 1 << 1;
        /// Overwrites without reading.
        const OW = 1 << 2;
        /// Removes.
        const RM = 1 << 3;
        /// Returns or copies the value's content.
        const ACCESS = 1 << 4;
        /// Changes the value by its content.
        const UPDATE = 1 << 5;
        /// Adds content without reading any.
        const INSERT = 1 << 6;
        /// Deletes content explicitly.
        const DELETE = 1 << 7;
        /// Not a real key.
        const NOT_KEY = 1 << 8;
        /// The spec may miss keys.
        const INCOMPLETE = 1 << 9;
        /// The flags depend on the arguments.
        const VARIABLE_FLAGS = 1 << 10;
    }
}

impl KeyFlags {
    /// Each flag with the name that COMMAND INFO gives it, in its order.
    pub const NAMES: &[(KeyFlags, &str)] = &[
        (KeyFlags::RO, "RO"),
        (KeyFlags::RW, "RW"),
        (KeyFlags::OW, "OW"),
        (KeyFlags::RM, "RM"),
        (KeyFlags::ACCESS, "access"),
        (KeyFlags::UPDATE, "update"),
        (KeyFlags::INSERT, "insert"),
        (KeyFlags::DELETE, "delete"),
        (KeyFlags::NOT_KEY, "not_key"),
        (KeyFlags::INCOMPLETE, "incomplete"),
        (KeyFlags::VARIABLE_FLAGS, "variable_flags"),
    ];
}

/// Unions of sets in a `const`, where the operators of traits cannot be used.
macro_rules! union_in_const {
    ($($flags:ident)*) => {
        $(impl $flags {
            /// The union of these sets, for a `const`.
            pub const fn of(sets: &[Self]) -> Self {
                let (mut all, mut at) = (Self::empty(), 0);
                while at < sets.len() {
                    all = all.union(sets[at]);
                    at += 1;
                }
                all
            }
        })*
    };
}

union_in_const! { Flags KeyFlags }
