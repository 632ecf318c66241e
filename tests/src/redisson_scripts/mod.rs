//! Redisson's own Lua scripts, read from its sources, against a real server and ours.
//!
//! Nothing of Redisson is kept here. Maven unpacks a version's sources jar below the build directory; the scripts are
//! its string literals that call Redis. The contents of a script's keys and the meaning of its arguments are guessed
//! from its text; the rest is chance. Scripts of one class prepare the state for each other.

mod java;
mod not_here;
mod shape;
mod sources;
mod trial;
mod values;

pub use java::literals;
pub use not_here::NotHere;
pub use shape::Shape;
pub use sources::{Script, scripts_of};
pub use trial::{Outcome, compare};
