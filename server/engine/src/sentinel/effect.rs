//! The actions that a sentinel asks of its environment.

/// The id of a connection, which is never used again.
pub(crate) type InstanceLinkId = u64;

/// The log level of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventLevel {
    Debug,
    Verbose,
    Notice,
    Warning,
}

/// An action for the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SentinelAction {
    Connect {
        link: InstanceLinkId,
        ip: Box<str>,
        port: u16,
    },
    /// Send bytes over a connection, once it is open.
    Send {
        link: InstanceLinkId,
        bytes: Vec<u8>,
    },
    Close {
        link: InstanceLinkId,
    },
    /// Log an event and publish it on the channel of its name.
    Event {
        level: EventLevel,
        name: &'static str,
        text: String,
    },
    /// Log a sentence.
    Log {
        level: EventLevel,
        text: String,
    },
    /// End the server, as a test of failures has asked for.
    Crash,
}
