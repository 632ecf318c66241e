//! The one list of differences between what we tell of commands and what redis-server 7.0.15 tells, each with its
//! reason. A difference that is not in it, and one that is in it and is gone, fail.

/// Why a field differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Redis 7.2 tells what we tell: a server of its line has to tell the same.
    Redis72,
    /// The other server is newer than 7.2 and tells something else.
    Newer,
    /// Only we do.
    OnPurpose,
}

/// A field of some commands that differs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Difference {
    /// The field of COMMAND INFO or COMMAND DOCS.
    pub(crate) field: &'static str,
    /// The commands' full names.
    pub(crate) commands: &'static [&'static str],
    pub(crate) claim: Claim,
    pub(crate) reason: &'static str,
}

/// The field of an argument that is compared by itself.
pub(crate) const DISPLAY: &str = "display_text";

/// Against redis-server 7.0.15; the fields of newer commands against the server of 7.2's line.
pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        field: "arguments",
        commands: &["command|getkeys", "command|getkeysandflags", "zrank", "zrevrank"],
        claim: Claim::Redis72,
        reason: "7.2 documents what they take",
    },
    Difference {
        field: "arguments",
        commands: &["geohash", "geopos", "pfmerge"],
        claim: Claim::Redis72,
        reason: "7.2 documents that they take a key alone",
    },
    Difference {
        field: "arguments",
        commands: &["bitop"],
        claim: Claim::Redis72,
        reason: "7.2 documents the operations",
    },
    Difference {
        field: "arguments",
        commands: &["set"],
        claim: Claim::OnPurpose,
        reason: "Valkey 8.1 added IFEQ, and a sentence about it",
    },
    Difference {
        field: "history",
        commands: &["set"],
        claim: Claim::OnPurpose,
        reason: "Valkey 8.1 added IFEQ",
    },
    Difference {
        field: "arity",
        commands: &["command|getkeys", "command|getkeysandflags"],
        claim: Claim::Redis72,
        reason: "7.2 takes the bare name of a command",
    },
    Difference {
        field: "arity",
        commands: &["zrank", "zrevrank"],
        claim: Claim::Redis72,
        reason: "7.2 added WITHSCORE",
    },
    Difference {
        field: "flags",
        commands: &["blmove", "blpop", "brpop", "brpoplpush", "bzpopmax", "bzpopmin", "wait"],
        claim: Claim::Redis72,
        reason: "7.2 lets scripts call commands that block, and WAIT is one",
    },
    Difference {
        field: "categories",
        commands: &["wait"],
        claim: Claim::Redis72,
        reason: "7.2 lets scripts call commands that block, and WAIT is one",
    },
    Difference {
        field: "tips",
        commands: &["client|setname", "config|resetstat"],
        claim: Claim::Redis72,
        reason: "7.2 says that they are for all nodes of a cluster",
    },
    Difference {
        field: "flags",
        commands: &["client|no-touch", "client|setinfo"],
        claim: Claim::Newer,
        reason: "what a slow script lets through grew after 7.2",
    },
    Difference {
        field: DISPLAY,
        commands: &["client|kill", "client|list", "module|loadex"],
        claim: Claim::Newer,
        reason: "their options were documented anew after 7.2",
    },
    Difference {
        field: "arguments",
        commands: &["debug", "replconf"],
        claim: Claim::OnPurpose,
        reason: "Redis documents no argument of its internal commands",
    },
];
