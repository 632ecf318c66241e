//! The libraries of scripts: their results compared with redis-server's, and attacks that have broken a server through
//! them.

mod attacks;
mod describe;
mod globals;
mod json;
mod numbers;
mod order;
mod packed;
mod texts;
mod trial;
