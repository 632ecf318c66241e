//! Requests of clients that all servers of the process carry out, and their answers.

use crate::clock::{EngineClock, write_info};
use crate::faults::NodeFault;
use crate::locks::MergingHistory;
use crate::spec::CommandError;
use lockwheel_resp::Reply;

/// The error for a request that names a server, if the process has no other server.
pub(crate) const ALONE: &str = "ERR this server is not part of a topology: its process runs no other server";
/// The error for a request that would kill the last server.
pub(crate) const LAST: &str =
    "ERR the last running server cannot be taken down: no server would be left to bring it back";
pub(crate) const NO_SUCH_SERVER: &str = "ERR there is no such server in this topology: *";

/// A request of a client to all servers of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BroadcastId {
    pub(crate) client: u64,
    /// The number of the request, out of the broadcasts of clients of the same server.
    pub(crate) number: u64,
}

/// A request for all servers of the process.
#[derive(Debug)]
pub(crate) enum Broadcast {
    /// A fault of some servers, or between servers.
    Fault(NodeFault),
    /// The reading of the history of locks of all servers by a command.
    History,
    /// The next deadline on the shared clock, and the number of pending deadlines.
    Clock,
}

#[derive(Debug)]
pub(crate) enum BroadcastAnswer {
    /// The request has been carried out.
    Ok,
    /// The number of things that the request has affected.
    Count(usize),
    /// The history of locks that the command reads; `None`: its own server's, which is switched off.
    History(Option<MergingHistory>),
    /// The milliseconds until the next deadline, and the number of pending deadlines.
    Clock(Option<i64>, usize),
}

impl BroadcastAnswer {
    /// Writes the answer. An answer about the clock describes `clock`. Histories are read by `read`, perhaps in several
    /// calls; its error is returned. Returns whether the client has been answered.
    pub(crate) fn write(
        self,
        clock: &EngineClock,
        reply: &mut dyn Reply,
        read: impl FnOnce(Option<MergingHistory>, &mut dyn Reply) -> Result<bool, CommandError>,
    ) -> Result<bool, CommandError> {
        match self {
            BroadcastAnswer::Ok => reply.ok(),
            BroadcastAnswer::Count(count) => reply.integer(count as i64),
            BroadcastAnswer::Clock(next_ms, pending) => write_info(clock.info(), next_ms, pending, reply),
            BroadcastAnswer::History(histories) => return read(histories, reply),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use lockwheel_resp::{Protocol, Writer};
    use lockwheel_store::time::Now;

    #[test]
    fn a_count_is_written_at_once_and_a_history_in_pieces() {
        let (clock, mut text) =
            (EngineClock::new(Config::default().clock(Now::default()), Now::default()), Vec::new());
        let mut reply = Writer::new(&mut text, Protocol::Resp2);
        let nobody = |_, _: &mut dyn Reply| panic!("there is no history");
        assert_eq!(BroadcastAnswer::Count(3).write(&clock, &mut reply, nobody), Ok(true));
        let in_pieces = |_, _: &mut dyn Reply| Ok(false);
        assert_eq!(BroadcastAnswer::History(None).write(&clock, &mut reply, in_pieces), Ok(false));
        assert_eq!(text, b":3\r\n");
    }
}
