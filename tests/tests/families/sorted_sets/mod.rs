//! Sorted sets, compared with a real server's answers.

mod algebra;
mod members;
mod random;
