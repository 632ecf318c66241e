//! The receivers that messages may have.

/// The receivers that messages of the server may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listeners {
    /// No receivers: no messages need be made.
    #[default]
    None,
    /// Only the receivers of propagated requests.
    Propagated,
    /// Clients or other servers, and the receivers of propagated requests.
    Any,
}
