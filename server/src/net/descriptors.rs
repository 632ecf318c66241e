//! The number of clients for which the system has file descriptors.

use lockwheel_engine::config::system_reason;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// The descriptors reserved for listeners, loops, files and other servers, as in Redis.
const RESERVED: u64 = 32;

/// The limit of open files after an attempt to raise it, in descriptors.
struct Raised {
    wanted: u64,
    before: u64,
    now: u64,
    /// The system's reason for not raising the limit to `wanted`.
    refused: Option<io::Error>,
}

/// Returns `maxclients` for a server that is about to start: the wished number, or fewer if the system has fewer
/// descriptors; an error if it has none. Logs the outcome in Redis' words.
pub(crate) fn fit_clients(wished: usize) -> io::Result<usize> {
    let Raised { wanted, before, now, refused } = raise_for(wished);
    if now >= wanted {
        if before < wanted {
            tracing::info!(
                "Increased maximum number of open files to {wanted} (it was originally set to {before})."
            );
        }
        return Ok(wished);
    }
    let most = clients_of(now);
    if most == 0 {
        return Err(io::Error::other(format!(
            "Your current 'ulimit -n' of {before} is not enough for the server to start. Please increase your open \
             file limit to at least {wanted}. Exiting."
        )));
    }
    tracing::warn!("You requested maxclients of {wished} requiring at least {wanted} max file descriptors.");
    if let Some(refused) = refused {
        let reason = system_reason(&refused);
        tracing::warn!("Server can't set maximum open files to {wanted} because of OS error: {reason}.");
    }
    tracing::warn!(
        "Current maximum open files is {now}. maxclients has been reduced to {most} to compensate for low ulimit. If \
         you need higher maxclients increase 'ulimit -n'."
    );
    Ok(most)
}

/// Raises the limit of descriptors as far as possible. Returns how many of the clients have descriptors.
pub(super) fn make_room_for(clients: usize) -> usize {
    clients_of(raise_for(clients).now).min(clients)
}

/// Returns the number of clients for which a limit of open files is enough.
fn clients_of(limit: u64) -> usize {
    usize::try_from(limit.saturating_sub(RESERVED)).unwrap_or(usize::MAX)
}

/// Raises the limit for this number of clients, if it is lower than they need.
fn raise_for(clients: usize) -> Raised {
    let wanted = u64::try_from(clients).unwrap_or(u64::MAX).saturating_add(RESERVED);
    let current = || getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let before = current();
    if before >= wanted {
        return Raised { wanted, before, now: before, refused: None };
    }
    let maximum = getrlimit(Resource::Nofile).maximum;
    let set = |current, maximum| setrlimit(Resource::Nofile, Rlimit { current, maximum });
    // Some processes may raise the maximum, too.
    let refused = set(Some(wanted), maximum.map(|maximum| maximum.max(wanted))).err();
    if refused.is_some() {
        // If even that is refused, the limit stays.
        let _refused = set(maximum, maximum);
    }
    Raised { wanted, before, now: current(), refused: refused.map(io::Error::from) }
}
