//! How many clients the system has descriptors for.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// Descriptors that are left for other things than clients, as in Redis: listeners, loops, files, other servers.
const RESERVED: usize = 32;

/// `maxclients` of a server that is about to start: what is wished, or what the system has descriptors for.
///
/// # Errors
/// When there are none for any client.
pub(crate) fn fit_clients(wished: usize) -> io::Result<usize> {
    let most = make_room_for(wished);
    if most == 0 {
        return Err(io::Error::other("the limit of open files ('ulimit -n') leaves none for clients"));
    }
    if most < wished {
        tracing::warn!("maxclients is {most} and not {wished}: the system allows no more open files");
    }
    Ok(most)
}

/// Lets this process open as many descriptors as so many clients need, as far as the system allows that. For how many
/// clients there are enough: no more than `clients`, and 0 when there are none for any.
pub(super) fn make_room_for(clients: usize) -> usize {
    let wanted = u64::try_from(clients.saturating_add(RESERVED)).unwrap_or(u64::MAX);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        raise(limit.maximum, wanted);
    }
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(RESERVED).min(clients)
}

/// Raises the limit to `wanted` if the system allows it, or to the `maximum` that there is.
fn raise(maximum: Option<u64>, wanted: u64) {
    let set = |current, maximum| setrlimit(Resource::Nofile, Rlimit { current, maximum });
    // Some may raise the maximum too.
    if set(Some(wanted), maximum.map(|maximum| maximum.max(wanted))).is_err() {
        // Where even that is refused, the limit stays.
        let _refused = set(maximum, maximum);
    }
}
