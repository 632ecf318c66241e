//! The positions of the channels that a request names.

/// The positions of a command's channels, and whether they are patterns. Commands that only end subscriptions have no
/// such spec, because every user may run them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelSpec {
    /// The first channel. The command's name is 0.
    pub first: usize,
    /// Whether all arguments from there on are channels. Otherwise only the first is.
    pub to_the_end: bool,
    /// Whether the arguments are patterns of channels.
    pub are_patterns: bool,
}

impl ChannelSpec {
    /// One channel, the argument `index`.
    pub const fn one(index: usize) -> Self {
        ChannelSpec { first: index, to_the_end: false, are_patterns: false }
    }

    /// All arguments from `index` on are channels.
    pub const fn from(index: usize) -> Self {
        ChannelSpec { first: index, to_the_end: true, are_patterns: false }
    }

    /// All arguments from `index` on are patterns of channels.
    pub const fn patterns_from(index: usize) -> Self {
        ChannelSpec { first: index, to_the_end: true, are_patterns: true }
    }
}
