//! A lock with many who wait for it or hold it.

/// What can happen to it: the events of the program `crowd`.
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
