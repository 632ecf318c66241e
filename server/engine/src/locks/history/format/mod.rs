//! The formats in which replies show the history: a map, JSON, and the history of a Jepsen test in EDN.

pub(in crate::locks) mod edn;
mod fields;
pub(in crate::locks) mod json;
pub(in crate::locks) mod map;
mod operations;
mod text;
