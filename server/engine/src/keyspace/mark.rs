//! What a subscriber keeps beside an entry.

/// Six bytes beside an entry. They mean something to the subscriber alone that has put them there.
pub type Mark = [u8; 6];
