//! What a subscriber keeps beside an entry.

/// Six bytes beside an entry, which only the subscriber that has put them there understands.
pub type Mark = [u8; 6];
