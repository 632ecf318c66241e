//! Locks with many waiters or holders.

/// The kinds of events of such a lock, as the program `crowd` names them.
pub const KINDS: [&str; 16] = [
    "handed",
    "handed-to-writer",
    "handed-together",
    "permits",
    "unblocked",
    "killed",
    "timed-out",
    "reader",
    "reader-beside-redissons",
    "reader-before-readers",
    "fair",
    "fair-unblocked",
    "fair-killed",
    "beside-listeners",
    "arriving",
    "arriving-together",
];
