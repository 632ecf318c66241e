//! Coverage by other tests: options and errors of commands that the random sequences need not produce.

/// Commands whose options and errors other tests produce, with the reason.
const ELSEWHERE: &[(&str, &str)] = &[
    ("slowlog|help", "the tests of the slow log"),
    ("monitor", "the tests of MONITOR"),
    ("latency|doctor", "the tests of LATENCY"),
    ("latency|graph", "the tests of LATENCY"),
    ("latency|help", "the tests of LATENCY"),
    ("latency|histogram", "the tests of LATENCY"),
    ("latency|history", "the tests of LATENCY"),
    ("latency|latest", "the tests of LATENCY"),
    ("latency|reset", "the tests of LATENCY"),
    ("memory|doctor", "the tests of memory"),
    ("memory|malloc-stats", "the tests of memory"),
    ("memory|purge", "the tests of memory"),
    ("memory|stats", "the tests of memory"),
    ("dump", "the states compared have it of every key"),
    ("migrate", "the tests of MIGRATE"),
    ("waitaof", "the tests of a server by itself"),
    ("lolwut", "the tests of a server by itself"),
    ("module|list", "the tests of a server by itself"),
    ("module|load", "the tests of a server by itself"),
    ("module|loadex", "the tests of a server by itself"),
    ("module|unload", "the tests of a server by itself"),
    ("module|help", "the tests of a server by itself"),
    ("save", "the tests of a server by itself"),
    ("bgsave", "the tests of a server by itself"),
    ("bgrewriteaof", "the tests of a server by itself"),
    ("lastsave", "the tests of a server by itself"),
    ("replicaof", "the tests of a server by itself"),
    ("slaveof", "the tests of a server by itself"),
    ("failover", "the tests of a server by itself"),
    ("replconf", "the tests of a server by itself"),
    ("psync", "the tests of a server by itself"),
    ("sync", "the tests of a server by itself"),
    ("subscribe", "compare_messages"),
    ("ssubscribe", "compare_messages"),
    ("sunsubscribe", "compare_messages"),
    ("unsubscribe", "compare_messages"),
    ("psubscribe", "compare_messages"),
    ("punsubscribe", "compare_messages"),
    ("pubsub|help", "the tests of messages"),
    ("object|help", "the tests of keys"),
    ("script|help", "the tests of scripts"),
    ("xgroup|help", "the tests of streams"),
    ("xinfo|help", "the tests of streams"),
    ("script|debug", "YES and SYNC start a real server's debugger: the tests of libraries"),
    ("function|help", "the tests of functions"),
    ("client|help", "the tests of clients"),
    ("client|caching", "the tests of tracking"),
    ("client|getredir", "the tests of tracking"),
    ("client|tracking", "the tests of tracking"),
    ("client|trackinginfo", "the tests of tracking"),
    ("client|pause", "the tests of pauses: who is paused answers nothing"),
    ("client|unpause", "the tests of pauses"),
    ("client|reply", "OFF and SKIP answer nothing: the tests of clients"),
    ("config|help", "the tests of parameters"),
    ("config|rewrite", "the tests of limits"),
    ("command|info", "the tests of the table"),
    ("command|docs", "the tests of the table"),
    ("memory|help", "the tests of memory"),
    ("command", "lists all commands: the tests of the table"),
    ("command|help", "the tests of the table"),
    ("debug", "SLEEP stops the server: the tests of the server"),
    ("quit", "the tests of the connection"),
    ("pfselftest", "the tests of HyperLogLogs"),
    ("shutdown", "what is not refused ends the server: the tests of the process"),
];

/// Errors that other tests produce: the command, the error, the reason.
const ERRORS_ELSEWHERE: &[(&str, &str, &str)] = &[
    ("xadd", "ERR Elements are too large to be stored", "a gigabyte: the tests of the type"),
    (
        "wait",
        "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is \
         configured to be writable (which is not the default) writes to replicas are just local and are not \
         propagated.",
        "the tests of replication",
    ),
];

/// Whether another test produces the command's options and errors.
pub(super) fn is_elsewhere(name: &str) -> bool {
    ELSEWHERE.iter().any(|(elsewhere, _)| name == *elsewhere)
}

/// Whether another test produces this error of the command.
pub(super) fn is_error_elsewhere(name: &str, error: &str) -> bool {
    ERRORS_ELSEWHERE.iter().any(|(command, text, _)| *command == name && *text == error)
}
