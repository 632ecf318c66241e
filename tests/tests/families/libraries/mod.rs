//! The libraries of scripts: what they answer beside redis-server's, and what has once broken a server by them.

mod attacks;
mod describe;
mod globals;
mod json;
mod numbers;
mod order;
mod packed;
mod texts;
mod trial;
