//! Redisson's own Lua scripts, read from its sources, against a real server and ours.
//!
//! Nothing of Redisson is kept here: Maven unpacks a version's sources jar below the build directory, the scripts are
//! the string literals in it that call Redis. What a script's keys hold and its arguments mean is guessed from what
//! it does with them; the rest is chance, and scripts of one class prepare the state for each other.

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
