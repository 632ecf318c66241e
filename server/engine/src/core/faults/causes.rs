//! The requests that cause messages, as long as a rule may lose them.

use crate::clients::Request;
use crate::spec::CommandId;

/// A request that runs, or a command that its script or transaction calls.
#[derive(Debug)]
pub(in crate::core) struct Cause {
    pub(super) command: CommandId,
    pub(super) request: Request,
    /// The digest and the text of its script.
    pub(super) script: Option<([u8; 40], Box<[u8]>)>,
    /// Rules do not see what it does.
    pub(super) is_exempt: bool,
}
