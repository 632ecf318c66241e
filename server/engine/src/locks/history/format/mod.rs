//! The formats in which replies show the history: a map, JSON, the history of a Jepsen test in EDN, and lines.

pub(in crate::locks) mod edn;
mod fields;
pub(in crate::locks) mod json;
pub(in crate::locks) mod line;
pub(in crate::locks) mod map;
mod operations;
mod text;
