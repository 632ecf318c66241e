//! Sorted sets, against what a real server answers.

mod algebra;
mod members;
mod random;
