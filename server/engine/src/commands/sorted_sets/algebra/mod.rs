//! Unions, intersections and differences of sorted sets, and of sets, whose members count with a score of 1.

mod combine;
pub(in crate::commands) mod commands;
mod request;
mod source;
