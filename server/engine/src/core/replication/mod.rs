//! Replication joined to the engine: what its two parts see, and the effects of their changes, carried out.

mod conductor;
mod requests;
mod role;
mod rules;
mod stream;
#[cfg(test)]
mod tests;
mod waits;
