//! Where the channels are that a request names.

/// Where a command's channels are, and how they are named. Commands that only end subscriptions have none: everybody
/// may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelSpec {
    /// The first of them; the command's name is 0.
    pub first: usize,
    /// Whether all arguments from there on are channels; else there is only the first.
    pub to_the_end: bool,
    /// Whether they are patterns of channels.
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
