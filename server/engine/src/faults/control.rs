//! The parts that a request on faults sees, and the effects that it asks for.

use super::node_fault::{GrantNumbers, NodeFault};
use super::rule::RuleId;
use super::state::Faults;
use super::step::FaultStep;
use crate::clients::Sessions;
use crate::spec::{CommandError, CommandTable};

/// The parts of the engine that a request on faults sees. The engine follows what it has changed.
pub(crate) struct FaultControl<'e> {
    /// The faults.
    pub(crate) faults: &'e mut Faults,
    /// The clients.
    pub(crate) sessions: &'e Sessions,
    /// Every command.
    pub(crate) commands: &'e CommandTable,
    /// The change that the request makes.
    pub(crate) step: FaultStep<'e>,
}

/// The end of a request on faults.
pub(crate) type FaultOutcome = Result<FaultRequest, CommandError>;

/// The effect that a request on faults asks for, beyond what it has changed.
#[derive(Debug)]
pub(crate) enum FaultRequest {
    /// Nothing.
    Done,
    /// The history of locks has the request.
    Steered,
    /// The rules of these names are removed, one by one: what a rule holds goes on while the later ones stand.
    Remove(Vec<Box<[u8]>>),
    /// Requests and replies that a rule holds go on, the longest held first, but no more than `most`.
    LetGo {
        /// The rule.
        rule: RuleId,
        /// The most of them.
        most: usize,
    },
    /// All servers of the process carry a fault out.
    Broadcast(NodeFault),
    /// Writes to keys that match the pattern, or all, reach no replica from now on.
    Lag(Option<Vec<u8>>),
    /// A replica takes over, with what it has.
    FailOver(GrantNumbers),
    /// The server restarts, after so many milliseconds.
    Restart {
        /// The time in which nobody is let in, in milliseconds.
        down_ms: u64,
        /// Whether it has kept its data.
        keeps_data: bool,
        /// Whether the numbers of grants go on or begin anew.
        numbers: GrantNumbers,
    },
}
