//! The list of all differences between our documentation of commands and that of redis-server 7.0.15, each with its
//! reason. A difference that is not in the list fails, and so does an entry whose difference is gone.
//! `docs/commands.md` lists them all.

use crate::pair::Claim;

/// A field of some commands that differs.
#[derive(Clone, Copy, Debug)]
pub struct FieldDifference {
    /// The field of COMMAND INFO or COMMAND DOCS.
    pub field: &'static str,
    /// The commands' full names.
    pub commands: &'static [&'static str],
    /// The ground of the difference.
    pub claim: Claim,
    /// The reason for the difference.
    pub reason: &'static str,
}

/// The field of an argument that is compared by itself.
pub const DISPLAY: &str = "display_text";

/// The differences against redis-server 7.0.15. For the fields of newer commands: against the server of the 7.2 line.
pub const DIFFERENCES: &[FieldDifference] = &[
    FieldDifference {
        field: "arguments",
        commands: &["command|getkeys", "command|getkeysandflags", "zrank", "zrevrank"],
        claim: Claim::Redis72,
        reason: "7.2 documents the arguments of these commands",
    },
    FieldDifference {
        field: "arguments",
        commands: &["geohash", "geopos", "pfmerge"],
        claim: Claim::Redis72,
        reason: "7.2 documents that these commands accept a key alone",
    },
    FieldDifference {
        field: "arguments",
        commands: &["bitop"],
        claim: Claim::Redis72,
        reason: "7.2 documents the operations",
    },
    FieldDifference {
        field: "arguments",
        commands: &["set"],
        claim: Claim::OnPurpose,
        reason: "Valkey 8.1 added IFEQ and its description",
    },
    FieldDifference {
        field: "history",
        commands: &["set"],
        claim: Claim::OnPurpose,
        reason: "Valkey 8.1 added IFEQ",
    },
    FieldDifference {
        field: "arity",
        commands: &["command|getkeys", "command|getkeysandflags"],
        claim: Claim::Redis72,
        reason: "7.2 accepts a command without arguments",
    },
    FieldDifference {
        field: "arity",
        commands: &["zrank", "zrevrank"],
        claim: Claim::Redis72,
        reason: "7.2 added WITHSCORE",
    },
    FieldDifference {
        field: "flags",
        commands: &["blmove", "blpop", "brpop", "brpoplpush", "bzpopmax", "bzpopmin", "wait"],
        claim: Claim::Redis72,
        reason: "7.2 lets scripts call blocking commands, and WAIT is one",
    },
    FieldDifference {
        field: "categories",
        commands: &["wait"],
        claim: Claim::Redis72,
        reason: "7.2 lets scripts call blocking commands, and WAIT is one",
    },
    FieldDifference {
        field: "tips",
        commands: &["client|setname", "config|resetstat"],
        claim: Claim::Redis72,
        reason: "7.2 says that clients should send these commands to all nodes of a cluster",
    },
    FieldDifference {
        field: "flags",
        commands: &["client|no-touch", "client|setinfo"],
        claim: Claim::Newer,
        reason: "newer servers allow more commands during a slow script",
    },
    FieldDifference {
        field: DISPLAY,
        commands: &["client|kill", "client|list", "module|loadex"],
        claim: Claim::Newer,
        reason: "newer servers document the options of these commands differently",
    },
    FieldDifference {
        field: "arguments",
        commands: &["debug", "replconf"],
        claim: Claim::OnPurpose,
        reason: "Redis documents no argument of its internal commands",
    },
];
