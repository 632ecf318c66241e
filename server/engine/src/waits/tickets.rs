//! Tickets: requests that wait while their clients continue. A push informs the client of the end of the wait.

use super::state::{Blocked, Retry};
use crate::locks::HistoryCause;
use crate::spec::CommandError;
use lockwheel_resp::{Protocol, Reply, Writer, allocation};

/// The maximum number of tickets of one client.
pub(crate) const MAX_TICKETS: usize = 1024;

/// The error of a request that exceeds that number.
pub(crate) const TOO_MANY_TICKETS: CommandError =
    CommandError::text("WAITQFULL this connection already waits for 1024 locks");

#[derive(Clone, Copy, Debug)]
pub(crate) enum TicketEnd<'a> {
    /// The request was served, with this whole reply.
    Granted(&'a [u8]),
    TimedOut,
    /// The wait was cancelled for this cause.
    Cancelled(&'a CommandError, HistoryCause),
    /// The wait was ended by an error of the request, which the history already has.
    Failed(&'a CommandError),
    /// The client is gone, was reset, or gets no pushes any more.
    GivenUp,
}

impl TicketEnd<'_> {
    /// Returns the push that informs the client. `None` if the client is not informed.
    pub(crate) fn push(self, ticket: u64, blocked: &Blocked) -> Option<Vec<u8>> {
        let Retry::OnKeys(on) = &blocked.retry else { return None };
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, Protocol::Resp3);
        let (kind, last) = match self {
            TicketEnd::Granted(_) => ("lock-granted", Some("reply")),
            TicketEnd::TimedOut => ("lock-timedout", None),
            TicketEnd::Cancelled(..) | TicketEnd::Failed(_) => ("lock-cancelled", Some("error")),
            TicketEnd::GivenUp => return None,
        };
        let argv = blocked.request.argv();
        writer.push(2);
        writer.bulk(kind.as_bytes());
        writer.map(4 + usize::from(last.is_some()));
        writer.bulk(b"ticket");
        writer.integer(ticket as i64);
        writer.bulk(b"db");
        writer.integer(blocked.db as i64);
        if let [key] = on.keys[..] {
            writer.bulk(b"key");
            writer.bulk(argv[key]);
        } else {
            writer.bulk(b"keys");
            writer.array(on.keys.len());
            on.keys.iter().for_each(|&key| writer.bulk(argv[key]));
        }
        writer.bulk(b"owner");
        writer.bulk(on.label.map_or(&b""[..], |label| argv[label]));
        if let Some(name) = last {
            writer.bulk(name.as_bytes());
        }
        match self {
            TicketEnd::Granted(reply) => allocation::append(&mut bytes, reply),
            TicketEnd::Cancelled(error, _) | TicketEnd::Failed(error) => writer.bulk(error.as_bytes()),
            TicketEnd::TimedOut | TicketEnd::GivenUp => {}
        }
        Some(bytes)
    }
}
