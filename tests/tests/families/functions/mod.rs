//! Libraries of functions: FUNCTION and FCALL.

mod calls;
mod libraries;
mod payloads;
mod slow;
