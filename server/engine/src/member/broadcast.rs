//! Requests of clients that all servers of the process carry out, and their answers.

use crate::clock::{EngineClock, write_info};
use crate::faults::NodeFault;
use crate::locks::MergingHistory;
use crate::spec::CommandError;
use lockwheel_resp::Reply;

/// The error where a server is named.
pub(crate) const ALONE: &str = "ERR this server is by itself: there are no others in its process";
/// The error for a request that would kill the last server.
pub(crate) const LAST: &str = "ERR no other server is left that could be asked to bring it back";
pub(crate) const NO_SUCH_SERVER: &str = "ERR there is no such server in this topology: *";

/// A request of a client to all servers of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BroadcastId {
    pub(crate) client: u64,
    /// Its number among those that clients of the same server have made.
    pub(crate) number: u64,
}

/// A request for all servers of the process.
#[derive(Debug)]
pub(crate) enum Broadcast {
    /// A fault of some of them, or between them.
    Fault(NodeFault),
    /// The history of locks of all of them, which a command reads.
    History,
    /// The next deadline on the clock of all, and how many are pending.
    Clock,
}

/// The answer to such a request.
#[derive(Debug)]
pub(crate) enum BroadcastAnswer {
    /// It is done.
    Ok,
    /// It concerns so many.
    Count(usize),
    /// The history of locks that the command reads. `None`: that of its own server, which is off.
    History(Option<MergingHistory>),
    /// The milliseconds until the next deadline, and how many are pending.
    Clock(Option<i64>, usize),
}

impl BroadcastAnswer {
    /// Writes the answer; one about the clock is about this one. Histories are read by `read`, which may take several
    /// calls. Returns whether the client has been answered.
    ///
    /// # Errors
    /// Returns the error of `read`.
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
    fn a_count_is_written_at_once_and_a_history_by_its_reader() {
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
